//! Recordings of work, which can be replayed, and the history of what queues gave a device.

pub use anymetal_core::history::History;
pub use anymetal_core::record::file::RecordingError;
pub use anymetal_core::record::replay::{ReplayError, Replayed};
pub use anymetal_core::record::{Entry as RecordedEntry, RecordedOutcome, Recording};
