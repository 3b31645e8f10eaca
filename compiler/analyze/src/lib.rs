//! What a kernel does for each thread, found in its IR.
//!
//! [`analyze`] takes a prepared kernel (calls inlined, function constants specialised). It counts operations
//! and bytes in [`Region`]s, whose instructions a thread executes equally often; finds how the lanes of a
//! SIMD-group access memory ([`Pattern`]); and estimates registers and occupancy. [`Recorder`] finds the same
//! patterns and bytes in a run of the interpreter.
//!
//! Invariant: nothing is guessed. What the IR does not decide is a [`Factor`] of a region, or
//! [`Pattern::Gathered`]. Assumptions are made: 32-bit indices do not wrap around when they are widened, and
//! threadgroups are whole and of the size in [`Options`]. [`disagreements`] compares an analysis with a run.
#![forbid(unsafe_code)]

mod access;
mod advice;
mod agreement;
mod count;
mod intensity;
mod kernel;
mod occupancy;
mod pattern;
mod recorded;
mod registers;
mod size;

pub use access::{AccessSite, Operation};
pub use agreement::disagreements;
pub use count::{Counts, Factor, FactorKind, Region};
pub use intensity::Intensity;
pub use kernel::{KernelAnalysis, Options, analyze};
pub use occupancy::{DeviceFamily, FAMILIES, Limit, Occupancy, occupancy};
pub use pattern::{Cost, Pattern};
pub use recorded::{RecordedSite, Recorder};
pub use size::{SizeChoice, SizeRequest, SizeStep, choose_size};
