//! How a value differs between the lanes of a SIMD-group.
//!
//! Owns [`Shape`] and its arithmetic. `lanes` finds the shapes of a kernel's values with it.

use anymetal_ir::eval::{eval_binary, mask, sign_extend};
use anymetal_ir::{BinOp, Scalar};

use crate::pattern::LANES;

/// What is known of a value's lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A base that is the same for all lanes, plus an offset for each lane; that of the first lane is 0.
    Known { base: Base, offsets: Box<[i64; LANES]> },
    /// As above, with offsets that are a run-time multiple of equal distances.
    Scaled,
    /// Anything.
    Varying,
}

/// What is known of a base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// Its value.
    Constant(i64),
    /// It is a multiple of `1 << n`.
    Multiple(u32),
}

impl Base {
    fn zeros(self) -> u32 {
        match self {
            Self::Constant(value) => value.trailing_zeros().min(63),
            Self::Multiple(zeros) => zeros,
        }
    }

    fn combine(self, other: Self, sum: impl Fn(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(sum(a, b)),
            _ => Self::Multiple(self.zeros().min(other.zeros())),
        }
    }
}

impl Shape {
    /// The same unknown value in all lanes.
    pub(crate) fn uniform() -> Self {
        Self::based(Base::Multiple(0), [0; LANES])
    }

    pub(crate) fn constant(value: i64) -> Self {
        Self::based(Base::Constant(value), [0; LANES])
    }

    pub(crate) fn based(base: Base, offsets: [i64; LANES]) -> Self {
        Self::Known { base, offsets: Box::new(offsets) }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self, Self::Known { offsets, .. } if **offsets == [0; LANES])
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        match self {
            Self::Known { base: Base::Constant(value), .. } if self.is_uniform() => Some(*value),
            _ => None,
        }
    }

    /// What holds of both.
    pub(crate) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            _ if self == other => self.clone(),
            (Self::Known { base: a, offsets }, Self::Known { base: b, offsets: others })
                if offsets == others =>
            {
                Self::based(Base::Multiple(a.zeros().min(b.zeros())), **offsets)
            }
            _ => Self::Varying,
        }
    }

    pub(crate) fn plus(&self, other: &Self, sign: i64) -> Self {
        match (self, other) {
            (Self::Known { base: a, offsets: x }, Self::Known { base: b, offsets: y }) => Self::based(
                a.combine(*b, |a, b| a.wrapping_add(b.wrapping_mul(sign))),
                std::array::from_fn(|lane| x[lane].wrapping_add(y[lane].wrapping_mul(sign))),
            ),
            (Self::Scaled, other) | (other, Self::Scaled) if other.is_uniform() => Self::Scaled,
            _ => Self::Varying,
        }
    }

    pub(crate) fn times(&self, by: i64) -> Self {
        match self {
            Self::Known { base, offsets } => {
                let base = match base {
                    Base::Constant(value) => Base::Constant(value.wrapping_mul(by)),
                    Base::Multiple(zeros) => Base::Multiple((zeros + by.trailing_zeros().min(32)).min(63)),
                };
                Self::based(base, offsets.map(|offset| offset.wrapping_mul(by)))
            }
            other => other.clone(),
        }
    }

    /// An operation on two values of a type.
    pub(crate) fn binary(op: BinOp, scalar: Scalar, a: &Self, b: &Self) -> Self {
        if !scalar.is_int() {
            return Self::of_operands(&[a, b]);
        }
        let by = b.as_constant();
        match op {
            BinOp::Add => a.plus(b, 1),
            BinOp::Sub => a.plus(b, -1),
            BinOp::Mul => match (a.as_constant(), by) {
                (_, Some(by)) => a.times(by),
                (Some(by), _) => b.times(by),
                _ => Self::product(a, b),
            },
            BinOp::Shl => match by {
                Some(by @ 0..32) => a.times(1 << by),
                _ => Self::of_operands(&[a, b]),
            },
            _ => Self::lanewise(op, scalar, a, b),
        }
    }

    /// Of two factors of which neither is known.
    fn product(a: &Self, b: &Self) -> Self {
        let (uniform, other) = if a.is_uniform() { (a, b) } else { (b, a) };
        match other {
            _ if !uniform.is_uniform() => Self::Varying,
            _ if other.is_uniform() => Self::uniform(),
            Self::Known { offsets, .. } if is_progression(offsets) => Self::Scaled,
            Self::Scaled => Self::Scaled,
            _ => Self::Varying,
        }
    }

    /// Operations in which the lanes' offsets and the base's bits do not mix.
    fn lanewise(op: BinOp, scalar: Scalar, a: &Self, b: &Self) -> Self {
        if a.is_uniform() && b.is_uniform() {
            return match (a.as_constant(), b.as_constant()) {
                (Some(a), Some(b)) => Self::constant(evaluate(op, scalar, a, b)),
                _ => Self::uniform(),
            };
        }
        let (Self::Known { base, offsets }, Some(by)) = (a, b.as_constant()) else { return Self::Varying };
        if let Base::Constant(base) = base {
            return Self::from_values(std::array::from_fn(|lane| {
                evaluate(op, scalar, base + offsets[lane], by)
            }));
        }
        let (zeros, by) = (base.zeros().min(31), by.max(0));
        let fits = offsets.iter().all(|&offset| (0..1i64 << zeros).contains(&offset));
        let values = || std::array::from_fn(|lane| evaluate(op, scalar, offsets[lane], by));
        match op {
            BinOp::And if fits && by < 1 << zeros => Self::from_values(values()),
            BinOp::URem if fits && by.count_ones() == 1 && by <= 1 << zeros => Self::from_values(values()),
            BinOp::LShr if fits && by <= i64::from(zeros) => {
                Self::based(Base::Multiple(zeros - by as u32), values())
            }
            BinOp::UDiv if fits && by.count_ones() == 1 && by <= 1 << zeros => {
                Self::based(Base::Multiple(zeros - by.trailing_zeros()), values())
            }
            _ => Self::Varying,
        }
    }

    /// Known values of the lanes.
    pub(crate) fn from_values(values: [i64; LANES]) -> Self {
        Self::based(Base::Constant(values[0]), values.map(|value| value.wrapping_sub(values[0])))
    }

    /// Of an operation that has the same result where its operands are the same.
    pub(crate) fn of_operands(operands: &[&Self]) -> Self {
        if operands.iter().all(|operand| operand.is_uniform()) { Self::uniform() } else { Self::Varying }
    }
}

fn is_progression(offsets: &[i64; LANES]) -> bool {
    offsets.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == offsets[1])
}

fn evaluate(op: BinOp, scalar: Scalar, a: i64, b: i64) -> i64 {
    let bits = |value: i64| value as u64 & mask(scalar);
    sign_extend(scalar, eval_binary(op, scalar, bits(a), bits(b)))
}
