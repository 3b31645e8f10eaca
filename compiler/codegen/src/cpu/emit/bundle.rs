//! Loads of a bundle: see `bundles`.
//!
//! One check covers the whole bundle. In bounds, one wide load per lane brings its neighbours, and
//! transposing gives one vector per component. Otherwise every load is checked by itself, so results and
//! fault reports equal those of single loads.

use anymetal_abi::AccessKind;
use anymetal_ir::eval::mask;
use anymetal_ir::{CastOp, Inst, Scalar, Value};
use anymetal_opt::{Feature, RemarkId};

use super::allocation::Place;
use super::lane::{Lane, Width};
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::llvm::{self, Cast, I32, I64, IntPredicate, LANES, MemFlags, Opd, scalar_type, wrap_int};
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::few_runs;
use anymetal_simd::bundles::{Chunk, LoadBundle, NarrowIndex, Part};
use anymetal_simd::limits::MAX_RUN_ELEMENTS;

/// How a bundle is loaded where its offsets may not hold.
#[derive(Clone, Debug)]
struct Fallback {
    /// The index that may wrap, and what the first load adds to it.
    narrow: Option<(NarrowIndex, i64)>,
    /// Whether it wraps in no lane, or in all loads of a lane.
    never_wraps: Opd,
}

impl Emitter<'_, '_> {
    /// Loads the bundle whose first load this is; `false` if the load itself is still to be done.
    pub(super) fn load_bundle(&mut self, inst: Inst, pointer: Value) -> bool {
        let plan = self.plan;
        let Some(bundle @ LoadBundle { chunks, lanes, narrow }) = plan.bundles.get(&inst) else {
            // The load begins no bundle.
            return false;
        };
        let std::ops::Range { start: low, end: high } = bundle.range();
        let address = Address { extra: low, ..self.address(pointer, 0, AccessKind::Load) };
        let never_wraps = narrow.map_or(Opd::bool(true), |narrow| self.never_wraps(narrow, chunks));
        let fallback = Fallback { narrow: *narrow, never_wraps };
        let loaded = match lanes {
            Some(lanes) => self.load_bundle_affine(&address, lanes, chunks, (high - low, &fallback)),
            None => self.load_bundle_apart(&address, chunks, (high - low, &fallback)),
        };
        let count: usize = chunks.iter().map(|chunk| chunk.item.count).sum();
        assert_eq!(loaded.len(), count, "a bundle has one vector per element");
        let mut loaded = loaded.into_iter();
        for part in chunks.iter().flat_map(|chunk| &chunk.parts) {
            self.remark_together(part.inst, RemarkId::LoadBundle, part.pointer, count);
            let lanes = loaded.by_ref().take(part.item.count).map(Lane::Varying).collect();
            self.define(part.result, lanes);
        }
        chunks.iter().flat_map(|chunk| &chunk.parts).any(|part| part.inst == inst)
    }

    /// Whether, in each active lane, the narrow index wraps in all loads or in none.
    fn never_wraps(&mut self, (narrow, first): (NarrowIndex, i64), chunks: &[Chunk]) -> Opd {
        let constants = || chunks.iter().flat_map(|chunk| &chunk.parts).map(|part| part.constant);
        let (low, high) = constants().fold((first, first), |(low, high), c| (low.min(c), high.max(c)));
        if low == high {
            return Opd::bool(true);
        }
        let scalar = self.scalar(narrow.value);
        let reach = high.wrapping_sub(low) as u64;
        assert!(reach <= mask(scalar), "the constants of a bundle are near each other");
        let element = scalar_type(scalar);
        let least = match narrow.cast {
            CastOp::SExt => i64::MIN >> (64 - scalar.bits()),
            _ => 0,
        };
        // The least index leaves room for the greatest one below the type's limit.
        let least = wrap_int(element, least.wrapping_sub(low));
        let limit = wrap_int(element, (mask(scalar) - reach) as i64);
        let index = self.vector(narrow.value, 0);
        let distance = self.t.sub(&index, least);
        let wraps = self.t.icmp(IntPredicate::UGt, &distance, limit);
        let active = self.position.mask.clone();
        let wraps = self.both(&active, &wraps);
        let any = self.any(&Mask::Some(wraps));
        self.t.not(&any)
    }

    /// The address of a load whose narrow index may wrap where that of the first load does not, and vice
    /// versa.
    fn wrapped_address(
        &mut self,
        address: &Address,
        (narrow, first): (NarrowIndex, i64),
        part: &Part,
        site: u32,
    ) -> Address {
        let element = scalar_type(self.scalar(narrow.value));
        let cast = if narrow.cast == CastOp::SExt { Cast::SExt } else { Cast::ZExt };
        // LLVM would take the sums from where the program computes them, and that from the usual path.
        let index = self.vector(narrow.value, 0);
        let index = self.t.freeze(&index);
        let [own, first_own] = [part.constant, first].map(|constant| {
            let constant = wrap_int(element, constant);
            let sum = self.t.add(&index, constant);
            self.t.cast(cast, &sum, I64.lanes())
        });
        let distance = self.t.sub(&own, &first_own);
        let bytes = self.t.mul(&distance, narrow.scale);
        let offsets = self.offsets(address);
        let offsets = self.t.add(&offsets, &bytes);
        let apart = part.constant.wrapping_sub(first).wrapping_mul(narrow.scale);
        let extra = part.offset.wrapping_sub(apart);
        Address { offset: Lane::Varying(offsets), value: None, extra, site, ..address.clone() }
    }

