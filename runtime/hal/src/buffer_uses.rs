//! Uses of a buffer: work with the device, work held on the host, host copies and mappings.
//!
//! Owns [`BufferUses`], which every buffer has one of, and which keeps what counts its memory. A device
//! notes each submission ([`BufferUses::note_submitted`]) or runs it at once between
//! [`BufferUses::begin_run`] and [`BufferUses::end_run`]; the runtime notes each committed submission that
//! the device does not have yet ([`BufferUses::note_held`]). Invariant: a mapping exists only while no work
//! uses the buffer, and while one exists no work is given to the device; so mapped bytes are never accessed
//! by the device. Concurrency: `state` is behind one lock; `noted` is set and cleared under it, and only
//! lets readers skip it.

use std::any::Any;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::attachment::Attachment;
use crate::completion::Completion;
use crate::error::DeviceError;
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard};

/// What the host does with a buffer's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapMode {
    /// It reads; others may read at the same time.
    Read,
    /// It reads and writes, alone.
    Write,
}

/// Why an access to a buffer was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessConflict {
    /// A mapping excludes it.
    Mapped,
    /// Work uses the buffer.
    InUse,
}

impl AccessConflict {
    /// The error, for the buffer of that label.
    pub fn error(self, label: &str) -> DeviceError {
        let label = label.to_owned();
        match self {
            AccessConflict::Mapped => DeviceError::BufferMapped { label },
            AccessConflict::InUse => DeviceError::BufferInUse { label },
        }
    }
}

/// The work and host accesses that use a buffer.
#[derive(Debug, Default)]
pub struct BufferUses {
    state: Mutex<UsesState>,
    /// Whether there may be work that is not done.
    noted: AtomicBool,
    /// Notified when a host copy or a run ends while a thread waits for it.
    ended: Condvar,
    /// What counts the buffer's memory.
    account: Attachment,
}

#[derive(Debug, Default)]
struct UsesState {
    work: Vec<WorkUse>,
    /// At this length the done ones are taken out, so that each is looked at a bounded number of times.
    prune_at: usize,
    /// Host copies in progress that read, and that write.
    reading: usize,
    writing: usize,
    /// Mappings for reading, and whether there is one for writing.
    read_mappings: usize,
    write_mapping: bool,
    /// Runs in progress: work without a completion.
    running: usize,
    /// Threads that wait for copies to end.
    waiting: usize,
    /// Threads that wait for runs to end.
    waiting_for_runs: usize,
}

#[derive(Debug, Clone)]
struct WorkUse {
    completion: Completion,
    /// Whether it was held on the host when it was noted.
    held: bool,
}

/// A list shorter than this is not pruned.
const MIN_PRUNED: usize = 16;

impl UsesState {
    fn prune(&mut self) {
        self.work.retain(|work| !work.completion.is_done());
        self.prune_at = 2 * self.work.len();
    }

    fn push(&mut self, completion: &Completion, held: bool) {
        if self.work.len() >= self.prune_at.max(MIN_PRUNED) {
            self.prune();
        }
        self.work.push(WorkUse { completion: completion.clone(), held });
    }

    fn is_mapped(&self) -> bool {
        self.write_mapping || self.read_mappings > 0
    }

    /// Whether a mapping excludes a host access.
    fn excludes(&self, mode: MapMode) -> bool {
        match mode {
            MapMode::Read => self.write_mapping,
            MapMode::Write => self.is_mapped(),
        }
    }

    /// Whether a host copy in progress excludes a mapping.
    fn is_copying(&self, mode: MapMode) -> bool {
        match mode {
            MapMode::Read => self.writing > 0,
            MapMode::Write => self.writing + self.reading > 0,
        }
    }
}

impl BufferUses {
    /// Keeps what counts the buffer's memory as long as the buffer lives, which is as long as a handle or
    /// work that uses it; devices drop it after the memory.
    ///
    /// # Panics
    /// The buffer has one.
    pub fn keep_account(&self, account: impl Any + Send + Sync) {
        self.account.set(account);
    }

