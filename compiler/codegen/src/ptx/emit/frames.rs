//! The constructs around the instruction being written, the jumps between them, and what these pass.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Function, Inst, Label, Op, Value};

use super::Emitter;
use crate::llvm::{BlockName, I32, IntPredicate, Opd, scalar_type};

/// A jump out of constructs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Exit {
    /// Leaves the construct of that label.
    Break(Label),
    /// Goes to the loop's continuing block.
    Continue(Label),
}

impl Exit {
    /// The number that stands for it in the register of lanes on their way out; 0 is none.
    pub(super) fn code(self) -> i64 {
        match self {
            Self::Break(label) => 2 * i64::from(label.0) + 1,
            Self::Continue(label) => 2 * i64::from(label.0) + 2,
        }
    }
}

/// A construct.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its label, if it can be left.
    pub(super) label: Option<Label>,
    /// Where its lanes meet, if it is tracked: every jump out of it goes there first.
    pub(super) meet: Option<BlockName>,
    /// After it.
    pub(super) break_to: BlockName,
    /// The loop's continuing block.
    pub(super) continue_to: BlockName,
    /// The jumps that go to the meeting place.
    pub(super) exits: BTreeSet<Exit>,
}

/// The constructs around, outermost first, and the register of exits.
#[derive(Debug, Default)]
pub(super) struct Frames {
    stack: Vec<Frame>,
    exit: Option<Opd>,
}

impl Frames {
    pub(super) fn push(&mut self, frame: Frame) {
        self.stack.push(frame);
    }

    /// Ends the innermost construct; gives the jumps that go to its meeting place.
    pub(super) fn pop(&mut self) -> BTreeSet<Exit> {
        self.stack.pop().map(|frame| frame.exits).unwrap_or_default()
    }
}

impl Emitter<'_> {
    /// The variable that says where a lane is on its way to.
    pub(super) fn exit_variable(&mut self) -> Opd {
        if let Some(variable) = &self.frames.exit {
            return variable.clone();
        }
        let variable = self.t.alloca(I32, 4);
        self.t.in_entry(|t| t.store(&Opd::int(I32, 0), &variable, 4));
        self.frames.exit = Some(variable.clone());
        variable
    }

    pub(super) fn jump_of(&mut self, op: &Op) {
        self.pass_on(op);
        match op {
            Op::Break(label, _) => self.jump(Exit::Break(*label), false),
            Op::Continue(label, _) => self.jump(Exit::Continue(*label), false),
            _ => self.t.branch(self.exit),
        }
    }

    /// Goes to the innermost meeting place on the way, or to the target. `on_the_way`: the lane comes from a
    /// meeting place.
    pub(super) fn jump(&mut self, exit: Exit, on_the_way: bool) {
        let (Exit::Break(target) | Exit::Continue(target)) = exit;
        for at in (0..self.frames.stack.len()).rev() {
            let frame = &mut self.frames.stack[at];
            if let Some(meet) = frame.meet {
                frame.exits.insert(exit);
                let variable = self.exit_variable();
                self.t.store(&Opd::int(I32, exit.code()), &variable, 4);
                return self.t.branch(meet);
            }
            if frame.label == Some(target) {
                let to = if matches!(exit, Exit::Break(_)) { frame.break_to } else { frame.continue_to };
                if on_the_way {
                    let variable = self.exit_variable();
                    self.t.store(&Opd::int(I32, 0), &variable, 4);
                }
                return self.t.branch(to);
            }
        }
        // The verifier lets no jump have a target that is not around it.
        self.t.branch(self.exit);
    }

    /// Sends a lane at a meeting place on its way, by what it wants.
    pub(super) fn dispatch(&mut self, wanted: &Opd, exits: &BTreeSet<Exit>) {
        let exits: Vec<Exit> = exits.iter().copied().collect();
        let Some((last, others)) = exits.split_last() else { return };
        for exit in others {
            let (here, next) = (self.t.block(), self.t.block());
            let is_it = self.t.icmp(IntPredicate::Eq, wanted, exit.code());
            self.t.branch_if(&is_it, here, next);
            self.t.label(here);
            self.jump(*exit, true);
            self.t.label(next);
        }
        self.jump(*last, true);
    }
}

/// What loops carry and constructs result in: a variable for each component of a parameter or result, of
/// which LLVM's SROA makes phi nodes.
#[derive(Debug)]
pub(super) struct Carried<'a> {
    variables: BTreeMap<Value, Vec<Opd>>,
    /// The results of the constructs around.
    yields_to: Vec<&'a [Value]>,
    /// The constructs with labels.
    labelled: BTreeMap<Label, &'a Op>,
}

impl<'a> Carried<'a> {
    pub(super) fn new(function: &'a Function, order: &[Inst]) -> Self {
        let ops = order.iter().map(|&inst| &function.inst(inst).op);
        let labelled = ops.filter(|op| !op.blocks().is_empty()).filter_map(|op| Some((op.label()?, op)));
        Self { variables: BTreeMap::new(), yields_to: Vec::new(), labelled: labelled.collect() }
    }

    /// Enters a construct with these results.
    pub(super) fn enter(&mut self, results: &'a [Value]) {
        self.yields_to.push(results);
    }

    /// Leaves the construct; gives its results.
    pub(super) fn leave(&mut self) -> &'a [Value] {
        self.yields_to.pop().expect("constructs nest")
    }
}

impl Emitter<'_> {
    /// Stores what a jump or yield passes.
    pub(super) fn pass_on(&mut self, jump: &Op) {
        let targets = match jump {
            Op::Break(label, _) => self.carried.labelled[label].results(),
            Op::Continue(label, _) => self.carried.labelled[label].params(),
            Op::Yield(_) => self.carried.yields_to.last().expect("a yield is in a construct"),
            _ => &[],
        };
        self.pass(jump.passed(), targets);
    }

    /// Stores values as these parameters or results.
    pub(super) fn pass(&mut self, values: &[Value], targets: &[Value]) {
        assert_eq!(values.len(), targets.len(), "there is a value for each parameter or result");
        let passed: Vec<Vec<Opd>> =
            targets.iter().zip(values).map(|(&target, &value)| self.in_form_of(target, value)).collect();
        for (&target, parts) in targets.iter().zip(passed) {
            let scalar = self.scalar(target);
            for (variable, part) in self.variables_of(target).iter().zip(parts) {
                self.t.store(&part, variable, scalar.size());
            }
        }
    }

    /// Defines parameters where an iteration begins, or results where a construct ends.
    pub(super) fn define_carried(&mut self, values: &[Value]) {
        for &value in values {
            self.values[value.index()] = self.load_carried(value);
        }
    }

    /// What was passed last as a parameter or result.
    pub(super) fn load_carried(&mut self, value: Value) -> Vec<Opd> {
        let scalar = self.scalar(value);
        let variables = self.variables_of(value);
        variables.iter().map(|variable| self.t.load(scalar_type(scalar), variable, scalar.size())).collect()
    }

    fn variables_of(&mut self, value: Value) -> Vec<Opd> {
        if let Some(known) = self.carried.variables.get(&value) {
            return known.clone();
        }
        let scalar = self.scalar(value);
        let lanes = 0..self.ty(value).lanes();
        let variables: Vec<Opd> = lanes.map(|_| self.t.alloca(scalar_type(scalar), scalar.size())).collect();
        self.carried.variables.insert(value, variables.clone());
        variables
    }
}
