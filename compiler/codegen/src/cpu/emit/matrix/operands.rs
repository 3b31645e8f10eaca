//! Operands of products that are read directly from the program's memory.
//!
//! Loading a matrix into lanes only to store it in rows again would cost more than multiplying. So the load
//! is deferred: only the bounds check is done at the load, and the rows are read by the micro-kernel.
//! Before memory changes, pending loads are done into lanes.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Op, Scalar, Value};

use super::{Rows, SIDE};
use crate::cpu::emit::Emitter;
use crate::cpu::emit::arith::to_f32;
use crate::cpu::emit::lane::{Lane, Width};
use crate::cpu::emit::memory::Address;
use crate::llvm::{I8, I64, IntPredicate, Opd, scalar_type};
use anymetal_simd::fragments::{Joined, same_fragment};

/// A fragment in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Operand {
    pub(super) rows: Rows,
    pub(super) scalar: Scalar,
    /// Rows in memory are columns.
    pub(super) transpose: bool,
    /// Bytes from row to row where the program has it, if that is known.
    pub(super) expected: Option<i64>,
}

/// An operand as the multiplying function takes it: rows of `float`s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Prepared {
    pub(super) rows: Rows,
    /// Rows in memory are columns.
    pub(super) transpose: bool,
}

impl Emitter<'_, '_> {
    /// Puts off a scalar load that is part of a fragment; `false` if it must be done.
    pub(in crate::cpu::emit) fn omit_load(&mut self, result: Value) -> bool {
        let may_omit = self.gathers_products();
        self.omit_part(result, may_omit)
    }

    /// Puts off the conversion of such a load; `false` if it must be done.
    pub(in crate::cpu::emit) fn omit_conversion(&mut self, narrow: Value, result: Value) -> bool {
        let may_omit = self.matrices.omitted.contains(&narrow);
        self.omit_part(result, may_omit)
    }

    fn omit_part(&mut self, result: Value, may_omit: bool) -> bool {
        let omit = may_omit && self.is_part_of_fragment(result);
        if omit {
            self.matrices.omitted.insert(result);
        } else {
            self.matrices.omitted.remove(&result);
        }
        omit
    }

    /// Whether the load is part of a fragment, and may be put off.
    pub(in crate::cpu::emit) fn is_part_of_fragment(&self, result: Value) -> bool {
        self.plan.fragments.parts.contains(&result)
    }

    /// Makes a fragment of loads that were put off; `false` if the value is none.
    pub(in crate::cpu::emit) fn join_fragment(&mut self, result: Value) -> bool {
        let Some(&(joined, uses)) = self.plan.fragments.joined.get(&result) else {
            // An ordinary vector.
            return false;
        };
        let function = self.plan.facts.function;
        let is_omitted = |&load: &Inst| {
            function.inst(load).result.is_some_and(|value| self.matrices.omitted.contains(&value))
        };
        if !joined.loads.iter().all(is_omitted) {
            return false;
        }
        let operand = self.operand_of_loads(&joined);
        self.matrices.operands.insert(result, (operand, uses));
        true
    }

    fn operand_of_loads(&mut self, joined: &Joined) -> Operand {
        let function = self.plan.facts.function;
        let scalar = joined.scalar;
        let size = scalar.size();
        let sites = joined.loads.map(|load| match function.inst(load).op {
            Op::Load { ptr, .. } => self.site(load, ptr, AccessKind::Load, size),
            ref op => unreachable!("a joined fragment consists of loads, not of {op:?}"),
        });
        let root = self.plan.facts.storage.pointer(joined.pointer).root;
        let place = self.place(root);
        let offset = self.lane(joined.pointer, 0);
        let start = offset.at(&mut self.t, I64, 0);
        let address = Address { place, offset, value: None, extra: 0, site: sites[0] };
        self.operand_at(&address, &start, sites, (Opd::i64(joined.step), scalar, joined.transpose))
    }

    /// The fragment at `start` in the allocation. Out of bounds it is put together elsewhere, element by
    /// element. `step`: bytes from row to row.
    pub(super) fn operand_at(
        &mut self,
        address: &Address,
        start: &Opd,
        sites: [u32; 2],
        (step, scalar, transpose): (Opd, Scalar, bool),
    ) -> Operand {
        self.t.expect(start, I64);
        self.t.expect(&step, I64);
        let size = i64::from(scalar.size());
        let inside = self.t.offset(&address.place.base, start);
        let expected = if let Opd::Int(_, step) = step { Some(step) } else { None };
        let ok = self.rows_in_bounds(address, start, &step, size);
        if ok.is_true() {
            return Operand { rows: Rows { start: inside, step }, scalar, transpose, expected };
        }
        let from = self.t.current();
        let (slow, join) = (self.t.block(), self.t.block());
        self.t.branch_likely(&ok, join, slow);
        self.t.label(slow);
        let buffer = self.load_rows_slowly(address, start, sites, (&step, scalar, transpose), transpose);
        let slow_from = self.t.current();
        self.t.label(join);
        let own = Opd::i64(size * SIDE as i64);
        let start = self.t.phi(&[(&inside, from), (&buffer, slow_from)]);
        let step = if step == own { step } else { self.t.phi(&[(&step, from), (&own, slow_from)]) };
        Operand { rows: Rows { start, step }, scalar, transpose, expected }
    }

