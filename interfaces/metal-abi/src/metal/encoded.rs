//! Indirect command buffers that kernels encode.
//!
//! An indirect command buffer is the host's own until a program takes its resource id. From then on its
//! commands are in memory that kernels write too ([`anymetal::command::IndirectCommandBuffer`]): what
//! the host had encoded is written there, and every later change; what is executed is what is there when its
//! turn comes.

use anymetal::BufferSlice;
use anymetal::Error;
use anymetal::command::IndirectCommandBufferDescriptor;

use super::commands::Commands;
use super::dispatches::{Bindings, Grid, Slot};
use super::indirect::{IndirectBuffer, IndirectCommand};
use super::pipeline::Pipeline;
use super::violation;

/// What is executed.
pub(crate) enum Executed {
    /// These commands.
    Commands(std::ops::Range<u32>),
    /// As two words in a buffer say: the first command, and how many.
    Indirect(BufferSlice),
}

impl IndirectBuffer {
    /// The memory that kernels encode, for a method that needs it.
    pub(crate) fn shared_memory(&self, method: &str) -> &anymetal::command::IndirectCommandBuffer {
        // The lock keeps changes out until they are written to the memory, too.
        let commands = self.lock();
        let made = match self.ivars().encoded() {
            Some(memory) => Ok(memory),
            None => self.memory_of(&commands).map(|memory| self.ivars().encoded.get_or_init(|| memory)),
        };
        drop(commands);
        made.unwrap_or_else(|error| violation(method, error))
    }

    fn memory_of(
        &self,
        commands: &[IndirectCommand],
    ) -> Result<anymetal::command::IndirectCommandBuffer, Error> {
        let ivars = self.ivars();
        let count = u32::try_from(commands.len()).unwrap_or(u32::MAX);
        let mut descriptor = IndirectCommandBufferDescriptor::new(count, ivars.buffers as u32)
            .threadgroup_memories(ivars.threadgroup_memories as u32)
            .label(ivars.label.get().map(|label| label.to_string()).unwrap_or_default());
        if ivars.inherits_pipeline {
            descriptor = descriptor.inherit_pipeline();
        }
        if ivars.inherits_buffers {
            descriptor = descriptor.inherit_buffers();
        }
        let memory = ivars.device.inner().indirect_command_buffer(&descriptor)?;
        for (command, index) in commands.iter().zip(0..) {
            write(&memory, index, command)?;
        }
        Ok(memory)
    }

    /// Encodes an execution of commands in memory.
    pub(crate) fn execute_encoded(
        &self,
        method: &str,
        what: Executed,
        target: &Commands,
        pipeline: Option<&Pipeline>,
        bindings: &Bindings,
    ) {
        let memory = self.shared_memory(method);
        target.encode(method, |commands| {
            let mut encoder = commands.compute_encoder();
            if let Some(pipeline) = pipeline {
                encoder.set_pipeline(&pipeline.ivars().pipeline);
                bindings.set(&mut encoder);
            }
            self.encode(memory, what, encoder, bindings)
        });
    }

    fn encode(
        &self,
        memory: &anymetal::command::IndirectCommandBuffer,
        what: Executed,
        mut encoder: anymetal::ComputeEncoder<'_>,
        bindings: &Bindings,
    ) -> Result<(), Error> {
        bindings.used().tell(&mut encoder)?;
        // Of commands that the host has encoded, the buffers are held here.
        for command in self.lock().iter() {
            command.bindings.regions().for_each(|region| encoder.use_region(region));
        }
        match what {
            Executed::Commands(commands) => encoder.execute_commands(memory, commands).map(drop),
            Executed::Indirect(range) => encoder.execute_commands_indirect_region(memory, &range).map(drop),
        }
    }
}

/// Writes a command of the host's to memory.
pub(crate) fn write(
    memory: &anymetal::command::IndirectCommandBuffer,
    index: u32,
    command: &IndirectCommand,
) -> Result<(), Error> {
    let mut to = memory.command(index)?;
    if let Some(pipeline) = &command.pipeline {
        to.set_pipeline(&pipeline.ivars().pipeline)?;
    }
    for (slot, index) in command.bindings.slots().iter().zip(0..) {
        if let Slot::Buffer { region, .. } = slot {
            to.set_region(index, region)?;
        }
    }
    for (index, length) in command.bindings.threadgroup_memory() {
        to.set_threadgroup_memory_length(*index, u32::try_from(*length).unwrap_or(u32::MAX))?;
    }
    match &command.dispatch {
        Some((Grid::Threads(threads), group)) => {
            to.dispatch_threads(threads.extents(), group.extents()).map(drop)
        }
        Some((Grid::Threadgroups(groups), group)) => {
            to.dispatch_threadgroups(groups.extents(), group.extents()).map(drop)
        }
        Some((Grid::Indirect(_), _)) | None => Ok(()),
    }
}
