//! The chain of records: what each must follow.
//!
//! Owns [`Chain`], which is fed files in order. Invariant: after the first thing that does not hold nothing
//! more is taken, so a report's counts are of what holds.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::Value;

use super::lines::{Line, Lines};
use super::report::{BreakReason, Broken, CheckedFile, Note, Report};
use crate::event::ChainEvent;
use crate::folder::{Head, HeadState};
use crate::record::{Digest, LineError, Record};

/// The state of a check.
pub(super) struct Chain {
    report: Report,
    head: Option<HeadState>,
    /// Whether the first record may have any number.
    starts_anywhere: bool,
    /// Number and digest before the first record, if that is not 0.
    start: Option<(u64, Digest)>,
    time_ns: u64,
    closed: bool,
    /// Parts of records at the ends of the files since the last record, in order.
    torn: VecDeque<TornEnd>,
    keeps_digests: bool,
}

/// A part of a record at the end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TornEnd {
    pub(crate) file: String,
    line: u64,
    pub(crate) bytes: u64,
}

/// Where a log ends, for its writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The newest record; `None`: the files are empty.
    pub(crate) head: Option<Head>,
    /// The number of the last file.
    pub(crate) file: u32,
    /// Files that end in a part of a record, which no record excuses yet.
    pub(crate) torn: Vec<TornEnd>,
}

impl Chain {
    /// Of a folder, from its first file on.
    pub(super) fn new(head: HeadState) -> Self {
        Chain::made(Some(head), false, true)
    }

    /// Of one file without its folder.
    pub(super) fn of_one_file() -> Self {
        let mut chain = Chain::made(None, true, true);
        chain.report.notes.push(Note::OneFile);
        chain
    }

    /// Of the last files of a folder.
    pub(super) fn continued(head: HeadState) -> Self {
        Chain::made(Some(head), true, false)
    }

    fn made(head: Option<HeadState>, starts_anywhere: bool, keeps_digests: bool) -> Self {
        Chain {
            report: Report::default(),
            head,
            starts_anywhere,
            start: None,
            time_ns: 0,
            closed: false,
            torn: VecDeque::new(),
            keeps_digests,
        }
    }

    pub(super) fn fail(&mut self, file: String, line: u64, reason: BreakReason) {
        self.report.broken.get_or_insert(Broken { file, line, reason });
    }

