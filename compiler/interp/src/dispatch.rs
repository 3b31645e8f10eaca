//! What a run is given: the grid, the memory bound at the arguments, the limits.

use std::sync::atomic::AtomicU32;

use crate::schedule::Schedule;

/// The grid and how it is cut into threadgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dispatch {
    /// Threads per grid. A dimension of zero runs nothing.
    pub grid_threads: [u32; 3],
    /// Threads per full threadgroup. Threadgroups at the grid's edge are smaller when the sizes do
    /// not divide.
    pub group_size: [u32; 3],
}

impl Dispatch {
    /// As Metal's `dispatchThreads`.
    pub fn threads(grid_threads: [u32; 3], group_size: [u32; 3]) -> Self {
        Self { grid_threads, group_size }
    }

    /// As Metal's `dispatchThreadgroups`: only full threadgroups. The grid's size saturates at `u32::MAX`
    /// per dimension.
    pub fn groups(groups: [u32; 3], group_size: [u32; 3]) -> Self {
        let grid_threads = std::array::from_fn(|d| groups[d].saturating_mul(group_size[d]));
        Self { grid_threads, group_size }
    }

    /// Threadgroups per dimension.
    pub fn group_counts(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid_threads[d].div_ceil(self.group_size[d].max(1)))
    }

    /// The threads of one threadgroup: the full size, cut off at the edge of the grid.
    pub fn size_of_group(&self, group: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|d| {
            let first = u64::from(group[d]) * u64::from(self.group_size[d]);
            let left = u64::from(self.grid_threads[d]).saturating_sub(first);
            left.min(u64::from(self.group_size[d])) as u32
        })
    }
}

/// The binding of one kernel argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// Nothing: the argument compares equal to null and every access to it faults.
    Unbound,
    /// A range of one of [`Memory::buffers`].
    Buffer {
        /// Which.
        buffer: usize,
        /// Its first byte.
        offset: u64,
        /// Its bytes.
        len: u64,
    },
    /// Threadgroup memory of that many bytes.
    Threadgroup {
        /// The bytes.
        len: u64,
    },
}

/// The memory of a run. One buffer may be bound at several arguments.
#[derive(Debug, Default)]
pub struct Memory<'m> {
    /// The distinct buffers.
    pub buffers: Vec<&'m mut [u8]>,
    /// One per kernel argument, in the kernel's order.
    pub arguments: Vec<Argument>,
    /// The buffers with an address, which pointers in memory may lead to; they must not overlap.
    pub resident: Vec<Resident>,
}

/// A buffer that kernels can reach through pointers in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    /// Which of [`Memory::buffers`].
    pub buffer: usize,
    /// The address of its first byte: what a pointer to it is in memory.
    pub address: u64,
    /// Whether the kernel may store to it.
    pub writable: bool,
}

impl<'m> Memory<'m> {
    /// No memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer and binds all of it at the next argument.
    #[must_use]
    pub fn bind(mut self, bytes: &'m mut [u8]) -> Self {
        let len = bytes.len() as u64;
        self.arguments.push(Argument::Buffer { buffer: self.buffers.len(), offset: 0, len });
        self.buffers.push(bytes);
        self
    }

    /// Makes the buffer of that number reachable by its address, for loads and stores.
    #[must_use]
    pub fn resident(mut self, buffer: usize, address: u64) -> Self {
        self.resident.push(Resident { buffer, address, writable: true });
        self
    }

    /// Gives the next argument threadgroup memory.
    #[must_use]
    pub fn threadgroup(mut self, len: u64) -> Self {
        self.arguments.push(Argument::Threadgroup { len });
        self
    }

    /// Leaves the next argument unbound.
    #[must_use]
    pub fn unbound(mut self) -> Self {
        self.arguments.push(Argument::Unbound);
        self
    }
}

/// When a run ends early, and how much it reports.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'s> {
    /// Steps of SIMD-groups (about one per instruction and vector element) over the whole run. Checked
    /// at loop iterations and calls.
    pub max_steps: u64,
    /// Ends the run soon after it becomes nonzero.
    pub stop: Option<&'s AtomicU32>,
    /// The order of threadgroups and SIMD-groups.
    pub schedule: Schedule,
    /// Whether SIMD-groups that wait at different barriers of one threadgroup go on as if all waited at one.
    /// Otherwise that ends the run with [`crate::InterpError::DivergentBarrier`].
    pub continue_after_divergence: bool,
    /// How many faults and partial barriers a report lists; all are counted.
    pub max_reported: usize,
    /// Runs only that many threadgroups, spread evenly over the grid, the first and the last among them.
    pub max_groups: Option<u64>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            max_steps: u64::MAX,
            stop: None,
            schedule: Schedule::InOrder,
            continue_after_divergence: false,
            max_reported: 16,
            max_groups: None,
        }
    }
}
