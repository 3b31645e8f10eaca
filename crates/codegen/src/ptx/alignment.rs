//! The alignment of addresses by their computation.
//!
//! A load or store that is not aligned ends a CUDA context, so what cannot be proved here is tested at run
//! time.

use anymetal_ir::{ArgKind, BinOp, CastOp, Function, Kernel, Module, Op, Value, ValueDef};

/// How many definitions are followed.
const DEPTH: u32 = 12;
/// Nothing is asked beyond this power of two.
const MAX_BITS: u32 = 8;

/// Finds alignments in one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alignment<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    function: &'a Function,
}

impl<'a> Alignment<'a> {
    /// Of a kernel's function.
    pub(super) fn new(module: &'a Module, kernel: &'a Kernel, function: &'a Function) -> Self {
        Self { module, kernel, function }
    }

    /// The largest known power of two, up to 256, that divides the address in bytes.
    pub(super) fn of_pointer(&self, pointer: Value) -> u32 {
        1 << self.zeros(pointer, DEPTH)
    }

    /// The known number of zero bits at the end of a value or an address.
    fn zeros(&self, value: Value, depth: u32) -> u32 {
        let Some(depth) = depth.checked_sub(1) else { return 0 };
        let of = |value| self.zeros(value, depth);
        let zeros = match &self.function.values[value.index()].def {
            ValueDef::Param(index) => self.of_argument(*index as usize).trailing_zeros(),
            ValueDef::Inst(inst) => match &self.function.inst(*inst).op {
                Op::Const(bits) => bits.trailing_zeros(),
                Op::LocalAddr(local) => self.function.locals[local.index()].align.max(1).trailing_zeros(),
                // As they are emitted.
                Op::ThreadgroupAddr(var) => {
                    self.module.threadgroup_vars[var.index()].align.max(16).trailing_zeros()
                }
                Op::GlobalAddr(global) => self.module.globals[global.index()].align.max(16).trailing_zeros(),
                Op::PtrAdd { base, index, scale, offset } => {
                    let index = index.map_or(MAX_BITS, |index| of(index) + scale.trailing_zeros());
                    of(*base).min(index).min(offset.trailing_zeros())
                }
                Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, a, b) => of(*a).min(of(*b)),
                Op::Binary(BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax, a, b) => of(*a).min(of(*b)),
                Op::Binary(BinOp::And, a, b) => of(*a).max(of(*b)),
                Op::Binary(BinOp::Mul, a, b) => of(*a) + of(*b),
                Op::Binary(BinOp::Shl, a, b) => {
                    let bits = self.function.ty(*a).scalar().map_or(1, |scalar| scalar.bits());
                    let by = self.function.as_const(*b).map_or(0, |by| by as u32 & (bits - 1));
                    of(*a) + by
                }
                Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => of(*a),
                Op::Select(_, a, b) => of(*a).min(of(*b)),
                _ => 0,
            },
        };
        zeros.min(MAX_BITS)
    }

    /// The alignment in bytes of what is bound to an argument: that of its element, which every device
    /// demands of a binding.
    pub(super) fn of_argument(&self, index: usize) -> u32 {
        match self.kernel.args.get(index).map(|argument| (argument.kind, argument.element_align)) {
            Some((ArgKind::Buffer, align)) if align.is_power_of_two() => align,
            // The launch places each on a multiple of 16.
            Some((ArgKind::ThreadgroupMemory, _)) => 16,
            Some((ArgKind::Buffer, _)) | None => 1,
        }
    }
}
