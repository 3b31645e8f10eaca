//! The slices of each local: which locals are split, and into what.

use crate::limits::{MAX_ROUNDS, MAX_SLICES, MAX_SPLIT_BYTES};
use anymetal_analysis::{LocalPointers, local_pointers, local_uses, walk_insts};
use anymetal_ir::{Function, Local, Op, Scalar, Space, Type, Value};

/// A part of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slice {
    pub(super) start: u64,
    pub(super) ty: Type,
}

impl Slice {
    pub(super) fn end(self) -> u64 {
        self.start + u64::from(self.ty.size())
    }
}

/// The slices of each local that is split, in order of their offsets; `None` for the others.
pub(super) struct Partition {
    pub(super) pointers: LocalPointers,
    pub(super) slices: Vec<Option<Vec<Slice>>>,
}

impl Partition {
    /// The split local that a pointer leads to, and the offset in it.
    pub(super) fn place(&self, ptr: Value) -> Option<(Local, u64)> {
        let (local, offset) = self.pointers.get(ptr.index()).copied().flatten()?;
        self.slices[local.index()].as_ref()?;
        let offset = u64::try_from(offset);
        Some((local, offset.expect("a local with an access before its start is not split")))
    }

    /// The slices of a split local within a range, none of which it cuts.
    pub(super) fn slices_in(&self, local: Local, start: u64, size: u64) -> Vec<(usize, Slice)> {
        let end = start + size;
        let slices = self.slices[local.index()].iter().flatten().copied().enumerate();
        let touched = slices.filter(|(_, slice)| slice.start < end && start < slice.end());
        let touched: Vec<(usize, Slice)> = touched.collect();
        assert!(
            touched.iter().all(|(_, slice)| slice.start >= start && slice.end() <= end),
            "the range from {start} to {end} cuts a slice of {local}",
        );
        touched
    }
}

/// One end of a copy, if it is a local at a constant offset.
type LocalOffset = Option<(Local, i64)>;

struct CopyInfo {
    dst: LocalOffset,
    src: LocalOffset,
    size: u64,
    /// Whether the destination is private memory.
    to_private: bool,
}

struct Collector<'a> {
    function: &'a Function,
    pointers: LocalPointers,
    /// Which locals have their address kept or given to calls, or are copied to those as a whole.
    whole: Vec<bool>,
    /// Which locals are still candidates.
    candidate: Vec<bool>,
    /// Accesses of candidates: start and type, in textual order.
    accesses: Vec<Vec<Slice>>,
    copies: Vec<CopyInfo>,
    /// Zero fills: where, and how many bytes.
    fills: Vec<(Local, i64, u64)>,
}

/// Finds the slices; `None` if no local is to be split.
pub(super) fn partition(function: &Function) -> Option<Partition> {
    let uses = local_uses(function);
    let candidate: Vec<bool> = uses.iter().map(|local| !local.escapes && !local.dynamic).collect();
    let mut collector = Collector {
        function,
        pointers: local_pointers(function),
        accesses: vec![Vec::new(); candidate.len()],
        whole: uses.iter().map(|local| local.escapes).collect(),
        candidate,
        copies: Vec::new(),
        fills: Vec::new(),
    };
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        collector.collect(&data.op, data.result);
    });
    collector.propagate_and_drop();
    let is_changed = collector.is_changed();
    if !is_changed.contains(&true) {
        return None;
    }
    let slices = collector.accesses.into_iter().zip(is_changed);
    let slices: Vec<_> = slices.map(|(slices, is_changed)| is_changed.then_some(slices)).collect();
    for (slices, local) in slices.iter().zip(&function.locals) {
        let slices = slices.as_deref().unwrap_or_default();
        assert!(
            slices.windows(2).all(|pair| pair[0].end() <= pair[1].start),
            "the slices of {} are in order and do not overlap",
            local.name,
        );
        assert!(
            slices.last().is_none_or(|last| last.end() <= local.size),
            "{} ends with its slices",
            local.name
        );
    }
    Some(Partition { pointers: collector.pointers, slices })
}

