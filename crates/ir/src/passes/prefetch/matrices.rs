//! Where a threadgroup stores the result of its matrix products.
//!
//! Threadgroups of a matrix product store tiles of a result whose rows are far apart, all at their end. Stores
//! are done in order, so each waits for its line to come from memory. While the loop before them multiplies,
//! memory has little to do: each iteration asks for a few of the lines. Which ones a counter says; when all were asked
//! for it begins anew, since tiles of factors pass through the same caches.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Finder, Hints};
use crate::analysis::{Found, Linear, Terms, walk_insts};
use crate::{
    BinOp, Block, CastOp, CmpOp, Function, Inst, MatrixOp, Op, PrefetchHint, Scalar, Space, Type, Value,
};

/// Rows of a fragment.
const ROWS: u64 = 8;
/// Bytes of a cache line.
const LINE: i64 = 64;
/// Lines that one iteration asks for.
const AT_ONCE: usize = 4;
/// The most operations that one address takes.
const MAX_OPERATIONS: usize = 24;

/// A loop of products, and the stores behind it.
pub(super) struct Tiles {
    /// The loop and its block.
    outer: Block,
    inst: Inst,
    /// Where its products begin.
    body: Block,
    products: Inst,
    /// The values that are known in front of the loop.
    visible: Vec<bool>,
    stores: Vec<TileStore>,
}

/// A fragment's store.
#[derive(Clone, Copy)]
struct TileStore {
    pointer: Value,
    /// Elements from row to row.
    stride: Value,
    /// Bytes of an element.
    size: u32,
}

/// The loops of products whose results are stored behind them in fragments.
pub(super) fn tiles(finder: &Finder<'_>) -> Vec<Tiles> {
    let function = finder.function;
    let mut visible = vec![false; function.values.len()];
    for param in &function.params {
        visible[param.index()] = true;
    }
    let mut found = Vec::new();
    in_block(finder, function.body, &mut visible, &mut found);
    found
}

fn in_block(finder: &Finder<'_>, block: Block, visible: &mut Vec<bool>, found: &mut Vec<Tiles>) {
    let function = finder.function;
    let insts = function.block(block);
    for (at, &inst) in insts.iter().enumerate() {
        let op = &function.inst(inst).op;
        let products = match *op {
            Op::Loop { body, .. } => first_with_products(function, body).map(|products| (body, products)),
            _ => None,
        };
        let mut stores = Vec::new();
        for &behind in insts[at + 1..].iter().filter(|_| products.is_some()) {
            tile_stores(finder, behind, &mut stores);
        }
        match products {
            Some((body, products)) if !stores.is_empty() => {
                let (stores, visible) = (one_each_line(function, stores), visible.clone());
                found.push(Tiles { outer: block, inst, body, products, visible, stores });
            }
            _ => op.blocks().into_iter().for_each(|nested| in_block(finder, nested, visible, found)),
        }
        if let Some(result) = function.inst(inst).result {
            visible[result.index()] = true;
        }
    }
    for result in insts.iter().filter_map(|&inst| function.inst(inst).result) {
        visible[result.index()] = false;
    }
}

/// The first instruction of a block that loads or multiplies matrices, if there are products.
fn first_with_products(function: &Function, body: Block) -> Option<Inst> {
    let mut products = false;
    walk_insts(function, body, &mut |inst| {
        products |= matches!(function.inst(inst).op, Op::Matrix(MatrixOp::MultiplyAccumulate, _));
    });
    let has_matrices = |&inst: &Inst| {
        let op = &function.inst(inst).op;
        let mut found = matches!(op, Op::Matrix(..));
        for block in op.blocks() {
            walk_insts(function, block, &mut |inst| {
                found |= matches!(function.inst(inst).op, Op::Matrix(..));
            });
        }
        found
    };
    function.block(body).iter().copied().find(has_matrices).filter(|_| products)
}

/// The stores of fragments to buffers in an instruction and what is nested in it.
fn tile_stores(finder: &Finder<'_>, inst: Inst, found: &mut Vec<TileStore>) {
    let function = finder.function;
    let op = &function.inst(inst).op;
    if let Op::Matrix(MatrixOp::Store { transpose: false }, args) = op
        && let &[pointer, stride, fragment] = args.as_slice()
        && function.ty(pointer) == Type::Ptr(Space::Device)
        && finder.root(pointer).is_some()
        && let Some(scalar) = function.ty(fragment).scalar()
    {
        found.push(TileStore { pointer, stride, size: scalar.size() });
    }
    for block in op.blocks() {
        for &nested in function.block(block) {
            tile_stores(finder, nested, found);
        }
    }
}

/// Without those that store less than a line behind another.
fn one_each_line(function: &Function, mut found: Vec<TileStore>) -> Vec<TileStore> {
    let mut kept: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    found.retain(|store| {
        let Some(place) = Linear::of(function, store.pointer, &Widened(function)) else { return true };
        let others = kept.entry(place.terms).or_default();
        let is_new = others.iter().all(|other| !(0..LINE).contains(&place.constant.wrapping_sub(*other)));
        if is_new {
            others.push(place.constant);
        }
        is_new
    });
    found
}

