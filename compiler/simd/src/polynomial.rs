//! Integers of a threadgroup, as polynomials in values uniform in it and the SIMD-group's number.
//!
//! Unlike 32-bit indices these do not wrap, so their maximum is known from their ends. Invariant: no
//! monomial has more than two factors, and no coefficient is zero.

use std::collections::BTreeMap;

use anymetal_ir::Value;

use crate::limits::{MAX_COEFFICIENT, MAX_MONOMIALS};

/// A factor. All but [`Factor::MaxIndex`] are at least 0 and less than 2^32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Factor {
    /// A value that is the same in the whole threadgroup, read without a sign.
    Value(Value),
    /// Where the threadgroup begins in the grid, along an axis.
    Start(u8),
    /// The largest index that an access may have, by its number.
    MaxIndex(usize),
    /// The SIMD-group's number in the threadgroup.
    SimdGroup,
}

/// The largest factor.
const LARGEST_FACTOR: i128 = u32::MAX as i128;

/// A sum of products.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polynomial {
    /// What is added to the products.
    pub constant: i64,
    /// By factors in order.
    pub terms: BTreeMap<Vec<Factor>, i64>,
}

impl Polynomial {
    /// A number.
    pub fn constant(constant: i64) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    /// One factor.
    pub fn factor(factor: Factor) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(vec![factor], 1)]) }
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum with a multiple of another; `None` if that is too large to be told exactly.
    pub fn plus(&self, other: &Self, times: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (factors, by) in &other.terms {
            let by = sum.terms.remove(factors).unwrap_or_default().checked_add(by.checked_mul(times)?)?;
            if by != 0 {
                sum.terms.insert(factors.clone(), by);
            }
        }
        sum.checked()
    }

    /// The product; `None` if that is too large to be told exactly.
    pub fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Self::constant(0);
        let all = |side: &Self| {
            let one = (Vec::new(), side.constant);
            side.terms.clone().into_iter().chain((side.constant != 0).then_some(one)).collect::<Vec<_>>()
        };
        for (a, by) in all(self) {
            for (b, times) in all(other) {
                let mut factors = [a.clone(), b.clone()].concat();
                factors.sort_unstable();
                let by = by.checked_mul(times)?;
                let term = match factors.is_empty() {
                    true => Self::constant(by),
                    false => Self { constant: 0, terms: BTreeMap::from([(factors, by)]) },
                };
                product = product.plus(&term, 1)?;
            }
        }
        Some(product)
    }

    fn checked(self) -> Option<Self> {
        let is_small =
            |(factors, by): (&Vec<Factor>, &i64)| factors.len() <= 2 && by.abs() <= MAX_COEFFICIENT;
        let fits = self.terms.len() <= MAX_MONOMIALS && self.terms.iter().all(is_small);
        debug_assert!(
            self.terms.iter().all(|(factors, &by)| by != 0 && factors.is_sorted()),
            "terms have sorted factors and nonzero coefficients: {self:?}"
        );
        (fits && self.constant.abs() <= 1 << 40).then_some(self)
    }

    /// What the next SIMD-group's is more; `None` if that is not always the same.
    pub fn step(&self) -> Option<Self> {
        let mut step = Self::constant(0);
        for (factors, &by) in &self.terms {
            let rest: Vec<_> =
                factors.iter().copied().filter(|&factor| factor != Factor::SimdGroup).collect();
            let term = match (factors.len() - rest.len(), rest.is_empty()) {
                (0, _) => continue,
                (1, true) => Self::constant(by),
                (1, false) => Self { constant: 0, terms: BTreeMap::from([(rest, by)]) },
                _ => return None,
            };
            step = step.plus(&term, 1)?;
        }
        Some(step)
    }

    /// The first SIMD-group's.
    pub fn of_first(&self) -> Self {
        let mut first = self.clone();
        first.terms.retain(|factors, _| !factors.contains(&Factor::SimdGroup));
        first
    }

    /// The smallest and the largest of as many SIMD-groups; `None` if either may be first.
    pub fn ends(&self, simdgroups: i64) -> Option<[Self; 2]> {
        assert!(simdgroups > 0, "a threadgroup has SIMD-groups");
        let (first, step) = (self.of_first(), self.step()?);
        let last = first.plus(&step, simdgroups - 1)?;
        if step.is_never_negative() {
            return Some([first, last]);
        }
        Self::constant(0).plus(&step, -1)?.is_never_negative().then_some([last, first])
    }

    /// Whether it is at least 0, whatever the factors are.
    pub fn is_never_negative(&self) -> bool {
        let mut min = i128::from(self.constant);
        for (factors, &by) in &self.terms {
            if factors.iter().any(|factor| matches!(factor, Factor::MaxIndex(_))) {
                return false;
            }
            if by < 0 {
                let max: i128 = factors.iter().map(|_| LARGEST_FACTOR).product();
                min = min.saturating_add(i128::from(by).saturating_mul(max));
            }
        }
        min >= 0
    }
}

/// Adds a polynomial to those that must not be negative, unless that follows from one of them.
pub fn require(preconditions: &mut Vec<Polynomial>, new: Polynomial) {
    let follows = |from: &Polynomial, what: &Polynomial| {
        what.plus(from, -1).is_some_and(|difference| difference.is_never_negative())
    };
    if new.is_never_negative() || preconditions.iter().any(|old| follows(old, &new)) {
        return;
    }
    preconditions.retain(|old| !follows(&new, old));
    preconditions.push(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(axis: u8) -> Polynomial {
        Polynomial::factor(Factor::Start(axis))
    }

    #[test]
    fn products_have_ends() {
        // (y + simdgroup - 2) * width
        let row = start(1).plus(&Polynomial::factor(Factor::SimdGroup), 1).unwrap();
        let row = row.plus(&Polynomial::constant(-2), 1).unwrap();
        let width = start(0);
        let place = row.times(&width).unwrap();
        assert_eq!(place.step(), Some(width.clone()));
        let [low, high] = place.ends(8).unwrap();
        assert_eq!(high.plus(&low, -1), Polynomial::constant(0).plus(&width, 7));
        assert!(!low.is_never_negative());
        assert!(place.times(&width).is_none());
        assert_eq!(row.times(&row).and_then(|square| square.step()), None);
    }

    #[test]
    fn implied_conditions_are_not_required() {
        let mut preconditions = Vec::new();
        for distance in [1, 2, 0, -1] {
            require(&mut preconditions, start(0).plus(&Polynomial::constant(-distance), 1).unwrap());
        }
        assert_eq!(preconditions, [start(0).plus(&Polynomial::constant(-2), 1).unwrap()]);
    }
}
