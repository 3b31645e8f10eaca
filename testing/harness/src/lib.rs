//! Test harness: public corpora found through cargo, kernels run on every executor, references.
//!
//! Third-party kernels are never copied into this repository: [`corpus`] finds them in the sources
//! that cargo downloaded for `testing/corpora`.
#![forbid(unsafe_code)]

pub mod corpus;
