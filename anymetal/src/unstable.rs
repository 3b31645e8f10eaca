//! The layers below the facade: the traits of devices ([`hal`]) and the execution layer ([`core`]).
//!
//! For devices of a program's own and for layers over this crate. The feature `unstable-hal` turns this
//! module on. Versions of this crate that are otherwise compatible may change everything in it.

use std::sync::Arc;

use anymetal_core::config::RuntimeConfig;
use anymetal_core::stream::Stream;
use anymetal_core::stream::context::Context;
use anymetal_hal::buffer::Buffer as HalBuffer;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::queue::Queue;

/// The execution layer.
pub use anymetal_core as core;
/// The traits of devices.
pub use anymetal_hal as hal;

impl Device {
    /// A device made elsewhere, with options of its own, or one that wraps another; with the default
    /// settings. Each call gives a device of its own.
    pub fn from_hal(inner: Arc<dyn HalDevice>) -> Device {
        Device::from_parts(inner, RuntimeConfig::default(), SystemClock::shared())
    }

    /// A device made elsewhere, its settings, and the clock that all limits go by. Each call gives a device
    /// of its own.
    pub fn from_hal_with(hal: Arc<dyn HalDevice>, config: RuntimeConfig, clock: Arc<dyn Clock>) -> Device {
        Device::from_parts(hal, config, clock)
    }

    /// The device below.
    pub fn as_hal(&self) -> &Arc<dyn HalDevice> {
        self.hal()
    }

    /// The context of all queues.
    pub fn as_core(&self) -> &Context {
        self.context()
    }
}

impl Pipeline {
    /// The pipeline below, for any threadgroup size. It is compiled at the first call, because launches have
    /// code for their own size.
    pub fn as_hal(&self) -> Result<Arc<dyn HalPipeline>, Error> {
        self.hal()
    }
}

impl<T: Pod> Buffer<T> {
    /// The untyped buffer below; that of a pooled one may be longer.
    pub fn as_hal(&self) -> &Arc<dyn HalBuffer> {
        self.hal()
    }
}

impl Queue {
    /// The stream below.
    pub fn as_core(&self) -> &Stream {
        self.stream()
    }
}
