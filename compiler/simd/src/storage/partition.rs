//! How the accesses divide each local into scalars, and which locals they do not.
//!
//! Invariant: once solved, no access and no piece of a copy is smaller than the `unit` of a local that it
//! touches, and each begins at a multiple of it.

use std::collections::BTreeMap;

use anymetal_ir::{Function, Inst, Local, Op, Scalar, Space, Type};

use super::{PASSED_UNIT, Pointer, Root};

/// One scalar of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) size: i64,
    pub(super) holds: Holds,
}

/// What a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    Scalar(Scalar),
    /// A pointer to that space. Pointers to different spaces do not share a part: they are converted by way
    /// of memory.
    Pointer(Space),
}

impl Part {
    fn class(self) -> u8 {
        match self.holds {
            Holds::Scalar(Scalar::Bool) => 0,
            Holds::Scalar(_) => 1,
            Holds::Pointer(Space::Device) => 2,
            Holds::Pointer(Space::Constant) => 3,
            Holds::Pointer(Space::Threadgroup) => 4,
            Holds::Pointer(Space::Thread) => 5,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct LocalParts {
    pub(super) size: i64,
    pub(super) parts: BTreeMap<i64, Part>,
    pub(super) dynamic: bool,
    pub(super) unit: u32,
    /// It is passed to a function, which takes units of a fixed size.
    pub(super) passed: bool,
}

/// How the accesses divide each local into scalars.
pub(super) struct Partition {
    pub(super) locals: Vec<LocalParts>,
    copies: Vec<((Local, i64), (Local, i64), i64)>,
    ranges: Vec<((Local, i64), i64)>,
    /// Locals that are copied into each other, at whatever offsets.
    links: Vec<(Local, Local)>,
    /// Ranges that are copied out, and so must be kept whole.
    sources: Vec<((Local, i64), i64)>,
}

impl Partition {
    /// `exposed` says which locals encoded pointers may point to: these are addressed by bytes.
    pub(super) fn new(function: &Function, order: &[Inst], pointers: &[Pointer], exposed: &[bool]) -> Self {
        let local_parts = |(local, &exposed): (&anymetal_ir::LocalData, &bool)| LocalParts {
            size: i64::try_from(local.size).unwrap_or(i64::MAX),
            unit: if exposed { 1 } else { local.align.clamp(1, 8) },
            ..LocalParts::default()
        };
        let mut this = Self {
            locals: function.locals.iter().zip(exposed).map(local_parts).collect(),
            copies: Vec::new(),
            links: Vec::new(),
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
                Op::MemCopy { dst, src, size, align, .. } => {
                    this.copy(pointers[dst.index()], pointers[src.index()], *size, *align);
                }
                Op::MemZero { dst, size, align, .. } => {
                    let size = i64::try_from(*size).unwrap_or(i64::MAX);
                    this.range(pointers[dst.index()], size, *align);
                }
                // Nothing else is defined on private memory; give it a real address if it is used so.
                Op::AtomicLoad(p) | Op::AtomicStore(p, _) | Op::AtomicRmw(_, p, _) | Op::AtomicCas(p, ..) => {
                    if let Root::Local(local) = pointers[p.index()].root {
                        this.locals[local.index()].dynamic = true;
                    }
                }
                Op::Call(_, args) => {
                    for arg in args {
                        if let Root::Local(local) = pointers[arg.index()].root {
                            let parts = &mut this.locals[local.index()];
                            (parts.dynamic, parts.passed) = (true, true);
                        }
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
        let Root::Local(local) = pointer.root else {
            // Memory that threads share is not divided.
            return;
        };
        let holds = match ty {
            Type::Ptr(space) => Holds::Pointer(space),
            Type::Scalar(scalar) | Type::Vector(scalar, _) => Holds::Scalar(scalar),
        };
        let size = if let Holds::Scalar(scalar) = holds { scalar.size() } else { 8 };
        let parts = &mut self.locals[local.index()];
        // A cast may claim more alignment than the offset has. An access that begins inside a unit would
        // touch another lane's unit.
        parts.unit = parts.unit.min(align.max(1)).min(size).min(pointer.align);
        let Some(offset) = pointer.offset else {
            parts.dynamic = true;
            return;
        };
        let size = i64::from(size);
        for element in 0..i64::from(ty.lanes()) {
            parts.add(offset.wrapping_add(element * size), Part { size, holds });
        }
    }

    fn range(&mut self, pointer: Pointer, size: i64, align: u32) {
        let Root::Local(local) = pointer.root else {
            // Memory that threads share is not divided.
            return;
        };
        let parts = &mut self.locals[local.index()];
        parts.unit = parts.unit.min(align.max(1)).min(alignment_of(size)).min(pointer.align);
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
        if let Pointer { root: Root::Local(local), offset: Some(offset), .. } = src {
            self.sources.push(((local, offset), size));
        }
        if let (Root::Local(to), Root::Local(from)) = (dst.root, src.root) {
            self.links.push((to, from));
        }
        if let (
            Pointer { root: Root::Local(to), offset: Some(a), .. },
            Pointer { root: Root::Local(from), offset: Some(b), .. },
        ) = (dst, src)
        {
            self.copies.push(((to, a), (from, b), size));
        }
    }

    /// Divides until nothing changes; the division only ever gets finer or dynamic.
    pub(super) fn solve(&mut self) {
        loop {
            self.carry_over();
            let mut filled = false;
            for index in 0..self.sources.len() {
                let ((local, offset), size) = self.sources[index];
                filled |= self.locals[local.index()].fill_gaps(offset, size);
            }
            if !filled {
                self.share_units();
                for parts in self.locals.iter_mut().filter(|parts| parts.passed) {
                    parts.unit = PASSED_UNIT;
                }
                return;
            }
        }
    }

    /// Gives locals that are copied into each other one unit: pieces of a copy are as small as the smaller
    /// one's.
    fn share_units(&mut self) {
        loop {
            let mut changed = false;
            for &(a, b) in &self.links {
                if self.locals[a.index()].passed || self.locals[b.index()].passed {
                    continue;
                }
                let unit = self.locals[a.index()].unit.min(self.locals[b.index()].unit);
                for local in [a, b] {
                    changed |= std::mem::replace(&mut self.locals[local.index()].unit, unit) != unit;
                }
            }
            if !changed {
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

/// The largest power of two up to 8 that divides a number of bytes.
fn alignment_of(bytes: i64) -> u32 {
    1 << bytes.trailing_zeros().min(3)
}

impl LocalParts {
    fn add(&mut self, offset: i64, part: Part) {
        self.unit = self.unit.min(part.size as u32).min(alignment_of(offset));
        if offset < 0 || offset.saturating_add(part.size) > self.size {
            self.dynamic = true;
            return;
        }
        match self.parts.get(&offset) {
            // Same size: the first type stays and accesses reinterpret; but pointers have a representation
            // of their own and `bool` promoted variables are single bits.
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
            self.parts.insert(at, Part { size: bytes, holds: Holds::Scalar(scalar) });
            self.unit = self.unit.min(bytes as u32);
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
