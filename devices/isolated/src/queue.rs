//! Queues: submissions are checked by the worker and run there.
//!
//! Owns [`IsolatedQueue`] and [`InFlightSlot`]. The host bounds what is in flight and keeps the uses of
//! buffers and fences; the worker keeps the order.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::completion::Completion;
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::HostFence;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor, admit};
use anymetal_hal::semaphore::Semaphore;

use crate::device::DeviceShared;
use crate::encode::Encoder;
use crate::link::{Remote, Running};
use crate::pipeline::wrong_device;
use crate::wire::{Body, Reply};

/// How long a removed submission may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// A queue of the worker's device.
pub(crate) struct IsolatedQueue {
    id: u64,
    descriptor: QueueDescriptor,
    space: Arc<Semaphore>,
    device: Arc<DeviceShared>,
}

/// A submission's place among those in flight.
pub(crate) struct InFlightSlot(Option<Arc<Semaphore>>);

impl InFlightSlot {
    /// Frees the place before the submission is dropped.
    pub(crate) fn give_back(&mut self) {
        if let Some(space) = self.0.take() {
            space.release();
        }
    }
}

impl Drop for InFlightSlot {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl IsolatedQueue {
    /// A queue that no worker has yet.
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &QueueDescriptor) -> Self {
        IsolatedQueue {
            id: device.next_id(),
            descriptor: descriptor.clone(),
            space: Arc::new(Semaphore::new(descriptor.max_in_flight)),
            device: Arc::clone(device),
        }
    }

    /// Checks that fences are this queue's.
    fn check_fences(&self, commands: &[Command]) -> Result<(), DeviceError> {
        let number =
            usize::try_from(self.id).ok().and_then(NonZero::new).expect("numbers of objects begin at 1");
        for command in commands {
            let (Command::UpdateFence(fence) | Command::WaitFence(fence)) = command else { continue };
            let own = fence.as_any().downcast_ref::<HostFence>().ok_or_else(|| wrong_device("fence"))?;
            if !own.bind_queue(number) {
                return Err(DeviceError::FenceAcrossQueues);
            }
        }
        Ok(())
    }
}

impl Remote for IsolatedQueue {
    fn id(&self) -> u64 {
        self.id
    }

    fn creation(&self, _blob: &mut Vec<u8>) -> Result<Body, DeviceError> {
        // `when_full` is the host's.
        let QueueDescriptor { label, max_in_flight, priority, .. } = &self.descriptor;
        let (label, max_in_flight, priority) = (label.clone(), *max_in_flight, *priority);
        Ok(Body::Queue { id: self.id, label, max_in_flight, priority })
    }
}

impl IsolatedQueue {
    /// Takes a command buffer back; one that runs is told to leave if `stops`.
    fn take_back(&self, completion: &Completion, stops: bool) -> Cancellation {
        if completion.is_done() {
            return Cancellation::Ended;
        }
        let running = self.device.current_link().and_then(|link| Some((link.number_of(completion)?, link)));
        // Its end is on its way.
        let Some((submission, link)) = running else { return Cancellation::Ended };
        match link.ask(Body::Cancel { submission, queue: self.id, stops }) {
            Ok(Reply::Cancelled(cancellation)) => {
                if cancellation == Cancellation::Removed {
                    let _ended = completion.wait_timeout(ENDS_WITHIN);
                }
                cancellation
            }
            // The worker ended, and the submission with it.
            Ok(_) | Err(_) => Cancellation::Ended,
        }
    }
}

impl Queue for IsolatedQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let device = &self.device;
        self.check_fences(&submission.commands)?;
        let link = device.link()?;
        let mut blob = Vec::new();
        let submission = Arc::new(submission);
        let mut encoder = Encoder::new(device, &mut blob);
        let work = encoder.work(&submission)?;
        let needs = encoder.needs;
        let (source, completion) = admit(&submission, &self.descriptor, &self.space, &*device.clock, None)?;
        let slot = InFlightSlot(Some(Arc::clone(&self.space)));
        let deadline = submission.deadline.after(device.default_deadline);
        let running = Running::new(Arc::clone(&submission), source, slot, deadline);
        let submitted = link.submit(self, &needs, (work, blob), running)?;
        // The finisher drops the last handle before it ends the completion.
        drop(submission);
        link.wait_for_check(submitted)?;
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        self.take_back(completion, false)
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        self.take_back(completion, true)
    }

    fn in_flight(&self) -> usize {
        self.space.used()
    }

    fn label(&self) -> &str {
        &self.descriptor.label
    }
}

impl Drop for IsolatedQueue {
    fn drop(&mut self) {
        self.device.forget(self.id);
    }
}

impl fmt::Debug for IsolatedQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, in_flight) = (self.label(), self.in_flight());
        formatter
            .debug_struct("IsolatedQueue")
            .field("label", &label)
            .field("in_flight", &in_flight)
            .finish_non_exhaustive()
    }
}
