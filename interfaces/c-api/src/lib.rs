//! The C library: the facade's objects as opaque handles.
//!
//! Owns the functions of `include/anymetal.h`, a module for each type of handle. Invariants: an
//! exported function takes numbers and the types of [`handles`] and [`given`], which can only be used
//! once checked, and no pointer (`tests/every_function.rs` reads the signatures); every call is run by
//! [`status::run`], so that no panic crosses into C, and every failure has a status and a text.

mod buffer;
mod device;
mod functions;
mod given;
mod handles;
mod kernel;
mod launch;
mod library;
mod status;
