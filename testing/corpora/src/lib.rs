//! Nothing: this package only names dependencies.
#![forbid(unsafe_code)]
