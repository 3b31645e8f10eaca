//! Loads of several iterations at once, in loops in which each thread walks its own row.
//!
//! In `for (k = 0; k < n; k++) s += A[i * n + k] * x[k]` neighbouring threads are a row apart. Each iteration
//! would gather one element from each of 32 lines of the cache; if the rows' distance is a power of two,
//! those lines evict each other before their next elements are used. So the loop runs in blocks of
//! iterations: a block first copies the elements of all its iterations, as much as a line of each row, to a
//! private array, and then executes the iterations one after the other, which load from the array. The loads
//! of a block are at constant distances, so code generators load them as vectors, lane by lane, and transpose
//! them. The loop itself remains for the iterations after the last whole block.
//!
//! The order of the iterations is unchanged, and a block loads only what its iterations would: the loop is
//! left at its exit test alone, its loads are unconditional, and nothing in it changes the memory.

mod advance;

use rustc_hash::{FxHashMap, FxHashSet};

use super::copy::Cloner;
use crate::limits::{MAX_BLOCK_ITERATIONS, MAX_BLOCKED_ELEMENT_BYTES, MAX_BLOCKED_ROWS, MAX_BLOCKED_SIZE};
use advance::{Advance, Stride, stride};
use anymetal_analysis::divergence::{Affine, Assumption, Divergence, Geometry, LANES, PlainContext, Shape};
use anymetal_analysis::{CountedLoop, CountedLoops, Memory, may_change, walk_insts};
use anymetal_ir::{
    BinOp, Block, CmpOp, FpMode, Function, Inst, Label, Loc, Local, Op, Scalar, Space, Type, Value, Values,
};

/// Bytes of a row that a block loads, at most: a line of the cache.
const BLOCK_BYTES: u32 = 64;
/// Bytes between neighbouring threads from which each has its own row.
const MIN_ROW_BYTES: u64 = 32;

/// Rewrites the loops of a function in which each thread walks its own row; returns whether there were any.
pub fn row_blocks(function: &mut Function, geometry: Geometry) -> bool {
    let plans = plans(function, geometry);
    for plan in &plans {
        Writer { function, plan, insts: Vec::new() }.rewrite();
    }
    !plans.is_empty()
}

/// A loop that is to run in blocks.
#[derive(Debug)]
struct Plan {
    inst: Inst,
    /// Where the loop is.
    block: Block,
    counted: CountedLoop,
    /// The iterations of a block.
    iterations: u32,
    rows: Vec<Row>,
}

/// A load of which each thread has its own row.
#[derive(Debug)]
struct Row {
    load: Inst,
    /// The definitions of the address in the loop, in order.
    slice: Vec<Inst>,
    /// The strides of the values of the address.
    strides: FxHashMap<Value, Stride>,
}

fn plans(function: &Function, geometry: Geometry) -> Vec<Plan> {
    let loops = CountedLoops::new(function);
    let mut candidates = Vec::new();
    for block in (0..function.blocks.len()).map(|block| Block(block as u32)) {
        for &inst in function.block(block) {
            candidates.extend(candidate(&loops, block, inst));
        }
    }
    if candidates.is_empty() {
        return candidates;
    }
    let divergence = Divergence::of(function, geometry, &PlainContext);
    candidates.retain_mut(|plan| {
        let CountedLoop { counter, limit, .. } = plan.counted;
        plan.rows.retain(|row| {
            let Op::Load { ptr, .. } = function.inst(row.load).op else { unreachable!("rows are loaded") };
            are_rows(divergence.shape(ptr))
        });
        let is_uniform = divergence.is_uniform(counter) && divergence.is_uniform(limit);
        is_uniform && (1..=MAX_BLOCKED_ROWS).contains(&plan.rows.len())
    });
    for plan in &mut candidates {
        let sizes = plan.rows.iter().map(|row| function.ty(function.result(row.load)).size());
        let size = sizes.max().expect("a plan has rows");
        plan.iterations = (BLOCK_BYTES / size).min(MAX_BLOCK_ITERATIONS);
    }
    candidates.retain(|plan| !is_short(function, plan));
    candidates
}

