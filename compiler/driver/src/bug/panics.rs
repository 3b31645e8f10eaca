//! Panics of compiler threads: caught, with their place and pass, and not printed.
//!
//! A panic's payload lacks its place, which only the process's hook is given. The hook that this installs
//! records panics of compiler threads and passes all others on to the hook that was there before. A program
//! that replaces the hook later gets errors without places.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};

use anymetal_opt::current_pass;

use super::CompilerBug;
use crate::error::CompileError;

/// Threads of the compiler have names that begin so: their panics go on in a thread that catches them.
const COMPILER_THREADS: [&str; 2] = ["anymetal-compiler", "anymetal-llvm"];
/// Recorded panics that no thread has caught yet; the oldest are dropped.
const MAX_RECORDED: usize = 16;

thread_local! {
    /// How many calls of [`catch`] this thread is in.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
}

/// A panic that the hook saw.
struct Recorded {
    message: String,
    place: Option<String>,
    pass: Option<&'static str>,
}

static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());

/// Does work; a panic becomes [`CompileError::Internal`] of that stage.
///
/// State that a panic leaves inconsistent is dropped with the stage: its inputs are shared read-only and its
/// outputs are lost.
pub(crate) fn catch<T>(
    stage: &'static str,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    CATCHING.set(CATCHING.get() + 1);
    let caught = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(CATCHING.get() - 1);
    caught.unwrap_or_else(|payload| Err(internal_of(stage, payload.as_ref())))
}

/// The error for a caught panic.
fn internal_of(stage: &'static str, payload: &(dyn Any + Send)) -> CompileError {
    let message = message_of(payload);
    let mut bug = CompilerBug::new(stage, message);
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    // The payload may come from another thread, so the panic is identified by its message. Two simultaneous
    // panics with the same message most likely have the same place.
    if let Some(at) = recorded.iter().position(|recorded| recorded.message == bug.message) {
        let Recorded { place, pass, .. } = recorded.remove(at);
        (bug.place, bug.pass) = (place, pass);
    }
    CompileError::Internal(Box::new(bug))
}

fn install() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(
        move |info| if is_compiler_thread() { record(info) } else { previous(info) },
    ));
}

fn is_compiler_thread() -> bool {
    let thread = std::thread::current();
    CATCHING.get() > 0 || thread.name().is_some_and(|name| COMPILER_THREADS.contains(&name))
}

fn record(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    if recorded.len() == MAX_RECORDED {
        recorded.remove(0);
    }
    recorded.push(Recorded { message: message_of(info.payload()), place, pass: current_pass() });
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_its_message_and_place() {
        let line = line!() + 1;
        let result: Result<(), _> = catch("test", || panic!("broken {}", 1));
        let Err(CompileError::Internal(bug)) = result else { panic!("{result:?}") };
        assert_eq!((bug.stage, bug.message.as_str(), bug.pass), ("test", "broken 1", None));
        assert_eq!(bug.place, Some(format!("{}:{line}", file!())));
    }
}
