//! Limits of modules.

/// Maximum nesting depth of constructs. Bounds the recursion of everything that walks a function.
pub const MAX_NESTING: usize = 500;

/// Upper bound of the numbers of values and labels in the text form. The parser allocates tables up to the
/// largest number.
pub(crate) const MAX_ID: u32 = 1 << 22;

/// Maximum number of errors that the verifier reports. Later errors are often consequences of earlier ones.
pub(crate) const MAX_ERRORS: usize = 100;
