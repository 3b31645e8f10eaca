//! Loads and stores of memory that lanes share, and of cells.
//!
//! Fast path: one scalar bounds check per base, then plain vector accesses, whatever the mask when
//! loading. Slow path, out of line: lane by lane under the mask. Plain accesses claim no alignment:
//! it costs nothing, and a wrong pointer must not trap.

use anymetal_ir::{Inst, Scalar, Space, Type, Value};

use super::access::{Plan, Run, extent_of_segment, plan};
use super::lane::{Lane, Width};
use super::out_of_line::{Helper, RECORD_BYTES};
use super::place::Place;
use super::{Emitter, Mask, zero_of};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, mangle, scalar_type};
use crate::cpu::options::AccessKind;
use crate::cpu::shape::Lanes;
use crate::cpu::shape::flow::ptr_space;
use crate::cpu::storage::Root;

/// Where an access goes.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The allocation.
    pub(super) place: Place,
    /// Offset in it.
    pub(super) offset: Lane,
    /// The pointer value whose offset this is, for lane by lane access.
    pub(super) value: Option<Value>,
    /// Constant bytes to add.
    pub(super) extra: i64,
    /// The fault site.
    pub(super) site: u32,
}

/// Memory of the version for its slow paths.
#[derive(Clone, Debug)]
pub(super) struct SlowBuffers {
    /// The lanes' offsets.
    offsets: Opd,
    /// The lanes' values.
    pub(super) values: Opd,
    /// The first fault.
    pub(super) record: Opd,
}

/// The lanes' offsets as a slow path takes them.
#[derive(Clone, Debug)]
pub(super) enum SlowOffsets {
    /// A vector.
    All(Opd),
    /// The first lane's, and how far the others are apart.
    Steps {
        /// The first lane's.
        start: Opd,
        /// From lane to lane.
        step: i64,
    },
}

/// What each lane accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Item {
    /// Elements of this type; encoded pointers are `I64`.
    pub(super) scalar: Scalar,
    /// How many.
    pub(super) count: usize,
}

impl Item {
    /// The item of an IR type.
    pub(super) fn of(ty: Type) -> Self {
        Self { scalar: ty.scalar().unwrap_or(Scalar::I64), count: usize::from(ty.lanes()) }
    }

    pub(super) fn bytes(self) -> i64 {
        i64::from(self.scalar.size()) * self.count as i64
    }

    /// The LLVM type in memory.
    pub(super) fn memory_type(self) -> &'static str {
        if self.scalar == Scalar::Bool { "i8" } else { scalar_type(self.scalar) }
    }

    /// The integer type of the same size.
    pub(super) fn bits(self) -> u32 {
        self.scalar.size() * 8
    }
}

impl Emitter<'_, '_> {
    /// The address that a pointer of known root, or a uniform encoded one, means.
    pub(super) fn address(&mut self, pointer: Value, site: u32) -> Address {
        let root = self.facts.storage.pointer(pointer).root;
        if root == Root::Many {
            let code = self.uniform(pointer, 0);
            let (place, offset) = self.decode(&code);
            return Address { place, offset: Lane::uniform(offset), value: None, extra: 0, site };
        }
        let place = self.place(root);
        Address { place, offset: self.lane(pointer, 0), value: Some(pointer), extra: 0, site }
    }

    /// Whether the pointer's allocation can differ between lanes.
    pub(super) fn is_scattered(&self, pointer: Value) -> bool {
        self.facts.storage.pointer(pointer).root == Root::Many && !self.shape(pointer, 0).is_uniform()
    }

    pub(super) fn load(&mut self, inst: Inst, pointer: Value, result: Value, _align: u32) {
        let ty = self.facts.function.ty(result);
        let size = i64::from(ty.size());
        if self.omit_load(result) || self.bundled.remove(&result) {
            return;
        }
        if let Some(cells) = self.facts.storage.cells_at(pointer, size) {
            if self.load_home(&cells, result) {
                return;
            }
            let lanes = cells.enumerate().map(|(k, cell)| self.load_cell_as(cell, result, k)).collect();
            return self.define(result, lanes);
        }
        if self.load_bundle(inst, pointer) {
            return;
        }
        let item = Item::of(ty);
        let mut lanes = if ptr_space(self.facts.function, pointer) == Space::Thread {
            self.load_private(inst, pointer, 0, item)
        } else {
            self.load_shared(inst, pointer, 0, item)
        };
        if let (Type::Ptr(_), [code]) = (ty, lanes.as_slice()) {
            // Memory holds codes.
            lanes = vec![self.decode_lane(self.facts.storage.pointer(result).root, code)];
        }
        self.define(result, lanes);
    }

