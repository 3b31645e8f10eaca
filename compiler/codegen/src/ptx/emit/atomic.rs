//! Atomic operations, relaxed, with the scope that their memory needs.

use anymetal_abi::AccessKind;
use anymetal_ir::{AtomicOp, Inst, Op, Scalar, Value};

use super::{Emitter, zero};
use crate::llvm_text::{Opd, rmw_name, scalar_type};

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
        let result = data.result.map(|_| (scalar_type(scalar), zero(scalar)));
        let space = address.place.ty;
        let op = &data.op;
        let value = self.guarded(&address, (bytes, bytes), site, result, |this, at| {
            this.atomic_at(op, scalar, &format!("{space} {at}"), space, &operands)
        });
        self.define(inst, value.into_iter().collect());
    }

    /// Floats are moved as their bits: NVPTX has loads, stores, exchanges and comparisons of integers.
    fn atomic_at(&mut self, op: &Op, scalar: Scalar, at: &str, space: &str, operands: &[Opd]) -> Option<Opd> {
        let scope = if space == "ptr addrspace(3)" { "block" } else { "device" };
        let order = format!("syncscope(\"{scope}\") monotonic");
        let bytes = scalar.size();
        assert!(matches!(bytes, 4 | 8), "atomic operations do not have {bytes} bytes");
        let element = scalar_type(scalar);
        if let Op::AtomicRmw(op, ..) = op
            && *op != AtomicOp::Exchange
        {
            let (name, operand) = (rmw_name(*op), &operands[0]);
            return Some(
                self.t
                    .value(format_args!("atomicrmw {name} {at}, {element} {operand} {order}, align {bytes}")),
            );
        }
        let bits = if bytes == 8 { "i64" } else { "i32" };
        let ints: Vec<Opd> = operands.iter().map(|operand| self.same_bits(element, bits, operand)).collect();
        let old = match op {
            Op::AtomicLoad(_) => {
                self.t.value(format_args!("load atomic {bits}, {at} {order}, align {bytes}"))
            }
            Op::AtomicRmw(..) => {
                self.t.value(format_args!("atomicrmw xchg {at}, {bits} {} {order}, align {bytes}", ints[0]))
            }
            Op::AtomicCas(..) => {
                let pair = self.t.value(format_args!(
                    "cmpxchg {at}, {bits} {}, {bits} {} {order} monotonic, align {bytes}",
                    ints[0], ints[1]
                ));
                self.t.value(format_args!("extractvalue {{ {bits}, i1 }} {pair}, 0"))
            }
            Op::AtomicStore(..) => {
                self.t.line(format_args!("store atomic {bits} {}, {at} {order}, align {bytes}", ints[0]));
                return None;
            }
            op => unreachable!("{op:?} is not atomic"),
        };
        Some(self.same_bits(bits, element, &old))
    }

    /// The same bits as another type of the same size.
    pub(super) fn same_bits(&mut self, from: &str, to: &str, value: &Opd) -> Opd {
        if from == to { value.clone() } else { self.t.value(format_args!("bitcast {from} {value} to {to}")) }
    }
}
