//! The execution manager: work that survives faults, by policy.
//!
//! ```
//! # fn main() -> Result<(), anymetal_service::ManagerError> {
//! # let source = "kernel void saxpy(device const float* x, device float* y, constant float& a,
//! #                                 uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }";
//! let manager = anymetal_service::Manager::system()?;
//! let saxpy = manager.kernel(source, "saxpy")?;
//! let (x, y) = (manager.buffer(&[1.0f32; 1000])?, manager.buffer(&[2.0f32; 1000])?);
//! let done = manager.launch(&saxpy).arg(&x).arg(&y).arg(2.0f32).threads(1000).execute()?;
//! assert_eq!(y.read()?, [4.0f32; 1000]);
//! assert_eq!(done.attempts(), 1); // `done.path` tells devices, rungs and times
//! # Ok(())
//! # }
//! ```
//!
//! A [`Manager`] owns devices and policies ([`anymetal_policy::policies::Policies`]). An execution
//! climbs the recovery ladder: it is tried again after a delay, after idle memory was released, alone
//! on its device or in pieces, and on the next device. Its result tells the path.
//!
//! - *Buffers* ([`ManagedBuffer`]) and *textures* ([`ManagedTexture`]) follow the work from device to device.
//!   Executions that share one exclude one another if one of them writes it, for the whole ladder.
//! - *Running again*: what an attempt may have written is known from reflection. What the work
//!   changes in place is copied before the first attempt and restored before each further one. Work
//!   that can neither repeat nor be restored fails instead of running twice.
//! - *Loss*: an attempt that a device ends as lost, or that does not end in its time, ends that
//!   device's generation: its queues, pipelines and copies are not used again. Its factory makes it
//!   anew when the breaker of the device lets a probe through. Contents with no other copy are
//!   listed by [`Manager::lost`], and using them is an error until they are written.
//!
//! How the pieces depend on each other: `launch` makes a `job`, `run` takes it up its ladder,
//! `attempt` is one attempt on a `generation` of a `slot`; `memory` knows which copies are current,
//! `gate` who may use them, `snapshot` what to restore; `core` is what all share, `observe` where it
//! is told, `audit` what of it is recorded, `kept` what the next process finds.

mod attempt;
mod audit;
mod buffer;
mod builder;
mod core;
mod error;
mod execution;
mod gate;
mod generation;
mod graph;
mod host_bytes;
mod job;
mod kept;
mod kernel;
mod launch;
mod memory;
mod observe;
mod recipe;
mod run;
mod session;
mod slot;
mod snapshot;
mod strain;
#[cfg(test)]
mod tests;
mod texture;

use std::sync::Arc;

use anymetal::texture::TextureDescriptor;
use anymetal_audit::AuditLog;
use anymetal_policy::adapt::{LinuxThermal, Rapl};
use anymetal_policy::breaker::{BreakerSnapshot, Breakers};
use bytemuck::Pod;

use anymetal::call::bytes_of;
use anymetal::{CompileOptions, Device, PipelineDescriptor};

use crate::config::ServiceLayers;

use self::core::Core;
use self::host_bytes::HostBytes;
use self::observe::BreakerKey;

pub use buffer::{ManagedArgument, ManagedBinding, ManagedBuffer, ManagedView};
pub use builder::ManagerBuilder;
pub use error::{AttemptError, Failed, ManagerError};
pub use execution::Execution;
pub use graph::{GraphSite, ManagedGraph, ManagedGraphBuilder};
pub use kernel::ManagedKernel;
pub use launch::{ManagedGraphLaunch, ManagedLaunch, Piece, PieceCall, Produced};
pub use memory::Durability;
pub use session::ManagerSession;
pub use slot::DeviceStatus;
pub use texture::ManagedTexture;

/// A breaker of a manager at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakerStatus {
    /// The device's name in the manager.
    pub device: String,
    /// The name of the kernel or graph.
    pub work: String,
    /// Its state and counts.
    pub snapshot: BreakerSnapshot,
}

