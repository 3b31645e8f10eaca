//! Regions: what runs once per threadgroup, and what once per SIMD-group between barriers.
//!
//! The blocks of the function body and of group-level constructs are cut into [`Step`]s. A *group*
//! step is a computation whose operands and result are the same for the whole threadgroup; it runs
//! once. The other instructions between two barriers form a *region*, a loop over the SIMD-groups.
//! Without barriers there is one region. Values and variables that cross from one region to
//! another are recomputed if that is cheap, or kept in the SIMD-group's frame (`frame.rs`).

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{BarrierScope, Block, Function, Inst, Label, Op, Space, Type, Value, ValueDef};

use crate::cpu::llvm_text::BlockName;
use crate::cpu::shape::Shape;
use crate::cpu::shape::flow::{Facts, Flow};
use crate::cpu::storage::Root;

/// How far a computation is repeated rather than kept.
const MAX_REPEAT: u32 = 10;

/// A jump target at group level.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLabel {
    pub(super) label: Label,
    pub(super) exit: BlockName,
    pub(super) continuing: BlockName,
}

/// A step of a group-level block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// An instruction that runs once.
    Group(Inst),
    /// A loop over the SIMD-groups.
    Region(usize),
    /// A group-level construct.
    Construct(Inst),
    /// A jump of all threads.
    Jump(Inst),
}

/// How a region gets a value from another region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fetch {
    /// Computes it again.
    Repeat(Value),
    /// From the frame.
    Load(Value),
}

/// A region.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    /// Its instructions, those of one block.
    pub(super) insts: Vec<Inst>,
    /// What it fetches first, in order.
    pub(super) fetches: Vec<Fetch>,
    /// Variables (cells, then arrays) that it accesses.
    pub(super) accesses: BTreeSet<usize>,
}

/// The division of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    escapes: Vec<bool>,
    pub(super) group_insts: Vec<bool>,
    /// By cell.
    pub(super) group_cells: Vec<bool>,
    steps: BTreeMap<u32, Vec<Step>>,
    /// All regions.
    pub(super) regions: Vec<Region>,
    /// By instruction; `usize::MAX`: none.
    region_of: Vec<usize>,
    /// The empty region in which a group-level construct samples its condition.
    pub(super) samples: BTreeMap<Inst, usize>,
    /// Values that are kept in frames.
    pub(super) saved: BTreeSet<Value>,
    used: Vec<bool>,
    /// Lanes may return while others go on to a later region.
    pub(super) tracks_live: bool,
}

impl Plan {
    /// Divides a function.
    pub(super) fn new(facts: Facts<'_>, flow: &Flow) -> Self {
        let function = facts.function;
        let mut planner = Planner { facts, flow, plan: Self::default(), returned: false };
        planner.plan.escapes = vec![false; function.insts.len()];
        planner.plan.group_insts = vec![false; function.insts.len()];
        planner.plan.region_of = vec![usize::MAX; function.insts.len()];
        planner.plan.used = vec![false; function.values.len()];
        for inst in &function.insts {
            inst.op.for_each_operand(|operand| planner.plan.used[operand.index()] = true);
        }
        planner.mark_escapes(function.body);
        planner.choose_group_cells();
        planner.cut(function.body);
        planner.find_fetches();
        let plan = &mut planner.plan;
        plan.tracks_live = plan.regions.len() > 1
            && plan
                .regions
                .iter()
                .any(|region| region.insts.iter().any(|&inst| contains_return(function, inst)));
        planner.plan
    }

    /// Whether a jump inside the construct leads out of it.
    pub(super) fn escapes(&self, inst: Inst) -> bool {
        self.escapes[inst.index()]
    }

    /// Whether any instruction uses the value.
    pub(super) fn is_used(&self, value: Value) -> bool {
        self.used[value.index()]
    }

    /// The steps of a group-level block.
    pub(super) fn steps(&self, block: Block) -> &[Step] {
        self.steps.get(&block.0).map_or(&[], Vec::as_slice)
    }

    /// Whether both instructions run in one loop over the SIMD-groups.
    pub(super) fn is_same_region(&self, a: Inst, b: Inst) -> bool {
        self.region_of[a.index()] == self.region_of[b.index()]
    }

    /// Whether the value is known at group level.
    pub(super) fn is_group_value(&self, function: &Function, flow: &Flow, value: Value) -> bool {
        let shapes = &flow.values[value.index()];
        let known = |shape: &Shape| shape.lanes().is_some_and(|lanes| lanes.absolute);
        if shapes.iter().all(known) {
            return true;
        }
        match function.values[value.index()].def {
            ValueDef::Param(_) => true,
            ValueDef::Inst(inst) => self.group_insts[inst.index()],
        }
    }
}

pub(super) fn contains_return(function: &Function, inst: Inst) -> bool {
    let op = &function.inst(inst).op;
    matches!(op, Op::Return(_))
        || op
            .blocks()
            .iter()
            .any(|&block| function.block(block).iter().any(|&inst| contains_return(function, inst)))
}

