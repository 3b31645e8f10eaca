//! Functions that kernels call: those that are too large to be inlined everywhere.
//!
//! A subroutine works on as many lanes as a vector register has 32-bit elements, and is called once for each
//! such *batch* of a SIMD-group that has active lanes: so its values are registers, not several each, and its
//! code is a fraction of what it would be inlined.
//!
//! # Calling convention
//! `am.call.N(mask, record, first, stop, arguments…)` takes the mask of the SIMD-group, where faults are
//! noted, the number of its first thread and the address of the stop flag. It calls `am.sub.N` for each
//! batch, with the batch's own mask and first thread. A pointer to private memory is three arguments: the
//! variable's memory, the offset in it, and its bytes. One to memory that threads share is four: where
//! its allocation begins, its bytes, the bytes before that may be accessed too, and the offset; or, where
//! lanes may differ in it, the address of a vector of offsets. A call is for one allocation. Any other
//! argument, and a result, which comes last, is the address of vectors of all lanes, one for each
//! component. Variables are in units of four bytes that are interleaved by lane: unit `u` of lane `l` is
//! at byte `(u × 32 + l) × 4`. So the memory of a batch is that of its first lane on.
//!
//! Invariant: lanes that are off compute, but write no memory that a caller sees.

mod calls;
mod control;
mod copies;
mod memory;
mod plan;
mod pure;
mod shared;

use std::rc::Rc;

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Local, Op, Scalar, Type, Value};

use super::{Shared, zero_of};
use crate::cpu::options::FaultSite;
use crate::elementwise::Width;
use crate::llvm::{self, BlockName, Builder, I1, I32, I64, IntPredicate, LANES, Opd, PTR};
use anymetal_analysis::polls::PollPlan;
use anymetal_analysis::roots::Root;
use anymetal_simd::storage::PASSED_UNIT;
use anymetal_simd::target::CpuFeatures;

use plan::Subroutine;
pub(in crate::cpu) use plan::Subroutines;
pub(super) use plan::{Passing, Passings};

/// How many lanes a subroutine works on.
pub(super) fn batch_lanes(features: &CpuFeatures) -> usize {
    match features {
        CpuFeatures { avx512: true, .. } => 16,
        CpuFeatures { avx2: true, .. } => 8,
        _ => 4,
    }
}

/// The active lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Mask {
    /// Those that the subroutine was called for.
    Entry,
    /// Those of a vector of `i1`; perhaps none.
    Some(Opd),
}

/// A parameter's operands.
#[derive(Clone, Debug)]
enum Parameter {
    Private { base: Opd, start: Opd, len: Opd },
    Shared { base: Opd, len: Opd, before: Opd, offset: Opd },
    Vectors(Opd),
}

/// One subroutine under construction.
struct Emitter<'a, 'm> {
    sub: &'a Subroutine<'m>,
    shared: &'a mut Shared<'m>,
    t: Builder,
    lanes: usize,
    /// The components of each value: scalars of uniform ones, else vectors. A pointer's is its offset.
    values: Vec<Option<Vec<Opd>>>,
    mask: Mask,
    entry_mask: Opd,
    record: Opd,
    first: Opd,
    stop: Opd,
    parameters: Vec<Parameter>,
    result: Option<Opd>,
    /// The memory of each local, once needed.
    locals: Vec<Option<Opd>>,
    constructs: Vec<control::Construct>,
    /// Where lanes that are off wait, innermost last.
    arms: Vec<BlockName>,
    exit: BlockName,
    polls: Rc<PollPlan>,
}

/// Writes all subroutines.
pub(super) fn texts<'m>(shared: &mut Shared<'m>, subroutines: &Subroutines<'m>) -> String {
    subroutines.all().map(|sub| batches(shared, sub) + &text(shared, sub)).collect()
}

/// The types of the operands of one argument.
fn argument_types(passing: Passing) -> &'static [llvm::Type] {
    match passing {
        Passing::Value => &[PTR],
        Passing::Private { .. } => &[PTR, I64, I64],
        Passing::Shared { uniform: true } => &[PTR, I64, I64, I64],
        Passing::Shared { uniform: false } => &[PTR, I64, I64, PTR],
    }
}

