//! Constant folding, exact identities, and control flow that constants decide.
//!
//! One walk in textual order: operands are constants before their users are visited. Folding
//! uses [`crate::eval`], so it gives the interpreter's results; identities hold for every input
//! in every float mode. Instructions that become unused are left to [`super::dce`].

mod clamped;
mod constants;
mod control;
mod identities;
mod narrow;
mod pointers;
mod vectors;

use super::substitution::Substitution;
use crate::{Function, Inst, Module, Op, Value};

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
    folder.changed
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
                let result = self.function.inst(inst).result.expect("only results are replaced");
                self.substitution.replace(result, value);
                self.changed = true;
            }
            Folded::Op(op) => {
                self.function.insts[inst.index()].op = op;
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
        let Some(result) = data.result else { return Folded::Keep };
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
            _ => Folded::Keep,
        }
    }

    /// Turns the instruction into a constant; a vector becomes a splat or composition of scalar
    /// constants inserted before it.
    fn constant(&mut self, inst: Inst, elements: &[u64], out: &mut Vec<Inst>) {
        let data = self.function.inst(inst);
        let (fp, loc) = (data.fp, data.loc);
        let result = data.result.expect("a constant has a result");
        let ty = self.function.ty(result);
        let op = match ty.scalar() {
            Some(scalar) if elements.len() > 1 => {
                let all_equal = elements.iter().all(|&bits| bits == elements[0]);
                let distinct = if all_equal { &elements[..1] } else { elements };
                let mut parts = Vec::new();
                for &bits in distinct {
                    let part =
                        self.function.add_inst(Op::Const(bits), Some(crate::Type::Scalar(scalar)), fp, loc);
                    parts.extend(self.function.inst(part).result);
                    out.push(part);
                }
                if all_equal { Op::Splat(parts[0]) } else { Op::Compose(parts) }
            }
            _ => Op::Const(elements[0]),
        };
        self.function.insts[inst.index()].op = op;
        out.push(inst);
    }
}
