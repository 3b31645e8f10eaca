//! Writes the loop in which lanes take turns before the loop that remains.

use std::collections::BTreeMap;

use super::form::Rows;
use super::terms::{Expr, Load, Sum};
use super::{Param, Plan};
use crate::copy::Cloner;
use crate::limits::MAX_COUNTER;
use anymetal_ir::{
    BinOp, Block, CastOp, CmpOp, FpMode, Function, Inst, Label, Loc, Op, Query, Scalar, Type, Value, Values,
};

/// Rewrites one loop.
pub(super) fn rewrite(function: &mut Function, plan: &Plan) {
    let lane = Value(0);
    let writer = Writer {
        function,
        plan,
        insts: Vec::new(),
        lane,
        offsets: BTreeMap::new(),
        pointers: BTreeMap::new(),
    };
    writer.rewrite();
}

struct Writer<'a> {
    function: &'a mut Function,
    plan: &'a Plan,
    /// The code that is being written.
    insts: Vec<Inst>,
    /// The lane's number, in 64 bits.
    lane: Value,
    /// The offsets of the lanes, by row and step and the logarithm of a row's length.
    offsets: BTreeMap<(i64, i64, u32), Value>,
    /// Pointers of the loop, and what they are in lane 0.
    pointers: BTreeMap<Value, Value>,
}

/// A loop that is being written.
struct NewLoop {
    inst: Inst,
    label: Label,
    body: Block,
    params: Vec<Value>,
}

