//! The accesses of all lanes of a SIMD-group by one instruction, as one event.
//!
//! Invariant: what costs work (threads, bytes, values) is computed when it is requested, not before.

use anymetal_ir::Loc;

use super::{Access, AtomicKind, Bytes, Group};
use crate::Dispatch;
use crate::lanes::{Lanes, lanes_in};
use crate::machine::pointer::pack_element;
use crate::machine::{Addresses, thread_of};
use crate::program::step::{Element, Slot, SlotRange};
use crate::program::{Arena, Program, Region};
use crate::report::{AccessKind, MemoryPlace, ThreadId, Variable};

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessOp {
    /// A plain read.
    Load,
    /// A plain write, of zeros too.
    Store,
    /// An atomic read.
    AtomicLoad,
    /// An atomic write.
    AtomicStore,
    /// An atomic read and write.
    AtomicRmw,
    /// An atomic compare-and-exchange, which perhaps writes.
    AtomicCas,
}

impl AccessOp {
    /// The kind of atomic access; `None` of a plain one.
    pub fn atomic(self) -> Option<AtomicKind> {
        match self {
            Self::Load | Self::Store => None,
            Self::AtomicLoad => Some(AtomicKind::Load),
            Self::AtomicStore => Some(AtomicKind::Store),
            Self::AtomicRmw | Self::AtomicCas => Some(AtomicKind::ReadModifyWrite),
        }
    }

    pub(crate) fn kind(self) -> AccessKind {
        match self {
            Self::Load => AccessKind::Load,
            Self::Store => AccessKind::Store,
            _ => AccessKind::Atomic,
        }
    }
}

/// What a store writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored {
    /// Nothing, or something that only the access computes.
    Unknown,
    Zeros,
    One(Slot, Element),
    Components(SlotRange, Element),
}

/// Memory, registers and the running threadgroup.
#[derive(Clone, Copy)]
pub(crate) struct State<'a> {
    pub(crate) program: &'a Program,
    pub(crate) regions: &'a [Region],
    pub(crate) addresses: &'a Addresses,
    pub(crate) buffers: &'a [&'a mut [u8]],
    pub(crate) threadgroup: &'a [u8],
    pub(crate) private: &'a [u8],
    pub(crate) registers: &'a [Lanes],
    pub(crate) group: &'a Group,
    pub(crate) dispatch: &'a Dispatch,
    pub(crate) generation: u32,
}

impl<'a> State<'a> {
    fn bytes(&self, arena: Arena) -> &'a [u8] {
        match arena {
            Arena::Nothing => &[],
            Arena::Buffer(n) => self.buffers[n as usize],
            Arena::Threadgroup => self.threadgroup,
            Arena::Private => self.private,
            Arena::Global(n) => &self.program.globals[n as usize],
        }
    }
}

/// The accesses in bounds by one instruction in the lanes of a SIMD-group. Methods with a lane are for the
/// lanes of [`Self::lanes`]; of other lanes below 32 they give something without meaning.
#[derive(Clone, Copy)]
pub struct Accesses<'a> {
    /// What the instruction does.
    pub op: AccessOp,
    /// The SIMD-group in its threadgroup.
    pub simdgroup: u32,
    /// Bit per lane that accesses memory, in bounds.
    pub lanes: u32,
    /// The bytes that each lane accesses.
    pub bytes: u64,
    /// The alignment that the instruction promises.
    pub align: u32,
    /// The instruction.
    pub loc: Loc,
    /// The number of the instruction's step in its program.
    pub site: u32,
    pub(crate) regions: &'a Lanes,
    pub(crate) offsets: &'a Lanes,
    pub(crate) at: &'a [usize; 32],
    /// The number of the region that all lanes access.
    pub(crate) uniform: Option<u64>,
    pub(crate) stored: Stored,
    /// What a copy reads.
    pub(crate) source: Option<&'a Accesses<'a>>,
    pub(crate) state: State<'a>,
}

impl std::fmt::Debug for Accesses<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accesses")
            .field("op", &self.op)
            .field("simdgroup", &self.simdgroup)
            .field("lanes", &self.lanes)
            .field("bytes", &self.bytes)
            .field("loc", &self.loc)
            .finish_non_exhaustive()
    }
}

