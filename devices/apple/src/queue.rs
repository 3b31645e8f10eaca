//! Queues: command queues of Metal.
//!
//! Owns [`AppleQueue`]. A submission is encoded by the thread that submits it and committed at once; Metal
//! keeps the order and calls the handler that ends the completion. Invariant: a permit of `space` is held
//! from the submission to that handler. Concurrency: `order` is held while command buffers are committed, so
//! that those of one submission stay together.

use std::fmt;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::command::{CommandList, Deadline};
use anymetal_hal::completion::{Completion, CompletionSource};
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor, WhenFull, check_priority};
use anymetal_hal::semaphore::Semaphore;
use block2::RcBlock;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLCommandBuffer, MTLCommandQueue, MTLDevice};

use crate::device::DeviceShared;
use crate::encode::{CommandBuffer, encode};
use crate::object::label_of;
use crate::{error, launch, timing};

/// A queue.
pub(crate) struct AppleQueue {
    device: Arc<DeviceShared>,
    descriptor: QueueDescriptor,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    /// Names the queue to its fences.
    number: NonZero<usize>,
    space: Arc<Semaphore>,
    order: Mutex<()>,
}

impl AppleQueue {
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &QueueDescriptor) -> Result<Self, DeviceError> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        check_priority(descriptor.priority, &device.capabilities, &device.name)?;
        let queue = autoreleasepool(|_| {
            // One more, so that Metal never blocks where this queue has not.
            let limit = descriptor.max_in_flight.saturating_add(1);
            let queue = device.device.newCommandQueueWithMaxCommandBufferCount(limit)?;
            if let Some(label) = label_of(&descriptor.label) {
                queue.setLabel(Some(&label));
            }
            if let Some(residency) = &device.residency {
                residency.add_to(&queue);
            }
            Some(queue)
        });
        Ok(AppleQueue {
            device: Arc::clone(device),
            descriptor: descriptor.clone(),
            queue: queue.ok_or_else(|| error::none(&device.name, "command queue"))?,
            number: NonZero::<usize>::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed)),
            space: Arc::new(Semaphore::new(descriptor.max_in_flight)),
            order: Mutex::default(),
        })
    }

    fn check(&self, submission: &CommandList) -> Result<(), DeviceError> {
        if let Deadline::After(after) = submission.deadline {
            return Err(DeviceError::Unsupported {
                device: self.device.name.clone(),
                what: format!("a deadline of {} s", after.as_secs_f64()),
                alternative: "leave it out: the system stops what takes too long".to_owned(),
            });
        }
        launch::check_commands(&self.device, &submission.commands, Some(self.number))
    }

    fn acquire(&self) -> Result<(), DeviceError> {
        let is_free = self.space.try_acquire()
            || match self.descriptor.when_full {
                WhenFull::Refuse => false,
                WhenFull::Wait(longest) => {
                    let clock = self.device.clock.as_ref();
                    self.space.acquire_until(clock, clock.now().saturating_add(longest))
                }
            };
        if is_free { Ok(()) } else { Err(DeviceError::QueueFull { limit: self.space.capacity() }) }
    }

    /// Encodes and commits; the completion ends in the handler of the last command buffer.
    fn commit(&self, submission: CommandList, source: CompletionSource) -> Result<(), DeviceError> {
        let buffers = match encode(&self.device, &self.queue, &submission) {
            Ok(buffers) => buffers,
            Err(problem) => {
                source.finish(Err(problem.clone()));
                return Err(problem);
            }
        };
        let Some(last) = buffers.last().cloned() else { return Ok(()) };
        let end = Ended {
            device: Arc::clone(&self.device),
            space: Arc::clone(&self.space),
            submitted_ns: self.device.now_ns(),
            submission,
            source,
            buffers: buffers.clone(),
        };
        // Taken out when it is called: the block is the command buffers', and they are the block's.
        let end = Mutex::new(Some(end));
        let handler = RcBlock::new(move |_last: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
            let end = end.lock().unwrap_or_else(PoisonError::into_inner).take();
            end.into_iter().for_each(|end| autoreleasepool(|_| end.tell()));
        });
        // SAFETY: Metal copies the block and calls it once, on a thread of its own: all that it holds may be
        // used and released there.
        unsafe { last.addCompletedHandler(RcBlock::as_ptr(&handler)) };
        let _together = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.iter().for_each(|buffer| buffer.commit());
        Ok(())
    }
}

/// What ends a submission.
struct Ended {
    device: Arc<DeviceShared>,
    space: Arc<Semaphore>,
    submitted_ns: u64,
    submission: CommandList,
    source: CompletionSource,
    buffers: Vec<CommandBuffer>,
}

impl Ended {
    fn tell(self) {
        let Ended { device, space, submitted_ns, submission, source, buffers } = self;
        space.release();
        timing::finish(&device, &submission, &buffers, submitted_ns, source);
    }
}

impl Queue for AppleQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        self.check(&submission)?;
        self.acquire()?;
        let source = CompletionSource::new(None);
        let completion = source.completion();
        let submitted = submission
            .note_submitted(&completion)
            .and_then(|()| autoreleasepool(|_| self.commit(submission, source)));
        match submitted {
            Ok(()) => Ok(completion),
            Err(refused) => {
                self.space.release();
                Err(refused)
            }
        }
    }

    /// Metal takes nothing back.
    fn cancel(&self, completion: &Completion) -> Cancellation {
        if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate }
    }

    fn in_flight(&self) -> usize {
        self.space.used()
    }

    fn label(&self) -> &str {
        &self.descriptor.label
    }
}

impl fmt::Debug for AppleQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AppleQueue")
            .field("label", &self.label())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}
