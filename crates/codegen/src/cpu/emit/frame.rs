//! Runs the steps of group-level code: loops over SIMD-groups, their frames, group-level branches.
//!
//! A frame is the part of the worker's scratch memory that keeps one SIMD-group's values, cells and
//! arrays between regions: all of one SIMD-group lies together. A region loads the cells it needs
//! into variables of the function first and stores those that changed at its end, so that LLVM
//! keeps them in registers in between.

use std::collections::BTreeMap;

use anymetal_ir::{Block, Inst, Label, Op, Scalar, Value};

use super::control::Context;
use super::group::{Fetch, GroupLabel, Step};
use super::group_span::Span;
use super::lane::Lane;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{MASK, Opd, lanes_type, scalar_type, vector_const};
use crate::cpu::shape::Shape;

/// Regions larger than this (in instructions) have no copy for the case that no lane returned yet.
const MAX_LIVE_COPY: usize = 400;

/// Where things lie in a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    values: BTreeMap<Value, i64>,
    variables: BTreeMap<usize, i64>,
    bytes: i64,
}

/// Bytes that a component takes in a frame.
fn component_bytes(shape: &Shape, scalar: Scalar) -> i64 {
    match shape {
        Shape::Lanes(shape) if shape.absolute => 0,
        Shape::Lanes(shape) => 8 * shape.segments as i64,
        _ if scalar == Scalar::Bool => 8,
        _ => i64::from(scalar.size()) * 32,
    }
}

impl Layout {
    /// Whether the value has a place, because another region takes it.
    pub(super) fn keeps(&self, value: Value) -> bool {
        self.values.contains_key(&value)
    }

    fn take(&mut self, bytes: i64) -> i64 {
        // The smallest vector, of bytes, takes 32; vectors are accessed as aligned to 64.
        let align = if bytes >= 32 { 64 } else { 8 };
        let offset = (self.bytes + align - 1) / align * align;
        self.bytes = offset + bytes;
        offset
    }
}

impl Emitter<'_, '_> {
    /// Lays out the frame; gives its bytes.
    pub(super) fn lay_out_frame(&mut self) -> u64 {
        let mut layout = Layout { bytes: 8, ..Layout::default() };
        for value in self.plan.saved.clone() {
            let scalar = self.scalar(value);
            let bytes: i64 = self.flow.values[value.index()]
                .iter()
                .map(|shape| (component_bytes(shape, scalar) + 63) / 64 * 64)
                .sum();
            let offset = layout.take(bytes);
            layout.values.insert(value, offset);
        }
        let cells = self.facts.storage.cells.len();
        let mut crossing = std::collections::BTreeSet::new();
        for region in &self.plan.regions {
            let Some(&first) = region.insts.first() else { continue };
            let live = self.facts.liveness.before(first);
            crossing.extend(region.accesses.iter().copied().filter(|&variable| live.contains(variable)));
        }
        for variable in crossing {
            if variable < cells {
                if self.plan.group_cells[variable] {
                    continue;
                }
                if self.is_in_home(variable) {
                    if let Some((slot, bytes)) = self.slot_to_place(variable) {
                        let offset = layout.take(bytes);
                        self.place_slot(slot, offset);
                    }
                    continue;
                }
                let scalar = self.cell_scalar(variable);
                let offset = layout.take(component_bytes(&self.flow.cells[variable], scalar));
                layout.variables.insert(variable, offset);
            } else {
                let bytes = self.facts.storage.arrays[variable - cells].bytes() as i64;
                let offset = layout.take(bytes);
                layout.variables.insert(variable, offset);
            }
        }
        let needed = self.plan.tracks_live || layout.bytes > 8;
        let bytes = if needed { (layout.bytes + 63) / 64 * 64 } else { 0 };
        self.layout = layout;
        bytes as u64
    }

    pub(super) fn cell_scalar(&self, cell: usize) -> Scalar {
        match self.facts.storage.cells[cell].ty {
            crate::cpu::storage::CellType::Scalar(scalar) => scalar,
            crate::cpu::storage::CellType::Pointer(_) => Scalar::I64,
        }
    }

    // --- group level