    /// Takes a file; false if the chain is broken.
    pub(super) fn file(&mut self, path: &Path, name: String) -> bool {
        self.report.files.push(CheckedFile { name: name.clone(), records: 0, first: None, last: None });
        let mut lines = match Lines::open(path) {
            Ok(lines) => lines,
            Err(error) => {
                self.fail(name, 0, BreakReason::Unreadable(error.to_string()));
                return false;
            }
        };
        for number in 1.. {
            let step = match lines.next() {
                Ok(None) => break,
                Ok(Some(Line::Whole(line))) => self.line(line),
                Ok(Some(Line::Torn(bytes))) => {
                    self.torn.push_back(TornEnd { file: name.clone(), line: number, bytes });
                    Ok(())
                }
                Ok(Some(Line::TooLong)) => Err(BreakReason::NotARecord("it is too long")),
                Err(error) => Err(BreakReason::Unreadable(error.to_string())),
            };
            if let Err(reason) = step {
                self.fail(name, number, reason);
                return false;
            }
        }
        true
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BreakReason> {
        let record = Record::open(line).map_err(|error| match error {
            LineError::NotARecord(why) => BreakReason::NotARecord(why),
            LineError::Changed => BreakReason::Changed,
        })?;
        let event = chain_event(&record);
        self.excuse_torn(event.as_ref())?;
        let opens = matches!(event, Some(ChainEvent::Opened { .. } | ChainEvent::Recovered { .. }));
        self.follows(&record, opens)?;
        self.take(&record, event)
    }

    /// A part of a record is all right if the next record says that it was noticed.
    fn excuse_torn(&mut self, event: Option<&ChainEvent>) -> Result<(), BreakReason> {
        let Some(TornEnd { file, bytes, .. }) = self.torn.pop_front() else { return Ok(()) };
        match event {
            Some(ChainEvent::Recovered { file: named, torn_bytes })
                if *named == file && *torn_bytes == bytes =>
            {
                self.report.notes.push(Note::Recovered { file, bytes });
                Ok(())
            }
            _ => Err(BreakReason::DoesNotFollow),
        }
    }

    fn follows(&mut self, record: &Record, opens: bool) -> Result<(), BreakReason> {
        match self.report.last {
            Some(last) => {
                let expected = last.seq.wrapping_add(1);
                if record.seq != expected {
                    return Err(BreakReason::Sequence { expected, found: record.seq });
                }
                if record.previous != last.digest {
                    return Err(BreakReason::DoesNotFollow);
                }
            }
            None if record.seq == 0 && record.previous != Digest::ZERO => {
                return Err(BreakReason::DoesNotFollow);
            }
            None if record.seq > 0 && !self.starts_anywhere => {
                self.start = Some((record.seq - 1, record.previous));
            }
            None => {}
        }
        if record.time_ns < self.time_ns && !opens {
            return Err(BreakReason::TimeGoesBack);
        }
        self.time_ns = record.time_ns;
        Ok(())
    }

    fn take(&mut self, record: &Record, event: Option<ChainEvent>) -> Result<(), BreakReason> {
        self.closed = event == Some(ChainEvent::Closed);
        match event {
            Some(ChainEvent::Lost { count }) => {
                self.report.notes.push(Note::Lost { count, seq: record.seq });
            }
            Some(ChainEvent::Removed { through, digest }) => {
                // The files before the record that says so may have been removed, or the last of them still
                // be there; earlier records of this kind are about files before those.
                if let Some((seq, before)) = self.start.filter(|(seq, _)| *seq <= through) {
                    if seq == through && digest != before.to_string() {
                        return Err(BreakReason::MissingStart { first: seq + 1 });
                    }
                    self.start = None;
                    self.report.notes.push(Note::Removed { through: seq });
                }
            }
            _ => {}
        }
        let head = Head { seq: record.seq, digest: record.digest };
        if let Some(HeadState::Is(named)) = self.head
            && named.seq == head.seq
            && named.digest != head.digest
        {
            return Err(BreakReason::HeadDiffers { seq: head.seq });
        }
        self.report.last = Some(head);
        if self.keeps_digests {
            self.report.digests.push((head.seq, head.digest));
        }
        if let Some(file) = self.report.files.last_mut() {
            file.records += 1;
            file.first.get_or_insert(head.seq);
            file.last = Some(head.seq);
        }
        Ok(())
    }

    /// The end of a single file.
    pub(super) fn end_of_file(&mut self, path: &Path) {
        if let Some(TornEnd { file, line, bytes }) = self.torn.pop_front() {
            self.fail(file, line, BreakReason::Torn { bytes });
        } else if self.report.last.is_none() {
            self.fail(path.display().to_string(), 0, BreakReason::NoFiles);
        }
    }

    /// The end of a folder: the start must be known, and the head must be here.
    pub(super) fn end(&mut self, folder: &Path) {
        if self.report.broken.is_some() {
            return;
        }
        if let Some((seq, _)) = self.start {
            let file = self.report.files.first().map(|file| file.name.clone()).unwrap_or_default();
            return self.fail(file, 1, BreakReason::MissingStart { first: seq + 1 });
        }
        self.compare_head(folder);
        if self.report.holds() && !self.closed {
            self.report.notes.push(Note::NotClosed);
        }
    }

    fn compare_head(&mut self, folder: &Path) {
        let (file, line) = self.place_after_last(folder);
        let next = self.report.last.map_or(0, |last| last.seq + 1);
        match self.head {
            Some(HeadState::Is(head)) if head.seq >= next => {
                self.fail(file, line, BreakReason::Truncated { head: head.seq, records: next });
            }
            _ if !self.torn.is_empty() => self.end_of_file(folder),
            Some(HeadState::Is(head)) if head.seq + 1 < next => {
                self.report.notes.push(Note::HeadBehind { records: next - 1 - head.seq });
            }
            Some(HeadState::Missing) if self.report.last.is_none() => {
                self.fail(folder.display().to_string(), 0, BreakReason::NoFiles);
            }
            Some(HeadState::Missing) => {
                self.fail(folder.display().to_string(), 0, BreakReason::HeadMissing);
            }
            Some(HeadState::Unreadable) => {
                self.fail(folder.display().to_string(), 0, BreakReason::HeadUnreadable);
            }
            Some(HeadState::Is(_)) | None => {}
        }
    }

    fn place_after_last(&self, folder: &Path) -> (String, u64) {
        match self.report.files.last() {
            Some(file) => (file.name.clone(), file.records + 1),
            None => (folder.display().to_string(), 0),
        }
    }

    /// Whether a record was found.
    pub(super) fn has_record(&self) -> bool {
        self.report.last.is_some()
    }

    pub(super) fn into_report(self) -> Report {
        self.report
    }

    /// Where a writer goes on, if all that it must build on holds.
    pub(super) fn into_tail(mut self, folder: &Path, file: u32) -> Result<Tail, Broken> {
        let torn: Vec<TornEnd> = self.torn.drain(..).collect();
        // The process may have stopped before it wrote the first head.
        let new = self.head == Some(HeadState::Missing) && self.report.last.is_none_or(|last| last.seq == 0);
        if self.report.holds() && !new {
            self.compare_head(folder);
        }
        match self.report.broken {
            Some(broken) => Err(broken),
            None => Ok(Tail { head: self.report.last, file, torn }),
        }
    }
}

/// The record as what the log says of itself, if it is that.
fn chain_event(record: &Record) -> Option<ChainEvent> {
    serde_json::from_value(Value::Object(record.event.clone())).ok()
}
