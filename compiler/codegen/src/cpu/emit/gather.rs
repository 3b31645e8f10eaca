//! Loads from varying addresses.
//!
//! Programs compute indices in ways no analysis follows (clamped, masked, from tables), and yet
//! neighbouring lanes mostly access neighbouring elements. So a run-time test comes first: one vector load
//! if all lanes are on and contiguous, register permutations if all read a short stretch
//! (`permute_gather`). `scatter` has the stores.

use anymetal_ir::Scalar;
use anymetal_opt::Feature;

use super::allocation::Place;
use super::available_checks::Test;
use super::indexed_gather::IndexedAccess;
use super::lane::Lane;
use super::memory::{Address, Item, MemoryType};
use super::out_of_line::Helper;
use super::{Emitter, Mask};
use crate::limits::cpu::MAX_GATHERED_TOGETHER;
use crate::llvm::{self, BlockName, I64, LANES, MemFlags, Opd, vector_const};
use anymetal_analysis::divergence::Affine;

/// The places of lanes that are not contiguous.
enum Apart {
    IndexedAccess(IndexedAccess),
    /// By offsets of 64 bits.
    Wide(Address, Opd),
}

impl Emitter<'_, '_> {
    pub(super) fn load_gather(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        // Lanes that are known to be in some other pattern need no test whether they are contiguous.
        let may_be_together = !matches!(&address.offset, Lane::Affine { shape, .. } if !shape.is_assumed());
        if item.count == 1 && may_be_together {
            return vec![Lane::Varying(self.load_contiguous_or_gather(address, item))];
        }
        let offsets = self.offsets_with_extra(address);
        let ok = self.active_in_bounds(address, &offsets, item);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let safe = self.active_or_zero(&offsets);
        let loaded = self.gather_vectors(&address.place, &safe, item);
        let from = self.t.current();
        if ok.is_true() {
            return loaded.into_iter().map(Lane::Varying).collect();
        }
        self.t.branch(join);
        self.or_slowly(address, item, (&loaded, from), (slow, join))
    }

    /// Loads lane by lane with checks in one block, and joins that with what another block has loaded.
    pub(super) fn or_slowly(
        &mut self,
        address: &Address,
        item: Item,
        (loaded, from): (&[Opd], BlockName),
        (slow, join): (BlockName, BlockName),
    ) -> Vec<Lane> {
        self.t.label(slow);
        let careful = self.load_slowly(address, item);
        assert_eq!(loaded.len(), careful.len(), "both ways load the same elements");
        let slow_from = self.t.current();
        self.t.label(join);
        let merge = |(x, y): (&Opd, &Opd)| Lane::Varying(self.t.phi(&[(x, from), (y, slow_from)]));
        loaded.iter().zip(&careful).map(merge).collect()
    }

    /// Whether the active lanes are in bounds, lane by lane.
    fn active_in_bounds(&mut self, address: &Address, offsets: &Opd, item: Item) -> Opd {
        self.test_once(address, item.bytes(), Test::ActiveInBounds, |this| {
            this.lanes_in_bounds(address, offsets, item.bytes()).0
        })
    }

    /// Emits one more way to load, for where `is_so` holds; what follows is for where it does not.
    fn load_if(
        &mut self,
        is_so: &Opd,
        (join, values): (BlockName, &mut Vec<(Opd, BlockName, bool)>),
        load: impl FnOnce(&mut Self) -> Opd,
    ) {
        let (here, otherwise) = (self.t.block(), self.t.block());
        self.t.branch_if(is_so, here, otherwise);
        self.t.label(here);
        let value = load(self);
        values.push((value, self.t.current(), true));
        self.t.branch(join);
        self.t.label(otherwise);
    }

    /// Better ways to load than lane by lane, tried one after the other.
    fn load_patterns(
        &mut self,
        address: &Address,
        item: Item,
        (join, values): (BlockName, &mut Vec<(Opd, BlockName, bool)>),
    ) {
        if self.has(Feature::ContiguityCheck) {
            let all_on = !self.shared.options.checks && !self.has_masked_access(item);
            let side = self.side(address, item, all_on);
            self.load_if(&side.is_so, (join, values), |this| {
                let at = this.t.offset(&address.place.base, &side.start);
                this.load_whole(address, &at, item)
            });
        }
        if let Some(permute_gather) = self.permute_gather(address, item) {
            self.load_if(&permute_gather.side.is_so, (join, values), |this| {
                this.load_permute_gather(address, &permute_gather, item)
            });
        }
    }

    /// One vector load where the lanes turn out to be contiguous.
    fn load_contiguous_or_gather(&mut self, address: &Address, item: Item) -> Opd {
        let (join, mut values) = (self.t.block(), Vec::new());
        self.load_patterns(address, item, (join, &mut values));
        let known = self.known_test(address, item.bytes(), Test::ActiveInBounds);
        let apart = self.places_apart(address, item);
        let ok = match (&known, &apart) {
            (Some(known), _) => known.clone(),
            (None, Apart::IndexedAccess(indexed)) => self.indices_in_bounds(address, indexed, item.bytes()),
            (None, Apart::Wide(address, offsets)) => self.lanes_in_bounds(address, offsets, item.bytes()).0,
        };
        let is_certain = ok.is_true() || self.bail_unless(&ok);
        let (fast, slow) = (self.t.block(), self.t.block());
        if !is_certain {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
        }
        let gathered = match &apart {
            Apart::IndexedAccess(indexed) => self.gather_indexed(address, indexed, item),
            Apart::Wide(address, offsets) => {
                let safe = self.active_or_zero(offsets);
                self.gather(&address.place, &safe, item, 0)
            }
        };
        values.push((gathered, self.t.current(), true));
        self.t.branch(join);
        if !is_certain {
            self.t.label(slow);
            let apart = match apart {
                Apart::IndexedAccess(_) => self.apart_when_cold(address, item.bytes()),
                Apart::Wide(address, _) => address,
            };
            let careful = self.load_slowly(&apart, item).remove(0);
            values.push((careful, self.t.current(), false));
        }
        self.t.label(join);
        let edges: Vec<_> = values.iter().map(|(value, from, _)| (value, *from)).collect();
        let loaded = self.t.phi(&edges);
        if known.is_none() {
            let sides: Vec<_> = values.iter().map(|(_, from, ok)| (Opd::bool(*ok), *from)).collect();
            let edges: Vec<_> = sides.iter().map(|(ok, from)| (ok, *from)).collect();
            let ok = if is_certain { Opd::bool(true) } else { self.t.phi(&edges) };
            self.note_test(address, item.bytes(), Test::ActiveInBounds, &ok);
        }
        loaded
    }

