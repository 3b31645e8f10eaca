//! Addresses as linear combinations of the thread's position.
//!
//! Owns [`Sum`], a [`Linear`] of [`Term`]s, and [`Addresses`], which finds it. Invariant: two threads for
//! which the terms have the same values have the same address; a value that cannot be analysed has no sum.
//!
//! 32-bit sums wrap at 2^32. Extended to 64 bits they are the same sum only if the launch is small enough;
//! otherwise they become one [`Term::Widened`].

use std::cell::Cell;

use super::Launched;
use anymetal_analysis::limits::{MAX_BRANCHING_DEPTH, MAX_DEFINITIONS};
use anymetal_analysis::{Linear, TermClass, TermPolicy};
use anymetal_ir::{CastOp, Function, Op, Query, Type, Value, ValueDef};

/// A term of a sum.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Term {
    /// The thread's position in the grid, along an axis.
    Position(u8),
    /// Its threadgroup's.
    Group(u8),
    /// Its position in the threadgroup.
    Local(u8),
    /// The number at that byte offset of a place that no part writes: uniform over the grid.
    Uniform { place: u32, offset: i64, wide: bool },
    /// A 32-bit sum that may have wrapped.
    Widened { sum: Sum, signed: bool },
}

/// A linear combination of such terms.
pub(super) type Sum = Linear<Term>;

/// What a sum says about the threads of a launch.
pub(super) trait ThreadSum: Sized {
    /// The same modulo 2^32, with coefficients near zero.
    fn narrowed(self) -> Self;
    /// With a threadgroup's position times its size, and the position in it, made a position in the grid.
    fn regrouped(self, launched: &Launched) -> Self;
    /// Minimum and maximum as an integer, if they are known for all terms.
    fn range(&self, launched: &Launched) -> Option<(i128, i128)>;
    /// The sum after an extension from 32 to 64 bits.
    fn widened(self, signed: bool, launched: &Launched) -> Self;
    /// Whether the values of any two threads differ by at least `width`, in `bits` bits. Uniform terms are
    /// ignored.
    fn separates_threads(&self, width: u64, bits: u32, launched: &Launched) -> bool;
    /// Whether it depends on the thread.
    fn varies_by_thread(&self) -> bool;
}

impl ThreadSum for Sum {
    fn narrowed(mut self) -> Self {
        self.constant = i64::from(self.constant as i32);
        self.terms.values_mut().for_each(|of| *of = i64::from(*of as i32));
        self.terms.retain(|_, by| *by != 0);
        self
    }

    fn regrouped(mut self, launched: &Launched) -> Self {
        let Some(size) = launched.group_size else {
            // Without a known size both stay terms of their own.
            return self;
        };
        for (axis, size) in (0..).zip(size) {
            let Some(&by) = self.terms.get(&Term::Local(axis)) else { continue };
            let of_group = self.terms.get(&Term::Group(axis)).copied().unwrap_or_default();
            if of_group == by.wrapping_mul(size.into()) {
                self.terms.remove(&Term::Local(axis));
                self.terms.remove(&Term::Group(axis));
                let of_grid = self.terms.entry(Term::Position(axis)).or_default();
                *of_grid = of_grid.wrapping_add(by);
            }
        }
        self.terms.retain(|_, by| *by != 0);
        self
    }

    fn range(&self, launched: &Launched) -> Option<(i128, i128)> {
        let constant = i128::from(self.constant);
        self.terms.iter().try_fold((constant, constant), |(low, high), (term, &by)| {
            let end = i128::from(by) * i128::from(launched.count(term)?.saturating_sub(1));
            Some((low + end.min(0), high + end.max(0)))
        })
    }

    fn widened(self, signed: bool, launched: &Launched) -> Self {
        let mut sum = self.narrowed().regrouped(launched).narrowed();
        let least = if signed { i128::from(i32::MIN) } else { 0 };
        if let Some((low, high)) = sum.range(launched) {
            // The multiple of 2^32 by which the integers differ, if it is the same for all of them.
            let off = (low - least).div_euclid(1 << 32) << 32;
            if high - off < least + (1 << 32) {
                sum.constant = (i128::from(sum.constant) - off) as i64;
                return sum;
            }
        }
        Sum::term(Term::Widened { sum, signed })
    }

