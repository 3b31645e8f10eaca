//! Stores: to promoted variables, to a uniform address, as whole vectors.
//!
//! Lanes that are off must not write: vectors are stored under the mask unless all lanes are active.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Scalar, Space, Type, Value};
use anymetal_opt::{Feature, RemarkId};

use super::waterfall::Decoder;
use super::{Address, Item, MemoryType};
use crate::cpu::emit::available_checks::Test;
use crate::cpu::emit::lane::{Lane, Width};
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{I8, I64, LANES, MemFlags, Opd, scalar_type};
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::{Run, Strategy, of_store};

impl Emitter<'_, '_> {
    pub(in crate::cpu::emit) fn store(&mut self, inst: Inst, pointer: Value, value: Value, _align: u32) {
        let ty = self.plan.facts.function.ty(value);
        let size = i64::from(ty.size());
        if let Some(vars) = self.plan.facts.storage.vars_at(pointer, size) {
            if self.store_tile(inst, &vars, value) {
                return;
            }
            for (k, var) in vars.enumerate() {
                let lane = self.lane_for_promoted(value, k, var);
                self.store_promoted(inst, var, &lane);
            }
            return;
        }
        let item = Item::of(ty);
        let lanes: Vec<Lane> = match ty {
            Type::Ptr(_) => vec![self.stored_pointer(pointer, value)],
            _ => (0..item.count).map(|k| self.kept_lane(value, k)).collect(),
        };
        if self.plan.facts.function.pointer_space(pointer) == Space::Thread {
            self.remark_private(inst, RemarkId::StorePrivate, pointer);
            self.store_private(inst, pointer, 0, item, &lanes);
        } else {
            self.store_shared(inst, pointer, 0, item, &lanes);
        }
    }

    /// A component in a form that needs no recomputing.
    pub(in crate::cpu::emit) fn kept_lane(&mut self, value: Value, k: usize) -> Lane {
        match self.lane(value, k) {
            Lane::Affine { shape, .. } if shape.is_assumed() => Lane::Varying(self.vector(value, k)),
            lane => lane,
        }
    }

    pub(in crate::cpu::emit) fn store_shared(
        &mut self,
        inst: Inst,
        pointer: Value,
        extra: i64,
        item: Item,
        lanes: &[Lane],
    ) {
        let site = self.site(inst, pointer, AccessKind::Store, item.bytes() as u32);
        if self.is_scattered(pointer) {
            // One allocation's lanes are written before the next one's are checked.
            self.position.bail = None;
            self.remark_waterfall(inst, RemarkId::StoreWaterfall, pointer);
            let codes = self.vector(pointer, 0);
            let nothing = Item { scalar: item.scalar, count: 0 };
            self.waterfall(&codes, Decoder::Stores, nothing, |this, address| {
                let address = Address { extra, site, ..address };
                let strategy = this.store_strategy(&address, item);
                this.store_by(&address, item, lanes, &strategy);
                Vec::new()
            });
            return;
        }
        let mut address = self.address(pointer, site, AccessKind::Store);
        address.extra = extra;
        let strategy = match self.plan.strategy(inst) {
            Some(planned) => planned.clone(),
            None => self.store_strategy(&address, item),
        };
        self.remark_access(inst, AccessKind::Store, (&address, item), &strategy);
        self.store_by(&address, item, lanes, &strategy);
    }

    /// Stores to one allocation.
    fn store_by(&mut self, address: &Address, item: Item, lanes: &[Lane], strategy: &Strategy) {
        assert_eq!(lanes.len(), item.count, "a store has one value per component");
        match strategy {
            Strategy::Uniform => self.store_uniform(address, item, lanes),
            Strategy::Runs(runs) => self.store_runs(address, item, lanes, runs),
            Strategy::Pieces(pieces) => self.store_pieces(address, item, lanes, pieces),
            Strategy::Varying => self.store_scatter(address, item, lanes),
            Strategy::Span { .. } | Strategy::Lanes => unreachable!("{strategy:?} is of loads"),
        }
    }

    /// The strategy of an address that is in no plan: of a piece of a copy, or of one allocation of several.
    fn store_strategy(&self, address: &Address, item: Item) -> Strategy {
        let may_split = self.has(Feature::StorePieces);
        of_store(address.offset.affine(), item, &self.shared.options.features, may_split)
    }

