//! The baton: of all threads that want a thing done, one does it, again if another asked meanwhile.
//!
//! Owns [`Baton`]. Invariant: after each [`Baton::take`] the thing is done at least once from its start, by
//! somebody; never by two at once. Concurrency: one mutex around two flags.

use crate::sync::{Mutex, lock};

/// Lets one thread at a time do a thing that many ask for.
#[derive(Debug, Default)]
pub struct Baton {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: bool,
    again: bool,
}

impl Baton {
    /// Asks for the thing to be done; whether the caller is the one to do it.
    pub fn take(&self) -> bool {
        let mut state = lock(&self.state);
        state.again |= state.held;
        !std::mem::replace(&mut state.held, true)
    }

    /// The thing is done; whether it is to be done again, by the caller.
    pub fn pass(&self) -> bool {
        let mut state = lock(&self.state);
        state.held = state.again;
        std::mem::take(&mut state.again)
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::*;

    /// Each thread adds a piece of work and asks; no piece is left and nobody works beside another.
    #[test]
    fn nothing_that_was_asked_for_is_left() {
        loom::model(|| {
            let baton = Arc::new(Baton::default());
            let work = Arc::new(AtomicUsize::new(0));
            let busy = Arc::new(AtomicUsize::new(0));
            let ask = {
                let (baton, work) = (Arc::clone(&baton), Arc::clone(&work));
                move || {
                    work.fetch_add(1, Ordering::SeqCst);
                    if baton.take() {
                        loop {
                            assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0);
                            work.store(0, Ordering::SeqCst);
                            busy.fetch_sub(1, Ordering::SeqCst);
                            if !baton.pass() {
                                break;
                            }
                        }
                    }
                }
            };
            let other = thread::spawn(ask.clone());
            ask();
            ask();
            other.join().unwrap();
            assert_eq!(work.load(Ordering::SeqCst), 0);
        });
    }
}
