//! Fragments whose elements the program stores one by one, as MLX and candle do.
//!
//! Their rows are stored directly instead of being split into lanes. Whether the addresses have Metal's
//! layout is mostly known only at run time: then one test covers all fragments whose addresses differ by a
//! uniform value.

use anymetal_abi::AccessKind;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{CastOp, Inst, Op, Scalar, Type, Value};

use super::{Rows, SIDE, place_of};
use crate::cpu::emit::available_checks::Test;
use crate::cpu::emit::memory::Address;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{self, I64, IntPredicate, LANES, Opd, vector_const};
use anymetal_simd::fragments::ElementStores;

/// What differs between the lanes of a pointer, times `scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Spread {
    value: Value,
    /// How an index of 32 bits is widened.
    cast: Option<CastOp>,
    scale: i64,
}

/// Rows seen in a spread.
struct Seen {
    is_so: Opd,
    /// In units of the spread.
    step: Opd,
}

impl Emitter<'_, '_> {
    /// Whether the instruction is done later, with the store of a fragment's second element.
    pub(in crate::cpu::emit) fn is_put_off(&self, inst: Inst) -> bool {
        self.plan.fragments.put_off.contains_key(&inst)
    }

    /// Stores a whole fragment with its second element; `false` if the store is none of such.
    pub(in crate::cpu::emit) fn store_fragment(&mut self, inst: Inst) -> bool {
        let Some(element_stores) = self.plan.fragments.element_stores.get(&inst).cloned() else {
            // An ordinary store.
            return false;
        };
        let Some((is_so, rows)) = self.stored_rows(&element_stores) else {
            self.store_elements(&element_stores);
            return true;
        };
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&is_so, fast, slow);
        self.t.label(fast);
        let transpose = element_stores.step.is_some_and(|(_, transpose)| transpose);
        let values = self.rows_to_store(element_stores.fragment, element_stores.scalar, transpose);
        self.store_rows(&values, &rows);
        if !is_so.is_true() {
            self.t.branch(join);
            self.t.label(slow);
            self.aside(|this| this.store_elements(&element_stores));
        }
        self.t.label(join);
        true
    }

    /// As the program has it.
    fn store_elements(&mut self, element_stores: &ElementStores) {
        let function = self.plan.facts.function;
        self.define_lazy(element_stores.fragment);
        for &part in &element_stores.parts {
            let result = function.inst(part).result.expect("an element is the result of an extraction");
            self.pure(part, result);
        }
        for store in element_stores.stores {
            let Op::Store { ptr, value, align, .. } = function.inst(store).op else {
                unreachable!("{store} is not one of the stores of a fragment's elements")
            };
            self.store(store, ptr, value, align);
        }
    }

    /// Where the rows lie, and whether they do so, in bounds. `None`: that cannot be.
    fn stored_rows(&mut self, element_stores: &ElementStores) -> Option<(Opd, Rows)> {
        if self.position.mask != Mask::All {
            return None;
        }
        let [pointer, second] = element_stores.pointers;
        let size = i64::from(element_stores.scalar.size());
        let site =
            self.site(element_stores.stores[0], pointer, AccessKind::Store, element_stores.scalar.size());
        let place = self.place(self.plan.facts.storage.pointer(pointer).root);
        let offset = self.lane(pointer, 0);
        let (is_so, start, step) = match element_stores.step {
            Some((step, _)) => (Opd::bool(true), offset.at(&mut self.t, I64, 0), Opd::i64(step)),
            None => {
                let spread = self.spread(pointer, MAX_DEPTH)?;
                if self.spread(second, MAX_DEPTH)? != spread || size % spread.scale != 0 {
                    return None;
                }
                let seen = self.rows_in(spread, size / spread.scale);
                let (start, next) =
                    (self.first_offset(pointer, MAX_DEPTH), self.first_offset(second, MAX_DEPTH));
                let beside = self.t.add(&start, size);
                let is_next = self.t.icmp(IntPredicate::Eq, &beside, &next);
                let step = self.t.mul(&seen.step, spread.scale);
                (self.t.and(&seen.is_so, &is_next), start, step)
            }
        };
        let base = self.t.offset(&place.base, &start);
        let address = Address { place, offset, value: None, extra: 0, site };
        let inside = self.rows_in_bounds(&address, &start, &step, size);
        let is_so = self.t.and(&is_so, &inside);
        (!is_so.is_false()).then_some((is_so, Rows { start: base, step }))
    }

    /// What differs between lanes in a pointer of which all else is the same for them.
    fn spread(&self, pointer: Value, depth: u32) -> Option<Spread> {
        let whole = Spread { value: pointer, cast: None, scale: 1 };
        let own = || self.is_here(pointer).then_some(whole);
        let Some(&Op::PtrAdd { base, index, scale, .. }) = self.plan.facts.function.def(pointer) else {
            return own();
        };
        let depth = depth.checked_sub(1)?;
        let is_same = |value: Value| self.is_here(value) && self.shape(value, 0).is_uniform();
        match index {
            Some(index) if is_same(base) && scale > 0 => match self.plan.facts.function.def(index) {
                Some(&Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), narrow))
                    if self.plan.facts.function.ty(narrow) == Type::Scalar(Scalar::I32)
                        && self.is_here(narrow) =>
                {
                    Some(Spread { value: narrow, cast: Some(cast), scale: i64::from(scale) })
                }
                _ => own(),
            },
            Some(index) if !is_same(index) => own(),
            _ => self.spread(base, depth),
        }
    }

    /// The first lane's offset of a pointer that is followed as in `spread`.
    fn first_offset(&mut self, pointer: Value, depth: u32) -> Opd {
        let Some(&Op::PtrAdd { base, index, scale, offset }) = self.plan.facts.function.def(pointer) else {
            return self.first_of(pointer);
        };
        if depth == 0 || !self.is_here(base) || index.is_some_and(|index| !self.is_here(index)) {
            return self.first_of(pointer);
        }
        let mut start = self.first_offset(base, depth - 1);
        if let Some(index) = index {
            let index = self.first_of(index);
            let bytes = self.t.mul(&index, i64::from(scale));
            start = self.t.add(&start, &bytes);
        }
        self.t.add(&start, offset)
    }

    /// The first lane's value; of a widened number, widened from the first lane's.
    fn first_of(&mut self, value: Value) -> Opd {
        if self.shape(value, 0).is_uniform() {
            return self.uniform(value, 0);
        }
        let function = self.plan.facts.function;
        match function.def(value) {
            Some(&Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), narrow))
                if function.ty(narrow) == Type::Scalar(Scalar::I32) && self.is_here(narrow) =>
            {
                let first = self.first_of(narrow);
                self.widened(Some(cast), I64, &first)
            }
            _ => {
                let vector = self.vector(value, 0);
                self.t.extract(&vector, 0)
            }
        }
    }

    fn widened(&mut self, cast: Option<CastOp>, to: llvm::Type, value: &Opd) -> Opd {
        match cast {
            None => value.clone(),
            Some(CastOp::SExt) => self.t.sext(value, to),
            Some(CastOp::ZExt) => self.t.zext(value, to),
            Some(other) => unreachable!("{other:?} does not widen an index"),
        }
    }

    /// Whether lanes are in rows of eight, `unit` from one element to the next.
    fn rows_in(&mut self, spread: Spread, unit: i64) -> Seen {
        assert!(unit > 0, "the elements of a row have a positive distance");
        let how = 2 * spread.scale + i64::from(spread.cast == Some(CastOp::ZExt));
        let key = |test| (spread.value, how, unit, test);
        if let Some((is_so, step)) = self.known_of(key(Test::InRows)).zip(self.known_of(key(Test::RowStep))) {
            return Seen { is_so, step };
        }
        let vector = self.vector(spread.value, 0);
        let vector = self.widened(spread.cast, I64.lanes(), &vector);
        // Lane 2 holds the first element of the second row.
        let [first, below] = [0, 2].map(|lane| self.t.extract(&vector, lane));
        let step = self.t.sub(&below, &first);
        let column = |lane: usize| place_of(lane).1 as i64 * unit;
        let columns = vector_const(I64, (0..LANES).map(column));
        let rows = vector_const(I64, (0..LANES).map(|lane| place_of(lane).0 as i64));
        let (start, down) = (self.t.splat(&first), self.t.splat(&step));
        let down = self.t.mul(&down, &rows);
        let place = self.t.add(&start, &down);
        let place = self.t.add(&place, &columns);
        let same = self.t.icmp(IntPredicate::Eq, &vector, &place);
        let same = self.all(&Mask::Some(same));
        let apart = self.t.icmp(IntPredicate::SGe, &step, unit * SIDE as i64);
        let is_so = self.t.and(&same, &apart);
        self.note_of(key(Test::InRows), &is_so);
        self.note_of(key(Test::RowStep), &step);
        Seen { is_so, step }
    }
}
