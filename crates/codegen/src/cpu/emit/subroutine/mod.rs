//! Functions that kernels call: private functions that are too large to be inlined everywhere.
//!
//! A subroutine works on as many lanes as a vector register has 32-bit elements, and is called once for each
//! such *batch* of a SIMD-group that has active lanes: so its values are registers, not several each, and its
//! code is a fraction of what it would be inlined.
//!
//! # Calling convention
//! `am.call.N(mask, record, first, stop, arguments…)` takes the mask of the SIMD-group, where faults are
//! noted, the number of its first thread and the address of the stop flag. It calls `am.sub.N` for each
//! batch, with the batch's own mask and first thread. A pointer is three arguments: the variable's memory,
//! the offset in it, and its bytes. Any other argument, and a result, which comes last, is the address of
//! vectors of all lanes, one for each component. Variables are in units of four bytes that are interleaved by
//! lane: unit `u` of lane `l` is at byte `(u × 32 + l) × 4`. So the memory of a batch is that of its first
//! lane on.
//!
//! Invariant: lanes that are off compute, but write no memory that a caller sees.

mod control;
mod memory;
mod plan;
mod pure;

use anymetal_ir::{FuncId, Inst, Op, Scalar, Type, Value};
use anymetal_launch_abi::AccessKind;

use super::{Shared, zero_of};
use crate::cpu::llvm_text::{BlockName, LANES, Opd, Text, scalar_type};
use crate::cpu::options::{CpuFeatures, FaultSite};
use crate::elementwise::Width;
use crate::roots::Root;

use plan::Subroutine;
pub(in crate::cpu) use plan::Subroutines;

/// Bytes of a unit of a variable's memory.
pub(in crate::cpu) const UNIT: u32 = 4;

/// How many lanes a subroutine works on.
fn batch_lanes(features: &CpuFeatures) -> usize {
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
    Pointer { base: Opd, start: Opd, len: Opd },
    Vectors(Opd),
}

/// One subroutine under construction.
struct Emitter<'a, 'm> {
    sub: &'a Subroutine<'m>,
    shared: &'a mut Shared<'m>,
    t: Text,
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
}

/// Writes all subroutines.
pub(super) fn texts<'m>(shared: &mut Shared<'m>, subroutines: &Subroutines<'m>) -> String {
    subroutines.all().map(|sub| batches(shared, sub) + &text(shared, sub)).collect()
}

/// The names of the operands of one argument, by what the argument is; a pointer's number is their start.
fn argument_types(ty: Type) -> &'static [&'static str] {
    if ty.is_ptr() { &["ptr", "i64", "i64"] } else { &["ptr"] }
}

/// Bytes of a scalar in vectors that are passed; `bool`s are bytes.
pub(super) fn passed_scalar(ty: Type) -> Scalar {
    match ty.scalar() {
        Some(Scalar::Bool) | None => Scalar::I8,
        Some(scalar) => scalar,
    }
}

