//! Where pointers point and how each local is kept.
//!
//! After inlining almost every pointer has one known *root* allocation; [`Storage::pointer`] tells
//! it, and the constant offset if there is one. A local that is accessed only at constant offsets,
//! each byte always as part of the same scalar, becomes *cells*: one variable per scalar, with a
//! shape of its own. Any other local is an *array* in memory, interleaved between the lanes by units.
//!
//! Invariant: every access to a local of the kind `Cells` covers whole cells.

use std::collections::BTreeMap;

use anymetal_ir::{Function, GlobalId, Inst, Kernel, Local, Op, Scalar, Space, ThreadgroupId, Type, Value};

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
        let mut partition = Partition::new(function, order, &roots.pointers);
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
                let unit = if storage.exposed[index] { 1 } else { partition.locals[index].unit };
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

/// Solves for the roots of all pointers, through pointers kept in locals.
struct Roots {
    pointers: Vec<Pointer>,
    contents: BTreeMap<(Local, i64), Root>,
    opaque: Vec<bool>,
    exposed: Vec<bool>,
    changed: bool,
}

impl Roots {
    fn solve(function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let unset = Pointer { root: Root::Unset, offset: None };
        let mut this = Self {
            pointers: vec![unset; function.values.len()],
            contents: BTreeMap::new(),
            opaque: vec![false; function.locals.len()],
            exposed: vec![false; function.locals.len()],
            changed: true,
        };
        for (index, (&param, argument)) in function.params.iter().zip(&kernel.args).enumerate() {
            let root = if argument.enabled { Root::Argument(index) } else { Root::Null };
            this.pointers[param.index()] = Pointer { root, offset: Some(0) };
        }
        // Each round can only raise roots in a lattice of height three.
        while std::mem::take(&mut this.changed) {
            for &inst in order {
                this.visit(function, inst);
            }
        }
        this
    }

    fn set(&mut self, value: Value, pointer: Pointer) {
        let old = self.pointers[value.index()];
        let root = self.join(old.root, pointer.root);
        let offset = match old.root {
            Root::Unset => pointer.offset,
            _ if old.offset == pointer.offset => old.offset,
            _ => None,
        };
        let new = Pointer { root, offset: if root == Root::Many { None } else { offset } };
        self.changed |= new != old;
        self.pointers[value.index()] = new;
    }

    fn join(&mut self, a: Root, b: Root) -> Root {
        let joined = a.join(b);
        if joined == Root::Many {
            self.expose(a);
            self.expose(b);
        }
        joined
    }

    fn expose(&mut self, root: Root) {
        if let Root::Local(local) = root {
            self.changed |= !std::mem::replace(&mut self.exposed[local.index()], true);
        }
    }

    fn visit(&mut self, function: &Function, inst: Inst) {
        let data = function.inst(inst);
        let pointer_of = |this: &Self, value: Value| this.pointers[value.index()];
        match &data.op {
            Op::Store { ptr, value, .. } if function.ty(*value).is_ptr() => self.store(*ptr, *value),
            Op::Store { ptr, value, .. } => self.store_bits(*ptr, function.ty(*value)),
            Op::Cast(anymetal_ir::CastOp::PtrToInt, a) => self.expose(pointer_of(self, *a).root),
            Op::MemCopy { dst, src, size, .. } => self.copy(*dst, *src, *size),
            _ => {}
        }
        let Some(result) = data.result.filter(|&result| function.ty(result).is_ptr()) else { return };
        let here = |root| Pointer { root, offset: Some(0) };
        let many = Pointer { root: Root::Many, offset: None };
        let pointer = match &data.op {
            Op::Const(_) | Op::Undef => here(Root::Null),
            Op::LocalAddr(local) => here(Root::Local(*local)),
            Op::ThreadgroupAddr(var) => here(Root::Threadgroup(*var)),
            Op::GlobalAddr(global) => here(Root::Global(*global)),
            Op::PtrAdd { base, index, scale, offset } => {
                let base = pointer_of(self, *base);
                let added = match index {
                    None => Some(*offset),
                    Some(index) => function
                        .as_const(*index)
                        .map(|index| (index as i64).wrapping_mul(i64::from(*scale)).wrapping_add(*offset)),
                };
                Pointer { root: base.root, offset: base.offset.zip(added).map(|(a, b)| a.wrapping_add(b)) }
            }
            Op::Select(_, a, b) => {
                let (a, b) = (pointer_of(self, *a), pointer_of(self, *b));
                let root = self.join(a.root, b.root);
                Pointer { root, offset: if a == b { a.offset } else { None } }
            }
            Op::Load { ptr, .. } => Pointer { root: self.load(*ptr), offset: None },
            _ => many,
        };
        self.set(result, pointer);
    }

