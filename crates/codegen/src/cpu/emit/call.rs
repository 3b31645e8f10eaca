//! Calls of subroutines from a kernel, for all lanes that are on.
//!
//! What is passed is written to memory as `subroutine` says. Pointers are to private arrays, at an offset
//! that is the same in all lanes: lanes whose offsets differ call one set after the other.

use anymetal_ir::{FuncId, Scalar, Type, Value};

use super::lane::Lane;
use super::subroutine::passed_scalar;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, scalar_type};

/// What one argument is passed as, up to the offset of a pointer.
enum Argument {
    Pointer { base: Opd, len: Opd, offset: Offset },
    Vectors(Opd),
}

enum Offset {
    Same(Opd),
    OfLanes(Opd),
}

impl Emitter<'_, '_> {
    pub(super) fn call(&mut self, callee: FuncId, args: &[Value], result: Option<Value>) {
        let arguments: Vec<Argument> = args.iter().map(|&arg| self.argument(arg)).collect();
        let result_ty = result.map(|result| self.function().ty(result));
        let into = result_ty.map(|ty| self.passed_vectors(ty));
        let differ =
            |argument: &Argument| matches!(argument, Argument::Pointer { offset: Offset::OfLanes(_), .. });
        let mask = self.mask.clone();
        let bits = self.mask_bits(&mask);
        if arguments.iter().any(differ) {
            self.call_by_offsets(callee, &arguments, into.as_ref(), &bits);
        } else {
            self.call_under(callee, &arguments, None, into.as_ref(), &bits);
        }
        if let (Some(result), Some(ty), Some(into)) = (result, result_ty, into) {
            let lanes = (0..usize::from(ty.lanes())).map(|k| self.load_passed(ty, &into, k)).collect();
            self.define(result, lanes);
        }
    }

    fn passed_vectors(&mut self, ty: Type) -> Opd {
        let bytes = usize::from(ty.lanes()) * LANES * passed_scalar(ty).size() as usize;
        self.t.alloca(&format!("[{bytes} x i8]"), 64)
    }

    fn passed_place(&mut self, ty: Type, at: &Opd, component: usize) -> Opd {
        let bytes = component * LANES * passed_scalar(ty).size() as usize;
        self.t.offset(at, &Opd::Int(bytes as i64))
    }

    fn load_passed(&mut self, ty: Type, from: &Opd, component: usize) -> Lane {
        let place = self.passed_place(ty, from, component);
        let vector = lanes_type(scalar_type(passed_scalar(ty)));
        let value = self.t.load(&vector, &place, 1);
        // No lane that is off has one.
        let value = self.t.value(format_args!("freeze {vector} {value}"));
        Lane::Varying(match ty.scalar() {
            Some(Scalar::Bool) => self.t.value(format_args!("icmp ne {vector} {value}, zeroinitializer")),
            _ => value,
        })
    }

    fn argument(&mut self, arg: Value) -> Argument {
        let ty = self.function().ty(arg);
        if ty.is_ptr() {
            let place = self.place(self.facts.storage.pointer(arg).root);
            let lane = self.lane(arg, 0);
            let offset = match lane.is_uniform() {
                true => Offset::Same(lane.at(&mut self.t, "i64", 0)),
                false => Offset::OfLanes(self.vector(arg, 0)),
            };
            return Argument::Pointer { base: place.base, len: place.len, offset };
        }
        let into = self.passed_vectors(ty);
        let scalar = passed_scalar(ty);
        let vector = lanes_type(scalar_type(scalar));
        for k in 0..usize::from(ty.lanes()) {
            let value = self.vector(arg, k);
            let value = match ty.scalar() {
                Some(Scalar::Bool) => self.t.value(format_args!("zext {MASK} {value} to {vector}")),
                _ => value,
            };
            let place = self.passed_place(ty, &into, k);
            self.t.store(&vector, &value, &place, 1);
        }
        Argument::Vectors(into)
    }

    fn call_under(
        &mut self,
        callee: FuncId,
        arguments: &[Argument],
        lane: Option<&Opd>,
        into: Option<&Opd>,
        bits: &Opd,
    ) {
        let record = self.slow_buffers().record;
        let (first, stop) = (self.first.clone(), self.stop_pointer());
        let mut text =
            format!("call void @am.call.{}(i32 {bits}, ptr {record}, i32 {first}, ptr {stop}", callee.0);
        for argument in arguments {
            match argument {
                Argument::Vectors(at) => text.push_str(&format!(", ptr {at}")),
                Argument::Pointer { base, len, offset } => {
                    let offset = self.one_offset(offset, lane);
                    text.push_str(&format!(", ptr {base}, i64 {offset}, i64 {len}"));
                }
            }
        }
        if let Some(into) = into {
            text.push_str(&format!(", ptr {into}"));
        }
        self.t.line(text + ")");
    }

    fn one_offset(&mut self, offset: &Offset, lane: Option<&Opd>) -> Opd {
        match (offset, lane) {
            (Offset::OfLanes(vector), Some(lane)) => {
                self.t.value(format_args!("extractelement <32 x i64> {vector}, i32 {lane}"))
            }
            (Offset::OfLanes(_), None) => Opd::Int(0),
            (Offset::Same(offset), _) => offset.clone(),
        }
    }

    /// Calls once for each set of lanes that agree on all offsets.
    fn call_by_offsets(&mut self, callee: FuncId, arguments: &[Argument], into: Option<&Opd>, bits: &Opd) {
        self.t.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        let slot = self.t.alloca("i32", 4);
        self.t.store("i32", bits, &slot, 4);
        let (head, run, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.label(head);
        let left = self.t.load("i32", &slot, 4);
        let none = self.t.icmp("eq", "i32", &left, &Opd::Int(0));
        self.t.branch_if(&none, done, run);
        self.t.label(run);
        let lane = self.t.value(format_args!("call i32 @llvm.cttz.i32(i32 {left}, i1 false)"));
        let mut same = left.clone();
        for argument in arguments {
            let Argument::Pointer { offset: Offset::OfLanes(vector), .. } = argument else { continue };
            let one = self.t.value(format_args!("extractelement <32 x i64> {vector}, i32 {lane}"));
            let all = self.t.splat("i64", &one);
            let equal = self.t.value(format_args!("icmp eq <32 x i64> {vector}, {all}"));
            let equal = self.mask_bits(&Mask::Some(equal));
            same = self.t.value(format_args!("and i32 {same}, {equal}"));
        }
        self.call_under(callee, arguments, Some(&lane), into, &same);
        let rest = self.t.value(format_args!("xor i32 {left}, {same}"));
        self.t.store("i32", &rest, &slot, 4);
        self.t.branch(head);
        self.t.label(done);
    }
}
