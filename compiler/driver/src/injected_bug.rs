//! A bug on request, so that tests of all interfaces can show what a compiler bug looks like there.
//!
//! Only in builds with debug assertions; `injected_bug_off.rs` takes its place in others.

/// The stage that is to panic.
const VARIABLE: &str = "ANYMETAL_TEST_COMPILER_BUG";

/// Panics if the environment requests it for this stage.
pub(crate) fn panic_if_requested(stage: &str) {
    assert!(std::env::var_os(VARIABLE).is_none_or(|wanted| wanted != stage), "requested by {VARIABLE}");
}
