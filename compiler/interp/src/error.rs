//! Why a program could not be made or a run did not finish. What a *kernel* does wrong (accesses out of
//! bounds, partial barriers) is data in [`crate::Report`] as long as execution can go on.

use crate::report::DivergentBarrier;

/// An error of the interpreter. After an error of [`crate::run()`] the buffers' contents are unspecified.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InterpError {
    /// The module has no kernel of that name.
    #[error("the module has no kernel `{kernel}`")]
    UnknownKernel {
        /// The requested name.
        kernel: String,
    },
    /// A function calls itself, directly or through others.
    #[error("function `{function}` is recursive")]
    Recursion {
        /// The function.
        function: String,
    },
    /// Something is larger than the interpreter accepts.
    #[error("{what}: {size} exceeds the limit of {limit}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it is (saturated).
        size: u64,
        /// The accepted range.
        limit: u64,
    },
    /// The number of bound arguments is not the kernel's.
    #[error("the kernel has {expected} arguments, {given} are given")]
    ArgumentCount {
        /// The kernel's.
        expected: usize,
        /// The caller's.
        given: usize,
    },
    /// A buffer is bound where threadgroup memory belongs, or the other way round.
    #[error("argument `{name}` is given the wrong kind of memory")]
    ArgumentKind {
        /// The argument.
        name: String,
    },
    /// A binding names a buffer that does not exist or a range that is not in it.
    #[error("argument `{name}` is bound to a range that is not in its buffer")]
    InvalidBinding {
        /// The argument.
        name: String,
    },
    /// A threadgroup has no threads, or too many.
    #[error("a threadgroup of {x} × {y} × {z} threads is not possible", x = .size[0], y = .size[1], z = .size[2])]
    InvalidGroupSize {
        /// The requested size.
        size: [u32; 3],
    },
    /// The caller's stop flag was set.
    #[error("the run was stopped")]
    Stopped,
    /// The limit on steps was reached.
    #[error("the run exceeded its budget of {budget} steps")]
    BudgetExceeded {
        /// [`crate::Limits::max_steps`].
        budget: u64,
    },
    /// SIMD-groups of one threadgroup, or threadgroups of a cooperative launch, wait at different barriers;
    /// they would wait for ever.
    #[error("threads that must meet wait at different barriers")]
    DivergentBarrier(Box<DivergentBarrier>),
}