/// Which operand of an argument is the address of something of each lane, and the bytes from lane to lane.
fn part_by_lane(passing: Passing, ty: Type) -> Option<(usize, u32)> {
    match passing {
        Passing::Value => Some((0, passed_scalar(ty).size())),
        Passing::Private { .. } => Some((0, PASSED_UNIT)),
        Passing::Shared { uniform: true } => None,
        Passing::Shared { uniform: false } => Some((3, Scalar::I64.size())),
    }
}

/// The scalar that is passed in vectors: of `bool`s a byte, of pointers to shared memory the offset.
pub(super) fn passed_scalar(ty: Type) -> Scalar {
    match ty.scalar() {
        Some(Scalar::Bool) => Scalar::I8,
        Some(scalar) => scalar,
        None => Scalar::I64,
    }
}

/// The bytes of the vectors that a value of a type is passed in.
pub(super) fn passed_bytes(ty: Type) -> u64 {
    u64::from(ty.lanes()) * LANES as u64 * u64::from(passed_scalar(ty).size())
}

/// The loop over the batches of a SIMD-group.
fn batches(shared: &Shared<'_>, sub: &Subroutine<'_>) -> String {
    assert!(LANES.is_multiple_of(batch_lanes(&shared.options.features)), "batches divide a SIMD-group");
    let lanes = batch_lanes(&shared.options.features);
    assert_eq!(sub.passing().len(), sub.function.params.len(), "every parameter has a passing convention");
    let (number, batches) = (sub.id.0, LANES / lanes);
    // Where the flag is set the other batches are left out.
    let after = match shared.polls.of_function(sub.id).has_polls() {
        true => {
            "  %flag = load volatile i32, ptr %stop, align 4 ; poll
  %goes.on = icmp eq i32 %flag, 0
  br i1 %goes.on, label %more, label %done"
        }
        false => "  br label %more",
    };
    let (mut parameters, mut arguments, mut places) = (String::new(), String::new(), String::new());
    let types = sub.function.params.iter().map(|param| sub.function.ty(*param));
    let passed = types.zip(sub.passing().iter().copied());
    let passed = passed.chain(sub.function.ret.map(|ty| (ty, Passing::Value)));
    for (at, (ty, passing)) in passed.enumerate() {
        let by_lane = part_by_lane(passing, ty);
        for (part, operand) in argument_types(passing).iter().enumerate() {
            parameters.push_str(&format!(", {operand} %a{at}.{part}"));
            let Some((_, size)) = by_lane.filter(|(by_lane, _)| *by_lane == part) else {
                arguments.push_str(&format!(", {operand} %a{at}.{part}"));
                continue;
            };
            places.push_str(&format!(
                "  %o{at} = mul i64 %lane64, {size}\n  %p{at} = getelementptr i8, ptr %a{at}.{part}, i64 %o{at}\n"
            ));
            arguments.push_str(&format!(", ptr %p{at}"));
        }
    }
    format!(
        "define internal void @am.call.{number}(i32 %mask, ptr %record, i32 %first, ptr %stop{parameters}) noinline #0 {{
entry:
  br label %loop
loop: ; lanes <= {batches}
  %lane = phi i32 [ 0, %entry ], [ %next, %more ]
  %bits = lshr i32 %mask, %lane
  %batch = trunc i32 %bits to i{lanes}
  %none = icmp eq i{lanes} %batch, 0
  br i1 %none, label %more, label %run
run:
  %lane64 = zext i32 %lane to i64
{places}  %thread = add i32 %first, %lane
  call void @am.sub.{number}(i{lanes} %batch, ptr %record, i32 %thread, ptr %stop{arguments})
{after}
more:
  %next = add i32 %lane, {lanes}
  %again = icmp ult i32 %next, {LANES}
  br i1 %again, label %loop, label %done
done:
  ret void
}}
"
    )
}

