//! Random programs against the simplest possible interpreter: one thread at a time, recursive, without
//! registers. What it can find: wrong masks, wrong skips, registers reused too early.

mod support;

use anymetal_ir::eval::{eval_binary, eval_compare, sign_extend};
use anymetal_ir::{
    BinOp, Block, Builder, CastOp, CmpOp, FuncId, Function, Label, Local, Module, Op, Query, Scalar, Space,
    SwitchCase, Type, Value,
};
use support::{add_kernel, element, function, grid, line, run_i32};

const THREADS: u32 = 70;
const SLOTS: i32 = 4;

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Generates the statements of one function.
struct Generator<'r> {
    random: &'r mut Random,
    callees: Vec<FuncId>,
    locals: Vec<Local>,
    /// What `break` may name, and whether `continue` may too.
    labels: Vec<(Label, bool)>,
    /// The kernel's buffer and the thread's first element.
    output: Option<(Value, Value)>,
    returns_value: bool,
    budget: usize,
}

impl Generator<'_> {
    /// Statements; `visible` holds `I32` values.
    fn block(&mut self, b: &mut Builder<'_>, visible: &mut Vec<Value>, depth: usize) {
        let before = visible.len();
        for _ in 0..1 + self.random.below(5) {
            if self.budget == 0 || b.is_terminated() {
                break;
            }
            self.budget -= 1;
            self.statement(b, visible, depth);
        }
        visible.truncate(before);
    }

    fn pick(&mut self, visible: &[Value]) -> Value {
        visible[self.random.below(visible.len())]
    }

    fn statement(&mut self, b: &mut Builder<'_>, visible: &mut Vec<Value>, depth: usize) {
        let choice = if depth == 0 { self.random.below(8) } else { self.random.below(15) };
        match choice {
            0..4 => {
                let value = self.arithmetic(b, visible);
                visible.push(value);
            }
            4 => {
                let ptr = self.local(b);
                let value = b.load(ptr, Type::I32, 4);
                visible.push(value);
            }
            5 | 6 => self.store(b, visible),
            7 => self.leave(b, visible),
            8 | 9 => {
                let cond = self.condition(b, visible);
                let then = b.nested(|b| self.block(b, visible, depth - 1));
                let otherwise = b.nested(|b| {
                    if self.random.below(2) == 0 {
                        self.block(b, visible, depth - 1);
                    }
                });
                b.push(Op::branch(cond, then, otherwise));
            }
            10 | 11 => self.endless(b, visible, depth),
            12 => self.switch(b, visible, depth),
            13 => {
                let label = b.func.add_label();
                self.labels.push((label, false));
                let body = b.nested(|b| self.block(b, visible, depth - 1));
                self.labels.pop();
                b.push(Op::scope(label, body));
            }
            _ => {
                if !self.callees.is_empty() {
                    let callee = self.callees[self.random.below(self.callees.len())];
                    let args = vec![self.pick(visible), self.pick(visible)];
                    let value = b.value(Op::Call(callee, args), Type::I32);
                    visible.push(value);
                }
            }
        }
    }

    fn arithmetic(&mut self, b: &mut Builder<'_>, visible: &[Value]) -> Value {
        let ops = [BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Xor, BinOp::SDiv, BinOp::LShr, BinOp::SMin];
        let op = ops[self.random.below(ops.len())];
        let x = self.pick(visible);
        let y = if self.random.below(3) == 0 {
            let n = self.random.below(9) as i32 - 4;
            b.i32(n)
        } else {
            self.pick(visible)
        };
        b.binary(op, x, y)
    }

    fn condition(&mut self, b: &mut Builder<'_>, visible: &[Value]) -> Value {
        let (x, n) = (self.pick(visible), self.random.below(40) as i32);
        let limit = b.i32(n);
        let op = [CmpOp::SLt, CmpOp::UGe, CmpOp::Ne][self.random.below(3)];
        if self.random.below(2) == 0 {
            let one = b.i32(1);
            let bit = b.binary(BinOp::And, x, one);
            b.compare(CmpOp::Eq, bit, one)
        } else {
            b.compare(op, x, limit)
        }
    }

    fn local(&mut self, b: &mut Builder<'_>) -> Value {
        let local = self.locals[self.random.below(self.locals.len())];
        b.local_addr(local)
    }

    fn store(&mut self, b: &mut Builder<'_>, visible: &[Value]) {
        let value = self.pick(visible);
        match self.output {
            Some((buffer, first)) if self.random.below(2) == 0 => {
                let slot = b.i32(self.random.below(SLOTS as usize) as i32);
                let index = b.binary(BinOp::Add, first, slot);
                let ptr = element(b, buffer, index);
                b.store(ptr, value, 4);
            }
            _ => {
                let ptr = self.local(b);
                b.store(ptr, value, 4);
            }
        }
    }

    /// Break, continue or, rarely, return; mostly under a condition, to leave some lanes.
    fn leave(&mut self, b: &mut Builder<'_>, visible: &[Value]) {
        let op = match self.random.below(6) {
            0 => Op::Return(self.returns_value.then(|| self.pick(visible))),
            _ if self.labels.is_empty() => return,
            n => match self.labels[self.random.below(self.labels.len())] {
                (label, true) if n < 3 => Op::continue_(label),
                (label, _) => Op::break_(label),
            },
        };
        if self.random.below(8) == 0 {
            b.push(op);
        } else {
            let cond = self.condition(b, visible);
            b.if_else(cond, |b| b.push(op), |_| {});
        }
    }

    /// A loop of at most four iterations, counted first thing.
    fn endless(&mut self, b: &mut Builder<'_>, visible: &mut Vec<Value>, depth: usize) {
        let counter = b.func.add_local("counter", 4, 4);
        let ptr = b.local_addr(counter);
        let zero = b.i32(0);
        b.store(ptr, zero, 4);
        let label = b.func.add_label();
        self.labels.push((label, true));
        let limit = 1 + self.random.below(4) as i32;
        let body = b.nested(|b| {
            let count = b.load(ptr, Type::I32, 4);
            let one = b.i32(1);
            let next = b.binary(BinOp::Add, count, one);
            b.store(ptr, next, 4);
            let limit = b.i32(limit);
            let done = b.compare(CmpOp::SGe, count, limit);
            b.if_else(done, |b| b.push(Op::break_(label)), |_| {});
            visible.push(count);
            self.block(b, visible, depth - 1);
            visible.pop();
        });
        // No `continue` to a loop from its own continuing block.
        self.labels.pop();
        self.labels.push((label, false));
        let continuing = b.nested(|b| {
            if self.random.below(2) == 0 {
                self.block(b, visible, 0);
            }
        });
        self.labels.pop();
        b.push(Op::endless(label, body, continuing));
    }

    fn switch(&mut self, b: &mut Builder<'_>, visible: &mut Vec<Value>, depth: usize) {
        let x = self.pick(visible);
        let three = b.i32(3);
        let selector = b.binary(BinOp::And, x, three);
        let label = b.func.add_label();
        self.labels.push((label, false));
        let cases = (0..self.random.below(3) as i64)
            .map(|n| {
                let body = b.nested(|b| self.block(b, visible, depth - 1));
                SwitchCase { values: vec![n, -1 - n, n + 2], body }
            })
            .collect();
        let default = b.nested(|b| self.block(b, visible, depth - 1));
        self.labels.pop();
        b.push(Op::switch(label, selector, distinct(cases), default));
    }
}

