//! Mutation testing of the sanitizer: mistakes are put into real kernels at random, with a seed, and the
//! share that the sanitizer finds is counted.
//!
//! A [`subject::Subject`] is a kernel in IR with launches that the sanitizer is silent on, or whose findings
//! are known. [`sites::sites`] lists where a mistake can be made in it, [`apply::mutated`] makes one,
//! [`trial::Trial`] runs the mutant and judges it. Start with [`campaign::run`].
//!
//! A mutant that nothing is found in is *equivalent* if its launches do what those of the kernel do: the same
//! results in several schedules, no access out of bounds, and no pair of conflicting accesses that is
//! unordered and is not so in the kernel, as [`order`] sees it, which shares nothing with the sanitizer. All
//! others are *missed*.
#![forbid(unsafe_code)]

pub mod apply;
pub mod campaign;
pub mod extent;
pub mod mutation;
pub mod order;
pub mod reach;
pub mod report;
pub mod sites;
pub mod subject;
pub mod suites;
pub mod trial;
