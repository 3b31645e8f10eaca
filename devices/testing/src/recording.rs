//! The recording device: wraps any device and notes every submission.
//!
//! Owns [`RecordingDevice`]. Invariant: what a program sees is the wrapped device's own resources and
//! completions; only the ring is added.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Wake, Waker};

use anymetal_core::record::recorder::{EntryId, Recorder, RecorderOptions};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::completion::Completion;
use anymetal_hal::device::{Device, LentMemory};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor};

/// A device whose submissions are recorded.
#[derive(Debug, Clone)]
pub struct RecordingDevice {
    inner: Arc<dyn Device>,
    recorder: Arc<Recorder>,
}

impl RecordingDevice {
    /// Wraps a device.
    pub fn new(inner: Arc<dyn Device>, options: RecorderOptions) -> Self {
        RecordingDevice { inner, recorder: Arc::new(Recorder::new(options)) }
    }

    /// The ring.
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }
}

impl Device for RecordingDevice {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.inner.buffer(descriptor)
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        self.inner.import(pages, label)
    }

    fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.inner.borrow_host(memory, label)
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let pipeline = self.inner.pipeline(artifact, kernel)?;
        self.recorder.note_pipeline(&pipeline, artifact);
        Ok(pipeline)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        let inner = self.inner.queue(descriptor)?;
        let number = self.recorder.queue_number();
        Ok(Arc::new(RecordingQueue { inner, number, recorder: Arc::clone(&self.recorder) }))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.inner.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.inner.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.inner.heap(descriptor)
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        self.inner.indirect_command_buffer(commands)
    }

    fn matrix_products(&self) -> Result<(), DeviceError> {
        self.inner.matrix_products()
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        self.inner.clock_ns()
    }

    fn allocated_bytes(&self) -> u64 {
        self.inner.allocated_bytes()
    }
}

#[derive(Debug)]
struct RecordingQueue {
    inner: Arc<dyn Queue>,
    number: u32,
    recorder: Arc<Recorder>,
}

/// Notes the end of a submission.
struct End {
    entry: EntryId,
    completion: Completion,
    recorder: Arc<Recorder>,
}

impl Wake for End {
    fn wake(self: Arc<Self>) {
        if let Some(outcome) = self.completion.outcome() {
            self.recorder.note_end(self.entry, &outcome);
        }
    }
}

impl Queue for RecordingQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let entry = self.recorder.note(self.number, self.inner.label(), &submission);
        match self.inner.submit(submission) {
            Ok(completion) => {
                self.recorder.note_running(entry, &completion);
                let (recorder, ended) = (Arc::clone(&self.recorder), completion.clone());
                let end = Arc::new(End { entry, completion: ended, recorder });
                if !completion.subscribe(Waker::from(Arc::clone(&end))) {
                    end.wake();
                }
                Ok(completion)
            }
            Err(error) => {
                self.recorder.note_end(entry, &Err(error.clone()));
                Err(error)
            }
        }
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        self.inner.cancel(completion)
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        self.inner.stop(completion)
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn label(&self) -> &str {
        self.inner.label()
    }
}
