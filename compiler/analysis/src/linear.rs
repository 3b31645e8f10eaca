//! Addresses and integers as linear combinations of terms.
//!
//! Owns [`Linear`], modulo 2^64, and the decomposition of arithmetic into it. The caller's [`TermPolicy`]
//! decides what a term is and how values that are not arithmetic are handled.

use std::collections::BTreeMap;

use anymetal_ir::{BinOp, Function, Op, Type, Value};

use crate::limits::{MAX_DEPTH, MAX_TERMS};

/// `Σ coefficient × term + constant`, modulo 2^64; no coefficient is zero.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Linear<T> {
    /// The terms and their coefficients.
    pub terms: BTreeMap<T, i64>,
    /// The constant part.
    pub constant: i64,
}

/// How [`TermPolicy::find`] classifies a value.
#[derive(Clone, Debug)]
pub enum TermClass<T> {
    /// The value equals this sum.
    Sum(Linear<T>),
    /// The value is decomposed, if it is arithmetic.
    Arithmetic,
}

/// The policy of a decomposition: which values are terms.
pub trait TermPolicy {
    /// The type of terms.
    type Term: Ord + Clone;

    /// Classifies a value before it is decomposed; `None` if it has no sum.
    fn find(&self, value: Value) -> Option<TermClass<Self::Term>>;

    /// The sum of a value that cannot be decomposed; `None` if it has none.
    fn opaque(&self, value: Value) -> Option<Linear<Self::Term>>;
}

impl<T> Default for Linear<T> {
    fn default() -> Self {
        Self::constant(0)
    }
}

