//! From analysed IR to LLVM text: one function per version of the kernel, and the entry.
//!
//! The [`Emitter`] holds the state of one version; here are values, fault sites and the dispatch of
//! instructions. The plan (`anymetal_simd::plan`) has decided what is written. The folder by topic:
//!
//! - Values: `lane` (a component), `mask` (the execution mask), `arith`, `cast`, `pure`, `pointers`, `query`,
//!   `assumptions` (affine forms that hold under a run-time condition), `simd`
//!   (cross-lane operations), `matrix` (8×8 matrices).
//! - Loads and stores: `memory` (shared memory), `promoted`, `private` and `private_parts` (arrays of one
//!   thread), `allocation`, `copy`, `atomic`; varying addresses: `contiguity_check`,
//!   `permute_gather`, `gather`, `scatter`, `indexed_gather`, `cold_gather`; several at once:
//!   `bundle`, `stencil_rows`, `guard_versioning`, `clamped_rows`, `interleaved_cache`, `transpose`;
//!   `under_mask` (masked vectors); bounds checks: `available_checks`, `interior`; caches:
//!   `prefetch`, `nontemporal`.
//! - Control: `control` (branches and loops), `mask_predicates` (cheap any/all tests of masks),
//!   `unmasked_loop`, `loop_predication` (checks before loops).
//! - Regions: `group_code`, `group_span`, `region`, `simdgroups` (run them),
//!   `context_save` (values live across regions), `group_loop` (threadgroups).
//! - Remarks: `remarks` (how constructs were emitted, and why).
//! - Around the versions: `entry`, `out_of_line` (functions written once per module), `call` and `subroutine`
//!   (functions of the program that are called, not inlined).
//!
//! Invariant: code runs only while at least one lane is active, except short side-effect-free arms
//! of an `if`. A switched-off lane may hold any bits, but never causes undefined behaviour.

mod allocation;
mod assumptions;
mod atomic;
mod available_checks;
mod bundle;
mod call;
mod clamped_rows;
mod cold_gather;
mod context_save;
mod contiguity_check;
mod control;
mod copy;
mod entry;
mod gather;
mod group_code;
mod group_loop;
mod group_span;
mod guard_versioning;
mod indexed_gather;
mod interior;
mod interleaved_cache;
mod lane;
mod loaded_pointers;
mod loop_predication;
mod mask;
mod mask_predicates;
mod matrix;
mod memory;
mod nontemporal;
mod out_of_line;
mod permute_gather;
mod pointers;
mod polls;
mod prefetch;
mod private;
mod private_parts;
mod promoted;
mod pure;
mod query;
mod region;
mod remarks;
mod scatter;
mod simd;
mod simdgroups;
mod stencil_rows;
mod subroutine;
mod transpose;
mod under_mask;
mod unit_rows;
mod unmasked_loop;

use std::collections::{BTreeMap, BTreeSet};

use anymetal_abi::{AccessKind, YieldReason};
use anymetal_analysis::StoreSummaries;
use anymetal_ir::{BarrierScope, Inst, Kernel, Module, Op, Scalar, Type, Value};
use anymetal_opt::Feature;

use crate::elementwise::{arith, cast};
use anymetal_analysis::polls::Work;

pub(super) use entry::generate_module;
use lane::{Lane, Width};
use mask::Mask;
pub(super) use polls::SubroutinePolls;
pub(super) use subroutine::Subroutines;

use super::math::Library;
use super::options::{CpuOptions, FaultSite};
use super::threadgroup::ThreadgroupVariables;
use crate::llvm::{self, BlockName, Builder, I64, Opd, scalar_type};
use anymetal_analysis::divergence::{Affine, Shape};
use anymetal_simd::plan::Plan;
use anymetal_simd::storage::{PromotedType, Root};

/// What all versions of a kernel share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    options: &'a CpuOptions,
    library: Library,
    sites: Vec<FaultSite>,
    /// By function, instruction and kind.
    site_numbers: BTreeMap<(u32, u32, u8), u32>,
    /// Which function's version is written: those for any size share theirs.
    function_number: u32,
    helpers: BTreeSet<out_of_line::Helper>,
    /// How arguments of the functions that are called are passed.
    passings: subroutine::Passings,
    /// Where they poll.
    polls: polls::SubroutinePolls,
    /// What they store to.
    stores: StoreSummaries,
    matrix_kernels: MatrixKernels,
    declares: BTreeSet<String>,
    /// Whether stores must be fenced off at the end.
    fences: bool,
    threadgroup: ThreadgroupVariables,
    /// SIMD-groups may wait for each other: each runs by itself, and lets the others run where it waits.
    independent_simdgroups: bool,
    /// Scratch bytes of arrays too large for the stack.
    scratch_bytes: u64,
    frame_bytes: u64,
    /// `None`: not requested.
    remarks: Option<remarks::Remarks>,
    /// Whether a function's text reached its limit: what was emitted is of no use.
    is_cut: bool,
}

