//! Flat indices decomposed by divisions by uniform numbers.

use crate::{Generator, PARAMS_BYTES};
use anymetal_ir::{BinOp, Builder, CmpOp, Op, Query, Type, Value};

/// Extents that one index is divided by in a loop, all ones in binary.
const MAX_EXTENTS: i32 = 3;

impl Generator {
    /// A uniform number: any, or one below 128.
    fn extent(&mut self, b: &mut Builder<'_>) -> Value {
        let value = match self.pointers.params {
            Some(params) => {
                let slot = self.rng.below(PARAMS_BYTES as usize / 4) as i64;
                let ptr = b.ptr_offset(params, slot * 4);
                b.load(ptr, Type::I32, 4)
            }
            None => self.uniform_of(b, Type::I32).value,
        };
        if self.rng.one_in(6) {
            return value;
        }
        let mask = b.i32(127);
        b.binary(BinOp::And, value, mask)
    }

    /// An affine index with stride 1 between threads, from 0 or from any start.
    fn flat(&mut self, b: &mut Builder<'_>) -> Value {
        let flat = b.query(Query::ThreadPositionInGrid(0));
        if self.rng.one_in(2) {
            return flat;
        }
        let start = self.uniform_of(b, Type::I32).value;
        b.binary(BinOp::Add, flat, start)
    }

    /// Adds a quotient, a remainder, or a sum of scaled remainders.
    pub(crate) fn flat_index(&mut self, b: &mut Builder<'_>) {
        let signed = self.rng.one_in(3);
        let (divide, modulo) = if signed { (BinOp::SDiv, BinOp::SRem) } else { (BinOp::UDiv, BinOp::URem) };
        let flat = self.flat(b);
        if self.rng.one_in(2) {
            return self.in_a_loop(b, flat, (divide, modulo));
        }
        let extent = self.extent(b);
        let quotient = b.binary(divide, flat, extent);
        let remainder = b.binary(modulo, flat, extent);
        let next = self.extent(b);
        let again = b.binary(modulo, remainder, next);
        let stride = self.extent(b);
        let place = b.binary(BinOp::Mul, again, stride);
        for value in [quotient, remainder, place] {
            self.add(value, Type::I32, false);
        }
    }

    fn in_a_loop(&mut self, b: &mut Builder<'_>, flat: Value, (divide, modulo): (BinOp, BinOp)) {
        let (zero, one) = (b.i32(0), b.i32(1));
        let (given, mask) = (self.extent(b), b.i32(MAX_EXTENTS));
        let most = b.binary(BinOp::And, given, mask);
        let start = |b: &mut Builder<'_>, name: &str, value: Value| {
            let local = b.func.add_local(name, 4, 4);
            b.push(Op::LocalStart(local));
            let ptr = b.local_addr(local);
            b.store(ptr, value, 4);
            ptr
        };
        let [rest, from, at] =
            [("rest", flat), ("from", zero), ("at", zero)].map(|(name, value)| start(b, name, value));
        let label = b.func.add_label();
        let body = b.nested(|b| {
            let i = b.load(at, Type::I32, 4);
            let done = b.compare(CmpOp::UGe, i, most);
            b.if_else(done, |b| b.push(Op::break_(label)), |_| {});
            let values = self.pool.len();
            let (extent, stride) = (self.extent(b), self.extent(b));
            self.pool.truncate(values);
            let whole = b.load(rest, Type::I32, 4);
            let remainder = b.binary(modulo, whole, extent);
            let step = b.binary(BinOp::Mul, remainder, stride);
            let before = b.load(from, Type::I32, 4);
            let sum = b.binary(BinOp::Add, before, step);
            b.store(from, sum, 4);
            let quotient = b.binary(divide, whole, extent);
            b.store(rest, quotient, 4);
        });
        let continuing = b.nested(|b| {
            let i = b.load(at, Type::I32, 4);
            let next = b.binary(BinOp::Add, i, one);
            b.store(at, next, 4);
        });
        b.push(Op::endless(label, body, continuing));
        for ptr in [rest, from] {
            let value = b.load(ptr, Type::I32, 4);
            self.add(value, Type::I32, false);
        }
    }
}
