//! Calls and control flow: what types say. Labels and blocks are checked by the walk.

use rustc_hash::FxHashSet;

use super::walk::Subject;
use super::{Checked, require};
use crate::eval::{mask, sign_extend};
use crate::{FuncId, Op, Scalar, SwitchCase, Type, Value};

pub(super) fn check(subject: &Subject<'_>, op: &Op) -> Checked {
    match op {
        Op::Call(callee, args) => return call(subject, *callee, args),
        Op::If { cond, .. } => subject.operand(*cond, Type::BOOL)?,
        Op::Switch { selector, cases, .. } => switch(subject, *selector, cases)?,
        Op::Return(value) => {
            let given = value.map(|value| subject.ty(value));
            require(given == subject.function.ret, || "the function's result has another type".to_owned())?;
        }
        // What they pass is checked with the blocks.
        Op::Loop { .. } | Op::Scope { .. } | Op::Break(..) | Op::Continue(..) | Op::Yield(_) => {}
        _ => unreachable!("{op:?} is not control flow"),
    }
    subject.gives_nothing()
}

fn call(subject: &Subject<'_>, callee: FuncId, args: &[Value]) -> Checked {
    let Some(function) = subject.module.functions.get(callee.index()) else {
        return Err(format!("{callee} does not exist"));
    };
    require(function.params.len() == args.len(), || {
        format!("{callee} takes {} arguments, not {}", function.params.len(), args.len())
    })?;
    for (&arg, param) in args.iter().zip(&function.params) {
        // A callee whose tables are broken is reported with its own errors.
        if let Some(param) = function.values.get(param.index()) {
            subject.operand(arg, param.ty)?;
        }
    }
    require(subject.result == function.ret, || format!("the result is not of {callee}'s result type"))
}

fn switch(subject: &Subject<'_>, selector: Value, cases: &[SwitchCase]) -> Checked {
    let Type::Scalar(scalar) = subject.ty(selector) else {
        return Err(format!("{selector} must be an integer"));
    };
    require(Scalar::is_int(scalar), || format!("{selector} must be an integer"))?;
    let mut seen = FxHashSet::default();
    for &value in cases.iter().flat_map(|case| &case.values) {
        require(seen.insert(value), || format!("the case {value} occurs twice"))?;
        require(sign_extend(scalar, value as u64 & mask(scalar)) == value, || {
            format!("the case {value} is no {}, sign-extended", scalar.name())
        })?;
    }
    Ok(())
}
