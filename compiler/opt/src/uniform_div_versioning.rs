//! Versions code for SIMD-groups in which a division by a uniform divisor has a uniform quotient.
//!
//! A flat index is decomposed by dividing by one extent after the other: `rest % n`, `rest / n`, usually in a
//! loop. Neighbouring threads have consecutive indices, so in most SIMD-groups the quotient is uniform and
//! the remainders are consecutive. With the first active thread's `x0 = q0 * n + r0` and another thread's
//! distance `e` from it: if `e < n - r0`, and `x0 + e` does not wrap, then `x / n == q0` and
//! `x % n == r0 + e`. The version guarded by that test is a clone of the code that follows, in which
//! divergence analysis sees a uniform quotient, and so do further divisions of it. For a loop that divides a
//! parameter of the loop the first iteration is peeled. A remainder is then multiplied by a stride; where the
//! stride is 1, a second version uses the remainder itself.
//!
//! Divergence analysis shows which values are uniform, and which are affine in the lane.

mod candidates;
mod guards;

use rustc_hash::FxHashSet;

use super::copy::Cloner;
use crate::limits::{MAX_VERSION_GROWTH, MAX_VERSION_SIZE, MAX_VERSIONS};
use anymetal_analysis::divergence::{Divergence, Geometry, PlainContext};
use anymetal_analysis::walk_insts;
use anymetal_ir::{BinOp, Block, Function, Inst, Label, Op, Type, Value, Values};
use candidates::{DividingLoop, Site, SiteKind, SiteSearch};
use guards::Active;

/// Versions the function for SIMD-groups in which quotients are uniform, as far as thread positions in the
/// geometry show candidates; returns whether it did.
pub fn uniform_div_versioning(function: &mut Function, geometry: Geometry) -> bool {
    if !divides(function) {
        return false;
    }
    let mut quotients = UniformDivVersioning::default();
    let mut changed = false;
    for _ in 0..MAX_VERSIONS {
        let divergence = Divergence::of(function, geometry, &PlainContext);
        if !quotients.version_one(function, &divergence) {
            break;
        }
        changed = true;
    }
    changed
}

/// Whether it divides integers by a divisor that is no constant.
fn divides(function: &Function) -> bool {
    function.insts.iter().any(|inst| match inst.op {
        Op::Binary(BinOp::UDiv | BinOp::URem | BinOp::SDiv | BinOp::SRem, _, divisor) => {
            function.as_const(divisor).is_none()
        }
        _ => false,
    })
}

/// State kept from one version to the next.
#[derive(Debug, Default)]
pub struct UniformDivVersioning {
    /// Operations that have been versioned already.
    done: FxHashSet<Inst>,
    /// Remainders in the guarded versions.
    remainders: FxHashSet<Value>,
    added: usize,
}

impl UniformDivVersioning {
    /// Adds one guarded version; returns whether there was a candidate.
    pub fn version_one(&mut self, function: &mut Function, divergence: &Divergence) -> bool {
        let room = MAX_VERSION_SIZE.min(MAX_VERSION_GROWTH.saturating_sub(self.added));
        let found = SiteSearch::new(function, divergence, (&self.done, &self.remainders), room).first();
        let Some(Site { inst, place }) = found else {
            // Nothing is left to be versioned within the limits.
            return false;
        };
        let before = function.insts.len();
        let mut writer = Writer { function, state: self, division: inst };
        match place {
            SiteKind::Straight { block, at, step } => writer.version_rest(block, at, step),
            SiteKind::Loop(peel_loop) => writer.peel_loop(&peel_loop),
        }
        self.added += function.insts.len() - before;
        true
    }
}

/// Calls `f` for instructions and those nested in them.
fn walk_all(function: &Function, insts: &[Inst], f: &mut impl FnMut(Inst)) {
    for &inst in insts {
        f(inst);
        for nested in function.inst(inst).op.blocks() {
            walk_insts(function, nested, f);
        }
    }
}

struct Writer<'a> {
    function: &'a mut Function,
    state: &'a mut UniformDivVersioning,
    /// The operation that is versioned.
    division: Inst,
}

