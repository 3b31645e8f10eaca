//! Constants: `const` gives a scalar whose bits fit, or the null pointer; `function_constant`
//! gives the constant's type, `function_constant_defined` gives `bool`; `undef` gives any type.

use super::walk::Subject;
use super::{Checked, require};
use crate::eval::mask;
use crate::{Op, Type};

pub(super) fn check(subject: &Subject<'_>, op: &Op) -> Checked {
    let ty = subject.gives_something()?;
    let id = match op {
        Op::Const(bits) => return constant(ty, *bits),
        Op::FunctionConstant(id) | Op::FunctionConstantDefined(id) => *id,
        // Any type has arbitrary values.
        Op::Undef => return Ok(()),
        _ => unreachable!("{op:?} is not a constant"),
    };
    let constants = &subject.module.function_constants;
    let constant = constants.get(id.index()).ok_or_else(|| format!("{id} does not exist"))?;
    match op {
        Op::FunctionConstant(_) => subject.gives(Type::Scalar(constant.ty)),
        _ => subject.gives(Type::BOOL),
    }
}

fn constant(ty: Type, bits: u64) -> Checked {
    let fits = match ty {
        Type::Scalar(scalar) => bits & !mask(scalar) == 0,
        Type::Vector(..) => false,
        Type::Ptr(_) => bits == 0,
    };
    require(fits, || format!("{bits:#x} is not a {ty} constant"))
}
