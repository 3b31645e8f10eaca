//! Folds element extraction, insertion, composition and shuffles of vectors.

use super::Folded;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{Function, Op, Type, Value};

pub(super) fn simplify(function: &Function, op: &Op, ty: Type) -> Folded {
    match op {
        Op::Extract(a, n) => extract(function, *a, *n),
        Op::ExtractDynamic(a, n) => match function.as_const(*n) {
            Some(n) => Folded::Op(Op::Extract(*a, (n % u64::from(function.ty(*a).lanes())) as u8)),
            None => Folded::Keep,
        },
        Op::InsertDynamic(a, n, b) => match function.as_const(*n) {
            Some(n) => Folded::Op(Op::Insert(*a, (n % u64::from(ty.lanes())) as u8, *b)),
            None => Folded::Keep,
        },
        Op::Insert(a, n, b) => insert(function, *a, *n, *b, ty),
        Op::Compose(parts) => compose(function, parts, ty),
        Op::Shuffle(a, b, picks) => shuffle(function, *a, *b, picks, ty),
        // A splat has no simpler form.
        Op::Splat(_) => Folded::Keep,
        _ => unreachable!("{op:?} is not a vector operation"),
    }
}

/// The scalar value that is element `n`, if one exists already; else the vector and number where
/// the search ended.
pub(crate) fn find_element(function: &Function, vector: Value, n: u8) -> Result<Value, (Value, u8)> {
    let (mut vector, mut n) = (vector, n);
    for _ in 0..MAX_DEPTH {
        assert!(n < function.ty(vector).lanes(), "{vector} has no element {n}");
        match function.def(vector) {
            Some(Op::Splat(a)) => return Ok(*a),
            Some(Op::Insert(_, at, b)) if *at == n => return Ok(*b),
            Some(Op::Insert(a, ..)) => vector = *a,
            Some(Op::Compose(parts)) => {
                let mut first = 0;
                let part = parts.iter().find(|&&part| {
                    first += function.ty(part).lanes();
                    n < first
                });
                let &part = part.expect("the parts of a composition are as long as its result");
                n -= first - function.ty(part).lanes();
                if !matches!(function.ty(part), Type::Vector(..)) {
                    return Ok(part);
                }
                vector = part;
            }
            Some(Op::Shuffle(a, b, picks)) => {
                let pick = picks[usize::from(n)];
                let length = function.ty(*a).lanes();
                (vector, n) = if pick < length { (*a, pick) } else { (*b, pick - length) };
            }
            _ => return Err((vector, n)),
        }
    }
    Err((vector, n))
}

/// A scalar, or an element of a vector.
pub(crate) type Element = (Value, u8);

/// Where the element is computed.
pub(crate) fn element(function: &Function, (value, n): Element) -> Element {
    let (value, n) = match function.def(value) {
        Some(Op::Extract(vector, n)) => (*vector, *n),
        _ => (value, n),
    };
    match find_element(function, value, n) {
        Ok(scalar) => match function.def(scalar) {
            Some(Op::Extract(..)) => element(function, (scalar, 0)),
            _ => (scalar, 0),
        },
        Err(place) => place,
    }
}

fn extract(function: &Function, a: Value, n: u8) -> Folded {
    match find_element(function, a, n) {
        Ok(value) => Folded::Value(value),
        Err((vector, m)) if vector != a => Folded::Op(Op::Extract(vector, m)),
        Err(_) => Folded::Keep,
    }
}

/// An insertion that completes a vector of known elements becomes a composition.
fn insert(function: &Function, a: Value, n: u8, b: Value, ty: Type) -> Folded {
    if let Some(Op::Extract(from, m)) = function.def(b)
        && *from == a
        && *m == n
    {
        return Folded::Value(a);
    }
    let element = |m: u8| if m == n { Ok(b) } else { find_element(function, a, m) };
    let elements: Result<Vec<Value>, _> = (0..ty.lanes()).map(element).collect();
    match elements {
        Ok(elements) => Folded::Op(Op::Compose(elements)),
        // An older insertion of the same element is covered by this one.
        Err(_) => match function.def(a) {
            Some(Op::Insert(below, at, _)) if *at == n => Folded::Op(Op::Insert(*below, n, b)),
            _ => Folded::Keep,
        },
    }
}

/// The vector whose elements, in order, are these.
fn whole_vector(function: &Function, elements: &[Value], ty: Type) -> Option<Value> {
    let mut from = None;
    for (n, &element) in elements.iter().enumerate() {
        match function.def(element)? {
            Op::Extract(vector, at) if usize::from(*at) == n && from.is_none_or(|from| from == *vector) => {
                from = Some(*vector);
            }
            _ => return None,
        }
    }
    from.filter(|&vector| function.ty(vector) == ty)
}

fn compose(function: &Function, parts: &[Value], ty: Type) -> Folded {
    if let [part] = parts
        && function.ty(*part) == ty
    {
        return Folded::Value(*part);
    }
    let scalars = parts.iter().all(|&part| matches!(function.ty(part), Type::Scalar(_)));
    if scalars {
        if let Some(vector) = whole_vector(function, parts, ty) {
            return Folded::Value(vector);
        }
        if parts.iter().all(|&part| part == parts[0]) {
            return Folded::Op(Op::Splat(parts[0]));
        }
        return Folded::Keep;
    }
    // Parts that are themselves composed of known scalars are flattened.
    let mut flat = Vec::new();
    for &part in parts {
        match function.ty(part) {
            Type::Vector(_, n) => {
                for m in 0..n {
                    match find_element(function, part, m) {
                        Ok(value) => flat.push(value),
                        Err(_) => return Folded::Keep,
                    }
                }
            }
            _ => flat.push(part),
        }
    }
    assert_eq!(flat.len(), usize::from(ty.lanes()), "the scalars that {ty} is composed of");
    Folded::Op(Op::Compose(flat))
}

fn shuffle(function: &Function, a: Value, b: Value, picks: &[u8], ty: Type) -> Folded {
    let length = function.ty(a).lanes();
    assert!(picks.iter().all(|&pick| pick < 2 * length), "{picks:?} of two vectors of {length} elements");
    let identity = |first: u8| {
        picks.len() == usize::from(length) && picks.iter().zip(first..).all(|(&pick, n)| pick == n)
    };
    if identity(0) {
        return Folded::Value(a);
    }
    if identity(length) {
        return Folded::Value(b);
    }
    if let [pick] = picks {
        let (vector, n) = if *pick < length { (a, *pick) } else { (b, *pick - length) };
        return Folded::Op(Op::Extract(vector, n));
    }
    let element = |&pick: &u8| {
        if pick < length { find_element(function, a, pick) } else { find_element(function, b, pick - length) }
    };
    let elements: Result<Vec<Value>, _> = picks.iter().map(element).collect();
    match elements {
        Ok(elements) if matches!(ty, Type::Vector(..)) => Folded::Op(Op::Compose(elements)),
        _ => Folded::Keep,
    }
}
