//! Runs a stage on a thread with a large stack and heap, and turns its panics into errors.
//!
//! The caller may be any thread of a program. A stack overflow is not a panic and would end the process, so
//! each recursion whose depth the source decides is bounded, for this stack: macro calls and conditions by
//! `msl::pp::Limits`, the parser by `msl::parser::MAX_DEPTH`, semantic analysis and instantiation by
//! `msl::sema::checker::limits`, constant evaluation by its `MAX_DEPTH`, and lowering, passes and code
//! generators, which recurse over regions, by `ir::MAX_NESTING`, which the verifier holds every module to.
//! `hostile.rs` of the command line's tests has input for them.

use anymetal_llvm::heap;
use anymetal_msl::on_large_stack;
use anymetal_telemetry::span::Span;

use crate::bug;
use crate::error::CompileError;
use crate::injected_bug::panic_if_requested;

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
        bug::catch(stage, || {
            panic_if_requested(stage);
            work()
        })
    })
    .unwrap_or_else(|error| Err(CompileError::NoThread { message: error.to_string() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let result: Result<(), _> = run("test", || panic!("broken {}", 1));
        let Err(CompileError::Internal(bug)) = result else { panic!("{result:?}") };
        assert_eq!((bug.stage, bug.message.as_str()), ("test", "broken 1"));
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
