//! Vectors. `splat` takes a scalar; `compose` parts that add up to the result's length; element
//! numbers are below the length and dynamic ones are `i32`; `shuffle` takes two vectors of one type
//! and 1 to 4 picks below twice their length (one pick gives a scalar).

use super::walk::Subject;
use super::{Checked, require};
use crate::{Op, Scalar, Type, Value};

pub(super) fn check(subject: &Subject<'_>, op: &Op) -> Checked {
    match op {
        Op::Splat(a) => splat(subject, *a),
        Op::Compose(parts) => compose(subject, parts),
        Op::Extract(a, n) => {
            let element = element_below(subject, *a, *n)?;
            subject.gives(Type::Scalar(element))
        }
        Op::ExtractDynamic(a, n) => {
            let (element, _) = vector(subject, *a)?;
            subject.operand(*n, Type::I32)?;
            subject.gives(Type::Scalar(element))
        }
        Op::Insert(a, n, b) => {
            let element = element_below(subject, *a, *n)?;
            subject.operand(*b, Type::Scalar(element))?;
            subject.gives(subject.ty(*a))
        }
        Op::InsertDynamic(a, n, b) => {
            let (element, _) = vector(subject, *a)?;
            subject.operand(*n, Type::I32)?;
            subject.operand(*b, Type::Scalar(element))?;
            subject.gives(subject.ty(*a))
        }
        Op::Shuffle(a, b, picks) => shuffle(subject, *a, *b, picks),
        _ => unreachable!("{op:?} is not a vector operation"),
    }
}

fn vector(subject: &Subject<'_>, value: Value) -> Result<(Scalar, u8), String> {
    match subject.ty(value) {
        Type::Vector(scalar, n) => Ok((scalar, n)),
        other => Err(format!("{value} must be a vector, is {other}")),
    }
}

fn element_below(subject: &Subject<'_>, value: Value, n: u8) -> Result<Scalar, String> {
    let (element, length) = vector(subject, value)?;
    require(n < length, || format!("{value} has no element {n}"))?;
    Ok(element)
}

fn splat(subject: &Subject<'_>, a: Value) -> Checked {
    let Type::Scalar(scalar) = subject.ty(a) else {
        return Err(format!("{a} must be a scalar, is {}", subject.ty(a)));
    };
    let result = subject.gives_something()?;
    require(matches!(result, Type::Vector(s, _) if s == scalar), || {
        format!("the result must be a vector of {}", scalar.name())
    })
}

fn compose(subject: &Subject<'_>, parts: &[Value]) -> Checked {
    let Type::Vector(scalar, length) = subject.gives_something()? else {
        return Err("the result must be a vector".to_owned());
    };
    for &part in parts {
        subject.scalar(part, scalar.name(), |s| s == scalar)?;
    }
    let total: usize = parts.iter().map(|&part| usize::from(subject.ty(part).lanes())).sum();
    require(total == usize::from(length), || format!("{total} elements cannot make {length}"))
}

fn shuffle(subject: &Subject<'_>, a: Value, b: Value, picks: &[u8]) -> Checked {
    let (scalar, length) = vector(subject, a)?;
    subject.same(a, b)?;
    for &pick in picks {
        require(pick < 2 * length, || format!("there is no element {pick}"))?;
    }
    match picks.len() {
        1 => subject.gives(Type::Scalar(scalar)),
        n @ 2..=4 => subject.gives(Type::Vector(scalar, n as u8)),
        n => Err(format!("{n} picks make no value")),
    }
}
