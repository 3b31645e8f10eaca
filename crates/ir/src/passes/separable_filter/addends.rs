//! What a sum is made of, and the rows in which its elements lie.
//!
//! Invariant: a sum is that of its terms' values, each times its weight, in an order that its mode leaves free; what
//! is inside it nothing else uses.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{Found, Linear, Terms};
use crate::op::FpMode;
use crate::{BinOp, CastOp, Function, Inst, MathFn, Op, Scalar, Type, UnOp, Value, ValueDef};

/// The most bytes from a row's first element to its last.
const REACH: i64 = 64;
/// The most limits that are looked through in one index.
const MAX_LIMITS: u32 = 8;

/// A value and what it is multiplied by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Term {
    pub(super) value: Value,
    pub(super) weight: f32,
}

/// The rows of a sum: elements by their distance in bytes from the row's first.
pub(super) type Grid = Vec<BTreeMap<i64, Term>>;

/// A sum.
#[derive(Debug)]
pub(super) struct Sum {
    /// In order; each value once.
    pub(super) terms: Vec<Term>,
    /// The instructions that make up the sum, without the last.
    pub(super) inside: Vec<Inst>,
}

/// Takes a sum apart.
struct Collector<'a> {
    function: &'a Function,
    uses: &'a [u32],
    here: &'a BTreeSet<Inst>,
    fp: FpMode,
    /// Still to be taken apart, the next one last.
    open: Vec<Term>,
    sum: Sum,
    /// Where in the sum each value is.
    places: BTreeMap<Value, usize>,
}

impl Sum {
    /// The sum of numbers of 32 bits that an instruction is the last addition of.
    pub(super) fn of(function: &Function, uses: &[u32], here: &BTreeSet<Inst>, root: Inst) -> Option<Self> {
        let data = function.inst(root);
        if data.result.map(|result| function.ty(result)) != Some(Type::Scalar(Scalar::F32)) {
            return None;
        }
        let sum = Self { terms: Vec::new(), inside: Vec::new() };
        let mut collector =
            Collector { function, uses, here, fp: data.fp, open: Vec::new(), sum, places: BTreeMap::new() };
        if !collector.open_addition(root, 1.0) {
            return None;
        }
        while let Some(term) = collector.open.pop() {
            collector.take_apart(term);
        }
        Some(collector.sum)
    }
}

impl Collector<'_> {
    /// Opens the operands of an addition; `false` if it is none.
    fn open_addition(&mut self, inst: Inst, weight: f32) -> bool {
        let mut parts = match &self.function.inst(inst).op {
            &Op::Binary(BinOp::FAdd, a, b) => vec![(a, 1.0), (b, 1.0)],
            &Op::Binary(BinOp::FSub, a, b) => vec![(a, 1.0), (b, -1.0)],
            Op::Math(MathFn::Fma, args) => match args[..] {
                [a, b, c] => match (self.number(a), self.number(b)) {
                    (_, Some(by)) => vec![(c, 1.0), (a, by)],
                    (Some(by), None) => vec![(c, 1.0), (b, by)],
                    (None, None) => return false,
                },
                _ => return false,
            },
            _ => return false,
        };
        parts.reverse();
        self.open.extend(parts.into_iter().map(|(value, by)| Term { value, weight: weight * by }));
        true
    }

    fn number(&self, value: Value) -> Option<f32> {
        let number = f32::from_bits(self.function.as_const(value)? as u32);
        (number.is_finite() && number != 0.0).then_some(number)
    }

    fn take_apart(&mut self, term: Term) {
        let Some(inst) = self.inside_of(term.value) else { return self.add(term) };
        let is_opened = match self.function.inst(inst).op {
            Op::Unary(UnOp::FNeg, a) => self.open_one(a, -term.weight),
            Op::Binary(BinOp::FMul, a, b) => match (self.number(a), self.number(b)) {
                (_, Some(by)) => self.open_factor(a, term.weight * by),
                (Some(by), None) => self.open_factor(b, term.weight * by),
                (None, None) => false,
            },
            // A multiple of a sum would become many multiples.
            _ => term.weight.abs() == 1.0 && self.open_addition(inst, term.weight),
        };
        match is_opened {
            true => self.sum.inside.push(inst),
            false => self.add(term),
        }
    }

    fn open_one(&mut self, value: Value, weight: f32) -> bool {
        self.open.push(Term { value, weight });
        true
    }

    /// Opens what is multiplied, unless the product of the numbers is none.
    fn open_factor(&mut self, value: Value, weight: f32) -> bool {
        weight.is_normal() && self.open_one(value, weight)
    }

    /// The instruction that only the sum has a use for.
    fn inside_of(&self, value: Value) -> Option<Inst> {
        let ValueDef::Inst(inst) = self.function.values[value.index()].def else { return None };
        let is_inside = self.uses[value.index()] == 1
            && self.here.contains(&inst)
            && self.function.inst(inst).fp == self.fp
            && !matches!(self.function.inst(inst).op, Op::Const(_));
        is_inside.then_some(inst)
    }

    /// Adds a term, to that of the same value if there is one; a sum that begins with zero begins with its next term.
    fn add(&mut self, term: Term) {
        if self.function.as_const(term.value).is_some_and(|bits| bits as u32 & 0x7FFF_FFFF == 0) {
            return;
        }
        let terms = &mut self.sum.terms;
        match self.places.get(&term.value) {
            Some(&at) => terms[at].weight += term.weight,
            None => {
                self.places.insert(term.value, terms.len());
                terms.push(term);
            }
        }
    }
}

