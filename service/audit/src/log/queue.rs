//! What callers and the writer's thread share: records that wait, and how writing goes.
//!
//! Owns [`QueueShared`]. Invariant: records are numbered in the order in which they are taken and written;
//! those that neither wait nor are being written are settled (written, lost or withdrawn); while `stopped` is
//! set nothing is taken.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::options::WhenFailing;
use crate::error::AuditError;
use crate::event::Event;
use crate::folder::Head;

/// A record that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Of records taken from callers, from 1 on.
    pub(super) number: u64,
    pub(super) time: Duration,
    pub(super) event: Event,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// The number of the last record.
    taken: u64,
    /// The number of the first record that the thread is writing.
    writing: Option<u64>,
    lost: u64,
    head: Option<Head>,
    /// Why writing stopped.
    stopped: Option<String>,
    /// Somebody wants what waits to be tried again.
    retrying: bool,
    /// How often trying again has ended.
    retries: u64,
    closed: bool,
    /// Whether the last record was written.
    ended: bool,
}

/// The queue, and who waits for it.
#[derive(Debug)]
pub(super) struct QueueShared {
    queue: Mutex<Queue>,
    /// The thread waits for records.
    work: Condvar,
    /// Callers wait for a place, a flush or a retry.
    progress: Condvar,
    places: usize,
    when_failing: WhenFailing,
}

/// What the thread is to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Write these; more may follow.
    Write(VecDeque<Waiting>),
    /// Write these and the end.
    End(VecDeque<Waiting>),
}

impl QueueShared {
    pub(super) fn new(places: usize, when_failing: WhenFailing, head: Option<Head>) -> Self {
        let queue = Mutex::new(Queue { head, ..Queue::default() });
        QueueShared { queue, work: Condvar::new(), progress: Condvar::new(), places, when_failing }
    }

    /// Takes a record.
    pub(super) fn push(&self, time: Duration, event: Event) -> Result<(), AuditError> {
        self.take(time, event).map(drop)
    }

    /// Takes a record and waits until it is settled; it is withdrawn if writing stops before.
    pub(super) fn push_and_wait(&self, time: Duration, event: Event) -> Result<(), AuditError> {
        let (mut queue, number) = self.take(time, event)?;
        let Some(number) = number else { return Ok(()) };
        while queue.is_open(number) {
            if let Err(stopped) = queue.refuse_if_over() {
                queue.waiting.retain(|waiting| waiting.number != number);
                return Err(stopped);
            }
            queue = wait(&self.progress, queue);
        }
        Ok(())
    }

    /// Takes a record, with its number; `None`: it is lost at once, for want of a place.
    fn take(&self, time: Duration, event: Event) -> Result<(MutexGuard<'_, Queue>, Option<u64>), AuditError> {
        let mut queue = self.lock();
        loop {
            queue.refuse_if_over()?;
            if queue.waiting.len() < self.places {
                break;
            }
            if self.when_failing == WhenFailing::GoOn {
                queue.lost += 1;
                return Ok((queue, None));
            }
            queue = wait(&self.progress, queue);
        }
        queue.taken += 1;
        let number = queue.taken;
        queue.waiting.push_back(Waiting { number, time, event });
        self.work.notify_one();
        Ok((queue, Some(number)))
    }

    pub(super) fn flush(&self) -> Result<(), AuditError> {
        let mut queue = self.lock();
        let goal = queue.taken;
        while queue.is_open(goal) {
            queue.refuse_if_over()?;
            queue = wait(&self.progress, queue);
        }
        Ok(())
    }

    pub(super) fn retry(&self) -> Result<(), AuditError> {
        let mut queue = self.lock();
        if queue.stopped.is_none() {
            return queue.refuse_if_over();
        }
        let retries = queue.retries;
        queue.retrying = true;
        self.work.notify_one();
        while queue.retries == retries && !queue.closed {
            queue = wait(&self.progress, queue);
        }
        queue.refuse_if_over()
    }

    pub(super) fn lost(&self) -> u64 {
        self.lock().lost
    }

    pub(super) fn head(&self) -> Option<Head> {
        self.lock().head
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
        self.progress.notify_all();
    }

    pub(super) fn result_of_close(&self, thread_ended: bool) -> Result<(), AuditError> {
        let queue = self.lock();
        match &queue.stopped {
            Some(reason) => Err(AuditError::Stopped { reason: reason.clone() }),
            None if !thread_ended || !queue.ended => {
                Err(AuditError::Stopped { reason: "its thread ended early".to_owned() })
            }
            None => Ok(()),
        }
    }

    /// For the thread: waits for something to do.
    pub(super) fn next_task(&self) -> Task {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return Task::End(queue.take_batch());
            }
            let may_write = queue.stopped.is_none() || queue.retrying;
            if may_write && (queue.retrying || !queue.waiting.is_empty()) {
                let batch = queue.take_batch();
                // Places are free again; callers fill them while this is written.
                self.progress.notify_all();
                return Task::Write(batch);
            }
            queue = wait(&self.work, queue);
        }
    }

    /// For the thread: records are written; these are the next.
    pub(super) fn written(&self, rest: &VecDeque<Waiting>, head: Option<Head>) {
        let mut queue = self.lock();
        queue.writing = rest.front().map(|first| first.number);
        queue.head = head;
        queue.stopped = None;
        queue.finish_retry();
        self.progress.notify_all();
    }

    /// For the thread: these could not be written. Whether they are given up rather than waiting.
    pub(super) fn failed(&self, rest: VecDeque<Waiting>, reason: String) -> bool {
        let mut queue = self.lock();
        queue.finish_retry();
        queue.writing = None;
        match self.when_failing {
            WhenFailing::GoOn => queue.lost += rest.len() as u64,
            WhenFailing::Stop => {
                let newer = std::mem::replace(&mut queue.waiting, rest);
                queue.waiting.extend(newer);
                queue.stopped = Some(reason);
            }
        }
        self.progress.notify_all();
        self.when_failing == WhenFailing::GoOn
    }

    /// For the thread: records given up so far, to be told by a record.
    pub(super) fn lost_in_all(&self) -> u64 {
        self.lock().lost
    }

    /// For the thread: the last record is written.
    pub(super) fn ended(&self, head: Option<Head>) {
        let mut queue = self.lock();
        queue.head = head;
        queue.ended = true;
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// All that waits, to be written.
    fn take_batch(&mut self) -> VecDeque<Waiting> {
        let batch = std::mem::take(&mut self.waiting);
        self.writing = batch.front().map(|first| first.number);
        batch
    }

    /// Whether a record up to that number waits or is being written.
    fn is_open(&self, number: u64) -> bool {
        let first = self.writing.or_else(|| self.waiting.front().map(|first| first.number));
        first.is_some_and(|first| first <= number)
    }

    fn refuse_if_over(&self) -> Result<(), AuditError> {
        match &self.stopped {
            _ if self.closed => Err(AuditError::Closed),
            Some(reason) => Err(AuditError::Stopped { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    fn finish_retry(&mut self) {
        if std::mem::take(&mut self.retrying) {
            self.retries += 1;
        }
    }
}

fn wait<'a>(condvar: &Condvar, guard: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