fn text<'m>(shared: &mut Shared<'m>, sub: &Subroutine<'m>) -> String {
    let lanes = batch_lanes(&shared.options.features);
    shared.function_number = plan::FIRST_FUNCTION_NUMBER + sub.id.0;
    let mut t = Builder::new(0);
    let [bits, record, first, stop] = [llvm::Type::int(lanes as u32), PTR, I32, PTR].map(|ty| t.register(ty));
    let mut header = format!(
        "define internal void @am.sub.{}(i{lanes} {bits}, ptr {record}, i32 {first}, ptr {stop}",
        sub.id.0
    );
    let mut take = |t: &mut Builder, passing: Passing| {
        let operands: Vec<Opd> = argument_types(passing).iter().map(|&ty| t.register(ty)).collect();
        for (operand, ty) in operands.iter().zip(argument_types(passing)) {
            header.push_str(&format!(", {ty} {operand}"));
        }
        operands
    };
    let parameters = sub.passing().iter().map(|passing| Parameter::of(&take(&mut t, *passing))).collect();
    let result = sub.function.ret.map(|_| take(&mut t, Passing::Value).remove(0));
    header.push_str(") noinline #0");
    let entry_mask = t.in_entry(|t| t.bitcast(&bits, I1.vector(lanes)));
    let (begin, exit) = (t.block(), t.block());
    let polls = Rc::clone(shared.polls.of_function(sub.id));
    let mut emitter = Emitter {
        sub,
        shared,
        t,
        lanes,
        values: vec![None; sub.function.values.len()],
        mask: Mask::Entry,
        entry_mask,
        record,
        first,
        stop,
        parameters,
        result,
        locals: vec![None; sub.function.locals.len()],
        constructs: Vec::new(),
        arms: Vec::new(),
        exit,
        polls,
    };
    emitter.t.label(begin);
    emitter.load_parameters();
    emitter.block(sub.function.body);
    assert!(emitter.constructs.is_empty() && emitter.arms.is_empty(), "constructs nest");
    emitter.clear_locals();
    emitter.t.label(exit);
    emitter.t.ret_void();
    emitter.shared.declares.extend(emitter.t.take_declares());
    emitter.t.finish(&header, begin)
}

impl Parameter {
    /// As [`argument_types`] lists the operands.
    fn of(operands: &[Opd]) -> Self {
        match operands {
            [base, start, len] => {
                Self::Private { base: base.clone(), start: start.clone(), len: len.clone() }
            }
            [base, len, before, offset] => Self::Shared {
                base: base.clone(),
                len: len.clone(),
                before: before.clone(),
                offset: offset.clone(),
            },
            [vectors] => Self::Vectors(vectors.clone()),
            other => unreachable!("arguments do not have {} operands", other.len()),
        }
    }
}

impl Emitter<'_, '_> {
    /// All lanes.
    fn width(&self) -> Width {
        Width::Few(self.lanes)
    }

    fn mask_type(&self) -> llvm::Type {
        self.width().of(I1)
    }

    /// The width at which a value is computed.
    fn width_of(&self, value: Value) -> Width {
        if self.sub.is_uniform(value) { Width::One } else { self.width() }
    }

    fn scalar(&self, value: Value) -> Scalar {
        self.sub.function.ty(value).scalar().unwrap_or(Scalar::I64)
    }

    /// A component as it was computed. What was not is unreachable.
    fn component(&self, value: Value, k: usize) -> Opd {
        match &self.values[value.index()] {
            Some(components) => components[k].clone(),
            None if self.sub.is_uniform(value) => zero_of(self.scalar(value)),
            None => Opd::zero(self.width().ty(self.scalar(value))),
        }
    }

    /// A component at a width at least its own.
    fn at(&mut self, value: Value, k: usize, width: Width) -> Opd {
        let component = self.component(value, k);
        if width == Width::One || !self.sub.is_uniform(value) {
            return component;
        }
        self.t.splat_to(self.lanes, &component)
    }

    fn mask_operand(&self) -> Opd {
        match &self.mask {
            Mask::Entry => self.entry_mask.clone(),
            Mask::Some(mask) => mask.clone(),
        }
    }

    fn any(&mut self, mask: &Opd) -> Opd {
        let lanes = self.lanes;
        let bits = self.t.bitcast(mask, llvm::Type::int(lanes as u32));
        self.t.icmp(IntPredicate::Ne, &bits, 0)
    }

    /// The lanes of both; a lane that is off in the first may hold poison in the second.
    fn both(&mut self, mask: &Opd, lanes: &Opd) -> Opd {
        self.t.expect(mask, self.mask_type());
        self.t.expect(lanes, self.mask_type());
        self.t.select(mask, lanes, 0)
    }

    fn either(&mut self, a: &Opd, b: &Opd) -> Opd {
        self.t.or(a, b)
    }

    fn not(&mut self, mask: &Opd) -> Opd {
        self.t.not(mask)
    }

    /// The address of a vector of one component of an argument or result.
    fn passed(&mut self, at: &Opd, ty: Type, component: usize) -> Opd {
        assert!(component < usize::from(ty.lanes()), "a {ty:?} has no component {component}");
        let bytes = component * LANES * passed_scalar(ty).size() as usize;
        self.t.offset(at, bytes as i64)
    }