    fn separates_threads(&self, width: u64, bits: u32, launched: &Launched) -> bool {
        assert!(matches!(bits, 32 | 64), "a sum of {bits} bits");
        debug_assert!(self.terms.values().all(|by| *by != 0), "a term of no effect looks like a dependence");
        let mut steps: Vec<(u128, u64)> = Vec::new();
        for axis in 0..3 {
            let step = |term: &Term| {
                let count = launched.count(term)?;
                Some((self.terms.get(term).map_or(0, |by| u128::from(by.unsigned_abs())), count))
            };
            let [position, group, local] = [Term::Position(axis), Term::Group(axis), Term::Local(axis)];
            let used = |term: &Term| self.terms.contains_key(term);
            match (used(&position), used(&group) || used(&local)) {
                // Both depend on each other.
                (true, true) => return false,
                (false, true) => match (step(&group), step(&local)) {
                    (Some(group), Some(local)) => steps.extend([group, local]),
                    _ => return false,
                },
                (_, false) => steps.extend(step(&position)),
            }
        }
        let held = 1u128 << bits;
        let mut wideneds = self.terms.iter().filter_map(|(term, by)| match term {
            Term::Widened { sum, .. } if sum.varies_by_thread() => Some((sum, by)),
            _ => None,
        });
        if let Some((sum, by)) = wideneds.next() {
            // One 32-bit number per thread, and no other term that depends on the thread.
            let alone = wideneds.next().is_none() && steps.iter().all(|(by, _)| *by == 0);
            let span = u128::from(by.unsigned_abs()) << 32;
            let apart = u128::from(by.unsigned_abs()) >= width.into() && span <= held / 2;
            return alone && apart && bits == 64 && sum.separates_threads(1, 32, launched);
        }
        // The farthest that two threads can be apart that differ along the axes before only, and one window.
        let mut span = u128::from(width);
        steps.retain(|(_, count)| *count > 1);
        steps.sort_unstable();
        for (by, count) in steps {
            if by < span {
                return false;
            }
            span = match by.checked_mul((count - 1).into()).and_then(|all| all.checked_add(span)) {
                Some(wider) => wider,
                None => return false,
            };
        }
        span <= if bits == 64 { held / 2 } else { held }
    }

    fn varies_by_thread(&self) -> bool {
        self.terms.keys().any(|term| match term {
            Term::Position(_) | Term::Group(_) | Term::Local(_) => true,
            Term::Uniform { .. } => false,
            Term::Widened { sum, .. } => sum.varies_by_thread(),
        })
    }
}

impl Launched {
    /// The number of values of a term, which start at zero, if known.
    fn count(&self, term: &Term) -> Option<u64> {
        let size = |axis: u8| Some(u64::from(self.group_size?[usize::from(axis)].max(1)));
        match *term {
            Term::Position(axis) => Some(self.threads[usize::from(axis)]),
            Term::Group(axis) => Some(self.threads[usize::from(axis)].div_ceil(size(axis)?)),
            Term::Local(axis) => Some(self.threads[usize::from(axis)].min(size(axis)?)),
            Term::Uniform { .. } | Term::Widened { .. } => None,
        }
    }

    /// The sum of a query.
    fn answer(&self, query: Query) -> Option<Sum> {
        let constant = |value: u64| i64::try_from(value).ok().map(Sum::constant);
        let size = |axis: u8| Some(u64::from(self.group_size?[usize::from(axis)]));
        let threads = |axis: u8| Some(self.exact.then_some(self.threads)?[usize::from(axis)]);
        match query {
            Query::ThreadPositionInGrid(axis) => Some(Sum::term(Term::Position(axis))),
            Query::ThreadgroupPositionInGrid(axis) => Some(Sum::term(Term::Group(axis))),
            Query::ThreadPositionInThreadgroup(axis) => Some(Sum::term(Term::Local(axis))),
            Query::ThreadsPerGrid(axis) => constant(threads(axis)?),
            Query::DispatchThreadsPerThreadgroup(axis) => constant(size(axis)?),
            // Smaller at the grid's edge.
            Query::ThreadsPerThreadgroup(axis) => {
                let size = size(axis).filter(|&size| size > 0)?;
                constant(threads(axis)?.is_multiple_of(size).then_some(size)?)
            }
            Query::ThreadgroupsPerGrid(axis) => {
                constant(threads(axis)?.div_ceil(size(axis).filter(|&size| size > 0)?))
            }
            _ => None,
        }
    }
}

