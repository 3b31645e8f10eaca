//! The CPU device under test, through the hal traits only. Kernels are C, compiled by gcc when the tests run.

mod commands;
mod faults;
mod guards;
mod indirect;
mod inline_policy;
mod inline_run;
mod interpreter;
mod kernels;
mod launches;
mod mappings;
mod queues;
mod wrappers;