    /// The lanes of an operand.
    pub(super) fn lanes_of_operand(&mut self, value: Value, operand: &Operand) -> Vec<Lane> {
        let mut dense = self.load_dense(scalar_type(operand.scalar), &operand.rows);
        let scalar = self.scalar(value);
        if scalar != operand.scalar {
            dense = to_f32(&mut self.t, Width::Few(SIDE * SIDE), operand.scalar, &dense);
        }
        let lanes = self.fragment(&dense, operand.transpose);
        Self::varying(lanes)
    }

    /// What tells two operands apart.
    pub(super) fn operand_key(&self, value: Value) -> [Value; 2] {
        same_fragment(self.plan.facts.function, value)
    }

    /// Rows of `float`s, from wherever the fragment is.
    pub(super) fn float_rows(&mut self, value: Value) -> Vec<Opd> {
        let operand = self.matrices.operands.get(&value).map(|(operand, _)| operand.clone());
        let scalar = operand.as_ref().map_or(self.scalar(value), |operand| operand.scalar);
        let element = scalar_type(scalar);
        let rows = match operand {
            Some(Operand { rows, transpose: false, .. }) => self.load_rows(element, &rows),
            Some(Operand { rows, .. }) => {
                let dense = self.load_dense(element, &rows);
                let picks: Vec<_> = (0..SIDE * SIDE).map(|n| Some(n % SIDE * SIDE + n / SIDE)).collect();
                let dense = self.t.pick(&dense, &picks);
                (0..SIDE).map(|row| self.row_of(&dense, row)).collect()
            }
            None => {
                let dense = self.dense(value, false);
                (0..SIDE).map(|row| self.row_of(&dense, row)).collect()
            }
        };
        rows.iter().map(|row| to_f32(&mut self.t, Width::Few(SIDE), scalar, row)).collect()
    }

    pub(super) fn float_operand(&self, value: Value) -> Option<&Operand> {
        let (operand, _) = self.matrices.operands.get(&value)?;
        (operand.scalar == Scalar::F32).then_some(operand)
    }

    /// An operand on the left, of which single elements are read.
    pub(super) fn prepare_left(&mut self, value: Value) -> Prepared {
        if let Some(operand) = self.float_operand(value) {
            return Prepared { rows: operand.rows.clone(), transpose: operand.transpose };
        }
        self.prepare_copy(value)
    }

    /// An operand on the right, of which rows are read.
    pub(super) fn prepare_right(&mut self, value: Value) -> Prepared {
        match self.float_operand(value) {
            Some(operand) if !operand.transpose => Prepared { rows: operand.rows.clone(), transpose: false },
            _ => self.prepare_copy(value),
        }
    }

    pub(super) fn prepare_copy(&mut self, value: Value) -> Prepared {
        let values = self.float_rows(value);
        let rows = Rows { start: self.scratch(), step: Opd::i64(4 * SIDE as i64) };
        self.store_rows(&values, &rows);
        Prepared { rows, transpose: false }
    }

    /// Two operands side by side: where they are, if they do so in memory, or a copy.
    pub(super) fn prepare_pair(&mut self, [left, right]: [Value; 2]) -> Rows {
        let in_place = [left, right].map(|value| self.float_operand(value).filter(|f| !f.transpose).cloned());
        let [Some(a), Some(b)] = in_place else { return self.pair_in_scratch([left, right]) };
        let adjacent = self.is_beside(&a.rows, &b.rows, 4 * SIDE as i64);
        let from = self.t.current();
        let (copy, join) = (self.t.block(), self.t.block());
        self.t.branch_if(&adjacent, join, copy);
        self.t.label(copy);
        let copied = self.pair_in_scratch([left, right]);
        let copy_from = self.t.current();
        self.t.label(join);
        let start = self.t.phi(&[(&a.rows.start, from), (&copied.start, copy_from)]);
        let step = self.t.phi(&[(&a.rows.step, from), (&copied.step, copy_from)]);
        Rows { start, step }
    }

    fn pair_in_scratch(&mut self, pair: [Value; 2]) -> Rows {
        let rows = Rows { start: self.scratch(), step: Opd::i64(8 * SIDE as i64) };
        self.copy_pair(pair, &rows);
        rows
    }