    fn store(&mut self, to: Value, value: Value) {
        let root = self.pointers[value.index()].root;
        match self.pointers[to.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset) } => self.fill((local, offset), root),
            Pointer { root: Root::Unset, .. } => {}
            Pointer { root: to, .. } => {
                self.expose(root);
                self.make_opaque(to);
            }
        }
    }

    /// Integers may be the bits of a pointer that is loaded from there: a struct copied in words.
    fn store_bits(&mut self, to: Value, ty: Type) {
        if ty.scalar() == Some(Scalar::I64)
            && let Pointer { root: Root::Local(local), offset: Some(offset) } = self.pointers[to.index()]
        {
            for element in 0..i64::from(ty.lanes()) {
                self.fill((local, offset.wrapping_add(8 * element)), Root::Many);
            }
        }
    }

    fn make_opaque(&mut self, root: Root) {
        if let Root::Local(local) = root {
            self.changed |= !std::mem::replace(&mut self.opaque[local.index()], true);
        }
    }

    fn fill(&mut self, place: (Local, i64), root: Root) {
        let old = self.contents.get(&place).copied().unwrap_or(Root::Unset);
        let joined = self.join(old, root);
        self.changed |= joined != old;
        self.contents.insert(place, joined);
    }

    fn load(&mut self, from: Value) -> Root {
        match self.pointers[from.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset) } if !self.opaque[local.index()] => {
                self.contents.get(&(local, offset)).copied().unwrap_or(Root::Unset)
            }
            Pointer { root: Root::Unset, .. } => Root::Unset,
            Pointer { root: Root::Local(local), .. } => {
                self.make_opaque(Root::Local(local));
                let inside = self.contents.range((local, i64::MIN)..=(local, i64::MAX));
                for root in inside.map(|(_, &root)| root).collect::<Vec<_>>() {
                    self.expose(root);
                }
                Root::Many
            }
            _ => Root::Many,
        }
    }

    fn copy(&mut self, dst: Value, src: Value, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let (dst, src) = (self.pointers[dst.index()], self.pointers[src.index()]);
        let from = match src {
            Pointer { root: Root::Unset, .. } => return,
            Pointer { root: Root::Local(local), offset: Some(offset) } => Some((local, offset)),
            Pointer { root, .. } => {
                self.make_opaque(root);
                None
            }
        };
        let to = match dst {
            Pointer { root: Root::Local(local), offset: Some(offset) } => Some((local, offset)),
            Pointer { root, .. } => {
                self.make_opaque(root);
                None
            }
        };
        let Some((source, start)) = from else { return self.make_opaque(dst.root) };
        let end = start.saturating_add(size);
        let inside: Vec<_> = self
            .contents
            .range((source, start)..(source, end))
            .map(|(&(_, offset), &root)| (offset - start, root))
            .collect();
        for (offset, root) in inside {
            match to {
                Some((local, base)) => self.fill((local, base.wrapping_add(offset)), root),
                None => self.expose(root),
            }
        }
        if self.opaque[source.index()] {
            self.make_opaque(dst.root);
        }
    }
}

/// One scalar of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    size: i64,
    /// `None`: a pointer.
    scalar: Option<Scalar>,
}

