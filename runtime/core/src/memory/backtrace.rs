//! Where a resource was made, if that was to be kept.
//!
//! Owns [`Backtrace`], a shared handle to a captured one. Invariant: nothing is captured unless it is asked
//! for, since a capture costs more than most allocations.

use std::fmt;
use std::sync::Arc;

/// The call stack at one moment.
#[derive(Clone)]
pub struct Backtrace(Arc<std::backtrace::Backtrace>);

impl Backtrace {
    /// The stack of the caller, if wanted.
    pub(crate) fn capture(wanted: bool) -> Option<Self> {
        wanted.then(|| Backtrace(Arc::new(std::backtrace::Backtrace::force_capture())))
    }
}

impl fmt::Debug for Backtrace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Display for Backtrace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}
