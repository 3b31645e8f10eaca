//! Loads: of promoted variables, from a uniform address, as whole vectors.
//!
//! Lanes that are off may load anything that exists, so loads need no mask where all lanes' addresses are
//! in bounds.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Scalar, Space, Type, Value};
use anymetal_opt::{Feature, RemarkId};

use super::waterfall::Decoder;
use super::{Address, Item, MemoryType};
use crate::cpu::emit::allocation::{Place, ZEROS};
use crate::cpu::emit::available_checks::Test;
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::{Emitter, zero_of};
use crate::llvm::{self, I64, LANES, MemFlags, Opd, scalar_type};
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::{Run, Strategy, of_load, word_elements};
use anymetal_simd::plan::Access;

impl Emitter<'_, '_> {
    /// The strategy of an address that is in no plan: of a piece of a copy, or of one allocation of several.
    fn load_strategy(&self, address: &Address, item: Item) -> Strategy {
        of_load(address.offset.affine(), item, &self.shared.options.features)
    }

    pub(in crate::cpu::emit) fn load(&mut self, inst: Inst, pointer: Value, result: Value, _align: u32) {
        let ty = self.plan.facts.function.ty(result);
        let size = i64::from(ty.size());
        let access = self.plan.access(inst);
        if self.omit_load(result) || matches!(access, Access::With(_)) {
            return;
        }
        if let Some(vars) = self.plan.facts.storage.vars_at(pointer, size) {
            if self.load_tile(&vars, result) {
                return;
            }
            let lanes = vars.enumerate().map(|(k, var)| self.load_promoted_as(var, result, k)).collect();
            return self.define(result, lanes);
        }
        if self.load_bundle(inst, pointer) {
            return;
        }
        let item = Item::of(ty);
        if self.load_stencil_row(inst) {
            return;
        }
        let mut lanes = if self.plan.facts.function.pointer_space(pointer) == Space::Thread {
            self.remark_private(inst, RemarkId::LoadPrivate, pointer);
            self.load_private(inst, pointer, 0, item)
        } else {
            self.load_shared(inst, pointer, 0, item)
        };
        if let (Type::Ptr(_), [bits]) = (ty, lanes.as_slice()) {
            lanes = vec![self.pointer_in(pointer, result, bits)];
        }
        self.define(result, lanes);
    }

    pub(in crate::cpu::emit) fn load_shared(
        &mut self,
        inst: Inst,
        pointer: Value,
        extra: i64,
        item: Item,
    ) -> Vec<Lane> {
        let site = self.site(inst, pointer, AccessKind::Load, item.bytes() as u32);
        if self.is_scattered(pointer) {
            self.remark_waterfall(inst, RemarkId::LoadWaterfall, pointer);
            let codes = self.vector(pointer, 0);
            return self.waterfall(&codes, Decoder::Loads, item, |this, address| {
                let address = Address { extra, site, ..address };
                let strategy = this.load_strategy(&address, item);
                this.load_by(&address, item, &strategy)
            });
        }
        let mut address = self.address(pointer, site, AccessKind::Load);
        address.extra = extra;
        let strategy = match self.plan.strategy(inst) {
            Some(planned) => planned.clone(),
            None => self.load_strategy(&address, item),
        };
        self.remark_access(inst, AccessKind::Load, (&address, item), &strategy);
        self.load_by(&address, item, &strategy)
    }

    /// Loads from one allocation.
    fn load_by(&mut self, address: &Address, item: Item, strategy: &Strategy) -> Vec<Lane> {
        match strategy {
            Strategy::Varying => self.load_gather(address, item),
            Strategy::Uniform => self.load_uniform(address, item),
            strategy => self.load_pattern(address, item, strategy),
        }
    }

    fn load_uniform(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        let offset = address.offset.at(&mut self.t, I64, 0);
        let start = self.t.add(&offset, address.extra);
        let ok = self.test_once(address, item.bytes(), Test::AllInBounds, |this| {
            this.one_in_bounds(address, &start, item.bytes())
        });
        if ok.is_false() {
            self.report(address, &start);
            return vec![Lane::uniform(zero_of(item.scalar)); item.count];
        }
        if ok.is_true() {
            return self.load_elements(&address.place, &start, item);
        }
        if self.bail_unless(&ok) {
            return self.load_elements(&address.place, &start, item);
        }
        // Out of bounds the load reads zeros from elsewhere: it stays one load, which LLVM can make
        // a broadcast.
        let inside = self.t.offset(&address.place.base, &start);
        let from = self.t.current();
        let (slow, join) = (self.t.block(), self.t.block());
        self.t.branch_likely(&ok, join, slow);
        self.t.label(slow);
        let before = self.is_before(&address.place, &start, item.bytes());
        let before_from = self.t.current();
        if let Some(is_before) = &before {
            let outside = self.t.block();
            self.t.branch_if(is_before, join, outside);
            self.t.label(outside);
        }
        self.report(address, &start);
        let slow_from = self.t.current();
        self.t.label(join);
        let zeros = Opd::global(ZEROS);
        let mut from = vec![(&inside, from), (&zeros, slow_from)];
        from.extend(before.is_some().then_some((&inside, before_from)));
        let base = self.t.phi(&from);
        self.load_elements_at(&base, &address.place, item)
    }

