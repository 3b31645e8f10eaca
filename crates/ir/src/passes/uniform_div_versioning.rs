//! Copies code for SIMD-groups in which a division by the same number has the same quotient for all threads.
//!
//! A flat index is taken apart by dividing it by one extent after the other: `rest % n`, `rest / n`, usually in
//! a loop. Neighbouring threads have neighbouring indices, so in most SIMD-groups all quotients are one, and the
//! remainders are neighbours again. That can be seen from the first thread's `x0 = q0 * n + r0` and the other
//! threads' distance `e` from it: if `e < n - r0`, and `x0 + e` does not wrap, then `x / n == q0` and
//! `x % n == r0 + e`. Behind that test stands a copy of what follows, in which a code generator sees that
//! quotients are the same for all threads, and with them everything that comes of dividing them again. Of a loop
//! that divides what it carries the first iteration is taken out for that. A remainder is then multiplied by a
//! stride, and where that is 1 another copy knows.
//!
//! What is the same for all threads, and what rises from thread to thread, [`ThreadPattern`] says.

mod candidates;
mod guards;
mod private_copies;

use rustc_hash::FxHashSet;

use super::copy::Copier;
use super::manager::TargetInfo;
use super::{dce, mem2reg};
use crate::analysis::walk_insts;
use crate::{BinOp, Block, Function, Inst, Label, Op, Type, Value};
use candidates::{Found, Looped, Place, Search};
use private_copies::{Own, Wanted};

/// What is copied at once must be shorter.
const MAX_COPY: usize = 160;

/// Instructions that may be added to a function.
const MAX_GROWTH: usize = 512;

/// What a value is like in a SIMD-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadPattern {
    /// The same for all threads.
    Same,
    /// By that much more from each thread to the next, where it does not wrap.
    Rising(u32),
    /// Anything else.
    Other,
}

/// The most versions that one kernel gets.
const MAX_VERSIONS: usize = 6;

