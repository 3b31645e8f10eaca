//! `MTLCommandBuffer`.

use std::sync::{Mutex, PoisonError};

use anymetal::Submission;
use anymetal::command::ResourceUsage;
use anymetal::profile::Timing;
use block2::{Block, RcBlock};
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::blit_encoder::{BlitEncoder, BlitIvars};
use super::commands::{Commands, Status};
use super::compute_encoder::{ComputeEncoder, ComputeIvars};
use super::device::Device;
use super::event::Event;
use super::label::Label;
use super::log_state::{self, LogState};
use super::pass::{BlitPassDescriptor, ComputePassDescriptor, Samples};
use super::queue::Queue;
use super::render_encoder::{RenderEncoder, RenderIvars};
use super::render_pass::RenderPassDescriptor;
use super::residency::{ResidencySet, use_all};
use super::{errors, violation};
use crate::arguments::List;
use crate::foundation::{NSArray, NSError, NSString};

/// `MTLDispatchTypeSerial`.
const SERIAL: usize = 0;

type Handler = RcBlock<dyn Fn(*mut AnyObject)>;

/// The instance variables of a command buffer.
pub(crate) struct CommandBufferIvars {
    commands: Commands,
    queue: Retained<Queue>,
    retained_references: bool,
    log_state: Option<Retained<LogState>>,
    label: Label,
    scheduled: Mutex<Vec<Handler>>,
    completed: Mutex<Vec<Handler>>,
    /// The error that `error` gave: the same object each time, which lives as long as this one.
    error: Mutex<Option<Retained<NSError>>>,
}

impl CommandBufferIvars {
    pub(crate) fn new(
        commands: Commands,
        queue: Retained<Queue>,
        retained_references: bool,
        log_state: Option<Retained<LogState>>,
    ) -> Self {
        CommandBufferIvars {
            commands,
            queue,
            retained_references,
            log_state,
            label: Label::default(),
            scheduled: Mutex::default(),
            completed: Mutex::default(),
            error: Mutex::default(),
        }
    }
}