/// Devices under policies: runs kernels and graphs, and recovers. Clones are the same manager.
#[derive(Debug, Clone)]
pub struct Manager {
    core: Arc<Core>,
}

/// A buffer whose contents were lost with a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostBuffer {
    /// Its label; may be empty.
    pub label: String,
    /// Its bytes.
    pub length: u64,
    /// The device.
    pub device: String,
}

impl Manager {
    /// All devices of this machine, with policies, audit log and session of the settings
    /// (`ANYMETAL_POLICY_*`, `ANYMETAL_AUDIT_*`, `ANYMETAL_SESSION_FILE` and the sections of the file),
    /// which are rebuilt if they are lost, and run less at once in heat. Starts the exporters that the
    /// settings ask for, as [`crate::start`] does.
    pub fn system() -> Result<Manager, ManagerError> {
        let settings = ServiceLayers::load(None)?;
        crate::start_with(&settings)?;
        let builder = Manager::builder().thermal(LinuxThermal::default()).power(Rapl::default());
        let mut builder = builder.settings(&settings.resolve()?);
        for device in Device::all()? {
            let name = device.name().to_owned();
            builder = builder.device_from(name.clone(), move || Device::by_name(&name))?;
        }
        builder.build()
    }

    /// A manager of devices, policies and a clock of one's own.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder::new()
    }

    /// A buffer with a copy of those elements, which are moved to a device when it needs them.
    pub fn buffer<T: Pod>(&self, elements: &[T]) -> Result<ManagedBuffer<T>, ManagerError> {
        self.buffer_with(elements, "", Durability::default())
    }

    /// As [`Manager::buffer`], with a label and how its host copy is kept.
    pub fn buffer_with<T: Pod>(
        &self,
        elements: &[T],
        label: &str,
        durability: Durability,
    ) -> Result<ManagedBuffer<T>, ManagerError> {
        let host = HostBytes::Bytes(Arc::new(bytemuck::cast_slice(elements).to_vec()));
        Ok(ManagedBuffer::new(&self.core, elements.len(), label.to_owned(), durability, host))
    }

    /// A buffer of that many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<ManagedBuffer<T>, ManagerError> {
        self.buffer_zeroed_with(count, "", Durability::default())
    }

    /// As [`Manager::buffer_zeroed`], with a label and how its host copy is kept.
    pub fn buffer_zeroed_with<T: Pod>(
        &self,
        count: usize,
        label: &str,
        durability: Durability,
    ) -> Result<ManagedBuffer<T>, ManagerError> {
        bytes_of::<T>(count)?;
        Ok(ManagedBuffer::new(&self.core, count, label.to_owned(), durability, HostBytes::Zeros))
    }

    /// A texture of that shape, all bytes zero.
    ///
    /// # Errors
    /// A shape or format that no texture has.
    pub fn texture(&self, descriptor: &TextureDescriptor) -> Result<ManagedTexture, ManagerError> {
        self.texture_with(descriptor, "", Durability::default())
    }

    /// As [`Manager::texture`], with a label and how its host copy is kept.
    ///
    /// # Errors
    /// As [`Manager::texture`].
    pub fn texture_with(
        &self,
        descriptor: &TextureDescriptor,
        label: &str,
        durability: Durability,
    ) -> Result<ManagedTexture, ManagerError> {
        Ok(ManagedTexture::new(&self.core, descriptor, label, durability)?)
    }

    /// A kernel of MSL source for all devices. It is compiled for each when it is first needed there,
    /// or by [`ManagedKernel::compile_ahead`].
    pub fn kernel(
        &self,
        source: &str,
        kernel: impl Into<PipelineDescriptor>,
    ) -> Result<ManagedKernel, ManagerError> {
        self.kernel_with(source, &CompileOptions::default(), kernel)
    }

    /// As [`Manager::kernel`], with options for the compiler.
    pub fn kernel_with(
        &self,
        source: &str,
        options: &CompileOptions,
        kernel: impl Into<PipelineDescriptor>,
    ) -> Result<ManagedKernel, ManagerError> {
        ManagedKernel::new(&self.core, source, options, kernel.into())
    }

    /// Starts a launch of a kernel.
    pub fn launch<'a>(&'a self, kernel: &'a ManagedKernel) -> ManagedLaunch<'a> {
        ManagedLaunch::new(&self.core, kernel)
    }

    /// Starts a graph for all devices: it declares its buffers, and a closure builds it for a device.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal_service::ManagerError> {
    /// use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
    /// use anymetal_service::Manager;
    ///
    /// let manager = Manager::system()?;
    /// let source = "kernel void twice(device const float* x, device float* y,
    ///                                 uint i [[thread_position_in_grid]]) { y[i] = 2 * x[i]; }";
    /// let twice = manager.kernel(source, "twice")?;
    /// let (x, y) = (manager.buffer(&[1.0f32; 64])?, manager.buffer_zeroed::<f32>(64)?);
    /// let graph = manager.graph("four times").reads(&x).updates(&y).build({
    ///     let (x, y) = (x.clone(), y.clone());
    ///     move |site| {
    ///         let (twice, x, y) = (site.pipeline(&twice)?, site.buffer(&x)?, site.buffer(&y)?);
    ///         let between = site.device().acquire::<f32>(64)?;
    ///         let mut graph = GraphBuilder::new("four times");
    ///         graph.kernel("first", twice.node().arg(&x).arg(&between).threads(64).build()?)?;
    ///         graph.kernel("second", twice.node().arg(&between).arg(&y).threads(64).build()?)?;
    ///         graph.order_as_added();
    ///         Ok(Executable::new(&graph.build()?, PlanOptions::default())?)
    ///     }
    /// })?;
    /// manager.execute_graph(&graph)?;
    /// assert_eq!(y.read()?, [4.0; 64]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn graph(&self, name: impl Into<String>) -> ManagedGraphBuilder {
        ManagedGraphBuilder::new(&self.core, name.into())
    }

    /// Starts a launch of a graph, for one with a deadline, a check or a declaration.
    pub fn launch_graph<'a>(&'a self, graph: &'a ManagedGraph) -> ManagedGraphLaunch<'a> {
        ManagedGraphLaunch::new(&self.core, graph)
    }

    /// Runs a graph by the manager's policies and waits for the result.
    pub fn execute_graph(&self, graph: &ManagedGraph) -> Result<Execution, ManagerError> {
        self.launch_graph(graph).execute()
    }

    /// The buffers whose contents were lost with a device and not written since, the oldest first.
    pub fn lost(&self) -> Vec<LostBuffer> {
        let lost = self.core.memories().into_iter().filter_map(|memory| {
            let device = memory.lost_with()?.to_string();
            Some(LostBuffer { label: memory.label().to_owned(), length: memory.length(), device })
        });
        lost.collect()
    }

    /// The audit log, if there is one: everything that runs, fails, is lost or is decided is a record.
    pub fn audit(&self) -> Option<&Arc<AuditLog>> {
        self.core.audit.as_ref().map(|audit| audit.log())
    }

    /// What is kept for the next start, if there is a file for it.
    pub fn session(&self) -> Option<ManagerSession<'_>> {
        self.core.kept.as_ref().map(|kept| ManagerSession::new(&self.core, kept))
    }

    /// All devices in the order in which the builder was given them.
    pub fn devices(&self) -> Vec<DeviceStatus> {
        self.core.slots.iter().map(slot::DeviceSlot::status).collect()
    }

    /// The breakers of devices and what ran on them, by names; none without breakers in the policies.
    pub fn breakers(&self) -> Vec<BreakerStatus> {
        let snapshots = self.core.breakers.as_ref().map(Breakers::snapshots).unwrap_or_default();
        let status = |(key, snapshot): (BreakerKey, BreakerSnapshot)| BreakerStatus {
            device: key.device.to_string(),
            work: key.work.to_string(),
            snapshot,
        };
        snapshots.into_iter().map(status).collect()
    }
}