    fn places_apart(&mut self, address: &Address, item: Item) -> Apart {
        if let Some(indexed) = self.indexed(address, item) {
            return Apart::IndexedAccess(indexed);
        }
        let address = self.apart(address, item.bytes());
        let offsets = self.offsets_with_extra(&address);
        Apart::Wide(address, offsets)
    }

    /// A vector load of lanes side by side. With checks even those that are off are in bounds.
    fn load_whole(&mut self, address: &Address, at: &Opd, item: Item) -> Opd {
        let ty = item.memory_type().lanes();
        let raw = match self.position.mask.clone() {
            Mask::Some(mask) if !self.shared.options.checks => self.masked_load(ty, at, (LANES, &mask)),
            _ => {
                let metadata = self.metadata(&address.place);
                self.t.load(ty, at, MemFlags::with(1, metadata))
            }
        };
        self.from_memory(item, raw)
    }

    /// The offsets with which all lanes may load: those that are off load from the start. Some lane is on
    /// and in bounds, so that exists.
    pub(super) fn active_or_zero(&mut self, offsets: &Opd) -> Opd {
        self.t.expect(offsets, I64.lanes());
        match self.position.mask.clone() {
            Mask::All => offsets.clone(),
            Mask::Some(mask) => self.t.select(&mask, offsets, 0),
        }
    }

    /// Each lane's vector by wide loads.
    fn gather_vectors(&mut self, place: &Place, offsets: &Opd, item: Item) -> Vec<Opd> {
        if item.count == 1 || item.scalar == Scalar::Bool {
            return (0..item.count).map(|k| self.gather(place, offsets, item, k)).collect();
        }
        let lanes = self.places_of_lanes(place, offsets);
        self.load_wide(place, &lanes, item)
    }

    /// Where each lane's bytes are.
    pub(super) fn places_of_lanes(&mut self, place: &Place, offsets: &Opd) -> Vec<Opd> {
        let place_of = |lane| {
            let one = self.t.extract(offsets, lane);
            self.t.offset(&place.base, &one)
        };
        (0..LANES).map(place_of).collect()
    }

    fn gather(&mut self, place: &Place, offsets: &Opd, item: Item, k: usize) -> Opd {
        assert!(k < item.count, "an item of {} elements has no element {k}", item.count);
        let bits = item.bits();
        let at = self.t.offset(&place.base, i64::from(item.scalar.size()) * k as i64);
        self.need(Helper::Gather(bits));
        self.split_loads();
        let raw = self.t.call(llvm::Type::int(bits).lanes(), format!("am.gather.{bits}"), &[&at, offsets]);
        let raw = self.t.reinterpret(&raw, item.memory_type());
        self.from_memory(item, raw)
    }

    /// Lanes each at a known distance from a base: no place has to come out of a vector.
    pub(super) fn load_lanes(&mut self, address: &Address, bases: &[Opd], shape: &Affine, item: Item) -> Opd {
        assert_eq!(bases.len(), shape.segments, "an affine offset has one base per segment");
        assert_eq!(item.count, 1, "load_lanes loads one element per lane");
        let features = &self.shared.options.features;
        if let [base] = bases
            && features.fast_gather
            && matches!(item.bits(), 32 | 64)
        {
            let start = self.t.add(base, address.extra);
            let place = Place { base: self.t.offset(&address.place.base, &start), ..address.place.clone() };
            return self.gather(&place, &vector_const(I64, shape.values()), item, 0);
        }
        self.split_loads();
        let (element, ty) = (item.memory_type(), item.memory_type().lanes());
        let metadata = self.metadata(&address.place);
        let mut all = Opd::poison(ty);
        for lane in 0..LANES {
            let offset = shape.at(lane).wrapping_add(address.extra);
            let start = self.t.add(&bases[lane / shape.segment_len()], offset);
            let at = self.t.offset(&address.place.base, &start);
            let one = self.t.load(element, &at, MemFlags::with(1, metadata));
            all = self.t.insert(&all, &one, lane);
        }
        self.from_memory(item, all)
    }

    /// Called before each load that is one per lane: divides a block that has very many of them.
    ///
    /// Loads with no store between them form one bunch for LLVM's instruction selection, which looks through
    /// the bunch for each of them, again and again: 2000 took 10 s. Assembly that is empty and touches no
    /// memory that code can reach ends a bunch, and is no obstacle to moving loads before that.
    pub(super) fn split_loads(&mut self) {
        let block = self.t.current();
        let before = if self.known.lane_loads.0 == block { self.known.lane_loads.1 } else { 0 };
        self.known.lane_loads = (block, before + 1);
        if before > 0 && before.is_multiple_of(MAX_GATHERED_TOGETHER) {
            self.t.asm_void("", "", " memory(inaccessiblemem: readwrite) nounwind willreturn");
        }
    }
}
