//! A model of the rounds: every interleaving of two threads, under loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-cpu --lib --release models`.

use std::sync::Arc;

use loom::cell::UnsafeCell;

use super::*;

/// Two threadgroups of one part each write a cell of their own and, a round later, read the other's. loom
/// fails if an access is not ordered after the round before, if a part is run twice, or if a thread sleeps
/// for ever.
#[test]
fn rounds_are_ordered_and_end() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((Rounds::new(2, 2), [UnsafeCell::new(0u32), UnsafeCell::new(0u32)]));
        let take_part = |shared: &(Rounds, [UnsafeCell<u32>; 2]), first: usize| {
            let (rounds, cells) = shared;
            rounds.take_part(first, |part| {
                let before = cells[part].with(|cell| {
                    // SAFETY: loom checks that nobody writes at the same time.
                    unsafe { *cell }
                });
                if before == 0 {
                    cells[part].with_mut(|cell| {
                        // SAFETY: loom checks that nobody else accesses it at the same time.
                        unsafe { *cell = 1 }
                    });
                    return 0;
                }
                let other = cells[1 - part].with(|cell| {
                    // SAFETY: loom checks that nobody writes at the same time.
                    unsafe { *cell }
                });
                assert_eq!(other, 1, "the round before has ended");
                1
            });
        };
        let helper = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || take_part(&shared, 1))
        };
        take_part(&shared, 0);
        helper.join().unwrap();
        assert_eq!(shared.0.done.0.load(Ordering::Acquire), 4);
    });
}
