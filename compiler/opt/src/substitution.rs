//! Replacement of values: a union-find map from old values to new ones.

use anymetal_ir::{Function, Op, Value};

/// A growing set of replacements. Invariant: no cycle, because a value is only ever replaced by
/// one defined before it.
#[derive(Default)]
pub(super) struct Substitution {
    /// Indexed by value; a value that maps to itself is not replaced.
    to: Vec<Value>,
}

impl Substitution {
    /// Replaces `old` by `new`.
    pub(super) fn replace(&mut self, function: &Function, old: Value, new: Value) {
        assert_eq!(function.ty(old), function.ty(new), "{old} is replaced by {new}, which has another type");
        while self.to.len() <= old.index() {
            self.to.push(Value(self.to.len() as u32));
        }
        assert_eq!(self.to[old.index()], old, "{old} is replaced twice");
        let new = self.resolve(new);
        assert_ne!(new, old, "a value is replaced by itself, directly or through others");
        self.to[old.index()] = new;
    }

    /// The final replacement of a value.
    pub(super) fn resolve(&mut self, value: Value) -> Value {
        let next = |to: &[Value], value: Value| to.get(value.index()).copied().unwrap_or(value);
        let mut last = value;
        while next(&self.to, last) != last {
            last = next(&self.to, last);
        }
        // Path compression.
        let mut at = value;
        while next(&self.to, at) != at {
            let following = next(&self.to, at);
            self.to[at.index()] = last;
            at = following;
        }
        last
    }

    /// Rewrites the operands.
    pub(super) fn apply(&mut self, op: &mut Op) {
        op.for_each_operand_mut(|value| *value = self.resolve(*value));
    }

    /// Rewrites the operands of all instructions.
    pub(super) fn apply_everywhere(&mut self, function: &mut Function) {
        for data in &mut function.insts {
            self.apply(&mut data.op);
        }
    }
}
