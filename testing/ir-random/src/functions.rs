//! Random helper functions and calls of them.

use crate::values::Entry;
use crate::{Generator, Pointers, Position};
use anymetal_ir::{Builder, FpMode, FuncId, Function, Op, Space, Type};

/// A function that may be called: it takes the thread's own bytes, the input,
/// memory of the caller to write to, and values.
#[derive(Clone, Debug)]
pub(crate) struct Helper {
    id: FuncId,
    params: Vec<Type>,
    ret: Type,
}

impl Generator {
    /// Makes the helpers; later ones may call earlier ones.
    pub(crate) fn helpers(&mut self) {
        if !self.options.calls {
            return;
        }
        for n in 0..self.rng.below(4) {
            let ret = self.any_type();
            let params: Vec<Type> = (0..1 + self.rng.below(3)).map(|_| self.any_type()).collect();
            let mut types =
                vec![Type::Ptr(Space::Device), Type::Ptr(Space::Device), Type::Ptr(Space::Thread)];
            types.extend(&params);
            let mut function = Function::new(format!("helper{n}"), &types, Some(ret));
            let values = function.params.clone();
            let mut builder = Builder::new(&mut function);
            builder.fp = FpMode::Safe;
            self.begin_function(Some(ret));
            self.pointers = Pointers { own: Some(values[0]), input: Some(values[1]), ..Pointers::default() };
            for (&value, &ty) in values[3..].iter().zip(&params) {
                self.add(value, ty, false);
            }
            self.take_scratch(values[2]);
            self.budget = self.options.statements / 6;
            let place = Position { uniform: false, depth: 1, iterations: 8 };
            self.statements(&mut builder, place);
            if !builder.is_terminated() {
                let entry = self.value_of(&mut builder, ret);
                builder.push(Op::Return(Some(entry.value)));
            }
            self.module.functions.push(function);
            let id = FuncId(self.module.functions.len() as u32 - 1);
            self.helpers.push(Helper { id, params, ret });
        }
    }

    pub(crate) fn call_statement(&mut self, b: &mut Builder<'_>) {
        let (Some(own), Some(input)) = (self.pointers.own, self.pointers.input) else { return };
        if self.helpers.is_empty() {
            return self.pure_statement(b);
        }
        let n = self.rng.below(self.helpers.len());
        let helper = self.helpers[n].clone();
        let scratch = self.scratch(b);
        let mut args = vec![own, input, scratch];
        for &ty in &helper.params {
            let entry: Entry = self.value_of(b, ty);
            args.push(entry.value);
        }
        let value = b.value(Op::Call(helper.id, args), helper.ret);
        self.add(value, helper.ret, false);
    }
}