    /// Emits the whole body.
    pub(super) fn body(&mut self) {
        if self.plan.tracks_live {
            self.initialise_live();
        }
        let body = self.facts.function.body;
        self.group_block(body);
    }

    fn group_block(&mut self, block: Block) {
        self.aside(|this| this.group_steps(block));
    }

    fn group_steps(&mut self, block: Block) {
        for step in self.plan.steps(block).to_vec() {
            if self.t.is_ended() {
                return;
            }
            match step {
                Step::Group(inst) => {
                    self.mask = Mask::All;
                    self.at_group_level();
                    match self.facts.function.inst(inst).op {
                        Op::If { .. } => self.instructions(&[inst]),
                        _ => self.simple(inst),
                    }
                }
                Step::Region(number) => self.region(number),
                Step::Construct(inst) => self.group_construct(inst),
                Step::Jump(inst) => self.group_jump(inst),
            }
        }
    }

    fn at_group_level(&mut self) {
        self.simdgroup = Opd::Int(0);
        self.first = Opd::Int(0);
    }

    fn group_jump(&mut self, inst: Inst) {
        let find =
            |this: &Self, label: Label| this.group_labels.iter().rev().find(|l| l.label == label).copied();
        let destination = match self.facts.function.inst(inst).op {
            Op::Break(label) => find(self, label).map(|found| found.exit),
            Op::Continue(label) => find(self, label).map(|found| found.continuing),
            _ => None,
        };
        self.t.branch(destination.unwrap_or(self.exit));
    }

    fn group_construct(&mut self, inst: Inst) {
        let function = self.facts.function;
        match &function.inst(inst).op {
            Op::If { cond, then, otherwise } => {
                let condition = self.group_value(inst, *cond);
                let (yes, no, join) = (self.t.block(), self.t.block(), self.t.block());
                self.t.branch_if(&condition, yes, no);
                for (label, block) in [(yes, *then), (no, *otherwise)] {
                    self.t.label(label);
                    self.group_block(block);
                    self.t.branch(join);
                }
                self.t.label(join);
            }
            Op::Loop { label, body, continuing } => {
                let (head, next, exit) = (self.t.block(), self.t.block(), self.t.block());
                self.group_labels.push(GroupLabel { label: *label, exit, continuing: next });
                let mut tile_loop = self.tile_loop([*body, *continuing]);
                tile_loop.wishes = self.start_wishes([*body, *continuing]);
                self.tile_loops.push(tile_loop);
                self.t.label(head);
                self.group_block(*body);
                self.t.label(next);
                self.end_wishes();
                self.group_block(*continuing);
                self.tile_loops.pop();
                self.poll();
                self.t.branch(head);
                self.group_labels.pop();
                self.t.label(exit);
            }
            Op::Scope { label, body } => {
                let exit = self.t.block();
                self.group_labels.push(GroupLabel { label: *label, exit, continuing: exit });
                self.group_block(*body);
                self.group_labels.pop();
                self.t.label(exit);
            }
            Op::Switch { label, selector, cases, default } => {
                let exit = self.t.block();
                self.group_labels.push(GroupLabel { label: *label, exit, continuing: exit });
                let value = self.group_value(inst, *selector);
                let labels = self.branch_to_cases_on(&value, *selector, cases);
                let bodies = cases.iter().map(|case| case.body).chain([*default]);
                for (body, label) in bodies.zip(labels) {
                    self.t.label(label);
                    self.group_block(body);
                    self.t.branch(exit);
                }
                self.group_labels.pop();
                self.t.label(exit);
            }
            _ => {}
        }
    }