/// The loop over the batches of a SIMD-group.
fn batches(shared: &Shared<'_>, sub: &Subroutine<'_>) -> String {
    let lanes = batch_lanes(&shared.options.features);
    let number = sub.id.0;
    let (mut parameters, mut arguments, mut places) = (String::new(), String::new(), String::new());
    let mut types: Vec<Type> = sub.function.params.iter().map(|param| sub.function.ty(*param)).collect();
    types.extend(sub.function.ret);
    for (at, ty) in types.iter().enumerate() {
        for (part, operand) in argument_types(*ty).iter().enumerate() {
            parameters.push_str(&format!(", {operand} %a{at}.{part}"));
            if part > 0 {
                arguments.push_str(&format!(", {operand} %a{at}.{part}"));
                continue;
            }
            let size = if ty.is_ptr() { UNIT } else { passed_scalar(*ty).size() };
            places.push_str(&format!(
                "  %o{at} = mul i64 %lane64, {size}\n  %p{at} = getelementptr i8, ptr %a{at}.0, i64 %o{at}\n"
            ));
            arguments.push_str(&format!(", ptr %p{at}"));
        }
    }
    format!(
        "define internal void @am.call.{number}(i32 %mask, ptr %record, i32 %first, ptr %stop{parameters}) noinline #0 {{
entry:
  br label %loop
loop:
  %lane = phi i32 [ 0, %entry ], [ %next, %more ]
  %bits = lshr i32 %mask, %lane
  %batch = trunc i32 %bits to i{lanes}
  %none = icmp eq i{lanes} %batch, 0
  br i1 %none, label %more, label %run
run:
  %lane64 = zext i32 %lane to i64
{places}  %thread = add i32 %first, %lane
  call void @am.sub.{number}(i{lanes} %batch, ptr %record, i32 %thread, ptr %stop{arguments})
  br label %more
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
    let mut t = Text::new(0);
    let [bits, record, first, stop] = std::array::from_fn(|_| t.register());
    let mut header = format!(
        "define internal void @am.sub.{}(i{lanes} {bits}, ptr {record}, i32 {first}, ptr {stop}",
        sub.id.0
    );
    let mut take = |t: &mut Text, ty: Type| {
        let operands: Vec<Opd> = argument_types(ty).iter().map(|_| t.register()).collect();
        for (operand, ty) in operands.iter().zip(argument_types(ty)) {
            header.push_str(&format!(", {ty} {operand}"));
        }
        match operands.as_slice() {
            [base, start, len] => {
                Parameter::Pointer { base: base.clone(), start: start.clone(), len: len.clone() }
            }
            _ => Parameter::Vectors(operands[0].clone()),
        }
    };
    let parameters = sub.function.params.iter().map(|param| take(&mut t, sub.function.ty(*param))).collect();
    let result = sub.function.ret.map(|ty| match take(&mut t, ty) {
        Parameter::Vectors(at) => at,
        Parameter::Pointer { base, .. } => base,
    });
    header.push_str(") noinline #0");
    let entry_mask = t.entry_value(format_args!("bitcast i{lanes} {bits} to <{lanes} x i1>"));
    let (begin, exit) = (t.block(), t.block());
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
    };
    emitter.t.label(begin);
    emitter.load_parameters();
    emitter.block(sub.function.body);
    emitter.t.label(exit);
    emitter.t.terminator("ret void");
    emitter.shared.declares.extend(emitter.t.take_declares());
    emitter.t.finish(&header, begin)
}

impl Emitter<'_, '_> {
    /// All lanes.
    fn width(&self) -> Width {
        Width::Few(self.lanes)
    }

