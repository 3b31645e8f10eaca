//! Calls of subroutines from a kernel, for all lanes that are on.
//!
//! What is passed is written to memory as `subroutine` says. Pointers to private arrays are passed with
//! an offset that is the same in all lanes, pointers to memory that threads share with one allocation:
//! lanes that differ in these call one set after the other.

use anymetal_abi::resident::ADDRESS_BITS;
use anymetal_ir::{FuncId, Inst, Scalar, Type, Value};
use anymetal_opt::RemarkId;

use super::allocation::Place;
use super::lane::Lane;
use super::subroutine::{Passing, passed_bytes, passed_scalar};
use super::{Emitter, Mask};
use crate::llvm::{Bound, I8, I32, I64, IntPredicate, LANES, Opd, scalar_type};
use anymetal_simd::storage::Root;

/// What one argument is passed as, up to what lanes may differ in.
enum Argument {
    Private {
        base: Opd,
        len: Opd,
        offset: Offset,
    },
    Shared {
        allocation: Allocation,
        /// An offset, or the address of those of the lanes.
        offset: Opd,
    },
    Vectors(Opd),
}

enum Allocation {
    Same {
        base: Opd,
        len: Opd,
        before: Opd,
    },
    /// Of tagged pointers, the lanes'.
    OfLanes {
        codes: Opd,
        stores: bool,
    },
}

enum Offset {
    Same(Opd),
    OfLanes(Opd),
}

