//! Short loops by which a threadgroup loads a tile: a few rows far apart, a piece of each.
//!
//! The next threadgroup loads the pieces beside them. No hardware prefetcher follows that many rows over so many
//! threadgroups, so each iteration asks for its row's next piece, in the second level of caches. The tile's loop stands in no
//! other (such a loop goes on to other tiles of its own), and its argument is loaded nowhere else.

use super::grid::{Ahead, Loads, Rate};
use super::{Counted, Finder};
use crate::{Block, Inst, Op, Space, Type, Value};

/// The most rows of a tile.
const MAX_ROWS: u64 = 64;
/// Rows that lie closer together are one stretch, which the hardware follows.
const MIN_APART: u64 = 256;

/// The loads of tiles, but of arguments that `is_known`.
pub(super) fn loads_of_tiles(
    finder: &Finder<'_>,
    loads: &Loads,
    is_known: &dyn Fn(Value) -> bool,
) -> Vec<Ahead> {
    let mut found = Vec::new();
    finder.tiles_in(finder.function.body, &mut found);
    found.retain(|ahead| !is_known(ahead.root) && loads.of(ahead.root) == 1);
    found
}

impl Finder<'_> {
    fn tiles_in(&self, block: Block, found: &mut Vec<Ahead>) {
        let insts = self.function.block(block);
        for (at, &inst) in insts.iter().enumerate() {
            let op = &self.function.inst(inst).op;
            if let Op::Loop { label, body, .. } = *op {
                let counted = self.counted(label, body, &insts[..at]);
                if let Some(counted) = counted.filter(|counted| self.is_short(inst, counted)) {
                    self.rows_of_tile(body, &counted, found);
                }
            } else {
                op.blocks().into_iter().for_each(|nested| self.tiles_in(nested, found));
            }
        }
    }

    /// Whether a loop counts up to a small constant.
    fn is_short(&self, inst: Inst, counted: &Counted) -> bool {
        let end = self.function.as_const(counted.bound);
        let step = counted.counter.and_then(|counter| self.step(inst, counter));
        end.is_some_and(|end| end <= MAX_ROWS) && step.is_some()
    }

    /// The loads in a loop's body, or where a test of its allows them.
    fn rows_of_tile(&self, body: Block, counted: &Counted, found: &mut Vec<Ahead>) {
        for &access in self.function.block(body) {
            let data = self.function.inst(access);
            if let Op::If { then, otherwise, .. } = data.op {
                self.rows_of_tile(then, counted, found);
                self.rows_of_tile(otherwise, counted, found);
            }
            let (&Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            let Some(root) = self.root(pointer) else { continue };
            if self.function.ty(pointer) != Type::Ptr(Space::Device) || !self.is_far(pointer, counted) {
                continue;
            }
            if let Some(step) = self.next_threadgroup(pointer, Some(counted)) {
                let bytes = self.function.ty(result).size();
                found.push(Ahead { block: body, access, root, pointer, bytes, step });
            }
        }
    }

    /// Whether the pointer goes far with each iteration.
    fn is_far(&self, pointer: Value, counted: &Counted) -> bool {
        let rate = self.rate(pointer, &|op| self.is_index(op, counted.counter).map(|_| Rate::Known(1)));
        rate.is_some_and(|rate| !matches!(rate, Rate::Known(known) if known.unsigned_abs() < MIN_APART))
    }
}
