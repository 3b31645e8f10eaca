//! Which locals are split, and into what.

use super::{MAX_CELLS, MAX_COPY};
use crate::analysis::{LocalPointers, local_pointers, local_uses, walk_insts};
use crate::{Function, Local, Op, Scalar, Type, Value};

/// A part of a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) start: u64,
    pub(super) ty: Type,
}

impl Cell {
    pub(super) fn end(self) -> u64 {
        self.start + u64::from(self.ty.size())
    }
}

/// The cells of each local that is split, in order of their offsets; `None` for the others.
pub(super) struct Partition {
    pub(super) pointers: LocalPointers,
    pub(super) cells: Vec<Option<Vec<Cell>>>,
}

impl Partition {
    /// The split local that a pointer leads to, and the offset in it.
    pub(super) fn place(&self, ptr: Value) -> Option<(Local, u64)> {
        let (local, offset) = self.pointers.get(ptr.index()).copied().flatten()?;
        self.cells[local.index()].as_ref()?;
        Some((local, u64::try_from(offset).ok()?))
    }

    /// The cells of a split local within a range, none of which it cuts.
    pub(super) fn cells_in(&self, local: Local, start: u64, size: u64) -> Vec<(usize, Cell)> {
        let cells = self.cells[local.index()].iter().flatten().copied().enumerate();
        cells.filter(|(_, cell)| cell.start >= start && cell.end() <= start + size).collect()
    }
}

/// One end of a copy, if it is a local at a constant offset.
type Place = Option<(Local, i64)>;

struct CopyInfo {
    dst: Place,
    src: Place,
    size: u64,
}

struct Collector<'a> {
    function: &'a Function,
    pointers: LocalPointers,
    /// Which locals are still candidates.
    candidate: Vec<bool>,
    /// Accesses of candidates: start and type, in textual order.
    accesses: Vec<Vec<Cell>>,
    copies: Vec<CopyInfo>,
    /// Zero fills: where, and how many bytes.
    fills: Vec<(Local, i64, u64)>,
}

/// Finds the cells; `None` if no local is to be split.
pub(super) fn partition(function: &Function) -> Option<Partition> {
    let candidate: Vec<bool> =
        local_uses(function).iter().map(|local| !local.escapes && !local.dynamic).collect();
    let mut collector = Collector {
        function,
        pointers: local_pointers(function),
        accesses: vec![Vec::new(); candidate.len()],
        candidate,
        copies: Vec::new(),
        fills: Vec::new(),
    };
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        collector.collect(&data.op, data.result);
    });
    collector.drop_what_copies_cut();
    let changing = collector.changing();
    if !changing.contains(&true) {
        return None;
    }
    let cells = collector.accesses.into_iter().zip(changing);
    let cells = cells.map(|(cells, changing)| changing.then_some(cells)).collect();
    Some(Partition { pointers: collector.pointers, cells })
}

