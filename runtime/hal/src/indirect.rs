//! Indirect command buffers: commands that a device has checked and encoded once, to be executed often.
//!
//! Owns the [`IndirectCommandBuffer`] trait, and [`HostIndirect`] for devices that have nothing to encode.
//! Executing one costs no validation and no look at what is bound, so it is the form in which graphs are
//! replayed. Invariant: it holds dispatches, copies and fills only, nothing that waits, and no inline bytes
//! that a kernel may write, so each execution finds what the first one found
//! ([`check_indirect`]).

use std::any::Any;
use std::fmt;

use crate::artifact::{Access, ArgumentInfo, ArgumentKind};
use crate::binding::BoundResource;
use crate::command::Command;
use crate::error::DeviceError;

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

/// Checks that an indirect command buffer can hold the commands, each by itself.
pub fn check_indirect(commands: &[Command]) -> Result<(), DeviceError> {
    for command in commands {
        let dispatch = match (command, command.dispatch()) {
            (_, Some(dispatch)) if dispatch.is_cooperative() => {
                return Err(DeviceError::NotIndirect { what: "a cooperative dispatch".to_owned() });
            }
            (_, Some(dispatch)) => dispatch,
            (Command::Copy(_) | Command::Fill(_), None) => continue,
            (other, None) => return Err(DeviceError::NotIndirect { what: format!("`{}`", other.word()) }),
        };
        let kernel = dispatch.kernel();
        if kernel.encodes_commands() {
            let what = format!("kernels that encode commands (`{}`)", kernel.name);
            return Err(DeviceError::NotIndirect { what });
        }
        if kernel.has_messages() {
            let what = format!("kernels that write messages (`{}`)", kernel.name);
            return Err(DeviceError::NotIndirect { what });
        }
        let written = dispatch.bindings().iter().find_map(|binding| {
            let argument = kernel.argument(ArgumentKind::Buffer, binding.index)?;
            let is_inline = matches!(binding.resource, BoundResource::Bytes(_));
            (is_inline && argument.access != Access::Read).then_some(argument)
        });
        if let Some(ArgumentInfo { index, name, .. }) = written {
            let what = format!("inline bytes that a kernel may write (`{}`: {index} `{name}`)", kernel.name);
            return Err(DeviceError::NotIndirect { what });
        }
    }
    Ok(())
}
