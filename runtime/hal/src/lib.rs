//! Device traits, errors with classes, capabilities, artifacts.
//!
//! The crate is the two seams of the system. It depends on `anymetal-abi`, whose tables it passes on,
//! and on `anymetal-types`:
//! - [`artifact`] (with [`encoding`] and, for devices that compile MSL themselves, [`metal_source`]) is what
//!   a compiler hands to a device, [`launch`] what compiled code and the CPU device agree on;
//! - [`semaphore`], [`single_runner`] and [`sync`] are the concurrency primitives of devices and the runtime,
//!   [`split_mix`] their reproducible random numbers, [`caches`] lists what the process keeps in memory,
//!   and [`lru`] is the bounded map that small caches are made of.
//! - [`device`] is the root of the object-safe trait family that the runtime sees: [`buffer`] with
//!   [`buffer_uses`], [`heap`], [`pipeline`], [`queue`] with [`command`] (and [`blit`] to encode some,
//!   [`indirect`] to encode some for good, [`encoded_commands`] for those that kernels encode,
//!   [`matrix_product`] for what a device's own library does) and
//!   [`completion`], [`event`], [`fence`], [`peer`]. [`validate`]
//!   holds the rules that all devices share, [`error`] the one error type (with
//!   [`command_failure`]), [`capabilities`] what a device can do,
//!   [`clock`] the one source of time, [`attachment`] a place for what layers above keep with a pipeline.
#![deny(unsafe_code)]

pub mod artifact;
pub mod attachment;
pub mod binding;
pub mod blit;
pub mod buffer;
pub mod buffer_uses;
pub mod caches;
pub mod capabilities;
pub mod clock;
#[cfg_attr(not(target_os = "linux"), path = "coarse_time_disabled.rs")]
mod coarse_time;
pub mod code_cache;
pub mod command;
pub mod command_failure;
pub mod completion;
pub mod device;
pub mod encoded_commands;
pub mod encoding;
pub mod error;
pub mod event;
pub mod fault;
pub mod fence;
pub mod grid;
pub mod heap;
pub mod host_pages;
pub mod indirect;
pub mod interruption;
pub mod launch;
#[allow(unsafe_code, reason = "its constructor takes the lender's promise, which is unsafe to give")]
mod lent_memory;
pub mod logging;
pub mod lru;
pub mod matrix_product;
pub mod metal_source;
pub mod peer;
pub mod pipeline;
pub mod queue;
pub mod residents;
pub mod semaphore;
pub mod single_runner;
pub mod split_mix;
pub mod stage_input;
mod storage_mode;
pub mod sync;
pub mod time_sample;
pub mod validate;
mod waker_slot;
