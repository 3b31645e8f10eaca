//! What is found out about fragments before emission: which sums get a home, and which factors can be
//! read where they lie when the products are written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anymetal_ir::{Block, CastOp, Inst, MatrixOp, Op, Scalar, Space, Type, Value, ValueDef};

use super::homes::{Home, Slot};
use super::{SIDE, place_of};
use crate::cpu::emit::group::{Plan, is_pure};
use crate::cpu::llvm_text::LANES;
use crate::cpu::shape::flow::{Facts, Flow, ptr_space};
use crate::cpu::shape::{Lanes, Shape};
use crate::cpu::storage::{CellType, Root};

/// A fragment whose two elements the program loads by itself, in Metal's layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Joined {
    /// The loads of the elements.
    pub(super) loads: [Inst; 2],
    /// The first element's pointer.
    pub(super) pointer: Value,
    /// The type of elements in memory.
    pub(super) scalar: Scalar,
    /// Bytes from row to row in memory, or from column to column.
    pub(super) step: i64,
    /// Rows in memory are columns.
    pub(super) transpose: bool,
}

/// The results.
#[derive(Debug, Default)]
pub(in crate::cpu::emit) struct Uses {
    /// Sums that lie in memory in rows.
    pub(super) homes: Vec<Home>,
    /// The memory they lie in.
    pub(super) slots: Vec<Slot>,
    /// By cell: its home, and which element of the fragment it is.
    pub(super) home_of_cell: BTreeMap<usize, (usize, usize)>,
    /// Loads of homes that are read before the home changes, by operations that know rows.
    pub(super) lazy: BTreeSet<Value>,
    /// Loaded matrices that only products of the same block take as factors, and how many.
    pub(super) factors: BTreeMap<Value, usize>,
    /// The same, for fragments made of loads of elements.
    pub(super) joined: BTreeMap<Value, (Joined, usize)>,
    /// The loads that are part of these and of nothing else, and their conversions.
    pub(super) parts: BTreeSet<Value>,
    /// By result of a product.
    pub(super) results: BTreeMap<Value, ResultUses>,
}

/// How the result of a product is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ResultUses {
    /// As the sum to which another product is added.
    pub(super) sums: usize,
    /// Stores to a home.
    pub(super) kept: usize,
    /// Otherwise.
    pub(super) others: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Factor,
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
    flow: &'a Flow,
    /// Where each instruction stands.
    places: Vec<(Block, usize)>,
    uses: Vec<Vec<Use>>,
    products: Vec<Inst>,
    blocks: Vec<Block>,
    /// Values that other regions take.
    saved: &'a BTreeSet<Value>,
    found: Uses,
}

impl Uses {
    /// Looks through a function.
    pub(in crate::cpu::emit) fn new(facts: Facts<'_>, flow: &Flow, plan: &Plan) -> Self {
        let function = facts.function;
        let is_product = |op: &Op| matches!(op, Op::Matrix(MatrixOp::MultiplyAccumulate, _));
        if !function.insts.iter().any(|inst| is_product(&inst.op)) {
            return Self::default();
        }
        let mut finder = Finder {
            facts,
            flow,
            places: vec![(function.body, usize::MAX); function.insts.len()],
            uses: vec![Vec::new(); function.values.len()],
            products: Vec::new(),
            blocks: Vec::new(),
            saved: &plan.saved,
            found: Self::default(),
        };
        finder.walk(function.body);
        finder.find_homes(&plan.group_cells);
        finder.pair_homes();
        finder.find_lazy_loads();
        finder.find_factors();
        finder.find_joined();
        finder.count_results();
        finder.found
    }
}

