//! Decomposes a sum into weighted terms, and groups its loads by the memory row that they address.
//!
//! Invariant: the sum equals the sum of its terms' values times their weights, up to the reassociation that
//! its float mode allows; the instructions inside have no other uses.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::{Linear, TermClass, TermPolicy};
use anymetal_ir::{BinOp, CastOp, FpMode, Function, Inst, MathFn, Op, Scalar, Type, UnOp, Value};

/// Maximum bytes from a row's first element to its last.
const MAX_ROW_BYTES: i64 = 64;
/// Maximum number of clamps and conversions that are ignored in one index.
const MAX_CLAMPS: u32 = 8;

/// A value and its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Term {
    pub(super) value: Value,
    pub(super) weight: f32,
}

/// The rows of a sum: elements by their distance in bytes from the row's first.
pub(super) type Grid = Vec<BTreeMap<i64, Term>>;

/// A weighted sum.
#[derive(Debug)]
pub(super) struct WeightedSum {
    /// In order; each value occurs once.
    pub(super) terms: Vec<Term>,
    /// The instructions that compute the sum, without the last addition.
    pub(super) inside: Vec<Inst>,
}

/// Expands additions into terms.
struct Collector<'a> {
    function: &'a Function,
    uses: &'a [u32],
    here: &'a BTreeSet<Inst>,
    fp: FpMode,
    /// Work list of terms to expand, the next one last.
    pending: Vec<Term>,
    sum: WeightedSum,
    /// The index of each value in the terms.
    positions: BTreeMap<Value, usize>,
}

impl WeightedSum {
    /// The sum of `f32` values whose last addition is `root`.
    pub(super) fn of(function: &Function, uses: &[u32], here: &BTreeSet<Inst>, root: Inst) -> Option<Self> {
        let data = function.inst(root);
        if data.result.map(|result| function.ty(result)) != Some(Type::Scalar(Scalar::F32)) {
            return None;
        }
        let sum = Self { terms: Vec::new(), inside: Vec::new() };
        let mut collector = Collector {
            function,
            uses,
            here,
            fp: data.fp,
            pending: Vec::new(),
            sum,
            positions: BTreeMap::new(),
        };
        if !collector.expand_addition(root, 1.0) {
            return None;
        }
        while let Some(term) = collector.pending.pop() {
            collector.expand(term);
        }
        assert_eq!(collector.positions.len(), collector.sum.terms.len(), "each value is one term");
        Some(collector.sum)
    }
}

impl Collector<'_> {
    /// Pushes the operands of an addition; `false` if it is not one.
    fn expand_addition(&mut self, inst: Inst, weight: f32) -> bool {
        let mut parts = match &self.function.inst(inst).op {
            &Op::Binary(BinOp::FAdd, a, b) => vec![(a, 1.0), (b, 1.0)],
            &Op::Binary(BinOp::FSub, a, b) => vec![(a, 1.0), (b, -1.0)],
            Op::Math(MathFn::Fma, args) => match args[..] {
                [a, b, c] => match (self.constant(a), self.constant(b)) {
                    (_, Some(by)) => vec![(c, 1.0), (a, by)],
                    (Some(by), None) => vec![(c, 1.0), (b, by)],
                    (None, None) => return false,
                },
                _ => unreachable!("`fma` of {} numbers", args.len()),
            },
            _ => return false,
        };
        parts.reverse();
        self.pending.extend(parts.into_iter().map(|(value, by)| Term { value, weight: weight * by }));
        true
    }

    fn constant(&self, value: Value) -> Option<f32> {
        let constant = f32::from_bits(self.function.as_const(value)? as u32);
        (constant.is_finite() && constant != 0.0).then_some(constant)
    }

    fn expand(&mut self, term: Term) {
        let Some(inst) = self.single_use_inst(term.value) else {
            // Other uses need the value as it is.
            return self.add(term);
        };
        let is_expanded = match self.function.inst(inst).op {
            Op::Unary(UnOp::FNeg, a) => self.push_term(a, -term.weight),
            Op::Binary(BinOp::FMul, a, b) => match (self.constant(a), self.constant(b)) {
                (_, Some(by)) => self.push_scaled(a, term.weight * by),
                (Some(by), None) => self.push_scaled(b, term.weight * by),
                (None, None) => false,
            },
            // Distributing a factor over a sum would add multiplications.
            _ => term.weight.abs() == 1.0 && self.expand_addition(inst, term.weight),
        };
        match is_expanded {
            true => self.sum.inside.push(inst),
            false => self.add(term),
        }
    }

    fn push_term(&mut self, value: Value, weight: f32) -> bool {
        self.pending.push(Term { value, weight });
        true
    }

    /// Pushes the multiplicand, unless the product of the weights is not a normal number.
    fn push_scaled(&mut self, value: Value, weight: f32) -> bool {
        weight.is_normal() && self.push_term(value, weight)
    }

    /// The instruction that defines the value, if the sum is its only use.
    fn single_use_inst(&self, value: Value) -> Option<Inst> {
        let inst = self.function.defining_inst(value)?;
        let is_inside = self.uses[value.index()] == 1
            && self.here.contains(&inst)
            && self.function.inst(inst).fp == self.fp
            && !matches!(self.function.inst(inst).op, Op::Const(_));
        is_inside.then_some(inst)
    }

    /// Adds a term, merged with one of the same value. Constant zeros are dropped.
    fn add(&mut self, term: Term) {
        if self.function.as_const(term.value).is_some_and(|bits| bits as u32 & 0x7FFF_FFFF == 0) {
            return;
        }
        let terms = &mut self.sum.terms;
        match self.positions.get(&term.value) {
            Some(&at) => terms[at].weight += term.weight,
            None => {
                self.positions.insert(term.value, terms.len());
                terms.push(term);
            }
        }
    }
}