    /// Copies pairs of fragments to rows of 16. Where all seem to be contiguous in memory, too, it is
    /// tested whether they do: then rows of 16 are loaded and converted.
    pub(super) fn copy_pairs(&mut self, pairs: &[([Value; 2], Rows)]) {
        let beside = self.are_beside(pairs);
        let (whole, halves, join) = (self.t.block(), self.t.block(), self.t.block());
        if let Some(beside) = &beside {
            self.t.branch_likely(beside, whole, halves);
            self.t.label(whole);
            for (pair, rows) in pairs {
                self.copy_beside(pair[0], rows);
            }
            self.t.branch(join);
            self.t.label(halves);
        }
        for (pair, rows) in pairs {
            self.copy_pair(*pair, rows);
        }
        if beside.is_some() {
            self.t.label(join);
        }
    }

    /// Whether each pair is contiguous. `None`: some certainly do not, or nothing says that they do.
    fn are_beside(&mut self, pairs: &[([Value; 2], Rows)]) -> Option<Opd> {
        let mut places = Vec::new();
        for ([left, right], _) in pairs {
            let [(a, _), (b, _)] = [self.matrices.operands.get(left)?, self.matrices.operands.get(right)?];
            let row = i64::from(a.scalar.size()) * SIDE as i64;
            let is_alike = a.scalar == b.scalar && a.expected == b.expected && !a.transpose && !b.transpose;
            if !is_alike || self.operand_distance(*left, *right) != Some(row) {
                return None;
            }
            places.push((a.rows.clone(), b.rows.clone(), row));
        }
        let mut all = Opd::bool(true);
        for (left, right, row) in places {
            let beside = self.is_beside(&left, &right, row);
            all = self.t.and(&all, &beside);
        }
        Some(all)
    }

    /// Whether the right one's rows go on where the left one's, of `bytes` bytes, end.
    fn is_beside(&mut self, left: &Rows, right: &Rows, row: i64) -> Opd {
        assert!(row > 0, "a row has bytes");
        let end = self.t.offset(&left.start, row);
        let follows = self.t.icmp(IntPredicate::Eq, &end, &right.start);
        if left.step == right.step {
            return follows;
        }
        let same = self.t.icmp(IntPredicate::Eq, &left.step, &right.step);
        self.t.and(&follows, &same)
    }

    /// Copies rows of 16 that begin with an operand's.
    fn copy_beside(&mut self, left: Value, to: &Rows) {
        let operand = self.matrices.operands.get(&left).cloned();
        let (operand, _) = operand.expect("pairs that are contiguous are in memory");
        let element = scalar_type(operand.scalar);
        for row in 0..SIDE {
            let from = self.row_at(&operand.rows, row);
            let whole = self.t.load(element.vector(16), &from, 1);
            let whole = to_f32(&mut self.t, Width::Few(2 * SIDE), operand.scalar, &whole);
            let at = self.row_at(to, row);
            self.t.store(&whole, &at, 64);
        }
    }

    /// Copies two fragments to rows of 16.
    pub(super) fn copy_pair(&mut self, pair: [Value; 2], rows: &Rows) {
        for (row, whole) in self.wide_rows(pair).into_iter().enumerate() {
            let at = self.row_at(rows, row);
            // Stored whole: a load does not find what two stores wrote before those are in the cache.
            self.t.store(&whole, &at, 64);
        }
    }

    /// The rows of two fragments side by side, as `float`s. Narrow ones become 16 numbers before they are
    /// converted.
    fn wide_rows(&mut self, pair: [Value; 2]) -> Vec<Opd> {
        let narrow = pair.map(|value| match self.matrices.operands.get(&value) {
            Some((operand, _)) if !operand.transpose && operand.scalar != Scalar::F32 => {
                Some(operand.clone())
            }
            _ => None,
        });
        let (scalar, [left, right]) = match narrow {
            [Some(a), Some(b)] if a.scalar == b.scalar => {
                (a.scalar, [a, b].map(|operand| self.load_rows(scalar_type(operand.scalar), &operand.rows)))
            }
            _ => (Scalar::F32, pair.map(|value| self.float_rows(value))),
        };
        assert_eq!((left.len(), right.len()), (SIDE, SIDE), "a fragment has eight rows");
        let both = left.into_iter().zip(right);
        both.map(|(left, right)| {
            let whole = self.t.concat(vec![left, right]);
            to_f32(&mut self.t, Width::Few(2 * SIDE), scalar, &whole)
        })
        .collect()
    }

    /// Memory for two fragments side by side, good until the next products are written.
    pub(super) fn scratch(&mut self) -> Opd {
        let next = self.matrices.scratch_used;
        self.matrices.scratch_used += 1;
        if next == self.matrices.scratch.len() {
            let memory = self.t.alloca_array(512, I8, 64);
            self.matrices.scratch.push(memory);
        }
        self.matrices.scratch[next].clone()
    }
}