    pub(super) fn store(&mut self, inst: Inst, pointer: Value, value: Value, _align: u32) {
        let ty = self.facts.function.ty(value);
        let size = i64::from(ty.size());
        if let Some(cells) = self.facts.storage.cells_at(pointer, size) {
            if self.store_home(inst, &cells, value) {
                return;
            }
            for (k, cell) in cells.enumerate() {
                let lane = self.lane_for_cell(value, k, cell);
                self.store_cell(inst, cell, &lane);
            }
            return;
        }
        let item = Item::of(ty);
        let lanes: Vec<Lane> = match ty {
            Type::Ptr(_) => vec![match self.encoded(value) {
                Lane::Laned { shape, .. } if shape.conditional => Lane::Varying(self.encoded_vector(value)),
                lane => lane,
            }],
            _ => (0..item.count).map(|k| self.kept_lane(value, k)).collect(),
        };
        if ptr_space(self.facts.function, pointer) == Space::Thread {
            self.store_private(inst, pointer, 0, item, &lanes);
        } else {
            self.store_shared(inst, pointer, 0, item, &lanes);
        }
    }

    /// A component in a form that needs no recomputing.
    pub(super) fn kept_lane(&mut self, value: Value, k: usize) -> Lane {
        match self.lane(value, k) {
            Lane::Laned { shape, .. } if shape.conditional => Lane::Varying(self.vector(value, k)),
            lane => lane,
        }
    }

    // --- loads of shared memory

    pub(super) fn load_shared(&mut self, inst: Inst, pointer: Value, extra: i64, item: Item) -> Vec<Lane> {
        let site = self.site(inst, pointer, AccessKind::Load, item.bytes() as u32);
        if self.is_scattered(pointer) {
            let codes = self.vector(pointer, 0);
            return self.waterfall(&codes, false, item, |this, address| {
                let address = Address { extra, site, ..address };
                this.load_address(&address, item)
            });
        }
        let mut address = self.address(pointer, site);
        address.extra = extra;
        self.load_address(&address, item)
    }

    /// Loads from one allocation.
    pub(super) fn load_address(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        let Lane::Laned { shape, .. } = &address.offset else { return self.load_gather(address, item) };
        match plan(shape, i64::from(item.scalar.size()), item.count as i64) {
            Plan::Uniform if !shape.conditional => self.load_uniform(address, item),
            Plan::Uniform | Plan::Gather => self.load_gather(address, item),
            plan => self.load_planned(address, item, &plan),
        }
    }

    /// From the type in memory to the type of values.
    pub(super) fn from_memory(&mut self, width: Width, item: Item, raw: Opd) -> Opd {
        if item.scalar != Scalar::Bool {
            return raw;
        }
        self.t.value(format_args!("icmp ne {} {raw}, {}", width.of("i8"), width.int("i8", 0)))
    }

    fn to_memory(&mut self, width: Width, item: Item, value: Opd) -> Opd {
        if item.scalar != Scalar::Bool {
            return value;
        }
        if value.is_text("true") || value.is_text("false") {
            return Opd::Int(i64::from(value.is_text("true")));
        }
        self.t.value(format_args!("zext {} {value} to {}", width.of("i1"), width.of("i8")))
    }

