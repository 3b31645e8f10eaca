//! Prefetches of the result tiles of matrix products.
//!
//! A threadgroup of a matrix product stores a tile whose rows are far apart, all at its end. Stores retire in
//! order, so each waits for its cache line. While the loop before them multiplies, memory is idle: each
//! iteration prefetches a few of the lines for writing. A counter selects them; it wraps around, since the
//! operands' tiles evict lines from the same caches.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Finder;
use super::hints::PrefetchBuilder;
use crate::limits::MAX_PREFETCH_CLONES;
use anymetal_analysis::{Linear, TermClass, TermPolicy, walk_insts};
use anymetal_ir::{
    BinOp, Block, CastOp, CmpOp, Function, Inst, MatrixOp, Op, PrefetchHint, Scalar, Space, Type, Value,
};

/// Rows of a fragment.
const ROWS: u64 = 8;
/// Bytes of a cache line.
const LINE_BYTES: i64 = 64;
/// Maximum number of stores whose lines one iteration prefetches.
const LINES_PER_ITERATION: usize = 4;

/// A loop of matrix products, and the stores after it.
pub(super) struct ResultTiles {
    /// The loop and its block.
    outer: Block,
    inst: Inst,
    /// The first instruction of its body that loads or multiplies matrices.
    body: Block,
    products: Inst,
    /// The values that are defined before the loop.
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

/// The loops of products whose results are stored after them in fragments.
pub(super) fn result_tiles(finder: &Finder<'_>) -> Vec<ResultTiles> {
    let function = finder.function;
    let mut visible = vec![false; function.values.len()];
    for param in &function.params {
        visible[param.index()] = true;
    }
    let mut found = Vec::new();
    in_block(finder, function.body, &mut visible, &mut found);
    found
}

fn in_block(finder: &Finder<'_>, block: Block, visible: &mut Vec<bool>, found: &mut Vec<ResultTiles>) {
    let function = finder.function;
    let insts = function.block(block);
    let definitions = |inst: Inst| {
        let data = function.inst(inst);
        data.result.into_iter().chain(data.op.results().iter().copied())
    };
    for (at, &inst) in insts.iter().enumerate() {
        let op = &function.inst(inst).op;
        let products = match *op {
            Op::Loop { body, .. } => first_with_products(function, body).map(|products| (body, products)),
            _ => None,
        };
        let mut stores = Vec::new();
        for &offset in insts[at + 1..].iter().filter(|_| products.is_some()) {
            tile_stores(finder, offset, &mut stores);
        }
        match products {
            Some((body, products)) if !stores.is_empty() => {
                let (stores, visible) = (one_each_line(function, stores), visible.clone());
                found.push(ResultTiles { outer: block, inst, body, products, visible, stores });
            }
            _ => {
                op.params().iter().for_each(|param| visible[param.index()] = true);
                op.blocks().into_iter().for_each(|nested| in_block(finder, nested, visible, found));
                op.params().iter().for_each(|param| visible[param.index()] = false);
            }
        }
        definitions(inst).for_each(|value| visible[value.index()] = true);
    }
    for value in insts.iter().flat_map(|&inst| definitions(inst)) {
        assert!(visible[value.index()], "{value} leaves its scope before the end of {block}");
        visible[value.index()] = false;
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
    function.block(body).iter().cloned().find(has_matrices).filter(|_| products)
}

/// The stores of fragments to buffers in an instruction and those nested in it.
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

/// Removes stores that are less than a cache line after another.
fn one_each_line(function: &Function, mut found: Vec<TileStore>) -> Vec<TileStore> {
    let mut kept: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    found.retain(|store| {
        let Some(place) = Linear::of(function, store.pointer, &Widened(function)) else {
            // The address is not linear, so the store may need a separate prefetch.
            return true;
        };
        let others = kept.entry(place.terms).or_default();
        let is_new =
            others.iter().all(|other| !(0..LINE_BYTES).contains(&place.constant.wrapping_sub(*other)));
        if is_new {
            others.push(place.constant);
        }
        is_new
    });
    found
}

/// Treats extensions as exact: a prefetch may be wrong.
pub(super) struct Widened<'f>(pub(super) &'f Function);

impl TermPolicy for Widened<'_> {
    type Term = Value;

    fn find(&self, value: Value) -> Option<TermClass<Value>> {
        match self.0.def(value) {
            // At most three extensions, from 8 bits to 64, so the recursion is bounded.
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, narrow)) => {
                Some(TermClass::Sum(Linear::of(self.0, narrow, self)?))
            }
            _ => Some(TermClass::Arithmetic),
        }
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}