    /// A condition or selector of group-level code: known once for the group, or taken from a lane
    /// that has not returned, because all of those agree.
    fn group_value(&mut self, inst: Inst, value: Value) -> Opd {
        let Some(&number) = self.plan.samples.get(&inst) else { return self.uniform(value, 0) };
        let element = scalar_type(self.scalar(value));
        let slot = self.t.alloca(element, 8);
        let done = self.t.block();
        let next_simdgroup = self.begin_simdgroups();
        self.fetch_values(number);
        let end = self.t.block();
        self.mask = Mask::All;
        if self.plan.tracks_live {
            let live = self.live_bits();
            let some = self.t.icmp("ne", "i32", &live, &Opd::Int(0));
            let go = self.t.block();
            self.t.branch_if(&some, go, end);
            self.t.label(go);
            self.mask = Mask::Some(self.t.value(format_args!("bitcast i32 {live} to {MASK}")));
        }
        let one = match self.lane(value, 0) {
            Lane::Laned { shape, .. } if shape.is_uniform() => self.uniform(value, 0),
            _ => {
                let all = self.vector(value, 0);
                let lane = self.first_lane();
                self.t.value(format_args!("extractelement {} {all}, i32 {lane}", lanes_type(element)))
            }
        };
        self.t.store(element, &one, &slot, 8);
        self.t.branch(done);
        self.t.label(end);
        self.end_simdgroups(next_simdgroup);
        // Nobody is left.
        let exit = self.exit;
        self.t.branch(exit);
        self.t.label(done);
        self.t.load(element, &slot, 8)
    }

    // --- loops over SIMD-groups

    /// Opens a loop over the SIMD-groups; gives what [`Self::end_simdgroups`] needs.
    pub(super) fn begin_simdgroups(&mut self) -> (u32, Opd) {
        self.begin_simdgroups_at(&Opd::Int(0))
    }

    fn begin_simdgroups_at(&mut self, start: &Opd) -> (u32, Opd) {
        let slot = self.t.alloca("i32", 4);
        self.t.store("i32", start, &slot, 4);
        let head = self.t.block();
        self.t.label(head);
        let simdgroup = self.t.load("i32", &slot, 4);
        self.enter_simdgroup(simdgroup);
        (head, slot)
    }

    fn enter_simdgroup(&mut self, simdgroup: Opd) {
        self.first = match &simdgroup {
            Opd::Int(number) => Opd::Int(number * 32),
            number => self.t.value(format_args!("shl nuw nsw i32 {number}, 5")),
        };
        self.simdgroup = simdgroup;
        if self.shared.frame_bytes > 0 {
            let scratch = self.group.scratch.clone();
            let wide = match &self.simdgroup {
                Opd::Int(number) => Opd::Int(*number),
                number => self.t.value(format_args!("zext i32 {number} to i64")),
            };
            let offset = self.t.mul("i64", &wide, &Opd::Int(self.shared.frame_bytes as i64));
            let offset = self.t.add("i64", &offset, &Opd::Int(self.shared.scratch_bytes as i64));
            self.frame = self.t.offset(&scratch, &offset);
        }
        let cells = self.facts.storage.cells.len();
        for (&variable, &offset) in &self.layout.variables.clone() {
            if variable >= cells {
                let at = self.t.offset(&self.frame.clone(), &Opd::Int(offset));
                self.array_slots.insert(variable - cells, at);
            }
        }
    }

    pub(super) fn end_simdgroups(&mut self, simdgroups: (u32, Opd)) {
        let count = self.group.simdgroups.clone();
        self.end_simdgroups_at(simdgroups, &count);
    }

    fn end_simdgroups_at(&mut self, (head, slot): (u32, Opd), end: &Opd) {
        let current = self.t.load("i32", &slot, 4);
        let next = self.t.value(format_args!("add nuw nsw i32 {current}, 1"));
        self.t.store("i32", &next, &slot, 4);
        let more = self.t.icmp("ult", "i32", &next, end);
        let done = self.t.block();
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        self.at_group_level();
    }

    /// The lanes that exist in the current SIMD-group.
    fn existing_lanes(&mut self) -> Mask {
        match self.facts.geometry.threads() {
            Some(threads) if threads.is_multiple_of(32) => return Mask::All,
            Some(threads) if threads < 32 => {
                return Mask::Some(vector_const(
                    "i1",
                    (0..32).map(|lane| i64::from(lane < i64::from(threads))),
                ));
            }
            _ => {}
        }
        let (threads, first) = (self.group.threads.clone(), self.first.clone());
        let left = self.t.sub("i32", &threads, &first);
        let left = self.t.splat("i32", &left);
        let lanes = vector_const("i32", 0..32);
        Mask::Some(self.t.value(format_args!("icmp ult <32 x i32> {lanes}, {left}")))
    }