pub(super) struct Planner<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) flow: &'a Flow,
    pub(super) plan: Plan,
    /// A thread may have returned before the current position.
    pub(super) returned: bool,
}

impl Planner<'_> {
    /// Marks the constructs that jumps leave; gives the labels jumped to and not defined inside.
    fn mark_escapes(&mut self, block: Block) -> BTreeSet<Option<Label>> {
        let function = self.facts.function;
        let mut all = BTreeSet::new();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            match op {
                Op::Break(label) | Op::Continue(label) => {
                    all.insert(Some(*label));
                }
                Op::Return(_) => {
                    all.insert(None);
                }
                _ => {}
            }
            let mut inside = BTreeSet::new();
            for nested in op.blocks() {
                inside.extend(self.mark_escapes(nested));
            }
            if let Op::Loop { label, .. } | Op::Switch { label, .. } | Op::Scope { label, .. } = op {
                inside.remove(&Some(*label));
            }
            self.plan.escapes[inst.index()] = !inside.is_empty();
            all.extend(inside);
        }
        all
    }

    // --- cutting into steps

    fn cut(&mut self, block: Block) {
        let function = self.facts.function;
        let mut steps = Vec::new();
        let mut current: Vec<Inst> = Vec::new();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if *op == Op::Barrier(BarrierScope::Threadgroup) {
                self.close(&mut current, &mut steps);
            } else if op.is_terminator() {
                self.close(&mut current, &mut steps);
                steps.push(Step::Jump(inst));
            } else if self.facts.group_level.contains(inst) {
                self.close(&mut current, &mut steps);
                if !self.condition_is_known(op) {
                    self.plan.samples.insert(inst, self.plan.regions.len());
                    self.plan.regions.push(Region::default());
                }
                steps.push(Step::Construct(inst));
                for nested in op.blocks() {
                    self.cut(nested);
                }
            } else if self.plan.group_insts[inst.index()] {
                if self.overtakes(inst, &current) {
                    self.close(&mut current, &mut steps);
                }
                steps.push(Step::Group(inst));
            } else {
                current.push(inst);
            }
        }
        self.close(&mut current, &mut steps);
        self.plan.steps.insert(block.0, steps);
    }

    fn condition_is_known(&self, op: &Op) -> bool {
        match op {
            Op::If { cond: value, .. } | Op::Switch { selector: value, .. } => {
                self.plan.is_group_value(self.facts.function, self.flow, *value)
            }
            _ => true,
        }
    }

    /// Whether the group instruction writes a cell that the pending region still reads.
    fn overtakes(&self, inst: Inst, pending: &[Inst]) -> bool {
        let function = self.facts.function;
        let mut written = BTreeSet::new();
        for_each_inst(function, inst, &mut |inst| {
            if let Op::Store { ptr, value, .. } = function.inst(inst).op {
                let size = i64::from(function.ty(value).size());
                written.extend(self.facts.storage.cells_at(ptr, size).unwrap_or(0..0));
            }
        });
        let mut accessed = BTreeSet::new();
        if !written.is_empty() {
            for &inst in pending {
                self.variables_of(inst, &mut accessed);
            }
        }
        written.iter().any(|cell| accessed.contains(cell))
    }

    fn close(&mut self, current: &mut Vec<Inst>, steps: &mut Vec<Step>) {
        let function = self.facts.function;
        let effects = current.iter().any(|&inst| !matches!(function.inst(inst).op, Op::LocalStart(_)));
        let insts = std::mem::take(current);
        if !effects {
            return;
        }
        let number = self.plan.regions.len();
        let mut accesses = BTreeSet::new();
        for &inst in &insts {
            self.number_region(inst, number);
            self.variables_of(inst, &mut accesses);
        }
        self.plan.regions.push(Region { insts, fetches: Vec::new(), accesses });
        steps.push(Step::Region(number));
    }

    fn number_region(&mut self, inst: Inst, number: usize) {
        let function = self.facts.function;
        self.plan.region_of[inst.index()] = number;
        for nested in function.inst(inst).op.blocks() {
            for &inner in function.block(nested) {
                self.number_region(inner, number);
            }
        }
    }

    /// Adds the variables that an instruction and what it contains accesses.
    fn variables_of(&self, inst: Inst, variables: &mut BTreeSet<usize>) {
        let (function, storage) = (self.facts.function, self.facts.storage);
        let op = &function.inst(inst).op;
        let mut touch = |pointer: Value, size: i64| {
            if let Some(cells) = storage.cells_at(pointer, size) {
                variables.extend(cells);
            } else if let Some(array) = storage.array_at(pointer) {
                variables.insert(storage.cells.len() + array);
            } else if storage.pointer(pointer).root == Root::Many {
                let exposed =
                    (0..storage.arrays.len()).filter(|&a| storage.is_exposed(storage.arrays[a].local));
                variables.extend(exposed.map(|array| storage.cells.len() + array));
            }
        };
        let wide = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        match op {
            Op::Load { ptr, .. } => {
                let result = function.inst(inst).result.expect("a load has a result");
                touch(*ptr, i64::from(function.ty(result).size()));
            }
            Op::Store { ptr, value, .. } => touch(*ptr, i64::from(function.ty(*value).size())),
            Op::MemCopy { dst, src, size, .. } => {
                touch(*dst, wide(*size));
                touch(*src, wide(*size));
            }
            Op::MemZero { dst, size, .. } => touch(*dst, wide(*size)),
            _ => op.for_each_operand(|operand| {
                if function.ty(operand) == Type::Ptr(Space::Thread) {
                    touch(operand, 8);
                }
            }),
        }
        for nested in op.blocks() {
            for &inner in function.block(nested) {
                self.variables_of(inner, variables);
            }
        }
    }

    // --- values that cross

    fn find_fetches(&mut self) {
        let function = self.facts.function;
        for number in 0..self.plan.regions.len() {
            let mut uses = Vec::new();
            for &inst in &self.plan.regions[number].insts {
                uses_of(function, inst, &mut uses);
            }
            for value in uses {
                self.fetch(number, value);
            }
        }
        for (inst, number) in self.plan.samples.clone() {
            if let Op::If { cond: value, .. } | Op::Switch { selector: value, .. } = function.inst(inst).op {
                self.fetch(number, value);
            }
        }
    }

    fn fetch(&mut self, number: usize, value: Value) {
        let function = self.facts.function;
        if self.plan.is_group_value(function, self.flow, value) {
            return;
        }
        let ValueDef::Inst(inst) = function.values[value.index()].def else { return };
        let fetches = &self.plan.regions[number].fetches;
        if self.plan.region_of[inst.index()] == number
            || fetches.contains(&Fetch::Repeat(value))
            || fetches.contains(&Fetch::Load(value))
        {
            return;
        }
        let is_conditional = self.flow.values[value.index()]
            .iter()
            .any(|shape| shape.lanes().is_some_and(|lanes| lanes.conditional));
        if !is_conditional && !self.is_repeatable(value, MAX_REPEAT) {
            self.plan.saved.insert(value);
            self.plan.regions[number].fetches.push(Fetch::Load(value));
            return;
        }
        let mut operands = Vec::new();
        function.inst(inst).op.for_each_operand(|operand| operands.push(operand));
        for operand in operands {
            self.fetch(number, operand);
        }
        self.plan.regions[number].fetches.push(Fetch::Repeat(value));
    }

    /// Whether computing the value again costs little and needs nothing kept.
    fn is_repeatable(&self, value: Value, depth: u32) -> bool {
        let function = self.facts.function;
        if self.plan.is_group_value(function, self.flow, value) {
            return true;
        }
        let ValueDef::Inst(inst) = function.values[value.index()].def else { return true };
        let op = &function.inst(inst).op;
        let cheap = match op {
            Op::Binary(op, ..) => !matches!(
                op,
                anymetal_ir::BinOp::UDiv
                    | anymetal_ir::BinOp::SDiv
                    | anymetal_ir::BinOp::URem
                    | anymetal_ir::BinOp::SRem
                    | anymetal_ir::BinOp::FDiv
                    | anymetal_ir::BinOp::FRem
            ),
            Op::Math(..) => false,
            op => is_pure(op),
        };
        if depth == 0 || !cheap {
            return false;
        }
        let mut all = true;
        op.for_each_operand(|operand| all &= self.is_repeatable(operand, depth - 1));
        all
    }
}

/// Visits an instruction and those inside it.
pub(super) fn for_each_inst(function: &Function, inst: Inst, visit: &mut impl FnMut(Inst)) {
    visit(inst);
    for nested in function.inst(inst).op.blocks() {
        for &inner in function.block(nested) {
            for_each_inst(function, inner, visit);
        }
    }
}

fn uses_of(function: &Function, inst: Inst, uses: &mut Vec<Value>) {
    let op = &function.inst(inst).op;
    op.for_each_operand(|operand| uses.push(operand));
    for nested in op.blocks() {
        for &inner in function.block(nested) {
            uses_of(function, inner, uses);
        }
    }
}

/// Whether the operation only computes.
pub(super) fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(_)
            | Op::Undef
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Cast(..)
            | Op::Math(..)
            | Op::Splat(_)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::ExtractDynamic(..)
            | Op::Insert(..)
            | Op::InsertDynamic(..)
            | Op::Shuffle(..)
            | Op::LocalAddr(_)
            | Op::ThreadgroupAddr(_)
            | Op::GlobalAddr(_)
            | Op::PtrAdd { .. }
            | Op::Query(_)
    )
}
