//! The thread that writes: numbers records, chains them, begins new files, and tells what was lost.
//!
//! Owns [`Writer`]. Invariant: its place in the chain moves only with bytes that are written, so a failed
//! write leaves no gap.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::Clock;
use serde::Serialize;

use super::options::{AuditOptions, MAX_TEXT_BYTES};
use super::queue::{QueueShared, Task, Waiting};
use super::storage::Storage;
use crate::event::{ChainEvent, Event, Outcome};
use crate::folder::Head;
use crate::record::{self, Digest};
use crate::verify::{Tail, TornEnd};

/// Records that are written at once.
const MAX_CHUNK_BYTES: usize = 256 << 10;

pub(super) struct Writer<S> {
    storage: S,
    clock: Arc<dyn Clock>,
    rotate_bytes: u64,
    keep_files: Option<NonZeroU32>,
    /// The file of the newest record.
    file: u32,
    /// The file of the next chunk, which is a new one if `file` is full.
    next_file: u32,
    head: Option<Head>,
    /// The time of the newest record.
    time: Duration,
    /// Lost records that a record has told of.
    told_lost: u64,
    torn: Vec<TornEnd>,
}

/// Lines of records that are not written yet, and the head after them.
struct Chunk {
    text: String,
    head: Option<Head>,
    time: Duration,
    records: usize,
}

impl<S: Storage> Writer<S> {
    pub(super) fn new(storage: S, options: &AuditOptions, clock: Arc<dyn Clock>, tail: Option<Tail>) -> Self {
        let (head, torn) = match &tail {
            Some(tail) => (tail.head, tail.torn.clone()),
            None => (None, Vec::new()),
        };
        let last = tail.map_or(0, |tail| tail.file);
        let file = if torn.is_empty() { last } else { last + 1 };
        Writer {
            storage,
            clock,
            rotate_bytes: options.rotate_bytes,
            keep_files: options.keep_files,
            file,
            next_file: file,
            head,
            time: Duration::ZERO,
            told_lost: 0,
            torn,
        }
    }

    pub(super) fn head(&self) -> Option<Head> {
        self.head
    }

    /// The records that a run begins with, and the head.
    pub(super) fn begin(&mut self, unix_time_at_zero: Option<Duration>) -> io::Result<()> {
        let now = self.clock.now();
        self.rotate_if_full()?;
        let mut chunk = self.chunk();
        for TornEnd { file, bytes, .. } in std::mem::take(&mut self.torn) {
            chunk.add(now, &ChainEvent::Recovered { file, torn_bytes: bytes })?;
        }
        let unix_ns_at_zero = unix_time_at_zero.map(|time| time.as_nanos() as u64);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        chunk.add(now, &ChainEvent::Opened { version, unix_ns_at_zero })?;
        self.write(chunk)?;
        self.save_head()
    }

    /// The thread.
    pub(super) fn run(mut self, shared: &QueueShared) {
        loop {
            match shared.next_task() {
                Task::Write(batch) => {
                    self.settle(shared, batch);
                }
                Task::End(batch) => {
                    if self.settle(shared, batch) {
                        self.finish(shared);
                    }
                    return;
                }
            }
        }
    }

    /// Writes what it can, record by record where there is no room for more at once; the rest is the queue's
    /// again, or lost. Whether nothing waits.
    fn settle(&mut self, shared: &QueueShared, mut batch: VecDeque<Waiting>) -> bool {
        let mut most = usize::MAX;
        loop {
            let lost = shared.lost_in_all();
            match self.write_some(&mut batch, most, lost) {
                Ok(()) => shared.written(&batch, self.head),
                Err(_) if most.min(batch.len()) > 1 => {
                    most = most.min(batch.len()) / 2;
                    continue;
                }
                Err(error) => return shared.failed(std::mem::take(&mut batch), error.to_string()),
            }
            if batch.is_empty() {
                return true;
            }
        }
    }

    /// Writes the first records of a batch, at most a chunk and so many; they leave the batch when they are
    /// written.
    fn write_some(&mut self, batch: &mut VecDeque<Waiting>, most: usize, lost: u64) -> io::Result<()> {
        if lost > self.told_lost || !batch.is_empty() {
            self.rotate_if_full()?;
        }
        let mut chunk = self.chunk();
        if lost > self.told_lost {
            let time = batch.front().map_or(self.time, |first| first.time);
            chunk.add(time, &ChainEvent::Lost { count: lost - self.told_lost })?;
        }
        let before = chunk.records;
        for Waiting { time, event, .. } in batch.iter_mut().take(most) {
            if chunk.text.len() >= MAX_CHUNK_BYTES.min(self.rotate_bytes as usize) {
                break;
            }
            shorten(event);
            chunk.add(*time, event)?;
        }
        let count = chunk.records - before;
        if chunk.records > 0 {
            self.write(chunk)?;
            self.told_lost = lost;
        }
        batch.drain(..count);
        match self.save_head() {
            // They are written: a head that is behind is told by a check, not by writing them again.
            Err(_) if count > 0 => Ok(()),
            saved => saved,
        }
    }

