//! Devices for tests: without execution, with planned faults, with a recorder, with a separate pool and
//! budget; and a clock that a test moves.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use std::time::Duration;
//!
//! use anymetal::testing::{self, FaultPlan, Faults, ManualClock};
//! use anymetal::config::RuntimeConfig;
//! use anymetal::error::ErrorClass;
//!
//! let clock = ManualClock::new();
//! let null = testing::null_device(&clock, RuntimeConfig::default());
//! // The second buffer is refused, as if memory had run out.
//! let plan = FaultPlan::default().allocations(Faults::at(1, ErrorClass::Exhausted));
//! let (device, faults) = testing::fault_injecting(&null, plan);
//! let _first = device.buffer(&[0u8; 10])?;
//! assert_eq!(device.buffer(&[0u8; 10]).unwrap_err().class(), ErrorClass::Exhausted);
//! assert_eq!(faults.injected().allocations, 1);
//! clock.advance(Duration::from_secs(60)); // nothing here sleeps: time is what the test says
//! assert_eq!(device.live_buffers()[0].age, Duration::from_secs(60));
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use anymetal_core::config::RuntimeConfig;
use anymetal_hal::clock::Clock;

use crate::device::Device;

pub use anymetal_core::record::recorder::{Recorder, RecorderOptions};
pub use anymetal_hal::clock::ManualClock;
pub use anymetal_hal::split_mix::SplitMix64;
pub use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults, Injected};
pub use anymetal_testing::null::NullDevice;
pub use anymetal_testing::recording::RecordingDevice;

/// A device that accepts and checks everything and runs nothing: buffers keep what the host wrote, work ends
/// well in its order. All times and limits go by the clock.
pub fn null_device(clock: &Arc<ManualClock>, settings: RuntimeConfig) -> Device {
    let clock: Arc<dyn Clock> = clock.clone();
    Device::from_parts(Arc::new(NullDevice::with_clock(clock.clone())), settings, clock)
}

/// A second device over the same hardware, with the same settings and clock, and a separate pool, budget and
/// listing. Other tests of the process, which share [`Device::system_default`], do not change its counts.
pub fn separate(device: &Device) -> Device {
    device.separate(device.config().clone())
}

/// A device over another that fails by plan, with the same settings and clock, and a pool and budget of its
/// own. The second handle tells what was injected, loses the device and revives it.
pub fn fault_injecting(device: &Device, plan: FaultPlan) -> (Device, FaultInjectingDevice) {
    let clock = device.context().clock().clone();
    let injecting = FaultInjectingDevice::new(device.hal().clone(), plan, clock.clone());
    let over = Device::from_parts(Arc::new(injecting.clone()), device.config().clone(), clock);
    (over, injecting)
}

/// A device over another that records what it is given, with the same settings and clock, and a pool and
/// budget of its own.
pub fn recording(device: &Device, options: RecorderOptions) -> (Device, Arc<Recorder>) {
    let recording = RecordingDevice::new(device.hal().clone(), options);
    let recorder = Arc::clone(recording.recorder());
    let clock = device.context().clock().clone();
    (Device::from_parts(Arc::new(recording), device.config().clone(), clock), recorder)
}
