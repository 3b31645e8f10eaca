//! Random statements and constructs.

use crate::values::Entry;
use crate::{Generator, JumpTypes, PARAMS_BYTES, Position};
use anymetal_ir::CmpOp;
use anymetal_ir::{BinOp, Builder, Label, Op, Query, SwitchCase, Type, Value, Values};

/// No statement runs more often than this in one thread.
const MAX_ITERATIONS: usize = 64;

impl Generator {
    /// Statements until the function's budget is used up.
    pub(crate) fn statements(&mut self, b: &mut Builder<'_>, place: Position) {
        while self.budget > 0 && !b.is_terminated() {
            self.statement(b, place);
        }
    }

    /// A few statements in a block of their own; what they define goes out of scope.
    fn some(&mut self, b: &mut Builder<'_>, place: Position) {
        self.some_and(b, place, |_, _| {});
    }

    /// As [`Self::some`], with an end that may use what they define.
    fn some_and(
        &mut self,
        b: &mut Builder<'_>,
        place: Position,
        end: impl FnOnce(&mut Self, &mut Builder<'_>),
    ) {
        let place = Position { depth: place.depth + 1, ..place };
        let (values, variables) = (self.pool.len(), self.variables.len());
        for _ in 0..1 + self.rng.below(5) {
            if self.budget == 0 || b.is_terminated() {
                break;
            }
            self.statement(b, place);
        }
        if !b.is_terminated() && self.pool.len() > values {
            let entry = self.pool[self.pool.len() - 1];
            self.observe(b, entry);
        }
        if !b.is_terminated() {
            end(self, b);
        }
        self.pool.truncate(values);
        self.variables.truncate(variables);
    }

    fn statement(&mut self, b: &mut Builder<'_>, place: Position) {
        self.budget -= 1;
        b.loc = anymetal_ir::Loc { file: 0, line: 1 + self.budget as u32, column: 1, origin: 0 };
        let nests = place.depth < self.options.depth;
        match self.rng.below(37) {
            _ if self.options.flat_indices && self.rng.one_in(4) => self.flat_index(b),
            0..10 => self.pure_statement(b),
            10..15 => self.local_statement(b),
            15 => self.declare(b),
            34 => self.declare_record(b),
            35 => self.pointer_statement(b),
            16 | 17 => self.input_statement(b),
            18 => self.param_statement(b),
            19 | 20 => self.own_statement(b),
            21 => self.counter_statement(b),
            22..24 => self.simd_statement(b, place),
            24 => self.exchange(b, place),
            25 => self.call_statement(b),
            26 => self.early_return(b, place),
            27..29 if nests => self.branch(b, place),
            29..31 if nests => self.counted_loop(b, place),
            31 if nests => self.switch(b, place),
            32 if nests => self.scope(b, place),
            _ => self.pure_statement(b),
        }
        if let Some(&entry) = self.pool.last().filter(|_| !b.is_terminated())
            && self.rng.one_in(4)
        {
            self.observe(b, entry);
        }
    }

    /// A condition, and whether it is uniform over the threadgroup. Rarely a constant: folding
    /// would leave little of the kernel.
    pub(crate) fn condition(&mut self, b: &mut Builder<'_>) -> (Value, bool) {
        if self.rng.one_in(3) {
            return (self.uniform_condition(b), true);
        }
        let known: Vec<Entry> = self.pool.iter().copied().filter(|entry| entry.ty == Type::BOOL).collect();
        if known.is_empty() || self.rng.one_in(3) {
            let (x, y) = (self.value_of(b, Type::I32), self.value_of(b, Type::I32));
            let op = self.rng.pick(&[CmpOp::Eq, CmpOp::ULt, CmpOp::SGt, CmpOp::Ne]);
            return (b.compare(op, x.value, y.value), x.uniform && y.uniform);
        }
        let entry = self.rng.pick(&known);
        (entry.value, entry.uniform)
    }

    /// A condition that is uniform over the threadgroup.
    fn uniform_condition(&mut self, b: &mut Builder<'_>) -> Value {
        let known: Vec<Entry> =
            self.pool.iter().copied().filter(|entry| entry.ty == Type::BOOL && entry.uniform).collect();
        if !known.is_empty() && self.rng.one_in(2) {
            return self.rng.pick(&known).value;
        }
        let x = match self.pointers.params {
            Some(params) => {
                let slot = self.rng.below(PARAMS_BYTES as usize / 4) as i64;
                let ptr = b.ptr_offset(params, slot * 4);
                b.load(ptr, Type::I32, 4)
            }
            None => b.query(Query::ThreadgroupPositionInGrid(0)),
        };
        let y = self.uniform_of(b, Type::I32);
        let op = self.rng.pick(&[CmpOp::Ne, CmpOp::ULt, CmpOp::SGt]);
        b.compare(op, x, y.value)
    }

    fn branch(&mut self, b: &mut Builder<'_>, place: Position) {
        let (cond, uniform) = self.condition(b);
        let place = Position { uniform: place.uniform && uniform, ..place };
        let both = self.rng.one_in(2);
        let types = self.result_types();
        let then = b.nested(|b| self.some_and(b, place, |this, b| this.yield_values(b, &types)));
        let otherwise = b.nested(|b| match both {
            true => self.some_and(b, place, |this, b| this.yield_values(b, &types)),
            false => self.yield_values(b, &types),
        });
        self.construct(b, Op::branch(cond, then, otherwise), &types);
    }

    /// The types of a construct's results: mostly none.
    fn result_types(&mut self) -> Vec<Type> {
        if self.rng.one_in(2) {
            return Vec::new();
        }
        (0..1 + self.rng.below(2)).map(|_| self.any_type()).collect()
    }

    /// Values of these types, as a jump passes them.
    fn passed(&mut self, b: &mut Builder<'_>, types: &[Type]) -> Values {
        types.iter().map(|&ty| self.value_of(b, ty).value).collect()
    }

    fn yield_values(&mut self, b: &mut Builder<'_>, types: &[Type]) {
        if !types.is_empty() && !b.is_terminated() {
            let values = self.passed(b, types);
            b.push(Op::Yield(values));
        }
    }

    /// Appends a construct and adds its results to the values in scope.
    fn construct(&mut self, b: &mut Builder<'_>, op: Op, types: &[Type]) {
        let results = b.construct(op, types);
        self.add_results(&results, types);
    }

    fn add_results(&mut self, results: &[Value], types: &[Type]) {
        for (&result, &ty) in results.iter().zip(types) {
            self.add(result, ty, false);
        }
    }

    /// Breaks out of a construct around, with values for its results.
    fn break_(&mut self, b: &mut Builder<'_>, label: Label) {
        let jumps = self.jumps.iter().find(|jumps| jumps.label == label);
        let types = jumps.expect("a break is in its construct").results.clone();
        let values = self.passed(b, &types);
        b.push(Op::Break(label, values));
    }

    /// Continues a loop around, with values for its parameters.
    fn continue_(&mut self, b: &mut Builder<'_>, label: Label) {
        let jumps = self.jumps.iter().find(|jumps| jumps.label == label);
        let params = jumps.expect("a continue is in its loop").params.clone();
        let mut values = Values::new();
        if let Some((next, types)) = params {
            values.push(next);
            values.extend(self.passed(b, &types));
        }
        b.push(Op::Continue(label, values));
    }

    /// A loop over a counter, which may be left or shortened by breaks and continues.
    fn counted_loop(&mut self, b: &mut Builder<'_>, place: Position) {
        let most = 1 + self.rng.below(5);
        if place.iterations * most > MAX_ITERATIONS {
            return self.pure_statement(b);
        }
        let limit = if self.rng.one_in(2) { Some(self.index_below(b, most as u32 + 1)) } else { None };
        let (limit, uniform) = match limit {
            Some(entry) => (entry.value, entry.uniform),
            None => (b.i32(most as i32), true),
        };
        if self.rng.one_in(2) {
            return self.carried_loop(b, place, most, (limit, uniform));
        }
        let counter = b.func.add_local("i", 4, 4);
        b.push(Op::LocalStart(counter));
        let (ptr, zero) = (b.local_addr(counter), b.i32(0));
        b.store(ptr, zero, 4);
        let jumps = self.rng.one_in(2);
        let divergent_jumps = jumps && self.rng.one_in(2);
        let place = Position {
            // After a divergent jump some threads would not reach later barriers.
            uniform: place.uniform && uniform && !divergent_jumps,
            iterations: place.iterations * most,
            ..place
        };
        let label = b.func.add_label();
        let types = self.result_types();
        self.jumps.push(JumpTypes { label, results: types.clone(), params: None });
        let body = b.nested(|b| {
            let ptr = b.local_addr(counter);
            let i = b.load(ptr, Type::I32, 4);
            let done = b.compare(CmpOp::UGe, i, limit);
            b.if_else(done, |b| self.break_(b, label), |_| {});
            let values = self.pool.len();
            self.add(i, Type::I32, place.uniform);
            self.some(b, place);
            if jumps && !b.is_terminated() {
                self.jump(b, label, divergent_jumps);
                self.some(b, place);
            }
            self.pool.truncate(values);
        });
        let continuing = b.nested(|b| {
            let ptr = b.local_addr(counter);
            let i = b.load(ptr, Type::I32, 4);
            let one = b.i32(1);
            let next = b.binary(BinOp::Add, i, one);
            b.store(ptr, next, 4);
            if self.rng.one_in(4) {
                self.pure_and_forget(b);
            }
        });
        self.jumps.pop();
        self.construct(b, Op::endless(label, body, continuing), &types);
    }

    /// A loop that carries its counter and other values.
    fn carried_loop(
        &mut self,
        b: &mut Builder<'_>,
        place: Position,
        most: usize,
        (limit, uniform): (Value, bool),
    ) {
        let jumps = self.rng.one_in(2);
        let divergent_jumps = jumps && self.rng.one_in(2);
        let place = Position {
            uniform: place.uniform && uniform && !divergent_jumps,
            iterations: place.iterations * most,
            ..place
        };
        let (carried, results) = (self.result_types(), self.result_types());
        let mut inits = vec![b.i32(0)];
        inits.extend(self.passed(b, &carried));
        let after = b.carried_loop(&inits, &results, |b, label, params| {
            let i = params[0];
            let one = b.i32(1);
            let next = b.binary(BinOp::Add, i, one);
            let params_of = Some((next, carried.clone()));
            self.jumps.push(JumpTypes { label, results: results.clone(), params: params_of });
            let values = self.pool.len();
            self.add_results(&params[1..], &carried);
            let done = b.compare(CmpOp::UGe, i, limit);
            b.if_else(done, |b| self.break_(b, label), |_| {});
            self.add(i, Type::I32, place.uniform);
            self.some(b, place);
            if jumps && !b.is_terminated() {
                self.jump(b, label, divergent_jumps);
            }
            if !b.is_terminated() {
                self.some_and(b, place, |this, b| this.continue_(b, label));
            }
            self.pool.truncate(values);
            self.jumps.pop();
        });
        self.add_results(&after, &results);
    }

    fn pure_and_forget(&mut self, b: &mut Builder<'_>) {
        let values = self.pool.len();
        self.pure_statement(b);
        self.pool.truncate(values);
    }

    /// A conditional break or continue.
    fn jump(&mut self, b: &mut Builder<'_>, label: Label, divergent: bool) {
        let cond = if divergent { self.condition(b).0 } else { self.uniform_condition(b) };
        let leave = self.rng.one_in(2);
        let jump = |b: &mut Builder<'_>| if leave { self.break_(b, label) } else { self.continue_(b, label) };
        b.if_else(cond, jump, |_| {});
    }

    fn switch(&mut self, b: &mut Builder<'_>, place: Position) {
        let entry = self.index_below(b, 5);
        let place = Position { uniform: place.uniform && entry.uniform, ..place };
        let label = b.func.add_label();
        let types = self.result_types();
        self.jumps.push(JumpTypes { label, results: types.clone(), params: None });
        let mut cases = Vec::new();
        for values in [vec![0], vec![1, 3], vec![-1, 2]] {
            if self.rng.one_in(4) {
                continue;
            }
            let body = b.nested(|b| self.leavable(b, place, label));
            cases.push(SwitchCase { values, body });
        }
        let default = b.nested(|b| self.leavable(b, place, label));
        self.jumps.pop();
        self.construct(b, Op::switch(label, entry.value, cases, default), &types);
    }

    /// Statements with, perhaps, a way out in the middle.
    fn leavable(&mut self, b: &mut Builder<'_>, place: Position, label: Label) {
        let types = self.jumps.last().expect("a block that can be left is in its construct").results.clone();
        if self.rng.one_in(3) {
            return self.yield_values(b, &types);
        }
        let values = self.pool.len();
        let leaves = self.rng.one_in(2);
        // As in loops, only a condition that all agree on keeps the rest uniform.
        let cond = leaves.then(|| self.condition(b));
        self.some(b, place);
        if let Some((cond, uniform)) = cond.filter(|_| !b.is_terminated()) {
            b.if_else(cond, |b| self.break_(b, label), |_| {});
            let place = Position { uniform: place.uniform && uniform, ..place };
            self.some_and(b, place, |this, b| this.yield_values(b, &types));
        }
        self.pool.truncate(values);
        self.yield_values(b, &types);
    }

    fn scope(&mut self, b: &mut Builder<'_>, place: Position) {
        let label = b.func.add_label();
        let types = self.result_types();
        self.jumps.push(JumpTypes { label, results: types.clone(), params: None });
        let body = b.nested(|b| {
            self.leavable(b, place, label);
            if !b.is_terminated() && self.rng.one_in(4) {
                self.break_(b, label);
            }
        });
        self.jumps.pop();
        self.construct(b, Op::scope(label, body), &types);
    }

    /// Some threads leave the function. The kernel's bytes stay as they are for them, except for
    /// what they have stored.
    fn early_return(&mut self, b: &mut Builder<'_>, place: Position) {
        // In a kernel's loop it would let an exchange before it run once more without some threads.
        if !self.rng.one_in(3) || self.returns.is_none() && place.iterations > 1 {
            return self.pure_statement(b);
        }
        // Not so often that nothing would be left to run.
        let (chosen, number) = (self.index_below(b, 7), b.i32(3));
        let cond = b.compare(CmpOp::Eq, chosen.value, number);
        let returns = self.returns;
        let entry = returns.map(|ty| self.value_of(b, ty));
        b.if_else(cond, |b| b.push(Op::Return(entry.map(|entry| entry.value))), |_| {});
        self.any_returned = true;
    }
}