impl<T> Linear<T> {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Self { terms: BTreeMap::new(), constant }
    }

    /// The constant, if there are no terms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl<T: Ord + Clone> Linear<T> {
    /// One term.
    pub fn term(term: T) -> Self {
        Self { terms: BTreeMap::from([(term, 1)]), constant: 0 }
    }

    /// Adds a term.
    pub fn add_term(&mut self, term: T, times: i64) {
        let by = self.terms.remove(&term).unwrap_or_default().wrapping_add(times);
        if by != 0 {
            self.terms.insert(term, by);
        }
    }

    /// Adds a multiple of a sum.
    pub fn add(&mut self, other: &Self, times: i64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(times));
        for (term, by) in &other.terms {
            self.add_term(term.clone(), by.wrapping_mul(times));
        }
    }

    /// The linear combination that a pointer or integer equals, for an integer of fewer than 64 bits modulo
    /// its own width.
    pub fn of(function: &Function, value: Value, terms: &impl TermPolicy<Term = T>) -> Option<Self> {
        let mut sum = Self::default();
        sum.add_value(function, value, 1, terms, MAX_DEPTH)?;
        debug_assert!(sum.terms.values().all(|by| *by != 0), "a term with the coefficient 0 is no term");
        Some(sum)
    }

    fn add_value(
        &mut self,
        function: &Function,
        value: Value,
        times: i64,
        terms: &impl TermPolicy<Term = T>,
        depth: u32,
    ) -> Option<()> {
        if let TermClass::Sum(sum) = terms.find(value)? {
            self.add(&sum, times);
        } else {
            let depth = depth.checked_sub(1);
            let add = |sum: &mut Self, value, times| sum.add_value(function, value, times, terms, depth?);
            match (function.def(value), depth) {
                (Some(&Op::PtrAdd { base, index, scale, offset }), Some(_)) => {
                    add(self, base, times)?;
                    if let Some(index) = index {
                        debug_assert_eq!(
                            function.ty(index),
                            Type::I64,
                            "{index}: narrower indices would wrap before they are multiplied"
                        );
                        add(self, index, times.wrapping_mul(scale.into()))?;
                    }
                    self.constant = self.constant.wrapping_add(offset.wrapping_mul(times));
                }
                (Some(&Op::Const(bits)), Some(_)) => {
                    self.constant = self.constant.wrapping_add((bits as i64).wrapping_mul(times));
                }
                (Some(&Op::Binary(op @ (BinOp::Add | BinOp::Sub), a, b)), Some(_)) => {
                    add(self, a, times)?;
                    add(self, b, if op == BinOp::Sub { times.wrapping_neg() } else { times })?;
                }
                (Some(&Op::Binary(op @ (BinOp::Mul | BinOp::Shl), a, b)), Some(_)) => {
                    let mut factors = [Self::default(), Self::default()];
                    add(&mut factors[0], a, 1)?;
                    add(&mut factors[1], b, 1)?;
                    let [a, b] = factors;
                    match a.combined(op, &b) {
                        Some(product) => self.add(&product, times),
                        None => self.add(&terms.opaque(value)?, times),
                    }
                }
                _ => self.add(&terms.opaque(value)?, times),
            }
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// A sum, a difference, or a product with a constant.
    pub fn combined(&self, op: BinOp, other: &Self) -> Option<Self> {
        let mut result = Self::default();
        match (op, self.as_constant(), other.as_constant()) {
            (BinOp::Add | BinOp::Sub, ..) => {
                result.add(self, 1);
                result.add(other, if op == BinOp::Sub { -1 } else { 1 });
            }
            (BinOp::Mul, _, Some(by)) => result.add(self, by),
            (BinOp::Mul, Some(by), None) => result.add(other, by),
            // Shift amounts of 32-bit values are below 32.
            (BinOp::Shl, _, Some(by @ 0..32)) => result.add(self, 1 << by),
            _ => return None,
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::{CastOp, parse_module};

    /// Parameters are terms, and conversions if the flag is set.
    struct Parameters<'a>(&'a Function, bool);

    impl TermPolicy for Parameters<'_> {
        type Term = Value;

        fn find(&self, value: Value) -> Option<TermClass<Value>> {
            Some(match self.0.def(value) {
                None => TermClass::Sum(Linear::term(value)),
                Some(Op::Cast(CastOp::ZExt, _)) if !self.1 => return None,
                Some(_) => TermClass::Arithmetic,
            })
        }

        fn opaque(&self, value: Value) -> Option<Linear<Value>> {
            matches!(self.0.def(value), Some(Op::Cast(..))).then(|| Linear::term(value))
        }
    }

    /// The last value's sum, terms by their number.
    fn sum(body: &str, casts: bool) -> Option<(Vec<(u32, i64)>, i64)> {
        let text = format!("func f0 \"f\" (v0: ptr.device, v1: i64, v2: i64, v3: i32) {{\n{body}\n}}\n");
        let module = parse_module(&text).expect("the text is well formed");
        let function = &module.functions[0];
        let last = function.insts.iter().rev().find_map(|inst| inst.result).expect("there is a value");
        let sum = Linear::of(function, last, &Parameters(function, casts))?;
        Some((sum.terms.into_iter().map(|(value, by)| (value.index() as u32, by)).collect(), sum.constant))
    }

    #[test]
    fn arithmetic_is_added_up() {
        let body = "
  v4 = const 3 : i64
  v5 = mul v4, v1 : i64
  v6 = sub v5, v2 : i64
  v7 = const 2 : i64
  v8 = shl v6, v7 : i64
  v9 = add v8, v7 : i64
  v10 = ptr_add v0 + v9 * 4 + 1 : ptr.device";
        assert_eq!(sum(body, false), Some((vec![(0, 1), (1, 48), (2, -16)], 9)));
        let nothing = "
  v4 = sub v1, v1 : i64
  v5 = mul v4, v2 : i64";
        assert_eq!(sum(nothing, false), Some((vec![], 0)), "the factor has no terms");
        let round = "
  v4 = const 9223372036854775808 : i64
  v5 = mul v1, v4 : i64
  v6 = add v5, v5 : i64
  v7 = add v6, v4 : i64
  v8 = add v7, v4 : i64";
        assert_eq!(sum(round, false), Some((vec![], 0)), "modulo 2^64");
    }

    #[test]
    fn opaque_values_and_depth_limit() {
        let product = "  v4 = mul v1, v2 : i64";
        assert_eq!(sum(product, true), None);
        let widened = "
  v4 = zext v3 : i64
  v5 = add v4, v1 : i64";
        assert_eq!(sum(widened, true), Some((vec![(1, 1), (4, 1)], 0)));
        assert_eq!(sum(widened, false), None);
        let by_many = "
  v4 = const 32 : i64
  v5 = shl v1, v4 : i64";
        assert_eq!(sum(by_many, true), None);
        let deep = |depth: u32| {
            let lines = (0..depth)
                .map(|at| format!("  v{} = add v{}, v1 : i64\n", at + 4, if at == 0 { 2 } else { at + 3 }));
            sum(&lines.collect::<String>(), true)
        };
        assert_eq!(deep(16), Some((vec![(1, 16), (2, 1)], 0)));
        assert_eq!(deep(17), None);
    }
}