impl<'a> Accesses<'a> {
    /// The lanes, ascending.
    pub fn each_lane(&self) -> impl Iterator<Item = usize> + use<> {
        lanes_in(self.lanes)
    }

    /// What all lanes access, if it is the same.
    pub fn common_variable(&self) -> Option<Variable> {
        self.uniform.map(|number| Region::numbered(self.state.regions, number).variable)
    }

    /// The positions of the lanes' first bytes in their memory, for lanes that access the same one: the
    /// offsets of [`Self::place`].
    pub fn positions(&self) -> &'a [usize; 32] {
        self.at
    }

    /// Whether all lanes access the same bytes of one variable; in private memory, of their own copies of it.
    pub fn is_uniform(&self) -> bool {
        let first = self.offsets[self.lanes.trailing_zeros() as usize & 31];
        self.uniform.is_some()
            && if self.lanes == u32::MAX {
                self.offsets.iter().fold(0, |differences, offset| differences | (offset ^ first)) == 0
            } else {
                self.each_lane().all(|lane| self.offsets[lane] == first)
            }
    }

    /// The running threadgroup.
    pub fn group(&self) -> &'a Group {
        self.state.group
    }

    /// The number of the lane's first byte in the private memory of one lane, below
    /// [`super::MemorySizes::private`] / 32; without meaning for other memory.
    pub fn private_index(&self, lane: usize) -> usize {
        self.region(lane).private_index() + self.offsets[lane] as usize
    }

    fn region(&self, lane: usize) -> &'a Region {
        Region::numbered(self.state.regions, self.uniform.unwrap_or(self.regions[lane]))
    }

    /// What the lane accesses.
    pub fn variable(&self, lane: usize) -> Variable {
        self.region(lane).variable
    }

    /// Where the lane's bytes are.
    pub fn place(&self, lane: usize) -> MemoryPlace {
        let region = self.region(lane);
        region.arena.place(region.variable, self.at[lane])
    }

    /// The byte offset from the variable's start.
    pub fn offset(&self, lane: usize) -> u64 {
        self.offsets[lane]
    }

    /// The bytes in memory before the instruction.
    pub fn before(&self, lane: usize) -> &'a [u8] {
        let start = self.at[lane];
        let end = start.saturating_add(self.bytes as usize);
        self.state.bytes(self.region(lane).arena).get(start..end).unwrap_or_default()
    }

    /// The first bytes that a store or a copy writes; empty if the access does not write, or computes the
    /// value itself.
    pub fn written(&self, lane: usize) -> Bytes {
        if let Some(source) = self.source {
            return Bytes::new(source.before(lane));
        }
        match self.stored {
            Stored::Unknown => Bytes::default(),
            Stored::Zeros => Bytes::new(&[0; Bytes::MAX][..(self.bytes as usize).min(Bytes::MAX)]),
            Stored::One(slot, element) => self.components(&[slot], element, lane),
            Stored::Components(slots, element) => {
                self.components(&self.state.program.operands[slots.indices()], element, lane)
            }
        }
    }

    fn components(&self, slots: &[Slot], element: Element, lane: usize) -> Bytes {
        let word = |slot: Slot| self.state.registers[slot.index()][lane];
        if element.is_pointer() {
            let pointer = (word(slots[0]), word(slots[1]));
            let bits = pack_element(element, self.state.addresses, self.state.regions, pointer);
            return Bytes::new(&bits.to_le_bytes());
        }
        let size = element.size() as usize;
        let mut bytes = [0; Bytes::MAX];
        let mut len = 0;
        for &slot in slots.iter().take(Bytes::MAX / size) {
            bytes[len..len + size].copy_from_slice(&word(slot).to_le_bytes()[..size]);
            len += size;
        }
        Bytes::new(&bytes[..len])
    }

    /// The lane's thread.
    pub fn thread(&self, lane: usize) -> ThreadId {
        let state = &self.state;
        thread_of(state.group, state.dispatch, state.generation, self.simdgroup, lane as u32)
    }

    /// Everything about the lane's access.
    pub fn access(&self, lane: usize) -> Access {
        Access {
            thread: self.thread(lane),
            variable: self.variable(lane),
            place: self.place(lane),
            offset: self.offset(lane),
            bytes: self.bytes,
            align: self.align,
            loc: self.loc,
            site: self.site,
            before: Bytes::new(self.before(lane)),
            written: self.written(lane),
        }
    }
}
