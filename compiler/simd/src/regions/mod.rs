//! Regions: what runs once per threadgroup, and what once per SIMD-group between barriers.
//!
//! The blocks of the function body and of group-level constructs are cut into [`Step`]s. A *group*
//! step is a computation whose operands and result are the same for the whole threadgroup; it runs
//! once. The other instructions between two barriers form a *region*, a loop over the SIMD-groups.
//! Without barriers there is one region. Values and variables that cross from one region to
//! another are recomputed if that is cheap, or kept in the SIMD-group's frame.
//!
//! Owns [`Regions`]; `wg_uniform` decides which instructions are group steps, `form_regions` cuts blocks into
//! steps, `live_across` finds what regions take from each other.

mod form_regions;
mod live_across;
mod wg_uniform;

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Block, Function, Inst, Label, Op, Value, ValueDef};

use crate::facts::Facts;
use anymetal_analysis::divergence::{Divergence, Shape};

/// A step of a group-level block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
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
pub enum Fetch {
    /// Computes it again.
    Remat(Value),
    /// From the frame.
    Load(Value),
}

/// A region.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Its instructions, those of one block.
    pub insts: Vec<Inst>,
    /// What it fetches first, in order.
    pub fetches: Vec<Fetch>,
    /// Variables ((promoted ones, then arrays)) that it accesses.
    pub accesses: BTreeSet<usize>,
}

/// The division of a function.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    escapes: Vec<bool>,
    /// By instruction: whether it runs once per threadgroup.
    pub group_insts: Vec<bool>,
    /// By promoted variable.
    pub wg_uniform_vars: Vec<bool>,
    steps: BTreeMap<u32, Vec<Step>>,
    /// All regions.
    pub regions: Vec<Region>,
    /// By instruction; `usize::MAX`: none.
    region_of: Vec<usize>,
    /// The empty region in which a group-level construct samples its condition.
    pub samples: BTreeMap<Inst, usize>,
    /// Values that are kept in frames.
    pub saved: BTreeSet<Value>,
    used: Vec<bool>,
    /// Lanes may return while others go on to a later region.
    pub tracks_live: bool,
    /// SIMD-groups run by themselves, so they have to meet at barriers.
    meets_at_barriers: bool,
}

impl Regions {
    /// Divides a function.
    pub fn new(facts: Facts<'_>, divergence: &Divergence, independent_simdgroups: bool) -> Self {
        let function = facts.function;
        let mut planner = Planner { facts, divergence, regions: Self::default(), returned: false };
        planner.regions.meets_at_barriers = independent_simdgroups;
        planner.regions.escapes = vec![false; function.insts.len()];
        planner.regions.group_insts = vec![false; function.insts.len()];
        planner.regions.region_of = vec![usize::MAX; function.insts.len()];
        planner.regions.used = vec![false; function.values.len()];
        for inst in &function.insts {
            inst.op.for_each_operand(|operand| planner.regions.used[operand.index()] = true);
        }
        planner.mark_escapes(function.body);
        planner.choose_wg_uniform_vars();
        planner.form_regions(function.body);
        planner.find_fetches();
        debug_assert!(
            planner.regions.regions.iter().flat_map(|region| &region.fetches).all(|fetch| match fetch {
                Fetch::Load(value) => planner.regions.saved.contains(value),
                Fetch::Remat(_) => true,
            }),
            "values that a region loads are saved"
        );
        let regions = &mut planner.regions;
        regions.tracks_live = regions.regions.len() > 1
            && regions
                .regions
                .iter()
                .any(|region| region.insts.iter().any(|&inst| contains_return(function, inst)));
        planner.regions
    }

    /// Whether a jump inside the construct leads out of it.
    pub fn escapes(&self, inst: Inst) -> bool {
        self.escapes[inst.index()]
    }

    /// Whether any instruction uses the value.
    pub fn is_used(&self, value: Value) -> bool {
        self.used[value.index()]
    }

    /// The steps of a group-level block.
    pub fn steps(&self, block: Block) -> &[Step] {
        let steps = self.steps.get(&block.0);
        steps.unwrap_or_else(|| panic!("{block} is not a group-level block"))
    }

    /// Whether both instructions run in one loop over the SIMD-groups.
    pub fn is_same_region(&self, a: Inst, b: Inst) -> bool {
        self.region_of[a.index()] == self.region_of[b.index()]
    }

    /// Whether the value is computed by the SIMD-group that executes the instruction, or for all of them.
    pub(crate) fn is_known_at(
        &self,
        function: &Function,
        divergence: &Divergence,
        value: Value,
        inst: Inst,
    ) -> bool {
        if self.is_group_value(function, divergence, value) {
            return true;
        }
        let (own, made) = (self.region_of[inst.index()], function.defining_inst(value));
        let is_fetched = |region: &Region| region.fetches.contains(&Fetch::Remat(value));
        made.is_some_and(|made| self.region_of[made.index()] == own)
            || self.regions.get(own).is_some_and(is_fetched)
    }

    /// Whether the value is known at group level.
    pub fn is_group_value(&self, function: &Function, divergence: &Divergence, value: Value) -> bool {
        let shapes = &divergence.values[value.index()];
        let known = |shape: &Shape| shape.affine().is_some_and(|lanes| lanes.is_constant);
        if shapes.iter().all(known) {
            return true;
        }
        match function.values[value.index()].def {
            ValueDef::Param(_) => true,
            ValueDef::Inst(inst) => self.group_insts[inst.index()],
            ValueDef::LoopParam(..) | ValueDef::Result(..) => false,
        }
    }
}

fn contains_return(function: &Function, inst: Inst) -> bool {
    let op = &function.inst(inst).op;
    matches!(op, Op::Return(_))
        || op
            .blocks()
            .iter()
            .any(|&block| function.block(block).iter().any(|&inst| contains_return(function, inst)))
}

/// Divides a function.
struct Planner<'a> {
    facts: Facts<'a>,
    divergence: &'a Divergence,
    regions: Regions,
    /// A thread may have returned before the current position.
    returned: bool,
}

impl Planner<'_> {
    /// Marks the constructs that jumps leave; gives the labels jumped to and not defined inside.
    fn mark_escapes(&mut self, block: Block) -> BTreeSet<Option<Label>> {
        let function = self.facts.function;
        let mut all = BTreeSet::new();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            match op {
                Op::Break(label, _) | Op::Continue(label, _) => {
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
            if let label @ Some(_) = op.label() {
                inside.remove(&label);
            }
            self.regions.escapes[inst.index()] = !inside.is_empty();
            all.extend(inside);
        }
        all
    }
}

/// Visits an instruction and those inside it.
pub fn for_each_inst(function: &Function, inst: Inst, visit: &mut impl FnMut(Inst)) {
    visit(inst);
    for nested in function.inst(inst).op.blocks() {
        for &inner in function.block(nested) {
            for_each_inst(function, inner, visit);
        }
    }
}

/// How many instructions these are, nested ones included.
pub fn size(function: &Function, insts: &[Inst]) -> usize {
    let nested = |inst: &Inst| {
        let blocks = function.inst(*inst).op.blocks();
        1 + blocks.iter().map(|&block| size(function, function.block(block))).sum::<usize>()
    };
    insts.iter().map(nested).sum()
}
