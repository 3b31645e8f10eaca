//! Models of the pool: every interleaving of its workers and one thread that publishes, under loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-cpu --lib --release models`. No more than
//! one publishes, because loom takes an unpark of a thread that waits for a lock for the lock's own.

use anymetal_hal::sync::AtomicU32;

use super::*;

fn pool(threads: usize) -> Pool {
    Pool::start(PoolOptions { threads, pinned: false }).unwrap()
}

impl Pool {
    /// No workers: the model's own threads take what is published.
    pub(crate) fn without_workers() -> Pool {
        pool(0)
    }

    /// The next runnable, as a worker would take it.
    pub(crate) fn take(&self) -> Option<Arc<dyn Runnable>> {
        self.shared.take_runnable(&mut self.shared.lock())
    }
}

struct Counts(Arc<AtomicUsize>);

impl Runnable for Counts {
    fn run(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn priority(&self) -> Priority {
        Priority::Normal
    }
}

/// Whether a worker looks, is about to sleep or sleeps when it is called: it comes. No runnable is lost, and
/// the end of the pool wakes everyone.
#[test]
fn whoever_is_called_comes() {
    loom::model(|| {
        let (pool, ran) = (pool(1), Arc::new(AtomicUsize::new(0)));
        for place in [SchedulePlace::Elsewhere, SchedulePlace::Here] {
            pool.schedule(Arc::new(Counts(Arc::clone(&ran))), place);
        }
        while ran.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        drop(pool);
    });
}

/// The leader goes on only when its helper has left, and sees what it wrote; each threadgroup runs once.
#[test]
fn nobody_is_inside_a_job_that_has_ended() {
    loom::model(|| {
        let pool = pool(2);
        let written = [AtomicU32::new(0), AtomicU32::new(0)];
        let body = |_worker: u32, first: u64, end: u64| {
            for group in &written[first as usize..end as usize] {
                group.fetch_add(1, Ordering::Relaxed);
            }
        };
        pool.run_job(0..2, 2, Priority::Normal, &body).unwrap();
        assert!(written.iter().all(|group| group.load(Ordering::Relaxed) == 1));
        drop(pool);
    });
}
