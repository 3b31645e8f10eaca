//! Indirect command buffers that kernels encode: what is in their memory, and what kernels are given for it.
//!
//! The memory is a header of [`HEADER_WORDS`] words and then the commands, each of
//! [`CommandLayout::command_words`] words; the header `<metal_command_buffer>` writes by the same constants.
//! Buffers are addresses. A kernel that encodes has hidden arguments: the memory of up to
//! [`MAX_ENCODED_BUFFERS`] indirect command buffers, and a table ([`ResourceTable`]) that says where these
//! and the kernel's own buffers are, with which pointers become addresses.
//! Invariant: [`Command::decode`] takes any words; what is not a command is an [`EncodingError`].

use serde::{Deserialize, Serialize};

/// Words before the first command.
pub const HEADER_WORDS: u32 = 8;
/// The word of the header that is the number of commands.
pub const CAPACITY: u32 = 0;
/// The word of the header that is the words of a command.
pub const COMMAND_WORDS: u32 = 1;
/// The word of the header that is the number of buffers of a command.
pub const BUFFERS: u32 = 2;
/// The word of the header that is the number of lengths of threadgroup memory of a command.
pub const THREADGROUP_MEMORIES: u32 = 3;
/// The word of the header that says what commands inherit.
pub const INHERITS: u32 = 4;
/// In [`INHERITS`]: the pipeline.
pub const INHERITS_PIPELINE: u32 = 1;
/// In [`INHERITS`]: the buffers.
pub const INHERITS_BUFFERS: u32 = 2;

/// The word of a command that is what it does.
pub const KIND: usize = 0;
/// The word of a command that says whether it waits for those before it.
pub const BARRIER: usize = 1;
/// The word of a command that is what a kernel did wrong when it encoded it.
pub const ERROR: usize = 2;
/// The first word of a command's pipeline.
pub const PIPELINE: usize = 4;
/// The first word of a command's grid.
pub const GRID: usize = 6;
/// The first word of a command's threadgroup size.
pub const GROUP_SIZE: usize = 9;
/// The first word of a command's buffers, of two words each; the lengths of threadgroup memory follow.
pub const FIRST_BUFFER: usize = 12;

/// Maximum number of buffers, and of lengths of threadgroup memory, of a command.
pub const MAX_BINDINGS: u32 = crate::MAX_BOUND_BUFFERS;

/// Maximum number of commands of an indirect command buffer; Metal's.
pub const MAX_COMMANDS: u32 = 1 << 14;

/// Maximum number of indirect command buffers that a kernel can encode.
pub const MAX_ENCODED_BUFFERS: u32 = 4;

/// The sizes of an indirect command buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CommandLayout {
    /// How many commands there are.
    pub capacity: u32,
    /// Indices of buffers are below this.
    pub buffers: u32,
    /// Indices of threadgroup memory are below this.
    pub threadgroup_memories: u32,
    /// Commands have the pipeline of the encoder that executes them.
    pub inherits_pipeline: bool,
    /// Commands have the buffers of the encoder that executes them.
    pub inherits_buffers: bool,
}

impl CommandLayout {
    /// The words of a command.
    pub const fn command_words(&self) -> u32 {
        (FIRST_BUFFER as u32 + 2 * self.buffers + self.threadgroup_memories).next_multiple_of(2)
    }

    /// The bytes of all.
    pub const fn bytes(&self) -> u64 {
        4 * (HEADER_WORDS as u64 + self.capacity as u64 * self.command_words() as u64)
    }

    /// The first byte of a command.
    pub const fn command_offset(&self, command: u32) -> u64 {
        4 * (HEADER_WORDS as u64 + command as u64 * self.command_words() as u64)
    }

