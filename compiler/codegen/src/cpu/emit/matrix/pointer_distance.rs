//! Distance between two addresses, as an estimate.
//!
//! Addresses are written as affine sums. If two differ in the constant alone, that is their distance,
//! provided that no computation wraps and no variable changed in between: so this is a guess, to be tested
//! where it matters.

use std::collections::BTreeMap;

use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{BinOp, CastOp, Op, Scalar, Value};

use crate::cpu::emit::Emitter;

/// `constant + Σ factor × term`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct AffineAddress {
    constant: i64,
    terms: BTreeMap<Term, i64>,
}

/// What a sum consists of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Term {
    Value(Value),
    /// What is in a promoted variable.
    PromotedVar(usize),
}

impl AffineAddress {
    fn add(&mut self, other: &Self, factor: i64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (&term, &times) in &other.terms {
            let sum = self.terms.entry(term).or_default();
            *sum = sum.wrapping_add(times.wrapping_mul(factor));
        }
        self.terms.retain(|_, times| *times != 0);
    }

    fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl Emitter<'_, '_> {
    /// The bytes from one address to another, as a guess.
    pub(super) fn distance(&self, from: Value, to: Value) -> Option<i64> {
        let mut apart = self.linear(to, MAX_DEPTH);
        apart.add(&self.linear(from, MAX_DEPTH), -1);
        apart.as_constant()
    }

    fn linear(&self, value: Value, depth: u32) -> AffineAddress {
        let found = if depth == 0 { None } else { self.linear_parts(value, depth - 1) };
        found.unwrap_or_else(|| AffineAddress {
            constant: 0,
            terms: BTreeMap::from([(Term::Value(value), 1)]),
        })
    }

    fn linear_parts(&self, value: Value, depth: u32) -> Option<AffineAddress> {
        let function = self.plan.facts.function;
        let mut sum = AffineAddress::default();
        match function.def(value)? {
            Op::Const(bits) => {
                let scalar = function.ty(value).scalar()?;
                sum.constant = match scalar {
                    Scalar::I64 => *bits as i64,
                    Scalar::I32 => i64::from(*bits as i32),
                    _ => return None,
                };
            }
            &Op::PtrAdd { base, index, scale, offset } => {
                sum = self.linear(base, depth);
                sum.constant = sum.constant.wrapping_add(offset);
                if let Some(index) = index {
                    sum.add(&self.linear(index, depth), i64::from(scale));
                }
            }
            &Op::Binary(BinOp::Add, a, b) => {
                sum = self.linear(a, depth);
                sum.add(&self.linear(b, depth), 1);
            }
            &Op::Binary(BinOp::Sub, a, b) => {
                sum = self.linear(a, depth);
                sum.add(&self.linear(b, depth), -1);
            }
            &Op::Binary(BinOp::Mul, a, b) => {
                let (a, b) = (self.linear(a, depth), self.linear(b, depth));
                match (a.as_constant(), b.as_constant()) {
                    (Some(factor), _) => sum.add(&b, factor),
                    (_, Some(factor)) => sum.add(&a, factor),
                    _ => return None,
                }
            }
            &Op::Binary(BinOp::Shl, a, b) => {
                let bits = self.linear(b, depth).as_constant().filter(|bits| (0..32).contains(bits))?;
                sum.add(&self.linear(a, depth), 1 << bits);
            }
            &Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => sum = self.linear(a, depth),
            &Op::Load { ptr, .. } => {
                let vars = self.plan.facts.storage.vars_at(ptr, i64::from(function.ty(value).size()))?;
                if vars.len() != 1 {
                    return None;
                }
                sum.terms.insert(Term::PromotedVar(vars.start), 1);
            }
            _ => return None,
        }
        Some(sum)
    }
}