/// A case's value may occur once.
fn distinct(mut cases: Vec<SwitchCase>) -> Vec<SwitchCase> {
    let mut seen = Vec::new();
    for case in &mut cases {
        case.values.retain(|value| !seen.contains(value));
        seen.extend(case.values.iter().copied());
    }
    cases
}

fn random_module(seed: u64) -> Module {
    let mut random = Random(seed);
    let mut module = Module::new();
    let mut callees = Vec::new();
    for name in ["f", "g"] {
        let known = callees.clone();
        let id = function(&mut module, name, &[Type::I32; 2], Some(Type::I32), |b, p| {
            let result = build(b, &mut random, known, p.to_vec(), None, 20);
            b.push(Op::Return(Some(result)));
        });
        callees.push(id);
    }
    add_kernel(&mut module, &[Space::Device], |b, p| {
        b.loc = line(1);
        let x = b.query(Query::ThreadPositionInGrid(0));
        let slots = b.i32(SLOTS);
        let first = b.binary(BinOp::Mul, x, slots);
        let seven = b.i32(7);
        let mixed = b.binary(BinOp::URem, x, seven);
        let result = build(b, &mut random, callees, vec![x, mixed], Some((p[0], first)), 60);
        let ptr = element(b, p[0], first);
        b.store(ptr, result, 4);
    });
    module
}