    /// The bytes of the header.
    pub fn header(&self) -> Vec<u8> {
        let mut words = [0; HEADER_WORDS as usize];
        words[CAPACITY as usize] = self.capacity;
        words[COMMAND_WORDS as usize] = self.command_words();
        words[BUFFERS as usize] = self.buffers;
        words[THREADGROUP_MEMORIES as usize] = self.threadgroup_memories;
        let [pipeline, buffers] = [self.inherits_pipeline, self.inherits_buffers].map(u32::from);
        words[INHERITS as usize] = (pipeline * INHERITS_PIPELINE) | (buffers * INHERITS_BUFFERS);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// What a kernel did wrong when it encoded a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EncodingError {
    /// A buffer's index is not below [`CommandLayout::buffers`].
    BufferIndex,
    /// An index of threadgroup memory is not below [`CommandLayout::threadgroup_memories`].
    ThreadgroupMemoryIndex,
    /// A pointer does not point into a buffer that the encoding kernel was given.
    NotInBuffer,
    /// A command was copied from an indirect command buffer of another layout.
    CopyOfOtherLayout,
    /// The pipeline was set although it is inherited.
    InheritedPipeline,
    /// A buffer was set although buffers are inherited.
    InheritedBuffer,
    /// Something that only commands of other kinds have was set.
    NotSupported,
    /// A word has a value that no encoding writes.
    Garbage,
}

impl EncodingError {
    const ALL: [EncodingError; 7] = [
        EncodingError::BufferIndex,
        EncodingError::ThreadgroupMemoryIndex,
        EncodingError::NotInBuffer,
        EncodingError::CopyOfOtherLayout,
        EncodingError::InheritedPipeline,
        EncodingError::InheritedBuffer,
        EncodingError::NotSupported,
    ];

    /// The word of the command that says it.
    pub fn code(self) -> u32 {
        Self::ALL.iter().position(|&error| error == self).map_or(u32::MAX, |position| position as u32 + 1)
    }

    fn of(code: u32) -> Option<EncodingError> {
        let position = code.checked_sub(1)? as usize;
        Some(Self::ALL.get(position).copied().unwrap_or(EncodingError::Garbage))
    }
}

/// The extent of a command's dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandGrid {
    /// That many full threadgroups.
    Threadgroups([u32; 3]),
    /// That many threads.
    Threads([u32; 3]),
}

/// A command, as its words say it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// What it runs over; `None`: it does nothing.
    pub grid: Option<CommandGrid>,
    /// Threads per threadgroup.
    pub group_size: [u32; 3],
    /// Whether it waits for the commands before it.
    pub barrier: bool,
    /// The handle of its pipeline; 0 if none was set.
    pub pipeline: u64,
    /// The addresses of its buffers, by index; 0 for none.
    pub buffers: Vec<u64>,
    /// The lengths of its threadgroup memory, by index; 0 for none.
    pub threadgroup_memory: Vec<u32>,
}

impl Command {
    /// Reads a command.
    pub fn decode(words: &[u32], layout: &CommandLayout) -> Result<Command, EncodingError> {
        if words.len() < layout.command_words() as usize {
            return Err(EncodingError::Garbage);
        }
        if let Some(error) = EncodingError::of(words[ERROR]) {
            return Err(error);
        }
        let three = |at: usize| [words[at], words[at + 1], words[at + 2]];
        let wide = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let grid = match words[KIND] {
            0 => None,
            1 => Some(CommandGrid::Threadgroups(three(GRID))),
            2 => Some(CommandGrid::Threads(three(GRID))),
            _ => return Err(EncodingError::Garbage),
        };
        let after_buffers = FIRST_BUFFER + 2 * layout.buffers as usize;
        let lengths = after_buffers..after_buffers + layout.threadgroup_memories as usize;
        Ok(Command {
            grid,
            group_size: three(GROUP_SIZE),
            barrier: words[BARRIER] != 0,
            pipeline: wide(PIPELINE),
            buffers: (0..layout.buffers as usize).map(|index| wide(FIRST_BUFFER + 2 * index)).collect(),
            threadgroup_memory: words[lengths].to_vec(),
        })
    }

