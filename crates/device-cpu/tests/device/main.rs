//! The CPU device under test, through the hal traits only. Kernels are C, compiled by gcc when the tests run.

mod brief;
mod commands;
mod faults;
mod guards;
mod indirect;
mod interpreter;
mod kernels;
mod launches;
mod queues;
mod wrappers;