impl CommandBufferIvars {
    /// What its place in the queue's order is known by.
    fn owner(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl std::fmt::Debug for CommandBufferIvars {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CommandBufferIvars").field("commands", &self.commands).finish_non_exhaustive()
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCommandBuffer"]
    #[ivars = CommandBufferIvars]
    #[derive(Debug)]
    pub(crate) struct CommandBuffer;

    impl CommandBuffer {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().queue.ivars().device.clone()
        }

        #[unsafe(method_id(commandQueue))]
        fn queue(&self) -> Retained<Queue> {
            self.ivars().queue.clone()
        }

        #[unsafe(method(retainedReferences))]
        fn retained_references(&self) -> bool {
            self.ivars().retained_references
        }

        #[unsafe(method(errorOptions))]
        fn error_options(&self) -> usize {
            0
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(pushDebugGroup:))]
        fn push_group(&self, _name: &NSString) {}

        #[unsafe(method(popDebugGroup))]
        fn pop_group(&self) {}

        #[unsafe(method_id(computeCommandEncoder))]
        fn compute(&self) -> Option<Retained<ComputeEncoder>> {
            Some(self.begin_compute("MTLCommandBuffer computeCommandEncoder", SERIAL, Vec::new()))
        }

        #[unsafe(method_id(computeCommandEncoderWithDispatchType:))]
        fn compute_of_type(&self, dispatch_type: usize) -> Option<Retained<ComputeEncoder>> {
            Some(self.begin_compute("MTLCommandBuffer computeCommandEncoderWithDispatchType:", dispatch_type, Vec::new()))
        }

        #[unsafe(method_id(computeCommandEncoderWithDescriptor:))]
        fn described_compute(&self, descriptor: &ComputePassDescriptor) -> Option<Retained<ComputeEncoder>> {
            const METHOD: &str = "MTLCommandBuffer computeCommandEncoderWithDescriptor:";
            let pass = descriptor.ivars();
            Some(self.begin_compute(METHOD, pass.dispatch_type(), pass.samples()))
        }

        #[unsafe(method_id(blitCommandEncoder))]
        fn blit(&self) -> Option<Retained<BlitEncoder>> {
            Some(self.begin_blit("MTLCommandBuffer blitCommandEncoder", Vec::new()))
        }

        #[unsafe(method_id(blitCommandEncoderWithDescriptor:))]
        fn described_blit(&self, descriptor: &BlitPassDescriptor) -> Option<Retained<BlitEncoder>> {
            Some(self.begin_blit("MTLCommandBuffer blitCommandEncoderWithDescriptor:", descriptor.ivars().samples()))
        }

        #[unsafe(method_id(renderCommandEncoderWithDescriptor:))]
        fn render(&self, descriptor: &RenderPassDescriptor) -> Option<Retained<RenderEncoder>> {
            const METHOD: &str = "MTLCommandBuffer renderCommandEncoderWithDescriptor:";
            self.commands().begin_encoder(METHOD);
            let samples = descriptor.samples_of_pass();
            Samples::begin(&samples, METHOD, self.commands());
            descriptor.clear(METHOD, self);
            Some(crate::foundation::object(RenderIvars::new(self.retain(), samples)))
        }

        #[unsafe(method(encodeWaitForEvent:value:))]
        fn wait_event(&self, event: &Event, value: u64) {
            const METHOD: &str = "MTLCommandBuffer encodeWaitForEvent:value:";
            self.commands().require_no_encoder(METHOD);
            self.commands().encode(METHOD, |commands| commands.wait_event(&event.ivars().event, value));
        }

        #[unsafe(method(encodeSignalEvent:value:))]
        fn signal_event(&self, event: &Event, value: u64) {
            const METHOD: &str = "MTLCommandBuffer encodeSignalEvent:value:";
            self.commands().require_no_encoder(METHOD);
            self.commands().encode(METHOD, |commands| commands.signal_event(&event.ivars().event, value));
        }

        #[unsafe(method(useResidencySet:))]
        fn use_set(&self, set: &ResidencySet) {
            self.use_committed("MTLCommandBuffer useResidencySet:", set);
        }

        #[unsafe(method(useResidencySets:count:))]
        fn use_sets(&self, sets: List<&ResidencySet>, count: usize) {
            for set in sets.read(count) {
                self.use_committed("MTLCommandBuffer useResidencySets:count:", set);
            }
        }

        #[unsafe(method(enqueue))]
        fn enqueue(&self) {
            if self.commands().enqueue() {
                self.ivars().queue.order().enqueue(self.ivars().owner());
            }
        }

        #[unsafe(method(commit))]
        fn commit(&self) {
            self.commit_now();
        }

        #[unsafe(method(addScheduledHandler:))]
        fn add_scheduled(&self, handler: &Block<dyn Fn(*mut AnyObject)>) {
            self.add("Scheduled", &self.ivars().scheduled, handler);
        }

        #[unsafe(method(addCompletedHandler:))]
        fn add_completed(&self, handler: &Block<dyn Fn(*mut AnyObject)>) {
            self.add("Completed", &self.ivars().completed, handler);
        }

        #[unsafe(method(waitUntilScheduled))]
        fn wait_scheduled(&self) {
            let _submission = self.commands().wait_scheduled();
        }

        #[unsafe(method(waitUntilCompleted))]
        fn wait_completed(&self) {
            self.commands().wait_completed();
        }

        #[unsafe(method(status))]
        fn status(&self) -> usize {
            self.commands().status() as usize
        }

        #[unsafe(method_id(error))]
        fn error(&self) -> Option<Retained<NSError>> {
            self.error_object()
        }

        // Messages of kernels go to the log state; these would be of the validation layer.
        #[unsafe(method_id(logs))]
        fn logs(&self) -> Retained<NSArray> {
            NSArray::of(Vec::new())
        }

        #[unsafe(method(GPUStartTime))]
        fn gpu_start(&self) -> f64 {
            self.time(|timing| timing.started_ns)
        }

        #[unsafe(method(GPUEndTime))]
        fn gpu_end(&self) -> f64 {
            self.time(|timing| timing.ended_ns)
        }

        #[unsafe(method(kernelStartTime))]
        fn kernel_start(&self) -> f64 {
            self.time(|timing| timing.submitted_ns)
        }

        #[unsafe(method(kernelEndTime))]
        fn kernel_end(&self) -> f64 {
            self.time(|timing| timing.started_ns)
        }
    }
);

impl CommandBuffer {
    fn use_committed(&self, method: &str, set: &ResidencySet) {
        self.commands().encode(method, |commands| {
            use_all(commands, set.committed(), ResourceUsage::ReadWrite);
            Ok(())
        });
    }

    pub(crate) fn commands(&self) -> &Commands {
        &self.ivars().commands
    }

    pub(crate) fn device_object(&self) -> Retained<Device> {
        self.ivars().queue.ivars().device.clone()
    }