impl Writer<'_> {
    /// Adds an operation with a result.
    fn value(&mut self, to: &mut Vec<Inst>, op: Op, ty: Type) -> Value {
        let (fp, loc) = (self.function.inst(self.division).fp, self.function.inst(self.division).loc);
        let inst = self.function.add_inst(op, Some(ty), fp, loc);
        to.push(inst);
        self.function.result(inst)
    }

    /// Adds an operation without one.
    fn effect(&mut self, to: &mut Vec<Inst>, op: Op) {
        let (fp, loc) = (self.function.inst(self.division).fp, self.function.inst(self.division).loc);
        to.push(self.function.add_inst(op, None, fp, loc));
    }

    /// The versioned operation.
    fn operands(&self) -> (BinOp, Value, Value) {
        match self.function.inst(self.division).op {
            Op::Binary(op, x, y) => (op, x, y),
            ref op => unreachable!("{op:?} is neither a division nor a product"),
        }
    }

    fn block(&mut self, insts: Vec<Inst>) -> Block {
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = insts;
        block
    }

    /// Adds a scope with results of these types; returns the results.
    fn scope(&mut self, to: &mut Vec<Inst>, label: Label, insts: Vec<Inst>, types: &[Type]) -> Values {
        let body = self.block(insts);
        self.construct(to, Op::scope(label, body), types)
    }

    /// Adds a construct with results of these types; returns the results.
    fn construct(&mut self, to: &mut Vec<Inst>, op: Op, types: &[Type]) -> Values {
        self.effect(to, op);
        let construct = *to.last().expect("it was added");
        types.iter().map(|&ty| self.function.add_construct_result(construct, ty)).collect()
    }

    /// Takes the jump or yield from the end of a block, if it has one, with what it passes.
    fn take_terminator(&self, insts: &mut Vec<Inst>) -> Terminator {
        let jump = insts.pop_if(|last| self.function.inst(*last).op.ends_block());
        let mut values = Vec::new();
        if let Some(jump) = jump {
            self.function.inst(jump).op.for_each_operand(|value| values.push(value));
        }
        let types = values.iter().map(|&value| self.function.ty(value)).collect();
        Terminator { jump, values, types }
    }

    /// Ends a block with the jump or yield, which passes these values instead of its own.
    fn put_terminator(&mut self, to: &mut Vec<Inst>, terminator: &Terminator, values: &[Value]) {
        let Some(jump) = terminator.jump else {
            // Control goes on after the block.
            return;
        };
        let mut values = values.iter().copied();
        let passed = &mut self.function.insts[jump.index()].op;
        passed.for_each_operand_mut(|value| *value = values.next().expect("there is one for each operand"));
        to.push(jump);
    }

    /// Ends a block of a construct that has results.
    fn yields(&mut self, to: &mut Vec<Inst>, values: &[Value]) {
        if !values.is_empty() {
            self.effect(to, Op::Yield(values.iter().copied().collect()));
        }
    }

    /// Code where the test fails is not versioned again.
    fn mark_done(&mut self, insts: &[Inst]) {
        let done = &mut self.state.done;
        walk_all(self.function, insts, &mut |inst| {
            done.insert(inst);
        });
    }

    /// Puts a version of the rest of the block before it, for where the test holds.
    fn version_rest(&mut self, block: Block, at: usize, step: u32) {
        let (op, x, y) = self.operands();
        let mut out = self.function.block(block).to_vec();
        let mut rest = out.split_off(at);
        assert_eq!(rest.first(), Some(&self.division), "the version begins with the operation");
        let terminator = self.take_terminator(&mut rest);
        let results = if op == BinOp::Mul {
            self.state.done.insert(self.division);
            let test = self.unit_factor_test(&mut out, x, y);
            let (mut fast, values) = self.copy(&test.known, &rest, &terminator.values);
            self.yields(&mut fast, &values);
            self.yields(&mut rest, &terminator.values);
            self.branch(&mut out, test.holds, fast, rest, &terminator.types)
        } else {
            self.mark_done(&rest);
            let mut tested = Vec::new();
            let threads = (step, Active::All);
            let test = self.uniform_quotient_test(&mut tested, &rest, (x, y), (x, y), threads);
            let (fast, values) = self.copy(&test.known, &rest, &terminator.values);
            let done = self.function.add_label();
            self.branch_and_leave(&mut tested, test.holds, fast, (done, &values));
            self.guard_whole_simdgroup(&mut out, tested, rest, done, &terminator)
        };
        self.put_terminator(&mut out, &terminator, &results);
        self.function.blocks[block.index()].insts = out;
    }

    /// Clones instructions, in which the first of two `known` values is the second. Returns the clones, and
    /// those of the `values`.
    fn copy(
        &mut self,
        known: &[(Value, Value)],
        insts: &[Inst],
        values: &[Value],
    ) -> (Vec<Inst>, Vec<Value>) {
        let mut cloner = Cloner::new(self.function);
        for &(old, new) in known {
            cloner.map_value(old, new);
        }
        let copies = cloner.insts(insts);
        (copies, values.iter().map(|&value| cloner.value(value)).collect())
    }

    /// Peels the first iteration up to the division. Where the test holds, the rest of that iteration, a
    /// clone of the loop and a clone of what follows are executed; otherwise the original loop starts.
    fn peel_loop(&mut self, peel_loop: &DividingLoop) {
        let (_, x, y) = self.operands();
        let mut out = self.function.block(peel_loop.block).to_vec();
        let mut rest = out.split_off(peel_loop.at);
        let terminator = self.take_terminator(&mut rest);
        self.mark_done(&rest);
        let body = self.function.block(peel_loop.body).to_vec();
        assert_eq!(body[peel_loop.division], self.division, "the peeled part ends before the division");
        assert!(
            body[..peel_loop.division]
                .iter()
                .enumerate()
                .all(|(at, inst)| peel_loop.test == Some(at)
                    || !self.function.inst(*inst).op.has_side_effects()),
            "what is cloned and may be executed twice has no effect",
        );
        let ahead = &body[..peel_loop.division];
        let top = peel_loop.test.unwrap_or(0);

        let Op::Loop { inits, params, .. } = self.function.inst(rest[0]).op.clone() else {
            unreachable!("{} is the loop", rest[0])
        };
        let first: Vec<(Value, Value)> = params.iter().copied().zip(inits).collect();
        let mut cloner = Cloner::new(self.function);
        first.iter().for_each(|&(param, init)| cloner.map_value(param, init));
        let mut tested = cloner.insts(&ahead[..top]);
        // The part of the iteration after the loop test.
        let mut entered = cloner.insts(&ahead[top + usize::from(peel_loop.test.is_some())..]);
        let (new_x, new_y) = (cloner.value(x), cloner.value(y));
        let copies: Vec<_> = first.into_iter().chain(std::mem::take(&mut cloner.copied)).collect();
        let active = if peel_loop.test.is_some() { Active::Some } else { Active::All };
        let threads = (peel_loop.step, active);
        let test = self.uniform_quotient_test(&mut entered, &body, (x, y), (new_x, new_y), threads);

        let known: Vec<_> = copies.iter().copied().chain(test.known).collect();
        let mut fast = Vec::new();
        let results = self.iteration(&mut fast, peel_loop, &known);
        let (after, values) = self.copy(&results, &rest[1..], &terminator.values);
        fast.extend(after);
        let done = self.function.add_label();
        self.branch_and_leave(&mut entered, test.holds, fast, (done, &values));
        match peel_loop.test.map(|place| self.entry(body[place], &copies)) {
            Some((cond, true)) => _ = self.branch(&mut tested, cond, Vec::new(), entered, &[]),
            Some((cond, false)) => _ = self.branch(&mut tested, cond, entered, Vec::new(), &[]),
            None => tested.append(&mut entered),
        }
        let results = self.guard_whole_simdgroup(&mut out, tested, rest, done, &terminator);
        self.put_terminator(&mut out, &terminator, &results);
        self.function.blocks[peel_loop.block.index()].insts = out;
    }

    /// The peeled iteration from the division on, and a clone of the loop. Returns the loop's results, and
    /// those of what was added.
    fn iteration(
        &mut self,
        to: &mut Vec<Inst>,
        peel_loop: &DividingLoop,
        known: &[(Value, Value)],
    ) -> Vec<(Value, Value)> {
        let body = self.function.block(peel_loop.body)[peel_loop.division..].to_vec();
        let looping = self.function.block(peel_loop.block)[peel_loop.at];
        let (leave, go_on) = (self.function.add_label(), self.function.add_label());
        let types = |this: &Self, values: &[Value]| -> Vec<Type> {
            values.iter().map(|&value| this.function.ty(value)).collect()
        };
        let (params, results) = {
            let op = &self.function.inst(looping).op;
            (op.params().to_vec(), op.results().to_vec())
        };
        let (param_types, result_types) = (types(self, &params), types(self, &results));
        let mut cloner = Cloner::new(self.function);
        for &(old, new) in known {
            cloner.map_value(old, new);
        }
        cloner.peel_iteration(peel_loop.label, leave, Some(go_on));
        let first = cloner.insts(&body);
        let mut copies = Vec::new();
        let next = self.scope(&mut copies, go_on, first, &param_types);
        let (again, values) = self.copy(&[], &[looping], &results);
        if let [copy] = *again
            && let Op::Loop { inits, .. } = &mut self.function.insts[copy.index()].op
        {
            *inits = next;
        }
        copies.extend(again);
        self.yields(&mut copies, &values);
        let added = self.scope(to, leave, copies, &result_types);
        results.into_iter().zip(added).collect()
    }

    /// The loop's exit test: its cloned condition, and whether the loop is left if it is true.
    fn entry(&self, test: Inst, copies: &[(Value, Value)]) -> (Value, bool) {
        let Op::If { cond, then, otherwise, .. } = self.function.inst(test).op else {
            unreachable!("{test} leaves the loop, so it is a branch")
        };
        let [leaves, stays] = [then, otherwise].map(|block| !self.function.block(block).is_empty());
        assert_ne!(leaves, stays, "one branch of an exit test leaves the loop, the other is empty");
        let copy = copies.iter().find(|copy| copy.0 == cond).map_or(cond, |copy| copy.1);
        (copy, leaves)
    }

    /// If the condition holds, executes these instructions and leaves the scope `done` with the values.
    fn branch_and_leave(
        &mut self,
        to: &mut Vec<Inst>,
        cond: Value,
        mut insts: Vec<Inst>,
        (done, values): (Label, &[Value]),
    ) {
        self.effect(&mut insts, Op::Break(done, values.iter().copied().collect()));
        self.branch(to, cond, insts, Vec::new(), &[]);
    }

    /// Executes `tested` if all 32 threads are active, then `rest` unless `tested` left the scope. Returns
    /// what takes the place of the values that the terminator passes.
    fn guard_whole_simdgroup(
        &mut self,
        to: &mut Vec<Inst>,
        tested: Vec<Inst>,
        rest: Vec<Inst>,
        done: Label,
        terminator: &Terminator,
    ) -> Values {
        let mut all = Vec::new();
        let is_whole = self.is_whole(&mut all);
        self.branch(&mut all, is_whole, tested, Vec::new(), &[]);
        all.extend(rest);
        self.yields(&mut all, &terminator.values);
        self.scope(to, done, all, &terminator.types)
    }

    fn branch(
        &mut self,
        to: &mut Vec<Inst>,
        cond: Value,
        then: Vec<Inst>,
        otherwise: Vec<Inst>,
        types: &[Type],
    ) -> Values {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.construct(to, Op::branch(cond, then, otherwise), types)
    }
}

/// The jump or yield that ended a block, and what it passed.
struct Terminator {
    jump: Option<Inst>,
    values: Vec<Value>,
    types: Vec<Type>,
}
