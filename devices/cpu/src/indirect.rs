//! Indirect command buffers of the CPU device: commands with their launch tables, laid out once.
//!
//! Owns [`CpuIndirect`]. Invariant: `tables` are those of `submission`, whose commands hold every buffer
//! alive that a pointer in the tables leads to; nothing of it changes once it is made, and kernels write to
//! no inline bytes of it, so it may be executed by several queues at once.

use std::any::Any;
use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::error::DeviceError;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::indirect::check_indirect;

use crate::command_buffer::{CommandStep, LaunchTables, Preparer, cpu_buffer};
use crate::device::DeviceShared;
use crate::memory::{CpuBuffer, MemoryAccount};

/// Commands that need no more preparation.
#[derive(Debug)]
pub(crate) struct CpuIndirect {
    submission: CommandList,
    pub(crate) tables: LaunchTables,
    /// Each buffer once.
    buffers: Vec<Arc<dyn Buffer>>,
    account: Arc<MemoryAccount>,
}

impl CpuIndirect {
    /// Checks the commands and lays out their tables.
    pub(crate) fn new(device: &DeviceShared, commands: Vec<Command>) -> Result<Self, DeviceError> {
        check_indirect(&commands)?;
        let submission = CommandList::new(commands);
        let preparer = Preparer {
            account: &device.account,
            limits: &device.capabilities,
            device: &device.name,
            // For fences, which it has none of.
            queue: NonZero::<usize>::MIN,
        };
        let tables = preparer.prepare(&submission)?;
        let mut buffers: Vec<Arc<dyn Buffer>> = Vec::new();
        for command in &submission.commands {
            command.each_buffer(&mut |buffer| buffers.push(Arc::clone(buffer)));
        }
        let address = |buffer: &Arc<dyn Buffer>| Arc::as_ptr(buffer).cast::<()>();
        buffers.sort_unstable_by_key(address);
        buffers.dedup_by_key(|buffer| address(buffer));
        Ok(CpuIndirect { submission, tables, buffers, account: Arc::clone(&device.account) })
    }

    /// Its commands, each with what preparing it has found out.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&Command, &CommandStep)> {
        self.submission.commands.iter().zip(&self.tables.steps)
    }

    /// Its buffers, each once.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &CpuBuffer> {
        self.buffers.iter().filter_map(cpu_buffer)
    }

    /// Whether it is of the device with that account.
    pub(crate) fn belongs_to(&self, account: &Arc<MemoryAccount>) -> bool {
        Arc::ptr_eq(&self.account, account)
    }
}

/// The CPU device's own type behind a handle.
pub(crate) fn cpu_indirect(indirect: &Arc<dyn IndirectCommandBuffer>) -> Option<&CpuIndirect> {
    indirect.as_any().downcast_ref::<CpuIndirect>()
}

impl IndirectCommandBuffer for CpuIndirect {
    fn commands(&self) -> &[Command] {
        &self.submission.commands
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
