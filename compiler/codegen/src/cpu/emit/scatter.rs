//! Stores to varying addresses, or to addresses that are known not to be contiguous.
//!
//! As for loads (`gather`), a run-time test comes first: contiguous lanes are one vector store. Addresses
//! known relative to a base are stored in pieces, one for each contiguous run. Invariant: memory that only
//! lanes that are off would write keeps its contents.

use anymetal_opt::Feature;

use super::available_checks::Test;
use super::indexed_gather::IndexedAccess;
use super::lane::Lane;
use super::memory::{Address, Item, MemoryType};
use super::{Emitter, Mask};
use crate::llvm::{I8, I64, LANES, MemFlags, Opd};
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::{Piece, Run};

impl Emitter<'_, '_> {
    pub(super) fn store_scatter(&mut self, address: &Address, item: Item, lanes: &[Lane]) {
        let values = self.stored_vectors(item, lanes);
        let [value] = values.as_slice() else { return self.store_apart(address, item, &values) };
        let is_known = matches!(&address.offset, Lane::Affine { shape, .. } if !shape.is_assumed());
        if is_known || !self.has(Feature::ContiguityCheck) {
            return self.store_apart(address, item, &values);
        }
        let side = self.side(address, item, !self.may_store_active(address, item));
        let (contiguous, apart, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&side.is_so, contiguous, apart);
        self.t.label(contiguous);
        let at = self.t.offset(&address.place.base, &side.start);
        match self.position.mask.clone() {
            Mask::All => {
                let metadata = self.store_metadata(&address.place);
                self.t.store(value, &at, MemFlags::with(1, metadata));
            }
            Mask::Some(mask) => {
                let lanes: Vec<usize> = (0..LANES).collect();
                self.store_active(&address.place, item, value, &at, &mask, &lanes);
            }
        }
        self.t.branch(join);
        self.t.label(apart);
        match self.indexed(address, item) {
            Some(indexed) => self.store_indexed(address, &indexed, item, value),
            None => {
                let address = self.apart(address, item.bytes());
                self.store_apart(&address, item, &values);
            }
        }
        self.t.label(join);
    }

    /// Lane by lane, without a check each where all active ones are in bounds.
    fn store_indexed(&mut self, address: &Address, indexed: &IndexedAccess, item: Item, value: &Opd) {
        let ok = match self.known_test(address, item.bytes(), Test::ActiveInBounds) {
            Some(known) => known,
            None => self.indices_in_bounds(address, indexed, item.bytes()),
        };
        let is_certain = ok.is_true() || self.bail_unless(&ok);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        if !is_certain {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
        }
        self.scatter_indexed(address, indexed, item, value);
        if !is_certain {
            self.t.branch(join);
            self.t.label(slow);
            let apart = self.apart_when_cold(address, item.bytes());
            self.store_slowly(&apart, item, std::slice::from_ref(value));
            self.t.label(join);
        }
    }

    /// Lane by lane, if the processor cannot scatter.
    fn store_apart(&mut self, address: &Address, item: Item, values: &[Opd]) {
        if !self.shared.options.features.avx512 || item.bits() < 32 {
            return self.store_slowly(address, item, values);
        }
        let offsets = self.offsets_with_extra(address);
        let ok = match self.known_test(address, item.bytes(), Test::ActiveInBounds) {
            Some(known) => known,
            None => self.lanes_in_bounds(address, &offsets, item.bytes()).0,
        };
        let is_certain = ok.is_true() || self.bail_unless(&ok);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        if !is_certain {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
        }
        self.scatter(address, item, values, &offsets);
        if !is_certain {
            self.t.branch(join);
            self.t.label(slow);
            self.store_slowly(address, item, values);
        }
        self.t.label(join);
    }

    /// Lanes whose places are known from a base on: whatever is contiguous is one store.
    pub(super) fn store_pieces(&mut self, address: &Address, item: Item, lanes: &[Lane], pieces: &[Piece]) {
        let values = &self.stored_vectors(item, lanes);
        let Lane::Affine { bases, shape, .. } = address.offset.clone() else {
            unreachable!("pieces are of an affine offset")
        };
        let test = self.test_of_stores(&address.place);
        let mut ok = self.test_once(address, item.bytes(), test, |this| {
            this.all_in_bounds(address, &shape, &bases, item.bytes(), test)
        });
        if self.bail_unless(&ok) {
            ok = Opd::bool(true);
        }
        if self.position.mask != Mask::All && !self.writes_back(&address.place) {
            let mask = self.position.mask.clone();
            let all = self.all(&mask);
            ok = self.t.and(&ok, &all);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        self.write_pieces(address, item, values, (&bases, &shape, pieces));
        if !ok.is_true() {
            self.t.branch(join);
            self.t.label(slow);
            self.store_slowly(address, item, values);
        }
        self.t.label(join);
    }

    fn write_pieces(
        &mut self,
        address: &Address,
        item: Item,
        values: &[Opd],
        (bases, shape, pieces): (&[Opd], &Affine, &[Piece]),
    ) {
        debug_assert!(
            {
                let mut lanes: Vec<usize> =
                    pieces.iter().flat_map(|piece| piece.lanes.iter().copied()).collect();
                lanes.sort_unstable();
                lanes.into_iter().eq(0..LANES)
            },
            "each lane belongs to exactly one piece"
        );
        assert_eq!(values.len(), item.count, "a store has one vector per component");
        let element = item.memory_type();
        let metadata = self.store_metadata(&address.place);
        let all = Run { segment: 0, lane: 0, lanes: LANES, same: false };
        let whole = self.interleaved(element, values, &all);
        let count = item.count;
        let elements = |&lane: &usize| (0..count).map(move |k| lane * count + k);
        // All in the order of the pieces: then each is part of a vector, which costs less than permuting for
        // it.
        let order: Vec<_> =
            pieces.iter().flat_map(|piece| &piece.lanes).flat_map(elements).map(Some).collect();
        let whole = match pieces.len() < LANES {
            true => self.t.pick(&whole, &order),
            false => whole,
        };
        let mut next = 0;
        for Piece { segment, lanes } in pieces {
            let picks: Vec<_> = match pieces.len() < LANES {
                true => (next..next + lanes.len() * count).map(Some).collect(),
                false => lanes.iter().flat_map(elements).map(Some).collect(),
            };
            next += picks.len();
            let offset = shape.at(lanes[0]).wrapping_add(address.extra);
            let start = self.t.add(&bases[*segment], offset);
            let at = self.t.offset(&address.place.base, &start);
            let piece = self.t.pick(&whole, &picks);
            match self.position.mask.clone() {
                Mask::Some(mask) if self.writes_back(&address.place) => {
                    self.store_active(&address.place, item, &piece, &at, &mask, lanes);
                }
                _ => {
                    self.t.store(&piece, &at, MemFlags::with(1, metadata));
                }
            }
        }
    }

    fn scatter(&mut self, address: &Address, item: Item, values: &[Opd], offsets: &Opd) {
        self.t.expect(offsets, I64.lanes());
        let mask = self.position.mask.operand();
        let name = format!("llvm.masked.scatter.{}.v32p0", item.memory_type().lanes().suffix());
        for (k, value) in values.iter().enumerate() {
            let base = self.t.offset(&address.place.base, i64::from(item.scalar.size()) * k as i64);
            let places = self.t.address(I8, &base, offsets);
            self.t.call_void_declared(&name, &[value, &places, &Opd::i32(1), &mask]);
        }
    }
}
