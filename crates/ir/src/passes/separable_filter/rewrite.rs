//! Writes a sum column by column.
//!
//! Invariant: all columns of a group are added up by the same operations with the same weights, in order of their rows.

use std::collections::BTreeMap;

use super::Columns;
use super::addends::Term;
use crate::{BinOp, Function, Inst, Op, Scalar, Type, Value};

struct Writer<'a> {
    function: &'a mut Function,
    /// The last addition.
    root: Inst,
    numbers: BTreeMap<u32, Value>,
    added: Vec<Inst>,
}

/// Makes a sum's last addition one of the sums of all columns and the rest; gives what is to stand before it.
pub(super) fn replace(function: &mut Function, root: Inst, groups: &[Columns], rest: &[Term]) -> Vec<Inst> {
    let mut writer = Writer { function, root, numbers: BTreeMap::new(), added: Vec::new() };
    let mut sums = Vec::new();
    for Columns { weights, columns } in groups {
        for (factor, values) in columns {
            let terms = values.iter().zip(weights).map(|(&value, &weight)| Term { value, weight });
            if let Some(value) = writer.sum(terms) {
                sums.push(Term { value, weight: *factor });
            }
        }
    }
    writer.sum(sums.into_iter().chain(rest.iter().copied()));
    let Writer { mut added, .. } = writer;
    if let Some(last) = added.pop() {
        function.insts[root.index()].op = function.inst(last).op.clone();
    }
    added
}

impl Writer<'_> {
    fn sum(&mut self, terms: impl Iterator<Item = Term>) -> Option<Value> {
        let mut sum = None;
        for Term { value, weight } in terms {
            sum = Some(match (sum, weight) {
                (None, 1.0) => value,
                (None, _) => self.times(value, weight),
                (Some(sum), 1.0) => self.op(BinOp::FAdd, sum, value),
                (Some(sum), -1.0) => self.op(BinOp::FSub, sum, value),
                (Some(sum), _) => {
                    let product = self.times(value, weight);
                    self.op(BinOp::FAdd, sum, product)
                }
            });
        }
        sum
    }

    fn times(&mut self, value: Value, weight: f32) -> Value {
        let bits = weight.to_bits();
        let weight = match self.numbers.get(&bits) {
            Some(&number) => number,
            None => {
                let number = self.add(Op::Const(bits.into()));
                self.numbers.insert(bits, number);
                number
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
        self.function.inst(inst).result.expect("it has a result")
    }
}