    fn mask_type(&self) -> String {
        self.width().of("i1")
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
            None => Opd::text("zeroinitializer"),
        }
    }

    /// A component at a width at least its own.
    fn at(&mut self, value: Value, k: usize, width: Width) -> Opd {
        let component = self.component(value, k);
        if width == Width::One || !self.sub.is_uniform(value) {
            return component;
        }
        let element = scalar_type(self.scalar(value));
        self.t.splat_to(self.lanes, element, &component)
    }

    fn mask_operand(&self) -> Opd {
        match &self.mask {
            Mask::Entry => self.entry_mask.clone(),
            Mask::Some(mask) => mask.clone(),
        }
    }

    fn any(&mut self, mask: &Opd) -> Opd {
        let (ty, lanes) = (self.mask_type(), self.lanes);
        let bits = self.t.value(format_args!("bitcast {ty} {mask} to i{lanes}"));
        self.t.value(format_args!("icmp ne i{lanes} {bits}, 0"))
    }

    /// The lanes of both; a lane that is off in the first may hold poison in the second.
    fn both(&mut self, mask: &Opd, lanes: &Opd) -> Opd {
        let ty = self.mask_type();
        self.t.value(format_args!("select {ty} {mask}, {ty} {lanes}, {ty} zeroinitializer"))
    }

    fn either(&mut self, a: &Opd, b: &Opd) -> Opd {
        let ty = self.mask_type();
        self.t.value(format_args!("or {ty} {a}, {b}"))
    }

    fn not(&mut self, mask: &Opd) -> Opd {
        let ty = self.mask_type();
        self.t.value(format_args!("xor {ty} {mask}, splat (i1 true)"))
    }

    /// The address of a vector of one component of an argument or result.
    fn passed(&mut self, at: &Opd, ty: Type, component: usize) -> Opd {
        let bytes = component * LANES * passed_scalar(ty).size() as usize;
        self.t.offset(at, &Opd::Int(bytes as i64))
    }

    fn load_parameters(&mut self) {
        let function = self.sub.function;
        for (at, &param) in function.params.iter().enumerate() {
            let ty = function.ty(param);
            let components = match self.parameters[at].clone() {
                Parameter::Pointer { .. } => vec![Opd::Int(0)],
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
        let value = self.t.load(&vector, place, 1);
        if ty.scalar() == Some(Scalar::Bool) {
            return self.t.value(format_args!("icmp ne {vector} {value}, zeroinitializer"));
        }
        // A lane that is off may have passed anything.
        self.t.value(format_args!("freeze {vector} {value}"))
    }

    fn store_passed(&mut self, ty: Type, value: &Opd, place: &Opd) {
        let vector = self.width().ty(passed_scalar(ty));
        let value = match ty.scalar() {
            Some(Scalar::Bool) => {
                let mask = self.mask_type();
                self.t.value(format_args!("zext {mask} {value} to {vector}"))
            }
            _ => value.clone(),
        };
        self.t.store(&vector, &value, place, 1);
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
        let space = crate::cpu::shape::flow::ptr_space(function, pointer);
        let loc = function.inst(inst).loc;
        let site = self.shared.sites.len() as u32;
        self.shared.sites.push(FaultSite { argument: None, variable, space, kind, access_bytes, loc });
        self.shared.site_numbers.insert(key, site);
        site
    }

    /// Emits one instruction.
    fn inst(&mut self, inst: Inst) {
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
            Op::MemCopy { dst, src, size, align } => self.copy(inst, *dst, *src, *size, *align),
            Op::MemZero { dst, size, align } => self.clear(inst, *dst, *size, *align),
            Op::Call(callee, args) => self.call(*callee, args, data.result),
            op if !op.blocks().is_empty() || op.is_terminator() => self.control(inst),
            _ => {
                if let Some(result) = data.result {
                    self.pure(inst, result);
                }
            }
        }
    }

    /// Calls another subroutine for this batch.
    fn call(&mut self, callee: FuncId, args: &[Value], result: Option<Value>) {
        let function = self.sub.function;
        let varying: Vec<Value> = args
            .iter()
            .copied()
            .filter(|&arg| function.ty(arg).is_ptr() && !self.sub.is_uniform(arg))
            .collect();
        let result_ty = result.map(|result| function.ty(result));
        let operands: Vec<Option<Opd>> = args.iter().map(|&arg| self.pass(arg)).collect();
        let into = result_ty.map(|ty| self.vectors(ty));
        if varying.is_empty() {
            let mask = self.mask_operand();
            let offsets: Vec<Opd> = args.iter().map(|&arg| self.component(arg, 0)).collect();
            self.call_under(callee, args, &operands, &offsets, into.as_ref(), &mask);
        } else {
            self.call_by_offsets(callee, args, &operands, &varying, into.as_ref());
        }
        if let (Some(result), Some(ty), Some(into)) = (result, result_ty, into) {
            let components = (0..usize::from(ty.lanes())).map(|k| {
                let place = self.passed(&into, ty, k);
                self.load_passed(ty, &place)
            });
            self.values[result.index()] = Some(components.collect());
        }
    }

    /// Memory of vectors that are passed.
    fn vectors(&mut self, ty: Type) -> Opd {
        let bytes = usize::from(ty.lanes()) * LANES * passed_scalar(ty).size() as usize;
        self.t.alloca(&format!("[{bytes} x i8]"), 64)
    }

    /// The vectors of an argument that is no pointer.
    fn pass(&mut self, arg: Value) -> Option<Opd> {
        let ty = self.sub.function.ty(arg);
        if ty.is_ptr() {
            return None;
        }
        let into = self.vectors(ty);
        for k in 0..usize::from(ty.lanes()) {
            let value = self.at(arg, k, self.width());
            let place = self.passed(&into, ty, k);
            self.store_passed(ty, &value, &place);
        }
        Some(into)
    }

    fn call_under(
        &mut self,
        callee: FuncId,
        args: &[Value],
        operands: &[Option<Opd>],
        offsets: &[Opd],
        into: Option<&Opd>,
        mask: &Opd,
    ) {
        let (ty, lanes) = (self.mask_type(), self.lanes);
        let bits = self.t.value(format_args!("bitcast {ty} {mask} to i{lanes}"));
        let mut text = format!(
            "call void @am.sub.{}(i{lanes} {bits}, ptr {}, i32 {}, ptr {}",
            callee.0, self.record, self.first, self.stop
        );
        for ((&arg, operand), offset) in args.iter().zip(operands).zip(offsets) {
            match operand {
                Some(vectors) => text.push_str(&format!(", ptr {vectors}")),
                None => {
                    let memory = self.memory(arg);
                    let start = self.t.add("i64", &memory.start, offset);
                    text.push_str(&format!(", ptr {}, i64 {start}, i64 {}", memory.base, memory.len));
                }
            }
        }
        if let Some(into) = into {
            text.push_str(&format!(", ptr {into}"));
        }
        self.t.line(text + ")");
    }

    /// Calls once for each set of lanes that agree on the offsets of all pointers.
    fn call_by_offsets(
        &mut self,
        callee: FuncId,
        args: &[Value],
        operands: &[Option<Opd>],
        varying: &[Value],
        into: Option<&Opd>,
    ) {
        let (ty, lanes) = (self.mask_type(), self.lanes);
        let slot = self.t.alloca(&ty, 4);
        let mask = self.mask_operand();
        self.t.store(&ty, &mask, &slot, 4);
        let (head, run, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.label(head);
        let left = self.t.load(&ty, &slot, 4);
        let any = self.any(&left);
        self.t.branch_if(&any, run, done);
        self.t.label(run);
        let lane = self.first_lane(&left);
        let mut same = left.clone();
        let mut offsets: Vec<Opd> = args.iter().map(|&arg| self.component(arg, 0)).collect();
        for (at, arg) in args.iter().enumerate().filter(|(_, arg)| varying.contains(arg)) {
            let vector = self.component(*arg, 0);
            offsets[at] = self.t.value(format_args!("extractelement <{lanes} x i64> {vector}, i32 {lane}"));
            let all = self.t.splat_to(lanes, "i64", &offsets[at].clone());
            let equal = self.t.value(format_args!("icmp eq <{lanes} x i64> {vector}, {all}"));
            same = self.both(&same, &equal);
        }
        self.call_under(callee, args, operands, &offsets, into, &same);
        let others = self.not(&same);
        let rest = self.both(&left, &others);
        self.t.store(&ty, &rest, &slot, 4);
        self.t.branch(head);
        self.t.label(done);
    }

    /// The number of a mask's first lane; the mask is not empty.
    fn first_lane(&mut self, mask: &Opd) -> Opd {
        let (ty, lanes) = (self.mask_type(), self.lanes);
        self.t.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        let bits = self.t.value(format_args!("bitcast {ty} {mask} to i{lanes}"));
        let bits = self.t.value(format_args!("zext i{lanes} {bits} to i32"));
        self.t.value(format_args!("call i32 @llvm.cttz.i32(i32 {bits}, i1 false)"))
    }
}
