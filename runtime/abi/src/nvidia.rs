//! The launch ABI of NVIDIA GPUs: what a compiled kernel's parameters are.
//!
//! A kernel is one entry with plain parameters, in the order of [`parameters`]:
//!
//! - for each buffer slot ([`crate::argument_slots`]) its first byte in global memory and its length in
//!   bytes; null and 0 where nothing is bound. Inline bytes are put into global memory by the device, like a
//!   buffer. The pointer is a multiple of the alignment of the argument's element, no more is needed;
//! - for each slot of threadgroup memory its offset in the dynamic shared memory of the launch, a multiple of
//!   16, and its length in bytes. Static variables are not part of it;
//! - a record of [`RECORD_BYTES`] bytes in global memory that begins with a cleared [`crate::FaultRecord`].
//!   In host memory the exchange of millions of faulting threads would not end. At [`RECORD_FLAG`] it has
//!   the address of a 32-bit word of host memory: whoever writes the record sets it to 1, so that the
//!   device need not copy records back of launches without a fault;
//! - a 32-bit stop flag in global memory: nonzero asks the threads to end soon. It may be written while the
//!   kernel runs;
//! - if the kernel has barriers of the grid, [`GRID_BARRIER_BYTES`] in global memory for them, which the
//!   device sets to [`grid_barrier_words`] before the launch, a cooperative one;
//! - if the kernel loads pointers from memory, the table of resident buffers ([`crate::resident`]) in global
//!   memory, for each its address and its length in 64 bits, and how many they are;
//! - the threads of the grid along x, y and z;
//! - for each buffer slot that takes a value, its 32-bit words. Inline bytes of at least that many words are
//!   given there; the pointer is null then, and the length theirs. A bound buffer has its pointer, and the
//!   words are not looked at.
//!
//! The launch has `ceil(threads / size)` threadgroups of the full size per dimension. Threads beyond the grid
//! end at once, and those of a threadgroup that is cut off are numbered as Metal does: by the size that is
//! left, x fastest. The generated code touches no memory but the bound buffers within their lengths, the
//! record and the flag. A fault goes on as on the CPU. A thread claims the [record](crate::FaultRecord) where
//! it ends. A load or store at an address that is not a multiple of its alignment is done in pieces; an
//! atomic there is a fault.

/// Bytes of a record with what pads it.
pub const RECORD_BYTES: u64 = 64;
/// Where in a record the 64 bits of the address of its flag are.
pub const RECORD_FLAG: i64 = 48;

const _: () = assert!(size_of::<crate::FaultRecord>() <= RECORD_FLAG as usize);

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// The first byte of the buffer in that slot: 64 bits.
    BufferPointer(u32),
    /// Its length in bytes: 64 bits.
    BufferLength(u32),
    /// Where the threadgroup memory of that slot begins in dynamic shared memory: 32 bits.
    ThreadgroupOffset(u32),
    /// Its length in bytes: 32 bits.
    ThreadgroupLength(u32),
    /// The fault record: 64 bits.
    Fault,
    /// The stop flag: 64 bits.
    Stop,
    /// The words of barriers of the grid, on a multiple of 8: 64 bits.
    GridBarrier,
    /// The table of resident buffers: 64 bits.
    Residents,
    /// How many they are: 64 bits.
    ResidentCount,
    /// Threads of the grid along an axis (0 to 2): 32 bits.
    GridThreads(u8),
    /// A word of the value of a buffer slot: 32 bits.
    Value {
        /// The slot.
        slot: u32,
        /// The word's number.
        word: u32,
    },
}

impl Parameter {
    /// Its size and alignment in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Self::BufferPointer(_)
            | Self::BufferLength(_)
            | Self::Fault
            | Self::Stop
            | Self::GridBarrier
            | Self::Residents
            | Self::ResidentCount => 8,
            Self::ThreadgroupOffset(_)
            | Self::ThreadgroupLength(_)
            | Self::GridThreads(_)
            | Self::Value { .. } => 4,
        }
    }
}

/// The bytes of the words of barriers of the grid.
pub const GRID_BARRIER_BYTES: u64 = 16;

/// What the words of barriers of the grid are before a launch of that many threadgroups: none has arrived,
/// all of them are to, no barrier was completed.
pub fn grid_barrier_words(groups: u32) -> [u8; GRID_BARRIER_BYTES as usize] {
    let mut words = [0; GRID_BARRIER_BYTES as usize];
    words[4..8].copy_from_slice(&groups.to_le_bytes());
    words
}

/// What of a kernel decides its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature<'a> {
    /// For each buffer slot the 32-bit words that it takes by value.
    pub values: &'a [u32],
    /// Slots of threadgroup memory.
    pub threadgroup_slots: u32,
    /// It has barriers of the grid.
    pub meets_grid: bool,
    /// It loads pointers from memory.
    pub loads_pointers: bool,
}

/// The parameters of a kernel, in order.
pub fn parameters(signature: Signature<'_>) -> Vec<Parameter> {
    let Signature { values, threadgroup_slots, meets_grid, loads_pointers } = signature;
    let mut list = Vec::new();
    for slot in 0..values.len() as u32 {
        list.extend([Parameter::BufferPointer(slot), Parameter::BufferLength(slot)]);
    }
    for slot in 0..threadgroup_slots {
        list.extend([Parameter::ThreadgroupOffset(slot), Parameter::ThreadgroupLength(slot)]);
    }
    list.extend([Parameter::Fault, Parameter::Stop]);
    list.extend(meets_grid.then_some(Parameter::GridBarrier));
    if loads_pointers {
        list.extend([Parameter::Residents, Parameter::ResidentCount]);
    }
    list.extend((0..3).map(Parameter::GridThreads));
    for (slot, &words) in (0..).zip(values) {
        list.extend((0..words).map(|word| Parameter::Value { slot, word }));
    }
    list
}

/// The byte offset of each parameter in the block of all, each on a multiple of its size.
pub fn parameter_offsets(parameters: &[Parameter]) -> Vec<u32> {
    let mut end = 0u32;
    let place = |parameter: &Parameter| {
        let start = end.next_multiple_of(parameter.size());
        end = start + parameter.size();
        start
    };
    parameters.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_by_kind_and_slot_and_are_aligned() {
        let signature =
            Signature { values: &[2], threadgroup_slots: 1, meets_grid: false, loads_pointers: true };
        let list = parameters(signature);
        let expected = [
            Parameter::BufferPointer(0),
            Parameter::BufferLength(0),
            Parameter::ThreadgroupOffset(0),
            Parameter::ThreadgroupLength(0),
            Parameter::Fault,
            Parameter::Stop,
            Parameter::Residents,
            Parameter::ResidentCount,
            Parameter::GridThreads(0),
            Parameter::GridThreads(1),
            Parameter::GridThreads(2),
            Parameter::Value { slot: 0, word: 0 },
            Parameter::Value { slot: 0, word: 1 },
        ];
        assert_eq!(list, expected);
        assert_eq!(parameter_offsets(&list), [0, 8, 16, 20, 24, 32, 40, 48, 56, 60, 64, 68, 72]);
        let odd = [Parameter::GridThreads(0), Parameter::Fault];
        assert_eq!(parameter_offsets(&odd), [0, 8]);
    }
}