    fn load_uniform(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        let offset = address.offset.at(&mut self.t, "i64", 0);
        let start = self.t.add("i64", &offset, &Opd::Int(address.extra));
        let ok = self.one_in_bounds(address, &start, item.bytes());
        if ok.is_text("false") {
            self.report(address, &start);
            return vec![Lane::uniform(zero_of(item.scalar)); item.count];
        }
        if ok.is_text("true") {
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
        self.report(address, &start);
        let slow_from = self.t.current();
        self.t.label(join);
        let base = self.t.phi("ptr", &[(&inside, from), (&Opd::text("@am.zeros"), slow_from)]);
        self.load_elements_at(&base, &address.place, item)
    }

    /// In a loop that can give up: gives up unless the condition holds.
    pub(super) fn bail_unless(&mut self, ok: &Opd) -> bool {
        let Some(bail) = self.bail else { return false };
        let go = self.t.block();
        self.t.branch_likely(ok, go, bail);
        self.t.label(go);
        true
    }

    fn load_elements(&mut self, place: &Place, start: &Opd, item: Item) -> Vec<Lane> {
        let base = self.t.offset(&place.base, start);
        self.load_elements_at(&base, place, item)
    }

    fn load_elements_at(&mut self, base: &Opd, place: &Place, item: Item) -> Vec<Lane> {
        let metadata = self.metadata(place);
        (0..item.count)
            .map(|k| {
                let at = self.t.offset(base, &Opd::Int(i64::from(item.scalar.size()) * k as i64));
                let raw =
                    self.t.value(format_args!("load {}, ptr {at}, align 1{metadata}", item.memory_type()));
                Lane::uniform(self.from_memory(Width::One, item, raw))
            })
            .collect()
    }

    /// What LLVM may know about an access: constant memory does not change during a dispatch, and
    /// threadgroup memory is nobody's buffer.
    pub(super) fn metadata(&self, place: &Place) -> &'static str {
        match place.root {
            Root::Argument(index) => match self.shared.kernel.args[index].space {
                Space::Constant => ", !invariant.load !1, !alias.scope !4, !noalias !5",
                Space::Threadgroup => ", !alias.scope !5, !noalias !4",
                Space::Device | Space::Thread => ", !alias.scope !4, !noalias !5",
            },
            Root::Global(_) => ", !invariant.load !1",
            Root::Threadgroup(_) => ", !alias.scope !5, !noalias !4",
            _ => "",
        }
    }