    /// Notes work that the device is given. Refused while the buffer is mapped; work that is refused for that
    /// on one buffer may have been noted on others, and counts there until its completion has ended.
    pub fn note_submitted(&self, completion: &Completion) -> Result<(), AccessConflict> {
        let mut state = self.lock();
        if state.is_mapped() {
            return Err(AccessConflict::Mapped);
        }
        state.push(completion, false);
        self.noted.store(true, Ordering::Release);
        Ok(())
    }

    /// Notes work that is committed and held on the host; its completion ends when the work has ended, or was
    /// taken back. It may be noted while the buffer is mapped: what counts is whether it still is when the
    /// device is given the work.
    pub fn note_held(&self, completion: &Completion) {
        let mut state = self.lock();
        state.push(completion, true);
        self.noted.store(true, Ordering::Release);
    }

    /// Begins a run of work that has no completion, since its submitter waits for it meanwhile; it counts as
    /// work until [`BufferUses::end_run`]. `false`: the work must be noted instead, because the buffer is
    /// mapped, or because a thread waits for runs to end, which must not go on for ever.
    #[must_use]
    pub fn begin_run(&self) -> bool {
        let mut state = self.lock();
        if state.is_mapped() || state.waiting_for_runs > 0 {
            return false;
        }
        state.running += 1;
        self.noted.store(true, Ordering::Release);
        true
    }

    /// Ends a run that was begun.
    pub fn end_run(&self) {
        let mut state = self.lock();
        state.running -= 1;
        if state.waiting_for_runs > 0 {
            self.ended.notify_all();
        }
    }

    /// Whether all noted work is done; never blocks.
    pub fn are_done(&self) -> bool {
        !self.noted.load(Ordering::Acquire) || self.prune()
    }

    /// Removes what is done; returns whether that was all.
    fn prune(&self) -> bool {
        let mut state = self.lock();
        state.prune();
        let none = state.work.is_empty() && state.running == 0;
        self.noted.store(!none, Ordering::Release);
        none
    }