/// Whether neighbouring lanes are far apart.
fn are_rows(shape: &Shape) -> bool {
    match shape {
        Shape::Varying => true,
        Shape::Affine(affine) => affine.assumption == Some(Assumption::UnitFactor) || are_far_apart(affine),
        Shape::Bottom => false,
    }
}

fn are_far_apart(affine: &Affine) -> bool {
    let len = affine.segment_len();
    let apart = |lane: usize| affine.at(lane).wrapping_sub(affine.at(lane - 1)).unsigned_abs();
    len > 1 && (1..LANES).filter(|lane| !lane.is_multiple_of(len)).all(|lane| apart(lane) >= MIN_ROW_BYTES)
}

/// Whether the loop is known not to have a whole block.
fn is_short(function: &Function, plan: &Plan) -> bool {
    let [start, limit] = [plan.counted.start, plan.counted.limit].map(|value| function.as_const(value));
    match (start, limit) {
        (Some(start), Some(limit)) => limit.wrapping_sub(start) < u64::from(plan.iterations),
        _ => false,
    }
}

/// The loop with all loads that advance by their own size, whether or not each thread has its own row.
fn candidate(loops: &CountedLoops<'_>, block: Block, inst: Inst) -> Option<Plan> {
    let function = loops.function();
    let (label, body, _) = function.as_loop(inst)?;
    if function.inst(inst).op.params().is_empty() {
        return None;
    }
    let counted = loops.find(inst)?;
    let goes_up = matches!(counted.goes_on, CmpOp::SLt | CmpOp::SLe | CmpOp::ULt | CmpOp::ULe);
    if !goes_up || counted.step != 1 || !is_simple(function, body, (label, counted.test.inst)) {
        return None;
    }
    let insts = function.block(body);
    let test = insts.iter().position(|&inst| inst == counted.test.inst)?;
    let mut rows = Vec::new();
    for (at, &load) in insts.iter().enumerate().skip(test) {
        let (&Op::Load { ptr, volatile: false, .. }, Some(result)) =
            (&function.inst(load).op, function.inst(load).result)
        else {
            // Not a load.
            continue;
        };
        let ty = function.ty(result);
        let is_number = ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool)
            && ty.lanes() != 3
            && ty.size() <= MAX_BLOCKED_ELEMENT_BYTES;
        if !is_number || function.pointer_space(ptr) == Space::Thread {
            continue;
        }
        let by = stride(loops, inst, counted.counter, ptr).map(|stride| stride.by);
        if by == Some(i64::from(ty.size())) && stays(function, body, ptr) {
            rows.push(row(loops, (inst, counted.counter), load, &insts[..at]));
        }
    }
    (!rows.is_empty()).then_some(Plan { inst, block, counted, iterations: 0, rows })
}

/// Whether nothing in the loop changes the memory of the pointer.
fn stays(function: &Function, body: Block, pointer: Value) -> bool {
    let mut stays = true;
    walk_insts(function, body, &mut |inst| {
        for memory in [Memory::Threadgroup, Memory::Elsewhere] {
            stays &= !memory.has(function, pointer) || !may_change(function, &function.inst(inst).op, memory);
        }
    });
    stays
}

/// Whether the body is small, runs to its end unless the test leaves the loop, and has no loop in it.
fn is_simple(function: &Function, body: Block, (label, test): (Label, Inst)) -> bool {
    let mut own: FxHashSet<Label> = FxHashSet::default();
    let (mut size, mut breaks, mut continues, mut is_simple) = (0, 0, 0, true);
    walk_insts(function, body, &mut |inst| {
        size += 1;
        let op = &function.inst(inst).op;
        match op {
            Op::Break(to, _) if *to == label => breaks += 1,
            Op::Continue(to, _) if *to == label => continues += 1,
            Op::Break(to, _) | Op::Continue(to, _) => is_simple &= own.contains(to),
            Op::Return(_) | Op::Loop { .. } | Op::Barrier(..) | Op::Call(..) => is_simple = false,
            _ => own.extend(op.label()),
        }
    });
    let insts = function.block(body);
    let last = insts.last().map(|&last| &function.inst(last).op);
    let ends = matches!(last, Some(Op::Continue(to, _)) if *to == label);
    is_simple && ends && insts.contains(&test) && [breaks, continues] == [1, 1] && size <= MAX_BLOCKED_SIZE
}

