//! Lowers one function to steps: the walk over its regions and all control flow.
//!
//! The walk keeps a stack of open regions instead of recursing, so nesting has no limit. Each open region
//! corresponds to one frame of the running SIMD-group's control stack (`then` and `otherwise` share one, as
//! do `body` and `continuing`). Steps that can switch all lanes off are noted in the region and get the
//! region's end marker as their target once it is known.

use std::collections::BTreeSet;

use anymetal_analysis::{PointerSlots, waiting_loops, walk_insts};
use anymetal_ir::{Block, FuncId, Function, Inst, Label, Loc, Module, Op, Type, Value};
use rustc_hash::FxHashMap;

use super::layout::{Layout, limit};
use super::promote::Promoted;
use super::registers::{self, FOREIGN, PERSISTENT};
use super::step::{PtrSlots, Slot, SlotRange, Step};
use super::{Persistent, StepOrigin};
use crate::InterpError;

/// Steps of one function; keeps step numbers far from overflow.
const MAX_STEPS: u64 = 1 << 26;

/// What all functions of a program share.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) persistent: Vec<Persistent>,
    persistent_numbers: FxHashMap<Persistent, u32>,
    /// Parameter and result places of other functions.
    pub(super) foreign: Vec<(FuncId, u32)>,
    pub(super) operands: Vec<Slot>,
    pub(super) case_values: Vec<u64>,
}

impl Tables {
    pub(super) fn persistent(&mut self, what: Persistent) -> Slot {
        let next = self.persistent.len() as u32;
        let number = *self.persistent_numbers.entry(what).or_insert(next);
        if number == next {
            self.persistent.push(what);
        }
        Slot(number | PERSISTENT)
    }

    pub(super) fn range(&mut self, slots: &[Slot]) -> SlotRange {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(slots);
        SlotRange { start, len: slots.len() as u32 }
    }
}

/// A function's steps, with places relative to its own window.
pub(super) struct Lowered {
    pub(super) steps: Vec<Step>,
    pub(super) locs: Vec<Loc>,
    pub(super) origins: Vec<StepOrigin>,
    pub(super) places: u32,
}

/// The components of a value: one per element, two for a pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Components {
    slots: [Slot; 4],
    count: u8,
}

impl Components {
    pub(super) const NONE: Self = Self { slots: [Slot(0); 4], count: 0 };

    pub(super) fn new(slots: &[Slot]) -> Self {
        let mut all = [Slot(0); 4];
        all[..slots.len()].copy_from_slice(slots);
        Self { slots: all, count: slots.len() as u8 }
    }

    pub(super) fn all(&self) -> &[Slot] {
        &self.slots[..usize::from(self.count)]
    }

    /// The component, or the only one.
    pub(super) fn at(&self, element: usize) -> Slot {
        if self.count == 1 { self.slots[0] } else { self.all()[element] }
    }

    pub(super) fn pointer(&self) -> PtrSlots {
        PtrSlots { region: self.slots[0], offset: self.slots[1] }
    }
}

/// How many components a value of the type has.
pub(super) fn component_count(ty: Type) -> u32 {
    if ty.is_ptr() { 2 } else { u32::from(ty.lanes()) }
}

enum Region {
    Body,
    Then { branch: u32, otherwise: Block },
    Otherwise { marker: u32 },
    LoopBody { continuing: Block, back: Step },
    LoopContinuing { marker: u32, back: Step },
    Case { inst: Inst, number: usize, step: u32 },
    Default { step: u32 },
    Scope,
}

struct Open {
    region: Region,
    /// The construct that the region belongs to; `None` for the body.
    construct: Option<Inst>,
    block: Block,
    next: usize,
    label: Option<Label>,
    /// Steps that skip to the end of this region.
    skips: Vec<u32>,
}

/// The state of lowering one function.
pub(super) struct Lowering<'a> {
    pub(super) module: &'a Module,
    pub(super) id: FuncId,
    pub(super) function: &'a Function,
    pub(super) layout: &'a mut Layout,
    pub(super) tables: &'a mut Tables,
    pub(super) is_kernel: bool,
    values: Vec<Components>,
    steps: Vec<Step>,
    locs: Vec<Loc>,
    loc: Loc,
    origins: Vec<StepOrigin>,
    origin: StepOrigin,
    virtuals: u32,
    open: Vec<Open>,
    pub(super) promoted: Promoted,
    pub(super) slots: PointerSlots,
    /// Loops that may wait for another thread.
    waiting: BTreeSet<Inst>,
    /// The labelled constructs, of which jumps need the parameters and results.
    labelled: FxHashMap<Label, Inst>,
}

