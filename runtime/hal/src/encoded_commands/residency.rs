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
    use std::any::Any;
    use std::ptr::NonNull;

    use super::*;
    use crate::buffer::StorageMode;
    use crate::buffer_uses::BufferUses;
    use crate::command::BufferFill;
    use crate::error::DeviceError;

    /// A buffer at an address, without memory.
    #[derive(Debug)]
    struct Placed {
        address: u64,
        length: u64,
        uses: BufferUses,
    }

    impl Buffer for Placed {
        fn length(&self) -> u64 {
            self.length
        }

        fn storage_mode(&self) -> StorageMode {
            StorageMode::Private
        }

        fn label(&self) -> &str {
            ""
        }

        fn contents(&self) -> Option<NonNull<u8>> {
            None
        }

        fn device_address(&self) -> Option<u64> {
            Some(self.address)
        }

        fn read(&self, _offset: u64, _destination: &mut [u8]) -> Result<(), DeviceError> {
            unreachable!("nothing is read")
        }

        fn write(&self, _offset: u64, _source: &[u8]) -> Result<(), DeviceError> {
            unreachable!("nothing is written")
        }

        fn uses(&self) -> &BufferUses {
            &self.uses
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn addresses_are_found_in_the_buffers_of_the_commands_and_nowhere_else() {
        let buffers = [(4096, 16), (8192, 0), (12288, 64)].map(|(address, length)| -> Arc<dyn Buffer> {
            Arc::new(Placed { address, length, uses: BufferUses::default() })
        });
        let fill =
            |buffer: &Arc<dyn Buffer>| Command::Fill(BufferFill::new(Arc::clone(buffer), 0..0, 0).unwrap());
        let commands: Vec<Command> = buffers.iter().chain(&buffers).map(fill).collect();
        let residency = Residency::of(&commands);
        let offset = |address| residency.find(address).map(|(buffer, offset)| (buffer.length(), offset));
        assert_eq!(offset(4096), Some((16, 0)));
        assert_eq!(offset(12288 + 63), Some((64, 63)));
        for outside in [0, 4095, 4096 + 16, 8192, 12288 + 64, u64::MAX] {
            assert_eq!(offset(outside), None, "{outside}");
        }
        assert!(Residency::default().find(4096).is_none());
        assert!(Residency::of(&commands[..1]).find(12288).is_none());
    }
}
