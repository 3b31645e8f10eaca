//! Runs a stage on a thread with a large stack and heap, and turns its panics into errors.
//!
//! The stages recurse over nested source with limits of their own, chosen for this stack; the caller may be
//! any thread of a program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anymetal_llvm::heap;
use anymetal_msl::on_large_stack;
use anymetal_telemetry::span::Span;

use crate::error::CompileError;

/// Runs `work`, named in messages as `stage`. A panic in it is a bug of the compiler and becomes
/// [`CompileError::Internal`].
pub(crate) fn run<T: Send>(
    stage: &'static str,
    work: impl FnOnce() -> Result<T, CompileError> + Send,
) -> Result<T, CompileError> {
    let caller = Span::current();
    on_large_stack(|| {
        let _entered = caller.enter();
        heap::reserve();
        guarded(stage, work)
    })
    .unwrap_or_else(|error| Err(CompileError::NoThread { message: error.to_string() }))
}

/// State that a panic leaves inconsistent is dropped with the stage: its inputs are shared read-only and its
/// outputs are lost.
fn guarded<T>(
    stage: &'static str,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(internal(stage, payload.as_ref())))
}

fn internal(stage: &'static str, payload: &(dyn Any + Send)) -> CompileError {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    CompileError::Internal { stage, message: text.unwrap_or_else(|| "a panic without a message".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let result: Result<(), _> = run("test", || panic!("broken {}", 1));
        assert!(
            matches!(result, Err(CompileError::Internal { stage: "test", message }) if message == "broken 1")
        );
    }

    #[test]
    fn deep_recursion_has_room_and_nests() {
        fn depth(n: usize) -> usize {
            let buffer = std::hint::black_box([0u8; 512]);
            if n == 0 { usize::from(buffer[0]) } else { 1 + depth(n - 1) }
        }
        let nested = run("outer", || run("inner", || Ok(depth(50_000))));
        assert_eq!(nested.unwrap(), 50_000);
    }
}