    fn finish(&mut self, shared: &QueueShared) {
        match self.close(shared.lost_in_all()) {
            Ok(()) => shared.ended(self.head),
            Err(error) => drop(shared.failed(VecDeque::new(), error.to_string())),
        }
    }

    fn close(&mut self, lost: u64) -> io::Result<()> {
        let now = self.clock.now();
        self.rotate_if_full()?;
        let mut chunk = self.chunk();
        if lost > self.told_lost {
            chunk.add(now, &ChainEvent::Lost { count: lost - self.told_lost })?;
        }
        chunk.add(now, &ChainEvent::Closed)?;
        self.write(chunk)?;
        self.save_head()
    }

    fn chunk(&self) -> Chunk {
        Chunk { text: String::new(), head: self.head, time: self.time, records: 0 }
    }

    fn write(&mut self, chunk: Chunk) -> io::Result<()> {
        self.storage.append(self.next_file, chunk.text.as_bytes())?;
        // Only now: a file that could not be created is tried again.
        self.file = self.next_file;
        self.take(chunk);
        Ok(())
    }

    fn take(&mut self, chunk: Chunk) {
        (self.head, self.time) = (chunk.head, chunk.time);
    }

    /// Removes the oldest files if the next chunk begins a new file. To be called before records are chained
    /// to the head: the record of the removal precedes them, so that the closing record remains the last
    /// record.
    fn rotate_if_full(&mut self) -> io::Result<()> {
        let is_full = self.storage.length(self.file) >= self.rotate_bytes;
        self.next_file = self.file + u32::from(is_full);
        if is_full { self.remove_old() } else { Ok(()) }
    }

    /// Leaves room for a new file among those that are kept.
    fn remove_old(&mut self) -> io::Result<()> {
        let Some(keep) = self.keep_files else { return Ok(()) };
        let files = self.storage.files()?;
        let surplus = (files.len() + 1).saturating_sub(keep.get() as usize);
        let Some(last) = files[..surplus].iter().rev().find_map(|&file| self.storage.last_of(file)) else {
            return Ok(());
        };
        // First the record, then the files: a reader never misses both.
        let mut chunk = self.chunk();
        let removed = ChainEvent::Removed { through: last.seq, digest: last.digest.to_string() };
        chunk.add(self.time, &removed)?;
        self.write(chunk)?;
        files[..surplus].iter().try_for_each(|&file| self.storage.remove(file))
    }

    fn save_head(&mut self) -> io::Result<()> {
        self.head.map_or(Ok(()), |head| self.storage.write_head(head))
    }
}

impl Chunk {
    /// Adds a record. Callers read the clock before they queue up, so times are put in order here.
    fn add(&mut self, time: Duration, event: &impl Serialize) -> io::Result<()> {
        let time = time.max(self.time);
        let (seq, previous) = match self.head {
            Some(head) => (head.seq + 1, head.digest),
            None => (0, Digest::ZERO),
        };
        let (line, digest) = record::seal(seq, time.as_nanos() as u64, event, previous)?;
        self.text.push_str(&line);
        self.head = Some(Head { seq, digest });
        self.time = time;
        self.records += 1;
        Ok(())
    }
}

/// Cuts texts that no reader would read to their end.
fn shorten(event: &mut Event) {
    for text in texts(event) {
        if text.len() > MAX_TEXT_BYTES {
            let end = (0..=MAX_TEXT_BYTES).rev().find(|&end| text.is_char_boundary(end));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
    }
}

fn texts(event: &mut Event) -> Vec<&mut String> {
    let (mut texts, outcome) = match event {
        Event::Compile { device, kernel, source, outcome } => (vec![device, kernel, source], Some(outcome)),
        Event::Allocate { device, label, outcome, .. } => (vec![device, label], Some(outcome)),
        Event::Dispatch { device, kernel, outcome, .. } => (vec![device, kernel], Some(outcome)),
        Event::Refuse { what, reason, class } => (vec![what, reason, class], None),
        Event::Policy { policy, decision, detail } => (vec![policy, decision, detail], None),
        Event::Begin { work, .. } => (vec![work], None),
        Event::Attempt { work, device, outcome, .. } | Event::End { work, device, outcome, .. } => {
            (vec![work, device], Some(outcome))
        }
        Event::Device { device, change, reason, .. } => (vec![device, change, reason], None),
        Event::ContentsLost { label, device } => (vec![label, device], None),
    };
    if let Some(Outcome::Failed { class, reason }) = outcome {
        texts.extend([class, reason]);
    }
    texts
}
