//! What loops carry and constructs result in: a variable for each component of a parameter or result, of
//! which LLVM's SROA makes phi nodes.

use std::collections::BTreeMap;

use anymetal_ir::{Function, Inst, Label, Op, Value};

use super::Emitter;
use crate::llvm_text::{Opd, scalar_type};

/// The variables, and where jumps pass values to.
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
                self.t.store(scalar_type(scalar), &part, variable, scalar.size());
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