/// Statements with two locals; gives a value to end with.
fn build(
    b: &mut Builder<'_>,
    random: &mut Random,
    callees: Vec<FuncId>,
    mut visible: Vec<Value>,
    output: Option<(Value, Value)>,
    budget: usize,
) -> Value {
    let locals = vec![b.func.add_local("m", 4, 4), b.func.add_local("n", 4, 4)];
    for (&local, &value) in locals.iter().zip(&visible) {
        let ptr = b.local_addr(local);
        b.store(ptr, value, 4);
    }
    let returns_value = output.is_none();
    let mut generator =
        Generator { random, callees, locals, labels: Vec::new(), output, returns_value, budget };
    for _ in 0..6 {
        generator.block(b, &mut visible, 4);
    }
    let ptr = generator.local(b);
    b.load(ptr, Type::I32, 4)
}

// --- the reference

/// Bits, or a pointer into a local or the buffer.
#[derive(Clone, Copy)]
enum Datum {
    Bits(u64),
    Local(Local),
    Buffer(u64),
}

enum Flow {
    On,
    Break(Label),
    Continue(Label),
    Return(u64),
}

struct Thread<'m> {
    module: &'m Module,
    buffer: &'m mut [i32],
    x: u32,
}

struct Activation<'m> {
    function: &'m Function,
    values: Vec<Datum>,
    locals: Vec<i32>,
}

impl Activation<'_> {
    fn bits(&self, value: Value) -> u64 {
        let Datum::Bits(bits) = self.values[value.index()] else { panic!("{value} is a pointer") };
        bits
    }
}

impl<'m> Thread<'m> {
    fn call(&mut self, id: FuncId, args: &[Datum]) -> u64 {
        let function = self.module.function(id);
        let mut values = vec![Datum::Bits(0); function.values.len()];
        values[..args.len()].copy_from_slice(args);
        let mut activation = Activation { function, values, locals: vec![0; function.locals.len()] };
        match self.block(&mut activation, function.body) {
            Flow::Return(bits) => bits,
            _ => 0,
        }
    }

    fn block(&mut self, a: &mut Activation<'m>, block: Block) -> Flow {
        let function = a.function;
        for &inst in function.block(block) {
            let data = function.inst(inst);
            match self.operation(a, &data.op) {
                Ok(datum) => {
                    if let Some(result) = data.result {
                        a.values[result.index()] = datum;
                    }
                }
                Err(Flow::On) => {}
                Err(flow) => return flow,
            }
        }
        Flow::On
    }

