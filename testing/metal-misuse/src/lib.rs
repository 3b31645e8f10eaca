//! Misuse of Metal's API: calls with nil, NULL, objects of other classes, and absurd numbers.
//!
//! - [`runtime`]: the runtime's C functions: classes, their methods and type encodings.
//! - [`encoding`]: how a method's arguments are passed, by its type encoding.
//! - [`call`]: calls of methods by that.
//! - [`objects`]: a live object of every class, and the methods that must not be called blindly.
//! - [`isolated`]: calls in child processes, whose ends are reported with the call that caused them.
//! - [`walk`]: every method and function once for each kind of argument.
//! - [`random`]: random sequences of calls.
//!
//! Failures of the API are panics that name a method or function (`-[MTLBuffer didModifyRange:]: ...`).
//! All other panics, signals, aborts and calls without an end are faults.
#![cfg(not(target_vendor = "apple"))]
#![allow(
    clashing_extern_declarations,
    reason = "the walk declares every function without arguments: it passes null and 0 for all"
)]

pub mod call;
pub mod encoding;
pub mod functions;
pub mod isolated;
pub mod objects;
pub mod random;
pub mod runtime;
pub mod walk;