/// Lowers a function. A kernel's parameters are the arguments' regions.
pub(super) fn lower(
    module: &Module,
    id: FuncId,
    is_kernel: bool,
    layout: &mut Layout,
    tables: &mut Tables,
) -> Result<Lowered, InterpError> {
    let function = module.function(id);
    let mut lowering = Lowering {
        module,
        id,
        function,
        layout,
        tables,
        is_kernel,
        values: vec![Components::NONE; function.values.len()],
        steps: Vec::new(),
        locs: Vec::new(),
        loc: Loc::default(),
        origins: Vec::new(),
        origin: StepOrigin::default(),
        virtuals: 0,
        open: Vec::new(),
        promoted: Promoted::default(),
        slots: PointerSlots::of(function),
        waiting: waiting_loops(module, function),
        labelled: FxHashMap::default(),
    };
    lowering.parameters();
    let fixed = lowering.promote();
    lowering.start_locals()?;
    lowering.body()?;
    let (mut steps, locs, origins) = (lowering.steps, lowering.locs, lowering.origins);
    let virtuals = lowering.virtuals;
    assert!(
        steps.len() == locs.len() && steps.len() == origins.len(),
        "each step has a position and an origin"
    );
    limit("steps of a function", steps.len() as u64, MAX_STEPS)?;
    let allocation = registers::allocate(&mut steps, &mut tables.operands, fixed, virtuals);
    Ok(Lowered { steps, locs, origins, places: allocation.places })
}

