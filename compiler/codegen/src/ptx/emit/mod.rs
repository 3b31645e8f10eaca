//! From analysed IR to LLVM text for NVPTX.
//!
//! The [`Emitter`] holds what one kernel's emission needs; its parts own their state: [`Places`] allocations
//! and limits, [`Residents`] the table of what loaded addresses lead to, [`Faults`] sites and the registers
//! of the fault, [`Frames`] the constructs around, [`Grid`] the thread's positions, [`Lanes`] the active
//! lanes. A value is one operand per scalar; a pointer is its byte offset, or a tagged pointer where its
//! allocation is known at run time only.

mod allocation;
mod atomic;
mod barrier;
mod control;
mod copy;
mod entry;
mod faults;
mod frames;
mod grid;
mod grid_barrier;
mod lanes;
mod loaded_pointers;
mod loops;
mod math;
mod matrix;
mod memory;
mod pieces;
mod reduce;
mod region;
mod simd;
mod tensor;
mod value;
mod values;
mod versions;

use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::{PointerSlots, function_loads_pointers};
use anymetal_ir::{Block, Function, Inst, Kernel, Module, Op, Scalar, Type, Value};

use super::alignment::{Alignment, Assumed};
use super::analysis::Analysis;
use super::convergence::Convergence;
use super::matrix_layout::MatrixLayout;
use super::poll_plan::LoopForms;
use super::{PtxCode, PtxOptions};
use crate::cpu::CodegenError;
use crate::cpu::math::Library;
use crate::llvm::{self, BlockName, Builder, I8, I64, Opd, scalar_type};
use allocation::Places;
use anymetal_analysis::roots::{Pointer, Root};
pub(super) use barrier::BARRIER_BYTES;
use faults::Faults;
use frames::{Carried, Frames};
use grid::Grid;
pub(super) use grid_barrier::GRID_BARRIER_BYTES;
use lanes::Lanes;
use loaded_pointers::Residents;
use loops::Unrolling;
use matrix::Gathers;
use pieces::Piece;
use values::Given;
use versions::Version;

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub(super) module: &'a Module,
    pub(super) kernel: &'a Kernel,
    pub(super) function: &'a Function,
    /// Its instructions in program order.
    pub(super) order: &'a [Inst],
    pub(super) options: &'a PtxOptions,
    /// Bytes of static threadgroup memory.
    pub(super) static_bytes: u64,
}

/// The emission of one kernel.
struct Emitter<'a> {
    input: Input<'a>,
    t: Builder,
    library: Library,
    /// Functions written once per module, by name.
    helpers: std::collections::BTreeMap<String, String>,
    facts: Facts<'a>,
    /// The loops in pieces around.
    pieces: Vec<Piece>,
    /// The loops written so far that are to be unrolled.
    unrolled_loops: Vec<Unrolling>,
    values: Vec<Vec<Opd>>,
    carried: Carried<'a>,
    given: Given,
    gathers: Gathers,
    version: Version,
    places: Places,
    residents: Option<Residents>,
    faults: Faults,
    frames: Frames,
    grid: Grid,
    lanes: Lanes,
    /// Where the kernel ends.
    exit: BlockName,
}

/// What analyses found before code is written.
struct Facts<'a> {
    pointers: Vec<Pointer>,
    alignment: Alignment<'a>,
    convergence: Convergence,
    geometry: Geometry,
    loop_forms: LoopForms,
    matrix_layout: MatrixLayout,
    slots: PointerSlots,
}

/// Writes the kernel.
pub(super) fn generate(input: Input<'_>, analysis: Analysis) -> Result<PtxCode, CodegenError> {
    Emitter::new(input, analysis).kernel()
}

impl<'a> Emitter<'a> {
    fn new(input: Input<'a>, analysis: Analysis) -> Self {
        let Input { module, kernel, function, order, options, .. } = input;
        let Analysis { pointers, convergence, value_words, matrix_layout } = analysis;
        let geometry = options.geometry();
        let loop_forms = LoopForms::new(function, geometry, &|inst| convergence.is_tracked(inst));
        let mut t = Builder::new(0);
        let exit = t.block();
        Self {
            input,
            t,
            library: Library::new(),
            helpers: std::collections::BTreeMap::new(),
            facts: Facts {
                alignment: Alignment::new(module, kernel, function, order, &pointers, Assumed::NOTHING),
                pointers,
                convergence,
                geometry,
                loop_forms,
                matrix_layout,
                slots: PointerSlots::of(function),
            },
            pieces: Vec::new(),
            unrolled_loops: Vec::new(),
            values: first_values(function),
            carried: Carried::new(function, order),
            given: Given::new(value_words),
            gathers: Gathers::default(),
            version: Version::default(),
            places: Places::default(),
            residents: function_loads_pointers(function).then(Residents::default),
            faults: Faults::default(),
            frames: Frames::default(),
            grid: Grid::default(),
            lanes: Lanes::default(),
            exit,
        }
    }

