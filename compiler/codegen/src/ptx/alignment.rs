//! The alignment of addresses by their computation.
//!
//! A load or store that is not aligned ends a CUDA context, so what cannot be proved here is tested at run
//! time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::IncomingValues;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{ArgKind, BinOp, CastOp, Function, Inst, Kernel, Module, Op, Value, ValueDef};

use super::by_value::place_in_argument;
use crate::limits::ptx::MAX_ALIGN_BITS;
use anymetal_analysis::roots::{Pointer, Root};

/// What one version of a kernel takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assumed {
    /// The first byte of every buffer is a multiple of this power of two.
    pub(super) bindings: u32,
    /// So many bits at the end of every integer that is given by value are zero.
    pub(super) word_bits: u32,
}

impl Assumed {
    pub(super) const NOTHING: Self = Self { bindings: 1, word_bits: 0 };
}

/// Finds alignments in one function.
#[derive(Debug)]
pub(super) struct Alignment<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    function: &'a Function,
    pointers: Vec<Pointer>,
    /// For each local the known zero bits of the pointers in it.
    locals: Vec<u32>,
    /// For each parameter or result that is a pointer its known zero bits.
    carried: BTreeMap<Value, u32>,
    assumed: Assumed,
    /// The places of integers given by value, by argument and offset, that were asked for.
    asked: RefCell<BTreeSet<(usize, u64)>>,
}

impl<'a> Alignment<'a> {
    /// Of a kernel's function, whose instructions are `order`.
    pub(super) fn new(
        module: &'a Module,
        kernel: &'a Kernel,
        function: &'a Function,
        order: &[Inst],
        pointers: &[Pointer],
        assumed: Assumed,
    ) -> Self {
        assert!(assumed.bindings.is_power_of_two(), "alignments are powers of two, not {}", assumed.bindings);
        let locals = vec![MAX_ALIGN_BITS; function.locals.len()];
        let (pointers, asked) = (pointers.to_vec(), RefCell::default());
        let incoming = IncomingValues::of(function);
        let definitions = incoming.definitions(function).map(|(value, _)| value);
        let carried = definitions
            .filter(|&value| function.ty(value).is_ptr())
            .map(|value| (value, MAX_ALIGN_BITS))
            .collect();
        let mut this = Self { module, kernel, function, pointers, locals, carried, assumed, asked };
        // All of them each time, until none changes anything.
        while order.iter().filter(|&&inst| this.note_store(inst)).count() > 0 || this.note_carried(&incoming)
        {
        }
        this
    }

    /// The same with something taken for granted.
    pub(super) fn with(&self, order: &[Inst], assumed: Assumed) -> Self {
        Self::new(self.module, self.kernel, self.function, order, &self.pointers, assumed)
    }

    /// Lowers what is known of a local to what is stored there; whether it had to.
    fn note_store(&mut self, inst: Inst) -> bool {
        let (to, bits) = match self.function.inst(inst).op {
            Op::Store { ptr, value, .. } if self.function.ty(value).is_ptr() => {
                (ptr, self.zeros(value, MAX_DEPTH))
            }
            Op::Store { ptr: to, .. } | Op::MemCopy { dst: to, .. } => (to, 0),
            _ => return false,
        };
        let mut changed = false;
        for (local, known) in self.locals.iter_mut().enumerate() {
            let may_be = match self.pointers[to.index()].root {
                Root::Local(stored) => stored.index() == local,
                Root::Many => true,
                _ => false,
            };
            changed |= may_be && bits < *known;
            *known = if may_be { bits.min(*known) } else { *known };
        }
        changed
    }

    /// Lowers what is known of parameters and results to what is passed to them; whether it had to.
    fn note_carried(&mut self, incoming: &IncomingValues) -> bool {
        let mut changed = false;
        for value in self.carried.keys().copied().collect::<Vec<_>>() {
            let mut bits = self.carried[&value];
            incoming
                .each_source(self.function, value, |source| bits = bits.min(self.zeros(source, MAX_DEPTH)));
            changed |= self.carried.insert(value, bits) != Some(bits);
        }
        changed
    }

    /// The largest known power of two, up to 256, that divides the address in bytes.
    pub(super) fn of_pointer(&self, pointer: Value) -> u32 {
        1 << self.zeros(pointer, MAX_DEPTH)
    }

    /// The integers given by value that any answer about a pointer depends on.
    pub(super) fn words(&self) -> BTreeSet<(usize, u64)> {
        for pointer in (0..self.function.values.len()).map(|at| Value(at as u32)) {
            if self.function.ty(pointer).is_ptr() {
                self.of_pointer(pointer);
            }
        }
        self.asked.borrow().clone()
    }

    /// The known number of zero bits at the end of a value or an address.
    fn zeros(&self, value: Value, depth: u32) -> u32 {
        let Some(depth) = depth.checked_sub(1) else {
            // Nothing is known of what is not followed.
            return 0;
        };
        let of = |value| self.zeros(value, depth);
        let zeros = match &self.function.values[value.index()].def {
            ValueDef::Param(index) => self.of_argument(*index as usize).trailing_zeros(),
            // Numbers are not followed.
            ValueDef::LoopParam(..) | ValueDef::Result(..) => self.carried.get(&value).copied().unwrap_or(0),
            ValueDef::Inst(inst) => match &self.function.inst(*inst).op {
                Op::Const(bits) => bits.trailing_zeros(),
                Op::Load { ptr, .. } => self.of_load(value, *ptr),
                Op::LocalAddr(local) => self.function.locals[local.index()].align.max(1).trailing_zeros(),
                // As they are emitted.
                Op::ThreadgroupAddr(var) => {
                    self.module.threadgroup_vars[var.index()].align.max(16).trailing_zeros()
                }
                Op::GlobalAddr(global) => self.module.globals[global.index()].align.max(16).trailing_zeros(),
                Op::PtrAdd { base, index, scale, offset } => {
                    let index = index.map_or(MAX_ALIGN_BITS, |index| of(index) + scale.trailing_zeros());
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
        zeros.min(MAX_ALIGN_BITS)
    }

    /// A pointer out of a local, or an integer given by value.
    fn of_load(&self, value: Value, from: Value) -> u32 {
        let is_pointer = self.function.ty(value).is_ptr();
        match self.pointers[from.index()].root {
            Root::Local(local) if is_pointer => self.locals[local.index()],
            Root::Argument(_) if !is_pointer && self.assumed.word_bits > 0 => {
                let is_word = self.function.ty(value).scalar().is_some_and(|scalar| scalar.bits() == 32);
                let Some(place) = place_in_argument(self.function, from).filter(|_| is_word) else {
                    // Only whole words at known places are assumed aligned.
                    return 0;
                };
                self.asked.borrow_mut().insert(place);
                self.assumed.word_bits
            }
            _ => 0,
        }
    }

    /// The alignment in bytes of what is bound to an argument: that of its element, which every device
    /// demands of a binding.
    pub(super) fn of_argument(&self, index: usize) -> u32 {
        match self.kernel.args.get(index).map(|argument| (argument.kind, argument.element_align)) {
            Some((ArgKind::Buffer, align)) if align.is_power_of_two() => align.max(self.assumed.bindings),
            // The launch places each on a multiple of 16.
            Some((ArgKind::ThreadgroupMemory, _)) => 16,
            Some((ArgKind::Buffer, _)) => self.assumed.bindings,
            None => 1,
        }
    }
}
