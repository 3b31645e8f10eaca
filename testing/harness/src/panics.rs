//! Panics as values: message and place, whichever thread they happened on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};

/// A panic that was caught.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panic {
    /// What it said.
    pub message: String,
    /// `file:line` in our sources, or empty.
    pub place: String,
}

/// The panics that happened and were not yet looked up: message and place.
static HAPPENED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Runs `work`; the hook that prints panics is replaced by one that remembers them.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let message = text_of(info.payload());
            let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
            HAPPENED.lock().unwrap_or_else(PoisonError::into_inner).push((message, place));
        }));
    });
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = text_of(payload.as_ref());
        let mut happened = HAPPENED.lock().unwrap_or_else(PoisonError::into_inner);
        // The panic may have happened on another thread and been passed on: it is found by its message.
        let position = happened.iter().rposition(|(known, _)| *known == message);
        let place = position.map(|position| happened.swap_remove(position).1).unwrap_or_default();
        Panic { message, place }
    })
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_other_threads_keep_their_place() {
        let outcome = caught(|| {
            let worker = std::thread::spawn(|| panic!("number {}", 7));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let panic: Panic = outcome.expect_err("it panicked");
        assert_eq!(panic.message, "number 7");
        assert!(panic.place.contains("panics.rs"), "{}", panic.place);
    }
}
