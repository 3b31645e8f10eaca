//! Integers and pointers of the lanes as sums: uniform terms plus one known number per lane.
//!
//! Unlike the shapes of `divergence`, forms use what holds inside of the loop: the counter of every lane is
//! below the limit. Invariant: a form of an integer is exact, without wrapping, except in 64 bits, where sums
//! are modulo 2^64 and have no range.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::limits::MAX_FORM_DEPTH;
use anymetal_analysis::divergence::{Divergence, Geometry, LANES};
use anymetal_analysis::ranges::upper_bound;
use anymetal_ir::eval::sign_extend;
use anymetal_ir::{BinOp, CastOp, Function, Op, Query, Scalar, Type, Value};

/// The smallest and largest value that a number may have in any lane.
pub(super) type Range = (i128, i128);

/// The range of what may wrap.
pub(super) const UNKNOWN: Range = (i128::MIN / 4, i128::MAX / 4);

/// A number per lane, or a pointer in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Uniform values and their factors. A parameter of the loop stands for its value in lane 0.
    pub terms: BTreeMap<Value, i64>,
    /// What each lane adds.
    pub lanes: [i64; LANES],
    range: Range,
}

impl Form {
    fn known(lanes: [i64; LANES]) -> Self {
        let values = || lanes.iter().map(|&value| i128::from(value));
        let range = (values().min().expect("lanes exist"), values().max().expect("lanes exist"));
        Self { terms: BTreeMap::new(), lanes, range }
    }

    fn term(value: Value, lanes: [i64; LANES], range: Range) -> Self {
        Self { terms: BTreeMap::from([(value, 1)]), lanes, range }
    }

    pub(super) fn range(&self) -> Range {
        self.range
    }

    /// The distance of each lane's number from that of lane 0.
    pub(super) fn relative(&self) -> [i64; LANES] {
        self.lanes.map(|value| value.wrapping_sub(self.lanes[0]))
    }

    fn plus(mut self, other: &Self, factor: i64) -> Self {
        for (&value, &own) in &other.terms {
            let sum = self.terms.entry(value).or_insert(0);
            *sum = sum.wrapping_add(own.wrapping_mul(factor));
        }
        self.terms.retain(|_, factor| *factor != 0);
        for (lane, other) in self.lanes.iter_mut().zip(other.lanes) {
            *lane = lane.wrapping_add(other.wrapping_mul(factor));
        }
        let ends = [other.range.0, other.range.1].map(|end| end.saturating_mul(factor.into()));
        self.range.0 = self.range.0.saturating_add(ends[0].min(ends[1]));
        self.range.1 = self.range.1.saturating_add(ends[0].max(ends[1]));
        self
    }

    fn times(&self, factor: i64) -> Self {
        Self::known([0; LANES]).plus(self, factor)
    }

    /// Quotient or remainder of what is not negative by a divisor of all factors.
    fn divided(mut self, by: i64, remainder: bool) -> Option<Self> {
        if self.range.0 < 0 || by <= 0 || self.terms.values().any(|factor| factor % by != 0) {
            return None;
        }
        let divide = |value: i64| if remainder { value.rem_euclid(by) } else { value.div_euclid(by) };
        self.lanes = self.lanes.map(divide);
        if remainder {
            return Some(Self::known(self.lanes));
        }
        self.terms.values_mut().for_each(|factor| *factor /= by);
        self.range = (self.range.0 / i128::from(by), self.range.1 / i128::from(by));
        Some(self)
    }
}

/// Computes forms of one function.
pub(super) struct Forms<'a> {
    pub function: &'a Function,
    pub divergence: &'a Divergence,
    pub geometry: Geometry,
    /// Parameters of the loop: the distances from lane 0, and the range.
    pub params: FxHashMap<Value, ([i64; LANES], Range)>,
}