/// What the addresses of a row's elements have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Row(Vec<(Value, i64)>);

/// The rows in which a sum's elements lie in memory, in order of the terms.
pub(super) fn rows_of(function: &Function, terms: &[Term]) -> Grid {
    let mut numbers: BTreeMap<Row, usize> = BTreeMap::new();
    let mut rows: Vec<Vec<(i64, Term)>> = Vec::new();
    for &term in terms {
        if let Some((row, place)) = place_of(function, term.value).filter(|_| term.weight.is_normal()) {
            let number = *numbers.entry(row).or_insert(rows.len());
            rows.resize_with(rows.len().max(number + 1), Vec::new);
            rows[number].push((place, term));
        }
    }
    rows.into_iter().flat_map(near_each_other).collect()
}

/// The elements by their distances from the first, parted where they lie too far apart. Of elements in one place
/// the last is kept: others are terms like any.
fn near_each_other(mut row: Vec<(i64, Term)>) -> Grid {
    row.sort_by_key(|&(place, _)| place);
    let mut parts: Grid = Vec::new();
    let mut first = None;
    for (place, term) in row {
        let from = match first {
            Some(first) if place.wrapping_sub(first) <= REACH => first,
            _ => {
                parts.push(BTreeMap::new());
                *first.insert(place)
            }
        };
        if let Some(part) = parts.last_mut() {
            part.insert(place.wrapping_sub(from), term);
        }
    }
    parts
}

/// The row of an element, and its place in it.
fn place_of(function: &Function, value: Value) -> Option<(Row, i64)> {
    let &Op::Load { ptr, volatile: false, .. } = function.def(value)? else { return None };
    let place = Linear::of(function, ptr, &Unlimited { function, left: Cell::new(MAX_LIMITS) })?;
    Some((Row(place.terms.into_iter().collect()), place.constant))
}

/// Sums in which limits and conversions are what they are where they change nothing. That only decides which
/// elements are taken for a column.
struct Unlimited<'a> {
    function: &'a Function,
    left: Cell<u32>,
}

impl Terms for Unlimited<'_> {
    type Term = Value;

    fn find(&self, value: Value) -> Option<Found<Value>> {
        let inner = match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, a)) => a,
            Some(&Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, a, b)) => {
                // Limits are numbers or come from memory more often than what they limit.
                if self.function.as_const(a).is_some() { b } else { a }
            }
            _ => return Some(Found::Arithmetic),
        };
        self.left.set(self.left.get().checked_sub(1)?);
        let mut sum = Linear::of(self.function, inner, self)?;
        if self.function.ty(inner) == Type::Scalar(Scalar::I32) {
            // Modulo 2^32, and distances are small.
            sum.constant = i64::from(sum.constant as i32);
        }
        Some(Found::Sum(sum))
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}