/// `before`: the instructions of the body before the load.
fn row(loops: &CountedLoops<'_>, (inst, counter): (Inst, Value), load: Inst, before: &[Inst]) -> Row {
    let function = loops.function();
    let (mut strides, mut slice) = (FxHashMap::default(), Vec::new());
    let mut needed = FxHashSet::default();
    function.inst(load).op.for_each_operand(|pointer| {
        needed.insert(pointer);
    });
    for &def in before.iter().rev() {
        let Some(result) = function.inst(def).result.filter(|result| needed.contains(result)) else {
            // The address does not need it.
            continue;
        };
        let stride = stride(loops, inst, counter, result).expect("the parts of an address have strides");
        strides.insert(result, stride);
        slice.push(def);
        function.inst(def).op.for_each_operand(|operand| {
            needed.insert(operand);
        });
    }
    slice.reverse();
    for &param in function.inst(inst).op.params().iter().filter(|param| needed.contains(param)) {
        let stride = stride(loops, inst, counter, param).expect("the parts of an address have strides");
        strides.insert(param, stride);
    }
    Row { load, slice, strides }
}

struct Writer<'a> {
    function: &'a mut Function,
    plan: &'a Plan,
    /// The code that is being written.
    insts: Vec<Inst>,
}

/// A loop that is being written.
struct NewLoop {
    inst: Inst,
    label: Label,
    body: Block,
    params: Values,
}