    fn region(&mut self, number: usize) {
        if self.plan.regions[number].insts.is_empty() {
            return;
        }
        let no_barriers = self.plan.regions.len() == 1 && !self.plan.tracks_live;
        let is_general = self.facts.geometry.size().is_none();
        let is_edge = is_general && self.shared.options.group_size.is_some();
        let may_be_partial = self.facts.geometry.threads().is_none_or(|threads| !threads.is_multiple_of(32));
        let single = self.facts.geometry.threads().is_some_and(|threads| threads < 32);
        if no_barriers && may_be_partial && !is_edge && !single {
            return self.region_with_tail(number);
        }
        if let Some(span) = self.span_of_region(number) {
            return self.region_in_span(number, &span, !is_edge);
        }
        let done = self.region_inside(number);
        let simdgroups = self.begin_simdgroups();
        self.simdgroup_of_region(number, !is_edge);
        self.end_simdgroups(simdgroups);
        if let Some(done) = done {
            self.t.label(done);
        }
    }

    /// Runs a region for those SIMD-groups that have something to do in it.
    fn region_in_span(&mut self, number: usize, span: &Span, may_copy: bool) {
        let (enter, done) = (self.t.block(), self.t.block());
        let some = self.t.icmp("ult", "i32", &span.start, &span.end);
        self.t.branch_if(&some, enter, done);
        self.t.label(enter);
        if span.is_single() {
            self.enter_simdgroup(span.start.clone());
            self.simdgroup_of_region(number, may_copy);
        } else {
            let simdgroups = self.begin_simdgroups_at(&span.start);
            self.simdgroup_of_region(number, may_copy);
            self.end_simdgroups_at(simdgroups, &span.end);
        }
        self.t.label(done);
        self.at_group_level();
    }

    /// Full SIMD-groups in a loop, then the partial one.
    fn region_with_tail(&mut self, number: usize) {
        let threads = self.group.threads.clone();
        let full = match &threads {
            Opd::Int(threads) => Opd::Int(threads / 32),
            threads => self.t.value(format_args!("lshr i32 {threads}, 5")),
        };
        let rest = match &threads {
            Opd::Int(threads) => Opd::Int(threads % 32),
            threads => self.t.value(format_args!("and i32 {threads}, 31")),
        };
        let (enter, tail, done) = (self.t.block(), self.t.block(), self.t.block());
        let any_full = self.t.icmp("ne", "i32", &full, &Opd::Int(0));
        self.t.branch_if(&any_full, enter, tail);
        self.t.label(enter);
        let slot = self.t.alloca("i32", 4);
        self.t.store("i32", &Opd::Int(0), &slot, 4);
        let head = self.t.block();
        self.t.label(head);
        let simdgroup = self.t.load("i32", &slot, 4);
        self.enter_simdgroup(simdgroup);
        self.lanes_of_region(number, Mask::All);
        let current = self.t.load("i32", &slot, 4);
        let next = self.t.value(format_args!("add nuw nsw i32 {current}, 1"));
        self.t.store("i32", &next, &slot, 4);
        let more = self.t.icmp("ult", "i32", &next, &full);
        self.t.branch_if(&more, head, tail);
        self.t.label(tail);
        let any_rest = self.t.icmp("ne", "i32", &rest, &Opd::Int(0));
        let partial = self.t.block();
        self.t.branch_if(&any_rest, partial, done);
        self.t.label(partial);
        self.enter_simdgroup(full);
        let mask = self.existing_lanes();
        let copies = std::mem::take(&mut self.copies_left);
        self.lanes_of_region(number, mask);
        self.copies_left = copies;
        self.t.label(done);
        self.at_group_level();
    }

    /// One SIMD-group's turn in a region.
    fn simdgroup_of_region(&mut self, number: usize, may_copy: bool) {
        let end = self.t.block();
        let mut mask = self.existing_lanes();
        let mut copy = false;
        if self.plan.tracks_live {
            let live = self.live_bits();
            let some = self.t.icmp("ne", "i32", &live, &Opd::Int(0));
            let go = self.t.block();
            self.t.branch_if(&some, go, end);
            self.t.label(go);
            let insts = self.plan.regions[number].insts.clone();
            if may_copy && self.size(&insts) <= MAX_LIVE_COPY {
                let (full, partial) = (self.t.block(), self.t.block());
                let all = self.t.icmp("eq", "i32", &live, &Opd::Int(-1));
                self.t.branch_if(&all, full, partial);
                self.t.label(full);
                self.lanes_of_region(number, Mask::All);
                self.t.branch(end);
                self.t.label(partial);
                copy = true;
            }
            mask = Mask::Some(self.t.value(format_args!("bitcast i32 {live} to {MASK}")));
        }
        let copies = self.copies_left;
        if copy || !may_copy || mask != Mask::All {
            self.copies_left = 0;
        }
        self.lanes_of_region(number, mask);
        self.copies_left = copies;
        self.t.label(end);
    }

