//! The null device: it accepts and validates everything, and runs nothing.
//!
//! Owns [`NullDevice`], on which the runtime's policies are tested without hardware. What it says of itself:
//! [`DeviceKind::Null`]; every completion is successful and every buffer keeps what the host wrote. Event waits
//! and signals, deadlines, order and in-flight limits are kept as on a real device, by the clock that is given.
//! Invariant: command buffers of a queue end in order, each as soon as its waits are met, on the thread that
//! met them; a thread that is ending one ends others in a loop, never by recursion.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::artifact::{Artifact, KernelInfo, MAX_THREADS_PER_THREADGROUP, SIMD_WIDTH};
use crate::baton::Baton;
use crate::buffer::{Buffer, BufferDescriptor, PendingUses, StorageMode};
use crate::capabilities::{Capabilities, DeviceKind};
use crate::clock::{AlarmId, Clock, SystemClock};
use crate::command::{Command, Deadline, Submission};
use crate::completion::{Completion, CompletionSource, Timing};
use crate::device::Device;
use crate::error::DeviceError;
use crate::event::{Event, HostEvent};
use crate::fence::{Fence, HostFence};
use crate::heap::{Heap, HeapDescriptor, RangeAllocator};
use crate::indirect::{HostIndirect, IndirectCommandBuffer};
use crate::permits::Permits;
use crate::pipeline::Pipeline;
use crate::queue::{Cancellation, Queue, QueueDescriptor, WhenFull};
use crate::validate;

/// The deadline of submissions that do not give one.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// A device that runs nothing.
#[derive(Debug, Clone)]
pub struct NullDevice {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    capabilities: Capabilities,
    clock: Arc<dyn Clock>,
    allocated: AtomicU64,
}

impl NullDevice {
    /// A null device by real time.
    pub fn new() -> Self {
        NullDevice::with_clock(SystemClock::shared())
    }

    /// A null device by that clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        NullDevice::named("null", clock)
    }

    /// A null device of that name; several make a machine with several devices.
    pub fn named(name: &str, clock: Arc<dyn Clock>) -> Self {
        NullDevice::made(name, clock, capabilities())
    }

    /// A null device of that name with memory of its own, as a GPU behind a bus has it.
    pub fn with_own_memory(name: &str, clock: Arc<dyn Clock>) -> Self {
        NullDevice::made(name, clock, Capabilities { unified_memory: false, ..capabilities() })
    }

    fn made(name: &str, clock: Arc<dyn Clock>, capabilities: Capabilities) -> Self {
        let name = name.to_owned();
        NullDevice { shared: Arc::new(Shared { name, capabilities, clock, allocated: AtomicU64::new(0) }) }
    }
}

impl Default for NullDevice {
    fn default() -> Self {
        NullDevice::new()
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        hardware_name: "no hardware: validates everything, runs nothing".to_owned(),
        kind: DeviceKind::Null,
        architecture: "null".to_owned(),
        unified_memory: true,
        memory_bytes: 1 << 40,
        working_set_bytes: 1 << 40,
        max_buffer_bytes: 1 << 36,
        max_threads_per_dimension: [MAX_THREADS_PER_THREADGROUP; 3],
        max_threads_per_threadgroup: MAX_THREADS_PER_THREADGROUP,
        max_threadgroup_memory_bytes: 32 * 1024,
        max_inline_bytes: 4096,
        simd_width: SIMD_WIDTH,
        compute_units: 1,
        supports_half: true,
        supports_bfloat: true,
        supports_64_bit_atomics: true,
        supports_timestamps: true,
        supports_priorities: true,
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.clock.now().as_nanos() as u64
    }

    fn wrong_device(&self, what: &'static str) -> DeviceError {
        DeviceError::WrongDevice { what, device: self.name.clone() }
    }

    fn check_length(&self, requested: u64) -> Result<(), DeviceError> {
        let limit = self.capabilities.max_buffer_bytes;
        if requested > limit { Err(DeviceError::BufferTooLarge { requested, limit }) } else { Ok(()) }
    }
}