impl Forms<'_> {
    /// The form of a value, if it has one.
    pub(super) fn of(&self, value: Value) -> Option<Form> {
        self.at_depth(value, 0)
    }

    fn at_depth(&self, value: Value, depth: u32) -> Option<Form> {
        let function = self.function;
        if let Some(&(lanes, range)) = self.params.get(&value) {
            return Some(Form::term(value, lanes, range));
        }
        if let Some(number) = self.constant(value) {
            return Some(Form::known([number; LANES]));
        }
        if self.divergence.is_uniform(value) {
            return Some(Form::term(value, [0; LANES], self.range(value)));
        }
        if depth == MAX_FORM_DEPTH {
            return None;
        }
        let of = |value| self.at_depth(value, depth + 1);
        let form = match *function.def(value)? {
            Op::Query(Query::ThreadIndexInSimdgroup) => Form::known(std::array::from_fn(|lane| lane as i64)),
            Op::Cast(CastOp::SExt | CastOp::Trunc, a) => of(a)?,
            Op::Cast(CastOp::ZExt, a) => of(a).filter(|form| form.range.0 >= 0)?,
            Op::Binary(op, a, b) => self.binary(op, of(a)?, of(b)?, self.constant(b))?,
            Op::PtrAdd { base, index, scale, offset } => {
                let mut sum = of(base)?.plus(&Form::known([1; LANES]), offset);
                if let Some(index) = index {
                    sum = sum.plus(&of(index)?, scale.into());
                }
                sum
            }
            _ => return None,
        };
        self.without_wrapping(value, form)
    }

    fn binary(&self, op: BinOp, a: Form, b: Form, constant: Option<i64>) -> Option<Form> {
        let power = |bits: i64| (0..31).contains(&bits).then(|| 1i64 << bits);
        match (op, constant) {
            (BinOp::Add, _) => Some(a.plus(&b, 1)),
            (BinOp::Sub, _) => Some(a.plus(&b, -1)),
            (BinOp::Mul, Some(factor)) => Some(a.times(factor)),
            (BinOp::Shl, Some(bits)) => Some(a.times(power(bits)?)),
            (BinOp::SDiv | BinOp::UDiv, Some(by)) => a.divided(by, false),
            (BinOp::SRem | BinOp::URem, Some(by)) => a.divided(by, true),
            (BinOp::LShr | BinOp::AShr, Some(bits)) => a.divided(power(bits)?, false),
            (BinOp::And, Some(mask)) if mask.wrapping_add(1).count_ones() == 1 => {
                a.divided(mask.wrapping_add(1), true)
            }
            _ => None,
        }
    }

    /// The form, unless the number may wrap in its type. Sums of 64 bits may.
    fn without_wrapping(&self, value: Value, mut form: Form) -> Option<Form> {
        let Some(scalar) = self.function.ty(value).scalar() else {
            form.range = UNKNOWN;
            return Some(form);
        };
        let (low, high) = signed(scalar);
        if form.range.0 < low || form.range.1 > high {
            form.range = UNKNOWN;
            return (scalar == Scalar::I64).then_some(form);
        }
        Some(form)
    }

    fn constant(&self, value: Value) -> Option<i64> {
        let Type::Scalar(scalar) = self.function.ty(value) else {
            // A vector or a pointer.
            return None;
        };
        let bits = self.function.as_const(value).filter(|_| scalar.is_int() && scalar != Scalar::Bool)?;
        Some(sign_extend(scalar, bits))
    }

    /// The range of a uniform number, read as signed.
    pub(super) fn range(&self, value: Value) -> Range {
        let Type::Scalar(scalar) = self.function.ty(value) else { return UNKNOWN };
        if !scalar.is_int() {
            return UNKNOWN;
        }
        let (low, high) = signed(scalar);
        let bound = i128::from(upper_bound(self.function, self.geometry, value));
        if bound <= high {
            return (0, bound);
        }
        match self.function.def(value) {
            Some(&Op::Binary(BinOp::SDiv, _, by)) => match self.constant(by) {
                Some(by) if by > 0 => (low / i128::from(by), high / i128::from(by)),
                _ => (low, high),
            },
            _ => (low, high),
        }
    }
}

fn signed(scalar: Scalar) -> Range {
    let half = 1i128 << (scalar.bits() - 1);
    (-half, half - 1)
}

/// Lanes at `first + row * (lane / len) + step * (lane % len)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rows {
    pub first: i64,
    pub row: i64,
    pub step: i64,
    /// The logarithm of the number of lanes of a row.
    pub log: u32,
}

impl Rows {
    /// Distances as the fewest rows, if they are rows.
    pub(super) fn of(lanes: &[i64; LANES]) -> Option<Self> {
        (0..=5u32).rev().find_map(|log| {
            let len = 1usize << log;
            let first = lanes[0];
            let step = if len > 1 { lanes[1].wrapping_sub(first) } else { 0 };
            let row = if len < LANES { lanes[len].wrapping_sub(first) } else { 0 };
            let rows = Self { first, row, step, log };
            (0..LANES).all(|lane| rows.at(lane) == lanes[lane]).then_some(rows)
        })
    }

    fn at(&self, lane: usize) -> i64 {
        let len = 1 << self.log;
        let row = self.row.wrapping_mul((lane / len) as i64);
        self.first.wrapping_add(row).wrapping_add(self.step.wrapping_mul((lane % len) as i64))
    }
}