impl Argument {
    /// What lanes that are called for together agree on, if they may differ: the bits of a vector from
    /// one on.
    fn key(&self) -> Option<(&Opd, u32)> {
        match self {
            Self::Private { offset: Offset::OfLanes(offsets), .. } => Some((offsets, 0)),
            Self::Shared { allocation: Allocation::OfLanes { codes, .. }, .. } => Some((codes, ADDRESS_BITS)),
            _ => None,
        }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn call(&mut self, inst: Inst, callee: FuncId, args: &[Value], result: Option<Value>) {
        self.remark(inst, RemarkId::CallKept, |this, remark| {
            remark.with("callee", this.shared.module.function(callee).name.clone())
        });
        let passings = self.shared.passings.get(&callee).cloned().unwrap_or_default();
        assert_eq!(
            passings.len(),
            args.len(),
            "the plan has a passing convention for every argument of {callee:?}"
        );
        let stored = self.shared.stores.of(self.shared.module, callee);
        let arguments: Vec<Argument> = args
            .iter()
            .zip(passings)
            .enumerate()
            .map(|(index, (&arg, passing))| self.argument(arg, passing, stored.has_parameter(index)))
            .collect();
        let result_ty = result.map(|result| self.function().ty(result));
        let into = result_ty.map(|ty| self.result_vectors(ty));
        let mask = self.position.mask.clone();
        let bits = self.mask_bits(&mask);
        if arguments.iter().any(|argument| argument.key().is_some()) {
            self.call_by_offsets(inst, callee, &arguments, into.as_ref(), &bits);
        } else {
            self.call_under(callee, &arguments, None, into.as_ref(), &bits);
            self.poll_after_call(inst);
        }
        if let (Some(result), Some(ty), Some(into)) = (result, result_ty, into) {
            let lanes = (0..usize::from(ty.lanes())).map(|k| self.load_passed(ty, &into, k)).collect();
            self.define(result, lanes);
        }
    }

    /// Polls where the callee may have come back because it did.
    fn poll_after_call(&mut self, inst: Inst) {
        if self.plan.polls.is_after_call(inst) {
            self.poll();
        }
    }

    fn passed_vectors(&mut self, ty: Type) -> Opd {
        let bytes = passed_bytes(ty);
        self.t.alloca_array(bytes, I8, 64)
    }

    /// Memory of a result. Batches without active lanes do not write theirs.
    fn result_vectors(&mut self, ty: Type) -> Opd {
        let bytes = passed_bytes(ty);
        self.t.zeroed_array(bytes, I8, 64)
    }

    fn passed_place(&mut self, ty: Type, at: &Opd, component: usize) -> Opd {
        assert!(component < usize::from(ty.lanes()), "a {ty:?} has no component {component}");
        let bytes = component * LANES * passed_scalar(ty).size() as usize;
        self.t.offset(at, bytes as i64)
    }

    fn load_passed(&mut self, ty: Type, from: &Opd, component: usize) -> Lane {
        let place = self.passed_place(ty, from, component);
        let vector = scalar_type(passed_scalar(ty)).lanes();
        let value = self.t.load(vector, &place, 1);
        // No lane that is off has one.
        let value = self.t.freeze(&value);
        Lane::Varying(match ty.scalar() {
            Some(Scalar::Bool) => self.t.icmp(IntPredicate::Ne, &value, 0),
            _ => value,
        })
    }

    /// `stores`: the function may store through it.
    fn argument(&mut self, arg: Value, passing: Passing, stores: bool) -> Argument {
        match passing {
            Passing::Private { .. } => self.private_argument(arg),
            Passing::Shared { uniform } => self.shared_argument(arg, uniform, stores),
            Passing::Value => Argument::Vectors(self.pass_value(arg)),
        }
    }

    fn private_argument(&mut self, arg: Value) -> Argument {
        let place = self.place(self.plan.facts.storage.pointer(arg).root);
        let lane = self.lane(arg, 0);
        let offset = match lane.is_uniform() {
            true => Offset::Same(lane.at(&mut self.t, I64, 0)),
            false => Offset::OfLanes(self.vector(arg, 0)),
        };
        Argument::Private { base: place.base, len: place.len, offset }
    }

    fn shared_argument(&mut self, arg: Value, uniform: bool, stores: bool) -> Argument {
        let root = self.plan.facts.storage.pointer(arg).root;
        let is_encoded = root == Root::Many;
        if is_encoded && !uniform && !self.lane(arg, 0).is_uniform() {
            let codes = self.vector(arg, 0);
            let offsets = self.decode_offset(&codes);
            let offset = self.pass_offsets(&offsets);
            let allocation = Allocation::OfLanes { codes, stores };
            return Argument::Shared { allocation, offset };
        }
        let (place, one) = match (is_encoded, uniform) {
            (true, _) => {
                let code = self.any_lane(arg);
                let (place, offset) = self.decode(&code, stores);
                (place, Some(offset))
            }
            (false, true) => (self.place(root), Some(self.any_lane(arg))),
            (false, false) => (self.place(root), None),
        };
        let allocation = self.one_allocation(&place);
        match one {
            Some(offset) if uniform => Argument::Shared { allocation, offset },
            Some(offset) => {
                let offsets = self.t.splat(&offset);
                Argument::Shared { allocation, offset: self.pass_offsets(&offsets) }
            }
            None => {
                let offsets = self.vector(arg, 0);
                Argument::Shared { allocation, offset: self.pass_offsets(&offsets) }
            }
        }
    }

    fn one_allocation(&mut self, place: &Place) -> Allocation {
        let before = self.before(place);
        Allocation::Same { base: place.base.clone(), len: place.len.clone(), before }
    }

    /// What active lanes agree on, whatever its shape.
    fn any_lane(&mut self, value: Value) -> Opd {
        let lane = self.lane(value, 0);
        if lane.is_uniform() {
            return lane.at(&mut self.t, I64, 0);
        }
        let (vector, first) = (self.vector(value, 0), self.first_lane());
        self.t.extract(&vector, &first)
    }

    fn pass_offsets(&mut self, offsets: &Opd) -> Opd {
        let ty = I64.lanes();
        let into = self.t.alloca(ty, 64);
        self.t.store(offsets, &into, 64);
        into
    }

    fn pass_value(&mut self, arg: Value) -> Opd {
        let ty = self.function().ty(arg);
        let into = self.passed_vectors(ty);
        let vector = scalar_type(passed_scalar(ty)).lanes();
        for k in 0..usize::from(ty.lanes()) {
            let value = self.vector(arg, k);
            let value = match ty.scalar() {
                Some(Scalar::Bool) => self.t.zext(&value, vector),
                _ => value,
            };
            let place = self.passed_place(ty, &into, k);
            self.t.store(&value, &place, 1);
        }
        into
    }

    fn call_under(
        &mut self,
        callee: FuncId,
        arguments: &[Argument],
        lane: Option<&Opd>,
        into: Option<&Opd>,
        bits: &Opd,
    ) {
        self.t.expect(bits, I32);
        assert!(!bits.is_int(0), "functions are called for at least one lane");
        let record = self.slow_buffers().record;
        let (first, stop) = (self.position.first.clone(), self.stop_pointer());
        let mut passed = vec![bits.clone(), record, first, stop];
        for argument in arguments {
            match argument {
                Argument::Vectors(at) => passed.push(at.clone()),
                Argument::Private { base, len, offset } => {
                    let offset = self.one_offset(offset, lane);
                    passed.extend([base.clone(), offset, len.clone()]);
                }
                Argument::Shared { allocation, offset } => {
                    let (base, len, before) = self.allocation_of(allocation, lane);
                    passed.extend([base, len, before, offset.clone()]);
                }
            }
        }
        passed.extend(into.cloned());
        let passed: Vec<&Opd> = passed.iter().collect();
        self.t.call_void(format!("am.call.{}", callee.0), &passed);
    }

    fn one_offset(&mut self, offset: &Offset, lane: Option<&Opd>) -> Opd {
        match (offset, lane) {
            (Offset::OfLanes(vector), Some(lane)) => self.t.extract(vector, lane),
            (Offset::OfLanes(_), None) => unreachable!("calls by offset name a lane"),
            (Offset::Same(offset), _) => offset.clone(),
        }
    }

    /// Base, length, and the bytes before; of the lane's allocation if lanes differ.
    fn allocation_of(&mut self, allocation: &Allocation, lane: Option<&Opd>) -> (Opd, Opd, Opd) {
        match (allocation, lane) {
            (Allocation::Same { base, len, before }, _) => (base.clone(), len.clone(), before.clone()),
            (Allocation::OfLanes { codes, stores }, Some(lane)) => {
                let code = self.t.extract(codes, lane);
                let (place, _) = self.decode(&code, *stores);
                let before = self.before(&place);
                (place.base, place.len, before)
            }
            (Allocation::OfLanes { .. }, None) => unreachable!("calls by allocation name a lane"),
        }
    }

    /// Calls once for each set of lanes that agree on all private offsets and allocations.
    fn call_by_offsets(
        &mut self,
        inst: Inst,
        callee: FuncId,
        arguments: &[Argument],
        into: Option<&Opd>,
        bits: &Opd,
    ) {
        let slot = self.t.alloca(I32, 4);
        self.t.store(bits, &slot, 4);
        let (head, run, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(LANES as u64));
        let left = self.t.load(I32, &slot, 4);
        let none = self.t.icmp(IntPredicate::Eq, &left, 0);
        self.t.branch_if(&none, done, run);
        self.t.label(run);
        let lane = self.t.count_zeros("cttz", &left, false);
        let mut same = left.clone();
        for argument in arguments {
            let Some((vector, bits)) = argument.key() else { continue };
            let vector = self.t.lshr(vector, i64::from(bits));
            let one = self.t.extract(&vector, &lane);
            let all = self.t.splat(&one);
            let equal = self.t.icmp(IntPredicate::Eq, &vector, &all);
            let equal = self.mask_bits(&Mask::Some(equal));
            same = self.t.and(&same, &equal);
        }
        self.call_under(callee, arguments, Some(&lane), into, &same);
        self.poll_after_call(inst);
        let rest = self.t.xor(&left, &same);
        self.t.store(&rest, &slot, 4);
        self.t.branch(head);
        self.t.label(done);
    }
}
