//! Which sums get a home, and which homes lie side by side.

use std::collections::BTreeMap;
use std::ops::Range;

use anymetal_ir::{Inst, MatrixOp, Op, Scalar, Type, Value};

use super::{Finder, Kind, Use, same_fragment};
use crate::cpu::emit::group::is_pure;
use crate::cpu::emit::matrix::accumulator_tiles::{Home, Slot};
use crate::cpu::storage::CellType;

impl Finder<'_> {
    /// The cells that hold a sum: both `float`, different in each lane.
    fn sum_cells(&self, pointer: Value, value: Value, group_cells: &[bool]) -> Option<Range<usize>> {
        let cells = self.cells(pointer, value)?;
        let float = CellType::Scalar(Scalar::F32);
        let is_fit = |cell: usize| {
            self.facts.storage.cells[cell].ty == float
                && !group_cells[cell]
                && self.flow.cells[cell].affine().is_none()
        };
        (self.facts.function.ty(value) == Type::Vector(Scalar::F32, 2)
            && cells.len() == 2
            && cells.clone().all(is_fit))
        .then_some(cells)
    }

    /// A sum that is kept has a home: so several are computed before one is stored.
    pub(super) fn find_homes(&mut self, group_cells: &[bool]) {
        let function = self.facts.function;
        for &product in &self.products {
            let Some(result) = function.inst(product).result else { continue };
            for usage in &self.uses[result.index()] {
                let Kind::Kept(pointer) = usage.kind else { continue };
                let Some(cells) = self.sum_cells(pointer, result, group_cells) else { continue };
                let known = &mut self.found.home_of_cell;
                if cells.clone().any(|cell| known.contains_key(&cell)) {
                    continue;
                }
                let home = self.found.homes.len();
                self.found.homes.push(Home { cell: cells.start, slot: usize::MAX, side: 0 });
                for (element, cell) in cells.enumerate() {
                    known.insert(cell, (home, element));
                }
            }
        }
    }

    pub(super) fn home_at(&self, pointer: Value, value: Value) -> Option<usize> {
        let cells = self.cells(pointer, value)?;
        let &(home, _) = self.found.home_of_cell.get(&cells.start)?;
        (cells.len() == 2).then_some(home)
    }

    /// Sums to which products of the same first factor are added lie side by side, in order of the second.
    pub(super) fn pair_homes(&mut self) {
        let function = self.facts.function;
        for block in self.blocks.clone() {
            let mut rows: BTreeMap<[Value; 2], Vec<(usize, usize)>> = BTreeMap::new();
            let mut columns: Vec<[Value; 2]> = Vec::new();
            for &inst in function.block(block) {
                let data = function.inst(inst);
                let (Op::Matrix(MatrixOp::MultiplyAccumulate, args), Some(result)) = (&data.op, data.result)
                else {
                    continue;
                };
                let Some(home) = self.home_of_sum(args[2], result) else { continue };
                let key = same_fragment(function, args[1]);
                let column = columns.iter().position(|&known| known == key).unwrap_or_else(|| {
                    columns.push(key);
                    columns.len() - 1
                });
                rows.entry(same_fragment(function, args[0])).or_default().push((column, home));
            }
            for mut row in rows.into_values() {
                row.sort_unstable();
                row.retain(|&(_, home)| self.found.homes[home].slot == usize::MAX);
                row.dedup_by_key(|&mut (_, home)| home);
                for pair in row.chunks_exact(2) {
                    self.place_homes(&[pair[0].1, pair[1].1]);
                }
            }
        }
        for home in 0..self.found.homes.len() {
            self.place_homes(&[home]);
        }
    }

    /// The home that a sum is loaded from, or else the one that its result is kept in.
    fn home_of_sum(&self, sum: Value, result: Value) -> Option<usize> {
        if let Some(&Op::Load { ptr, .. }) = self.op_of(sum)
            && let Some(home) = self.home_at(ptr, sum)
        {
            return Some(home);
        }
        self.uses[result.index()].iter().find_map(|usage| match usage.kind {
            Kind::Kept(pointer) => self.home_at(pointer, result),
            _ => None,
        })
    }

    fn place_homes(&mut self, homes: &[usize]) {
        let is_free = |home: &usize| self.found.homes[*home].slot == usize::MAX;
        if homes.iter().all(is_free) && (homes.len() == 1 || homes[0] != homes[1]) {
            let slot = self.found.slots.len();
            self.found.slots.push(Slot::new(homes.len()));
            for (side, &home) in homes.iter().enumerate() {
                self.found.homes[home].slot = slot;
                self.found.homes[home].side = side;
            }
        }
    }

    pub(super) fn find_lazy_loads(&mut self) {
        let function = self.facts.function;
        for index in 0..function.insts.len() {
            let data = &function.insts[index];
            let (Op::Load { ptr, .. }, Some(result)) = (&data.op, data.result) else { continue };
            let Some(home) = self.home_at(*ptr, result) else { continue };
            let (block, at) = self.places[index];
            let uses = &self.uses[result.index()];
            let taken = |usage: &Use| (usage.block == block).then(|| self.taken_at(usage)).flatten();
            let taken: Option<Vec<usize>> = uses.iter().map(taken).collect();
            let Some(taken) = taken.filter(|_| at != usize::MAX && !self.saved.contains(&result)) else {
                continue;
            };
            let last = taken.into_iter().max().unwrap_or(at);
            let between = function.block(block).get(at + 1..last).unwrap_or(&[]);
            if between.iter().all(|&inst| self.leaves_home(inst, home)) {
                self.found.lazy.insert(result);
            }
        }
    }

    /// Where in its block an operation that knows rows reads the value.
    fn taken_at(&self, usage: &Use) -> Option<usize> {
        let by = self.facts.function.block(usage.block)[usage.at];
        match usage.kind {
            Kind::Sum | Kind::Rows => Some(usage.at),
            _ => self.found.put_off.get(&by).map(|store| self.places[store.index()].1),
        }
    }

    /// Whether the instruction certainly does not change the home.
    fn leaves_home(&self, inst: Inst, home: usize) -> bool {
        let op = &self.facts.function.inst(inst).op;
        match op {
            Op::Store { ptr, value, .. } => {
                let cells = self.cells(*ptr, *value);
                cells.is_none_or(|mut cells| {
                    cells.all(|cell| {
                        self.found.home_of_cell.get(&cell).is_none_or(|&(other, _)| other != home)
                    })
                })
            }
            Op::Matrix(..) | Op::Load { .. } | Op::Barrier(_) => true,
            op => is_pure(op),
        }
    }
}
