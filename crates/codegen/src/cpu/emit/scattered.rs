//! Accesses whose places only the run shows: gathers and scatters.
//!
//! Programs compute indices in ways no analysis follows (clamped, masked, from tables), and yet most of
//! the time neighbouring lanes access neighbouring places. So a run-time test comes first: if all lanes are
//! on and side by side, one vector access does.

use super::lane::{Lane, Width};
use super::memory::{Address, Item};
use super::out_of_line::Helper;
use super::place::Place;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{BlockName, LANES, MASK, Opd, lanes_type, mangle};

/// So many vectors are loaded lane by lane before [`Emitter::split_loads`] ends a bunch.
const MOST_TOGETHER: u32 = 4;

impl Emitter<'_, '_> {
    /// Whether all lanes are on and each accesses the place right behind the lane before.
    pub(super) fn side_by_side(&mut self, offsets: &Opd, item: Item) -> Opd {
        let first = self.t.value(format_args!("extractelement <32 x i64> {offsets}, i64 0"));
        let base = self.t.splat("i64", &first);
        let steps: Vec<String> =
            (0..LANES as i64).map(|lane| format!("i64 {}", lane * item.bytes())).collect();
        let ramp = self.t.value(format_args!("add <32 x i64> {base}, <{}>", steps.join(", ")));
        let same = Mask::Some(self.t.value(format_args!("icmp eq <32 x i64> {offsets}, {ramp}")));
        let same = self.mask_bits(&same);
        let mask = self.mask.clone();
        let on = self.mask_bits(&mask);
        let both = self.t.value(format_args!("and i32 {same}, {on}"));
        self.t.icmp("eq", "i32", &both, &Opd::Int(-1))
    }

    pub(super) fn load_gather(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        self.load_apart(address, item, false)
    }

    /// As [`Self::load_gather`], for where lanes side by side have a path of their own.
    pub(super) fn load_rare_gather(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        self.load_apart(address, item, true)
    }

    fn load_apart(&mut self, address: &Address, item: Item, rare: bool) -> Vec<Lane> {
        let offsets = self.offsets_with_extra(address);
        let (ok, _) = self.lanes_in_bounds(address, &offsets, item.bytes());
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let safe = self.active_or_zero(&offsets);
        let loaded = match item.count {
            count if rare => (0..count).map(|k| self.gather(&address.place, &safe, item, k, true)).collect(),
            1 => vec![self.adjacent_or_gathered(&address.place, &safe, item)],
            count => (0..count).map(|k| self.gather(&address.place, &safe, item, k, false)).collect(),
        };
        let from = self.t.current();
        if ok.is_text("true") {
            return loaded.into_iter().map(Lane::Varying).collect();
        }
        self.t.branch(join);
        self.t.label(slow);
        let careful = self.load_slowly(address, item);
        let slow_from = self.t.current();
        self.t.label(join);
        let ty = Width::All.ty(item.scalar);
        let merge = |(x, y): (&Opd, &Opd)| Lane::Varying(self.t.phi(&ty, &[(x, from), (y, slow_from)]));
        loaded.iter().zip(&careful).map(merge).collect()
    }

    /// The offsets with which all lanes may load: those that are off load from the start. Some lane is on
    /// and in bounds, so that exists.
    pub(super) fn active_or_zero(&mut self, offsets: &Opd) -> Opd {
        match self.mask.clone() {
            Mask::All => offsets.clone(),
            Mask::Some(mask) => self.t.value(format_args!(
                "select {MASK} {mask}, <32 x i64> {offsets}, <32 x i64> zeroinitializer"
            )),
        }
    }

    fn gather(&mut self, place: &Place, offsets: &Opd, item: Item, k: usize, rare: bool) -> Opd {
        let bits = item.bits();
        let at = self.t.offset(&place.base, &Opd::Int(i64::from(item.scalar.size()) * k as i64));
        let name = if rare { "rare_gather" } else { "gather" };
        self.need(if rare { Helper::RareGather(bits) } else { Helper::Gather(bits) });
        if !rare {
            self.split_loads();
        }
        let raw = self
            .t
            .value(format_args!("call <32 x i{bits}> @am.{name}.{bits}(ptr {at}, <32 x i64> {offsets})"));
        let raw =
            super::cast::reinterpret(&mut self.t, Width::All, &format!("i{bits}"), item.memory_type(), &raw);
        self.from_memory(Width::All, item, raw)
    }