    /// The instructions of a block, up to the one that ends it.
    fn block(&mut self, block: Block) -> Result<(), CodegenError> {
        let function = self.input.function;
        for &inst in function.block(block) {
            if self.t.is_ended() {
                break;
            }
            self.inst(inst)?;
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst) -> Result<(), CodegenError> {
        if self.input.options.stoppable && self.facts.loop_forms.polls_before(inst) {
            let on = self.t.block();
            self.poll(on);
            self.t.label(on);
        }
        let data = self.input.function.inst(inst);
        match &data.op {
            Op::If { .. } | Op::Loop { .. } | Op::Switch { .. } | Op::Scope { .. } => {
                return self.construct(inst);
            }
            Op::Break(..) | Op::Continue(..) | Op::Return(_) => self.jump_of(&data.op),
            Op::Yield(_) => self.pass_on(&data.op),
            Op::Load { .. } | Op::Store { .. } => {
                self.version.begin(inst);
                self.access(inst);
                self.version.end();
            }
            Op::MemCopy { .. } | Op::MemZero { .. } => self.move_memory(inst),
            Op::AtomicLoad(_) | Op::AtomicStore(..) | Op::AtomicRmw(..) | Op::AtomicCas(..) => {
                self.atomic(inst);
            }
            // Caches prefetch by themselves; a local's contents may as well stay.
            Op::Prefetch { .. } | Op::LocalStart(_) => {}
            Op::Fence(_) => self.t.call_void_declared("llvm.nvvm.membar.gl", &[]),
            Op::Barrier(scope, _) => self.barrier(*scope),
            Op::Simd(op, args) => self.simd(inst, *op, args),
            Op::Matrix(op, args) => self.matrix(inst, *op, args),
            Op::Call(callee, _) => return Err(CodegenError::NotInlined { callee: *callee }),
            Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => {
                return Err(CodegenError::NotSpecialised);
            }
            _ => self.computation(inst),
        }
        Ok(())
    }

    // --- values

    fn define(&mut self, inst: Inst, parts: Vec<Opd>) {
        let Some(result) = self.input.function.inst(inst).result else {
            assert!(parts.is_empty(), "{inst} has no result to define");
            return;
        };
        assert_eq!(
            parts.len(),
            usize::from(self.ty(result).lanes()),
            "{result} has one operand per component"
        );
        self.values[result.index()] = parts;
    }

    /// The operands of a value. One that no reached code defines has none, and is zero.
    fn parts(&mut self, value: Value) -> Vec<Opd> {
        let parts = &self.values[value.index()];
        if !parts.is_empty() {
            return parts.clone();
        }
        debug_assert!(self.t.is_ended(), "{value} is used where it has no definition");
        let ty = self.ty(value);
        vec![zero_of(ty); usize::from(ty.lanes())]
    }

    fn one(&mut self, value: Value) -> Opd {
        self.parts(value).swap_remove(0)
    }

    fn ty(&self, value: Value) -> Type {
        self.input.function.ty(value)
    }

    /// The scalar of a value; pointers count as their 64 bits.
    fn scalar(&self, value: Value) -> Scalar {
        self.ty(value).scalar().unwrap_or(Scalar::I64)
    }

    fn root(&self, pointer: Value) -> Root {
        self.facts.pointers[pointer.index()].root
    }
}

/// The operands of the parameters, as offsets in the arguments; other values have none yet.
fn first_values(function: &Function) -> Vec<Vec<Opd>> {
    let mut values = vec![Vec::new(); function.values.len()];
    for &param in &function.params {
        assert!(matches!(function.ty(param), Type::Ptr(_)), "{param} of a kernel is a pointer");
        values[param.index()] = vec![Opd::i64(0)];
    }
    values
}

/// Zero of a scalar or of each element; of a pointer the null pointer.
fn zero_of(ty: Type) -> Opd {
    ty.scalar().map_or(Opd::i64(0), zero)
}

/// Zero.
fn zero(scalar: Scalar) -> Opd {
    match scalar {
        Scalar::Bool => Opd::bool(false),
        Scalar::F16 | Scalar::F32 => Opd::constant(scalar_type(scalar), "0.0"),
        _ => Opd::zero(scalar_type(scalar)),
    }
}

/// The type of a scalar in memory.
fn memory_type(ty: Type) -> llvm::Type {
    let element = match ty.scalar() {
        None => I64,
        Some(Scalar::Bool) => I8,
        Some(scalar) => scalar_type(scalar),
    };
    match ty.lanes() {
        1 => element,
        n => element.vector(n.into()),
    }
}
