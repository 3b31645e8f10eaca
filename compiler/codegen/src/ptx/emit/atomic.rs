//! Atomic operations, relaxed, with the scope that their memory needs.

use anymetal_abi::AccessKind;
use anymetal_ir::{AtomicOp, Inst, Op, Scalar, Value};

use super::{Emitter, zero};
use crate::llvm::{I32, I64, Opd, Rmw, SHARED, scalar_type};

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, inst: Inst) {
        let data = self.input.function.inst(inst);
        let (pointer, operands, kind): (Value, Vec<Value>, AccessKind) = match &data.op {
            Op::AtomicLoad(pointer) => (*pointer, Vec::new(), AccessKind::Load),
            Op::AtomicStore(pointer, value) => (*pointer, vec![*value], AccessKind::Store),
            Op::AtomicRmw(_, pointer, value) => (*pointer, vec![*value], AccessKind::Atomic),
            Op::AtomicCas(pointer, expected, desired) => {
                (*pointer, vec![*expected, *desired], AccessKind::Atomic)
            }
            op => unreachable!("{op:?} is not atomic"),
        };
        let typed = data.result.or(operands.first().copied());
        let scalar = self.scalar(typed.expect("an atomic operation has a result or an operand"));
        let operands: Vec<Opd> = operands.iter().map(|&operand| self.one(operand)).collect();
        let address = self.address(pointer, kind);
        let bytes = scalar.size();
        let site = self.site(inst, pointer, kind, bytes);
        let result = data.result.map(|_| zero(scalar));
        let op = &data.op;
        let value = self.guarded(&address, (bytes, bytes), site, result, |this, at| {
            this.atomic_at(op, scalar, at, &operands)
        });
        self.define(inst, value.into_iter().collect());
    }

    /// Floats are moved as their bits: NVPTX has loads, stores, exchanges and comparisons of integers.
    fn atomic_at(&mut self, op: &Op, scalar: Scalar, at: &Opd, operands: &[Opd]) -> Option<Opd> {
        let scope = if at.ty() == SHARED { "block" } else { "device" };
        let order = format!("syncscope(\"{scope}\") monotonic");
        let bytes = scalar.size();
        assert!(matches!(bytes, 4 | 8), "atomic operations do not have {bytes} bytes");
        let element = scalar_type(scalar);
        if let Op::AtomicRmw(op, ..) = op
            && *op != AtomicOp::Exchange
        {
            let how = format!("{order}, align {bytes}");
            return Some(self.t.atomicrmw((*op).into(), at, &operands[0], &how));
        }
        let bits = if bytes == 8 { I64 } else { I32 };
        let ints: Vec<Opd> = operands.iter().map(|operand| self.t.reinterpret(operand, bits)).collect();
        let old = match op {
            Op::AtomicLoad(_) => self.t.atomic_load(bits, at, &order, bytes),
            Op::AtomicRmw(..) => {
                self.t.atomicrmw(Rmw::Exchange, at, &ints[0], &format!("{order}, align {bytes}"))
            }
            Op::AtomicCas(..) => {
                let how = format!("{order} monotonic, align {bytes}");
                let exchanged = self.t.cmpxchg(at, [&ints[0], &ints[1]], &how);
                self.t.value_before(&exchanged)
            }
            Op::AtomicStore(..) => {
                self.t.atomic_store(&ints[0], at, &order, bytes);
                return None;
            }
            op => unreachable!("{op:?} is not atomic"),
        };
        Some(self.t.reinterpret(&old, element))
    }
}