impl Part {
    fn class(self) -> u8 {
        match self.scalar {
            None => 0,
            Some(Scalar::Bool) => 1,
            Some(_) => 2,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct LocalParts {
    size: i64,
    parts: BTreeMap<i64, Part>,
    dynamic: bool,
    unit: u32,
}

/// How the accesses divide each local into scalars.
struct Partition {
    locals: Vec<LocalParts>,
    copies: Vec<((Local, i64), (Local, i64), i64)>,
    ranges: Vec<((Local, i64), i64)>,
    /// Ranges that are copied out, and so must be kept whole.
    sources: Vec<((Local, i64), i64)>,
}

impl Partition {
    fn new(function: &Function, order: &[Inst], pointers: &[Pointer]) -> Self {
        let local_parts = |local: &anymetal_ir::LocalData| LocalParts {
            size: i64::try_from(local.size).unwrap_or(i64::MAX),
            unit: local.align.clamp(1, 8),
            ..LocalParts::default()
        };
        let mut this = Self {
            locals: function.locals.iter().map(local_parts).collect(),
            copies: Vec::new(),
            ranges: Vec::new(),
            sources: Vec::new(),
        };
        for &inst in order {
            let data = function.inst(inst);
            match &data.op {
                Op::Load { ptr, align, .. } => {
                    let ty = function.ty(data.result.expect("a load has a result"));
                    this.access(pointers[ptr.index()], ty, *align);
                }
                Op::Store { ptr, value, align, .. } => {
                    this.access(pointers[ptr.index()], function.ty(*value), *align);
                }
                Op::MemCopy { dst, src, size, align } => {
                    this.copy(pointers[dst.index()], pointers[src.index()], *size, *align);
                }
                Op::MemZero { dst, size, align } => {
                    let size = i64::try_from(*size).unwrap_or(i64::MAX);
                    this.range(pointers[dst.index()], size, *align);
                }
                // Nothing else is defined on private memory; give it a real address if it is used so.
                Op::AtomicLoad(p) | Op::AtomicStore(p, _) | Op::AtomicRmw(_, p, _) | Op::AtomicCas(p, ..) => {
                    if let Root::Local(local) = pointers[p.index()].root {
                        this.locals[local.index()].dynamic = true;
                    }
                }
                Op::Matrix(_, args) => {
                    for arg in args.iter().filter(|arg| function.ty(**arg) == Type::Ptr(Space::Thread)) {
                        if let Root::Local(local) = pointers[arg.index()].root {
                            this.locals[local.index()].dynamic = true;
                            this.locals[local.index()].unit = 1;
                        }
                    }
                }
                _ => {}
            }
        }
        this
    }

    fn access(&mut self, pointer: Pointer, ty: Type, align: u32) {
        let Root::Local(local) = pointer.root else { return };
        let scalar = ty.scalar();
        let size = i64::from(scalar.map_or(8, Scalar::size));
        let parts = &mut self.locals[local.index()];
        parts.unit = parts.unit.min(align.max(1)).min(size as u32);
        let Some(offset) = pointer.offset else {
            parts.dynamic = true;
            return;
        };
        for element in 0..i64::from(ty.lanes()) {
            parts.add(offset.wrapping_add(element * size), Part { size, scalar });
        }
    }

    fn range(&mut self, pointer: Pointer, size: i64, align: u32) {
        let Root::Local(local) = pointer.root else { return };
        let parts = &mut self.locals[local.index()];
        parts.unit = parts.unit.min(align.max(1));
        match pointer.offset {
            Some(offset) if offset >= 0 && offset.saturating_add(size) <= parts.size => {
                self.ranges.push(((local, offset), size));
            }
            _ => parts.dynamic = true,
        }
    }

    fn copy(&mut self, dst: Pointer, src: Pointer, size: u64, align: u32) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.range(dst, size, align);
        self.range(src, size, align);
        if let Pointer { root: Root::Local(local), offset: Some(offset) } = src {
            self.sources.push(((local, offset), size));
        }
        if let (
            Pointer { root: Root::Local(to), offset: Some(a) },
            Pointer { root: Root::Local(from), offset: Some(b) },
        ) = (dst, src)
        {
            self.copies.push(((to, a), (from, b), size));
        }
    }

    /// Divides until nothing changes; the division only ever gets finer or dynamic.
    fn solve(&mut self) {
        loop {
            self.carry_over();
            let mut filled = false;
            for index in 0..self.sources.len() {
                let ((local, offset), size) = self.sources[index];
                filled |= self.locals[local.index()].fill_gaps(offset, size);
            }
            if !filled {
                return;
            }
        }
    }

    /// Carries the division over copies until nothing changes.
    fn carry_over(&mut self) {
        loop {
            let before: Vec<(usize, bool)> = self.locals.iter().map(|l| (l.parts.len(), l.dynamic)).collect();
            for index in 0..self.copies.len() {
                let (to, from, size) = self.copies[index];
                self.carry(from, to, size);
                self.carry(to, from, size);
            }
            for index in 0..self.ranges.len() {
                let ((local, offset), size) = self.ranges[index];
                self.locals[local.index()].check_edges(offset, size);
            }
            let after: Vec<(usize, bool)> = self.locals.iter().map(|l| (l.parts.len(), l.dynamic)).collect();
            if before == after {
                return;
            }
        }
    }

    fn carry(&mut self, from: (Local, i64), to: (Local, i64), size: i64) {
        let inside: Vec<(i64, Part)> = self.locals[from.0.index()]
            .parts
            .range(from.1..from.1.saturating_add(size))
            .map(|(&offset, &part)| (offset - from.1, part))
            .collect();
        for (offset, part) in inside {
            self.locals[to.0.index()].add(to.1 + offset, part);
        }
    }
}

impl LocalParts {
    fn add(&mut self, offset: i64, part: Part) {
        if offset < 0 || offset.saturating_add(part.size) > self.size {
            self.dynamic = true;
            return;
        }
        match self.parts.get(&offset) {
            // Same size: the first type stays and accesses reinterpret; but pointers have a
            // representation of their own and `bool` cells are single bits.
            Some(old) if old.size == part.size && old.class() == part.class() => return,
            Some(_) => {
                self.dynamic = true;
                return;
            }
            None => {}
        }
        let before = self.parts.range(..offset).next_back();
        let after = self.parts.range(offset..).next();
        let overlaps = before.is_some_and(|(&start, old)| start + old.size > offset)
            || after.is_some_and(|(&start, _)| start < offset + part.size);
        self.dynamic |= overlaps;
        if !overlaps {
            self.parts.insert(offset, part);
        }
    }

    /// Gives the bytes of a range that no access named parts of their own.
    fn fill_gaps(&mut self, offset: i64, size: i64) -> bool {
        if self.dynamic || offset < 0 || offset.saturating_add(size) > self.size {
            return false;
        }
        let mut at = offset;
        let mut filled = false;
        while at < offset + size {
            let before = self.parts.range(..=at).next_back().map(|(&start, part)| start + part.size);
            if let Some(end) = before.filter(|&end| end > at) {
                at = end;
                continue;
            }
            let end =
                self.parts.range(at..).next().map_or(offset + size, |(&start, _)| start.min(offset + size));
            let (scalar, bytes) = match end - at {
                4.. if at % 4 == 0 => (Scalar::I32, 4),
                2.. if at % 2 == 0 => (Scalar::I16, 2),
                _ => (Scalar::I8, 1),
            };
            self.parts.insert(at, Part { size: bytes, scalar: Some(scalar) });
            filled = true;
            at += bytes;
        }
        filled
    }

    /// A copied or cleared range must not cut a part in two.
    fn check_edges(&mut self, offset: i64, size: i64) {
        for edge in [offset, offset.saturating_add(size)] {
            let cut =
                self.parts.range(..edge).next_back().is_some_and(|(&start, part)| start + part.size > edge);
            self.dynamic |= cut;
        }
    }
}