    /// The words of a command. What the layout has no place for is left out.
    pub fn encode(&self, layout: &CommandLayout) -> Vec<u32> {
        let mut words = vec![0; layout.command_words() as usize];
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let (kind, grid) = match self.grid {
            None => (0, [0; 3]),
            Some(CommandGrid::Threadgroups(grid)) => (1, grid),
            Some(CommandGrid::Threads(grid)) => (2, grid),
        };
        words[KIND] = kind;
        words[BARRIER] = self.barrier.into();
        words[PIPELINE..GRID].copy_from_slice(&halves(self.pipeline));
        words[GRID..GROUP_SIZE].copy_from_slice(&grid);
        words[GROUP_SIZE..FIRST_BUFFER].copy_from_slice(&self.group_size);
        let (buffers, rest) = words[FIRST_BUFFER..].split_at_mut(2 * layout.buffers as usize);
        for (place, &address) in buffers.as_chunks_mut().0.iter_mut().zip(&self.buffers) {
            *place = halves(address);
        }
        let lengths = &mut rest[..layout.threadgroup_memories as usize];
        for (place, &length) in lengths.iter_mut().zip(&self.threadgroup_memory) {
            *place = length;
        }
        words
    }
}

/// The table of a kernel that encodes: the addresses of the indirect command buffers that are bound, then the
/// address and the length of what is bound to each of its own buffer arguments, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceTable {
    /// Of the indirect command buffers; 0 where none is bound.
    pub commands: [u64; MAX_ENCODED_BUFFERS as usize],
    /// Of the buffer arguments, enabled or not; address 0 where no buffer is bound.
    pub buffers: Vec<(u64, u64)>,
}

/// Bytes of [`ResourceTable::commands`].
pub const TABLE_HEADER_BYTES: u32 = 8 * MAX_ENCODED_BUFFERS;

impl ResourceTable {
    /// The bytes that kernels read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let buffers = self.buffers.iter().flat_map(|&(address, length)| [address, length]);
        self.commands.iter().copied().chain(buffers).flat_map(u64::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: CommandLayout = CommandLayout {
        capacity: 3,
        buffers: 2,
        threadgroup_memories: 1,
        inherits_pipeline: false,
        inherits_buffers: true,
    };

    #[test]
    fn what_is_encoded_is_decoded() {
        let command = Command {
            grid: Some(CommandGrid::Threads([1, 2, 3])),
            group_size: [4, 5, 6],
            barrier: true,
            pipeline: 0x1_0000_0007,
            buffers: vec![0, 0xffff_0000_1234],
            threadgroup_memory: vec![64],
        };
        let words = command.encode(&LAYOUT);
        assert_eq!(words.len(), 18);
        assert_eq!(Command::decode(&words, &LAYOUT), Ok(command));
        let nothing = Command::decode(&[0; 18], &LAYOUT).unwrap();
        assert_eq!((nothing.grid, nothing.pipeline), (None, 0));
    }

    #[test]
    fn what_no_encoding_writes_is_an_error() {
        let mut words = vec![0; 18];
        words[KIND] = 3;
        assert_eq!(Command::decode(&words, &LAYOUT), Err(EncodingError::Garbage));
        for error in EncodingError::ALL.into_iter().chain([EncodingError::Garbage]) {
            words[ERROR] = error.code();
            assert_eq!(Command::decode(&words, &LAYOUT), Err(error));
        }
        assert_eq!(Command::decode(&words[..17], &LAYOUT), Err(EncodingError::Garbage));
    }

    #[test]
    fn commands_follow_the_header() {
        assert_eq!((LAYOUT.bytes(), LAYOUT.command_offset(2)), (32 + 3 * 72, 32 + 2 * 72));
        let header = LAYOUT.header();
        assert_eq!(header.len(), 32);
        assert_eq!((header[0], header[4], header[8], header[12], header[16]), (3, 18, 2, 1, 2));
        let table = ResourceTable { commands: [1, 0, 0, 2], buffers: vec![(3, 4)] };
        assert_eq!(table.to_bytes().len(), TABLE_HEADER_BYTES as usize + 16);
    }
}
