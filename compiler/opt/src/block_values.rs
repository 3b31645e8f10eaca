//! The removal of parameters and results that are not needed.
//!
//! A result that every yield and break passes the same value is that value; a loop parameter that every
//! continue passes unchanged is its first value. An undefined value does not become the value of another
//! path: the code generators make it zero. Values that are used only by jumps that pass them on are dead.

use super::substitution::Substitution;
use crate::limits::MAX_ROUNDS;
use anymetal_analysis::{IncomingValues, textual_ranges, walk_insts};
use anymetal_ir::{Function, Inst, Op, Value, ValueDef, Values};

/// Removes the parameters and results for which `is_dead` holds, and the values that jumps pass to them.
fn remove(function: &mut Function, jumps: &IncomingValues, is_dead: impl Fn(Value) -> bool) -> bool {
    let mut changed = false;
    for &construct in jumps.constructs() {
        let op = &function.inst(construct).op;
        let kept = |values: &[Value]| values.iter().map(|&value| !is_dead(value)).collect::<Vec<bool>>();
        let (params, results) = (kept(op.params()), kept(op.results()));
        if params.iter().chain(&results).all(|kept| *kept) {
            continue;
        }
        changed = true;
        if let Op::Loop { inits, params: of_loop, .. } = &mut function.insts[construct.index()].op {
            retain(inits, &params);
            retain(of_loop, &params);
        }
        let of_construct = function.insts[construct.index()].op.results_mut();
        retain(of_construct.expect("what defines values is a construct"), &results);
        function.number_definitions(construct);
        for &jump in jumps.to_params(construct) {
            retain(passed_mut(&mut function.insts[jump.index()].op), &params);
        }
        for &(jump, block) in jumps.to_results(construct) {
            let values = passed_mut(&mut function.insts[jump.index()].op);
            retain(values, &results);
            if let Some(block) = block.filter(|_| values.is_empty()) {
                let last = function.blocks[block.index()].insts.pop();
                assert_eq!(last, Some(jump), "a yield ends its block");
            }
        }
    }
    changed
}

fn retain(values: &mut Values, kept: &[bool]) {
    let mut kept = kept.iter();
    values.retain(|_| *kept.next().expect("jumps pass a value for each parameter or result"));
}

fn passed_mut(op: &mut Op) -> &mut Values {
    match op {
        Op::Break(_, values) | Op::Continue(_, values) | Op::Yield(values) => values,
        _ => unreachable!("{op:?} does not pass values"),
    }
}

/// Replaces parameters and results that can have one value only. Returns whether there were any.
pub(super) fn remove_trivial(function: &mut Function) -> bool {
    let jumps = IncomingValues::of(function);
    if jumps.is_empty() {
        return false;
    }
    let ranges = textual_ranges(function);
    let mut substitution = Substitution::default();
    let mut removed = vec![false; function.values.len()];
    let definitions: Vec<(Value, (Inst, bool))> = jumps.definitions(function).collect();
    for _ in 0..MAX_ROUNDS {
        let mut found = false;
        // Inner constructs first: outer constructs often pass on values that inner constructs define.
        for &(value, (construct, _)) in definitions.iter().rev() {
            if removed[value.index()] {
                continue;
            }
            let mut one = One::new(value);
            jumps.each_source(function, value, |source| one.add(function, substitution.resolve(source)));
            if let Some(other) = one.outside(function, &ranges, construct) {
                substitution.replace(function, value, other);
                removed[value.index()] = true;
                found = true;
            }
        }
        if !found {
            break;
        }
    }
    if !remove(function, &jumps, |value| removed[value.index()]) {
        return false;
    }
    substitution.apply_everywhere(function);
    true
}

/// Finds the only value that is passed to a parameter or result, apart from itself.
struct One {
    of: Value,
    value: Option<Value>,
    several: bool,
}

impl One {
    fn new(of: Value) -> Self {
        One { of, value: None, several: false }
    }

    fn add(&mut self, function: &Function, value: Value) {
        let is_undefined = |value: Value| matches!(function.def(value), Some(Op::Undef));
        let is_same = |other: Value| other == value || is_undefined(other) && is_undefined(value);
        if value != self.of {
            self.several |= self.value.is_some_and(|other| !is_same(other));
            self.value = Some(value);
        }
    }

    /// The value, if it is the only one and defined outside of the construct.
    fn outside(self, function: &Function, ranges: &[(u32, u32)], construct: Inst) -> Option<Value> {
        // Without any, nothing leaves the construct.
        let value = self.value.filter(|_| !self.several)?;
        let (start, end) = ranges[construct.index()];
        let is_outside = match function.values[value.index()].def {
            ValueDef::Param(_) => true,
            ValueDef::Inst(def) | ValueDef::LoopParam(def, _) | ValueDef::Result(def, _) => {
                !(start..end).contains(&ranges[def.index()].0)
            }
        };
        is_outside.then_some(value)
    }
}

/// Removes parameters and results that nothing uses but jumps that pass them on. Returns whether there were
/// any.
pub(super) fn remove_dead(function: &mut Function) -> bool {
    let jumps = IncomingValues::of(function);
    if jumps.is_empty() {
        return false;
    }
    let mut live = vec![false; function.values.len()];
    let mut work: Vec<Value> = Vec::new();
    walk_insts(function, function.body, &mut |inst| {
        let op = &function.inst(inst).op;
        let passes = matches!(op, Op::Loop { .. } | Op::Break(..) | Op::Continue(..) | Op::Yield(_));
        if op.has_side_effects() && !passes {
            op.for_each_operand(|operand| work.push(operand));
        }
    });
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut live[value.index()], true) {
            continue;
        }
        match function.values[value.index()].def {
            ValueDef::Param(_) => {}
            ValueDef::Inst(inst) => function.inst(inst).op.for_each_operand(|operand| work.push(operand)),
            ValueDef::LoopParam(..) | ValueDef::Result(..) => {
                jumps.each_source(function, value, |source| work.push(source));
            }
        }
    }
    remove(function, &jumps, |value| !live[value.index()])
}