    fn load_elements(&mut self, place: &Place, start: &Opd, item: Item) -> Vec<Lane> {
        let base = self.t.offset(&place.base, start);
        self.load_elements_at(&base, place, item)
    }

    fn load_elements_at(&mut self, base: &Opd, place: &Place, item: Item) -> Vec<Lane> {
        let metadata = self.metadata(place);
        (0..item.count)
            .map(|k| {
                let at = self.t.offset(base, i64::from(item.scalar.size()) * k as i64);
                let raw = self.t.load(item.memory_type(), &at, MemFlags::with(1, metadata));
                Lane::uniform(self.from_memory(item, raw))
            })
            .collect()
    }

    fn load_pattern(&mut self, address: &Address, item: Item, strategy: &Strategy) -> Vec<Lane> {
        let Lane::Affine { bases, shape, .. } = address.offset.clone() else {
            unreachable!("loads are planned by the form of an affine offset")
        };
        assert_eq!(bases.len(), shape.segments, "an affine offset has one base per segment");
        let test = self.test_of_loads();
        let mut ok = self.test_once(address, item.bytes(), test, |this| {
            this.all_in_bounds(address, &shape, &bases, item.bytes(), test)
        });
        let fast_only = ok.is_true() || self.bail_unless(&ok);
        if fast_only {
            ok = Opd::bool(true);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let mut whole = Vec::new();
        let loaded = match strategy {
            Strategy::Span { low, picks, elements } => {
                self.load_span(address, &bases[0], *low, picks, *elements, item)
            }
            Strategy::Runs(runs) => {
                let loaded = self.load_runs(address, &bases, &shape, runs, item, &mut whole);
                self.cache_interleaved(&loaded, item, &whole);
                loaded
            }
            Strategy::Lanes => vec![self.load_lanes(address, &bases, &shape, item)],
            other => unreachable!("{other:?} is no pattern of vectors"),
        };
        assert_eq!(loaded.len(), item.count, "a load has one vector per component");
        let from = self.t.current();
        if fast_only {
            return loaded.into_iter().map(Lane::Varying).collect();
        }
        self.t.branch(join);
        self.t.label(slow);
        let careful = match strategy {
            // Where an affine form does not hold the runs are elsewhere, and the lanes may well be in
            // bounds; and of lanes far apart those that are on often are, when the others are not.
            _ if self.has(Feature::ColdGather) && (shape.is_assumed() || *strategy == Strategy::Lanes) => {
                let element = scalar_type(item.scalar);
                let lanes = self.aside(|this| this.load_cold_gather(address, item));
                lanes.iter().map(|lane| lane.vector(&mut self.t, element)).collect()
            }
            Strategy::Runs(runs) if !self.shared.options.checks && runs.iter().all(|run| !run.same) => {
                self.load_masked_runs(address, &bases, &shape, runs, item)
            }
            _ => self.load_slowly(address, item),
        };
        let whole_careful: Vec<Opd> = match strategy {
            Strategy::Runs(runs) if !whole.is_empty() => {
                runs.iter().map(|run| self.interleaved(item.memory_type(), &careful, run)).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(careful.len(), item.count, "both ways load the same components");
        assert_eq!(whole_careful.len(), whole.len(), "both ways have the same runs");
        let slow_from = self.t.current();
        self.t.label(join);
        let merge = |(x, y): (&Opd, &Opd)| self.t.phi(&[(x, from), (y, slow_from)]);
        let merged: Vec<Opd> = loaded.iter().zip(&careful).map(merge).collect();
        let merge = |(x, y): (&Opd, &Opd)| self.t.phi(&[(x, from), (y, slow_from)]);
        let whole: Vec<Opd> = whole.iter().zip(&whole_careful).map(merge).collect();
        self.cache_interleaved(&merged, item, &whole);
        merged.into_iter().map(Lane::Varying).collect()
    }

    /// Plain runs under the mask, where only active lanes' places may be touched.
    fn load_masked_runs(
        &mut self,
        address: &Address,
        bases: &[Opd],
        shape: &Affine,
        runs: &[Run],
        item: Item,
    ) -> Vec<Opd> {
        let element = item.memory_type();
        let mask = self.position.mask.operand();
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); item.count];
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add(&bases[run.segment], offset);
            let at = self.t.offset(&address.place.base, &start);
            let total = run.lanes * item.count;
            let ty = element.vector(total);
            let picks: Vec<_> = (0..total).map(|n| Some(run.lane + n / item.count)).collect();
            let lanes = if total == LANES { mask.clone() } else { self.t.pick(&mask, &picks) };
            let all = self.masked_load(ty, &at, (total, &lanes));
            for (k, part) in parts.iter_mut().enumerate() {
                let picks: Vec<_> = (0..run.lanes).map(|lane| Some(lane * item.count + k)).collect();
                part.push(match item.count {
                    1 => all.clone(),
                    _ => self.t.pick(&all, &picks),
                });
            }
        }
        self.joined(item, runs[0].lanes, parts)
    }

