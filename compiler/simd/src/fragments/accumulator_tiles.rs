//! Selects the sums that get an accumulator tile, and which tiles are neighbours.

use std::collections::BTreeMap;
use std::ops::Range;

use anymetal_ir::{Inst, MatrixOp, Op, Scalar, Type, Value};

use super::{AccumulatorTile, Slot};
use super::{Finder, Kind, Use, same_fragment};
use crate::storage::PromotedType;

impl Finder<'_> {
    /// The promoted variables that hold a sum: both `float`, different in each lane.
    fn sum_vars(&self, pointer: Value, value: Value, wg_uniform_vars: &[bool]) -> Option<Range<usize>> {
        let vars = self.vars(pointer, value)?;
        let float = PromotedType::Scalar(Scalar::F32);
        let is_fit = |var: usize| {
            self.facts.storage.vars[var].ty == float
                && !wg_uniform_vars[var]
                && self.divergence.variables[var].affine().is_none()
        };
        (self.facts.function.ty(value) == Type::Vector(Scalar::F32, 2)
            && vars.len() == 2
            && vars.clone().all(is_fit))
        .then_some(vars)
    }

    /// A sum that is kept has a tile: so several are computed before one is stored.
    pub(super) fn find_tiles(&mut self, wg_uniform_vars: &[bool]) {
        let function = self.facts.function;
        for &product in &self.products {
            let result = function.inst(product).result.expect("a product has a result");
            for usage in &self.uses[result.index()] {
                let Kind::Kept(pointer) = usage.kind else { continue };
                let Some(vars) = self.sum_vars(pointer, result, wg_uniform_vars) else { continue };
                let known = &mut self.found.tile_of_var;
                if vars.clone().any(|var| known.contains_key(&var)) {
                    continue;
                }
                let tile = self.found.tiles.len();
                self.found.tiles.push(AccumulatorTile { var: vars.start, slot: usize::MAX, side: 0 });
                for (element, var) in vars.enumerate() {
                    known.insert(var, (tile, element));
                }
            }
        }
    }

    pub(super) fn tile_at(&self, pointer: Value, value: Value) -> Option<usize> {
        let vars = self.vars(pointer, value)?;
        let &(tile, _) = self.found.tile_of_var.get(&vars.start)?;
        (vars.len() == 2).then_some(tile)
    }

    /// Sums to which products of the same first operand are added are contiguous, in order of the second.
    pub(super) fn pair_tiles(&mut self) {
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
                let Some(tile) = self.tile_of_sum(args[2], result) else { continue };
                let key = same_fragment(function, args[1]);
                let column = columns.iter().position(|&known| known == key).unwrap_or_else(|| {
                    columns.push(key);
                    columns.len() - 1
                });
                rows.entry(same_fragment(function, args[0])).or_default().push((column, tile));
            }
            for mut row in rows.into_values() {
                row.sort_unstable();
                row.retain(|&(_, tile)| self.found.tiles[tile].slot == usize::MAX);
                row.dedup_by_key(|&mut (_, tile)| tile);
                for [(_, left), (_, right)] in row.as_chunks().0 {
                    self.place_tiles(&[*left, *right]);
                }
            }
        }
        for tile in 0..self.found.tiles.len() {
            self.place_tiles(&[tile]);
        }
        assert!(
            self.found.tiles.iter().all(|tile| tile.slot < self.found.slots.len()),
            "each tile has a slot"
        );
    }

    /// The tile that a sum is loaded from, or else the one that its result is kept in.
    fn tile_of_sum(&self, sum: Value, result: Value) -> Option<usize> {
        if let Some(&Op::Load { ptr, .. }) = self.op_of(sum)
            && let Some(tile) = self.tile_at(ptr, sum)
        {
            return Some(tile);
        }
        self.uses[result.index()].iter().find_map(|usage| match usage.kind {
            Kind::Kept(pointer) => self.tile_at(pointer, result),
            _ => None,
        })
    }

    fn place_tiles(&mut self, tiles: &[usize]) {
        let is_free = |tile: &usize| self.found.tiles[*tile].slot == usize::MAX;
        if tiles.iter().all(is_free) && (tiles.len() == 1 || tiles[0] != tiles[1]) {
            let slot = self.found.slots.len();
            self.found.slots.push(Slot::new(tiles.len()));
            for (side, &tile) in tiles.iter().enumerate() {
                self.found.tiles[tile].slot = slot;
                self.found.tiles[tile].side = side;
            }
        }
    }

    pub(super) fn find_lazy_loads(&mut self) {
        let function = self.facts.function;
        for index in 0..function.insts.len() {
            let data = &function.insts[index];
            let (Op::Load { ptr, .. }, Some(result)) = (&data.op, data.result) else { continue };
            let Some(tile) = self.tile_at(*ptr, result) else { continue };
            let (block, at) = self.places[index];
            let uses = &self.uses[result.index()];
            let taken = |usage: &Use| (usage.block == block).then(|| self.taken_at(usage)).flatten();
            let taken: Option<Vec<usize>> = uses.iter().map(taken).collect();
            let Some(taken) = taken.filter(|_| at != usize::MAX && !self.saved.contains(&result)) else {
                continue;
            };
            let last = taken.into_iter().max().unwrap_or(at);
            let between = function.block(block).get(at + 1..last).unwrap_or(&[]);
            if between.iter().all(|&inst| self.preserves_tile(inst, tile)) {
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

    /// Whether the instruction certainly does not change the tile.
    fn preserves_tile(&self, inst: Inst, tile: usize) -> bool {
        let op = &self.facts.function.inst(inst).op;
        match op {
            Op::Store { ptr, value, .. } => {
                let vars = self.vars(*ptr, *value);
                vars.is_none_or(|mut vars| {
                    vars.all(|var| self.found.tile_of_var.get(&var).is_none_or(|&(other, _)| other != tile))
                })
            }
            Op::Matrix(..) | Op::Load { .. } | Op::Barrier(..) => true,
            op => op.only_computes(),
        }
    }
}
