//! Where the next threadgroup stores the result of its matrix products.
//!
//! Threadgroups of a matrix product store tiles of a result whose rows are far apart, all at their end. Stores
//! are done in order, so each waits for its line to come from memory. The next threadgroup's tile lies beside
//! this one's: its lines are asked for here, and come while that threadgroup multiplies.

use std::collections::BTreeMap;

use super::{DEPTH, Finder, Gain, Hints};
use crate::analysis::{Found, Linear, Terms, walk_insts};
use crate::{Awaited, Block, CastOp, Function, Inst, MatrixOp, Op, Query, Space, Type, Value};

/// Rows of a fragment.
const ROWS: u32 = 8;
/// Bytes of a cache line.
const LINE: i64 = 64;

/// A fragment's store.
pub(super) struct TileStore {
    block: Block,
    inst: Inst,
    pointer: Value,
    /// Elements from row to row.
    stride: Value,
    /// Bytes of an element.
    size: u32,
    /// Bytes to the next threadgroup's place.
    gain: i64,
}

/// The stores of fragments that the next threadgroup does beside; none if no loop multiplies before.
pub(super) fn stores(finder: &Finder<'_>) -> Vec<TileStore> {
    let function = finder.function;
    let mut found = Vec::new();
    if multiplies_in_loop(function) {
        in_block(finder, function.body, &mut found);
    }
    one_each_line(function, found)
}

/// Without those that store less than a line behind another.
fn one_each_line(function: &Function, mut found: Vec<TileStore>) -> Vec<TileStore> {
    let mut kept: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    found.retain(|store| {
        let Some(place) = Linear::of(function, store.pointer, &Widened(function)) else { return true };
        let others = kept.entry((store.block, place.terms)).or_default();
        let is_new = others.iter().all(|other| !(0..LINE).contains(&place.constant.wrapping_sub(*other)));
        if is_new {
            others.push(place.constant);
        }
        is_new
    });
    found
}

/// Sums whose narrow parts are taken for exact: a hint may be wrong.
struct Widened<'f>(&'f Function);

impl Terms for Widened<'_> {
    type Term = Value;

    fn find(&self, value: Value) -> Option<Found<Value>> {
        match self.0.def(value) {
            // Widened at most from 8 bits to 64, so not for long.
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, narrow)) => {
                Some(Found::Sum(Linear::of(self.0, narrow, self)?))
            }
            _ => Some(Found::Arithmetic),
        }
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}

fn multiplies_in_loop(function: &Function) -> bool {
    let mut found = false;
    walk_insts(function, function.body, &mut |inst| {
        if let Op::Loop { body, .. } = function.inst(inst).op {
            walk_insts(function, body, &mut |inst| {
                found |= matches!(function.inst(inst).op, Op::Matrix(MatrixOp::MultiplyAccumulate, _));
            });
        }
    });
    found
}

fn in_block(finder: &Finder<'_>, block: Block, found: &mut Vec<TileStore>) {
    let function = finder.function;
    for &inst in function.block(block) {
        let op = &function.inst(inst).op;
        if let Op::Matrix(MatrixOp::Store { transpose: false }, args) = op
            && let &[pointer, stride, fragment] = args.as_slice()
        {
            found.extend(tile_store(finder, block, inst, (pointer, stride, fragment)));
        }
        for nested in op.blocks() {
            in_block(finder, nested, found);
        }
    }
}

fn tile_store(
    finder: &Finder<'_>,
    block: Block,
    inst: Inst,
    (pointer, stride, fragment): (Value, Value, Value),
) -> Option<TileStore> {
    let function = finder.function;
    if function.ty(pointer) != Type::Ptr(Space::Device) {
        return None;
    }
    finder.root(pointer)?;
    let axis = Op::Query(Query::ThreadgroupPositionInGrid(0));
    let gain = finder.gain(pointer, &|op| (*op == axis).then_some(Gain::ONE), DEPTH)?;
    let Gain { value: None, times: gain @ 1.. } = gain else { return None };
    let size = function.ty(fragment).scalar()?.size();
    Some(TileStore { block, inst, pointer, stride, size, gain })
}

impl TileStore {
    /// Puts the prefetches behind the store.
    pub(super) fn insert(&self, function: &mut Function) {
        let ty = function.ty(self.pointer);
        let mut hints = Hints::new(function);
        for row in 0..ROWS {
            let index = (row > 0).then_some(self.stride);
            let scale = (row * self.size).max(1);
            let ptr = hints.value(Op::PtrAdd { base: self.pointer, index, scale, offset: self.gain }, ty);
            hints.effect(Op::Prefetch { ptr, bytes: ROWS * self.size, access: Awaited::Write });
        }
        hints.put_behind(self.block, self.inst);
    }
}
