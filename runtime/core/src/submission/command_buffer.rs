//! Command buffers in the making.
//!
//! Owns [`CommandBuffer`]. Typestate: an encoder borrows its command buffer, so a command buffer cannot be
//! committed with an encoder open, two encoders cannot be open at once, and [`CommandBuffer::commit`]
//! consumes it, so it cannot be committed twice or encoded to afterwards. None of these compiles:
//!
//! ```compile_fail,E0505
//! # fn example(stream: &anymetal_core::stream::Stream) {
//! let mut command_buffer = stream.command_buffer().unwrap();
//! let encoder = command_buffer.blit();
//! command_buffer.commit();
//! encoder.end_encoding();
//! # }
//! ```
//! ```compile_fail,E0499
//! # fn example(stream: &anymetal_core::stream::Stream) {
//! let mut command_buffer = stream.command_buffer().unwrap();
//! let (first, second) = (command_buffer.blit(), command_buffer.blit());
//! first.end_encoding();
//! # }
//! ```
//! ```compile_fail,E0382
//! # fn example(stream: &anymetal_core::stream::Stream) {
//! let command_buffer = stream.command_buffer().unwrap();
//! command_buffer.commit();
//! command_buffer.commit();
//! # }
//! ```

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use anymetal_hal::blit::BlitEncoder;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{
    Command, CommandList, Deadline, Dispatch, IndirectDispatch, ResidentBuffer, ResourceUsage, Timestamps,
};
use anymetal_hal::encoded_commands::EncodedExecution;
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::Fence;
use anymetal_hal::matrix_product::{CheckedProduct, MatrixProduct};
use anymetal_hal::time_sample::TimeSample;

use crate::event::{Bridge, Event};
use crate::observe::Observation;
use crate::stream::permit::Permit;
use crate::stream::{StreamCore, event_command};
use crate::submission::stage::Stages;
use crate::submission::{
    Attached, Callback, CommittedCommands, Dependency, ExecError, Outcome, PendingWork, SubmissionCore,
};
use crate::tenant::{MemoryCharge, WorkCharge};
use crate::trace::Trace;

/// Commands for a stream. Dropping it without a commit gives its place back and runs nothing.
pub struct CommandBuffer {
    stream: Arc<StreamCore>,
    permit: Permit,
    charge: Option<WorkCharge>,
    staging_charge: Option<MemoryCharge>,
    commands: CommandList,
    dependencies: Vec<Dependency>,
    callbacks: Vec<Callback>,
    bridges: Vec<Bridge>,
    names: Vec<String>,
}

impl CommandBuffer {
    pub(crate) fn new(permit: Permit, charge: Option<WorkCharge>, stream: &Arc<StreamCore>) -> Self {
        CommandBuffer {
            stream: Arc::clone(stream),
            permit,
            charge,
            staging_charge: None,
            commands: CommandList::default().deadline(stream.default_deadline()),
            dependencies: Vec::new(),
            callbacks: Vec::new(),
            bridges: Vec::new(),
            names: Vec::new(),
        }
    }