impl Writer<'_> {
    fn loc(&self) -> Loc {
        self.function.inst(self.plan.inst).loc
    }

    fn value_with(&mut self, op: Op, ty: Type, fp: FpMode) -> Value {
        let inst = self.function.add_inst(op, Some(ty), fp, self.loc());
        self.insts.push(inst);
        self.function.result(inst)
    }

    fn value(&mut self, op: Op, ty: Type) -> Value {
        self.value_with(op, ty, FpMode::Safe)
    }

    fn effect(&mut self, op: Op) -> Inst {
        let inst = self.function.add_inst(op, None, FpMode::Safe, self.loc());
        self.insts.push(inst);
        inst
    }

    fn constant(&mut self, value: i64, scalar: Scalar) -> Value {
        let bits = value as u64 & anymetal_ir::eval::mask(scalar);
        self.value(Op::Const(bits), Type::Scalar(scalar))
    }

    fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let ty = self.function.ty(a);
        self.value(Op::Binary(op, a, b), ty)
    }

    fn extended(&mut self, value: Value) -> Value {
        self.value(Op::Cast(CastOp::SExt, value), Type::I64)
    }

    fn rewrite(mut self) {
        let Op::Loop { inits, params: own, .. } = self.function.inst(self.plan.inst).op.clone() else {
            unreachable!("a plan is for a loop")
        };
        let index = self.value(Op::Query(Query::ThreadIndexInSimdgroup), Type::I32);
        self.lane = self.value(Op::Cast(CastOp::ZExt, index), Type::I64);
        let first = self.clone_before(&inits);
        let limit = self.limit();
        self.write_offsets();
        let (fast, outside) = self.begin_loop(&first);
        self.exit_unless_all(&own, limit, &fast);
        self.clone_inside(&own, &fast.params);
        let next = self.turns(&fast.params);
        self.effect(Op::Continue(fast.label, next));
        let results = self.end_loop(fast, outside);
        let left = self.left(&inits, &first, &results);
        let Op::Loop { inits, .. } = &mut self.function.insts[self.plan.inst.index()].op else {
            unreachable!("a plan is for a loop")
        };
        *inits = left;
        let insts = &mut self.function.blocks[self.plan.block.index()].insts;
        let at = insts.iter().position(|&inst| inst == self.plan.inst).expect("the loop is in its block");
        insts.splice(at..at, self.insts);
    }

    /// The limit in 64 bits, where counters do not wrap. Forms know that counters are below [`MAX_COUNTER`].
    fn limit(&mut self) -> Value {
        let cast = if self.plan.counted.goes_on == CmpOp::SLt { CastOp::SExt } else { CastOp::ZExt };
        let limit = self.value(Op::Cast(cast, self.plan.counted.limit), Type::I64);
        let largest = self.constant(MAX_COUNTER, Scalar::I64);
        self.binary(BinOp::SMin, limit, largest)
    }

    /// The parameters' first values: of counters and pointers those of lane 0.
    fn clone_before(&mut self, inits: &[Value]) -> Vec<Value> {
        let zero = self.constant(0, Scalar::I32);
        let before = &self.plan.before;
        let is_lane =
            |inst: Inst| matches!(self.function.inst(inst).op, Op::Query(Query::ThreadIndexInSimdgroup));
        let lanes: Vec<Inst> = before.iter().copied().filter(|&inst| is_lane(inst)).collect();
        let mut cloner = Cloner::new(self.function);
        for inst in lanes {
            let lane = cloner.function.result(inst);
            cloner.map_value(lane, zero);
        }
        let copies = cloner.insts(before);
        let first = inits.iter().map(|&init| cloner.value(init)).collect();
        self.pointers.extend(cloner.copied.iter().copied());
        self.insts.extend(copies);
        first
    }

    /// The offsets of all lanes that the loop adds to pointers.
    fn write_offsets(&mut self) {
        let sums = self.plan.params.iter().filter_map(|param| match param {
            Param::Sum { sum, .. } => Some(sum),
            Param::Counter | Param::Pointer { .. } => None,
        });
        let loads: Vec<&Load> = sums.flat_map(Sum::loads).collect();
        let turns =
            loads.iter().map(|load| load.turns(self.plan.count).expect("a plan's loads are in rows").0);
        let all: Vec<Rows> = turns.chain(self.plan.prefetches.iter().map(|&(_, rows)| rows)).collect();
        for Rows { row, step, log, .. } in all {
            if row == 0 && step == 0 || self.offsets.contains_key(&(row, step, log)) {
                continue;
            }
            let bits = self.constant(log.into(), Scalar::I64);
            let mask = self.constant((1 << log) - 1, Scalar::I64);
            let [row_bytes, step_bytes] = [row, step].map(|bytes| self.constant(bytes, Scalar::I64));
            let number = self.binary(BinOp::LShr, self.lane, bits);
            let rows = self.binary(BinOp::Mul, number, row_bytes);
            let within = self.binary(BinOp::And, self.lane, mask);
            let steps = self.binary(BinOp::Mul, within, step_bytes);
            let offset = self.binary(BinOp::Add, rows, steps);
            self.offsets.insert((row, step, log), offset);
        }
    }

    /// Leaves the loop unless the counter of every lane is below the limit. In 64 bits nothing wraps.
    fn exit_unless_all(&mut self, own: &[Value], limit: Value, fast: &NewLoop) {
        let number = own.iter().position(|&param| param == self.plan.counted.counter);
        let counter = self.extended(fast.params[number.expect("the counter is a parameter")]);
        let reach = self.constant(self.plan.reach, Scalar::I64);
        let last = self.binary(BinOp::Add, counter, reach);
        let goes_on = self.value(Op::Compare(CmpOp::SLt, last, limit), Type::Scalar(Scalar::Bool));
        self.exit_unless(goes_on, fast);
    }

    /// The pointers of lane 0, and the prefetches.
    fn clone_inside(&mut self, own: &[Value], params: &[Value]) {
        let before: Vec<(Value, Value)> = self.pointers.iter().map(|(&old, &new)| (old, new)).collect();
        let mut cloner = Cloner::new(self.function);
        for (old, new) in before.into_iter().chain(own.iter().copied().zip(params.iter().copied())) {
            cloner.map_value(old, new);
        }
        let copies = cloner.insts(&self.plan.inside);
        self.pointers.extend(cloner.copied.iter().copied());
        self.pointers.extend(own.iter().copied().zip(params.iter().copied()));
        self.insts.extend(copies);
        for &(inst, rows) in &self.plan.prefetches {
            let Op::Prefetch { ptr, bytes, access } = self.function.inst(inst).op.clone() else {
                unreachable!("{inst} is not a prefetch")
            };
            let ptr = self.place(ptr, rows);
            self.effect(Op::Prefetch { ptr, bytes, access });
        }
    }

    /// Where the lanes are that are in rows from a pointer of lane 0.
    fn place(&mut self, pointer: Value, rows: Rows) -> Value {
        let Rows { first, row, step, log } = rows;
        let base = self.pointers.get(&pointer).copied().unwrap_or(pointer);
        let index = self.offsets.get(&(row, step, log)).copied();
        let ty = self.function.ty(base);
        self.value(Op::PtrAdd { base, index, scale: 1, offset: first }, ty)
    }

    /// All turns of an iteration, as a loop: its code is small, and what a turn loads stays in registers.
    /// Returns the parameters' next values.
    fn turns(&mut self, params: &[Value]) -> Values {
        let plan = self.plan;
        let is_sum = |&(_, param): &(usize, &Param)| matches!(param, Param::Sum { .. });
        let sums: Vec<usize> = plan.params.iter().enumerate().filter(is_sum).map(|(at, _)| at).collect();
        let zero = self.constant(0, Scalar::I64);
        let inits: Vec<Value> = std::iter::once(zero).chain(sums.iter().map(|&at| params[at])).collect();
        let (turns, outside) = self.begin_loop(&inits);
        let turn = turns.params[0];
        let count = self.constant(plan.count as i64, Scalar::I64);
        let goes_on = self.value(Op::Compare(CmpOp::ULt, turn, count), Type::Scalar(Scalar::Bool));
        self.exit_unless(goes_on, &turns);
        let one = self.constant(1, Scalar::I64);
        let mut next = Values::new();
        next.push(self.binary(BinOp::Add, turn, one));
        for (&at, &before) in sums.iter().zip(&turns.params[1..]) {
            let Param::Sum { sum, fp } = &plan.params[at] else { unreachable!("the parameter is a sum") };
            let ty = self.function.ty(before);
            let added = self.sum(sum, turn, (ty, *fp));
            next.push(self.value_with(Op::Binary(BinOp::FAdd, before, added), ty, *fp));
        }
        self.effect(Op::Continue(turns.label, next));
        let results = self.end_loop(turns, outside);
        let mut next: Values = params.iter().copied().collect();
        for (&at, &result) in sums.iter().zip(&results[1..]) {
            next[at] = result;
        }
        for (at, param) in plan.params.iter().enumerate() {
            match *param {
                Param::Counter => {
                    let step = self.constant(plan.counted.step, plan.counted.scalar);
                    next[at] = self.binary(BinOp::Add, params[at], step);
                }
                Param::Pointer { step } => {
                    let op = Op::PtrAdd { base: params[at], index: None, scale: 1, offset: step };
                    next[at] = self.value(op, self.function.ty(params[at]));
                }
                Param::Sum { .. } => {}
            }
        }
        next
    }

    /// Begins a loop with these first values. Returns it and the code before it.
    fn begin_loop(&mut self, inits: &[Value]) -> (NewLoop, Vec<Inst>) {
        let (label, body, continuing) =
            (self.function.add_label(), self.function.add_block(), self.function.add_block());
        let (params, results) = (Values::new(), Values::new());
        let inst = self.effect(Op::Loop { label, inits: Values::new(), params, body, continuing, results });
        let params = inits.iter().map(|&init| self.function.add_loop_param(inst, init)).collect();
        (NewLoop { inst, label, body, params }, std::mem::take(&mut self.insts))
    }

    /// Ends the loop, whose results are its parameters at last.
    fn end_loop(&mut self, new: NewLoop, outside: Vec<Inst>) -> Vec<Value> {
        self.function.blocks[new.body.index()].insts = std::mem::replace(&mut self.insts, outside);
        let types: Vec<Type> = new.params.iter().map(|&param| self.function.ty(param)).collect();
        types.into_iter().map(|ty| self.function.add_construct_result(new.inst, ty)).collect()
    }

    fn exit_unless(&mut self, goes_on: Value, new: &NewLoop) {
        let (then, otherwise) = (self.function.add_block(), self.function.add_block());
        let exit = Op::Break(new.label, new.params.iter().copied().collect());
        let exit = self.function.add_inst(exit, None, FpMode::Safe, self.loc());
        self.function.blocks[otherwise.index()].insts.push(exit);
        self.effect(Op::branch(goes_on, then, otherwise));
    }

    fn sum(&mut self, sum: &Sum, turn: Value, (ty, fp): (Type, FpMode)) -> Value {
        let mut parts = Vec::new();
        for term in &sum.terms {
            parts.push(self.expr(term, turn));
        }
        for (factor, inner) in &sum.products {
            let (factor, inner) = (self.expr(factor, turn), self.sum(inner, turn, (ty, fp)));
            parts.push(self.value_with(Op::Binary(BinOp::FMul, inner, factor), ty, fp));
        }
        let parts = parts.into_iter();
        parts.reduce(|a, b| self.value_with(Op::Binary(BinOp::FAdd, a, b), ty, fp)).expect("a sum has terms")
    }

    fn expr(&mut self, expr: &Expr, turn: Value) -> Value {
        match expr {
            &Expr::Const(bits, ty) => self.value(Op::Const(bits), ty),
            &Expr::Uniform(value, component) => match self.function.ty(value) {
                Type::Scalar(_) => value,
                ty => {
                    let scalar = Type::Scalar(ty.scalar().expect("a vector has elements"));
                    self.value(Op::Extract(value, component), scalar)
                }
            },
            Expr::Apply { op, ty, fp, operands } => {
                let operands: Vec<Value> = operands.iter().map(|operand| self.expr(operand, turn)).collect();
                let (mut op, mut operands) = (op.clone(), operands.into_iter());
                op.for_each_operand_mut(|value| *value = operands.next().expect("each operand is replaced"));
                self.value_with(op, *ty, *fp)
            }
            Expr::Load(load) => {
                let Op::Load { ptr, .. } = self.function.inst(load.inst).op else {
                    unreachable!("{} is not a load", load.inst)
                };
                let (rows, advance) = load.turns(self.plan.count).expect("a plan's loads are in rows");
                let base = self.place(ptr, rows);
                let op = Op::PtrAdd { base, index: Some(turn), scale: advance, offset: 0 };
                let ptr = self.value(op, self.function.ty(base));
                let loc = self.function.inst(load.inst).loc;
                let op = Op::Load { ptr, align: load.align, volatile: false };
                let inst = self.function.add_inst(op, Some(Type::Scalar(load.scalar)), FpMode::Safe, loc);
                self.insts.push(inst);
                self.function.result(inst)
            }
        }
    }

    /// The first values of what remains of the loop.
    fn left(&mut self, inits: &[Value], first: &[Value], results: &[Value]) -> Values {
        let plan = self.plan;
        let number = plan.params.iter().position(|param| matches!(param, Param::Counter));
        let number = number.expect("the counter is a parameter");
        let advance = self.binary(BinOp::Sub, results[number], first[number]);
        let step = self.constant(plan.counted.step, plan.counted.scalar);
        let iterations = self.binary(BinOp::UDiv, advance, step);
        let iterations = self.value(Op::Cast(CastOp::ZExt, iterations), Type::I64);
        let mut left = Values::new();
        for (at, param) in plan.params.iter().enumerate() {
            left.push(match *param {
                Param::Counter => self.binary(BinOp::Add, inits[at], advance),
                Param::Pointer { step } => {
                    let scale = u32::try_from(step).expect("the step of a pointer fits");
                    let op = Op::PtrAdd { base: inits[at], index: Some(iterations), scale, offset: 0 };
                    self.value(op, self.function.ty(inits[at]))
                }
                Param::Sum { .. } => results[at],
            });
        }
        left
    }
}