    /// The region's code under a mask, between fetching and keeping its variables.
    fn lanes_of_region(&mut self, number: usize, mask: Mask) {
        self.turns += 1;
        self.turn = self.turns;
        self.untested(|this| this.region_under(number, mask));
        self.turn = 0;
    }

    fn region_under(&mut self, number: usize, mask: Mask) {
        self.fetch_values(number);
        self.fetch_cells(number);
        let end = self.t.block();
        self.region_slot = self.plan.tracks_live.then(|| {
            let slot = self.t.alloca(MASK, 4);
            self.t.store(MASK, &Opd::text("zeroinitializer"), &slot, 4);
            slot
        });
        self.mask = mask.clone();
        self.contexts.push(Context::Arm { end });
        let insts = self.plan.regions[number].insts.clone();
        self.instructions(&insts);
        self.end_of_region_part();
        self.t.label(end);
        self.contexts.pop();
        self.keep_cells(number);
        if let Some(slot) = self.region_slot.take() {
            let left = self.t.load(MASK, &slot, 4);
            let live = self.t.value(format_args!("bitcast {MASK} {left} to i32"));
            let at = self.frame.clone();
            self.t.store("i32", &live, &at, 4);
        }
    }

    /// Notes which lanes came to the end of the region's code.
    fn end_of_region_part(&mut self) {
        if let Some(slot) = self.region_slot.clone() {
            let left = self.mask.operand();
            self.t.store(MASK, &left, &slot, 4);
        }
    }

    // --- frames

    fn initialise_live(&mut self) {
        let simdgroups = self.begin_simdgroups();
        let mask = self.existing_lanes();
        let bits = self.mask_bits(&mask);
        let at = self.frame.clone();
        self.t.store("i32", &bits, &at, 4);
        self.end_simdgroups(simdgroups);
    }

    fn live_bits(&mut self) -> Opd {
        let at = self.frame.clone();
        self.t.load("i32", &at, 4)
    }

    fn fetch_values(&mut self, number: usize) {
        for fetch in self.plan.regions[number].fetches.clone() {
            match fetch {
                Fetch::Repeat(value) => {
                    if let anymetal_ir::ValueDef::Inst(inst) = self.facts.function.values[value.index()].def {
                        self.simple(inst);
                    }
                }
                Fetch::Load(value) => {
                    let scalar = self.scalar(value);
                    let mut offset = self.layout.values[&value];
                    let mut lanes = Vec::new();
                    for shape in self.flow.values[value.index()].clone() {
                        lanes.push(self.load_component(offset, &shape, scalar));
                        offset += (component_bytes(&shape, scalar) + 63) / 64 * 64;
                    }
                    self.define(value, lanes);
                }
            }
        }
    }

    /// Keeps the result of an instruction if another region wants it.
    pub(super) fn save_result(&mut self, inst: Inst) {
        let Some(value) = self.facts.function.inst(inst).result else { return };
        let Some(&start) = self.layout.values.get(&value) else { return };
        let scalar = self.scalar(value);
        let mut offset = start;
        for (k, shape) in self.flow.values[value.index()].clone().iter().enumerate() {
            let lane = self.lane(value, k);
            self.store_component(offset, &lane, scalar);
            offset += (component_bytes(shape, scalar) + 63) / 64 * 64;
        }
    }