    /// A result, or where control goes.
    fn operation(&mut self, a: &mut Activation<'m>, op: &Op) -> Result<Datum, Flow> {
        let i32_type = Scalar::I32;
        Ok(match op {
            Op::Const(bits) => Datum::Bits(*bits),
            Op::Query(_) => Datum::Bits(u64::from(self.x)),
            Op::Binary(op, x, y) => Datum::Bits(eval_binary(*op, i32_type, a.bits(*x), a.bits(*y))),
            Op::Compare(op, x, y) => {
                Datum::Bits(u64::from(eval_compare(*op, i32_type, a.bits(*x), a.bits(*y))))
            }
            Op::Cast(CastOp::ZExt, x) => Datum::Bits(a.bits(*x)),
            Op::LocalAddr(local) => Datum::Local(*local),
            Op::PtrAdd { base, index, scale, offset } => {
                let index = index.map_or(0, |index| a.bits(index)) * u64::from(*scale);
                match a.values[base.index()] {
                    Datum::Buffer(at) => Datum::Buffer(at + index + *offset as u64),
                    _ => panic!("only the buffer is indexed"),
                }
            }
            Op::Load { ptr, .. } => match a.values[ptr.index()] {
                Datum::Local(local) => Datum::Bits(a.locals[local.index()] as u32 as u64),
                _ => panic!("only locals are read"),
            },
            Op::Store { ptr, value, .. } => {
                let value = a.bits(*value) as i32;
                match a.values[ptr.index()] {
                    Datum::Local(local) => a.locals[local.index()] = value,
                    Datum::Buffer(at) => self.buffer[at as usize / 4] = value,
                    Datum::Bits(_) => panic!("no pointer"),
                }
                return Err(Flow::On);
            }
            Op::Call(callee, args) => {
                let args: Vec<Datum> = args.iter().map(|arg| a.values[arg.index()]).collect();
                Datum::Bits(self.call(*callee, &args))
            }
            _ => return Err(self.control(a, op)),
        })
    }

    fn control(&mut self, a: &mut Activation<'m>, op: &Op) -> Flow {
        match op {
            Op::If { cond, then, otherwise, .. } => {
                let taken = if a.bits(*cond) != 0 { *then } else { *otherwise };
                self.block(a, taken)
            }
            Op::Loop { label, body, continuing, .. } => loop {
                match self.block(a, *body) {
                    Flow::Break(to) if to == *label => break Flow::On,
                    Flow::Continue(to) if to == *label => {}
                    Flow::On => {}
                    flow => break flow,
                }
                match self.block(a, *continuing) {
                    Flow::Break(to) if to == *label => break Flow::On,
                    Flow::On => {}
                    flow => break flow,
                }
            },
            Op::Switch { label, selector, cases, default, .. } => {
                let selector = sign_extend(Scalar::I32, a.bits(*selector));
                let case = cases.iter().find(|case| case.values.contains(&selector));
                match self.block(a, case.map_or(*default, |case| case.body)) {
                    Flow::Break(to) if to == *label => Flow::On,
                    flow => flow,
                }
            }
            Op::Scope { label, body, .. } => match self.block(a, *body) {
                Flow::Break(to) if to == *label => Flow::On,
                flow => flow,
            },
            Op::Break(label, _) => Flow::Break(*label),
            Op::Continue(label, _) => Flow::Continue(*label),
            Op::Return(value) => Flow::Return(value.map_or(0, |value| a.bits(value))),
            _ => panic!("not generated: {op:?}"),
        }
    }
}

#[test]
fn lock_step_execution_is_execution_thread_by_thread() {
    for seed in 0..400 {
        let module = random_module(seed);
        let len = (THREADS as i32 * SLOTS) as usize;
        let mut expected = vec![-1; len];
        for x in 0..THREADS {
            let mut thread = Thread { module: &module, buffer: &mut expected, x };
            thread.call(module.kernels[0].function, &[Datum::Buffer(0)]);
        }
        let result = run_i32(&module, grid(THREADS, 64), len);
        assert_eq!(result, expected, "seed {seed}\n{}", anymetal_ir::print_module(&module));
    }
}
