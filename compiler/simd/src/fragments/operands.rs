//! Finds operands that can be read directly from memory: matrices loaded whole, and fragments whose
//! elements the program loads one by one in Metal's layout.

use std::collections::BTreeSet;

use anymetal_ir::{Block, CastOp, Inst, MatrixOp, Op, Scalar, Space, Type, Value};

use super::{ELSEWHERE, Finder, Joined, Kind, Use};
use super::{SIDE, place_of};
use crate::storage::Root;
use anymetal_analysis::divergence::Affine;
use anymetal_analysis::divergence::LANES;

impl Finder<'_> {
    /// How many products take the value, if they are all in this block and nothing else takes it.
    fn operand_uses(&self, value: Value, block: Block) -> Option<usize> {
        let uses = &self.uses[value.index()];
        let fits = |usage: &Use| usage.kind == Kind::Operand && usage.block == block;
        (!uses.is_empty() && !self.saved.contains(&value) && uses.iter().all(fits)).then_some(uses.len())
    }

    pub(super) fn find_operands(&mut self) {
        let function = self.facts.function;
        for (index, data) in function.insts.iter().enumerate() {
            let (Op::Matrix(MatrixOp::Load { .. }, args), Some(result)) = (&data.op, data.result) else {
                continue;
            };
            let (block, at) = self.places[index];
            if at != usize::MAX
                && function.pointer_space(args[0]) != Space::Thread
                && let Some(uses) = self.operand_uses(result, block)
            {
                self.found.operands.insert(result, uses);
            }
        }
    }

    pub(super) fn find_joined(&mut self) {
        let function = self.facts.function;
        for (index, data) in function.insts.iter().enumerate() {
            let (Op::Compose(parts), Some(result)) = (&data.op, data.result) else { continue };
            let (block, at) = self.places[index];
            if at != usize::MAX
                && let Some(uses) = self.operand_uses(result, block)
                && let &[a, b] = parts.as_slice()
                && let Some(joined) = self.joined([a, b], (block, at))
            {
                self.found.joined.insert(result, (joined, uses));
            }
        }
        // A load that is also used otherwise is done at once, and its fragment made of lanes.
        let mut all = std::mem::take(&mut self.found.joined);
        loop {
            let known: BTreeSet<Value> = all.keys().copied().collect();
            let is_part = |usage: &Use| matches!(usage.kind, Kind::Part(whole) if known.contains(&whole));
            let uses_of = |value: Value| {
                let uses = self.uses[value.index()].iter();
                uses.chain(self.saved.contains(&value).then_some(&ELSEWHERE))
            };
            let is_wide_part = |usage: &Use| match usage.kind {
                Kind::Converted(wide) => uses_of(wide).all(is_part),
                _ => is_part(usage),
            };
            let left_out = |&load: &Inst| {
                function.inst(load).result.is_some_and(|value| uses_of(value).all(is_wide_part))
            };
            all.retain(|_, (joined, _)| joined.loads.iter().all(left_out));
            if all.len() == known.len() {
                break;
            }
        }
        for (&whole, (joined, _)) in &all {
            self.found.parts.extend(joined.loads.iter().filter_map(|&load| function.inst(load).result));
            let Some(Op::Compose(parts)) = function.def(whole) else {
                unreachable!("{whole} is put together from two elements")
            };
            self.found.parts.extend(parts);
        }
        self.found.joined = all;
    }

    /// The fragment of which these are the elements, if they are loaded in Metal's layout.
    fn joined(&self, parts: [Value; 2], (block, at): (Block, usize)) -> Option<Joined> {
        let function = self.facts.function;
        if function.ty(parts[1]) != function.ty(parts[0]) {
            return None;
        }
        let parts = parts.map(|part| self.before_widening(part));
        let scalar = function.ty(parts[0]).scalar()?;
        if !matches!(scalar, Scalar::F32 | Scalar::F16 | Scalar::Bf16)
            || function.ty(parts[1]) != function.ty(parts[0])
        {
            return None;
        }
        let loads = [self.def(parts[0])?, self.def(parts[1])?];
        let mut pointers = [Value(0); 2];
        let mut first = at;
        for (n, &load) in loads.iter().enumerate() {
            let Op::Load { ptr, volatile: false, .. } = function.inst(load).op else {
                // Elements that are computed are in lanes.
                return None;
            };
            let place = self.places[load.index()];
            let root = self.facts.storage.pointer(ptr).root;
            if place.0 != block || !matches!(root, Root::Argument(_) | Root::Threadgroup(_) | Root::Global(_))
            {
                return None;
            }
            first = first.min(place.1);
            pointers[n] = ptr;
        }
        let quiet = |&inst: &Inst| {
            let op = &function.inst(inst).op;
            let to_promoted = match op {
                Op::Store { ptr, value, .. } => self.vars(*ptr, *value).is_some(),
                _ => false,
            };
            op.blocks().is_empty() && (to_promoted || !op.may_write_memory())
        };
        if !function.block(block).get(first..at)?.iter().all(quiet) {
            return None;
        }
        let shape = self.divergence.shape(pointers[0]).affine()?;
        let apart = self.bytes_between(pointers[0], pointers[1])?;
        let (step, transpose) = layout(shape, apart, i64::from(scalar.size()))?;
        Some(Joined { loads, pointer: pointers[0], scalar, step, transpose })
    }

    /// The narrower number that a `float` was converted from, or the value itself.
    fn before_widening(&self, value: Value) -> Value {
        let function = self.facts.function;
        match function.def(value) {
            Some(&Op::Cast(CastOp::FCast, narrow))
                if function.ty(value) == Type::Scalar(Scalar::F32)
                    && matches!(function.ty(narrow), Type::Scalar(Scalar::F16 | Scalar::Bf16)) =>
            {
                narrow
            }
            _ => value,
        }
    }

    /// How far the second pointer is after the first, if that is plain.
    pub(super) fn bytes_between(&self, a: Value, b: Value) -> Option<i64> {
        let function = self.facts.function;
        let parts = |value: Value| match function.def(value) {
            Some(&Op::PtrAdd { base, index, scale, offset }) => {
                (base, index.map(|index| (index, scale)), offset)
            }
            _ => (value, None, 0),
        };
        if let Some(&Op::PtrAdd { base, index: None, offset, .. }) = function.def(b)
            && base == a
        {
            return Some(offset);
        }
        let ((base, index, offset), (other, other_index, other_offset)) = (parts(a), parts(b));
        (base == other && index == other_index).then(|| other_offset.wrapping_sub(offset))
    }
}

/// The bytes from row to row (or column to column: transposed) if the lanes' first elements lie as a matrix
/// in Metal's layout, and the second ones `apart` after them.
pub(super) fn layout(shape: &Affine, apart: i64, size: i64) -> Option<(i64, bool)> {
    if shape.segments != 1 || shape.is_assumed() {
        return None;
    }
    let first = shape.at(0);
    let fits = |down: i64, right: i64| {
        (0..LANES).all(|lane| {
            let (row, column) = place_of(lane);
            let place = (row as i64).wrapping_mul(down).wrapping_add((column as i64).wrapping_mul(right));
            shape.at(lane).wrapping_sub(first) == place
        })
    };
    // Lane 2 holds the first element of the second row.
    let down = shape.at(2).wrapping_sub(first);
    let room = SIDE as i64 * size;
    if apart == size && down >= room && fits(down, size) {
        return Some((down, false));
    }
    (down == size && apart >= room && fits(size, apart)).then_some((apart, true))
}