impl Writer<'_> {
    fn fp_and_loc(&self) -> (FpMode, Loc) {
        let data = self.function.inst(self.plan.inst);
        (data.fp, data.loc)
    }

    fn value(&mut self, op: Op, ty: Type) -> Value {
        let (fp, loc) = self.fp_and_loc();
        let inst = self.function.add_inst(op, Some(ty), fp, loc);
        self.insts.push(inst);
        self.function.result(inst)
    }

    fn effect(&mut self, op: Op) -> Inst {
        let (fp, loc) = self.fp_and_loc();
        let inst = self.function.add_inst(op, None, fp, loc);
        self.insts.push(inst);
        inst
    }

    fn constant(&mut self, value: i64, scalar: Scalar) -> Value {
        let bits = value as u64 & anymetal_ir::eval::mask(scalar);
        self.value(Op::Const(bits), Type::Scalar(scalar))
    }

    fn rewrite(mut self) {
        let Op::Loop { inits, params, .. } = self.function.inst(self.plan.inst).op.clone() else {
            unreachable!("a plan is for a loop")
        };
        let number = params.iter().position(|&param| param == self.plan.counted.counter);
        let number = number.expect("the counter is a parameter");
        let end = self.end_of_blocks();
        let left = self.blocks(&inits, number, end);
        let Op::Loop { inits, .. } = &mut self.function.insts[self.plan.inst.index()].op else {
            unreachable!("a plan is for a loop")
        };
        *inits = left;
        let insts = &mut self.function.blocks[self.plan.block.index()].insts;
        let at = insts.iter().position(|&inst| inst == self.plan.inst).expect("the loop is in its block");
        insts.splice(at..at, self.insts);
    }

    /// The counter's value after the last whole block. A count that wraps makes the blocks fewer.
    fn end_of_blocks(&mut self) -> Value {
        let CountedLoop { start, limit, scalar, goes_on, .. } = self.plan.counted.clone();
        let int = Type::Scalar(scalar);
        let mut count = self.value(Op::Binary(BinOp::Sub, limit, start), int);
        if self.plan.counted.is_inclusive() {
            let one = self.constant(1, scalar);
            count = self.value(Op::Binary(BinOp::Add, count, one), int);
        }
        assert!(self.plan.iterations.is_power_of_two(), "a block is a power of two iterations");
        let whole = self.constant(-i64::from(self.plan.iterations), scalar);
        let whole = self.value(Op::Binary(BinOp::And, count, whole), int);
        let runs = self.value(Op::Compare(goes_on, start, limit), Type::Scalar(Scalar::Bool));
        let zero = self.constant(0, scalar);
        let whole = self.value(Op::Select(runs, whole, zero), int);
        self.value(Op::Binary(BinOp::Add, start, whole), int)
    }

    /// The loop over blocks. Returns the values with which the remaining iterations begin.
    fn blocks(&mut self, inits: &[Value], number: usize, end: Value) -> Values {
        let CountedLoop { scalar, goes_on, .. } = self.plan.counted;
        let strict = match goes_on {
            CmpOp::SLe | CmpOp::SLt => CmpOp::SLt,
            _ => CmpOp::ULt,
        };
        let (blocks, outside) = self.begin_loop(inits);
        let first = blocks.params[number];
        let goes_on = self.value(Op::Compare(strict, first, end), Type::Scalar(Scalar::Bool));
        self.exit_unless(goes_on, blocks.label, &blocks.params);
        let arrays = self.load_rows(&blocks.params);
        let mut next = self.iterations(&blocks.params, number, &arrays);
        let step = self.constant(self.plan.iterations.into(), scalar);
        next[number] = self.value(Op::Binary(BinOp::Add, first, step), Type::Scalar(scalar));
        self.effect(Op::Continue(blocks.label, next));
        self.end_loop(&blocks, outside, inits)
    }

    /// Begins a loop with these first values. Returns it and the code before it.
    fn begin_loop(&mut self, inits: &[Value]) -> (NewLoop, Vec<Inst>) {
        let (label, body, continuing) =
            (self.function.add_label(), self.function.add_block(), self.function.add_block());
        let (params, results) = (Values::new(), Values::new());
        let op = Op::Loop { label, inits: Values::new(), params, body, continuing, results };
        let inst = self.effect(op);
        let params = inits.iter().map(|&init| self.function.add_loop_param(inst, init)).collect();
        (NewLoop { inst, label, body, params }, std::mem::take(&mut self.insts))
    }

    /// Ends the loop, which has results of these values' types.
    fn end_loop(&mut self, new: &NewLoop, outside: Vec<Inst>, values: &[Value]) -> Values {
        self.function.blocks[new.body.index()].insts = std::mem::replace(&mut self.insts, outside);
        let types: Vec<Type> = values.iter().map(|&value| self.function.ty(value)).collect();
        types.into_iter().map(|ty| self.function.add_construct_result(new.inst, ty)).collect()
    }

    fn exit_unless(&mut self, cond: Value, label: Label, values: &[Value]) {
        let (then, otherwise) = (self.function.add_block(), self.function.add_block());
        let (fp, loc) = self.fp_and_loc();
        let exit = Op::Break(label, values.iter().copied().collect());
        let exit = self.function.add_inst(exit, None, fp, loc);
        self.function.blocks[otherwise.index()].insts.push(exit);
        self.effect(Op::branch(cond, then, otherwise));
    }

    /// Copies the elements of a block, which begins with these values of the loop's parameters, to an array
    /// for each row.
    fn load_rows(&mut self, first: &[Value]) -> Vec<Local> {
        let own = self.function.inst(self.plan.inst).op.params().to_vec();
        let mut arrays = Vec::new();
        let mut loaded = Vec::new();
        for row in &self.plan.rows {
            let (load, ty) = (row.load, self.function.ty(self.function.result(row.load)));
            let size = u64::from(ty.size());
            let local = self.function.add_local("row", size * u64::from(self.plan.iterations), size as u32);
            self.effect(Op::LocalStart(local));
            let (fp, loc) = (self.function.inst(load).fp, self.function.inst(load).loc);
            let &Op::Load { ptr, align, .. } = &self.function.inst(load).op else {
                unreachable!("a row is loaded")
            };
            let mut cloner = Cloner::new(self.function);
            for (&param, &value) in own.iter().zip(first) {
                cloner.map_value(param, value);
            }
            let copies = cloner.insts(&row.slice);
            let firsts: FxHashMap<Value, (Value, Stride)> =
                row.strides.iter().map(|(&value, &stride)| (value, (cloner.value(value), stride))).collect();
            self.insts.extend(copies);
            for iterations in 0..i64::from(self.plan.iterations) {
                let values = |value| firsts.get(&value).copied();
                let (function, insts) = (&mut *self.function, &mut self.insts);
                let ptr = Advance { function, values: &values, iterations, insts, fp, loc }.value(ptr);
                let op = Op::Load { ptr, align, volatile: false };
                let inst = self.function.add_inst(op, Some(ty), fp, loc);
                self.insts.push(inst);
                loaded.push((local, size as i64 * iterations, self.function.result(inst)));
            }
            arrays.push(local);
        }
        // After all loads, which thereby stay together.
        for (local, offset, value) in loaded {
            let pointer = Type::Ptr(Space::Thread);
            let base = self.value(Op::LocalAddr(local), pointer);
            let ptr = self.value(Op::PtrAdd { base, index: None, scale: 1, offset }, pointer);
            let align = self.function.ty(value).size();
            self.effect(Op::Store { ptr, value, align, volatile: false });
        }
        arrays
    }

    /// The iterations of a block, as a loop. Returns the values for the next block.
    fn iterations(&mut self, current: &[Value], number: usize, arrays: &[Local]) -> Values {
        let CountedLoop { scalar, .. } = self.plan.counted;
        let int = Type::Scalar(scalar);
        let zero = self.constant(0, scalar);
        let mut inits: Values = current.iter().copied().collect();
        inits[number] = zero;
        let count = self.constant(self.plan.iterations.into(), scalar);
        let (iterations, outside) = self.begin_loop(&inits);
        let at = iterations.params[number];
        let goes_on = self.value(Op::Compare(CmpOp::ULt, at, count), Type::Scalar(Scalar::Bool));
        self.exit_unless(goes_on, iterations.label, &iterations.params);
        let counter = self.value(Op::Binary(BinOp::Add, current[number], at), int);
        let mut loaded = Vec::new();
        for (row, &local) in self.plan.rows.iter().zip(arrays) {
            let ty = self.function.ty(self.function.result(row.load));
            let (pointer, size) = (Type::Ptr(Space::Thread), ty.size());
            let base = self.value(Op::LocalAddr(local), pointer);
            let index = match scalar {
                Scalar::I64 => at,
                _ => self.value(Op::Cast(anymetal_ir::CastOp::ZExt, at), Type::I64),
            };
            let ptr = self.value(Op::PtrAdd { base, index: Some(index), scale: size, offset: 0 }, pointer);
            loaded.push(self.value(Op::Load { ptr, align: size, volatile: false }, ty));
        }
        let mut next = self.clone_body(&iterations.params, number, counter, &loaded);
        let one = self.constant(1, scalar);
        next[number] = self.value(Op::Binary(BinOp::Add, at, one), int);
        self.effect(Op::Continue(iterations.label, next));
        self.end_loop(&iterations, outside, &inits)
    }

    /// The body of the loop for one iteration. Returns what it passes to the next one.
    fn clone_body(&mut self, params: &[Value], number: usize, counter: Value, loaded: &[Value]) -> Values {
        let Op::Loop { params: own, body, .. } = self.function.inst(self.plan.inst).op.clone() else {
            unreachable!("a plan is for a loop")
        };
        let insts = self.function.block(body).to_vec();
        let last = *insts.last().expect("the body ends with a continue");
        let Op::Continue(_, passed) = self.function.inst(last).op.clone() else {
            unreachable!("the body ends with a continue")
        };
        let results: Vec<Value> = self.plan.rows.iter().map(|row| self.function.result(row.load)).collect();
        let mut cloner = Cloner::new(self.function);
        for (n, (&param, &value)) in own.iter().zip(params).enumerate() {
            cloner.map_value(param, if n == number { counter } else { value });
        }
        for (&result, &value) in results.iter().zip(loaded) {
            cloner.map_value(result, value);
        }
        cloner.skip(self.plan.counted.test.inst);
        cloner.skip(last);
        let copies = cloner.insts(&insts);
        let next = passed.iter().map(|&value| cloner.value(value)).collect();
        self.insts.extend(copies);
        next
    }
}
