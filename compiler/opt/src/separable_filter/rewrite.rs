//! Emits a filter as sums over columns.
//!
//! Invariant: all columns of a group are summed by the same operations with the same weights, in order of
//! their rows, so that code generators recognise equal sums of neighbouring lanes.

use std::collections::BTreeMap;

use super::ColumnGroup;
use super::addends::Term;
use anymetal_ir::{BinOp, Function, Inst, Op, Scalar, Type, Value};

struct Writer<'a> {
    function: &'a mut Function,
    /// The last addition.
    root: Inst,
    weights: BTreeMap<u32, Value>,
    added: Vec<Inst>,
}

/// Turns the last addition into one of the column sums and the remaining terms; returns the instructions to
/// insert before it.
pub(super) fn replace(
    function: &mut Function,
    root: Inst,
    groups: &[ColumnGroup],
    rest: &[Term],
) -> Vec<Inst> {
    let mut writer = Writer { function, root, weights: BTreeMap::new(), added: Vec::new() };
    let mut sums = Vec::new();
    for ColumnGroup { weights: row_weights, columns } in groups {
        for (factor, values) in columns {
            assert_eq!(values.len(), row_weights.len(), "a column has one element for each weight");
            let terms = values.iter().zip(row_weights).map(|(&value, &weight)| Term { value, weight });
            let value = writer.sum(terms).expect("a column has elements");
            sums.push(Term { value, weight: *factor });
        }
    }
    assert!(sums.len() > 1, "a group has several columns");
    writer.sum(sums.into_iter().chain(rest.iter().copied()));
    let Writer { mut added, .. } = writer;
    let last = added.pop().expect("several columns are added");
    let op = function.inst(last).op.clone();
    assert!(
        matches!(op, Op::Binary(BinOp::FAdd | BinOp::FSub, ..)),
        "the sum ends with an addition, not {op:?}"
    );
    function.replace_op(root, op);
    added
}

impl Writer<'_> {
    fn sum(&mut self, terms: impl Iterator<Item = Term>) -> Option<Value> {
        let mut sum = None;
        for Term { value, weight } in terms {
            sum = Some(match (sum, weight) {
                (None, 1.0) => value,
                (None, _) => self.scale(value, weight),
                (Some(sum), 1.0) => self.op(BinOp::FAdd, sum, value),
                (Some(sum), -1.0) => self.op(BinOp::FSub, sum, value),
                (Some(sum), _) => {
                    let product = self.scale(value, weight);
                    self.op(BinOp::FAdd, sum, product)
                }
            });
        }
        sum
    }

    fn scale(&mut self, value: Value, weight: f32) -> Value {
        let bits = weight.to_bits();
        let weight = match self.weights.get(&bits) {
            Some(&known) => known,
            None => {
                let constant = self.add(Op::Const(bits.into()));
                self.weights.insert(bits, constant);
                constant
            }
        };
        self.op(BinOp::FMul, weight, value)
    }

    fn op(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        self.add(Op::Binary(op, a, b))
    }

    fn add(&mut self, op: Op) -> Value {
        let (fp, loc) = (self.function.inst(self.root).fp, self.function.inst(self.root).loc);
        let inst = self.function.add_inst(op, Some(Type::Scalar(Scalar::F32)), fp, loc);
        self.added.push(inst);
        self.function.result(inst)
    }
}