impl ResultTiles {
    /// Counts the loop's iterations, and prefetches lines in each.
    pub(super) fn insert(&self, function: &mut Function) {
        let int = Type::Scalar(Scalar::I32);
        let mut hints = PrefetchBuilder::new(function);
        let cloned = self.clone_addresses(&mut hints);
        if cloned.is_empty() {
            // No address can be computed before the loop.
            return;
        }
        let local = hints.function.add_local("asked", 4, 4);
        let counter = hints.value(Op::LocalAddr(local), Type::Ptr(Space::Thread));
        let count = hints.value(Op::Load { ptr: counter, align: 4, volatile: false }, int);
        let one = hints.value(Op::Const(1), int);
        let more = hints.value(Op::Binary(BinOp::Add, count, one), int);
        hints.effect(Op::Store { ptr: counter, value: more, align: 4, volatile: false });
        let parts: Vec<&[TileStore]> = cloned.chunks(LINES_PER_ITERATION).collect();
        // The row changes fastest: stores of one part are adjacent.
        let mask = hints.value(Op::Const(ROWS - 1), int);
        let row = hints.value(Op::Binary(BinOp::And, count, mask), int);
        let row = hints.long(row);
        if let [part] = parts.as_slice() {
            prefetch_rows(&mut hints, part, row);
        } else {
            let rows = hints.value(Op::Const(ROWS), int);
            let part_index = hints.value(Op::Binary(BinOp::UDiv, count, rows), int);
            let part_count = hints.value(Op::Const(parts.len() as u64), int);
            let part_index = hints.value(Op::Binary(BinOp::URem, part_index, part_count), int);
            for (number, part) in parts.iter().enumerate() {
                let number = hints.value(Op::Const(number as u64), int);
                let own = hints.value(Op::Compare(CmpOp::Eq, part_index, number), Type::Scalar(Scalar::Bool));
                let mut nested_hints = PrefetchBuilder::new(hints.function);
                prefetch_rows(&mut nested_hints, part, row);
                let then = nested_hints.into_block();
                let otherwise = hints.function.add_block();
                hints.effect(Op::branch(own, then, otherwise));
            }
        }
        hints.insert_before(self.body, self.products);

        let mut start = PrefetchBuilder::new(function);
        let counter = start.value(Op::LocalAddr(local), Type::Ptr(Space::Thread));
        let zero = start.value(Op::Const(0), int);
        start.effect(Op::Store { ptr: counter, value: zero, align: 4, volatile: false });
        start.insert_before(self.outer, self.inst);
    }

    /// Clones the addresses of stores before the loop, of those that can be computed there.
    fn clone_addresses(&self, hints: &mut PrefetchBuilder<'_>) -> Vec<TileStore> {
        let mut copies = AddressCloner { visible: &self.visible, cloned: FxHashMap::default() };
        let mut addresses = Vec::new();
        for store in &self.stores {
            let mut left = MAX_PREFETCH_CLONES;
            let mut copy = |value| copies.copy(hints, value, &mut left);
            if let (Some(pointer), Some(stride)) = (copy(store.pointer), copy(store.stride)) {
                addresses.push(TileStore { pointer, stride, size: store.size });
            }
        }
        addresses
    }
}

/// Prefetches a row of each tile.
fn prefetch_rows(hints: &mut PrefetchBuilder<'_>, result_tiles: &[TileStore], row: Value) {
    for &TileStore { pointer, stride, size } in result_tiles {
        let ty = hints.function.ty(pointer);
        let offset = hints.value(Op::Binary(BinOp::Mul, row, stride), Type::Scalar(Scalar::I64));
        let at = Op::PtrAdd { base: pointer, index: Some(offset), scale: size, offset: 0 };
        let ptr = hints.value(at, ty);
        hints.effect(Op::Prefetch { ptr, bytes: ROWS as u32 * size, access: PrefetchHint::Write });
    }
}

/// Clones pure computations of values that are not visible.
struct AddressCloner<'a> {
    visible: &'a [bool],
    cloned: FxHashMap<Value, Value>,
}

impl AddressCloner<'_> {
    fn copy(&mut self, hints: &mut PrefetchBuilder<'_>, value: Value, left: &mut usize) -> Option<Value> {
        if self.visible.get(value.index()) == Some(&true) {
            return Some(value);
        }
        if let Some(&known) = self.cloned.get(&value) {
            return Some(known);
        }
        *left = left.checked_sub(1)?;
        let mut op = hints.function.def(value).filter(|op| op.is_pure())?.clone();
        let mut complete = true;
        op.for_each_operand_mut(|operand| match self.copy(hints, *operand, left) {
            Some(cloned) => *operand = cloned,
            None => complete = false,
        });
        let ty = hints.function.ty(value);
        let cloned = complete.then(|| hints.value(op, ty))?;
        self.cloned.insert(value, cloned);
        Some(cloned)
    }
}