    /// All lanes store to one place: the last active one remains.
    fn store_uniform(&mut self, address: &Address, item: Item, lanes: &[Lane]) {
        let offset = address.offset.at(&mut self.t, I64, 0);
        let start = self.t.add(&offset, address.extra);
        let mut ok = self.test_once(address, item.bytes(), Test::AllInBounds, |this| {
            this.one_in_bounds(address, &start, item.bytes())
        });
        if self.bail_unless(&ok) {
            ok = Opd::bool(true);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        if !ok.is_true() {
            self.t.label(slow);
            self.go_on_if_before(address, &start, item.bytes(), fast);
            self.report(address, &start);
            self.t.branch(join);
        }
        self.t.label(fast);
        let base = self.t.offset(&address.place.base, &start);
        let metadata = self.store_metadata(&address.place);
        let element = scalar_type(item.scalar);
        for (k, lane) in lanes.iter().enumerate() {
            let value = match lane {
                Lane::Affine { shape, .. } if shape.is_uniform() => lane.at(&mut self.t, element, 0),
                lane => {
                    let all = lane.vector(&mut self.t, element);
                    let last = self.last_lane();
                    self.t.extract(&all, &last)
                }
            };
            let value = self.to_memory(Width::One, item, value);
            let at = self.t.offset(&base, i64::from(item.scalar.size()) * k as i64);
            self.t.store(&value, &at, MemFlags::with(1, metadata));
        }
        self.t.label(join);
    }

    /// The values as vectors of the type in memory.
    pub(in crate::cpu::emit) fn stored_vectors(&mut self, item: Item, lanes: &[Lane]) -> Vec<Opd> {
        let element = scalar_type(item.scalar);
        lanes
            .iter()
            .map(|lane| {
                let vector = lane.vector(&mut self.t, element);
                match item.scalar {
                    Scalar::Bool => self.t.zext(&vector, I8.lanes()),
                    _ => vector,
                }
            })
            .collect()
    }

    fn store_runs(&mut self, address: &Address, item: Item, lanes: &[Lane], runs: &[Run]) {
        let Lane::Affine { bases, shape, .. } = address.offset.clone() else {
            unreachable!("stores are planned by the form of an affine offset")
        };
        assert_eq!(bases.len(), shape.segments, "an affine offset has one base per segment");
        let test = self.test_of_stores(&address.place);
        let mut ok = self.test_once(address, item.bytes(), test, |this| {
            this.all_in_bounds(address, &shape, &bases, item.bytes(), test)
        });
        if self.bail_unless(&ok) {
            ok = Opd::bool(true);
        }
        let values = self.stored_vectors(item, lanes);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        match self.position.mask.clone() {
            Mask::All => self.write_runs(address, item, &values, &bases, &shape, runs, None),
            Mask::Some(mask) => {
                let (plain, masked, done) = (self.t.block(), self.t.block(), self.t.block());
                let all = self.all(&Mask::Some(mask.clone()));
                self.t.branch_if(&all, plain, masked);
                self.t.label(plain);
                self.write_runs(address, item, &values, &bases, &shape, runs, None);
                self.t.branch(done);
                self.t.label(masked);
                self.write_runs(address, item, &values, &bases, &shape, runs, Some(&mask));
                self.t.label(done);
            }
        }
        if !ok.is_true() {
            self.t.branch(join);
            self.t.label(slow);
            if shape.is_assumed() {
                self.aside(|this| this.store_scatter(address, item, lanes));
            } else {
                self.store_slowly(address, item, &values);
            }
        }
        self.t.label(join);
    }

    #[allow(clippy::too_many_arguments, reason = "one step of `store_runs`, split for length")]
    fn write_runs(
        &mut self,
        address: &Address,
        item: Item,
        values: &[Opd],
        bases: &[Opd],
        shape: &Affine,
        runs: &[Run],
        mask: Option<&Opd>,
    ) {
        let element = item.memory_type();
        let metadata = self.store_metadata(&address.place);
        let kept = if mask.is_none() { self.kept_in_caches(address) } else { None };
        assert_eq!(runs.iter().map(|run| run.lanes).sum::<usize>(), LANES, "the runs cover all lanes");
        assert_eq!(values.len(), item.count, "a store has one vector per component");
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add(&bases[run.segment], offset);
            let at = self.t.offset(&address.place.base, &start);
            let whole = match self.cached_interleaved(values, item, run) {
                Some(whole) => whole,
                None => self.interleaved(element, values, run),
            };
            let Some(mask) = mask else {
                let bytes = item.bytes() * run.lanes as i64;
                match &kept {
                    Some(kept) => self.store_nontemporal(kept, &whole, &at, bytes, metadata),
                    None => self.t.store(&whole, &at, MemFlags::with(1, metadata)),
                }
                continue;
            };
            let lanes: Vec<usize> = (run.lane..run.lane + run.lanes).collect();
            self.store_active(&address.place, item, &whole, &at, mask, &lanes);
        }
    }
}
