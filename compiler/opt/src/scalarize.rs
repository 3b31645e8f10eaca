//! Turns integer operations on vectors into operations on their elements where only elements are used, as
//! LLVM's Scalarizer does.
//!
//! Positions and sizes are vectors in MSL, and the indices that are made of them are not. `clamp(p + int2(1,
//! 0), 0, size - 1).y` is that of every neighbour in the row, but only its elements show it: after this pass
//! `early_cse` finds them equal. No code generator is worse off, because each computes vectors by element.

use rustc_hash::FxHashMap;

use super::fold::find_element;
use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use super::substitution::Substitution;
use anymetal_analysis::walk_insts;
use anymetal_ir::{CastOp, Function, Inst, Op, Type, Value};

/// Rewrites one function; returns whether anything changed.
pub fn scalarize(function: &mut Function) -> bool {
    let split = used_by_element(function);
    let changed = split.contains(&true);
    if changed {
        let elements = FxHashMap::default();
        let mut rewriter = Rewriter { function, split, elements, substitution: Substitution::default() };
        rewrite_blocks(&mut rewriter);
        let mut substitution = rewriter.substitution;
        substitution.apply_everywhere(function);
    }
    changed
}

/// The vectors, by number, that only extractions use, or operations all of whose results are such vectors.
fn used_by_element(function: &Function) -> Vec<bool> {
    let mut insts = Vec::new();
    walk_insts(function, function.body, &mut |inst| insts.push(inst));
    let (mut by_element, mut otherwise) =
        (vec![false; function.values.len()], vec![false; function.values.len()]);
    let mut split = vec![false; function.values.len()];
    // In reverse order, so that all users of a vector have been seen.
    for &inst in insts.iter().rev() {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            split[result.index()] = by_element[result.index()]
                && !otherwise[result.index()]
                && is_elementwise(function, &data.op, result);
        }
        let is_split = data.result.is_some_and(|result| split[result.index()]);
        let uses =
            if is_split || matches!(data.op, Op::Extract(..)) { &mut by_element } else { &mut otherwise };
        data.op.for_each_operand(|operand| uses[operand.index()] = true);
    }
    split
}

/// Whether each element of the result is an integer, computed from the same elements of the operands.
fn is_elementwise(function: &Function, op: &Op, result: Value) -> bool {
    let is_integer = |value: Value| match function.ty(value) {
        Type::Vector(scalar, _) => !scalar.is_float(),
        _ => false,
    };
    let is_known = match op {
        Op::Unary(..) | Op::Binary(..) | Op::Compare(..) => true,
        Op::Cast(cast, _) => *cast != CastOp::Bitcast,
        Op::Select(condition, ..) => function.ty(*condition).lanes() == function.ty(result).lanes(),
        _ => false,
    };
    let mut all = is_known && is_integer(result);
    op.for_each_operand(|operand| all &= is_integer(operand));
    all
}

struct Rewriter<'a> {
    function: &'a mut Function,
    /// The vectors that are no longer computed, by number.
    split: Vec<bool>,
    /// Their elements.
    elements: FxHashMap<Value, Vec<Value>>,
    substitution: Substitution,
}

impl BlockRewriter for Rewriter<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let data = self.function.inst(inst).clone();
        match (&data.op, data.result) {
            (Op::Extract(vector, n), Some(element)) if self.is_split(*vector) => {
                let value = self.elements[vector][usize::from(*n)];
                self.substitution.replace(self.function, element, value);
            }
            (op, Some(result)) if self.is_split(result) => {
                let elements = (0..self.function.ty(result).lanes()).map(|n| {
                    let mut op = op.clone();
                    op.for_each_operand_mut(|operand| *operand = self.element(inst, *operand, n, out));
                    let scalar = self.function.ty(result).scalar().expect("a vector has elements");
                    self.put(inst, op, Type::Scalar(scalar), out)
                });
                let elements = elements.collect();
                self.elements.insert(result, elements);
            }
            _ => out.push(inst),
        }
    }
}

impl Rewriter<'_> {
    fn is_split(&self, value: Value) -> bool {
        // Values that this pass adds are scalars.
        self.split.get(value.index()).copied().unwrap_or(false)
    }

    /// An element of an operand, extracted if it is none that exists.
    fn element(&mut self, like: Inst, vector: Value, n: u8, out: &mut Vec<Inst>) -> Value {
        let (vector, n) = match find_element(self.function, vector, n) {
            Ok(element) => return element,
            Err(place) => place,
        };
        if let Some(elements) = self.elements.get(&vector) {
            return elements[usize::from(n)];
        }
        let scalar = self.function.ty(vector).scalar().expect("a vector has elements");
        self.put(like, Op::Extract(vector, n), Type::Scalar(scalar), out)
    }

    /// Appends an operation.
    fn put(&mut self, like: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Value {
        let (loc, fp) = (self.function.inst(like).loc, self.function.inst(like).fp);
        let inst = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(inst);
        self.function.result(inst)
    }
}