impl Collector<'_> {
    fn inside(&self, local: Local, offset: i64, size: u64) -> bool {
        let room = self.function.locals[local.index()].size;
        u64::try_from(offset).is_ok_and(|start| start.checked_add(size).is_some_and(|end| end <= room))
    }

    fn place(&self, ptr: Value) -> Place {
        self.pointers[ptr.index()]
    }

    fn access(&mut self, ptr: Value, ty: Type) {
        let Some((local, offset)) = self.place(ptr) else { return };
        if self.inside(local, offset, u64::from(ty.size())) {
            self.accesses[local.index()].push(Cell { start: offset as u64, ty });
        } else {
            self.candidate[local.index()] = false;
        }
    }

    /// Drops the candidate at a place that a long or overhanging range touches.
    fn range(&mut self, place: Place, size: u64) {
        if let Some((local, offset)) = place
            && (size > MAX_COPY || !self.inside(local, offset, size))
        {
            self.candidate[local.index()] = false;
        }
    }

    fn collect(&mut self, op: &Op, result: Option<Value>) {
        match op {
            Op::Load { ptr, .. } => {
                if let Some(result) = result {
                    self.access(*ptr, self.function.ty(result));
                }
            }
            Op::Store { ptr, value, .. } => self.access(*ptr, self.function.ty(*value)),
            Op::MemCopy { dst, src, size, .. } => {
                let (dst, src) = (self.place(*dst), self.place(*src));
                self.range(dst, *size);
                self.range(src, *size);
                if dst.is_some() || src.is_some() {
                    self.copies.push(CopyInfo { dst, src, size: *size });
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
    fn candidate_at(&self, place: Place) -> Option<(Local, u64)> {
        let (local, offset) = place?;
        (self.candidate[local.index()] && offset >= 0).then_some((local, offset as u64))
    }

    /// Spreads cells through copies until nothing changes, dropping locals whose cells a copy or
    /// fill would cut. Dropping one turns its copies into copies to and from memory, so the spread
    /// starts over; each start drops at least one local, and after a few all that take part in
    /// copies are dropped.
    fn drop_what_copies_cut(&mut self) {
        const MAX_STARTS: usize = 8;
        // Large arrays are out at once, so that no work below is done per element and copy.
        for cells in &mut self.accesses {
            merge(cells);
        }
        self.drop_unfit();
        for start in 0.. {
            let own = self.accesses.clone();
            let settled = self.spread();
            let dropped = self.drop_cut() | self.drop_unfit();
            if settled && !dropped {
                return;
            }
            self.accesses = own;
            if start >= MAX_STARTS || !settled {
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

    /// Returns whether it came to an end within the bound.
    fn spread(&mut self) -> bool {
        const MAX_PASSES: usize = 12;
        for _ in 0..MAX_PASSES {
            let mut changed = false;
            for n in 0..self.copies.len() {
                let CopyInfo { dst, src, size } = self.copies[n];
                if let (Some(dst), Some(src)) = (self.candidate_at(dst), self.candidate_at(src)) {
                    changed |= self.spread_one(src, dst, size) | self.spread_one(dst, src, size);
                }
            }
            if !changed {
                // Only now is it known which bytes that are read as a whole have no cell.
                if !self.fill_gaps() {
                    return true;
                }
            }
        }
        false
    }

    /// Gives `to` the cells of `from` in the range; returns whether any was new.
    fn spread_one(&mut self, from: (Local, u64), to: (Local, u64), size: u64) -> bool {
        if self.accesses[from.0.index()].len() > MAX_CELLS {
            return false;
        }
        let mut changed = false;
        for cell in self.accesses[from.0.index()].clone() {
            if cell.start < from.1 || cell.end() > from.1 + size {
                continue;
            }
            let moved = Cell { start: cell.start - from.1 + to.1, ty: cell.ty };
            let cells = &mut self.accesses[to.0.index()];
            let covered = cells.iter().any(|c| c.start == moved.start && c.ty.size() == moved.ty.size());
            if !covered {
                cells.push(moved);
                merge(cells);
                changed = true;
            }
        }
        changed
    }

    /// Covers bytes without a cell that a copy to other memory reads.
    fn fill_gaps(&mut self) -> bool {
        let mut changed = false;
        for n in 0..self.copies.len() {
            let CopyInfo { dst, src, size } = self.copies[n];
            let Some((local, start)) = self.candidate_at(src) else { continue };
            if self.candidate_at(dst).is_some() {
                continue;
            }
            let longest = longest_member(self.function, local);
            let cells = &mut self.accesses[local.index()];
            let mut gaps = Vec::new();
            let mut at = start;
            for cell in cells.iter() {
                if cell.start >= start + size {
                    break;
                }
                integers(at, cell.start, longest, &mut gaps);
                at = at.max(cell.end());
            }
            integers(at, start + size, longest, &mut gaps);
            changed |= !gaps.is_empty();
            cells.extend(gaps);
            cells.sort_by_key(|cell| (cell.start, cell.end()));
        }
        changed
    }

    fn cuts(cells: &[Cell], start: u64, size: u64) -> bool {
        let cut = |cell: &Cell, at: u64| cell.start < at && at < cell.end();
        cells.iter().any(|cell| cut(cell, start) || cut(cell, start + size))
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

    /// Drops locals whose overlapping accesses make no vector, or with too many cells.
    fn drop_unfit(&mut self) -> bool {
        let mut dropped = false;
        for (cells, candidate) in self.accesses.iter().zip(&mut self.candidate) {
            let overlap = cells.windows(2).any(|pair| pair[1].start < pair[0].end());
            if *candidate && (overlap || cells.len() > MAX_CELLS) {
                *candidate = false;
                dropped = true;
            }
        }
        dropped
    }

    /// For each local, whether it is a candidate whose splitting changes anything: one with
    /// copies or fills, or several cells, or a cell that is accessed in part. Another one is its
    /// own only cell.
    fn changing(&self) -> Vec<bool> {
        let mut changing: Vec<bool> = self.accesses.iter().map(|cells| cells.len() > 1).collect();
        for place in self.copies.iter().flat_map(|copy| [copy.dst, copy.src]).flatten() {
            changing[place.0.index()] = true;
        }
        for (local, ..) in &self.fills {
            changing[local.index()] = true;
        }
        walk_insts(self.function, self.function.body, &mut |inst| {
            let data = self.function.inst(inst);
            let (ptr, ty) = match &data.op {
                Op::Load { ptr, .. } => (*ptr, data.result.map(|value| self.function.ty(value))),
                Op::Store { ptr, value, .. } => (*ptr, Some(self.function.ty(*value))),
                _ => return,
            };
            if let (Some((local, _)), Some(ty)) = (self.pointers[ptr.index()], ty) {
                let cells = &self.accesses[local.index()];
                changing[local.index()] |= cells.iter().any(|cell| cell.ty.size() != ty.size());
            }
        });
        changing.iter().zip(&self.candidate).map(|(&changing, &candidate)| changing && candidate).collect()
    }
}

/// The longest integer that takes the place of parts of a local that nothing is known of yet. What is aligned to
/// 4 bytes has no longer members, and most likely such: as cells of 8 bytes they could not be told apart when it
/// is known. Parts of shorter ones are too many.
fn longest_member(function: &Function, local: Local) -> u64 {
    if function.locals[local.index()].align == 4 { 4 } else { 8 }
}

/// Natural integers that cover `[start, end)`, none of them longer than `longest` bytes.
fn integers(start: u64, end: u64, longest: u64, out: &mut Vec<Cell>) {
    let mut at = start;
    while at < end {
        let fitting = [Scalar::I64, Scalar::I32, Scalar::I16, Scalar::I8].into_iter().find(|scalar| {
            let size = u64::from(scalar.size());
            size <= longest && at.is_multiple_of(size) && at + size <= end
        });
        let scalar = fitting.unwrap_or(Scalar::I8);
        out.push(Cell { start: at, ty: Type::Scalar(scalar) });
        at += u64::from(scalar.size());
    }
}

/// Sorts cells and joins those that overlap, where they make a vector; equal ones become one.
/// Cells that overlap otherwise are left overlapping, which [`Collector::drop_unfit`] sees.
fn merge(cells: &mut Vec<Cell>) {
    // Stable: among accesses of one place the first in the text gives the type.
    cells.sort_by_key(|cell| (cell.start, std::cmp::Reverse(cell.end())));
    let mut merged: Vec<Cell> = Vec::with_capacity(cells.len());
    for &cell in cells.iter() {
        match merged.last_mut() {
            Some(last) if last.start == cell.start && last.ty.size() == cell.ty.size() => {
                // Values of `bool` and pointers cannot be reinterpreted.
                if !interchangeable(last.ty, cell.ty) {
                    merged.push(cell);
                } else if cell.ty.lanes() > last.ty.lanes() {
                    // A vector can be accessed in part, an integer that clears it cannot.
                    last.ty = cell.ty;
                }
            }
            Some(last) if cell.start < last.end() => match joined(*last, cell) {
                Some(union) => *last = union,
                None => merged.push(cell),
            },
            _ => merged.push(cell),
        }
    }
    *cells = merged;
}

fn interchangeable(a: Type, b: Type) -> bool {
    let plain = |ty: Type| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    a == b || plain(a) && plain(b)
}

/// The vector cell that two overlapping accesses of whole elements share.
fn joined(a: Cell, b: Cell) -> Option<Cell> {
    let (first, second) = (a.ty.scalar()?, b.ty.scalar()?);
    let size = u64::from(first.size());
    let end = a.end().max(b.end());
    let fits = first.size() == second.size()
        && interchangeable(Type::Scalar(first), Type::Scalar(second))
        && (b.start - a.start).is_multiple_of(size);
    let count = (end - a.start) / size;
    let vector = (2..=4).contains(&count).then_some(Type::Vector(first, count as u8));
    vector.filter(|_| fits).map(|ty| Cell { start: a.start, ty })
}