impl Collector<'_> {
    fn in_bounds(&self, local: Local, offset: i64, size: u64) -> bool {
        let room = self.function.locals[local.index()].size;
        u64::try_from(offset).is_ok_and(|start| start.checked_add(size).is_some_and(|end| end <= room))
    }

    fn place(&self, ptr: Value) -> LocalOffset {
        self.pointers[ptr.index()]
    }

    fn access(&mut self, ptr: Value, ty: Type) {
        let Some((local, offset)) = self.place(ptr) else {
            // An access of other memory, or of a local at an offset that is not constant.
            return;
        };
        if self.in_bounds(local, offset, u64::from(ty.size())) {
            self.accesses[local.index()].push(Slice { start: offset as u64, ty });
        } else {
            self.candidate[local.index()] = false;
        }
    }

    /// Drops the candidate at a place that a long or overhanging range touches.
    fn range(&mut self, place: LocalOffset, size: u64) {
        if let Some((local, offset)) = place
            && (size > MAX_SPLIT_BYTES || !self.in_bounds(local, offset, size))
        {
            self.candidate[local.index()] = false;
        }
    }

    fn collect(&mut self, op: &Op, result: Option<Value>) {
        match op {
            Op::Load { ptr, .. } => {
                let result = result.expect("a load has a result");
                self.access(*ptr, self.function.ty(result));
            }
            Op::Store { ptr, value, .. } => self.access(*ptr, self.function.ty(*value)),
            Op::MemCopy { dst, src, size, .. } => {
                let to_private = self.function.pointer_space(*dst) == Space::Thread;
                let (dst, src) = (self.place(*dst), self.place(*src));
                self.range(dst, *size);
                self.range(src, *size);
                if dst.is_some() || src.is_some() {
                    self.copies.push(CopyInfo { dst, src, size: *size, to_private });
                }
            }
            Op::MemZero { dst, size, .. } => {
                let place = self.place(*dst);
                self.range(place, *size);
                if let Some((local, offset)) = place {
                    self.fills.push((local, offset, *size));
                }
            }
            _ => {}
        }
    }

    /// The candidate at a place.
    fn candidate_at(&self, place: LocalOffset) -> Option<(Local, u64)> {
        let (local, offset) = place?;
        (self.candidate[local.index()] && offset >= 0).then_some((local, offset as u64))
    }

    /// Propagates slices through copies until nothing changes, dropping locals whose slices a copy or
    /// fill would cut. Dropping one turns its copies into copies to and from memory, so the propagation
    /// starts over; each start drops at least one local, and after a few all that take part in
    /// copies are dropped.
    fn propagate_and_drop(&mut self) {
        // Large arrays are dropped first, so that no work below is done per element and copy.
        for slices in &mut self.accesses {
            merge(slices);
        }
        self.drop_unfit();
        for start in 0.. {
            let saved = self.accesses.clone();
            let settled = self.propagate();
            let dropped = self.drop_cut() | self.drop_unfit();
            if settled && !dropped {
                return;
            }
            self.accesses = saved;
            if start >= MAX_ROUNDS || !settled {
                self.drop_all_copied();
            }
        }
    }

    fn drop_all_copied(&mut self) {
        for copy in &self.copies {
            for (local, _) in [copy.dst, copy.src].into_iter().flatten() {
                self.candidate[local.index()] = false;
            }
        }
    }

    /// Returns whether a fixed point was reached within the bound.
    fn propagate(&mut self) -> bool {
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for n in 0..self.copies.len() {
                let CopyInfo { dst, src, size, .. } = self.copies[n];
                if let (Some(dst), Some(src)) = (self.candidate_at(dst), self.candidate_at(src)) {
                    changed |= self.propagate_to(src, dst, size) | self.propagate_to(dst, src, size);
                }
            }
            if !changed {
                // Only now is it known which bytes of copies to other memory have no slice.
                if !self.fill_gaps() {
                    return true;
                }
            }
        }
        false
    }

    /// Gives `to` the slices of `from` in the range; returns whether any was new.
    fn propagate_to(&mut self, from: (Local, u64), to: (Local, u64), size: u64) -> bool {
        if self.accesses[from.0.index()].len() > MAX_SLICES {
            return false;
        }
        let mut changed = false;
        for slice in self.accesses[from.0.index()].clone() {
            if slice.start < from.1 || slice.end() > from.1 + size {
                continue;
            }
            let moved = Slice { start: slice.start - from.1 + to.1, ty: slice.ty };
            let slices = &mut self.accesses[to.0.index()];
            let covered = slices.iter().any(|c| c.start == moved.start && c.ty.size() == moved.ty.size());
            if !covered {
                let before = slices.clone();
                slices.push(moved);
                merge(slices);
                // It may have become part of a vector that was there.
                changed |= *slices != before;
            }
        }
        changed
    }

    /// Covers bytes without a slice that a copy to other memory reads. A local stays whole if it is copied to
    /// a local whose address is kept or given to a call, or if bytes that may be a pointer are copied to
    /// other private memory: its members become known when functions are inlined, and integers would hide
    /// them, or lose the pointer.
    fn fill_gaps(&mut self) -> bool {
        let mut changed = false;
        for n in 0..self.copies.len() {
            let CopyInfo { dst, src, size, to_private } = self.copies[n];
            let Some((local, start)) = self.candidate_at(src) else { continue };
            if self.candidate_at(dst).is_some() {
                continue;
            }
            let longest = longest_member(self.function, local);
            let slices = &mut self.accesses[local.index()];
            let mut gaps = Vec::new();
            let mut at = start;
            for slice in slices.iter() {
                if slice.start >= start + size {
                    break;
                }
                integer_slices(at, slice.start, longest, &mut gaps);
                at = at.max(slice.end());
            }
            integer_slices(at, start + size, longest, &mut gaps);
            let may_hold_pointer = gaps.iter().any(|slice| slice.ty == Type::I64);
            let is_whole = dst.is_some_and(|(to, _)| self.whole[to.index()]);
            if !gaps.is_empty() && (is_whole || to_private && may_hold_pointer) {
                self.candidate[local.index()] = false;
                self.whole[local.index()] = true;
                changed = true;
                continue;
            }
            changed |= !gaps.is_empty();
            slices.extend(gaps);
            slices.sort_by_key(|slice| (slice.start, slice.end()));
        }
        changed
    }

    fn cuts(slices: &[Slice], start: u64, size: u64) -> bool {
        let cut = |slice: &Slice, at: u64| slice.start < at && at < slice.end();
        slices.iter().any(|slice| cut(slice, start) || cut(slice, start + size))
    }

    fn drop_cut(&mut self) -> bool {
        let mut dropped = false;
        let mut ranges: Vec<(Local, u64, u64)> = Vec::new();
        for copy in &self.copies {
            for place in [copy.dst, copy.src] {
                ranges.extend(self.candidate_at(place).map(|(local, start)| (local, start, copy.size)));
            }
        }
        for &(local, offset, size) in &self.fills {
            ranges
                .extend(self.candidate_at(Some((local, offset))).map(|(local, start)| (local, start, size)));
        }
        for (local, start, size) in ranges {
            if Self::cuts(&self.accesses[local.index()], start, size) {
                self.candidate[local.index()] = false;
                dropped = true;
            }
        }
        dropped
    }

    /// Drops locals whose overlapping accesses make no vector, or with too many slices.
    fn drop_unfit(&mut self) -> bool {
        let mut dropped = false;
        for (slices, candidate) in self.accesses.iter().zip(&mut self.candidate) {
            let overlap = slices.windows(2).any(|pair| pair[1].start < pair[0].end());
            if *candidate && (overlap || slices.len() > MAX_SLICES) {
                *candidate = false;
                dropped = true;
            }
        }
        dropped
    }

    /// For each local, whether it is a candidate whose splitting changes anything: one with
    /// copies or fills, or several slices, or a slice that is accessed in part. Another one is its
    /// only slice itself.
    fn is_changed(&self) -> Vec<bool> {
        let mut is_changed: Vec<bool> = self.accesses.iter().map(|slices| slices.len() > 1).collect();
        for place in self.copies.iter().flat_map(|copy| [copy.dst, copy.src]).flatten() {
            is_changed[place.0.index()] = true;
        }
        for (local, ..) in &self.fills {
            is_changed[local.index()] = true;
        }
        walk_insts(self.function, self.function.body, &mut |inst| {
            let data = self.function.inst(inst);
            let (ptr, ty) = match &data.op {
                Op::Load { ptr, .. } => (*ptr, self.function.ty(self.function.result(inst))),
                Op::Store { ptr, value, .. } => (*ptr, self.function.ty(*value)),
                _ => return,
            };
            // Locals with several slices are changed already: nothing is looked up per access and slice.
            if let Some((local, _)) = self.pointers[ptr.index()]
                && !is_changed[local.index()]
            {
                let only = self.accesses[local.index()].first();
                is_changed[local.index()] = only.is_some_and(|slice| slice.ty.size() != ty.size());
            }
        });
        is_changed
            .iter()
            .zip(&self.candidate)
            .map(|(&is_changed, &candidate)| is_changed && candidate)
            .collect()
    }
}