/// The functions that multiply matrices.
#[derive(Debug, Default)]
struct MatrixKernels {
    /// Functions that multiply matrices, by name.
    products: BTreeMap<String, String>,
    /// The panels among them, by number.
    panels: Vec<matrix::PanelKernel>,
}

/// The scalars that describe the threadgroup, as operands.
#[derive(Clone, Debug)]
struct GroupValues {
    launch: Opd,
    worker: Opd,
    threadgroup_memory: Opd,
    scratch: Opd,
    linear: Opd,
    position: [Opd; 3],
    size: [Opd; 3],
    threads: Opd,
    simdgroups: Opd,
}

/// One version of the kernel under construction.
pub(super) struct Emitter<'a, 'm> {
    plan: &'a Plan<'a>,
    shared: &'a mut Shared<'m>,
    t: Builder,
    values: Values,
    position: Position,
    group: GroupValues,
    /// The only SIMD-group that a call of the entry runs, if SIMD-groups are independent.
    own_simdgroup: Option<Opd>,
    /// The current SIMD-group's frame, if there are frames.
    frame: Opd,
    layout: context_save::Layout,
    registers: EntryRegisters,
    known: Known,
    rows: StencilState,
    /// Products of matrices that wait, and where fragments lie.
    matrices: matrix::Matrices,
    /// Whether pointers come from memory that others wrote.
    loads_pointers: bool,
    /// Work since the last poll, at group level.
    group_work: Work,
}

/// The values that are defined, as operands.
#[derive(Debug)]
struct Values {
    /// By value, one for each component.
    lanes: Vec<Option<Vec<Lane>>>,
    /// The turn in which each value was defined last; see [`Emitter::is_here`].
    defined_in: Vec<u32>,
    /// The current turn of a region, and how many there were; 0 at group level.
    turn: u32,
    turns: u32,
}

impl Values {
    fn new(count: usize) -> Self {
        Self { lanes: vec![None; count], defined_in: vec![0; count], turn: 0, turns: 0 }
    }
}

/// Where code is written: for which lanes, and within which constructs.
#[derive(Debug)]
struct Position {
    mask: Mask,
    /// The SIMD-group's number and its first thread's linear index; 0 at group level.
    simdgroup: Opd,
    first: Opd,
    contexts: Vec<control::Context>,
    /// Labels of group-level constructs around the position.
    group_labels: Vec<group_code::GroupLabel>,
    /// Where `stop` and a return of the whole threadgroup lead.
    exit: BlockName,
    /// How many more all-lanes-on copies of code may be nested.
    copies_left: u32,
    /// Whether code may be copied for stencil rows that are tested before it.
    may_version_guards: bool,
    /// Where a region leaves its lanes, if it is needed.
    region_slot: Option<Opd>,
    /// Where a loop without masks gives up: its masked copy repeats the iteration, as long as nothing
    /// in it had an effect.
    bail: Option<BlockName>,
}

/// What the entry block loads, computes or allocates, each once it is needed.
#[derive(Debug, Default)]
struct EntryRegisters {
    /// LLVM variables of promoted ones, by promoted variable and segment.
    promoted_slots: BTreeMap<usize, Vec<Opd>>,
    array_slots: BTreeMap<usize, Opd>,
    bases: BTreeMap<u32, (Opd, Opd)>,
    limits: BTreeMap<(u32, i64), Opd>,
    capped_limits: BTreeMap<(u32, i64, i64), Opd>,
    pointer_table: Option<Opd>,
    /// The table of resident buffers and its length.
    resident_table: Option<(Opd, Opd)>,
    /// The flags that say whether stores that may be non-temporal are.
    nontemporal_flags: BTreeMap<usize, Opd>,
    /// The address of the stop flag.
    stop: Option<Opd>,
    /// What slow paths need.
    slow: Option<memory::SlowBuffers>,
}

/// What is known of registers at the position.
#[derive(Debug)]
struct Known {
    /// Available bounds checks.
    available_checks: available_checks::AvailableChecks,
    /// Values that tell which lanes were on, and the mask that says so.
    active_masks: BTreeMap<Value, Mask>,
    /// What is known of masks, by their registers.
    mask_tests: BTreeMap<u32, mask_predicates::MaskTests>,
    /// Loaded vectors, by the register of the first component.
    interleaved: BTreeMap<u32, interleaved_cache::InterleavedVector>,
    /// A block, and how many vectors were loaded lane by lane in it.
    lane_loads: (BlockName, u32),
}