/// Versions the function for SIMD-groups in which quotients are uniform, as far as the target's analysis of thread
/// patterns shows candidates; returns whether it did.
pub fn uniform_div_versioning(function: &mut Function, target: &dyn TargetInfo) -> bool {
    if !divides(function) {
        return false;
    }
    let mut quotients = Quotients::default();
    let mut changed = false;
    for _ in 0..MAX_VERSIONS {
        let Some(patterns) = target.thread_patterns(function) else { break };
        if !quotients.copy_one(function, &|value: Value| patterns[value.index()]) {
            break;
        }
        changed = true;
        // The values of a version's variables on its entry become visible.
        mem2reg::mem2reg(function);
        dce::dce(function);
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

/// What is remembered from one copy to the next.
#[derive(Debug, Default)]
pub struct Quotients {
    /// Operations that need no copy: they have one.
    done: FxHashSet<Inst>,
    /// Remainders in copies.
    remainders: FxHashSet<Value>,
    added: usize,
}

impl Quotients {
    /// Copies behind one test, and returns whether there was anything to test.
    pub fn copy_one(&mut self, function: &mut Function, threads: &dyn Fn(Value) -> ThreadPattern) -> bool {
        let room = MAX_COPY.min(MAX_GROWTH.saturating_sub(self.added));
        let found = Search::new(function, threads, (&self.done, &self.remainders), room).first();
        let Some(Found { inst, place }) = found else { return false };
        let before = function.insts.len();
        let mut writer = Writer { function, quotients: self, like: inst };
        match place {
            Place::Here { block, at, step } => writer.straight(block, at, step),
            Place::InLoop(looped) => writer.looped(&looped),
        }
        self.added += function.insts.len() - before;
        true
    }
}

/// Calls `f` for instructions and what is nested in them.
fn each(function: &Function, insts: &[Inst], f: &mut impl FnMut(Inst)) {
    for &inst in insts {
        f(inst);
        for nested in function.inst(inst).op.blocks() {
            walk_insts(function, nested, f);
        }
    }
}

struct Writer<'a> {
    function: &'a mut Function,
    quotients: &'a mut Quotients,
    /// The operation that is tested.
    like: Inst,
}

impl Writer<'_> {
    /// Adds an operation with a result.
    fn value(&mut self, to: &mut Vec<Inst>, op: Op, ty: Type) -> Value {
        let (fp, loc) = (self.function.inst(self.like).fp, self.function.inst(self.like).loc);
        to.push(self.function.add_inst(op, Some(ty), fp, loc));
        Value(self.function.values.len() as u32 - 1)
    }

    /// Adds an operation without one.
    fn effect(&mut self, to: &mut Vec<Inst>, op: Op) {
        let (fp, loc) = (self.function.inst(self.like).fp, self.function.inst(self.like).loc);
        to.push(self.function.add_inst(op, None, fp, loc));
    }

    fn block(&mut self, insts: Vec<Inst>) -> Block {
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = insts;
        block
    }

    fn scope(&mut self, to: &mut Vec<Inst>, label: Label, insts: Vec<Inst>) {
        let body = self.block(insts);
        self.effect(to, Op::Scope { label, body });
    }

    /// Where a test does not hold there is nothing more to test.
    fn leave_as_is(&mut self, insts: &[Inst]) {
        let done = &mut self.quotients.done;
        each(self.function, insts, &mut |inst| {
            done.insert(inst);
        });
    }

    /// What follows in the block gets a copy before it, for where the test holds.
    fn straight(&mut self, block: Block, at: usize, step: u32) {
        let Op::Binary(op, x, y) = self.function.inst(self.like).op else { return };
        let mut out = self.function.block(block).to_vec();
        let rest = out.split_off(at);
        let wanted = Wanted::of(self.function, block, &rest);
        if op == BinOp::Mul {
            self.quotients.done.insert(self.like);
            let test = self.has_unit_factor(&mut out, x, y);
            let mut fast = Vec::new();
            let own = self.start(&mut fast, &wanted);
            fast.extend(self.copy(&own, &test.known, &rest));
            self.choice(&mut out, test.holds, fast, rest);
        } else {
            self.leave_as_is(&rest);
            let mut tested = Vec::new();
            let test = self.has_one_quotient(&mut tested, &rest, (x, y), (x, y), step);
            let mut fast = Vec::new();
            let own = self.start(&mut fast, &wanted);
            fast.extend(self.copy(&own, &test.known, &rest));
            let done = self.function.add_label();
            self.choose(&mut tested, test.holds, fast, done);
            self.before(&mut out, tested, rest, done);
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn copy(&mut self, own: &Own, known: &[(Value, Value)], insts: &[Inst]) -> Vec<Inst> {
        let mut copier = own.copier(self.function);
        for &(old, new) in known {
            copier.replace(old, new);
        }
        copier.insts(insts)
    }

    /// A copy of the loop's first iteration up to the division stands before the loop. Where its test holds that
    /// iteration goes on, then a copy of the loop, and one of what follows; otherwise the loop begins anew.
    fn looped(&mut self, looped: &Looped) {
        let Op::Binary(_, x, y) = self.function.inst(self.like).op else { return };
        let mut out = self.function.block(looped.block).to_vec();
        let rest = out.split_off(looped.at);
        let wanted = Wanted::of(self.function, looped.block, &rest);
        self.leave_as_is(&rest);
        let body = self.function.block(looped.body).to_vec();
        let ahead = &body[..looped.division];
        let top = looped.test.unwrap_or(0);

        let mut copier = Copier::new(self.function);
        let mut tested = copier.insts(&ahead[..top]);
        // What of the iteration runs only if there is one.
        let mut entered = copier.insts(&ahead[top + usize::from(looped.test.is_some())..]);
        let (new_x, new_y) = (copier.value(x), copier.value(y));
        let copies = std::mem::take(&mut copier.copied);
        let test = self.has_one_quotient(&mut entered, &body, (x, y), (new_x, new_y), looped.step);

        let mut fast = Vec::new();
        let own = self.start(&mut fast, &wanted);
        let known: Vec<_> = copies.iter().copied().chain(test.known).collect();
        self.iteration(&mut fast, looped, &own, &known);
        fast.extend(self.copy(&own, &[], &rest[1..]));
        let done = self.function.add_label();
        self.choose(&mut entered, test.holds, fast, done);
        match looped.test.and_then(|place| self.entry(body[place], &copies)) {
            Some((cond, true)) => self.choice(&mut tested, cond, Vec::new(), entered),
            Some((cond, false)) => self.choice(&mut tested, cond, entered, Vec::new()),
            None => tested.append(&mut entered),
        }
        self.before(&mut out, tested, rest, done);
        self.function.blocks[looped.block.index()].insts = out;
    }

    /// The first iteration from the division on, and a copy of the loop.
    fn iteration(&mut self, to: &mut Vec<Inst>, looped: &Looped, own: &Own, known: &[(Value, Value)]) {
        let body = self.function.block(looped.body)[looped.division..].to_vec();
        let continuing = self.function.block(looped.continuing).to_vec();
        let looping = self.function.block(looped.block)[looped.at];
        let (leave, go_on) = (self.function.add_label(), self.function.add_label());
        let (mut breaks, mut continues) = (false, false);
        each(self.function, &body, &mut |inst| {
            breaks |= self.function.inst(inst).op == Op::Break(looped.label);
            continues |= self.function.inst(inst).op == Op::Continue(looped.label);
        });
        each(self.function, &continuing, &mut |inst| {
            breaks |= self.function.inst(inst).op == Op::Break(looped.label);
        });
        let mut copier = own.copier(self.function);
        for &(old, new) in known {
            copier.replace(old, new);
        }
        copier.unroll(looped.label, leave, go_on);
        let (first, next) = (copier.insts(&body), copier.insts(&continuing));
        let mut copies = Vec::new();
        match continues {
            true => self.scope(&mut copies, go_on, first),
            false => copies.extend(first),
        }
        copies.extend(next);
        copies.extend(own.copier(self.function).insts(&[looping]));
        match breaks {
            true => self.scope(to, leave, copies),
            false => to.extend(copies),
        }
    }

    /// A loop's test: its condition in the copy, and whether the loop is left if it holds.
    fn entry(&self, test: Inst, copies: &[(Value, Value)]) -> Option<(Value, bool)> {
        let Op::If { cond, then, .. } = self.function.inst(test).op else { return None };
        let copy = copies.iter().find(|copy| copy.0 == cond).map_or(cond, |copy| copy.1);
        Some((copy, !self.function.block(then).is_empty()))
    }

    /// If the condition holds, these instructions, and behind them all is done.
    fn choose(&mut self, to: &mut Vec<Inst>, cond: Value, mut insts: Vec<Inst>, done: Label) {
        let goes_on = insts.last().is_none_or(|&last| !self.function.inst(last).op.is_terminator());
        if goes_on {
            self.effect(&mut insts, Op::Break(done));
        }
        self.choice(to, cond, insts, Vec::new());
    }

    /// In whole SIMD-groups, what is tested, and unless that ends it, the rest.
    fn before(&mut self, to: &mut Vec<Inst>, tested: Vec<Inst>, rest: Vec<Inst>, done: Label) {
        let mut all = Vec::new();
        let is_whole = self.is_whole(&mut all);
        self.choice(&mut all, is_whole, tested, Vec::new());
        all.extend(rest);
        self.scope(to, done, all);
    }

    fn choice(&mut self, to: &mut Vec<Inst>, cond: Value, then: Vec<Inst>, otherwise: Vec<Inst>) {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.effect(to, Op::If { cond, then, otherwise });
    }
}