impl Device for NullDevice {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.shared.check_length(descriptor.length)?;
        self.shared.allocated.fetch_add(descriptor.length, Ordering::Relaxed);
        Ok(Arc::new(NullBuffer::new(&self.shared, descriptor, None)))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let info = artifact.kernel(kernel).cloned().ok_or_else(|| DeviceError::UnknownKernel {
            name: kernel.to_owned(),
            existing: artifact.kernel_names().map(str::to_owned).collect(),
        })?;
        validate::check_arguments(&info, &self.shared.name)?;
        Ok(Arc::new(NullPipeline(info)))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let core = QueueCore {
            shared: Arc::clone(&self.shared),
            number: NonZero::<usize>::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed)),
            descriptor: descriptor.clone(),
            space: Permits::new(descriptor.max_in_flight),
            pending: Mutex::default(),
            baton: Baton::default(),
        };
        Ok(Arc::new(NullQueue(Arc::new(core))))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(HostFence::default()))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.shared.check_length(descriptor.length)?;
        self.shared.allocated.fetch_add(descriptor.length, Ordering::Relaxed);
        let ranges = Mutex::new(RangeAllocator::new(descriptor.length));
        let (shared, descriptor) = (Arc::clone(&self.shared), descriptor.clone());
        Ok(Arc::new(NullHeap(Arc::new(HeapBlock { shared, descriptor, ranges }))))
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        validate::check_indirect(&commands)?;
        // Everything else is checked whenever it is submitted: there is nothing to save.
        Ok(Arc::new(HostIndirect { commands, owner: Arc::clone(&self.shared) }))
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.allocated.load(Ordering::Relaxed)
    }
}

/// A pipeline that is never run.
#[derive(Debug)]
struct NullPipeline(KernelInfo);

impl Pipeline for NullPipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A buffer that has memory only once the host looks.
struct NullBuffer {
    shared: Arc<Shared>,
    descriptor: BufferDescriptor,
    bytes: OnceLock<Box<[AtomicU8]>>,
    uses: PendingUses,
    in_heap: Option<(Arc<HeapBlock>, u64)>,
}

impl NullBuffer {
    fn new(
        shared: &Arc<Shared>,
        descriptor: &BufferDescriptor,
        in_heap: Option<(Arc<HeapBlock>, u64)>,
    ) -> Self {
        let (shared, descriptor) = (Arc::clone(shared), descriptor.clone());
        NullBuffer { shared, descriptor, bytes: OnceLock::new(), uses: PendingUses::default(), in_heap }
    }

    fn bytes(&self) -> &[AtomicU8] {
        self.bytes.get_or_init(|| (0..self.descriptor.length).map(|_| AtomicU8::new(0)).collect())
    }

    fn range(&self, offset: u64, length: usize) -> Result<&[AtomicU8], DeviceError> {
        if self.descriptor.storage_mode == StorageMode::Private {
            return Err(DeviceError::Unsupported {
                device: self.shared.name.clone(),
                what: "host access to a private buffer".to_owned(),
                alternative: "copy it to a shared buffer with a command".to_owned(),
            });
        }
        validate::check_range(offset, length as u64, self.descriptor.length)?;
        Ok(&self.bytes()[offset as usize..offset as usize + length])
    }
}

impl Buffer for NullBuffer {
    fn length(&self) -> u64 {
        self.descriptor.length
    }

    fn storage_mode(&self) -> StorageMode {
        self.descriptor.storage_mode
    }

    fn label(&self) -> &str {
        &self.descriptor.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        let bytes = self.range(0, self.descriptor.length as usize).ok()?;
        NonNull::new(bytes.as_ptr().cast_mut().cast())
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        let source = self.range(offset, destination.len())?;
        for (to, from) in destination.iter_mut().zip(source) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        let destination = self.range(offset, source.len())?;
        for (to, from) in destination.iter().zip(source) {
            to.store(*from, Ordering::Relaxed);
        }
        Ok(())
    }

    fn is_unused(&self) -> bool {
        self.uses.are_done()
    }

