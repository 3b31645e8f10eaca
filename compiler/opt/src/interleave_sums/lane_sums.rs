//! Which values are added up over all lanes and used in no other way.

use rustc_hash::FxHashSet;

use anymetal_analysis::IncomingValues;
use anymetal_analysis::divergence::Divergence;
use anymetal_ir::{BinOp, Block, FpMode, Function, Inst, Op, SimdOp, Value, ValueDef};

/// Where control flow is the same for all lanes, and the users of each value.
pub(super) struct LaneSums<'a> {
    function: &'a Function,
    incoming: IncomingValues,
    /// Instructions that all lanes execute together.
    convergent: FxHashSet<Inst>,
    users: Vec<Vec<Inst>>,
    /// The loop around each instruction.
    around: Vec<Option<Inst>>,
}

impl<'a> LaneSums<'a> {
    pub(super) fn new(function: &'a Function, divergence: &Divergence) -> Self {
        let mut found = Self {
            function,
            incoming: IncomingValues::of(function),
            convergent: FxHashSet::default(),
            users: vec![Vec::new(); function.values.len()],
            around: vec![None; function.insts.len()],
        };
        found.walk(divergence, function.body, None, !divergence.returns_diverge);
        found
    }

    fn walk(&mut self, divergence: &Divergence, block: Block, around: Option<Inst>, convergent: bool) {
        let function = self.function;
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            op.for_each_operand(|value| self.users[value.index()].push(inst));
            self.around[inst.index()] = around;
            if convergent {
                self.convergent.insert(inst);
            }
            let construct = divergence.construct(inst);
            let stays = convergent && !construct.separates_lanes() && !construct.lanes_leave;
            let around = if matches!(op, Op::Loop { .. }) { Some(inst) } else { around };
            for nested in op.blocks() {
                self.walk(divergence, nested, around, stays);
            }
        }
    }

    pub(super) fn is_convergent(&self, inst: Inst) -> bool {
        self.convergent.contains(&inst)
    }

    /// Whether nothing is done with a loop's parameter but to add to it, in each iteration once, and to add
    /// up the lanes' values at last.
    pub(super) fn is_added_only(&self, param: Value) -> bool {
        let mut flow = vec![param];
        let mut at = 0;
        while let Some(&value) = flow.get(at) {
            at += 1;
            for &user in &self.users[value.index()] {
                let Some(next) = self.next(value, user) else {
                    // A lane's own sum is used.
                    return false;
                };
                for value in next {
                    if !flow.contains(&value) {
                        flow.push(value);
                    }
                }
            }
        }
        // No lane's sum is replaced by another value on the way. The first values are added up, too.
        flow.iter().filter(|&&value| value != param).all(|&value| {
            let mut stays = true;
            if !matches!(self.function.values[value.index()].def, ValueDef::Inst(_)) {
                self.incoming.each_source(self.function, value, |source| stays &= flow.contains(&source));
            }
            let adds_twice = match self.function.def(value) {
                Some(Op::Binary(BinOp::FAdd, a, b)) => flow.contains(a) && flow.contains(b),
                _ => false,
            };
            stays && !adds_twice
        })
    }

    /// The values to which a value is passed on; `None`: it is used in another way.
    fn next(&self, value: Value, user: Inst) -> Option<Vec<Value>> {
        let data = self.function.inst(user);
        let places = |values: &[Value], to: &[Value]| {
            values.iter().zip(to).filter(|&(&passed, _)| passed == value).map(|(_, &to)| to).collect()
        };
        match &data.op {
            Op::Simd(SimdOp::Sum, _) if data.fp != FpMode::Safe && self.is_convergent(user) => {
                Some(Vec::new())
            }
            Op::Binary(BinOp::FAdd, ..) if data.fp != FpMode::Safe => {
                // In a loop a value of outside would be added again and again.
                (self.loop_of(value) == self.around[user.index()]).then(|| vec![self.function.result(user)])
            }
            Op::Loop { inits, params, .. } => Some(places(inits, params)),
            Op::Break(label, passed) | Op::Continue(label, passed) => {
                let is_target = |inst: &Inst| self.function.inst(*inst).op.label() == Some(*label);
                let construct = *self.incoming.constructs().iter().find(|inst| is_target(inst))?;
                let to = match &data.op {
                    Op::Continue(..) => self.function.inst(construct).op.params(),
                    _ => self.function.inst(construct).op.results(),
                };
                Some(places(passed, to))
            }
            _ => None,
        }
    }

    /// The loop in which a value is defined.
    fn loop_of(&self, value: Value) -> Option<Inst> {
        match self.function.values[value.index()].def {
            ValueDef::Param(_) => None,
            ValueDef::LoopParam(inst, _) => Some(inst),
            ValueDef::Inst(inst) | ValueDef::Result(inst, _) => self.around[inst.index()],
        }
    }
}
