//! Analysis of fragments before emission: `accumulator_tiles` (which sums get a tile), `operands` (which
//! operands are read directly from memory), and here the number of uses of results.
//!
//! Invariant: facts hold on every path; a fragment without certain facts is treated like any other value.

mod accumulator_tiles;
mod element_stores;
mod operands;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anymetal_ir::{Block, CastOp, Function, Inst, MatrixOp, Op, Scalar, Value};

use crate::facts::Facts;
use crate::regions::Regions;
use anymetal_analysis::divergence::{Divergence, LANES};
pub use element_stores::ElementStores;

/// The side of a matrix.
pub const SIDE: usize = 8;

/// Bytes of a row of one fragment.
pub const ROW: i64 = 4 * SIDE as i64;

/// Where a sum lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccumulatorTile {
    /// The first of the two promoted variables.
    pub var: usize,
    /// In which memory.
    pub slot: usize,
    /// Left (0) or right in it.
    pub side: usize,
}

/// Memory of one tile, or of two side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// How many.
    pub tiles: usize,
    /// Where it is in the frame, if regions share it.
    pub in_frame: Option<i64>,
}

impl Slot {
    /// For as many tiles.
    pub fn new(tiles: usize) -> Self {
        assert!((1..=2).contains(&tiles), "a slot is for a tile or a pair, not for {tiles}");
        Self { tiles, in_frame: None }
    }

    /// Bytes from row to row.
    pub fn step(&self) -> i64 {
        ROW * self.tiles as i64
    }

    /// All bytes.
    pub fn bytes(&self) -> i64 {
        self.step() * SIDE as i64
    }
}

/// Row and first column that a lane holds, in Metal's layout.
pub fn place_of(lane: usize) -> (usize, usize) {
    assert!(lane < LANES, "a SIMD-group has no lane {lane}");
    let quad = lane / 4;
    ((quad & 4) + (lane / 2) % 4, (quad & 2) * 2 + (lane % 2) * 2)
}

/// A fragment whose two elements the program loads by itself, in Metal's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The loads of the elements.
    pub loads: [Inst; 2],
    /// The first element's pointer.
    pub pointer: Value,
    /// The type of elements in memory.
    pub scalar: Scalar,
    /// Bytes from row to row in memory, or from column to column.
    pub step: i64,
    /// Rows in memory are columns.
    pub transpose: bool,
}

/// The results.
#[derive(Debug, Default)]
pub struct Fragments {
    /// Sums that are in memory in rows.
    pub tiles: Vec<AccumulatorTile>,
    /// The memory they are in.
    pub slots: Vec<Slot>,
    /// By promoted variable: its tile, and which element of the fragment it is.
    pub tile_of_var: BTreeMap<usize, (usize, usize)>,
    /// Loads of tiles that are read before the tile changes, by operations that know rows.
    pub lazy: BTreeSet<Value>,
    /// Loaded matrices that only products of the same block take as operands, and how many.
    pub operands: BTreeMap<Value, usize>,
    /// The same, for fragments made of loads of elements.
    pub joined: BTreeMap<Value, (Joined, usize)>,
    /// The loads that are part of these and of nothing else, and their conversions.
    pub parts: BTreeSet<Value>,
    /// By the store of their second element: fragments stored element by element.
    pub element_stores: BTreeMap<Inst, ElementStores>,
    /// What is done with that store, and which it is.
    pub put_off: BTreeMap<Inst, Inst>,
    /// By result of a product.
    pub results: BTreeMap<Value, ResultUses>,
}

/// How the result of a product is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResultUses {
    /// As the sum to which another product is added.
    pub sums: usize,
    /// Stores to a tile.
    pub kept: usize,
    /// Otherwise.
    pub others: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Operand,
    Sum,
    /// Stored by a matrix store.
    Rows,
    /// Stored through this pointer.
    Kept(Value),
    /// Part of a vector of two.
    Part(Value),
    /// Converted to this number.
    Converted(Value),
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    block: Block,
    at: usize,
    kind: Kind,
}

/// Of a value that another region takes.
const ELSEWHERE: Use = Use { block: Block(0), at: 0, kind: Kind::Other };

