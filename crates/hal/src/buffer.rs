//! Buffers: memory that kernels read and write.
//!
//! Owns the [`Buffer`] trait, and [`PendingUses`] for its implementations. Invariant: a buffer has its length and address for life, and its memory lives as
//! long as any handle or any submitted work that uses it.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::completion::Completion;
use crate::error::DeviceError;
use crate::sync::{AtomicBool, Mutex, MutexGuard};

/// Where a buffer's memory is and who may touch it, in Metal's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StorageMode {
    /// Host and device see the same memory.
    #[default]
    Shared,
    /// Only the device touches it; the host copies through commands.
    Private,
    /// Host and device each have a copy, made equal by explicit synchronisation. A device without memory of
    /// its own keeps one copy, and there is nothing to synchronise.
    Managed,
}

/// What buffer to make.
#[derive(Debug, Clone, Default)]
pub struct BufferDescriptor {
    /// Its length in bytes; 0 is fine.
    pub length: u64,
    /// Where its memory is.
    pub storage_mode: StorageMode,
    /// A name for messages and listings; may be empty.
    pub label: String,
}

impl BufferDescriptor {
    /// A shared buffer of that many bytes without a label.
    pub fn shared(length: u64) -> Self {
        BufferDescriptor { length, ..BufferDescriptor::default() }
    }
}

/// A range of device memory.
///
/// *Validation*: ranges are checked here; whether the host may touch the memory too
/// ([`DeviceError::Unsupported`] for private storage). *Blocking*: only [`Buffer::wait_unused`] waits for
/// submitted work; `read` and `write` copy at once. Bytes that running work writes at the same time are
/// unspecified, never unsafe.
pub trait Buffer: Send + Sync + fmt::Debug {
    /// Its length in bytes.
    fn length(&self) -> u64;

    /// Where its memory is.
    fn storage_mode(&self) -> StorageMode;

    /// Its name; may be empty.
    fn label(&self) -> &str;

    /// The memory as the host sees it, or `None` for private storage. Valid while the buffer lives. Whoever
    /// dereferences it must know that no running work writes there.
    fn contents(&self) -> Option<NonNull<u8>>;

    /// Copies bytes out.
    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes in.
    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError>;

    /// Blocks until no work submitted before this call uses the buffer, or the time is over; says which
    /// (`true`: unused). `None` waits as long as it takes.
    fn wait_unused(&self, timeout: Option<Duration>) -> bool;

    /// Whether no submitted work uses the buffer; never blocks. Pools ask before they hand a buffer out again.
    fn is_unused(&self) -> bool {
        self.wait_unused(Some(Duration::ZERO))
    }

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Submitted work that uses a buffer, some of it done: what [`Buffer::wait_unused`] waits for.
/// Concurrency: `uses` is behind one lock; `noted` is set and cleared under it, and only lets readers skip it.
#[derive(Debug, Default)]
pub struct PendingUses {
    uses: Mutex<Uses>,
    /// Whether there may be work that is not done.
    noted: AtomicBool,
}

#[derive(Debug, Default)]
struct Uses {
    completions: Vec<Completion>,
    /// At this length the done ones are taken out, so that each is looked at a bounded number of times.
    prune_at: usize,
}

/// A list shorter than this is not pruned.
const MIN_PRUNED: usize = 16;

impl Uses {
    fn prune(&mut self) {
        self.completions.retain(|completion| !completion.is_done());
        self.prune_at = 2 * self.completions.len();
    }
}

impl PendingUses {
    /// Notes submitted work that uses the buffer.
    pub fn note(&self, completion: &Completion) {
        let mut uses = self.lock();
        if uses.completions.len() >= uses.prune_at.max(MIN_PRUNED) {
            uses.prune();
        }
        uses.completions.push(completion.clone());
        self.noted.store(true, Ordering::Release);
    }

    /// Whether everything noted is done; never blocks.
    pub fn are_done(&self) -> bool {
        !self.noted.load(Ordering::Acquire) || self.prune()
    }

    /// Forgets what is done; says whether that was all.
    fn prune(&self) -> bool {
        let mut uses = self.lock();
        uses.prune();
        let none = uses.completions.is_empty();
        self.noted.store(!none, Ordering::Release);
        none
    }

    fn lock(&self) -> MutexGuard<'_, Uses> {
        crate::sync::lock(&self.uses)
    }

    /// Blocks until everything noted before is done, or the time is over; says which (`true`: done).
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let pending = self.lock().completions.clone();
        let unused = pending.iter().all(|completion| match limit {
            None => {
                // How the work ended is its submitter's business.
                let _outcome = completion.wait();
                true
            }
            Some(limit) => completion.wait_timeout(limit.saturating_duration_since(Instant::now())).is_some(),
        });
        if unused {
            self.prune();
        }
        unused
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

    /// Work is noted while others look and forget what is done: what is not done is never forgotten.
    #[test]
    fn work_that_is_not_done_is_not_forgotten() {
        loom::model(|| {
            let uses = Arc::new(PendingUses::default());
            let (first, second) = (CompletionSource::new(None), CompletionSource::new(None));
            uses.note(&first.completion());
            let ends = thread::spawn(move || finish(first));
            let looks = {
                let uses = Arc::clone(&uses);
                thread::spawn(move || uses.are_done())
            };
            uses.note(&second.completion());
            assert!(!uses.are_done(), "the second is not done");
            ends.join().unwrap();
            let _either = looks.join().unwrap();
            assert!(!uses.are_done());
            finish(second);
            assert!(uses.are_done());
        });
    }

    /// Who waits for what was noted before sees it done, and what was done is seen by who finds the buffer unused.
    #[test]
    fn a_buffer_that_is_unused_has_its_work_behind_it() {
        loom::model(|| {
            let uses = Arc::new(PendingUses::default());
            let source = CompletionSource::new(None);
            let completion = source.completion();
            uses.note(&completion);
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
}
