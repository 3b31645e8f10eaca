//! Bounds checks hoisted out of loops.
//!
//! In `for (i = thread; i < n; i += threads)` the loop copy with all lanes active (see `unmasked_loop`)
//! accesses no element from `n` on. So an access by `i` itself is in bounds in every iteration if element
//! `n - 1` is, which is checked in the preheader. Where that fails the masked loop runs alone, with a check
//! per iteration.

use anymetal_ir::{Block, CastOp, Inst, Op, Scalar, Space, Type, Value, ValueDef};
use anymetal_opt::Feature;

use super::Emitter;
use super::group::for_each_inst;
use super::mask_predicates::Below;
use crate::cpu::llvm_text::Opd;
use crate::cpu::shape::flow::ptr_space;
use crate::cpu::storage::Root;
use crate::patterns::{PointerSum, pointer_sum, widened};

/// Bytes between elements, so that no multiple wraps.
const MAX_SCALE: u32 = 1 << 30;

/// An access by the loop's counter: `base + counter × scale + offset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered {
    pointer: Value,
    bytes: i64,
    base: Value,
    scale: i64,
    offset: i64,
}

impl Emitter<'_, '_> {
    /// The accesses that each round makes by the value compared, directly in these instructions of the loop.
    pub(super) fn covered(&self, below: &Below, insts: &[Inst], loop_blocks: [Block; 2]) -> Vec<Covered> {
        let function = self.facts.function;
        let mut inside = vec![false; function.insts.len()];
        for &inst in loop_blocks.iter().flat_map(|&block| function.block(block)) {
            for_each_inst(function, inst, &mut |inst| inside[inst.index()] = true);
        }
        let is_outside = |value: Value| match function.values[value.index()].def {
            ValueDef::Inst(inst) | ValueDef::LoopParam(inst, _) | ValueDef::Result(inst, _) => {
                !inside[inst.index()]
            }
            ValueDef::Param(_) => true,
        };
        if !self.has(Feature::LoopBounds) || !self.shared.options.checks || !is_outside(below.limit) {
            return Vec::new();
        }
        let accesses = insts.iter().filter_map(|&inst| match function.inst(inst).op {
            Op::Load { ptr, .. } => Some((ptr, function.ty(function.inst(inst).result?))),
            Op::Store { ptr, value, .. } => Some((ptr, function.ty(value))),
            _ => None,
        });
        let covered = accesses.filter_map(|(pointer, ty)| self.covered_access(below, pointer, ty));
        covered.filter(|access| is_outside(access.base)).collect()
    }

    fn covered_access(&self, below: &Below, pointer: Value, ty: Type) -> Option<Covered> {
        let function = self.facts.function;
        let is_known = ptr_space(function, pointer) != Space::Thread
            && self.facts.storage.pointer(pointer).root != Root::Many;
        if !is_known {
            return None;
        }
        let (mut at, mut sum) = (pointer, 0i64);
        loop {
            let PointerSum { base, index, scale, offset } = pointer_sum(function, at)?;
            sum = sum.checked_add(offset)?;
            let Some(index) = index else {
                at = base;
                continue;
            };
            let (cast, index) = widened(function, index)?;
            let is_counter = cast == CastOp::ZExt
                && index == below.counter
                && function.ty(index) == Type::Scalar(Scalar::I32)
                && scale <= MAX_SCALE
                && self.is_here(base)
                && self.shape(base, 0).affine().is_some_and(|lanes| lanes.is_uniform() && !lanes.assumed);
            let bytes = i64::from(ty.size());
            let access = Covered { pointer, bytes, base, scale: i64::from(scale), offset: sum };
            return is_counter.then_some(access);
        }
    }

    /// Whether the last element that the counter can reach is in bounds for all of them.
    pub(super) fn all_covered(&mut self, below: &Below, accesses: &[Covered]) -> Opd {
        let limit = self.uniform(below.limit, 0);
        let limit = match limit {
            Opd::Int(limit) => Opd::Int(i64::from(limit as u32)),
            limit => self.t.value(format_args!("zext i32 {limit} to i64")),
        };
        let mut all = Opd::bool(true);
        for access in accesses {
            let root = self.facts.storage.pointer(access.pointer).root;
            let place = self.place(root);
            let base = self.uniform(access.base, 0);
            let start = self.t.add("i64", &base, &Opd::Int(access.offset));
            // The end of the last element, from the first one; neither this nor the room wraps where the
            // start is inside.
            assert!(
                access.scale <= i64::from(MAX_SCALE),
                "the scale {} is too large to multiply an index without wrapping",
                access.scale
            );
            let end = self.t.mul("i64", &limit, &Opd::Int(access.scale));
            let last = if below.is_inclusive { access.bytes } else { access.bytes - access.scale };
            let end = self.t.add("i64", &end, &Opd::Int(last));
            let starts = self.t.value(format_args!("icmp ule i64 {start}, {}", place.len));
            let room = self.t.sub("i64", &place.len, &start);
            let fits = self.t.value(format_args!("icmp ule i64 {end}, {room}"));
            let inside = self.t.and(&starts, &fits);
            all = self.t.and(&all, &inside);
        }
        all
    }

    /// Notes that they need no test.
    pub(super) fn note_covered(&mut self, accesses: &[Covered]) {
        for access in accesses {
            self.note_in_bounds(access.pointer, access.bytes);
        }
    }
}