/// Stencil rows whose conditions hold at the position.
#[derive(Debug, Default)]
struct StencilState {
    /// The first loads of those that were tested before.
    versioned_rows: BTreeSet<Inst>,
    /// Those of which lanes are held back, tested before too.
    clamped_rows: BTreeMap<Inst, clamped_rows::ClampedRow>,
    /// Pointers in a loop for threadgroups in the interior.
    interior_pointers: BTreeMap<Value, interior::InteriorPointer>,
}

impl Emitter<'_, '_> {
    fn function(&self) -> &anymetal_ir::Function {
        self.plan.facts.function
    }

    /// Whether a special case is switched on.
    fn has(&self, feature: Feature) -> bool {
        self.shared.options.passes.has(feature)
    }

    fn scalar(&self, value: Value) -> Scalar {
        // Pointers travel as 64-bit offsets or codes.
        self.function().ty(value).scalar().unwrap_or(Scalar::I64)
    }

    fn shape(&self, value: Value, component: usize) -> Shape {
        self.plan.divergence.values[value.index()][component].clone()
    }

    fn lane(&self, value: Value, component: usize) -> Lane {
        if let Some(lanes) = &self.values.lanes[value.index()] {
            return lanes[component].clone();
        }
        // Values that are known now need no definition. Anything else unset is unreachable code.
        debug_assert!(
            self.t.is_ended()
                || self.shared.is_cut
                || self.shape(value, component).affine().is_some_and(|lanes| lanes.is_constant),
            "{value} is used where it has no definition"
        );
        match self.shape(value, component) {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let zero = zero_of(self.scalar(value));
                Lane::Affine { bases: vec![zero; shape.segments], assumption: None, shape }
            }
            _ => Lane::Varying(Opd::zero(scalar_type(self.scalar(value)).lanes())),
        }
    }

    /// The scalar in a lane of an affine component.
    fn at(&mut self, value: Value, component: usize, lane: usize) -> Opd {
        let element = scalar_type(self.scalar(value));
        let component = self.lane(value, component);
        component.at(&mut self.t, element, lane)
    }

    /// The value of a uniform component.
    fn uniform(&mut self, value: Value, component: usize) -> Opd {
        debug_assert!(
            self.t.is_ended() || self.shape(value, component).affine().is_some_and(Affine::is_uniform),
            "{value} is not known to be uniform"
        );
        self.at(value, component, 0)
    }

    /// The vector of a component, computed lane by lane again if its affine form is conditional.
    fn vector(&mut self, value: Value, component: usize) -> Opd {
        let lane = self.lane(value, component);
        if let Lane::Affine { shape, .. } = &lane
            && shape.is_assumed()
        {
            return self.recompute(value, component);
        }
        let element = scalar_type(self.scalar(value));
        lane.vector(&mut self.t, element)
    }

    /// The operand at a width.
    fn operand(&mut self, width: Width, value: Value, component: usize) -> Opd {
        match width {
            Width::One => self.uniform(value, component),
            _ => self.vector(value, component),
        }
    }

    /// Whether the value's definition was emitted where its registers are of use: at group level, or in this
    /// turn of a region. Operands of values that another region left are not.
    fn is_here(&self, value: Value) -> bool {
        let turn = self.values.defined_in[value.index()];
        turn == 0 || turn == self.values.turn
    }

    fn define(&mut self, value: Value, lanes: Vec<Lane>) {
        debug_assert!(
            self.agrees(value, &lanes),
            "the lanes of {value} do not match the shape that the analysis computed"
        );
        self.values.defined_in[value.index()] = self.values.turn;
        self.values.lanes[value.index()] = Some(lanes);
    }

    /// Whether the value has these components, in the form that the analysis found for each.
    fn agrees(&self, value: Value, lanes: &[Lane]) -> bool {
        let shapes = &self.plan.divergence.values[value.index()];
        let agrees = |(lane, shape): (&Lane, &Shape)| match (lane, shape) {
            (Lane::Affine { bases, shape, .. }, Shape::Affine(found)) => {
                shape.segments == found.segments && bases.len() == found.segments
            }
            (Lane::Varying(_), Shape::Affine(_)) => false,
            _ => true,
        };
        lanes.len() == shapes.len() && lanes.iter().zip(shapes).all(agrees)
    }

    /// Converts a component to a wider shape, as promoted variables need.
    fn rebase(&mut self, lane: &Lane, element: llvm::Type, to: &Shape) -> Lane {
        match to {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape.clone()),
            Shape::Affine(shape) => {
                assert!(!shape.is_assumed(), "promoted variables have no conditional form");
                let step = shape.segment_len();
                let bases = (0..shape.segments).map(|s| lane.at(&mut self.t, element, s * step)).collect();
                Lane::Affine { bases, shape: shape.clone(), assumption: None }
            }
            _ => Lane::Varying(lane.vector(&mut self.t, element)),
        }
    }

    // --- fault sites

    fn site(&mut self, inst: Inst, pointer: Value, kind: AccessKind, access_bytes: u32) -> u32 {
        let key = (self.shared.function_number, inst.0, kind as u8);
        if let Some(&site) = self.shared.site_numbers.get(&key) {
            return site;
        }
        let space = self.plan.facts.function.pointer_space(pointer);
        let module = self.shared.module;
        let (argument, variable) = match self.plan.facts.storage.pointer(pointer).root {
            Root::Argument(index) => (Some(index), String::new()),
            Root::Threadgroup(var) => (None, module.threadgroup_vars[var.index()].name.clone()),
            Root::Global(global) => (None, module.globals[global.index()].name.clone()),
            Root::Local(local) => (None, self.plan.facts.function.locals[local.index()].name.clone()),
            Root::Unset | Root::Null | Root::Many => (None, String::new()),
        };
        let loc = self.plan.facts.function.inst(inst).loc;
        assert!(access_bytes > 0, "an access has bytes");
        let site = self.shared.sites.len() as u32;
        self.shared.sites.push(FaultSite { argument, variable, space, kind, access_bytes, loc });
        self.shared.site_numbers.insert(key, site);
        site
    }

    // --- instructions

    /// Emits one instruction that is not a construct or jump.
    fn simple(&mut self, inst: Inst) {
        let function = self.plan.facts.function;
        let data = function.inst(inst);
        if self.shared.options.comments {
            let result = data.result.map_or(String::new(), |value| format!(" {value}"));
            self.t.comment(format_args!("{inst}{result}"));
        }
        if self.is_put_off(inst) {
            return;
        }
        if self.plan.polls.is_before(inst) {
            self.poll();
        }
        self.flush_matrices(inst);
        match &data.op {
            // No instruction, but LLVM takes no value from one side to the other.
            Op::Barrier(BarrierScope::Thread, _) => self.t.fence("syncscope(\"singlethread\") seq_cst"),
            Op::Barrier(BarrierScope::Threadgroup, _) if self.own_simdgroup.is_some() => {
                self.yield_simdgroup(YieldReason::ThreadgroupBarrier);
            }
            Op::Barrier(BarrierScope::Grid, _) => self.grid_barrier(),
            Op::LocalStart(_) | Op::Barrier(..) => {}
            Op::Load { ptr, align, .. } => {
                let result = data.result.expect("a load has a result");
                self.load(inst, *ptr, result, *align);
            }
            Op::Store { .. } if self.store_fragment(inst) => {}
            Op::Store { ptr, value, align, .. } => self.store(inst, *ptr, *value, *align),
            Op::MemCopy { dst, src, size, pieces, .. } => {
                self.with_no_available_checks(|this| this.copy(inst, *dst, *src, *size, *pieces));
            }
            Op::MemZero { dst, size, pieces, .. } => {
                self.with_no_available_checks(|this| this.clear(inst, *dst, *size, *pieces))
            }
            Op::AtomicLoad(_) | Op::AtomicStore(..) | Op::AtomicRmw(..) | Op::AtomicCas(..) => {
                self.atomic(inst)
            }
            Op::Prefetch { ptr, bytes, access } => self.prefetch(*ptr, i64::from(*bytes), *access),
            Op::Call(callee, args) => {
                self.with_no_available_checks(|this| this.call(inst, *callee, args, data.result));
            }
            Op::Fence(_) => self.t.fence("seq_cst"),
            Op::Simd(op, args) => {
                let result = data.result.expect("a SIMD operation has a result");
                self.simd(*op, args, result, data.fp);
            }
            Op::Matrix(op, args) => self.matrix(inst, *op, args, data.result),
            Op::Compose(_) if data.result.is_some_and(|result| self.join_fragment(result)) => {}
            Op::Cast(_, narrow)
                if data.result.is_some_and(|result| self.omit_conversion(*narrow, result)) => {}
            op => {
                debug_assert!(op.only_computes(), "{op:?} has a side effect but no emitter");
                if let Some(result) = data.result {
                    self.pure(inst, result);
                }
            }
        }
    }

    fn element_of(&self, ty: PromotedType) -> llvm::Type {
        match ty {
            PromotedType::Scalar(scalar) => scalar_type(scalar),
            PromotedType::Pointer(..) => I64,
        }
    }

    fn is_pointer(&self, value: Value) -> bool {
        matches!(self.function().ty(value), Type::Ptr(_))
    }
}

/// The zero of a type, as an operand.
fn zero_of(scalar: Scalar) -> Opd {
    Opd::zero(scalar_type(scalar))
}

/// A uniform zero with the shape that analysis gives undefined values.
fn zero_lane(scalar: Scalar) -> Lane {
    Lane::Affine { bases: vec![zero_of(scalar)], shape: Affine::uniform(true), assumption: None }
}