    /// Lanes at known distances from a few bases.
    fn load_bundle_affine(
        &mut self,
        address: &Address,
        shape: &Affine,
        chunks: &[Chunk],
        (bytes, fallback): (i64, &Fallback),
    ) -> Vec<Opd> {
        let Lane::Affine { bases, .. } = address.offset.clone() else {
            unreachable!("the bundle's pointer is affine, so its offset is")
        };
        assert_eq!(bases.len(), shape.segments, "an affine offset has one base per segment");
        let test = self.test_of_loads();
        let ok = self
            .test_once(address, bytes, test, |this| this.all_in_bounds(address, shape, &bases, bytes, test));
        let ok = self.t.and(&fallback.never_wraps, &ok);
        let fast_only = ok.is_true() || self.bail_unless(&ok);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        if !fast_only {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
        }
        let starts: Vec<Opd> = bases.iter().map(|base| self.t.offset(&address.place.base, base)).collect();
        let mut loaded = Vec::new();
        for chunk in chunks {
            let item = chunk.item;
            let here = Address { extra: chunk.start(), ..address.clone() };
            match few_runs(shape, item) {
                Some(runs) if item.count <= MAX_RUN_ELEMENTS => {
                    loaded.extend(self.load_runs(&here, &bases, shape, &runs, item, &mut Vec::new()));
                }
                _ => {
                    let places: Vec<Opd> = (0..LANES)
                        .map(|lane| {
                            let offset = shape.at(lane).wrapping_add(chunk.start());
                            self.t.offset(&starts[lane / shape.segment_len()], offset)
                        })
                        .collect();
                    loaded.extend(self.load_wide(&address.place, &places, item));
                }
            }
        }
        if fast_only {
            return loaded;
        }
        let fast_end = self.t.current();
        self.t.branch(join);
        self.t.label(slow);
        let careful = self.load_carefully(address, chunks, (shape.is_assumed(), fallback));
        self.merge_bundle(join, (&loaded, fast_end), &careful)
    }

    /// Lanes anywhere.
    fn load_bundle_apart(
        &mut self,
        address: &Address,
        chunks: &[Chunk],
        (bytes, fallback): (i64, &Fallback),
    ) -> Vec<Opd> {
        let offsets = self.offsets_with_extra(address);
        let (ok, _) = self.lanes_in_bounds(address, &offsets, bytes);
        let ok = self.t.and(&fallback.never_wraps, &ok);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        let is_certain = ok.is_true();
        if !is_certain {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
        }
        // As in single gathers, lanes that are off load from the start.
        let safe = self.active_or_zero(&offsets);
        let loaded = self.load_contiguous_or_wide(address, chunks, &safe);
        if is_certain {
            return loaded;
        }
        let fast_end = self.t.current();
        self.t.branch(join);
        self.t.label(slow);
        let careful = self.load_carefully(address, chunks, (false, fallback));
        self.merge_bundle(join, (&loaded, fast_end), &careful)
    }

    /// Vectors if the lanes turn out to be contiguous, otherwise a wide load for each lane.
    fn load_contiguous_or_wide(&mut self, address: &Address, chunks: &[Chunk], offsets: &Opd) -> Vec<Opd> {
        let element = Item { count: 1, ..chunks[0].item };
        let is_contiguous = self.side_by_side(offsets, element);
        let (contiguous, apart, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&is_contiguous, contiguous, apart);
        self.t.label(contiguous);
        let metadata = self.metadata(&address.place);
        let start = self.t.extract(offsets, 0);
        let start = self.t.offset(&address.place.base, &start);
        let mut plain = Vec::new();
        for chunk in chunks {
            let ty = Width::All.ty(chunk.item.scalar);
            for k in 0..chunk.item.count {
                let bytes = chunk.start() - address.extra + i64::from(chunk.item.scalar.size()) * k as i64;
                let at = self.t.offset(&start, bytes);
                plain.push(self.t.load(ty, &at, MemFlags::with(1, metadata)));
            }
        }
        let plain_end = self.t.current();
        self.t.branch(join);
        self.t.label(apart);
        let lanes = self.places_of_lanes(&address.place, offsets);
        let mut wide = Vec::new();
        for chunk in chunks {
            let bytes = Opd::i64(chunk.start() - address.extra);
            let places: Vec<Opd> = lanes.iter().map(|lane| self.t.offset(lane, &bytes)).collect();
            wide.extend(self.load_wide(&address.place, &places, chunk.item));
        }
        self.merge_bundle(join, (&plain, plain_end), &wide)
    }