/// The terms that the addresses of a row's elements have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RowAddress(Vec<(Value, i64)>);

/// The memory rows of a sum's loads, in order of the terms.
pub(super) fn rows_of(function: &Function, terms: &[Term]) -> Grid {
    let mut row_indices: BTreeMap<RowAddress, usize> = BTreeMap::new();
    let mut rows: Vec<Vec<(i64, Term)>> = Vec::new();
    for &term in terms {
        if let Some((row, position)) =
            element_address(function, term.value).filter(|_| term.weight.is_normal())
        {
            let constant = *row_indices.entry(row).or_insert(rows.len());
            rows.resize_with(rows.len().max(constant + 1), Vec::new);
            rows[constant].push((position, term));
        }
    }
    rows.into_iter().flat_map(split_rows).collect()
}

/// The elements by their distances from the first, split where they are too far apart. Of elements with one
/// address the last is kept; the others remain ordinary terms.
fn split_rows(mut row: Vec<(i64, Term)>) -> Grid {
    row.sort_by_key(|&(position, _)| position);
    let mut parts: Grid = Vec::new();
    let mut first = None;
    for (position, term) in row {
        let from = match first {
            Some(first) if position.wrapping_sub(first) <= MAX_ROW_BYTES => first,
            _ => {
                parts.push(BTreeMap::new());
                *first.insert(position)
            }
        };
        let part = parts.last_mut().expect("the first element starts a part");
        part.insert(position.wrapping_sub(from), term);
    }
    parts
}

/// The row of a loaded element, and its byte offset in it.
fn element_address(function: &Function, value: Value) -> Option<(RowAddress, i64)> {
    match *function.def(value)? {
        Op::Load { ptr, volatile: false, .. } => {
            let position =
                Linear::of(function, ptr, &IgnoreClamps { function, left: Cell::new(MAX_CLAMPS) })?;
            Some((RowAddress(position.terms.into_iter().collect()), position.constant))
        }
        _ => None,
    }
}

/// Treats clamps and conversions as the identity. This only decides which elements are taken for a column, so
/// it need not be exact.
struct IgnoreClamps<'a> {
    function: &'a Function,
    left: Cell<u32>,
}

impl TermPolicy for IgnoreClamps<'_> {
    type Term = Value;

    fn find(&self, value: Value) -> Option<TermClass<Value>> {
        let inner = match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, a)) => a,
            Some(&Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, a, b)) => {
                // The clamp bound is usually constant.
                if self.function.as_const(a).is_some() { b } else { a }
            }
            _ => return Some(TermClass::Arithmetic),
        };
        self.left.set(self.left.get().checked_sub(1)?);
        let mut sum = Linear::of(self.function, inner, self)?;
        if self.function.ty(inner) == Type::Scalar(Scalar::I32) {
            // Modulo 2^32; distances are small.
            sum.constant = i64::from(sum.constant as i32);
        }
        Some(TermClass::Sum(sum))
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}