    /// Clears the locals in memory where the subroutine begins: the stack there holds data of other
    /// functions, such as addresses of the host. LLVM removes this for locals that it keeps in registers.
    fn clear_locals(&mut self) {
        for (local, memory) in self.locals.iter().enumerate() {
            if let Some(memory) = memory {
                self.t.clear_at_entry(memory, self.sub.local_bytes(Local(local as u32)), 64);
            }
        }
    }

    fn load_parameters(&mut self) {
        let function = self.sub.function;
        for (at, &param) in function.params.iter().enumerate() {
            let ty = function.ty(param);
            let components = match self.parameters[at].clone() {
                Parameter::Private { .. } => vec![Opd::i64(0)],
                Parameter::Shared { offset, .. } if self.sub.is_uniform(param) => vec![offset],
                Parameter::Shared { offset, .. } => vec![self.load_passed(ty, &offset)],
                Parameter::Vectors(from) => (0..usize::from(ty.lanes()))
                    .map(|k| {
                        let place = self.passed(&from, ty, k);
                        self.load_passed(ty, &place)
                    })
                    .collect(),
            };
            self.values[param.index()] = Some(components);
        }
    }

    fn load_passed(&mut self, ty: Type, place: &Opd) -> Opd {
        let vector = self.width().ty(passed_scalar(ty));
        let value = self.t.load(vector, place, 1);
        if ty.scalar() == Some(Scalar::Bool) {
            return self.t.icmp(IntPredicate::Ne, &value, 0);
        }
        // A lane that is off may have passed anything.
        self.t.freeze(&value)
    }

    fn store_passed(&mut self, ty: Type, value: &Opd, place: &Opd) {
        let vector = self.width().ty(passed_scalar(ty));
        let value = match ty.scalar() {
            Some(Scalar::Bool) => self.t.zext(value, vector),
            _ => value.clone(),
        };
        self.t.store(&value, place, 1);
    }

    fn site(&mut self, inst: Inst, pointer: Value, kind: AccessKind, access_bytes: u32) -> u32 {
        let key = (self.shared.function_number, inst.0, kind as u8);
        if let Some(&site) = self.shared.site_numbers.get(&key) {
            return site;
        }
        let function = self.sub.function;
        let variable = match self.sub.pointer(pointer).root {
            Root::Global(global) => self.shared.module.globals[global.index()].name.clone(),
            Root::Local(local) => function.locals[local.index()].name.clone(),
            _ => String::new(),
        };
        let space = function.pointer_space(pointer);
        let loc = function.inst(inst).loc;
        let site = self.shared.sites.len() as u32;
        self.shared.sites.push(FaultSite { argument: None, variable, space, kind, access_bytes, loc });
        self.shared.site_numbers.insert(key, site);
        site
    }

    /// Emits one instruction.
    fn inst(&mut self, inst: Inst) {
        if self.polls.is_before(inst) {
            self.poll();
        }
        let function = self.sub.function;
        let data = function.inst(inst);
        if self.shared.options.comments {
            let result = data.result.map_or(String::new(), |value| format!(" {value}"));
            self.t.comment(format_args!("{inst}{result}"));
        }
        match &data.op {
            Op::LocalStart(_) => {}
            Op::Load { ptr, .. } => {
                let result = data.result.expect("a load has a result");
                self.load(inst, *ptr, result);
            }
            Op::Store { ptr, value, .. } => self.store(inst, *ptr, *value),
            Op::MemCopy { dst, src, size, align, .. } => self.copy(inst, *dst, *src, *size, *align),
            Op::MemZero { dst, size, align, .. } => self.clear(inst, *dst, *size, *align),
            Op::Call(callee, args) => self.call(inst, *callee, args, data.result),
            op if !op.blocks().is_empty() || op.is_terminator() => self.control(inst),
            op => {
                assert!(op.only_computes(), "{op:?} does not occur in called functions");
                if let Some(result) = data.result {
                    self.pure(inst, result);
                }
            }
        }
    }

    /// The number of a mask's first lane; the mask is not empty.
    fn first_lane(&mut self, mask: &Opd) -> Opd {
        let lanes = self.lanes;
        let bits = self.t.bitcast(mask, llvm::Type::int(lanes as u32));
        let bits = self.t.zext(&bits, I32);
        self.t.count_zeros("cttz", &bits, false)
    }
}