    pub(super) fn store_metadata(&self, place: &Place) -> &'static str {
        match place.root {
            Root::Argument(index) if self.shared.kernel.args[index].space == Space::Threadgroup => {
                ", !alias.scope !5, !noalias !4"
            }
            Root::Argument(_) => ", !alias.scope !4, !noalias !5",
            Root::Threadgroup(_) => ", !alias.scope !5, !noalias !4",
            _ => "",
        }
    }

    /// The scalar condition under which all lanes may be accessed with plain vectors.
    pub(super) fn all_in_bounds(
        &mut self,
        address: &Address,
        shape: &Lanes,
        bases: &[Opd],
        access: i64,
    ) -> Opd {
        let mut ok = match &address.offset {
            Lane::Laned { no_wrap: Some(condition), .. } => condition.clone(),
            _ => Opd::bool(true),
        };
        // Where the laned form holds, its lanes are the pointer's.
        if self.is_inside(address, access) {
            return ok;
        }
        for (segment, base) in bases.iter().enumerate() {
            let (low, bytes) = extent_of_segment(shape, segment, access);
            let start = self.t.add("i64", base, &Opd::Int(low.wrapping_add(address.extra)));
            let inside = self.in_bounds(&address.place, &start, bytes);
            ok = self.t.and(&ok, &inside);
        }
        ok
    }

    fn load_planned(&mut self, address: &Address, item: Item, plan: &Plan) -> Vec<Lane> {
        let Lane::Laned { bases, shape, .. } = address.offset.clone() else { return Vec::new() };
        let mut ok = self.all_in_bounds(address, &shape, &bases, item.bytes());
        if !self.shared.options.checks && self.mask != Mask::All {
            // Unchecked, only the active lanes' places are known to be good.
            let mask = self.mask.clone();
            let all = self.all(&mask);
            ok = self.t.and(&ok, &all);
        }
        let fast_only = ok.is_text("true") || self.bail_unless(&ok);
        if fast_only {
            ok = Opd::bool(true);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let mut whole = Vec::new();
        let loaded = match plan {
            Plan::Span { low, picks, elements } => {
                self.load_span(address, &bases[0], *low, picks, *elements, item)
            }
            Plan::Runs(runs) => {
                let loaded = self.load_runs(address, &bases, &shape, runs, item, &mut whole);
                self.keep_together(&loaded, item, &whole);
                loaded
            }
            _ => Vec::new(),
        };
        let from = self.t.current();
        if fast_only {
            return loaded.into_iter().map(Lane::Varying).collect();
        }
        self.t.branch(join);
        self.t.label(slow);
        let careful = match plan {
            // Where a laned form does not hold the runs are elsewhere, and the lanes may well be in bounds.
            _ if shape.conditional => {
                let element = scalar_type(item.scalar);
                let lanes = self.load_rare_gather(address, item);
                lanes.iter().map(|lane| lane.vector(&mut self.t, element)).collect()
            }
            Plan::Runs(runs) if !self.shared.options.checks && runs.iter().all(|run| !run.same) => {
                self.load_masked_runs(address, &bases, &shape, runs, item)
            }
            _ => self.load_slowly(address, item),
        };
        let whole_careful: Vec<Opd> = match plan {
            Plan::Runs(runs) if !whole.is_empty() => {
                runs.iter().map(|run| self.interleaved(item.memory_type(), &careful, run)).collect()
            }
            _ => Vec::new(),
        };
        let slow_from = self.t.current();
        self.t.label(join);
        let ty = Width::All.ty(item.scalar);
        let merge = |(x, y): (&Opd, &Opd)| self.t.phi(&ty, &[(x, from), (y, slow_from)]);
        let merged: Vec<Opd> = loaded.iter().zip(&careful).map(merge).collect();
        let ty = Width::Few(LANES * item.count / whole.len().max(1)).ty(item.scalar);
        let merge = |(x, y): (&Opd, &Opd)| self.t.phi(&ty, &[(x, from), (y, slow_from)]);
        let whole: Vec<Opd> = whole.iter().zip(&whole_careful).map(merge).collect();
        self.keep_together(&merged, item, &whole);
        merged.into_iter().map(Lane::Varying).collect()
    }

    /// Plain runs under the mask, where only active lanes' places may be touched.
    fn load_masked_runs(
        &mut self,
        address: &Address,
        bases: &[Opd],
        shape: &Lanes,
        runs: &[Run],
        item: Item,
    ) -> Vec<Opd> {
        let element = item.memory_type();
        let mask = self.mask.operand();
        let poison = Opd::text("poison");
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); item.count];
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add("i64", &bases[run.segment], &Opd::Int(offset));
            let at = self.t.offset(&address.place.base, &start);
            let total = run.lanes * item.count;
            let ty = format!("<{total} x {element}>");
            let picks: Vec<_> = (0..total).map(|n| Some(run.lane + n / item.count)).collect();
            let lanes = if total == LANES {
                mask.clone()
            } else {
                self.t.shuffle("i1", LANES, &mask, &poison, &picks)
            };
            let suffix = mangle(&ty);
            self.t.declare(format!(
                "declare {ty} @llvm.masked.load.{suffix}.p0(ptr, i32, <{total} x i1>, {ty})"
            ));
            let all = self.t.value(format_args!(
                "call {ty} @llvm.masked.load.{suffix}.p0(ptr {at}, i32 1, <{total} x i1> {lanes}, {ty} zeroinitializer)"
            ));
            for (k, part) in parts.iter_mut().enumerate() {
                let picks: Vec<_> = (0..run.lanes).map(|lane| Some(lane * item.count + k)).collect();
                part.push(match item.count {
                    1 => all.clone(),
                    _ => self.t.shuffle(element, total, &all, &poison, &picks),
                });
            }
        }
        let lanes = runs[0].lanes;
        parts
            .into_iter()
            .map(|part| {
                let whole = self.t.concat(element, lanes, part);
                self.from_memory(Width::All, item, whole)
            })
            .collect()
    }

    pub(super) fn load_runs(
        &mut self,
        address: &Address,
        bases: &[Opd],
        shape: &Lanes,
        runs: &[Run],
        item: Item,
        whole: &mut Vec<Opd>,
    ) -> Vec<Opd> {
        let element = item.memory_type();
        let metadata = self.metadata(&address.place);
        let is_kept = item.scalar != Scalar::Bool && item.count > 1 && runs.iter().all(|run| !run.same);
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); item.count];
        let mut pieces = Vec::new();
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add("i64", &bases[run.segment], &Opd::Int(offset));
            let at = self.t.offset(&address.place.base, &start);
            let bytes = if run.same { item.bytes() } else { item.bytes() * run.lanes as i64 };
            pieces.push((start, bytes));
            if run.same {
                for (k, part) in parts.iter_mut().enumerate() {
                    let at = self.t.offset(&at, &Opd::Int(i64::from(item.scalar.size()) * k as i64));
                    let one = self.t.value(format_args!("load {element}, ptr {at}, align 1{metadata}"));
                    part.push(self.t.splat_to(run.lanes, element, &one));
                }
                continue;
            }
            let total = run.lanes * item.count;
            let all = self.t.value(format_args!("load <{total} x {element}>, ptr {at}, align 1{metadata}"));
            if item.count == 1 {
                parts[0].push(all);
                continue;
            }
            for (k, part) in parts.iter_mut().enumerate() {
                let picks: Vec<_> = (0..run.lanes).map(|lane| Some(lane * item.count + k)).collect();
                part.push(self.t.shuffle(element, total, &all, &Opd::text("poison"), &picks));
            }
            if is_kept {
                whole.push(all);
            }
        }
        self.prefetch_next(address, &pieces);
        let lanes = runs[0].lanes;
        parts
            .into_iter()
            .map(|part| {
                let whole = self.t.concat(element, lanes, part);
                self.from_memory(Width::All, item, whole)
            })
            .collect()
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
        let element = item.memory_type();
        let metadata = self.metadata(&address.place);
        let start = self.t.add("i64", base, &Opd::Int(low.wrapping_add(address.extra)));
        let at = self.t.offset(&address.place.base, &start);
        let all = self.t.value(format_args!("load <{elements} x {element}>, ptr {at}, align 1{metadata}"));
        (0..item.count)
            .map(|k| {
                let picks: Vec<_> = picks.iter().map(|&pick| Some(pick + k)).collect();
                let part = self.t.shuffle(element, elements, &all, &Opd::text("poison"), &picks);
                self.from_memory(Width::All, item, part)
            })
            .collect()
    }

    /// The offsets of all lanes, without the extra constant.
    fn offsets(&mut self, address: &Address) -> Opd {
        match (&address.offset, address.value) {
            (Lane::Laned { shape, .. }, Some(value)) if shape.conditional => self.recompute(value, 0),
            (offset, _) => offset.vector(&mut self.t, "i64"),
        }
    }

    pub(super) fn offsets_with_extra(&mut self, address: &Address) -> Opd {
        let offsets = self.offsets(address);
        match address.extra {
            0 => offsets,
            extra => self.t.value(format_args!("add <32 x i64> {offsets}, splat (i64 {extra})")),
        }
    }

    /// The offsets of all lanes for a slow path. Vectors of them cost LLVM much time for code that hardly
    /// ever runs, so equal steps are written out at run time.
    fn slow_offsets(&mut self, address: &Address) -> SlowOffsets {
        if let Lane::Laned { bases, shape, .. } = &address.offset
            && let ([base], false) = (bases.as_slice(), shape.conditional)
        {
            let step = shape.at(1).wrapping_sub(shape.at(0));
            let at = |lane: usize| shape.at(0).wrapping_add(step.wrapping_mul(lane as i64));
            if (0..LANES).all(|lane| shape.at(lane) == at(lane)) {
                let start = self.t.add("i64", base, &Opd::Int(shape.at(0).wrapping_add(address.extra)));
                return SlowOffsets::Steps { start, step };
            }
        }
        SlowOffsets::All(self.offsets_with_extra(address))
    }

    /// Calls a lane-by-lane helper on what lies in the buffer.
    pub(super) fn call_slow(
        &mut self,
        helper: &str,
        address: &Address,
        offsets: &SlowOffsets,
        bytes: i64,
        element: i64,
    ) {
        let len = if self.shared.options.checks { address.place.len.clone() } else { Opd::Int(i64::MAX) };
        let mask = self.mask.clone();
        let mask = self.mask_bits(&mask);
        let slow = self.slow_buffers();
        match offsets {
            SlowOffsets::All(offsets) => self.t.store("<32 x i64>", offsets, &slow.offsets, 64),
            SlowOffsets::Steps { start, step } => {
                self.need(Helper::Places);
                self.t.line(format_args!(
                    "call void @am.places(ptr {}, i64 {start}, i64 {step})",
                    slow.offsets
                ));
            }
        }
        self.t.line(format_args!(
            "call void @{helper}(ptr {}, ptr {}, ptr {}, i64 {len}, i64 {bytes}, i64 {element}, i32 {mask}, \
ptr {}, i32 {}, i32 {})",
            slow.values, slow.offsets, address.place.base, slow.record, address.site, self.first
        ));
    }

    /// The memory through which slow paths pass vectors, and the fault record.
    pub(super) fn slow_buffers(&mut self) -> SlowBuffers {
        if let Some(slow) = &self.slow {
            return slow.clone();
        }
        let offsets = self.t.alloca("[32 x i64]", 64);
        let values = self.t.alloca("[32 x i64]", 64);
        let record = self.t.alloca(&format!("[{RECORD_BYTES} x i8]"), 8);
        self.t.entry_line(format_args!("store i32 0, ptr {record}, align 8"));
        let slow = SlowBuffers { offsets, values, record };
        self.slow = Some(slow.clone());
        slow
    }

    /// Lane by lane under the mask, with checks and reports.
    pub(super) fn load_slowly(&mut self, address: &Address, item: Item) -> Vec<Opd> {
        let offsets = self.slow_offsets(address);
        let bits = item.bits();
        self.need(Helper::Load(bits));
        let ty = format!("<32 x i{bits}>");
        let from = format!("i{bits}");
        (0..item.count)
            .map(|k| {
                let element = i64::from(item.scalar.size()) * k as i64;
                let values = self.slow_buffers().values;
                self.t.store(&ty, &Opd::text("zeroinitializer"), &values, 64);
                self.call_slow(&format!("am.load.{bits}"), address, &offsets, item.bytes(), element);
                let raw = self.t.load(&ty, &values, 64);
                let raw = super::cast::reinterpret(&mut self.t, Width::All, &from, item.memory_type(), &raw);
                self.from_memory(Width::All, item, raw)
            })
            .collect()
    }

    /// Whether the bytes from `start` on are inside, where all lanes' address is that one.
    fn one_in_bounds(&mut self, address: &Address, start: &Opd, bytes: i64) -> Opd {
        if self.is_inside(address, bytes) {
            return Opd::bool(true);
        }
        self.in_bounds(&address.place, start, bytes)
    }

    /// Whether all active lanes are in bounds.
    pub(super) fn lanes_in_bounds(&mut self, address: &Address, offsets: &Opd, bytes: i64) -> (Opd, Opd) {
        if !self.shared.options.checks || self.is_inside(address, bytes) {
            return (Opd::bool(true), Opd::Int(0));
        }
        let limit = self.limit(&address.place, bytes);
        let limits = self.t.splat("i64", &limit);
        let outside = self.t.value(format_args!("icmp uge <32 x i64> {offsets}, {limits}"));
        let mask = self.mask.clone();
        let bad = self.both(&mask, &outside);
        let any = self.any(&Mask::Some(bad));
        (self.t.value(format_args!("xor i1 {any}, true")), limit)
    }

    /// Reports a fault of the first active lane at one offset.
    pub(super) fn report(&mut self, address: &Address, start: &Opd) {
        if !self.shared.options.checks {
            return;
        }
        self.need(Helper::Note);
        let lane = self.first_lane();
        let thread = self.t.add("i32", &self.first.clone(), &lane);
        let record = self.slow_buffers().record;
        self.t.line(format_args!(
            "call void @am.note(ptr {record}, i32 {}, i64 {start}, i64 {}, i32 {thread})",
            address.site, address.place.len
        ));
    }

    /// Makes sure that a helper is in the module.
    pub(super) fn need(&mut self, helper: Helper) {
        self.shared.helpers.insert(helper);
        if let Some(other) = helper.needs() {
            self.shared.helpers.insert(other);
        }
    }

    // --- stores to shared memory

    pub(super) fn store_shared(
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
            self.bail = None;
            let codes = self.vector(pointer, 0);
            let nothing = Item { scalar: item.scalar, count: 0 };
            self.waterfall(&codes, false, nothing, |this, address| {
                let address = Address { extra, site, ..address };
                this.store_address(&address, item, lanes);
                Vec::new()
            });
            return;
        }
        let mut address = self.address(pointer, site);
        address.extra = extra;
        self.store_address(&address, item, lanes);
    }

    /// Stores to one allocation.
    pub(super) fn store_address(&mut self, address: &Address, item: Item, lanes: &[Lane]) {
        let Lane::Laned { shape, .. } = &address.offset else {
            return self.store_scatter(address, item, lanes);
        };
        match plan(shape, i64::from(item.scalar.size()), item.count as i64) {
            Plan::Uniform if !shape.conditional => self.store_uniform(address, item, lanes),
            Plan::Runs(runs) if runs.iter().all(|run| !run.same) => {
                self.store_runs(address, item, lanes, &runs)
            }
            _ => self.store_scatter(address, item, lanes),
        }
    }

    /// All lanes store to one place: the last active one remains.
    fn store_uniform(&mut self, address: &Address, item: Item, lanes: &[Lane]) {
        let offset = address.offset.at(&mut self.t, "i64", 0);
        let start = self.t.add("i64", &offset, &Opd::Int(address.extra));
        let mut ok = self.one_in_bounds(address, &start, item.bytes());
        if self.bail_unless(&ok) {
            ok = Opd::bool(true);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        if !ok.is_text("true") {
            self.t.label(slow);
            self.report(address, &start);
            self.t.branch(join);
        }
        self.t.label(fast);
        let base = self.t.offset(&address.place.base, &start);
        let metadata = self.store_metadata(&address.place);
        let element = scalar_type(item.scalar);
        for (k, lane) in lanes.iter().enumerate() {
            let value = match lane {
                Lane::Laned { shape, .. } if shape.is_uniform() => lane.at(&mut self.t, element, 0),
                lane => {
                    let all = lane.vector(&mut self.t, element);
                    let last = self.last_lane();
                    let ty = lanes_type(element);
                    self.t.value(format_args!("extractelement {ty} {all}, i32 {last}"))
                }
            };
            let value = self.to_memory(Width::One, item, value);
            let at = self.t.offset(&base, &Opd::Int(i64::from(item.scalar.size()) * k as i64));
            self.t.line(format_args!("store {} {value}, ptr {at}, align 1{metadata}", item.memory_type()));
        }
        self.t.label(join);
    }

    /// The values as vectors of the type in memory.
    pub(super) fn stored_vectors(&mut self, item: Item, lanes: &[Lane]) -> Vec<Opd> {
        let element = scalar_type(item.scalar);
        lanes
            .iter()
            .map(|lane| {
                let vector = lane.vector(&mut self.t, element);
                match item.scalar {
                    Scalar::Bool => self.t.value(format_args!("zext {MASK} {vector} to <32 x i8>")),
                    _ => vector,
                }
            })
            .collect()
    }

    fn store_runs(&mut self, address: &Address, item: Item, lanes: &[Lane], runs: &[Run]) {
        let Lane::Laned { bases, shape, .. } = address.offset.clone() else { return };
        let mut ok = self.all_in_bounds(address, &shape, &bases, item.bytes());
        if self.bail_unless(&ok) {
            ok = Opd::bool(true);
        }
        let values = self.stored_vectors(item, lanes);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        match self.mask.clone() {
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
        if !ok.is_text("true") {
            self.t.branch(join);
            self.t.label(slow);
            if shape.conditional {
                self.store_scatter(address, item, lanes);
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
        shape: &Lanes,
        runs: &[Run],
        mask: Option<&Opd>,
    ) {
        let element = item.memory_type();
        let metadata = self.store_metadata(&address.place);
        for run in runs {
            let offset = shape.at(run.lane).wrapping_add(address.extra);
            let start = self.t.add("i64", &bases[run.segment], &Opd::Int(offset));
            let at = self.t.offset(&address.place.base, &start);
            let whole = match self.loaded_together(values, item, run) {
                Some(whole) => whole,
                None => self.interleaved(element, values, run),
            };
            let total = run.lanes * item.count;
            let ty = format!("<{total} x {element}>");
            let Some(mask) = mask else {
                self.t.line(format_args!("store {ty} {whole}, ptr {at}, align 1{metadata}"));
                continue;
            };
            let mask = if total == LANES {
                mask.clone()
            } else {
                let picks: Vec<_> = (0..total).map(|n| Some(run.lane + n / item.count)).collect();
                self.t.shuffle("i1", LANES, mask, &Opd::text("poison"), &picks)
            };
            let suffix = mangle(&ty);
            self.t.declare(format!(
                "declare void @llvm.masked.store.{suffix}.p0({ty}, ptr, i32, <{total} x i1>)"
            ));
            self.t.line(format_args!(
                "call void @llvm.masked.store.{suffix}.p0({ty} {whole}, ptr {at}, i32 1, <{total} x i1> {mask}){metadata}"
            ));
        }
    }

    pub(super) fn store_slowly(&mut self, address: &Address, item: Item, values: &[Opd]) {
        let offsets = self.slow_offsets(address);
        let bits = item.bits();
        self.need(Helper::Store(bits));
        for (k, value) in values.iter().enumerate() {
            let element = i64::from(item.scalar.size()) * k as i64;
            let int = format!("i{bits}");
            let raw = super::cast::reinterpret(&mut self.t, Width::All, item.memory_type(), &int, value);
            let buffer = self.slow_buffers().values;
            self.t.store(&lanes_type(&int), &raw, &buffer, 64);
            self.call_slow(&format!("am.store.{bits}"), address, &offsets, item.bytes(), element);
        }
    }

    // --- pointers whose allocation differs between lanes

    /// Runs `access` once per allocation that active lanes point to, with only those lanes on.
    pub(super) fn waterfall(
        &mut self,
        codes: &Opd,
        private: bool,
        item: Item,
        mut access: impl FnMut(&mut Self, Address) -> Vec<Lane>,
    ) -> Vec<Lane> {
        let element = scalar_type(item.scalar);
        let ty = lanes_type(element);
        let results: Vec<Opd> = (0..item.count).map(|_| self.t.alloca(&ty, 64)).collect();
        for result in &results {
            self.t.store(&ty, &Opd::text("zeroinitializer"), result, 64);
        }
        let left_slot = self.t.alloca(MASK, 8);
        let outer = self.mask.clone();
        self.t.store(MASK, &outer.operand(), &left_slot, 8);
        let numbers = self.t.value(format_args!("lshr <32 x i64> {codes}, splat (i64 48)"));
        let offsets = self.decode_offset(Width::All, codes);
        let (head, done) = (self.t.block(), self.t.block());
        self.t.label(head);
        let left = self.t.load(MASK, &left_slot, 8);
        self.mask = Mask::Some(left.clone());
        let lane = self.first_lane();
        let code = self.t.value(format_args!("extractelement <32 x i64> {codes}, i32 {lane}"));
        let number = self.t.value(format_args!("lshr i64 {code}, 48"));
        let same = self.t.splat("i64", &number);
        let same = self.t.value(format_args!("icmp eq <32 x i64> {numbers}, {same}"));
        let own = self.both(&Mask::Some(left.clone()), &same);
        let rest = self.without(&Mask::Some(left), &same);
        self.t.store(MASK, &rest, &left_slot, 8);
        self.mask = Mask::Some(own.clone());
        let (place, _) = if private { self.decode_local(&code) } else { self.decode(&code) };
        let address = Address { place, offset: Lane::Varying(offsets), value: None, extra: 0, site: 0 };
        let loaded = access(self, address);
        for (lane, result) in loaded.iter().zip(&results) {
            let new = lane.vector(&mut self.t, element);
            let old = self.t.load(&ty, result, 64);
            let merged = self.t.select(MASK, &own, &ty, &new, &old);
            self.t.store(&ty, &merged, result, 64);
        }
        let more = self.any(&Mask::Some(rest));
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        self.mask = outer;
        results.iter().map(|result| Lane::Varying(self.t.load(&ty, result, 64))).collect()
    }
}