/// Finds the sums of one part.
pub(super) struct Addresses<'a> {
    pub(super) function: &'a Function,
    pub(super) launched: &'a Launched,
    /// The place of each argument, and its bytes where they are known.
    pub(super) places: &'a [u32],
    pub(super) bytes: &'a [Option<&'a [u8]>],
    /// Places that a part writes.
    pub(super) written: &'a [u32],
    /// The number of definitions that may still be visited.
    pub(super) budget: Cell<u32>,
}

impl Addresses<'_> {
    /// The sum of a pointer, relative to the parameter that it is derived from.
    pub(super) fn of_pointer(&self, pointer: Value) -> Option<Sum> {
        self.budget.set(MAX_DEFINITIONS);
        Linear::of(self.function, pointer, self).map(|sum| sum.regrouped(self.launched))
    }

    /// The sum of an element of a vector composed of scalars, as positions are, or of arithmetic with such
    /// vectors.
    fn of_element(&self, vector: Value, element: u8, depth: u32) -> Option<Sum> {
        let depth = depth.checked_sub(1)?;
        match self.function.def(vector)? {
            Op::Compose(elements) => {
                let scalars = elements.iter().all(|&element| self.function.ty(element).lanes() == 1);
                Linear::of(self.function, *elements.get(usize::from(element)).filter(|_| scalars)?, self)
            }
            Op::Splat(scalar) => Linear::of(self.function, *scalar, self),
            Op::Binary(op, a, b) => {
                self.of_element(*a, element, depth)?.combined(*op, &self.of_element(*b, element, depth)?)
            }
            _ => None,
        }
    }

    /// The sum of a uniform number.
    fn loaded(&self, pointer: Value, wide: bool) -> Option<Sum> {
        let argument = self.argument(pointer)?;
        let place = self.places[argument];
        let at = Linear::of(self.function, pointer, self)?;
        if !at.terms.is_empty() || self.written.contains(&place) {
            return None;
        }
        let offset = at.constant;
        let Some(bytes) = self.bytes[argument] else {
            // The number is not known, but it is the same for all threads.
            return Some(Sum::term(Term::Uniform { place, offset, wide }));
        };
        let bytes = bytes.get(usize::try_from(offset).ok()?..)?;
        let value = match wide {
            true => i64::from_le_bytes(*bytes.first_chunk()?),
            false => i64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
        };
        Some(Sum::constant(value))
    }

    /// The argument that a pointer is derived from.
    fn argument(&self, mut pointer: Value) -> Option<usize> {
        while let Some(op) = self.function.def(pointer) {
            match *op {
                Op::PtrAdd { base, .. } => pointer = base,
                _ => return None,
            }
        }
        self.function.params.iter().position(|param| *param == pointer)
    }
}

impl TermPolicy for Addresses<'_> {
    type Term = Term;

    fn find(&self, value: Value) -> Option<TermClass<Term>> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        let ty = self.function.ty(value);
        let Some(op) = self.function.def(value) else {
            // A kernel's parameters are the arguments' addresses; what constructs define is not followed.
            let is_address = matches!(self.function.values[value.index()].def, ValueDef::Param(_));
            return is_address.then(|| TermClass::Sum(Sum::default()));
        };
        let sum = match *op {
            Op::PtrAdd { .. } => return Some(TermClass::Arithmetic),
            _ if ty != Type::I64 && ty != Type::I32 => return None,
            Op::Extract(vector, element) => self.of_element(vector, element, MAX_BRANCHING_DEPTH),
            Op::Query(query) => self.launched.answer(query),
            Op::Load { ptr, volatile: false, .. } => self.loaded(ptr, ty == Type::I64),
            Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), narrow)
                if self.function.ty(narrow) == Type::I32 =>
            {
                let narrow = Linear::of(self.function, narrow, self)?;
                Some(narrow.widened(cast == CastOp::SExt, self.launched))
            }
            _ => return Some(TermClass::Arithmetic),
        };
        sum.map(TermClass::Sum)
    }

    fn opaque(&self, _value: Value) -> Option<Sum> {
        None
    }
}
