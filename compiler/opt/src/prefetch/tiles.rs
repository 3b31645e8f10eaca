//! Prefetches in short loops that load a tile: a segment of each of a few distant rows.
//!
//! The next threadgroup loads the adjacent segments. Hardware prefetchers cannot track that many rows across
//! threadgroups, so each iteration prefetches its row's next segment into the second-level cache. Requires
//! that the loop is not nested in another one, which would go on to other tiles, and that the argument has no
//! other loads.

use super::grid::{Advance, BufferLoads, LoadAhead};
use super::{CountedRange, Finder};
use crate::limits::MAX_TILE_ROWS;
use anymetal_ir::{Block, Op, Space, Type, Value};

/// Minimum bytes between rows: closer rows are one stream, which hardware prefetchers follow.
const MIN_ROW_PITCH: u64 = 256;

/// The loads of tiles, except of arguments that have prefetches already (`has_site`).
pub(super) fn loads_of_tiles(
    finder: &Finder<'_>,
    loads: &BufferLoads,
    has_site: &dyn Fn(Value) -> bool,
) -> Vec<LoadAhead> {
    let mut found = Vec::new();
    finder.tiles_in(finder.function.body, &mut found);
    found.retain(|load| !has_site(load.root) && loads.of(load.root) == 1);
    found
}

impl Finder<'_> {
    fn tiles_in(&self, block: Block, found: &mut Vec<LoadAhead>) {
        let insts = self.function.block(block);
        for &inst in insts {
            let op = &self.function.inst(inst).op;
            if let Op::Loop { label, body, .. } = *op {
                let counted = self.counted(inst, label, body);
                if let Some(counted) = counted.filter(|counted| self.is_short(counted)) {
                    self.rows_of_tile(body, &counted, found);
                }
            } else {
                op.blocks().into_iter().for_each(|nested| self.tiles_in(nested, found));
            }
        }
    }

    /// Whether a loop counts to a small constant.
    fn is_short(&self, counted: &CountedRange) -> bool {
        let end = self.function.as_const(counted.bound);
        let step = counted.counter.and_then(|counter| self.loops.step(counter));
        end.is_some_and(|end| end <= MAX_TILE_ROWS) && step.is_some()
    }

    /// The loads in a loop's body, or in a branch of it.
    fn rows_of_tile(&self, body: Block, counted: &CountedRange, found: &mut Vec<LoadAhead>) {
        for &access in self.function.block(body) {
            let data = self.function.inst(access);
            if let Op::If { then, otherwise, .. } = data.op {
                self.rows_of_tile(then, counted, found);
                self.rows_of_tile(otherwise, counted, found);
            }
            let (&Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            let Some(root) = self.root(pointer) else { continue };
            if self.function.ty(pointer) != Type::Ptr(Space::Device) || !self.has_row_pitch(pointer, counted)
            {
                continue;
            }
            if let Some(step) = self.distance_to_next_threadgroup(pointer, Some(counted)) {
                let bytes = self.function.ty(result).size();
                found.push(LoadAhead { block: body, access, root, pointer, bytes, step });
            }
        }
    }

    /// Whether the pointer advances by at least the minimum row pitch per iteration.
    fn has_row_pitch(&self, pointer: Value, counted: &CountedRange) -> bool {
        let advance = self.advance(pointer, &|value| self.is_index(value, counted.counter));
        advance.is_some_and(
            |advance| !matches!(advance, Advance::Known(known) if known.unsigned_abs() < MIN_ROW_PITCH),
        )
    }
}
