//! Where pointers point and how each local is kept.
//!
//! After inlining almost every pointer has one known *root* allocation; [`Storage::pointer`] tells
//! it, and the constant offset if there is one. A local that is accessed only at constant offsets,
//! each byte always as part of the same scalar, becomes *cells*: one variable per scalar, with a
//! shape of its own. Any other local is an *array* in memory, interleaved between the lanes by units.
//!
//! Invariant: every access to a local of the kind `Cells` covers whole cells.

mod partition;
mod roots;

use partition::Partition;
use roots::Roots;

use anymetal_ir::{Function, GlobalId, Inst, Kernel, Local, Scalar, ThreadgroupId, Value};

/// The allocation that a pointer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Root {
    /// No pointer seen yet.
    Unset,
    /// The null pointer.
    Null,
    /// An argument of the kernel.
    Argument(usize),
    /// A threadgroup variable.
    Threadgroup(ThreadgroupId),
    /// A constant datum.
    Global(GlobalId),
    /// A local.
    Local(Local),
    /// Known at run time only; the pointer is kept encoded.
    Many,
}

impl Root {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unset, root) | (root, Self::Unset) => root,
            (a, b) if a == b => a,
            _ => Self::Many,
        }
    }
}

/// What is known of a pointer value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    /// Its allocation.
    pub(super) root: Root,
    /// The offset, if constant.
    pub(super) offset: Option<i64>,
}

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CellType {
    /// A scalar.
    Scalar(Scalar),
    /// A pointer with this root.
    Pointer(Root),
}

/// A scalar variable: part of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    /// Of which local.
    pub(super) local: Local,
    /// At which byte.
    pub(super) offset: i64,
    /// Bytes.
    pub(super) size: i64,
    /// What it holds.
    pub(super) ty: CellType,
}

/// A local kept in memory: unit `u` of lane `l` is at byte `(u × 32 + l) × unit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Array {
    /// Which local.
    pub(super) local: Local,
    /// Bytes that stay together: 1, 2, 4 or 8.
    pub(super) unit: u32,
    /// How many units.
    pub(super) units: u64,
}

impl Array {
    /// Bytes for all lanes.
    pub(super) fn bytes(&self) -> u64 {
        self.units * u64::from(self.unit) * 32
    }
}

/// How a local is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LocalKind {
    /// As cells.
    Cells,
    /// As the array of that index.
    Array(usize),
}

/// All of it.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pointers: Vec<Pointer>,
    kinds: Vec<LocalKind>,
    /// Sorted by local and offset.
    pub(super) cells: Vec<Cell>,
    /// The locals kept in memory.
    pub(super) arrays: Vec<Array>,
    /// Locals that encoded pointers may point to.
    exposed: Vec<bool>,
}

impl Storage {
    /// Analyses a function.
    pub(super) fn new(function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let roots = Roots::solve(function, kernel, order);
        let mut partition = Partition::new(function, order, &roots.pointers, &roots.exposed);
        partition.solve();
        let mut storage = Self {
            pointers: roots.pointers,
            kinds: Vec::new(),
            cells: Vec::new(),
            arrays: Vec::new(),
            exposed: roots.exposed,
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
            storage.kinds.push(LocalKind::Cells);
            for (&offset, part) in &partition.locals[index].parts {
                let ty = match part.scalar {
                    Some(scalar) => CellType::Scalar(scalar),
                    None => {
                        CellType::Pointer(roots.contents.get(&(local, offset)).copied().unwrap_or(Root::Null))
                    }
                };
                storage.cells.push(Cell { local, offset, size: part.size, ty });
            }
        }
        storage
    }

    /// What is known of a pointer.
    pub(super) fn pointer(&self, value: Value) -> Pointer {
        self.pointers[value.index()]
    }

    /// How the local is kept.
    pub(super) fn kind(&self, local: Local) -> LocalKind {
        self.kinds[local.index()]
    }

    /// Whether encoded pointers may point to the local.
    pub(super) fn is_exposed(&self, local: Local) -> bool {
        self.exposed[local.index()]
    }

    /// The indices of the local's cells that begin in the byte range.
    pub(super) fn cells_in(&self, local: Local, offset: i64, size: i64) -> std::ops::Range<usize> {
        let start = self.cells.partition_point(|cell| (cell.local, cell.offset) < (local, offset));
        let end = self.cells.partition_point(|cell| (cell.local, cell.offset) < (local, offset + size));
        start..end
    }

    /// The cells that an access through the pointer covers; `None` if it is not to cells.
    pub(super) fn cells_at(&self, pointer: Value, size: i64) -> Option<std::ops::Range<usize>> {
        let Pointer { root: Root::Local(local), offset: Some(offset) } = self.pointer(pointer) else {
            return None;
        };
        (self.kind(local) == LocalKind::Cells).then(|| self.cells_in(local, offset, size))
    }

    /// The array that an access through the pointer is to.
    pub(super) fn array_at(&self, pointer: Value) -> Option<usize> {
        let Root::Local(local) = self.pointer(pointer).root else { return None };
        if let LocalKind::Array(index) = self.kind(local) { Some(index) } else { None }
    }
}