    fn load_component(&mut self, offset: i64, shape: &Shape, scalar: Scalar) -> Lane {
        let element = scalar_type(scalar);
        let at = self.t.offset(&self.frame.clone(), &Opd::Int(offset));
        match shape {
            Shape::Lanes(shape) if shape.absolute => Lane::known(shape.clone()),
            Shape::Lanes(shape) => {
                let mut bases = Vec::new();
                for segment in 0..shape.segments as i64 {
                    let at = self.t.offset(&at, &Opd::Int(8 * segment));
                    bases.push(self.t.value(format_args!(
                        "load {element}, ptr {at}, align 8, !alias.scope !6, !noalias !7"
                    )));
                }
                Lane::Laned { bases, shape: shape.clone(), no_wrap: None }
            }
            _ if scalar == Scalar::Bool => {
                let bits =
                    self.t.value(format_args!("load i32, ptr {at}, align 4, !alias.scope !6, !noalias !7"));
                Lane::Varying(self.t.value(format_args!("bitcast i32 {bits} to {MASK}")))
            }
            _ => {
                let ty = lanes_type(element);
                Lane::Varying(
                    self.t.value(format_args!("load {ty}, ptr {at}, align 64, !alias.scope !6, !noalias !7")),
                )
            }
        }
    }

    fn store_component(&mut self, offset: i64, lane: &Lane, scalar: Scalar) {
        let element = scalar_type(scalar);
        let at = self.t.offset(&self.frame.clone(), &Opd::Int(offset));
        let metadata = "!alias.scope !6, !noalias !7";
        match lane {
            Lane::Laned { shape, .. } if shape.absolute => {}
            Lane::Laned { bases, .. } => {
                for (segment, base) in bases.iter().enumerate() {
                    let at = self.t.offset(&at, &Opd::Int(8 * segment as i64));
                    self.t.line(format_args!("store {element} {base}, ptr {at}, align 8, {metadata}"));
                }
            }
            Lane::Varying(vector) if scalar == Scalar::Bool => {
                let bits = self.t.value(format_args!("bitcast {MASK} {vector} to i32"));
                self.t.line(format_args!("store i32 {bits}, ptr {at}, align 4, {metadata}"));
            }
            Lane::Varying(vector) => {
                self.t.line(format_args!(
                    "store {} {vector}, ptr {at}, align 64, {metadata}",
                    lanes_type(element)
                ));
            }
        }
    }

    /// Brings the region's cells into variables: from the frame, or as zeros if nobody can have
    /// written them yet, so that no undefined bits reach a branch.
    pub(super) fn fetch_cells(&mut self, number: usize) {
        let cells = self.facts.storage.cells.len();
        let region = self.plan.regions[number].clone();
        let Some(&first) = region.insts.first() else { return };
        for &cell in region.accesses.iter().filter(|&&variable| variable < cells) {
            if self.plan.group_cells[cell] || self.is_in_home(cell) {
                continue;
            }
            let scalar = self.cell_scalar(cell);
            let shape = self.flow.cells[cell].clone();
            let is_live = self.facts.liveness.before(first).contains(cell);
            let lane = match self.layout.variables.get(&cell) {
                Some(&offset) if is_live => self.load_component(offset, &shape, scalar),
                _ => match shape {
                    Shape::Lanes(shape) if shape.absolute => Lane::known(shape),
                    Shape::Lanes(shape) => {
                        let bases = vec![super::zero_of(scalar); shape.segments];
                        Lane::Laned { bases, shape, no_wrap: None }
                    }
                    _ => Lane::Varying(Opd::text("zeroinitializer")),
                },
            };
            self.set_cell(cell, &lane);
        }
    }

    fn keep_cells(&mut self, number: usize) {
        let cells = self.facts.storage.cells.len();
        let region = self.plan.regions[number].clone();
        let Some(&last) = region.insts.last() else { return };
        for &cell in region.accesses.iter().filter(|&&variable| variable < cells) {
            let Some(&offset) = self.layout.variables.get(&cell) else { continue };
            if !self.facts.liveness.after(last).contains(cell) {
                continue;
            }
            let scalar = self.cell_scalar(cell);
            let lane = self.load_cell(cell);
            self.store_component(offset, &lane, scalar);
        }
    }

    /// Whether the version runs only threadgroups cut off at the grid's edge.
    pub(super) fn is_edge(&self) -> bool {
        self.facts.geometry.size().is_none() && self.shared.options.group_size.is_some()
    }
}