/// Sums whose narrow parts are taken for exact: a hint may be wrong.
pub(super) struct Widened<'f>(pub(super) &'f Function);

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

impl Tiles {
    /// Counts the loop's iterations, and asks for lines in each.
    pub(super) fn insert(&self, function: &mut Function) {
        let int = Type::Scalar(Scalar::I32);
        let mut hints = Hints::new(function);
        let copied = self.copy_addresses(&mut hints);
        if copied.is_empty() {
            return;
        }
        let local = hints.function.add_local("asked", 4, 4);
        let counter = hints.value(Op::LocalAddr(local), Type::Ptr(Space::Thread));
        let count = hints.value(Op::Load { ptr: counter, align: 4, volatile: false }, int);
        let one = hints.value(Op::Const(1), int);
        let more = hints.value(Op::Binary(BinOp::Add, count, one), int);
        hints.effect(Op::Store { ptr: counter, value: more, align: 4, volatile: false });
        let parts: Vec<&[TileStore]> = copied.chunks(AT_ONCE).collect();
        // The row changes fastest: stores of one part lie beside each other.
        let mask = hints.value(Op::Const(ROWS - 1), int);
        let row = hints.value(Op::Binary(BinOp::And, count, mask), int);
        let row = hints.long(row);
        if let [part] = parts.as_slice() {
            ask(&mut hints, part, row);
        } else {
            let rows = hints.value(Op::Const(ROWS), int);
            let turn = hints.value(Op::Binary(BinOp::UDiv, count, rows), int);
            let turns = hints.value(Op::Const(parts.len() as u64), int);
            let turn = hints.value(Op::Binary(BinOp::URem, turn, turns), int);
            for (number, part) in parts.iter().enumerate() {
                let number = hints.value(Op::Const(number as u64), int);
                let own = hints.value(Op::Compare(CmpOp::Eq, turn, number), Type::Scalar(Scalar::Bool));
                let mut asks = Hints::new(hints.function);
                ask(&mut asks, part, row);
                let then = asks.into_block();
                let otherwise = hints.function.add_block();
                hints.effect(Op::If { cond: own, then, otherwise });
            }
        }
        hints.put_before(self.body, self.products);

        let mut start = Hints::new(function);
        let counter = start.value(Op::LocalAddr(local), Type::Ptr(Space::Thread));
        let zero = start.value(Op::Const(0), int);
        start.effect(Op::Store { ptr: counter, value: zero, align: 4, volatile: false });
        start.put_before(self.outer, self.inst);
    }

    /// Addresses in terms of what is known in front of the loop, of the stores for which that can be said.
    fn copy_addresses(&self, hints: &mut Hints<'_>) -> Vec<TileStore> {
        let mut copies = Copies { visible: &self.visible, copied: FxHashMap::default() };
        let mut addresses = Vec::new();
        for store in &self.stores {
            let mut left = MAX_OPERATIONS;
            let mut copy = |value| copies.copy(hints, value, &mut left);
            if let (Some(pointer), Some(stride)) = (copy(store.pointer), copy(store.stride)) {
                addresses.push(TileStore { pointer, stride, size: store.size });
            }
        }
        addresses
    }
}

/// Asks for a row of each tile.
fn ask(hints: &mut Hints<'_>, tiles: &[TileStore], row: Value) {
    for &TileStore { pointer, stride, size } in tiles {
        let ty = hints.function.ty(pointer);
        let behind = hints.value(Op::Binary(BinOp::Mul, row, stride), Type::Scalar(Scalar::I64));
        let at = Op::PtrAdd { base: pointer, index: Some(behind), scale: size, offset: 0 };
        let ptr = hints.value(at, ty);
        hints.effect(Op::Prefetch { ptr, bytes: ROWS as u32 * size, access: PrefetchHint::Write });
    }
}

/// Computations done a second time.
struct Copies<'a> {
    visible: &'a [bool],
    copied: FxHashMap<Value, Value>,
}

impl Copies<'_> {
    fn copy(&mut self, hints: &mut Hints<'_>, value: Value, left: &mut usize) -> Option<Value> {
        if self.visible.get(value.index()) == Some(&true) {
            return Some(value);
        }
        if let Some(&known) = self.copied.get(&value) {
            return Some(known);
        }
        *left = left.checked_sub(1)?;
        let mut op = hints.function.def(value).filter(|op| op.is_pure())?.clone();
        let mut complete = true;
        op.for_each_operand_mut(|operand| match self.copy(hints, *operand, left) {
            Some(copied) => *operand = copied,
            None => complete = false,
        });
        let ty = hints.function.ty(value);
        let copied = complete.then(|| hints.value(op, ty))?;
        self.copied.insert(value, copied);
        Some(copied)
    }
}