    pub(in crate::cpu::emit) fn load_runs(
        &mut self,
        address: &Address,
        bases: &[Opd],
        shape: &Affine,
        runs: &[Run],
        item: Item,
        whole: &mut Vec<Opd>,
    ) -> Vec<Opd> {
        let element = item.memory_type();
        let metadata = self.metadata(&address.place);
        let is_kept = item.scalar != Scalar::Bool && item.count > 1 && runs.iter().all(|run| !run.same);
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); item.count];
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add(&bases[run.segment], offset);
            let at = self.t.offset(&address.place.base, &start);
            if run.same {
                for (k, part) in parts.iter_mut().enumerate() {
                    let at = self.t.offset(&at, i64::from(item.scalar.size()) * k as i64);
                    let one = self.t.load(element, &at, MemFlags::with(1, metadata));
                    part.push(self.t.splat_to(run.lanes, &one));
                }
                continue;
            }
            let total = run.lanes * item.count;
            let all = self.t.load(element.vector(total), &at, MemFlags::with(1, metadata));
            if item.count == 1 {
                parts[0].push(all);
                continue;
            }
            if is_kept {
                whole.push(all.clone());
            }
            if let Some(elements) = self.load_by_quarters(&address.place, &at, item, run.lanes) {
                parts.iter_mut().zip(elements).for_each(|(part, elements)| part.push(elements));
                continue;
            }
            for (k, part) in parts.iter_mut().enumerate() {
                let picks: Vec<_> = (0..run.lanes).map(|lane| Some(lane * item.count + k)).collect();
                part.push(self.t.pick(&all, &picks));
            }
        }
        self.joined(item, runs[0].lanes, parts)
    }

    /// Each component's runs of `lanes` lanes as one vector of values.
    fn joined(&mut self, item: Item, lanes: usize, parts: Vec<Vec<Opd>>) -> Vec<Opd> {
        assert_eq!(parts.len(), item.count, "a vector has {} components", item.count);
        assert!(
            parts.iter().all(|part| part.len() * lanes == LANES),
            "the runs of each component cover all lanes"
        );
        let join = |part| {
            let whole = self.t.concat(part);
            self.from_memory(item, whole)
        };
        parts.into_iter().map(join).collect()
    }

    /// The lanes' elements of a span whose lanes all begin at a word of so many elements.
    fn load_words_of_span(
        &mut self,
        all: &Opd,
        (elements, in_word): (usize, usize),
        picks: &[usize],
        item: Item,
    ) -> Vec<Opd> {
        assert!(in_word.is_power_of_two() && in_word > 1, "a word has two elements at least, not {in_word}");
        let (element, bits) = (item.memory_type(), item.bits());
        let word = llvm::Type::int(bits * in_word as u32);
        let words = elements.div_ceil(in_word);
        let whole: Vec<_> = (0..words * in_word).map(|n| (n < elements).then_some(n)).collect();
        let padded = self.t.pick(all, &whole);
        let padded = self.t.bitcast(&padded, word.vector(words));
        let mut of_element = |k: usize| {
            let picks: Vec<_> = picks.iter().map(|&pick| Some((pick + k) / in_word)).collect();
            let mut own = self.t.pick(&padded, &picks);
            let shift = bits * (k % in_word) as u32;
            if shift > 0 {
                own = self.t.lshr(&own, i64::from(shift));
            }
            let own = self.t.trunc(&own, llvm::Type::int(bits).lanes());
            let own = self.t.reinterpret(&own, element);
            self.from_memory(item, own)
        };
        (0..item.count).map(&mut of_element).collect()
    }

    fn load_span(
        &mut self,
        address: &Address,
        base: &Opd,
        low: i64,
        picks: &[usize],
        elements: usize,
        item: Item,
    ) -> Vec<Opd> {
        assert!(
            picks.len() == LANES && picks.iter().all(|pick| pick + item.count <= elements),
            "the span has each lane's elements"
        );
        let element = item.memory_type();
        let metadata = self.metadata(&address.place);
        let start = self.t.add(base, low.wrapping_add(address.extra));
        let at = self.t.offset(&address.place.base, &start);
        let all = self.t.load(element.vector(elements), &at, MemFlags::with(1, metadata));
        let in_word = word_elements(picks, item);
        if in_word > 1 {
            return self.load_words_of_span(&all, (elements, in_word), picks, item);
        }
        (0..item.count)
            .map(|k| {
                let picks: Vec<_> = picks.iter().map(|&pick| Some(pick + k)).collect();
                let part = self.t.pick(&all, &picks);
                self.from_memory(item, part)
            })
            .collect()
    }
}
