//! The buffers that encoded commands may have, by their addresses.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::command::Command;

/// The buffers of a command buffer, sorted by address. It keeps none alive that its command buffer does not.
#[derive(Debug, Default)]
pub struct Residency {
    buffers: Vec<(u64, Arc<dyn Buffer>)>,
}

impl Residency {
    /// All that the commands name and use.
    pub(super) fn of(commands: &[Command]) -> Self {
        let mut buffers = Vec::new();
        for command in commands {
            command.each_buffer(&mut |buffer| {
                buffers.extend(buffer.device_address().map(|address| (address, Arc::clone(buffer))));
            });
        }
        // The longest last, which is found first.
        buffers.sort_by_key(|(address, buffer)| (*address, buffer.length()));
        buffers.dedup_by(|(_, one), (_, other)| std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)));
        Residency { buffers }
    }

    /// The buffer that has an address, and the offset in it.
    pub(super) fn find(&self, address: u64) -> Option<(&Arc<dyn Buffer>, u64)> {
        let end = self.buffers.partition_point(|(start, _)| *start <= address);
        // Buffers of heaps may lie in one another.
        let found =
            self.buffers[..end].iter().rev().find(|(start, buffer)| address - start < buffer.length());
        found.map(|(start, buffer)| (buffer, address - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferDescriptor;
    use crate::command::BufferFill;
    use crate::device::Device;
    use crate::null::NullDevice;

    #[test]
    fn addresses_are_found_in_the_buffers_of_the_commands_and_nowhere_else() {
        let device = NullDevice::new();
        let buffers = [16u64, 0, 64].map(|length| device.buffer(&BufferDescriptor::shared(length)).unwrap());
        let fill = |buffer: &Arc<dyn Buffer>| {
            Command::Fill(BufferFill { buffer: Arc::clone(buffer), offset: 0, length: 0, value: 0 })
        };
        let commands: Vec<Command> = buffers.iter().chain(&buffers).map(fill).collect();
        let residency = Residency::of(&commands);
        let address =
            |at: usize| buffers[at].device_address().expect("null buffers are in the host's memory");
        let offset = |address| residency.find(address).map(|(buffer, offset)| (buffer.length(), offset));
        assert_eq!(offset(address(0)), Some((16, 0)));
        assert_eq!(offset(address(2) + 63), Some((64, 63)));
        assert_eq!((offset(0), offset(u64::MAX)), (None, None));
        assert!(Residency::default().find(address(0)).is_none());
        let alone = Residency::of(&commands[..1]);
        assert!(alone.find(address(2)).is_none() && alone.find(address(0) + 16).is_none());
    }
}
