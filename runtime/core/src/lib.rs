//! The execution layer: what programs that run for months need above a device.
//!
//! The crate is written against the traits of `anymetal-hal` alone, so it serves every device, and the null
//! and fault-injecting ones that its tests use. It never names a device.
//!
//! - [`config`] holds settings from code, environment and file.
//! - [`graph`] describes work once and runs it many times.
//! - [`memory`] decides where buffers live, pools them, bounds them, and lists them.
//! - [`tenant`] bounds each of those who share a device.
//! - [`stream`] runs work in order, with bounds, dependencies and a brake; [`submission`] is that work, from
//!   its encoding to its one end; [`event`] orders it across streams, devices and the host; [`history`] keeps
//!   what was done ([`record`]: in a form that can be written to files and run again), [`trace`] when,
//!   [`profile`] how long it took.
//!
//! Rules that hold everywhere here: limits refuse with a typed error before anything has happened, never half
//! way; time comes from an injected clock; nothing polls or sleeps in the background.
#![forbid(unsafe_code)]

pub mod config;
pub mod event;
pub mod graph;
pub mod history;
pub mod memory;
mod observe;
pub mod profile;
pub mod record;
pub mod stream;
pub mod submission;
mod sync;
pub mod tenant;
pub mod trace;