struct Finder<'a> {
    facts: Facts<'a>,
    divergence: &'a Divergence,
    /// Where each instruction stands.
    places: Vec<(Block, usize)>,
    uses: Vec<Vec<Use>>,
    products: Vec<Inst>,
    blocks: Vec<Block>,
    /// Values that other regions take.
    saved: &'a BTreeSet<Value>,
    found: Fragments,
}

impl Fragments {
    /// Analyses a function.
    pub fn new(facts: Facts<'_>, divergence: &Divergence, regions: &Regions) -> Self {
        let function = facts.function;
        let is_product = |op: &Op| matches!(op, Op::Matrix(MatrixOp::MultiplyAccumulate, _));
        if !function.insts.iter().any(|inst| is_product(&inst.op)) {
            return Self::default();
        }
        let mut finder = Finder {
            facts,
            divergence,
            places: vec![(function.body, usize::MAX); function.insts.len()],
            uses: vec![Vec::new(); function.values.len()],
            products: Vec::new(),
            blocks: Vec::new(),
            saved: &regions.saved,
            found: Self::default(),
        };
        finder.walk(function.body);
        finder.find_tiles(&regions.wg_uniform_vars);
        finder.pair_tiles();
        finder.find_element_stores(regions);
        finder.find_lazy_loads();
        finder.find_operands();
        finder.find_joined();
        finder.count_results();
        finder.found
    }
}

impl Finder<'_> {
    fn walk(&mut self, block: Block) {
        let function = self.facts.function;
        self.blocks.push(block);
        for (at, &inst) in function.block(block).iter().enumerate() {
            self.places[inst.index()] = (block, at);
            let data = function.inst(inst);
            if matches!(data.op, Op::Matrix(MatrixOp::MultiplyAccumulate, _)) {
                self.products.push(inst);
            }
            let mut note = |value: Value, kind: Kind| self.uses[value.index()].push(Use { block, at, kind });
            match &data.op {
                Op::Matrix(MatrixOp::MultiplyAccumulate, args) => {
                    note(args[0], Kind::Operand);
                    note(args[1], Kind::Operand);
                    note(args[2], Kind::Sum);
                }
                Op::Matrix(MatrixOp::Store { .. }, args) => {
                    note(args[0], Kind::Other);
                    note(args[1], Kind::Other);
                    note(args[2], Kind::Rows);
                }
                Op::Store { ptr, value, .. } => {
                    note(*ptr, Kind::Other);
                    note(*value, Kind::Kept(*ptr));
                }
                Op::Compose(parts) => {
                    let whole = data.result.filter(|_| parts.len() == 2);
                    for &part in parts {
                        note(part, whole.map_or(Kind::Other, Kind::Part));
                    }
                }
                Op::Cast(CastOp::FCast, narrow) => {
                    note(*narrow, data.result.map_or(Kind::Other, Kind::Converted));
                }
                op => op.for_each_operand(|operand| note(operand, Kind::Other)),
            }
            for nested in data.op.blocks() {
                self.walk(nested);
            }
        }
    }

    fn def(&self, value: Value) -> Option<Inst> {
        self.facts.function.defining_inst(value)
    }

    fn op_of(&self, value: Value) -> Option<&Op> {
        self.facts.function.def(value)
    }

    fn vars(&self, pointer: Value, value: Value) -> Option<Range<usize>> {
        self.facts.storage.vars_at(pointer, i64::from(self.facts.function.ty(value).size()))
    }

    fn count_results(&mut self) {
        let function = self.facts.function;
        for &product in &self.products {
            let result = function.inst(product).result.expect("a product has a result");
            let block = self.places[product.index()].0;
            let mut counts = ResultUses::default();
            for usage in &self.uses[result.index()] {
                match usage.kind {
                    Kind::Sum if usage.block == block => counts.sums += 1,
                    Kind::Kept(pointer)
                        if usage.block == block && self.tile_at(pointer, result).is_some() =>
                    {
                        counts.kept += 1;
                    }
                    _ => counts.others += 1,
                }
            }
            self.found.results.insert(result, counts);
        }
    }
}

/// What tells two operands apart: the same elements put together twice are the same fragment.
pub fn same_fragment(function: &Function, value: Value) -> [Value; 2] {
    match function.def(value) {
        Some(Op::Compose(parts)) if parts.len() == 2 => [parts[0], parts[1]],
        _ => [value, value],
    }
}
