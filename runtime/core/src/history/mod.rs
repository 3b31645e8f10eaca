//! Command history: what was given to the device, told when something fails.
//!
//! Owns [`History`], a ring over [`crate::record`], which defines the records, their file and their
//! replay. Invariant: the ring is bounded; when a submission fails (cancelling is no failure) the ring as
//! text, the failed entry included, goes to the sink before anyone is told of the failure.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::record::recorder::{EntryId, Recorder};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::command::CommandList;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;

use crate::submission::{ExecError, Outcome};

// What a user of a history needs, in one place.
pub use crate::record::file::RecordingError;
pub use crate::record::recorder::RecorderOptions;
pub use crate::record::replay::{ReplayError, Replayed};
pub use crate::record::{Entry, RecordedOutcome, Recording};

/// Where the dump of a failure goes.
pub type Sink = dyn Fn(&ExecError, &str) + Send + Sync;

/// A ring of submissions. Clones are the same ring.
#[derive(Clone)]
pub struct History {
    recorder: Arc<Recorder>,
    on_error: Option<Arc<Sink>>,
}

impl History {
    /// An empty ring.
    pub fn new(options: RecorderOptions) -> Self {
        History { recorder: Arc::new(Recorder::new(options)), on_error: None }
    }

    /// Gives the error and the ring as text to the sink whenever a submission fails. The sink runs on the
    /// thread that ended the submission and must not wait for other work.
    pub fn on_error(mut self, sink: impl Fn(&ExecError, &str) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(sink));
        self
    }

    /// Notes where a pipeline comes from, so that a saved history can be replayed without its source;
    /// [`crate::stream::context::Context::pipeline`] does.
    pub fn note_pipeline(&self, pipeline: &Arc<dyn Pipeline>, artifact: &Arc<Artifact>) {
        self.recorder.note_pipeline(pipeline, artifact);
    }

    /// The ring as text.
    pub fn dump(&self) -> String {
        self.recorder.dump()
    }

    /// The ring.
    pub fn recording(&self) -> Recording {
        self.recorder.recording()
    }

    /// Runs the ring once more on a device, entry by entry, each with the contents that its buffers had. The
    /// history must have been made with [`RecorderOptions::replayable`], and its pipelines noted.
    pub fn replay(&self, device: &dyn Device) -> Result<Vec<Replayed>, Box<ReplayError>> {
        self.recording().replay(device, &|_, _| None).map_err(Box::new)
    }

    /// Writes the ring to a file; [`Recording::load`] and [`Recording::replay`] take it from there.
    pub fn save(&self, path: &Path) -> Result<(), RecordingError> {
        self.recording().save(path)
    }

    pub(crate) fn note(&self, stream: u32, label: &str, commands: &CommandList) -> EntryId {
        self.recorder.note(stream, label, commands)
    }

    pub(crate) fn note_end(&self, entry: EntryId, outcome: &Outcome) {
        let recorded = outcome.clone().map_err(|error| match error {
            ExecError::Device(error) => error,
            other => DeviceError::Cancelled { label: other.to_string() },
        });
        self.recorder.note_end(entry, &recorded);
        if let (Err(error), Some(sink)) = (outcome, &self.on_error)
            && !error.is_cancelled()
        {
            let text = self.dump();
            let call = std::panic::AssertUnwindSafe(|| sink(error, &text));
            // A panic of the sink must not stop the device's thread.
            let _contained = std::panic::catch_unwind(call);
        }
    }
}

impl fmt::Debug for History {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("History").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}
