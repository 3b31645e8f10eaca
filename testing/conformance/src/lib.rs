//! Conformance: kernels with references that were computed independently, run on every executor.
//!
//! A [`case::Case`] is one launch with what must come out; [`execute::Executor`]s run it. Cases come from
//! families of public kernels ([`candle`], [`llama`], [`metal_examples`]) whose references are plain Rust,
//! from the demo's kernels ([`demo`]), and from the small programs of `tests/exec` ([`exec_file`]). [`suite`]
//! runs them and compares: against the reference, and each device against the interpreter. Known gaps are
//! rows of `expectations.toml`, with reasons; one that passes fails the suite.
//!
//! `ANYMETAL_FULL=kernels` runs every kernel on every executor, `ANYMETAL_FULL=1` the large sizes too;
//! without it, a sample that takes a few minutes.
#![forbid(unsafe_code)]

pub mod candle;
pub mod case;
pub mod compare;
pub mod data;
pub mod demo;
pub mod differential;
pub mod exec_file;
pub mod execute;
pub mod expectation;
pub mod foreign;
pub mod hostile_programs;
pub mod lane_functions;
pub mod llama;
pub mod machine;
pub mod metal_examples;
pub mod mutation;
pub mod pointer_programs;
pub mod pointers;
pub mod quants;
pub mod reduce;
pub mod suite;