    fn begin_compute(
        &self,
        method: &str,
        dispatch_type: usize,
        samples: Vec<Samples>,
    ) -> Retained<ComputeEncoder> {
        self.commands().begin_encoder(method);
        Samples::begin(&samples, method, self.commands());
        crate::foundation::object(ComputeIvars::new(self.retain(), dispatch_type, samples))
    }

    fn begin_blit(&self, method: &str, samples: Vec<Samples>) -> Retained<BlitEncoder> {
        self.commands().begin_encoder(method);
        Samples::begin(&samples, method, self.commands());
        crate::foundation::object(BlitIvars::new(self.retain(), samples))
    }

    fn add(&self, kind: &str, handlers: &Mutex<Vec<Handler>>, handler: &Block<dyn Fn(*mut AnyObject)>) {
        if !matches!(self.commands().status(), Status::NotEnqueued | Status::Enqueued) {
            let method = format!("MTLCommandBuffer add{kind}Handler:");
            violation(&method, format_args!("{kind} handler provided after commit call"));
        }
        handlers.lock().unwrap_or_else(PoisonError::into_inner).push(handler.copy());
    }

    fn commit_now(&self) {
        let taken = |handlers: &Mutex<Vec<Handler>>| {
            std::mem::take(&mut *handlers.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let (scheduled, completed) = (taken(&self.ivars().scheduled), taken(&self.ivars().completed));
        let mut work = self.commands().commit(!completed.is_empty()).label(self.ivars().label.text());
        use_all(&mut work, self.ivars().queue.resident(), ResourceUsage::ReadWrite);
        let this = self.retain();
        self.ivars()
            .queue
            .order()
            .commit(self.ivars().owner(), move || this.hand_over(work, scheduled, completed));
    }

    fn hand_over(&self, work: anymetal::CommandBuffer, scheduled: Vec<Handler>, completed: Vec<Handler>) {
        let result = work.commit();
        let submission = result.as_ref().ok().cloned();
        self.commands().handed_over(result);
        if !scheduled.is_empty() {
            Calls { handlers: scheduled, of: self.retain(), last: false, logs: None }.start();
        }
        let logs = submission.clone().filter(|_| log_state::is_enabled());
        if completed.is_empty() && logs.is_none() {
            return;
        }
        let last = !completed.is_empty();
        let calls = Calls { handlers: completed, of: self.retain(), last, logs };
        match submission {
            Some(submission) => submission.on_done(move |_| calls.start()),
            None => calls.start(),
        }
    }

    fn error_object(&self) -> Option<Retained<NSError>> {
        let error = self.commands().outcome()?.err()?;
        let mut known = self.ivars().error.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.get_or_insert_with(|| errors::of_command_buffer(&error)).clone())
    }

    /// A time of the work's in seconds, 0 before its end.
    fn time(&self, of: impl FnOnce(&Timing) -> u64) -> f64 {
        match self.commands().outcome() {
            Some(Ok(timing)) => of(&timing) as f64 * 1e-9,
            Some(Err(_)) | None => 0.0,
        }
    }
}

impl Drop for CommandBufferIvars {
    fn drop(&mut self) {
        if self.commands.status() == Status::Enqueued {
            self.queue.order().forget(self.owner());
        }
    }
}

/// Handlers to call with their command buffer.
struct Calls {
    handlers: Vec<Handler>,
    of: Retained<CommandBuffer>,
    /// Whether the command buffer owes nothing afterwards.
    last: bool,
    /// The work that has ended, whose messages are told first.
    logs: Option<Submission>,
}

// SAFETY: Metal calls handlers on a thread of its own, so programs give it blocks that may be
// called there; a command buffer may be used from every thread.
unsafe impl Send for Calls {}

impl Calls {
    /// Has the queue's thread make the calls.
    fn start(self) {
        let queue = self.of.ivars().queue.clone();
        queue.run(Box::new(move || self.make()));
    }

    fn make(self) {
        let Calls { handlers, of, last, logs } = self;
        let told = Told { of: &of, last };
        log_state::deliver(of.ivars().log_state.as_deref(), logs.and_then(|work| work.logs()));
        for handler in &handlers {
            handler.call((Retained::as_ptr(&of).cast_mut().cast(),));
        }
        drop(handlers);
        drop(told);
    }
}

/// Tells waiters that the handlers were called, also if one of them panics.
struct Told<'a> {
    of: &'a CommandBuffer,
    last: bool,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if self.last {
            self.of.commands().handlers_called();
        }
    }
}
