//! The memory that a submission writes, for faults that change it.
//!
//! Owns [`WrittenMemory`]. What kernels write is what reflection says of their arguments.

use std::sync::Arc;

use anymetal_hal::artifact::{Access, AddressSpace, ArgumentKind};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{BoundResource, Command, CommandList, Dispatch};
use anymetal_hal::time_sample::TIME_SAMPLE_BYTES;

/// One written range, with the bytes that it had at the submission. Memory that the host cannot
/// read is left out.
#[derive(Debug)]
pub(super) struct WrittenMemory {
    buffer: Arc<dyn Buffer>,
    offset: u64,
    before: Vec<u8>,
}

impl WrittenMemory {
    /// Everything that the commands write.
    pub(super) fn of(submission: &CommandList) -> Vec<WrittenMemory> {
        let mut written = Vec::new();
        for command in submission.commands.iter().flat_map(Command::expanded) {
            match command {
                Command::Dispatch(dispatch) => bound(dispatch, &mut written),
                Command::DispatchIndirect(indirect) => bound(indirect.dispatch(), &mut written),
                Command::Copy(copy) => {
                    note(copy.destination(), copy.destination_offset(), copy.length(), &mut written);
                }
                Command::Fill(fill) => note(fill.buffer(), fill.offset(), fill.length(), &mut written),
                Command::MatrixProduct(product) => {
                    let result = &product.result;
                    note(&result.buffer, result.offset, product.result_bytes(), &mut written);
                }
                Command::SampleTime(sample) => {
                    note(sample.buffer(), sample.offset(), TIME_SAMPLE_BYTES, &mut written);
                }
                // Which kernels there are is not known yet.
                Command::ExecuteEncoded(_)
                | Command::ExecuteIndirect(_)
                | Command::WaitEvent { .. }
                | Command::SignalEvent { .. }
                | Command::UpdateFence(_)
                | Command::WaitFence(_) => {}
            }
        }
        written
    }

    /// Inverts its first byte, which no check of the device notices.
    pub(super) fn corrupt(&self) {
        let mut byte = [0u8];
        if !self.before.is_empty() && self.buffer.read(self.offset, &mut byte).is_ok() {
            let _refused = self.buffer.write(self.offset, &[!byte[0]]);
        }
    }

    /// Takes the writes to its second half back, as if the work had been stopped in between.
    pub(super) fn undo_second_half(&self) {
        let half = self.before.len() / 2;
        let _refused = self.buffer.write(self.offset + half as u64, &self.before[half..]);
    }
}

fn bound(dispatch: &Dispatch, written: &mut Vec<WrittenMemory>) {
    for binding in dispatch.bindings() {
        let BoundResource::Buffer { buffer, offset, length } = &binding.resource else { continue };
        let argument = dispatch.kernel().argument(ArgumentKind::Buffer, binding.index);
        let writes = argument.is_some_and(|argument| {
            argument.address_space != AddressSpace::Constant
                && matches!(argument.access, Access::Write | Access::ReadWrite)
        });
        if writes {
            let length = length.unwrap_or_else(|| buffer.length().saturating_sub(*offset));
            note(buffer, *offset, length, written);
        }
    }
}

fn note(buffer: &Arc<dyn Buffer>, offset: u64, length: u64, written: &mut Vec<WrittenMemory>) {
    let within = offset.checked_add(length).is_some_and(|end| end <= buffer.length());
    let mut before = vec![0; if within { length as usize } else { 0 }];
    if within && buffer.read(offset, &mut before).is_ok() {
        written.push(WrittenMemory { buffer: Arc::clone(buffer), offset, before });
    }
}
