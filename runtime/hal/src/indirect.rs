//! Indirect command buffers: commands that a device has checked and encoded once, to be executed often.
//!
//! Owns the [`IndirectCommandBuffer`] trait, and [`HostIndirect`] for devices that have nothing to encode.
//! Executing one costs no validation and no look at what is bound, so it is the form in which graphs are
//! replayed. Invariant: it holds dispatches, copies and fills only, nothing that waits, and no inline bytes
//! that a kernel may write, so each execution finds what the first one found
//! ([`crate::validate::check_indirect`]).

use std::any::Any;
use std::fmt;

use crate::command::Command;

/// Commands in a device's own form.
pub trait IndirectCommandBuffer: Send + Sync + fmt::Debug {
    /// The commands that it was made of.
    fn commands(&self) -> &[Command];

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// The commands of a device that has no other form for them, and what tells its own from others'.
#[derive(Debug)]
pub struct HostIndirect<Owner> {
    /// The commands.
    pub commands: Vec<Command>,
    /// The device.
    pub owner: Owner,
}

impl<Owner: Send + Sync + fmt::Debug + 'static> IndirectCommandBuffer for HostIndirect<Owner> {
    fn commands(&self) -> &[Command] {
        &self.commands
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
