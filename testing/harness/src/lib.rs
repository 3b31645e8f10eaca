//! Test harness: public corpora found through cargo and taken through the compiler stage by stage.
//!
//! Third-party kernels are never copied into this repository: [`corpus`] finds them in the sources
//! that cargo downloaded for `testing/corpora`. [`stages`] compiles one entry point, [`shard`] many of them
//! in child processes, [`corpus_report`] summarises the outcomes.
//! [`sanitizer_case`] reads the cases of `tests/sanitizer`.
#![forbid(unsafe_code)]

pub mod corpus;
pub mod corpus_report;
pub mod corpus_tables;
pub mod disk_includes;
pub mod machine_code;
pub mod panics;
pub mod sanitizer_case;
pub mod shard;
pub mod stages;
