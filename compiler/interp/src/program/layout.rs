//! Regions: every allocation that a pointer can refer to, and its location.
//!
//! Region 0 is nothing. Then come the kernel's arguments, in order, then threadgroup variables, constant data
//! and locals as lowering meets them.

use std::collections::BTreeMap;

use anymetal_abi::resident;
use anymetal_ir::{FuncId, GlobalId, Kernel, Local, Module, Space, ThreadgroupId};

use crate::InterpError;
use crate::report::{MemoryPlace, Variable};

/// Pointers in memory keep 16 bits for the region; the last numbers are never given.
pub(crate) const MAX_REGIONS: usize = 0xfff0;
/// Private memory of one SIMD-group, and static threadgroup memory.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// The memory that contains a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arena {
    Nothing,
    Buffer(u32),
    Threadgroup,
    Private,
    Global(u32),
}

/// An allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    pub(crate) arena: Arena,
    pub(crate) variable: Variable,
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// Bytes before the start that may be accessed too.
    pub(crate) before: u64,
    /// Private memory: the distance between two lanes' copies.
    pub(crate) lane_stride: u64,
    pub(crate) writable: bool,
    /// An argument that nothing is bound to: equal to null.
    pub(crate) is_null: bool,
}

impl Region {
    pub(crate) const NOTHING: Self = Self {
        arena: Arena::Nothing,
        variable: Variable::Nothing,
        start: 0,
        len: 0,
        before: 0,
        lane_stride: 0,
        writable: false,
        is_null: true,
    };

    /// What an address in no resident buffer leads to.
    const DANGLING: Self = Self { variable: Variable::Address, is_null: false, ..Self::NOTHING };

    /// The region of that number; bits that never were a pointer name nothing.
    pub(crate) fn numbered(regions: &[Self], number: u64) -> &Self {
        let known = usize::try_from(number).ok().and_then(|n| regions.get(n));
        known.unwrap_or(if number == resident::DANGLING { &Self::DANGLING } else { &Self::NOTHING })
    }
}

impl Region {
    /// Whether no byte can be accessed through both.
    pub(crate) fn is_disjoint(&self, other: &Self) -> bool {
        let bytes = |region: &Self| region.start - region.before..region.start + region.len;
        let (own, others) = (bytes(self), bytes(other));
        self.arena != other.arena || own.end <= others.start || others.end <= own.start
    }

    /// Where a local begins in the private memory of one lane: locals of 32 lanes begin at multiples of 32.
    pub(crate) fn private_index(&self) -> usize {
        (self.start / 32) as usize
    }
}

impl Arena {
    /// Where byte `at` is, for observers.
    pub(crate) fn place(self, variable: Variable, at: usize) -> MemoryPlace {
        let offset = at as u64;
        match self {
            Self::Buffer(buffer) => MemoryPlace::Buffer { buffer, offset },
            Self::Threadgroup => MemoryPlace::Threadgroup { offset },
            Self::Private => MemoryPlace::Private { offset },
            Self::Global(_) | Self::Nothing => {
                let global = if let Variable::Global(id) = variable { id } else { GlobalId(0) };
                MemoryPlace::Constant { global, offset }
            }
        }
    }
}

/// Hands out region numbers.
pub(super) struct Layout {
    pub(super) regions: Vec<Region>,
    pub(super) names: Vec<String>,
    numbers: BTreeMap<Variable, u32>,
    pub(super) threadgroup_bytes: u64,
    pub(super) globals: Vec<GlobalId>,
}

impl Layout {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut layout = Self {
            regions: vec![Region::NOTHING],
            names: vec![String::new()],
            numbers: BTreeMap::new(),
            threadgroup_bytes: 0,
            globals: Vec::new(),
        };
        for (position, arg) in (0u32..).zip(&kernel.args) {
            layout.regions.push(Region {
                variable: Variable::Argument(position),
                writable: arg.space != Space::Constant,
                ..Region::NOTHING
            });
            layout.names.push(arg.name.clone());
        }
        layout
    }

    fn add(&mut self, region: Region, name: &str) -> Result<u32, InterpError> {
        if let Some(&number) = self.numbers.get(&region.variable) {
            return Ok(number);
        }
        let number = self.regions.len();
        limit("allocations of a kernel", number as u64, MAX_REGIONS as u64)?;
        self.numbers.insert(region.variable, number as u32);
        self.regions.push(region);
        self.names.push(name.to_owned());
        Ok(number as u32)
    }

    pub(super) fn threadgroup(&mut self, module: &Module, id: ThreadgroupId) -> Result<u32, InterpError> {
        let variable = Variable::Threadgroup(id);
        if let Some(&number) = self.numbers.get(&variable) {
            return Ok(number);
        }
        let data = &module.threadgroup_vars[id.index()];
        let start = align_up(self.threadgroup_bytes, data.align);
        self.threadgroup_bytes = start.saturating_add(data.size);
        limit("threadgroup memory", self.threadgroup_bytes, MAX_BYTES)?;
        let region = Region {
            arena: Arena::Threadgroup,
            variable,
            start,
            len: data.size,
            writable: true,
            is_null: false,
            ..Region::NOTHING
        };
        self.add(region, &data.name)
    }

    pub(super) fn global(&mut self, module: &Module, id: GlobalId) -> Result<u32, InterpError> {
        let variable = Variable::Global(id);
        if let Some(&number) = self.numbers.get(&variable) {
            return Ok(number);
        }
        let data = &module.globals[id.index()];
        let arena = Arena::Global(self.globals.len() as u32);
        self.globals.push(id);
        let len = data.bytes.len() as u64;
        let region = Region { arena, variable, len, is_null: false, ..Region::NOTHING };
        self.add(region, &data.name)
    }

    /// Locals are relative to their function's first until [`Layout::move_locals`].
    pub(super) fn local(&mut self, module: &Module, f: FuncId, local: Local) -> Result<u32, InterpError> {
        let data = &module.function(f).locals[local.index()];
        // One size for all lanes' copies, as if each lane had its own aligned variable.
        let lane_stride = align_up(data.size, data.align);
        limit("a local variable", lane_stride, MAX_BYTES / 32)?;
        let region = Region {
            arena: Arena::Private,
            variable: Variable::Local(f, local),
            len: data.size,
            lane_stride,
            writable: true,
            is_null: false,
            ..Region::NOTHING
        };
        self.add(region, &data.name)
    }

    /// Lays out the locals of a function from `base` on; returns where they end.
    pub(super) fn move_locals(&mut self, function: FuncId, base: u64) -> Result<u64, InterpError> {
        let mut end = base;
        for region in &mut self.regions {
            if matches!(region.variable, Variable::Local(f, _) if f == function) {
                region.start = end;
                end += region.lane_stride * 32;
                limit("private memory", end, MAX_BYTES)?;
            }
        }
        Ok(end)
    }
}

fn align_up(size: u64, align: u32) -> u64 {
    size.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX)
}

/// Refuses what exceeds a limit.
pub(crate) fn limit(what: &'static str, size: u64, limit: u64) -> Result<(), InterpError> {
    if size > limit { Err(InterpError::TooLarge { what, size, limit }) } else { Ok(()) }
}