impl Lowering<'_> {
    /// Results first, then parameters: places that they keep.
    fn parameters(&mut self) {
        self.virtuals = self.function.ret.map_or(0, component_count);
        for (position, &param) in (1u64..).zip(&self.function.params) {
            let components = if self.is_kernel {
                let region = self.tables.persistent(Persistent::Bits(position));
                Components::new(&[region, self.tables.persistent(Persistent::Bits(0))])
            } else {
                self.fresh(self.function.ty(param))
            };
            self.define(param, components);
        }
    }

    /// Then promoted locals. Returns how many places are kept throughout.
    fn promote(&mut self) -> u32 {
        let function = self.function;
        self.promoted = Promoted::new(function, |ty| self.fresh(ty));
        self.constructs();
        self.virtuals
    }

    /// Then parameters of loops and results of constructs: each lane stores what it passes, as to a variable.
    fn constructs(&mut self) {
        let function = self.function;
        walk_insts(function, function.body, &mut |inst| {
            let op = &function.inst(inst).op;
            self.labelled.extend(op.label().map(|label| (label, inst)));
            for &value in op.params().iter().chain(op.results()) {
                let components = self.fresh(function.ty(value));
                self.define(value, components);
            }
        });
    }

    /// Passes values to parameters or results, all at once: components of one of them may be the others' new
    /// values.
    fn pass(&mut self, values: &[Value], targets: &[Value]) {
        let mut moves = Vec::new();
        for (&value, &target) in values.iter().zip(targets) {
            let (from, to) = (self.components(value), self.components(target));
            let pairs = to.all().iter().copied().zip(from.all().iter().copied());
            moves.extend(pairs.filter(|(dst, src)| dst != src));
        }
        let is_overwritten = |n: usize| moves[..n].iter().any(|(dst, _)| *dst == moves[n].1);
        if (0..moves.len()).any(is_overwritten) {
            for (_, src) in &mut moves {
                let copy = self.fresh_slot();
                self.emit(Step::Move { dst: copy, src: *src });
                *src = copy;
            }
        }
        for (dst, src) in moves {
            self.emit(Step::Merge { dst, src });
        }
    }

    /// Passes values to the results of a construct.
    fn pass_to_results(&mut self, construct: Inst, values: &[Value]) {
        let function = self.function;
        self.pass(values, function.inst(construct).op.results());
    }

    /// Fresh components for a value of the type.
    pub(super) fn fresh(&mut self, ty: Type) -> Components {
        let slots: [Slot; 4] = std::array::from_fn(|n| Slot(self.virtuals + n as u32));
        let count = component_count(ty);
        self.virtuals += count;
        Components::new(&slots[..count as usize])
    }

    pub(super) fn fresh_slot(&mut self) -> Slot {
        self.virtuals += 1;
        Slot(self.virtuals - 1)
    }

    pub(super) fn define(&mut self, value: Value, components: Components) {
        let ty = self.function.ty(value);
        let count = component_count(ty);
        assert_eq!(u32::from(components.count), count, "the components of {value}, of the type {ty}");
        self.values[value.index()] = components;
    }

    pub(super) fn components(&self, value: Value) -> Components {
        let components = self.values[value.index()];
        assert!(components.count > 0, "{value} is used before its definition is lowered");
        components
    }

    /// The only component of a scalar.
    pub(super) fn scalar(&self, value: Value) -> Slot {
        let components = self.components(value);
        assert_eq!(components.count, 1, "{value} is not a scalar");
        components.slots[0]
    }

    pub(super) fn pointer(&self, value: Value) -> PtrSlots {
        assert!(self.function.ty(value).is_ptr(), "{value} is not a pointer");
        self.components(value).pointer()
    }

    pub(super) fn emit(&mut self, step: Step) -> u32 {
        self.steps.push(step);
        self.locs.push(self.loc);
        self.origins.push(self.origin);
        self.steps.len() as u32 - 1
    }

    /// Emits a step that skips to the end of the current region when no lane is left.
    fn emit_skipping(&mut self, step: Step) -> u32 {
        let pc = self.emit(step);
        // After the last region of a construct, the region around it is open again.
        let open = self.open.last_mut().expect("jumps and the ends of constructs are in a region");
        open.skips.push(pc);
        pc
    }

    fn patch(&mut self, pc: u32, to: u32) {
        assert!(to > pc, "step {pc} skips to step {to}, which is not after it");
        let target = self.steps[pc as usize].target_mut();
        *target.expect("only steps that can skip others are patched") = to;
    }

    fn patch_all(&mut self, skips: Vec<u32>, to: u32) {
        for pc in skips {
            self.patch(pc, to);
        }
    }

    fn enter(&mut self, region: Region, construct: Option<Inst>, block: Block, label: Option<Label>) {
        self.open.push(Open { region, construct, block, next: 0, label, skips: Vec::new() });
    }

    fn body(&mut self) -> Result<(), InterpError> {
        self.enter(Region::Body, None, self.function.body, None);
        while let Some(open) = self.open.last_mut() {
            if let Some(&inst) = self.function.block(open.block).get(open.next) {
                open.next += 1;
                self.instruction(inst)?;
            } else {
                let open = self.open.pop().expect("it was there");
                self.origin = StepOrigin::default();
                self.finish(open);
            }
        }
        Ok(())
    }

    fn instruction(&mut self, inst: Inst) -> Result<(), InterpError> {
        let function = self.function;
        let data = function.inst(inst);
        self.loc = data.loc;
        let is_plain = data.op.blocks().is_empty() && !data.op.ends_block();
        // A lane has two elements of a matrix, made by one step; components of other vectors have their own.
        let components = if matches!(data.op, Op::Matrix(..)) { 2 } else { 1 };
        self.origin = StepOrigin {
            inst: is_plain.then_some(inst),
            float_operations: components * data.op.float_operations(),
        };
        match &data.op {
            Op::If { cond, then, otherwise, .. } => {
                let branch = self.emit(Step::If { cond: self.scalar(*cond), otherwise: 0 });
                self.enter(Region::Then { branch, otherwise: *otherwise }, Some(inst), *then, None);
            }
            Op::Loop { label, inits, params, body, continuing, .. } => {
                self.pass(inits, params);
                let head = self.emit(Step::Loop);
                let back = Step::Back { body: head + 1, waits: self.waiting.contains(&inst) };
                let region = Region::LoopBody { continuing: *continuing, back };
                self.enter(region, Some(inst), *body, Some(*label));
            }
            Op::Switch { label, .. } => {
                self.emit(Step::Switch);
                self.open_case(inst, 0, *label);
            }
            Op::Scope { label, body, .. } => {
                self.emit(Step::Scope);
                self.enter(Region::Scope, Some(inst), *body, Some(*label));
            }
            Op::Break(label, values) => {
                self.pass_to_results(self.labelled[label], values);
                let frame = self.frame_of(*label);
                self.emit_skipping(Step::Leave { frame, skip: 0 });
            }
            Op::Continue(label, values) => {
                self.pass(values, function.inst(self.labelled[label]).op.params());
                let frame = self.frame_of(*label);
                self.emit_skipping(Step::Continue { frame, skip: 0 });
            }
            Op::Yield(values) => {
                let construct = self.open.last().and_then(|open| open.construct);
                self.pass_to_results(construct.expect("a construct's block yields"), values);
            }
            Op::Return(value) => self.return_(*value),
            Op::Call(callee, args) => self.call(*callee, args, data.result),
            op => self.plain(op, data.result)?,
        }
        Ok(())
    }

    /// How many frames below the top the labelled region's frame is.
    fn frame_of(&self, label: Label) -> u32 {
        let below = self.open.iter().rev().position(|open| open.label == Some(label));
        below.expect("the verifier checks that labels are in scope") as u32
    }

    fn return_(&mut self, value: Option<Value>) {
        if let Some(value) = value {
            let components = self.components(value);
            for (number, &src) in (0u32..).zip(components.all()) {
                self.emit(Step::Merge { dst: Slot(number), src });
            }
        }
        let frame = self.open.len() as u32 - 1;
        self.emit_skipping(Step::Leave { frame, skip: 0 });
    }

    fn foreign(&mut self, callee: FuncId, place: u32) -> Slot {
        self.tables.foreign.push((callee, place));
        Slot((self.tables.foreign.len() as u32 - 1) | FOREIGN)
    }

    fn call(&mut self, callee: FuncId, args: &[Value], result: Option<Value>) {
        let results = self.module.function(callee).ret.map_or(0, component_count);
        let mut place = results;
        for &arg in args {
            for &src in self.components(arg).all() {
                let dst = self.foreign(callee, place);
                self.emit(Step::Move { dst, src });
                place += 1;
            }
        }
        let params = self.module.function(callee).params.iter();
        let params: u32 = params.map(|&param| component_count(self.module.function(callee).ty(param))).sum();
        assert_eq!(place, results + params, "each parameter of {callee} gets its argument");
        self.emit(Step::Call { entry: callee.0 });
        if let Some(result) = result {
            let components = self.fresh(self.function.ty(result));
            for (place, &dst) in (0u32..).zip(components.all()) {
                let src = self.foreign(callee, place);
                self.emit(Step::Move { dst, src });
            }
            self.define(result, components);
        }
    }

    /// Opens case `number` of a switch, or its default after the last.
    fn open_case(&mut self, inst: Inst, number: usize, label: Label) {
        let Op::Switch { selector, cases, default, .. } = &self.function.inst(inst).op else {
            unreachable!("only switches have cases");
        };
        let Some(case) = cases.get(number) else {
            // After the last case comes the default.
            let step = self.emit(Step::Default { end: 0 });
            self.enter(Region::Default { step }, Some(inst), *default, Some(label));
            return;
        };
        let bits = self.element(*selector).bits();
        let start = self.tables.case_values.len() as u32;
        self.tables.case_values.extend(case.values.iter().map(|&v| v as u64 & (u64::MAX >> (64 - bits))));
        let values = SlotRange { start, len: case.values.len() as u32 };
        let step = self.emit(Step::Case { selector: self.scalar(*selector), values, next: 0 });
        self.enter(Region::Case { inst, number, step }, Some(inst), case.body, Some(label));
    }

    /// Ends a region whose block has been walked; may open the construct's next region.
    fn finish(&mut self, open: Open) {
        let next = self.steps.len() as u32;
        self.patch_all(open.skips, next);
        match open.region {
            Region::Body => {
                self.emit(Step::EndFunction);
            }
            Region::Then { branch, otherwise } => {
                self.patch(branch, next);
                if self.function.block(otherwise).is_empty() {
                    self.emit_skipping(Step::EndIf { skip: 0 });
                } else {
                    let marker = self.emit(Step::Else { end: 0 });
                    self.enter(Region::Otherwise { marker }, open.construct, otherwise, None);
                }
            }
            Region::Otherwise { marker } => {
                self.patch(marker, next);
                self.emit_skipping(Step::EndIf { skip: 0 });
            }
            Region::LoopBody { continuing, back } => {
                let marker = self.emit(Step::Continuing { end: 0 });
                self.enter(Region::LoopContinuing { marker, back }, open.construct, continuing, open.label);
            }
            Region::LoopContinuing { marker, back } => {
                self.emit(back);
                let end = self.emit_skipping(Step::EndLoop { skip: 0 });
                self.patch(marker, end);
            }
            Region::Case { inst, number, step } => {
                self.emit(Step::EndCase);
                self.patch(step, next + 1);
                let label = open.label.expect("cases carry their switch's label");
                self.open_case(inst, number + 1, label);
            }
            Region::Default { step } => {
                self.patch(step, next);
                self.emit_skipping(Step::EndSwitch { skip: 0 });
            }
            Region::Scope => {
                self.emit_skipping(Step::EndScope { skip: 0 });
            }
        }
    }
}
