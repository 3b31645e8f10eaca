//! Calls of a subroutine from another one, for the lanes of a batch.

use anymetal_ir::{FuncId, Inst, Op, Space, Type, Value};

use super::memory::Memory;
use super::{Emitter, Passing, passed_bytes};
use crate::llvm::{self, Bound, I8, IntPredicate, Opd};

/// What an argument of a call is passed as, but for what follows from a pointer's allocation.
enum Passed {
    Private,
    /// The offset, or where those of the lanes are, and the operand's type.
    Shared(Opd),
    Vectors(Opd),
}

impl Emitter<'_, '_> {
    /// Calls another subroutine for this batch.
    pub(super) fn call(&mut self, inst: Inst, callee: FuncId, args: &[Value], result: Option<Value>) {
        let function = self.sub.function;
        let is_private = |arg: Value| function.ty(arg) == Type::Ptr(Space::Thread);
        let varying: Vec<Value> =
            args.iter().copied().filter(|&arg| is_private(arg) && !self.sub.is_uniform(arg)).collect();
        let result_ty = result.map(|result| function.ty(result));
        let passings = self.shared.passings.get(&callee).cloned().unwrap_or_default();
        assert_eq!(
            passings.len(),
            args.len(),
            "the plan has a passing convention for every argument of {callee:?}"
        );
        let operands: Vec<Passed> =
            args.iter().zip(passings).map(|(&arg, passing)| self.pass(arg, passing)).collect();
        // Lanes that the callee does not return for keep what is there.
        let into = result_ty.map(|ty| {
            let into = self.vectors(ty);
            self.t.clear_at_entry(&into, passed_bytes(ty), 64);
            into
        });
        if varying.is_empty() {
            let mask = self.mask_operand();
            let offsets: Vec<Opd> = args.iter().map(|&arg| self.component(arg, 0)).collect();
            self.call_under(callee, args, &operands, &offsets, into.as_ref(), &mask);
            self.poll_after_call(inst);
        } else {
            self.call_by_offsets(inst, args, &operands, &varying, into.as_ref());
        }
        if let (Some(result), Some(ty), Some(into)) = (result, result_ty, into) {
            let components = (0..usize::from(ty.lanes())).map(|k| {
                let place = self.passed(&into, ty, k);
                self.load_passed(ty, &place)
            });
            self.values[result.index()] = Some(components.collect());
        }
    }

    /// Polls where the callee may have come back because it did.
    fn poll_after_call(&mut self, inst: Inst) {
        if self.polls.is_after_call(inst) {
            self.poll();
        }
    }

    /// Memory of vectors that are passed.
    fn vectors(&mut self, ty: Type) -> Opd {
        let bytes = passed_bytes(ty);
        self.t.alloca_array(bytes, I8, 64)
    }

    /// Writes what is passed in memory.
    fn pass(&mut self, arg: Value, passing: Passing) -> Passed {
        match passing {
            Passing::Private { .. } => Passed::Private,
            Passing::Shared { uniform: true } => Passed::Shared(self.component(arg, 0)),
            Passing::Shared { uniform: false } => Passed::Shared(self.pass_vectors(arg)),
            Passing::Value => Passed::Vectors(self.pass_vectors(arg)),
        }
    }

    fn pass_vectors(&mut self, arg: Value) -> Opd {
        let ty = self.sub.function.ty(arg);
        let into = self.vectors(ty);
        for k in 0..usize::from(ty.lanes()) {
            let value = self.at(arg, k, self.width());
            let place = self.passed(&into, ty, k);
            self.store_passed(ty, &value, &place);
        }
        into
    }

    fn call_under(
        &mut self,
        callee: FuncId,
        args: &[Value],
        operands: &[Passed],
        offsets: &[Opd],
        into: Option<&Opd>,
        mask: &Opd,
    ) {
        assert_eq!(args.len(), operands.len(), "each argument has operands");
        self.t.expect(mask, self.mask_type());
        let lanes = self.lanes;
        let bits = self.t.bitcast(mask, llvm::Type::int(lanes as u32));
        let mut passed = vec![bits, self.record.clone(), self.first.clone(), self.stop.clone()];
        for ((&arg, operand), offset) in args.iter().zip(operands).zip(offsets) {
            match operand {
                Passed::Vectors(vectors) => passed.push(vectors.clone()),
                Passed::Shared(offset) => {
                    let Memory { base, len, before, .. } = self.memory(arg);
                    passed.extend([base, len, before, offset.clone()]);
                }
                Passed::Private => {
                    let memory = self.memory(arg);
                    let start = self.t.add(&memory.start, offset);
                    passed.extend([memory.base, start, memory.len]);
                }
            }
        }
        passed.extend(into.cloned());
        let passed: Vec<&Opd> = passed.iter().collect();
        self.t.call_void(format!("am.sub.{}", callee.0), &passed);
    }

    /// Calls once for each set of lanes that agree on the offsets of all pointers.
    fn call_by_offsets(
        &mut self,
        inst: Inst,
        args: &[Value],
        operands: &[Passed],
        varying: &[Value],
        into: Option<&Opd>,
    ) {
        let Op::Call(callee, _) = self.sub.function.inst(inst).op else {
            unreachable!("{inst} is not a call")
        };
        let (ty, lanes) = (self.mask_type(), self.lanes);
        let slot = self.t.alloca(ty, 4);
        let mask = self.mask_operand();
        self.t.store(&mask, &slot, 4);
        let (head, run, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(lanes as u64));
        let left = self.t.load(ty, &slot, 4);
        let any = self.any(&left);
        self.t.branch_if(&any, run, done);
        self.t.label(run);
        let lane = self.first_lane(&left);
        let mut same = left.clone();
        let mut offsets: Vec<Opd> = args.iter().map(|&arg| self.component(arg, 0)).collect();
        for (at, arg) in args.iter().enumerate().filter(|(_, arg)| varying.contains(arg)) {
            let vector = self.component(*arg, 0);
            offsets[at] = self.t.extract(&vector, &lane);
            let all = self.t.splat_to(lanes, &offsets[at].clone());
            let equal = self.t.icmp(IntPredicate::Eq, &vector, &all);
            same = self.both(&same, &equal);
        }
        self.call_under(callee, args, operands, &offsets, into, &same);
        self.poll_after_call(inst);
        let others = self.not(&same);
        let rest = self.both(&left, &others);
        self.t.store(&rest, &slot, 4);
        self.t.branch(head);
        self.t.label(done);
    }
}
