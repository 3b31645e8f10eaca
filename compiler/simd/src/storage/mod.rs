//! Roots of pointers, and the storage of each local.
//!
//! After inlining almost every pointer has one known *root* allocation; [`Storage::pointer`] gives it, and
//! the offset if that is constant. A local that is accessed only at constant offsets, each byte always as
//! part of the same scalar, is *promoted* (SROA): one variable per scalar, with a shape of its own. Any
//! other local is an *array* in memory, interleaved by lane in units.
//!
//! Invariant: every access to a local of the kind `Promoted` covers whole promoted variables.

mod partition;

use anymetal_analysis::roots::Roots;
pub use anymetal_analysis::roots::{Pointer, Root};
use partition::{Holds, Partition};

use anymetal_analysis::PointerSlots;
use anymetal_ir::{Function, Inst, Kernel, Local, Scalar, Space, Value};

/// Bytes of a unit of variables that calls pass pointers to.
pub const PASSED_UNIT: u32 = 4;

/// What a promoted variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromotedType {
    /// A scalar.
    Scalar(Scalar),
    /// A pointer with this root, to this space.
    Pointer(Root, Space),
}

/// A scalar variable: part of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PromotedVar {
    /// Of which local.
    pub local: Local,
    /// At which byte.
    pub offset: i64,
    /// Bytes.
    pub size: i64,
    /// What it holds.
    pub ty: PromotedType,
}

/// A local kept in memory: unit `u` of lane `l` is at byte `(u × 32 + l) × unit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// Which local.
    pub local: Local,
    /// Bytes that stay together: 1, 2, 4 or 8.
    pub unit: u32,
    /// How many units.
    pub units: u64,
}

impl Array {
    /// Bytes for all lanes.
    pub fn bytes(&self) -> u64 {
        self.units * u64::from(self.unit) * 32
    }
}

/// How a local is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalKind {
    /// As promoted variables.
    Promoted,
    /// As the array of that index.
    Array(usize),
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Storage {
    pointers: Vec<Pointer>,
    kinds: Vec<LocalKind>,
    /// Sorted by local and offset.
    pub vars: Vec<PromotedVar>,
    /// The locals kept in memory.
    pub arrays: Vec<Array>,
    /// Locals that encoded pointers may point to.
    exposed: Vec<bool>,
    slots: PointerSlots,
}

impl Storage {
    /// Analyses a function.
    pub fn new(function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let enabled = kernel.args.iter().map(|argument| argument.enabled);
        let roots = Roots::solve(function, enabled, order);
        let mut partition = Partition::new(function, order, &roots.pointers, &roots.exposed);
        partition.solve();
        let contents = |local, offset| roots.content(local, offset);
        let mut storage = Self {
            pointers: roots.pointers.clone(),
            kinds: Vec::new(),
            vars: Vec::new(),
            arrays: Vec::new(),
            exposed: roots.exposed.clone(),
            slots: PointerSlots::of(function),
        };
        for index in 0..function.locals.len() {
            let local = Local(index as u32);
            if storage.exposed[index] || partition.locals[index].dynamic {
                storage.kinds.push(LocalKind::Array(storage.arrays.len()));
                let unit = partition.locals[index].unit;
                let units = function.locals[index].size.div_ceil(u64::from(unit));
                storage.arrays.push(Array { local, unit, units });
                continue;
            }
            storage.kinds.push(LocalKind::Promoted);
            for (&offset, part) in &partition.locals[index].parts {
                let ty = match part.holds {
                    Holds::Scalar(scalar) => PromotedType::Scalar(scalar),
                    Holds::Pointer(space) => {
                        PromotedType::Pointer(contents(local, offset).unwrap_or(Root::Null), space)
                    }
                };
                storage.vars.push(PromotedVar { local, offset, size: part.size, ty });
            }
        }
        storage
    }

    /// What is known of a pointer.
    pub fn pointer(&self, value: Value) -> Pointer {
        self.pointers[value.index()]
    }

    /// How the local is kept.
    pub fn kind(&self, local: Local) -> LocalKind {
        self.kinds[local.index()]
    }

    /// Whether encoded pointers may point to the local.
    pub fn is_exposed(&self, local: Local) -> bool {
        self.exposed[local.index()]
    }

    /// Whether the pointer in memory at an address is kept tagged; elsewhere it is an address.
    pub fn is_slot(&self, at: Value) -> bool {
        self.slots.is_slot(at)
    }

    /// The indices of the local's promoted variables that begin in the byte range.
    pub fn vars_in(&self, local: Local, offset: i64, size: i64) -> std::ops::Range<usize> {
        let start = self.vars.partition_point(|var| (var.local, var.offset) < (local, offset));
        let end = self.vars.partition_point(|var| (var.local, var.offset) < (local, offset + size));
        start..end
    }

    /// The promoted variables that an access through the pointer covers; `None` if it is not to promoted
    /// variables.
    pub fn vars_at(&self, pointer: Value, size: i64) -> Option<std::ops::Range<usize>> {
        let Pointer { root: Root::Local(local), offset: Some(offset), .. } = self.pointer(pointer) else {
            // Shared memory, or an offset that is known at run time only.
            return None;
        };
        (self.kind(local) == LocalKind::Promoted).then(|| self.vars_in(local, offset, size))
    }

    /// The array that an access through the pointer is to.
    pub fn array_at(&self, pointer: Value) -> Option<usize> {
        let Root::Local(local) = self.pointer(pointer).root else {
            // The access is to memory that threads share.
            return None;
        };
        if let LocalKind::Array(index) = self.kind(local) { Some(index) } else { None }
    }
}