    /// A name for messages and the history.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.commands.label = label.into();
        self
    }

    /// When to stop the work, counted from its start; [`Deadline::Default`]: the stream's.
    pub fn deadline(mut self, deadline: Deadline) -> Self {
        self.commands.deadline = deadline.or(self.stream.default_deadline());
        self
    }

    /// What to measure.
    pub fn timestamps(mut self, timestamps: Timestamps) -> Self {
        self.commands.timestamps = timestamps;
        self
    }

    /// The bytes of the log for messages of its kernels, by default
    /// [`anymetal_hal::logging::DEFAULT_LOG_BYTES`]. Messages that do not fit are counted and lost.
    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.commands.log_bytes = Some(bytes);
        self
    }

    /// Runs the work only after another submission, of any stream and device, has ended well. If that one
    /// fails or is cancelled, this one does not run.
    pub fn after(mut self, other: &CommittedCommands) -> Self {
        self.dependencies.push(Dependency { on: Arc::clone(other.core()), subscribed: false });
        self
    }

    /// Calls back when the work has ended; see [`CommittedCommands::on_done`].
    pub fn on_done(mut self, callback: impl FnOnce(&Outcome) + Send + 'static) -> Self {
        self.callbacks.push(Box::new(callback));
        self
    }

    /// Encodes a dispatch.
    ///
    /// # Errors
    /// A grid, threadgroup size, binding or length that the kernel or the device does not allow. The dispatch
    /// is not encoded then.
    pub fn encode(&mut self, dispatch: Dispatch) -> Result<(), DeviceError> {
        dispatch.check(self.limits())?;
        self.commands.commands.push(Command::Dispatch(dispatch));
        Ok(())
    }

    /// Encodes a dispatch whose grid is read from a buffer.
    ///
    /// # Errors
    /// As [`CommandBuffer::encode`], except that the grid is checked when its turn comes.
    pub fn encode_indirect(&mut self, dispatch: IndirectDispatch) -> Result<(), DeviceError> {
        dispatch.dispatch().check(self.limits())?;
        self.commands.commands.push(Command::DispatchIndirect(dispatch));
        Ok(())
    }

    /// Encodes an execution of commands that kernels encode.
    pub fn execute_encoded(&mut self, execution: EncodedExecution) {
        self.commands.commands.push(Command::ExecuteEncoded(Box::new(execution)));
    }

    /// Updates a fence once all earlier commands are done.
    pub fn update_fence(&mut self, fence: &Arc<dyn Fence>) {
        self.commands.commands.push(Command::UpdateFence(Arc::clone(fence)));
    }

    /// Delays the following commands until the last earlier update of the fence is done.
    pub fn wait_for_fence(&mut self, fence: &Arc<dyn Fence>) {
        self.commands.commands.push(Command::WaitFence(Arc::clone(fence)));
    }

    fn limits(&self) -> &Capabilities {
        self.stream.context.inner.device.capabilities()
    }

    /// Makes a buffer reachable for kernels that find its address in memory. What is bound is reachable
    /// anyway.
    pub fn use_resource(&mut self, buffer: &Arc<dyn Buffer>, usage: ResourceUsage) {
        self.commands.resident.push(ResidentBuffer::new(Arc::clone(buffer), usage));
    }

    /// Encodes copies and fills. The encoder ends when it is dropped.
    pub fn blit(&mut self) -> BlitEncoder<'_> {
        BlitEncoder::new(&mut self.commands.commands)
    }

    /// Multiplies matrices by the device's own library.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if it has none, and those of [`CheckedProduct::new`].
    pub fn multiply(&mut self, product: MatrixProduct) -> Result<(), DeviceError> {
        self.stream.context.inner.device.matrix_products()?;
        let product = CheckedProduct::new(product)?;
        self.commands.commands.push(Command::MatrixProduct(Box::new(product)));
        Ok(())
    }

    /// Writes what the device's clock shows once everything before is done.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if the device does not sample its clock.
    pub fn sample_time(&mut self, sample: TimeSample) -> Result<(), DeviceError> {
        self.stream.context.inner.device.clock_ns()?;
        self.commands.commands.push(Command::SampleTime(sample));
        Ok(())
    }

    /// What follows waits, without a thread, until the event reaches the value. The event may be of another
    /// device: then the host passes its signal on.
    pub fn wait_event(&mut self, event: &Event, value: u64) -> Result<(), DeviceError> {
        let bridge = Bridge::to_wait(event, value, &self.stream.context)?;
        self.commands.commands.push(event_command(bridge.local(), bridge.local_value(), true));
        self.bridges.push(bridge);
        Ok(())
    }

    /// Raises the event once everything before is done. The event may be of another device.
    pub fn signal_event(&mut self, event: &Event, value: u64) -> Result<(), DeviceError> {
        let bridge = Bridge::to_signal(event, value, &self.stream.context)?;
        self.commands.commands.push(event_command(bridge.local(), bridge.local_value(), false));
        self.bridges.push(bridge);
        Ok(())
    }

    /// Takes commands as they are, the first ones; the device checks them when it is given the work.
    pub(crate) fn set_commands(&mut self, commands: Vec<Command>) {
        self.commands.commands = commands;
    }

    /// Keeps what is charged for the bytes that are staged for it until it has ended.
    pub(crate) fn set_staging_charge(&mut self, charge: Option<MemoryCharge>) {
        self.staging_charge = charge;
    }

    /// Names its first commands, for a trace.
    pub(crate) fn set_names(&mut self, names: Vec<String>) {
        self.names = names;
    }

    /// How many commands it has.
    pub fn len(&self) -> usize {
        self.commands.commands.len()
    }

    /// Whether it has no commands.
    pub fn is_empty(&self) -> bool {
        self.commands.commands.is_empty()
    }

    /// Hands the work to the stream.
    pub fn commit(mut self) -> CommittedCommands {
        let observed = Observation::begin(&self.stream, &mut self.commands);
        self.commit_observed(observed)
    }

    /// Hands the work to the stream and waits for its end, as `commit().wait()`. One short dispatch in a
    /// stream with nothing else to do is run by the calling thread, without a submission, where the device
    /// does that ([`Queue::run_inline`]).
    ///
    /// [`Queue::run_inline`]: anymetal_hal::queue::Queue::run_inline
    pub fn run(mut self) -> Outcome {
        if !self.is_plain() {
            return self.commit().wait();
        }
        let observed = Observation::begin(&self.stream, &mut self.commands);
        match self.stream.queue().run_inline(&self.commands) {
            Some(outcome) => {
                let outcome = outcome.map_err(ExecError::Device);
                observed.end(&self.stream, &outcome, None);
                outcome
            }
            None => self.commit_observed(observed).wait(),
        }
    }

    /// Whether nothing but its waiter has to know of the work while it is in progress, and the stream has
    /// nothing else to do.
    fn is_plain(&self) -> bool {
        let attached = self.charge.is_some()
            || self.staging_charge.is_some()
            || !self.dependencies.is_empty()
            || !self.callbacks.is_empty()
            || !self.bridges.is_empty();
        let context = &self.stream.context;
        !attached && context.history().is_none() && context.trace().is_none() && self.stream.is_idle()
    }

    fn commit_observed(self, observed: Observation) -> CommittedCommands {
        let CommandBuffer { stream, mut permit, commands, dependencies, .. } = self;
        permit.commit();
        let attached = Attached {
            permit: Some(permit),
            charge: self.charge,
            staging_charge: self.staging_charge,
            callbacks: self.callbacks,
            bridges: self.bridges,
            names: self.names,
            observed,
            ..Attached::default()
        };
        let core = Arc::new(SubmissionCore {
            id: stream.context.trace().map_or(0, Trace::next_id),
            label: commands.label.clone(),
            stream: Arc::clone(&stream),
            stages: Stages::held(PendingWork { commands, dependencies }),
            attached: Mutex::new(attached),
            timings: OnceLock::new(),
            logs: OnceLock::new(),
            refused: AtomicBool::new(false),
        });
        stream.enqueue(&core);
        CommittedCommands::new(core)
    }
}

impl std::fmt::Debug for CommandBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CommandBuffer").field("commands", &self.commands).finish_non_exhaustive()
    }
}