    fn wait_unused(&self, timeout: Option<Duration>) -> bool {
        self.uses.wait(timeout)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for NullBuffer {
    fn drop(&mut self) {
        let length = self.descriptor.length;
        match &self.in_heap {
            Some((block, offset)) => block.ranges().release(*offset, length),
            None => drop(self.shared.allocated.fetch_sub(length, Ordering::Relaxed)),
        }
    }
}

impl fmt::Debug for NullBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NullBuffer").field("length", &self.descriptor.length).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct NullHeap(Arc<HeapBlock>);

#[derive(Debug)]
struct HeapBlock {
    shared: Arc<Shared>,
    descriptor: HeapDescriptor,
    ranges: Mutex<RangeAllocator>,
}

impl HeapBlock {
    fn ranges(&self) -> MutexGuard<'_, RangeAllocator> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        self.shared.allocated.fetch_sub(self.descriptor.length, Ordering::Relaxed);
    }
}

impl Heap for NullHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        let heap = self.0.descriptor.storage_mode;
        if descriptor.storage_mode != heap {
            return Err(DeviceError::HeapStorageMode { heap, buffer: descriptor.storage_mode });
        }
        let offset = self.0.ranges().allocate(descriptor.length)?;
        Ok(Arc::new(NullBuffer::new(&self.0.shared, descriptor, Some((Arc::clone(&self.0), offset)))))
    }

    fn length(&self) -> u64 {
        self.0.descriptor.length
    }

    fn used_bytes(&self) -> u64 {
        self.0.ranges().used()
    }

    fn largest_free_bytes(&self) -> u64 {
        self.0.ranges().largest_free()
    }

    fn label(&self) -> &str {
        &self.0.descriptor.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A queue's handle. Dropping it lets submitted work end.
struct NullQueue(Arc<QueueCore>);

struct QueueCore {
    shared: Arc<Shared>,
    number: NonZero<usize>,
    descriptor: QueueDescriptor,
    space: Permits,
    pending: Mutex<VecDeque<Item>>,
    /// Who ends command buffers.
    baton: Baton,
}

/// A command buffer on its way.
struct Item {
    submission: Submission,
    source: CompletionSource,
    timing: Timing,
    deadline: Option<(AlarmId, Arc<Expiry>)>,
    position: usize,
}

/// Notes that a deadline has passed.
struct Expiry {
    passed: AtomicBool,
    after: Duration,
    queue: Weak<QueueCore>,
}

impl Wake for Expiry {
    fn wake(self: Arc<Self>) {
        self.passed.store(true, Ordering::SeqCst);
        if let Some(queue) = self.queue.upgrade() {
            queue.run_soon();
        }
    }
}

thread_local! {
    /// Queues that the loop of this thread still has to look at; `None`: no loop runs.
    static TO_RUN: RefCell<Option<VecDeque<Arc<QueueCore>>>> = const { RefCell::new(None) };
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the queue on this thread, or has the loop that runs on it do so.
    fn run_soon(self: Arc<Self>) {
        let nested = TO_RUN.with_borrow_mut(|list| match list {
            Some(list) => {
                list.push_back(Arc::clone(&self));
                true
            }
            None => {
                *list = Some(VecDeque::new());
                false
            }
        });
        if nested {
            return;
        }
        let mut next = Some(self);
        while let Some(queue) = next {
            queue.run();
            next = TO_RUN.with_borrow_mut(|list| {
                let next = list.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    *list = None;
                }
                next
            });
        }
    }

    /// Ends command buffers until one has to wait.
    fn run(self: &Arc<Self>) {
        if !self.baton.take() {
            return;
        }
        loop {
            while let Some(mut item) = self.pop() {
                match self.advance(&mut item) {
                    Some(result) => self.finish(item, result),
                    None => {
                        // What it waits for may happen before it is back in its place: then the baton is
                        // passed on to this loop.
                        self.lock().push_front(item);
                        break;
                    }
                }
            }
            if !self.baton.pass() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<Item> {
        self.lock().pop_front()
    }

    /// Goes on with a command buffer; `None`: it waits.
    fn advance(self: &Arc<Self>, item: &mut Item) -> Option<Result<(), DeviceError>> {
        let clock = &self.shared.clock;
        if item.timing.started_ns == 0 {
            item.timing.started_ns = self.shared.now_ns().max(1);
            let after = match item.submission.deadline {
                Deadline::Default => Some(DEFAULT_DEADLINE),
                Deadline::After(after) => Some(after),
                Deadline::Never => None,
            };
            let waits =
                item.submission.commands.iter().any(|command| matches!(command, Command::WaitEvent { .. }));
            item.deadline = after.filter(|_| waits).map(|after| {
                let queue = Arc::downgrade(self);
                let expiry = Arc::new(Expiry { passed: AtomicBool::new(false), after, queue });
                let alarm =
                    clock.set_alarm(clock.now().saturating_add(after), Waker::from(Arc::clone(&expiry)));
                (alarm, expiry)
            });
        }
        while let Some(command) = item.submission.commands.get(item.position) {
            match command {
                Command::SignalEvent { event, value } => event.signal(*value),
                Command::WaitEvent { event, value }
                    if event.subscribe(*value, Waker::from(Arc::clone(self))).is_some() =>
                {
                    let expiry = item.deadline.as_ref().map(|(_, expiry)| expiry);
                    let passed = expiry.filter(|expiry| expiry.passed.load(Ordering::SeqCst))?;
                    let after = passed.after;
                    return Some(Err(DeviceError::DeadlineExceeded { kernel: None, after }));
                }
                _ => {}
            }
            item.position += 1;
        }
        Some(Ok(()))
    }

    fn finish(&self, item: Item, result: Result<(), DeviceError>) {
        let Item { submission, source, mut timing, deadline, .. } = item;
        if let Some((alarm, _)) = deadline {
            self.shared.clock.clear_alarm(alarm);
        }
        drop(submission);
        timing.ended_ns = self.shared.now_ns();
        self.space.release();
        source.finish(result.map(|()| timing));
    }

    fn validate(&self, submission: &Submission) -> Result<(), DeviceError> {
        submission.commands.iter().try_for_each(|command| self.validate_command(command))
    }

    fn validate_command(&self, command: &Command) -> Result<(), DeviceError> {
        let limits = &self.shared.capabilities;
        let mut foreign = false;
        command.each_buffer(&mut |buffer| {
            let own = buffer.as_any().downcast_ref::<NullBuffer>();
            foreign |= own.is_none_or(|own| !Arc::ptr_eq(&own.shared, &self.shared));
        });
        if foreign {
            return Err(self.shared.wrong_device("buffer"));
        }
        match command {
            Command::Dispatch(dispatch) => {
                let kernel = self.kernel(&dispatch.pipeline)?;
                validate::check_bindings(kernel, &dispatch.bindings, limits)?;
                validate::threadgroup_layout(kernel, &dispatch.threadgroup_memory, limits)?;
                validate::dispatch_shape(kernel, dispatch.grid, dispatch.group_size, limits)?;
            }
            Command::DispatchIndirect(dispatch) => {
                let kernel = self.kernel(&dispatch.pipeline)?;
                validate::check_counts(kernel, dispatch.counts_offset, dispatch.counts.length())?;
                validate::check_bindings(kernel, &dispatch.bindings, limits)?;
                validate::threadgroup_layout(kernel, &dispatch.threadgroup_memory, limits)?;
                validate::indirect_shape(kernel, [1; 3], dispatch.group_size, limits)?;
            }
            Command::Copy(copy) => {
                validate::check_copy(copy, crate::blit::same_buffer(&copy.source, &copy.destination))?;
            }
            Command::Fill(fill) => validate::check_range(fill.offset, fill.length, fill.buffer.length())?,
            Command::UpdateFence(fence) | Command::WaitFence(fence) => {
                let own = fence.as_any().downcast_ref::<HostFence>();
                let own = own.ok_or_else(|| self.shared.wrong_device("fence"))?;
                if !own.claim(self.number) {
                    return Err(DeviceError::FenceAcrossQueues);
                }
            }
            Command::ExecuteIndirect(indirect) => {
                let own = indirect.as_any().downcast_ref::<HostIndirect<Arc<Shared>>>();
                if own.is_none_or(|own| !Arc::ptr_eq(&own.owner, &self.shared)) {
                    return Err(self.shared.wrong_device("indirect command buffer"));
                }
                indirect.commands().iter().try_for_each(|command| self.validate_command(command))?;
            }
            Command::WaitEvent { .. } | Command::SignalEvent { .. } => {}
        }
        Ok(())
    }

    fn kernel<'a>(&self, pipeline: &'a Arc<dyn Pipeline>) -> Result<&'a KernelInfo, DeviceError> {
        let own = pipeline.as_any().downcast_ref::<NullPipeline>();
        own.map(|own| &own.0).ok_or_else(|| self.shared.wrong_device("pipeline"))
    }
}

