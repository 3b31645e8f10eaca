//! Constant folding, exact identities, and control flow that constants decide.
//!
//! One walk in textual order: operands are constants before their users are visited. Folding
//! uses [`anymetal_ir::eval`], so it gives the interpreter's results; identities hold for every input
//! in every float mode. Instructions that become unused are left to [`super::dce`].

mod clamped;
mod constants;
mod control;
mod identities;
mod narrow;
mod pointers;
mod vectors;

pub(super) use vectors::{element, find_element};

use super::substitution::Substitution;
use anymetal_analysis::walk_insts;
use anymetal_ir::eval::mask;
use anymetal_ir::{Function, Inst, Module, Op, Value};

/// Folds one function; returns whether anything changed.
pub fn fold(module: &Module, function: &mut Function) -> bool {
    let labels = function.labels as usize;
    let body = function.body;
    let mut folder = Folder {
        module,
        function,
        substitution: Substitution::default(),
        breaks: vec![0; labels],
        continues: vec![0; labels],
        changed: false,
    };
    folder.block(body, 0);
    debug_assert_eq!(
        (&folder.breaks, &folder.continues),
        (&jumps(folder.function, |op| matches!(op, Op::Break(..))), &jumps(folder.function, is_continue)),
        "the counts of jumps do not match the jumps that are left",
    );
    folder.changed
}

/// Whether it is a `continue`.
fn is_continue(op: &Op) -> bool {
    matches!(op, Op::Continue(..))
}

/// The number of jumps of one kind to each label.
fn jumps(function: &Function, is_kind: impl Fn(&Op) -> bool) -> Vec<u32> {
    let mut counts = vec![0; function.labels as usize];
    walk_insts(function, function.body, &mut |inst| match &function.inst(inst).op {
        op @ (Op::Break(label, _) | Op::Continue(label, _)) if is_kind(op) => counts[label.index()] += 1,
        _ => {}
    });
    counts
}

/// The result of folding an instruction.
enum Folded {
    /// Itself.
    Keep,
    /// Another value; the instruction is removed.
    Value(Value),
    /// Another operation with the same result.
    Op(Op),
    /// A constant vector (or scalar) with these elements.
    Elements(Vec<u64>),
}

struct Folder<'a> {
    module: &'a Module,
    function: &'a mut Function,
    substitution: Substitution,
    /// Number of breaks of each label in finished blocks.
    breaks: Vec<u32>,
    /// Number of continues of each label in finished blocks.
    continues: Vec<u32>,
    changed: bool,
}

impl Folder<'_> {
    /// Folds an instruction that is not a construct and appends the result.
    fn simple(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        match self.simplified(inst) {
            Folded::Keep
                if self.narrow_division(inst, out)
                    || self.narrow_rest(inst, out)
                    || self.narrow_half(inst, out) => {}
            Folded::Keep => out.push(inst),
            Folded::Value(value) => {
                self.substitution.replace(self.function, self.function.result(inst), value);
                self.changed = true;
            }
            Folded::Op(op) => {
                self.function.replace_op(inst, op);
                self.changed = true;
                out.push(inst);
            }
            Folded::Elements(elements) => {
                self.constant(inst, &elements, out);
                self.changed = true;
            }
        }
    }

    fn simplified(&self, inst: Inst) -> Folded {
        let data = self.function.inst(inst);
        let Some(result) = data.result else {
            // Only values are folded here; constructs are in `control`.
            return Folded::Keep;
        };
        let ty = self.function.ty(result);
        let constant = constants::evaluate(self.function, &data.op, ty);
        if let Some(elements) = constant {
            return Folded::Elements(elements);
        }
        match &data.op {
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Select(..) | Op::Cast(..) => {
                identities::simplify(self.function, &data.op, ty)
            }
            Op::Splat(..)
            | Op::Compose(..)
            | Op::Extract(..)
            | Op::ExtractDynamic(..)
            | Op::Insert(..)
            | Op::InsertDynamic(..)
            | Op::Shuffle(..) => vectors::simplify(self.function, &data.op, ty),
            Op::PtrAdd { .. } => pointers::simplify(self.function, &data.op),
            Op::Load { ptr, volatile: false, .. } => {
                match pointers::load_constant(self.module, self.function, *ptr, ty) {
                    Some(elements) => Folded::Elements(elements),
                    None => Folded::Keep,
                }
            }
            // Other results are not known when their operands are, or have no simpler form.
            _ => Folded::Keep,
        }
    }

    /// Turns the instruction into a constant; a vector becomes a splat or composition of scalar
    /// constants inserted before it.
    fn constant(&mut self, inst: Inst, elements: &[u64], out: &mut Vec<Inst>) {
        let data = self.function.inst(inst);
        let (fp, loc) = (data.fp, data.loc);
        let ty = self.function.ty(self.function.result(inst));
        assert_eq!(elements.len(), usize::from(ty.lanes()), "the elements of a constant of type {ty}");
        assert!(
            ty.scalar().is_none_or(|scalar| elements.iter().all(|bits| bits & !mask(scalar) == 0)),
            "{elements:x?} do not fit {ty}",
        );
        let op = match ty.scalar() {
            Some(scalar) if elements.len() > 1 => {
                let all_equal = elements.iter().all(|&bits| bits == elements[0]);
                let distinct = if all_equal { &elements[..1] } else { elements };
                let mut parts = Vec::new();
                for &bits in distinct {
                    let part = self.function.add_inst(
                        Op::Const(bits),
                        Some(anymetal_ir::Type::Scalar(scalar)),
                        fp,
                        loc,
                    );
                    parts.push(self.function.result(part));
                    out.push(part);
                }
                if all_equal { Op::Splat(parts[0]) } else { Op::Compose(parts) }
            }
            _ => Op::Const(elements[0]),
        };
        self.function.replace_op(inst, op);
        out.push(inst);
    }
}
