//! Run-time test whether the lanes of a varying access are contiguous.
//!
//! Indices mostly have 32 bits and are compared as such, at half the cost. Two scalar comparisons then show
//! that no lane's index wraps and that all lanes are in bounds.

use anymetal_ir::{CastOp, Scalar, Type, Value};

use super::available_checks::Test;
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::llvm::{self, Cast, I32, I64, IntPredicate, LANES, Opd, vector_const, wrap_int};
use anymetal_analysis::divergence::Shape;
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};
use anymetal_simd::storage::Root;

/// Lanes side by side, or in one place.
#[derive(Debug)]
pub(super) struct Side {
    /// Whether they are: the active lanes are where this form says, and all of it is in bounds.
    pub(super) is_so: Opd,
    /// The first lane's offset then.
    pub(super) start: Opd,
}

/// An offset that comes from an index of 32 bits: `base + index × scale + offset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    base: Value,
    index: Value,
    is_signed: bool,
    scale: i64,
    offset: i64,
}

impl Narrow {
    pub(super) fn index(self) -> Value {
        self.index
    }

    pub(super) fn scale(self) -> i64 {
        self.scale
    }

    pub(super) fn base(self) -> Value {
        self.base
    }

    pub(super) fn offset(self) -> i64 {
        self.offset
    }

    pub(super) fn is_signed(self) -> bool {
        self.is_signed
    }
}

impl Emitter<'_, '_> {
    /// Tests whether the lanes are contiguous. With `all_on`, it is so only if all are on.
    pub(super) fn side(&mut self, address: &Address, item: Item, all_on: bool) -> Side {
        let bytes = item.bytes();
        let known = self.known_test(address, bytes, Test::Contiguous).zip(self.known_test(
            address,
            bytes,
            Test::FirstOffset,
        ));
        let (mut is_so, start) = match (known, self.narrow(address, bytes)) {
            (Some(known), _) => known,
            (None, Some(narrow)) => self.narrow_side(address, bytes, narrow),
            (None, None) => self.wide_side(address, bytes),
        };
        self.note_test(address, bytes, Test::Contiguous, &is_so);
        self.note_test(address, bytes, Test::FirstOffset, &start);
        if all_on {
            let mask = self.position.mask.clone();
            let all = if mask == Mask::All { Opd::bool(true) } else { self.all(&mask) };
            is_so = self.t.and(&is_so, &all);
        }
        Side { is_so, start }
    }

    fn narrow_side(&mut self, address: &Address, bytes: i64, narrow: Narrow) -> (Opd, Opd) {
        assert!(bytes % narrow.scale == 0, "contiguous lanes differ by a whole number of indices");
        let step = bytes / narrow.scale;
        let indices = self.vector(narrow.index, 0);
        let first = self.first_frozen(&indices);
        let same = self.continue_first(I32, &indices, &first, step);
        let fits = self.steps_fit(narrow, &first, step * (LANES as i64 - 1));
        let start = self.narrow_start(address, narrow, &first);
        let inside = self.whole_in_bounds(address, &start, bytes);
        let is_so = self.t.and(&fits, &inside);
        (self.t.and(&same, &is_so), start)
    }

    /// Whether the indices after the first one none has wrapped.
    pub(super) fn steps_fit(&mut self, narrow: Narrow, first: &Opd, steps: i64) -> Opd {
        let (max, below) = match narrow.is_signed {
            true => (i64::from(i32::MAX), IntPredicate::SLe),
            false => (i64::from(u32::MAX), IntPredicate::ULe),
        };
        assert!((0..=max).contains(&steps), "{steps} steps exceed the range of an index");
        self.t.icmp(below, first, wrap_int(I32, max - steps))
    }

    /// The offset of the lane with this index.
    pub(super) fn narrow_start(&mut self, address: &Address, narrow: Narrow, index: &Opd) -> Opd {
        let cast = if narrow.is_signed { Cast::SExt } else { Cast::ZExt };
        let wide = self.t.cast(cast, index, I64);
        let scaled = self.t.mul(&wide, narrow.scale);
        let base = self.uniform(narrow.base, 0);
        let start = self.t.add(&base, &scaled);
        self.t.add(&start, narrow.offset.wrapping_add(address.extra))
    }

    fn wide_side(&mut self, address: &Address, bytes: i64) -> (Opd, Opd) {
        let offsets = self.offsets_with_extra(address);
        let start = self.first_frozen(&offsets);
        let same = self.continue_first(I64, &offsets, &start, bytes);
        let inside = self.whole_in_bounds(address, &start, bytes);
        (self.t.and(&same, &inside), start)
    }