    /// Blocks until all work noted before is done, or the time is over; returns which (`true`: done).
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let work = self.lock().work.clone();
        self.wait_for(&work, timeout)
    }

    /// As [`BufferUses::wait`], but refuses with [`DeviceError::HeldByPause`] if work is held by a queue that
    /// is paused when this is called.
    pub fn wait_unless_blocked(&self, timeout: Option<Duration>) -> Result<bool, DeviceError> {
        let work = self.lock().work.clone();
        match work.iter().filter(|work| work.held).find_map(|work| work.completion.obstacle()) {
            Some(obstacle) => Err(obstacle),
            None => Ok(self.wait_for(&work, timeout)),
        }
    }

    /// Blocks until the device is done with all work that it was given before. Work that is held does not
    /// count.
    pub fn wait_submitted(&self) {
        let mut work = self.lock().work.clone();
        work.retain(|work| !work.held);
        self.wait_for(&work, None);
    }

    fn wait_for(&self, work: &[WorkUse], timeout: Option<Duration>) -> bool {
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let done = work.iter().all(|WorkUse { completion, .. }| match limit {
            None => {
                // How the work ended is its submitter's business.
                let _outcome = completion.wait();
                true
            }
            Some(limit) => completion.wait_timeout(limit.saturating_duration_since(Instant::now())).is_some(),
        });
        let done = done && self.wait_for_runs(limit);
        if done {
            self.prune();
        }
        done
    }

    /// Blocks until no run is in progress, or the time is over; returns which (`true`: none is).
    fn wait_for_runs(&self, limit: Option<Instant>) -> bool {
        let mut state = self.lock();
        state.waiting_for_runs += 1;
        while state.running > 0 {
            state = match limit.map(|limit| limit.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => break,
                Some(left) => self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.waiting_for_runs -= 1;
        state.running == 0
    }

    /// Begins a copy by the host; it ends when the guard is dropped. Refused if a mapping excludes it.
    pub fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, AccessConflict> {
        let mut state = self.lock();
        if state.excludes(mode) {
            return Err(AccessConflict::Mapped);
        }
        match mode {
            MapMode::Read => state.reading += 1,
            MapMode::Write => state.writing += 1,
        }
        Ok(CopyGuard { uses: self, mode })
    }

    /// Begins a mapping, which [`BufferUses::end_mapping`] ends. Waits for host copies in progress that
    /// exclude it, for nothing else.
    pub fn begin_mapping(&self, mode: MapMode) -> Result<(), AccessConflict> {
        let mut state = self.lock();
        loop {
            if state.excludes(mode) {
                return Err(AccessConflict::Mapped);
            }
            state.prune();
            if !state.work.is_empty() || state.running > 0 {
                return Err(AccessConflict::InUse);
            }
            if !state.is_copying(mode) {
                break;
            }
            state.waiting += 1;
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        match mode {
            MapMode::Read => state.read_mappings += 1,
            MapMode::Write => state.write_mapping = true,
        }
        Ok(())
    }

    /// Ends a mapping of that mode.
    pub fn end_mapping(&self, mode: MapMode) {
        let mut state = self.lock();
        match mode {
            MapMode::Read => state.read_mappings = state.read_mappings.saturating_sub(1),
            MapMode::Write => state.write_mapping = false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, UsesState> {
        crate::sync::lock(&self.state)
    }
}

/// A host copy in progress.
#[derive(Debug)]
pub struct CopyGuard<'a> {
    uses: &'a BufferUses,
    mode: MapMode,
}

impl Drop for CopyGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.uses.lock();
        match self.mode {
            MapMode::Read => state.reading -= 1,
            MapMode::Write => state.writing -= 1,
        }
        if state.waiting > 0 {
            self.uses.ended.notify_all();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::completion::{CompletionSource, Timing};

    #[test]
    fn mappings_exclude_work_and_each_other() {
        let uses = BufferUses::default();
        let source = CompletionSource::new(None);
        uses.note_held(&source.completion());
        assert_eq!(uses.begin_mapping(MapMode::Read), Err(AccessConflict::InUse));
        source.finish(Ok(Timing::default()));
        uses.begin_mapping(MapMode::Read).unwrap();
        uses.begin_mapping(MapMode::Read).unwrap();
        assert_eq!(uses.begin_mapping(MapMode::Write), Err(AccessConflict::Mapped));
        let source = CompletionSource::new(None);
        assert_eq!(uses.note_submitted(&source.completion()), Err(AccessConflict::Mapped));
        assert!(uses.begin_copy(MapMode::Read).is_ok() && uses.begin_copy(MapMode::Write).is_err());
        uses.end_mapping(MapMode::Read);
        assert_eq!(uses.note_submitted(&source.completion()), Err(AccessConflict::Mapped), "one is left");
        uses.end_mapping(MapMode::Read);
        uses.begin_mapping(MapMode::Write).unwrap();
        assert!(uses.begin_copy(MapMode::Read).is_err());
        uses.end_mapping(MapMode::Write);
        uses.note_submitted(&source.completion()).unwrap();
        assert!(!uses.are_done() && !uses.wait(Some(Duration::from_millis(1))));
        drop(source);
        assert!(uses.are_done() && uses.wait(None));
    }

    #[test]
    fn a_run_is_work_and_gives_way_to_who_waits_for_it() {
        let uses = BufferUses::default();
        uses.begin_mapping(MapMode::Read).unwrap();
        assert!(!uses.begin_run(), "mapped");
        uses.end_mapping(MapMode::Read);
        assert!(uses.begin_run());
        assert_eq!(uses.begin_mapping(MapMode::Read), Err(AccessConflict::InUse));
        assert!(!uses.are_done() && !uses.wait(Some(Duration::from_millis(1))));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| uses.wait(None));
            while uses.lock().waiting_for_runs == 0 {
                std::thread::yield_now();
            }
            assert!(!uses.begin_run(), "the waiter would wait for this one, too");
            uses.end_run();
            assert!(waits.join().unwrap());
        });
        assert!(uses.are_done() && uses.begin_run());
        uses.end_run();
        uses.begin_mapping(MapMode::Write).unwrap();
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use loom::thread;

    use super::*;
    use crate::completion::{CompletionSource, Timing};

    fn finish(source: CompletionSource) {
        source.finish(Ok(Timing::default()));
    }

    /// Work is noted while others look and remove what is done: work that is not done stays noted.
    #[test]
    fn work_that_is_not_done_stays_noted() {
        loom::model(|| {
            let uses = Arc::new(BufferUses::default());
            let (first, second) = (CompletionSource::new(None), CompletionSource::new(None));
            uses.note_held(&first.completion());
            let ends = thread::spawn(move || finish(first));
            let looks = {
                let uses = Arc::clone(&uses);
                thread::spawn(move || uses.are_done())
            };
            uses.note_submitted(&second.completion()).unwrap();
            assert!(!uses.are_done(), "the second is not done");
            ends.join().unwrap();
            let _either = looks.join().unwrap();
            assert!(!uses.are_done());
            finish(second);
            assert!(uses.are_done());
        });
    }

    /// A waiter for noted work sees it done, and so does a thread that finds the buffer unused.
    #[test]
    fn an_unused_buffer_has_no_work_that_is_not_done() {
        loom::model(|| {
            let uses = Arc::new(BufferUses::default());
            let source = CompletionSource::new(None);
            let completion = source.completion();
            uses.note_held(&completion);
            let ends = thread::spawn(move || finish(source));
            let waits = {
                let uses = Arc::clone(&uses);
                thread::spawn(move || uses.wait(None))
            };
            if uses.are_done() {
                assert!(completion.is_done());
            }
            assert!(waits.join().unwrap());
            assert!(completion.is_done() && uses.are_done());
            ends.join().unwrap();
        });
    }

    /// One thread submits and copies, one maps: never both at once.
    #[test]
    fn a_mapping_never_meets_work_or_a_copy() {
        loom::model(|| {
            let uses = Arc::new(BufferUses::default());
            let bytes = Arc::new(loom::cell::UnsafeCell::new(0u8));
            let maps = {
                let (uses, bytes) = (Arc::clone(&uses), Arc::clone(&bytes));
                thread::spawn(move || {
                    if uses.begin_mapping(MapMode::Write).is_ok() {
                        bytes.with_mut(|_| ());
                        uses.end_mapping(MapMode::Write);
                    }
                })
            };
            if let Ok(_copy) = uses.begin_copy(MapMode::Write) {
                bytes.with_mut(|_| ());
            }
            if uses.begin_run() {
                bytes.with_mut(|_| ());
                uses.end_run();
            }
            let source = CompletionSource::new(None);
            if uses.note_submitted(&source.completion()).is_ok() {
                bytes.with_mut(|_| ());
                finish(source);
            }
            maps.join().unwrap();
            assert!(uses.are_done());
        });
    }

    /// A thread that waits for a buffer's work comes back when the run has ended, and none begins before.
    #[test]
    fn a_waiter_of_a_run_sees_its_end() {
        loom::model(|| {
            let uses = Arc::new(BufferUses::default());
            let bytes = Arc::new(loom::cell::UnsafeCell::new(0u8));
            let waits = {
                let (uses, bytes) = (Arc::clone(&uses), Arc::clone(&bytes));
                thread::spawn(move || {
                    assert!(uses.wait(None));
                    if uses.begin_mapping(MapMode::Write).is_ok() {
                        bytes.with_mut(|_| ());
                        uses.end_mapping(MapMode::Write);
                    }
                })
            };
            for _ in 0..2 {
                if uses.begin_run() {
                    bytes.with_mut(|_| ());
                    uses.end_run();
                }
            }
            waits.join().unwrap();
            assert!(uses.are_done());
        });
    }
}
