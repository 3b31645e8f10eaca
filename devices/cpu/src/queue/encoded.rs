//! Execution of commands that kernels have encoded: their memory is read when their turn comes.
//!
//! Invariant: what is decoded is prepared as if it had been submitted, with every check, before it runs; its
//! buffers are those that the command buffer holds. Commands run in order, which is one of the orders that
//! concurrent commands may have.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::encoded_commands::{
    CommandMemory, EncodedExecution, ExecutedRange, INDIRECT_RANGE_BYTES, words,
};
use anymetal_hal::error::DeviceError;

use super::execution::CommandBuffer;
use crate::command_buffer::Preparer;
use crate::device::DeviceShared;
use crate::execute::Executor;
use crate::stack;

/// So many commands are decoded and prepared at once.
const BATCH: u32 = 64;

impl CommandBuffer {
    /// Executes all ranges of encoded commands.
    pub(super) fn run_encoded(
        &self,
        device: &Arc<DeviceShared>,
        executor: &Executor<'_>,
        execution: &EncodedExecution,
    ) -> Result<(), DeviceError> {
        let (mut depth, start) = (0, Instant::now());
        while let Some((memory, range)) = execution.range(depth) {
            let commands = executed(executor, memory, range)?;
            if !execution.should_execute(depth, &commands)? {
                break;
            }
            let mut launches = 0;
            for first in commands.clone().step_by(BATCH as usize) {
                let batch = first..commands.end.min(first.saturating_add(BATCH));
                let work = decode(executor, execution, memory, batch)?;
                launches += work.len() as u64;
                self.run_decoded(device, executor, work)?;
            }
            execution.counts().executed(launches);
            depth += 1;
        }
        execution.counts().took(start.elapsed());
        Ok(())
    }

    fn run_decoded(
        &self,
        device: &Arc<DeviceShared>,
        executor: &Executor<'_>,
        commands: Vec<Command>,
    ) -> Result<(), DeviceError> {
        let preparer = Preparer {
            account: &device.account,
            limits: &device.capabilities,
            device: &device.name,
            // For fences, of which there are none.
            queue: NonZero::<usize>::MIN,
        };
        let submission = CommandList::new(commands);
        let tables = preparer.prepare(&submission)?;
        if tables.stack_bytes > stack::left_here() {
            let what = format!("an encoded command whose kernel needs {} bytes of stack", tables.stack_bytes);
            let (device, alternative) = (device.name.clone(), "dispatch the kernel directly".to_owned());
            return Err(DeviceError::Unsupported { device, what, alternative });
        }
        for (command, step) in submission.commands.iter().zip(&tables.steps) {
            if executor.stop.load(Ordering::Relaxed) != 0 {
                return Err(self.stopped(None));
            }
            self.run_step(device, executor, command, step, &tables)?;
        }
        Ok(())
    }
}

/// The commands of a range, as it is now.
fn executed(
    executor: &Executor<'_>,
    memory: &CommandMemory,
    range: &ExecutedRange,
) -> Result<Range<u32>, DeviceError> {
    match range {
        ExecutedRange::Commands(range) => Ok(range.clone()),
        ExecutedRange::Indirect { buffer, offset } => {
            let mut bytes = [0; INDIRECT_RANGE_BYTES as usize];
            executor.bytes(buffer, *offset, &mut bytes)?;
            let range = words(&bytes);
            let (start, count) = (u64::from(range[0]), u64::from(range[1]));
            memory.check(start..start + count)
        }
    }
}

/// The dispatches that commands stand for.
fn decode(
    executor: &Executor<'_>,
    execution: &EncodedExecution,
    memory: &CommandMemory,
    commands: Range<u32>,
) -> Result<Vec<Command>, DeviceError> {
    let place = memory.bytes_of(&commands);
    let mut bytes = vec![0; (place.end - place.start) as usize];
    executor.bytes(memory.buffer(), place.start, &mut bytes)?;
    let words = words(&bytes);
    let each = words.chunks_exact(memory.layout().command_words() as usize);
    let dispatches = each.zip(commands).filter_map(|(words, number)| {
        let dispatch = execution.dispatch(memory, number, words).transpose()?;
        Some(dispatch.map(Command::Dispatch))
    });
    dispatches.collect()
}