    /// Whether all that lanes side by side access is in bounds, also by those that are off.
    fn whole_in_bounds(&mut self, address: &Address, start: &Opd, bytes: i64) -> Opd {
        // What is known of a pointer holds where lanes are on.
        if self.position.mask == Mask::All && self.is_in_bounds(address, bytes) {
            return Opd::bool(true);
        }
        let bytes = bytes * LANES as i64;
        match self.test_of_stores(&address.place) {
            Test::AllLoadable => self.exists(&address.place, start, bytes),
            _ => self.in_bounds(&address.place, start, bytes),
        }
    }

    /// The first lane's; any value if that is off, but always the same.
    pub(super) fn first_frozen(&mut self, vector: &Opd) -> Opd {
        let first = self.t.extract(vector, 0);
        match self.position.mask {
            Mask::All => first,
            Mask::Some(_) => self.t.freeze(&first),
        }
    }

    /// Whether each active lane has the value that is `step` more than the lane before.
    fn continue_first(&mut self, element: llvm::Type, vector: &Opd, first: &Opd, step: i64) -> Opd {
        self.t.expect(first, element);
        let ramp = self.ramp(element, first, step);
        let mut same = self.t.icmp(IntPredicate::Eq, vector, &ramp);
        if let Mask::Some(mask) = self.position.mask.clone() {
            same = self.t.select(&mask, &same, &Opd::bool(true).splat(LANES));
        }
        self.all(&Mask::Some(same))
    }

    fn ramp(&mut self, element: llvm::Type, first: &Opd, step: i64) -> Opd {
        let base = self.t.splat(first);
        self.t.add(&base, &vector_const(element, (0..LANES as i64).map(|lane| lane * step)))
    }

    /// The address with offsets computed here: vectors of them are of use only where lanes are not
    /// contiguous.
    pub(super) fn apart(&mut self, address: &Address, bytes: i64) -> Address {
        self.apart_from(address, bytes, false)
    }

    /// As [`Self::apart`], on a path that hardly ever runs.
    pub(super) fn apart_when_cold(&mut self, address: &Address, bytes: i64) -> Address {
        self.apart_from(address, bytes, true)
    }

    fn apart_from(&mut self, address: &Address, bytes: i64, is_cold: bool) -> Address {
        let Some(narrow) = self.narrow(address, bytes) else { return address.clone() };
        let mut indices = self.vector(narrow.index, 0);
        if is_cold {
            // LLVM would take the offsets from where the program computes them, and that from the usual path.
            indices = self.t.freeze(&indices);
        }
        let cast = if narrow.is_signed { Cast::SExt } else { Cast::ZExt };
        let wide = self.t.cast(cast, &indices, I64.lanes());
        let scaled = self.t.mul(&wide, narrow.scale);
        let base = self.uniform(narrow.base, 0);
        let base = self.t.add(&base, narrow.offset);
        let base = self.t.splat(&base);
        let offsets = self.t.add(&base, &scaled);
        Address { offset: super::lane::Lane::Varying(offsets), ..address.clone() }
    }

    /// The address as a sum with an index of 32 bits in which lanes side by side are equally far apart.
    pub(super) fn narrow(&self, address: &Address, bytes: i64) -> Option<Narrow> {
        let function = self.plan.facts.function;
        let mut pointer = address.value?;
        if self.shape(pointer, 0) != Shape::Varying || address.place.root == Root::Many {
            return None;
        }
        let mut sum = 0i64;
        loop {
            let PointerSum { base, index, scale, offset } = pointer_sum(function, pointer)?;
            sum = sum.checked_add(offset)?;
            let Some(index) = index else {
                pointer = base;
                continue;
            };
            let (cast, index) = widened(function, index)?;
            let is_usable = function.ty(index) == Type::Scalar(Scalar::I32)
                && self.shape(index, 0) == Shape::Varying
                && self.shape(base, 0).is_uniform()
                && self.is_here(index)
                && self.is_here(base)
                && scale > 0
                && bytes % i64::from(scale) == 0;
            let is_signed = cast == CastOp::SExt;
            let narrow = Narrow { base, index, is_signed, scale: i64::from(scale), offset: sum };
            return is_usable.then_some(narrow);
        }
    }

    /// Whether all lanes are on and each accesses the place right after the lane before.
    pub(super) fn side_by_side(&mut self, offsets: &Opd, item: Item) -> Opd {
        let first = self.t.extract(offsets, 0);
        let ramp = self.ramp(I64, &first, item.bytes());
        let same = Mask::Some(self.t.icmp(IntPredicate::Eq, offsets, &ramp));
        let same = self.mask_bits(&same);
        let mask = self.position.mask.clone();
        let on = self.mask_bits(&mask);
        let both = self.t.and(&same, &on);
        self.t.icmp(IntPredicate::Eq, &both, -1)
    }
}
