//! The log's writer: records are queued by callers and written by a thread.
//!
//! Owns [`AuditLog`] and its options. Invariant: a record that was accepted is written, or counted as lost
//! and told by a later record; nothing is dropped in silence. Concurrency: one lock over [`Queue`], held for
//! no system call; the thread alone touches the files.

mod options;
mod queue;
mod storage;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anymetal_hal::clock::Clock;

use crate::error::AuditError;
use crate::event::Event;
use crate::folder::{self, Head};
use crate::verify;
pub use options::{AuditOptions, Durability, WhenFailing};
use queue::QueueShared;
use storage::{FolderStorage, Storage};
use writer::Writer;

/// A log that events are appended to. Handles are clones of an [`Arc`]; the last one closes it.
pub struct AuditLog {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    shared: Arc<QueueShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Held until the thread has ended.
    _lock: Option<File>,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuditLog").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl AuditLog {
    /// Opens the log in a folder, which is made if there is none; goes on where the last process stopped.
    ///
    /// # Errors
    /// A folder that cannot be written or that another log writes; a log whose end does not hold; options
    /// that make no sense.
    pub fn open(
        folder: impl Into<PathBuf>,
        options: AuditOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<AuditLog, AuditError> {
        options.check()?;
        let folder = folder.into();
        let lock = folder::lock(&folder)?;
        let tail = verify::tail(&folder).map_err(AuditError::Broken)?;
        let storage = FolderStorage::new(&folder, options.durability);
        let mut log = AuditLog::start(folder, options, clock, tail, storage)?;
        log._lock = Some(lock);
        Ok(log)
    }

    /// Writes what a new run begins with, then starts the thread.
    fn start(
        folder: PathBuf,
        options: AuditOptions,
        clock: Arc<dyn Clock>,
        tail: Option<verify::Tail>,
        storage: impl Storage + 'static,
    ) -> Result<AuditLog, AuditError> {
        let unusable =
            |error: std::io::Error| AuditError::Unusable { path: folder.clone(), reason: error.to_string() };
        let mut writer = Writer::new(storage, &options, Arc::clone(&clock), tail);
        writer.begin(options.unix_time_at_zero).map_err(unusable)?;
        let shared = Arc::new(QueueShared::new(options.queue, options.when_failing, writer.head()));
        let thread = std::thread::Builder::new().name("anymetal-audit".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || writer.run(&shared)
        });
        let thread = Mutex::new(Some(thread.map_err(unusable)?));
        Ok(AuditLog { folder, clock, shared, thread, _lock: None })
    }

    /// Takes a record, with the clock's time. Returns when it is in the queue; waits for a place there if the
    /// options say that work stops when records cannot be written.
    ///
    /// # Errors
    /// [`AuditError::Stopped`] if records cannot be written and the options say so: the caller does not go
    /// on with what it was about to record.
    pub fn record(&self, event: Event) -> Result<(), AuditError> {
        self.shared.push(self.clock.now(), event)
    }

    /// As [`AuditLog::record`], and waits until the record is written, as durably as the options say, or
    /// counted as lost. Records of several threads are written together.
    ///
    /// # Errors
    /// [`AuditError::Stopped`] if it cannot be written and the options say so. Then it is not written later.
    pub fn record_and_wait(&self, event: Event) -> Result<(), AuditError> {
        self.shared.push_and_wait(self.clock.now(), event)
    }

    /// Waits until all records taken so far are on the disk, or are counted as lost.
    ///
    /// # Errors
    /// As [`AuditLog::record`].
    pub fn flush(&self) -> Result<(), AuditError> {
        self.shared.flush()
    }

    /// After [`AuditError::Stopped`]: writes what waits in memory, and goes on if that works.
    ///
    /// # Errors
    /// [`AuditError::Stopped`] again.
    pub fn retry(&self) -> Result<(), AuditError> {
        self.shared.retry()
    }

    /// Records that were given up because they could not be written, since the log was opened. Only where the
    /// options say that work goes on.
    pub fn lost(&self) -> u64 {
        self.shared.lost()
    }

    /// The newest record on the disk: its digest, noted elsewhere, rules out that the log was rewritten.
    pub fn head(&self) -> Option<Head> {
        self.shared.head()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes all records and a last one that says that the log ends here.
    ///
    /// # Errors
    /// [`AuditError::Stopped`] if records could not be written.
    pub fn close(self) -> Result<(), AuditError> {
        self.end()
    }

    fn end(&self) -> Result<(), AuditError> {
        self.shared.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic of the thread was reported by the thread; what it left is in the queue's state.
        let ended = thread.is_none_or(|thread| thread.join().is_ok());
        self.shared.result_of_close(ended)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        // There is nobody to tell; the records themselves tell that the log was not closed.
        let _ = self.end();
    }
}