    /// Called before each load that is one per lane: divides a block that has very many of them.
    ///
    /// Loads with no store between them form one bunch for LLVM's instruction selection, which looks through the
    /// bunch for each of them, again and again: 2000 took 10 s. Assembly that is empty and touches no memory that
    /// code can reach ends a bunch, and is no obstacle to moving loads before that.
    pub(super) fn split_loads(&mut self) {
        let block = self.t.current();
        let before = if self.lane_loads.0 == block { self.lane_loads.1 } else { 0 };
        self.lane_loads = (block, before + 1);
        if before > 0 && before.is_multiple_of(MOST_TOGETHER) {
            self.t.line(format_args!(
                "call void asm sideeffect \"\", \"\"() memory(inaccessiblemem: readwrite) nounwind willreturn"
            ));
        }
    }

    /// One vector load where the lanes turn out to be side by side.
    fn adjacent_or_gathered(&mut self, place: &Place, offsets: &Opd, item: Item) -> Opd {
        let adjacent = self.side_by_side(offsets, item);
        let (together, apart, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&adjacent, together, apart);
        self.t.label(together);
        let start = self.t.value(format_args!("extractelement <32 x i64> {offsets}, i64 0"));
        let at = self.t.offset(&place.base, &start);
        let ty = lanes_type(item.memory_type());
        let metadata = self.metadata(place);
        let raw = self.t.value(format_args!("load {ty}, ptr {at}, align 1{metadata}"));
        let whole = self.from_memory(Width::All, item, raw);
        let together_from = self.t.current();
        self.t.branch(join);
        self.t.label(apart);
        let gathered = self.gather(place, offsets, item, 0, false);
        let apart_from = self.t.current();
        self.t.branch(join);
        self.t.label(join);
        let ty = Width::All.ty(item.scalar);
        self.t.phi(&ty, &[(&whole, together_from), (&gathered, apart_from)])
    }

    pub(super) fn store_scatter(&mut self, address: &Address, item: Item, lanes: &[Lane]) {
        let values = self.stored_vectors(item, lanes);
        let direct = self.shared.options.features.avx512 && item.bits() >= 32;
        if !direct {
            return self.store_slowly(address, item, &values);
        }
        let offsets = self.offsets_with_extra(address);
        let (ok, _) = self.lanes_in_bounds(address, &offsets, item.bytes());
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let scattered = self.adjacent_store(address, item, &values, &offsets);
        let mask = self.mask.operand();
        let ty = lanes_type(item.memory_type());
        let suffix = mangle(&ty);
        self.t.declare(format!(
            "declare void @llvm.masked.scatter.{suffix}.v32p0({ty}, <32 x ptr>, i32, {MASK})"
        ));
        for (k, value) in values.iter().enumerate() {
            let element = Opd::Int(i64::from(item.scalar.size()) * k as i64);
            let base = self.t.offset(&address.place.base, &element);
            let places = self.t.value(format_args!("getelementptr i8, ptr {base}, <32 x i64> {offsets}"));
            self.t.line(format_args!(
                "call void @llvm.masked.scatter.{suffix}.v32p0({ty} {value}, <32 x ptr> {places}, i32 1, {MASK} {mask})"
            ));
        }
        if let Some(stored) = scattered {
            self.t.branch(stored);
            self.t.label(stored);
        }
        if !ok.is_text("true") {
            self.t.branch(join);
            self.t.label(slow);
            self.store_slowly(address, item, &values);
        }
        self.t.label(join);
    }

    /// One vector store where the lanes turn out to be side by side. The current block is then the one
    /// for lanes apart; both go on at the block returned.
    fn adjacent_store(
        &mut self,
        address: &Address,
        item: Item,
        values: &[Opd],
        offsets: &Opd,
    ) -> Option<BlockName> {
        let [value] = values else { return None };
        let adjacent = self.side_by_side(offsets, item);
        let (together, apart, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&adjacent, together, apart);
        self.t.label(together);
        let start = self.t.value(format_args!("extractelement <32 x i64> {offsets}, i64 0"));
        let at = self.t.offset(&address.place.base, &start);
        let ty = lanes_type(item.memory_type());
        let metadata = self.store_metadata(&address.place);
        self.t.line(format_args!("store {ty} {value}, ptr {at}, align 1{metadata}"));
        self.t.branch(join);
        self.t.label(apart);
        Some(join)
    }
}