/// The longest integer slice for bytes of a local whose members are not known yet. A local aligned to 4 bytes
/// has no longer members, and most likely members of that size: slices of 8 bytes would merge two of them.
/// Shorter slices would be too many.
fn longest_member(function: &Function, local: Local) -> u64 {
    if function.locals[local.index()].align == 4 { 4 } else { 8 }
}

/// Natural integers that cover `[start, end)`, none of them longer than `longest` bytes.
fn integer_slices(start: u64, end: u64, longest: u64, out: &mut Vec<Slice>) {
    assert!(longest.is_power_of_two() && longest <= 8, "integers of {longest} bytes");
    let mut at = start;
    while at < end {
        let fitting = [Scalar::I64, Scalar::I32, Scalar::I16, Scalar::I8].into_iter().find(|scalar| {
            let size = u64::from(scalar.size());
            size <= longest && at.is_multiple_of(size) && at + size <= end
        });
        let scalar = fitting.expect("a byte fits anywhere");
        out.push(Slice { start: at, ty: Type::Scalar(scalar) });
        at += u64::from(scalar.size());
    }
}

/// Sorts slices and joins those that overlap, where they make a vector; equal ones become one.
/// Cells that overlap otherwise are left overlapping, which [`Collector::drop_unfit`] sees.
fn merge(slices: &mut Vec<Slice>) {
    // Stable: among accesses of one place the first in the text gives the type.
    slices.sort_by_key(|slice| (slice.start, std::cmp::Reverse(slice.end())));
    let mut merged: Vec<Slice> = Vec::with_capacity(slices.len());
    for &slice in slices.iter() {
        match merged.last_mut() {
            Some(last) if last.start == slice.start && last.ty.size() == slice.ty.size() => {
                // Values of `bool` and pointers cannot be reinterpreted.
                if !interchangeable(last.ty, slice.ty) {
                    merged.push(slice);
                } else if slice.ty.lanes() > last.ty.lanes() {
                    // A vector can be accessed in part, an integer that clears it cannot.
                    last.ty = slice.ty;
                }
            }
            Some(last) if slice.start < last.end() => match vector_union(*last, slice) {
                Some(union) => *last = union,
                None => merged.push(slice),
            },
            _ => merged.push(slice),
        }
    }
    *slices = merged;
}

fn interchangeable(a: Type, b: Type) -> bool {
    let plain = |ty: Type| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    a == b || plain(a) && plain(b)
}

/// The vector slice that two overlapping accesses of whole elements share.
fn vector_union(a: Slice, b: Slice) -> Option<Slice> {
    assert!(a.start <= b.start && b.start < a.end(), "the slices overlap, the first one starts first");
    let (first, second) = (a.ty.scalar()?, b.ty.scalar()?);
    let size = u64::from(first.size());
    let end = a.end().max(b.end());
    let fits = first.size() == second.size()
        && interchangeable(Type::Scalar(first), Type::Scalar(second))
        && (b.start - a.start).is_multiple_of(size);
    let count = (end - a.start) / size;
    let vector = (2..=4).contains(&count).then_some(Type::Vector(first, count as u8));
    vector.filter(|_| fits).map(|ty| Slice { start: a.start, ty })
}