/// Whether it may change memory that fragments are read from.
pub(super) fn writes_memory(op: &Op) -> bool {
    matches!(
        op,
        Op::Store { .. }
            | Op::MemCopy { .. }
            | Op::MemZero { .. }
            | Op::AtomicLoad(_)
            | Op::AtomicStore(..)
            | Op::AtomicRmw(..)
            | Op::AtomicCas(..)
            | Op::Fence
            | Op::Call(..)
            | Op::Matrix(MatrixOp::Store { .. }, _)
    )
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
                    note(args[0], Kind::Factor);
                    note(args[1], Kind::Factor);
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
        match self.facts.function.values[value.index()].def {
            ValueDef::Inst(inst) => Some(inst),
            ValueDef::Param(_) => None,
        }
    }

    fn op_of(&self, value: Value) -> Option<&Op> {
        self.facts.function.def(value)
    }

    fn cells(&self, pointer: Value, value: Value) -> Option<Range<usize>> {
        self.facts.storage.cells_at(pointer, i64::from(self.facts.function.ty(value).size()))
    }

    // --- homes

    /// The cells that hold a sum: both `float`, different in each lane.
    fn sum_cells(&self, pointer: Value, value: Value, group_cells: &[bool]) -> Option<Range<usize>> {
        let cells = self.cells(pointer, value)?;
        let float = CellType::Scalar(Scalar::F32);
        let is_fit = |cell: usize| {
            self.facts.storage.cells[cell].ty == float
                && !group_cells[cell]
                && self.flow.cells[cell].lanes().is_none()
        };
        (self.facts.function.ty(value) == Type::Vector(Scalar::F32, 2)
            && cells.len() == 2
            && cells.clone().all(is_fit))
        .then_some(cells)
    }

    /// A sum that is kept has a home: so several are computed before one is stored.
    fn find_homes(&mut self, group_cells: &[bool]) {
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

    fn home_at(&self, pointer: Value, value: Value) -> Option<usize> {
        let cells = self.cells(pointer, value)?;
        let &(home, _) = self.found.home_of_cell.get(&cells.start)?;
        (cells.len() == 2).then_some(home)
    }

    /// Sums to which products of the same first factor are added lie side by side, in order of the second.
    fn pair_homes(&mut self) {
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

    fn find_lazy_loads(&mut self) {
        let function = self.facts.function;
        for index in 0..function.insts.len() {
            let data = &function.insts[index];
            let (Op::Load { ptr, .. }, Some(result)) = (&data.op, data.result) else { continue };
            let Some(home) = self.home_at(*ptr, result) else { continue };
            let (block, at) = self.places[index];
            let uses = &self.uses[result.index()];
            let known = |usage: &Use| matches!(usage.kind, Kind::Sum | Kind::Rows) && usage.block == block;
            if at == usize::MAX || self.saved.contains(&result) || !uses.iter().all(known) {
                continue;
            }
            let last = uses.iter().map(|usage| usage.at).max().unwrap_or(at);
            let between = function.block(block).get(at + 1..last).unwrap_or(&[]);
            if between.iter().all(|&inst| self.leaves_home(inst, home)) {
                self.found.lazy.insert(result);
            }
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

    // --- factors

    /// How many products take the value, if they are all in this block and nothing else takes it.
    fn factor_uses(&self, value: Value, block: Block) -> Option<usize> {
        let uses = &self.uses[value.index()];
        let fits = |usage: &Use| usage.kind == Kind::Factor && usage.block == block;
        (!uses.is_empty() && !self.saved.contains(&value) && uses.iter().all(fits)).then_some(uses.len())
    }

    fn find_factors(&mut self) {
        let function = self.facts.function;
        for (index, data) in function.insts.iter().enumerate() {
            let (Op::Matrix(MatrixOp::Load { .. }, args), Some(result)) = (&data.op, data.result) else {
                continue;
            };
            let (block, at) = self.places[index];
            if at != usize::MAX
                && ptr_space(function, args[0]) != Space::Thread
                && let Some(uses) = self.factor_uses(result, block)
            {
                self.found.factors.insert(result, uses);
            }
        }
    }

    fn find_joined(&mut self) {
        let function = self.facts.function;
        for (index, data) in function.insts.iter().enumerate() {
            let (Op::Compose(parts), Some(result)) = (&data.op, data.result) else { continue };
            let (block, at) = self.places[index];
            if at != usize::MAX
                && let Some(uses) = self.factor_uses(result, block)
                && let &[a, b] = parts.as_slice()
                && let Some(joined) = self.joined([a, b], (block, at))
            {
                self.found.joined.insert(result, (joined, uses));
            }
        }
        // A load that is also used otherwise is done at once, and its fragment made of lanes.
        let mut all = std::mem::take(&mut self.found.joined);
        loop {
            let known: BTreeSet<Value> = all.keys().copied().collect();
            let is_part = |usage: &Use| matches!(usage.kind, Kind::Part(whole) if known.contains(&whole));
            let uses_of = |value: Value| {
                let uses = self.uses[value.index()].iter();
                uses.chain(self.saved.contains(&value).then_some(&ELSEWHERE))
            };
            let is_wide_part = |usage: &Use| match usage.kind {
                Kind::Converted(wide) => uses_of(wide).all(is_part),
                _ => is_part(usage),
            };
            let left_out = |&load: &Inst| {
                function.inst(load).result.is_some_and(|value| uses_of(value).all(is_wide_part))
            };
            all.retain(|_, (joined, _)| joined.loads.iter().all(left_out));
            if all.len() == known.len() {
                break;
            }
        }
        for (&whole, (joined, _)) in &all {
            self.found.parts.extend(joined.loads.iter().filter_map(|&load| function.inst(load).result));
            if let Some(Op::Compose(parts)) = function.def(whole) {
                self.found.parts.extend(parts);
            }
        }
        self.found.joined = all;
    }

    /// The fragment of which these are the elements, if they are loaded in Metal's layout.
    fn joined(&self, parts: [Value; 2], (block, at): (Block, usize)) -> Option<Joined> {
        let function = self.facts.function;
        if function.ty(parts[1]) != function.ty(parts[0]) {
            return None;
        }
        let parts = parts.map(|part| self.before_widening(part));
        let scalar = function.ty(parts[0]).scalar()?;
        if !matches!(scalar, Scalar::F32 | Scalar::F16 | Scalar::Bf16)
            || function.ty(parts[1]) != function.ty(parts[0])
        {
            return None;
        }
        let loads = [self.def(parts[0])?, self.def(parts[1])?];
        let mut pointers = [Value(0); 2];
        let mut first = at;
        for (n, &load) in loads.iter().enumerate() {
            let Op::Load { ptr, volatile: false, .. } = function.inst(load).op else { return None };
            let place = self.places[load.index()];
            let root = self.facts.storage.pointer(ptr).root;
            if place.0 != block || !matches!(root, Root::Argument(_) | Root::Threadgroup(_) | Root::Global(_))
            {
                return None;
            }
            first = first.min(place.1);
            pointers[n] = ptr;
        }
        let quiet = |&inst: &Inst| {
            let op = &function.inst(inst).op;
            let to_cells = match op {
                Op::Store { ptr, value, .. } => self.cells(*ptr, *value).is_some(),
                _ => false,
            };
            op.blocks().is_empty() && (to_cells || !writes_memory(op))
        };
        if !function.block(block).get(first..at)?.iter().all(quiet) {
            return None;
        }
        let [Shape::Lanes(shape)] = self.flow.values[pointers[0].index()].as_slice() else { return None };
        let apart = self.bytes_between(pointers[0], pointers[1])?;
        let (step, transpose) = layout(shape, apart, i64::from(scalar.size()))?;
        Some(Joined { loads, pointer: pointers[0], scalar, step, transpose })
    }

    /// The narrower number that a `float` was converted from, or the value itself.
    fn before_widening(&self, value: Value) -> Value {
        let function = self.facts.function;
        match function.def(value) {
            Some(&Op::Cast(CastOp::FCast, narrow))
                if function.ty(value) == Type::Scalar(Scalar::F32)
                    && matches!(function.ty(narrow), Type::Scalar(Scalar::F16 | Scalar::Bf16)) =>
            {
                narrow
            }
            _ => value,
        }
    }

    /// How far the second pointer is behind the first, if that is plain.
    fn bytes_between(&self, a: Value, b: Value) -> Option<i64> {
        let function = self.facts.function;
        let parts = |value: Value| match function.def(value) {
            Some(&Op::PtrAdd { base, index, scale, offset }) => {
                (base, index.map(|index| (index, scale)), offset)
            }
            _ => (value, None, 0),
        };
        if let Some(&Op::PtrAdd { base, index: None, offset, .. }) = function.def(b)
            && base == a
        {
            return Some(offset);
        }
        let ((base, index, offset), (other, other_index, other_offset)) = (parts(a), parts(b));
        (base == other && index == other_index).then(|| other_offset.wrapping_sub(offset))
    }

    fn count_results(&mut self) {
        let function = self.facts.function;
        for &product in &self.products {
            let Some(result) = function.inst(product).result else { continue };
            let block = self.places[product.index()].0;
            let mut counts = ResultUses::default();
            for usage in &self.uses[result.index()] {
                match usage.kind {
                    Kind::Sum if usage.block == block => counts.sums += 1,
                    Kind::Kept(pointer)
                        if usage.block == block && self.home_at(pointer, result).is_some() =>
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
pub(super) fn same_fragment(function: &anymetal_ir::Function, value: Value) -> [Value; 2] {
    match function.def(value) {
        Some(Op::Compose(parts)) if parts.len() == 2 => [parts[0], parts[1]],
        _ => [value, value],
    }
}

/// The bytes from row to row (or column to column: transposed) if the lanes' first elements lie as a
/// matrix in Metal's layout, and the second ones `apart` behind them.
fn layout(shape: &Lanes, apart: i64, size: i64) -> Option<(i64, bool)> {
    if shape.segments != 1 || shape.conditional {
        return None;
    }
    let first = shape.at(0);
    let fits = |down: i64, right: i64| {
        (0..LANES).all(|lane| {
            let (row, column) = place_of(lane);
            let place = (row as i64).wrapping_mul(down).wrapping_add((column as i64).wrapping_mul(right));
            shape.at(lane).wrapping_sub(first) == place
        })
    };
    // Lane 2 holds the first element of the second row.
    let down = shape.at(2).wrapping_sub(first);
    let room = SIDE as i64 * size;
    if apart == size && down >= room && fits(down, size) {
        return Some((down, false));
    }
    (down == size && apart >= room && fits(size, apart)).then_some((apart, true))
}