/// An event that the queue waits for has reached its value.
impl Wake for QueueCore {
    fn wake(self: Arc<Self>) {
        self.run_soon();
    }
}

impl Queue for NullQueue {
    fn submit(&self, submission: Submission) -> Result<Completion, DeviceError> {
        let core = &self.0;
        core.validate(&submission)?;
        let free = core.space.try_acquire()
            || match core.descriptor.when_full {
                WhenFull::Refuse => false,
                WhenFull::Wait(longest) => {
                    let clock = core.shared.clock.as_ref();
                    core.space.acquire_until(clock, clock.now().saturating_add(longest))
                }
            };
        if !free {
            return Err(DeviceError::QueueFull { limit: core.space.capacity() });
        }
        let source = CompletionSource::new(None);
        let completion = source.completion();
        for command in &submission.commands {
            command.each_buffer(&mut |buffer| {
                if let Some(own) = buffer.as_any().downcast_ref::<NullBuffer>() {
                    own.uses.note(&completion);
                }
            });
        }
        let timing = Timing { submitted_ns: core.shared.now_ns(), ..Timing::default() };
        let item = Item { submission, source, timing, deadline: None, position: 0 };
        core.lock().push_back(item);
        Arc::clone(core).run_soon();
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let mut pending = self.0.lock();
        let at = pending.iter().position(|item| item.source.is_for(completion));
        let removed = at.and_then(|at| pending.remove(at));
        drop(pending);
        let Some(item) = removed else {
            return if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate };
        };
        let label = item.submission.label.clone();
        self.0.finish(item, Err(DeviceError::Cancelled { label }));
        // It may have been the one that the others waited behind.
        Arc::clone(&self.0).run_soon();
        Cancellation::Removed
    }

    fn in_flight(&self) -> usize {
        self.0.space.used()
    }

    fn label(&self) -> &str {
        &self.0.descriptor.label
    }
}

impl fmt::Debug for NullQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NullQueue").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "null_tests.rs"]
mod tests;