    /// Load by load, with checks and reports.
    fn load_carefully(
        &mut self,
        address: &Address,
        chunks: &[Chunk],
        (is_assumed, fallback): (bool, &Fallback),
    ) -> Vec<Opd> {
        let mut careful = Vec::new();
        for part in chunks.iter().flat_map(|chunk| &chunk.parts) {
            let site = self.site(part.inst, part.pointer, AccessKind::Load, part.item.bytes() as u32);
            let here = match fallback.narrow {
                Some(narrow) if part.constant != narrow.1 => {
                    self.wrapped_address(address, narrow, part, site)
                }
                _ => Address { extra: part.offset, site, ..address.clone() },
            };
            if is_assumed && self.has(Feature::ColdGather) {
                // The lanes are elsewhere, and may well be in bounds.
                let element = scalar_type(part.item.scalar);
                let lanes = self.aside(|this| this.load_cold_gather(&here, part.item));
                careful.extend(lanes.iter().map(|lane| lane.vector(&mut self.t, element)));
            } else {
                careful.extend(self.load_slowly(&here, part.item));
            }
        }
        careful
    }

    /// Ends the other way to load the same, and joins both.
    fn merge_bundle(&mut self, join: u32, (one, one_end): (&[Opd], u32), other: &[Opd]) -> Vec<Opd> {
        assert_eq!(one.len(), other.len(), "both ways load the same elements");
        let other_end = self.t.current();
        self.t.branch(join);
        self.t.label(join);
        one.iter().zip(other).map(|(x, y)| self.t.phi(&[(x, one_end), (y, other_end)])).collect()
    }

    // --- wide loads

    /// Loads an item for each lane from its place; gives one vector per element.
    pub(super) fn load_wide(&mut self, place: &Place, lanes: &[Opd], item: Item) -> Vec<Opd> {
        assert_eq!(lanes.len(), LANES, "a wide load has one place per lane");
        let size = i64::from(item.scalar.size());
        let mut elements = Vec::new();
        let mut at = 0;
        if item.bytes() >= 16 {
            let quads = (item.bytes() / 16) as usize;
            if size == 8 {
                elements = self.load_pairs(place, lanes, quads);
            } else {
                for value in self.load_quads(place, lanes, 1, quads) {
                    self.split_word(&value, 4, item.scalar, &mut elements);
                }
            }
            at = 16 * quads as i64;
        }
        while at < item.bytes() {
            let left = item.bytes() - at;
            let bytes = [8, 4, 2, 1].into_iter().find(|&bytes| bytes <= left).expect("one byte is left");
            let bytes = bytes.max(size);
            let places: Vec<Opd> = lanes.iter().map(|lane| self.t.offset(lane, at)).collect();
            let word = self.load_words(place, &places, bytes);
            self.split_word(&word, bytes, item.scalar, &mut elements);
            at += bytes;
        }
        assert_eq!(elements.len(), item.count, "the words contain all elements of the item");
        elements
    }

    /// One integer per lane.
    fn load_words(&mut self, place: &Place, lanes: &[Opd], bytes: i64) -> Opd {
        assert!(matches!(bytes, 1 | 2 | 4 | 8), "integers do not have {bytes} bytes");
        self.split_loads();
        let (metadata, bits) = (self.metadata(place), 8 * bytes);
        let mut all = Opd::poison(llvm::Type::int(bits as u32).lanes());
        for (lane, at) in lanes.iter().enumerate() {
            let one = self.t.load(llvm::Type::int(bits as u32), at, MemFlags::with(1, metadata));
            all = self.t.insert(&all, &one, lane);
        }
        all
    }

    /// The elements of a word, the lowest first.
    fn split_word(&mut self, value: &Opd, bytes: i64, scalar: Scalar, elements: &mut Vec<Opd>) {
        let size = i64::from(scalar.size());
        assert!(bytes % size == 0, "a word of {bytes} bytes does not divide into elements of {size}");
        if bytes == 8 && size < 4 {
            // Halves are two permutations of whole registers, and what computes in 32 bits then shifts and
            // masks those; to take bytes out of 64 bits takes four narrowings each, and as many widenings.
            let words = self.t.bitcast(value, I32.vector(64));
            for half in 0..2 {
                let picks: Vec<_> = (0..LANES).map(|lane| Some(2 * lane + half)).collect();
                let word = self.t.pick(&words, &picks);
                self.split_word(&word, 4, scalar, elements);
            }
            return;
        }
        let bits = 8 * size;
        for k in 0..bytes / size {
            let mut one = value.clone();
            if k > 0 {
                one = self.t.lshr(&one, bits * k);
            }
            if size < bytes {
                one = self.t.trunc(&one, llvm::Type::int(bits as u32).lanes());
            }
            let element = scalar_type(scalar);
            elements.push(self.t.reinterpret(&one, element));
        }
    }
}
