//! Promotes private variables to values, as LLVM's `mem2reg` does: where several definitions meet, loads and
//! stores become loop parameters and results of constructs.
//!
//! A variable (see [`Variables`]) is promoted if all its loads and stores have one type, or types of one size
//! that can be bitcast into each other. A construct that writes a variable which is read after it gets a
//! result, a loop at whose start the variable is live gets a parameter (SSA construction, pruned by
//! liveness). [`block_values::remove_trivial`] removes those that turn out to have one value.
//!
//! A loop with parameters has no continuing block: it becomes the end of the body. Where something
//! continues, the body before it becomes a scope, which the continues leave.

mod continuing;
mod liveness;

use super::block_values;
use super::substitution::Substitution;
use crate::limits::MAX_WRITES;
use anymetal_analysis::{Variables, walk_insts};
use anymetal_ir::{
    Block, CastOp, FpMode, Function, Inst, Label, Loc, Local, Op, Scalar, Type, Value, Values,
};
use liveness::Liveness;

/// Promotes the variables of a function; returns whether anything changed.
pub fn mem2reg(function: &mut Function) -> bool {
    let variables = Variables::of(function);
    let mut types = promoted_types(function, &variables);
    let merged = continuing::merge_continuing_blocks(function, &variables, &mut types);
    let numbers = within_budget(function, &variables, Numbers::new(types));
    if numbers.locals.is_empty() {
        // No variable remains to be promoted. Continuing blocks were merged for those beyond the budget.
        return merged;
    }
    let numbers = numbers.named(function);
    let liveness = Liveness::of(function, &variables, &numbers);
    let contents = vec![None; numbers.locals.len()];
    let mut promoter = Promoter {
        function,
        variables: &variables,
        numbers: &numbers,
        liveness: &liveness,
        contents,
        log: Vec::new(),
        targets: Vec::new(),
        substitution: Substitution::default(),
    };
    let body = promoter.function.body;
    promoter.block(body, End::Yield(&[]));
    assert!(promoter.targets.is_empty(), "the walk has left every construct");
    block_values::remove_trivial(function);
    true
}

/// For each local, the type of the values that replace it; `None` if it is not promoted.
fn promoted_types(function: &Function, variables: &Variables) -> Vec<Option<Type>> {
    let mut types: Vec<Option<Type>> = vec![None; function.locals.len()];
    let mut mixed = vec![false; function.locals.len()];
    walk_insts(function, function.body, &mut |inst| {
        let (ptr, ty) = match function.inst(inst).op {
            Op::Load { ptr, .. } => (ptr, function.ty(function.result(inst))),
            Op::Store { ptr, value, .. } => (ptr, function.ty(value)),
            _ => return,
        };
        if let Some(local) = variables.at(ptr) {
            let known = *types[local.index()].get_or_insert(ty);
            mixed[local.index()] |= known != ty && !can_bitcast(known, ty);
        }
    });
    types.into_iter().zip(mixed).map(|(ty, mixed)| ty.filter(|_| !mixed)).collect()
}

fn can_bitcast(from: Type, to: Type) -> bool {
    let plain = |ty: Type| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    plain(from) && plain(to) && from.size() == to.size()
}

/// The promoted locals, numbered.
struct Numbers {
    /// By local.
    of: Vec<Option<usize>>,
    locals: Vec<Local>,
    types: Vec<Type>,
    /// For [`anymetal_ir::ValueData::variable`].
    names: Vec<u32>,
}

impl Numbers {
    fn new(types: Vec<Option<Type>>) -> Self {
        let of = vec![None; types.len()];
        let mut numbers = Numbers { of, locals: Vec::new(), types: Vec::new(), names: Vec::new() };
        for (local, ty) in (0..).map(Local).zip(types) {
            let Some(ty) = ty else { continue };
            numbers.of[local.index()] = Some(numbers.locals.len());
            numbers.locals.push(local);
            numbers.types.push(ty);
        }
        numbers
    }

    /// Adds the names of the variables to the function.
    fn named(mut self, function: &mut Function) -> Self {
        for local in &self.locals {
            function.variable_names.push(function.locals[local.index()].name.clone());
            self.names.push(function.variable_names.len() as u32);
        }
        self
    }

    /// The promoted variable that a pointer leads to.
    fn at(&self, variables: &Variables, ptr: Value) -> Option<usize> {
        self.of[variables.at(ptr)?.index()]
    }

    /// The promoted variable that an instruction writes, or whose lifetime it begins.
    fn written(&self, variables: &Variables, op: &Op) -> Option<usize> {
        match *op {
            Op::Store { ptr, .. } => self.at(variables, ptr),
            Op::LocalStart(local) => self.of[local.index()],
            _ => None,
        }
    }
}

/// Leaves the variables in memory that most constructs write, as far as all variables together are past
/// [`MAX_WRITES`].
fn within_budget(function: &Function, variables: &Variables, numbers: Numbers) -> Numbers {
    let count = numbers.locals.len();
    let (last, counts) = (vec![0; count], vec![0; count]);
    let mut counter =
        WriteCounter { function, variables, numbers: &numbers, time: 0, open: Vec::new(), last, counts };
    counter.block(function.body);
    let counts = counter.counts;
    let mut total: usize = counts.iter().sum();
    if total <= MAX_WRITES {
        return numbers;
    }
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&variable| std::cmp::Reverse(counts[variable]));
    let mut types: Vec<Option<Type>> = vec![None; function.locals.len()];
    for (&local, &ty) in numbers.locals.iter().zip(&numbers.types) {
        types[local.index()] = Some(ty);
    }
    for variable in order {
        if total <= MAX_WRITES {
            break;
        }
        total -= counts[variable];
        types[numbers.locals[variable].index()] = None;
    }
    Numbers::new(types)
}

/// Counts, for each variable, the constructs that write it.
struct WriteCounter<'a> {
    function: &'a Function,
    variables: &'a Variables,
    numbers: &'a Numbers,
    /// Counts constructs and writes, from 1.
    time: usize,
    /// When each of the constructs around the current position began.
    open: Vec<usize>,
    /// When each variable was last written; 0: never.
    last: Vec<usize>,
    counts: Vec<usize>,
}

impl WriteCounter<'_> {
    fn block(&mut self, block: Block) {
        let function = self.function;
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            self.time += 1;
            if let Some(variable) = self.numbers.written(self.variables, op) {
                // The constructs that are open since before the last write were counted then.
                let last = std::mem::replace(&mut self.last[variable], self.time);
                self.counts[variable] += self.open.len() - self.open.partition_point(|&began| began < last);
            }
            let blocks = op.blocks();
            if !blocks.is_empty() {
                self.open.push(self.time);
                blocks.into_iter().for_each(|nested| self.block(nested));
                self.open.pop();
            }
        }
    }
}

/// The variables whose values the jumps of a labelled construct pass.
struct Target {
    label: Label,
    /// The variables of the results that are added.
    results: Vec<usize>,
    /// The variables of the parameters that are added.
    params: Vec<usize>,
}

/// How a block ends that does not end with a jump.
#[derive(Clone, Copy)]
enum End<'a> {
    /// With a yield of these variables, if there are any.
    Yield(&'a [usize]),
    /// As the body of a loop, to whose next iteration these variables are passed.
    Continue(Label, &'a [usize]),
}

impl End<'_> {
    /// The variables that are passed where the block ends.
    fn variables(&self) -> &[usize] {
        match self {
            End::Yield(variables) | End::Continue(_, variables) => variables,
        }
    }
}

struct Promoter<'a> {
    function: &'a mut Function,
    variables: &'a Variables,
    numbers: &'a Numbers,
    liveness: &'a Liveness,
    /// The current value of each promoted variable; `None`: it is undefined.
    contents: Vec<Option<Value>>,
    /// Earlier contents, to restore the state before a block.
    log: Vec<(usize, Option<Value>)>,
    /// The constructs around the current position.
    targets: Vec<Target>,
    substitution: Substitution,
}

impl Promoter<'_> {
    fn set(&mut self, variable: usize, value: Option<Value>) {
        let old = std::mem::replace(&mut self.contents[variable], value);
        self.log.push((variable, old));
    }

    /// Walks a block. The contents afterwards are those before.
    fn block(&mut self, block: Block, end: End<'_>) {
        let mark = self.log.len();
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            self.instruction(inst, end, &mut out);
        }
        let ends = out.last().is_some_and(|&last| self.function.inst(last).op.ends_block());
        if !ends && !end.variables().is_empty() {
            let mut values = Values::new();
            self.pass(end.variables(), &mut values, &mut out);
            let op = match end {
                End::Yield(_) => Op::Yield(values),
                End::Continue(label, _) => Op::Continue(label, values),
            };
            out.push(self.function.add_inst(op, None, FpMode::default(), Loc::default()));
        }
        self.function.blocks[block.index()].insts = out;
        for (variable, old) in self.log.drain(mark..).rev() {
            self.contents[variable] = old;
        }
    }

    fn instruction(&mut self, inst: Inst, end: End<'_>, out: &mut Vec<Inst>) {
        self.substitution.apply(&mut self.function.insts[inst.index()].op);
        match self.function.inst(inst).op {
            Op::Load { ptr, .. } => {
                if let Some(variable) = self.numbers.at(self.variables, ptr) {
                    return self.load(inst, variable, out);
                }
            }
            Op::Store { ptr, value, .. } => {
                if let Some(variable) = self.numbers.at(self.variables, ptr) {
                    let value = self.converted(inst, value, self.numbers.types[variable], out);
                    return self.set(variable, Some(value));
                }
            }
            Op::LocalStart(local) => {
                if let Some(variable) = self.numbers.of[local.index()] {
                    return self.set(variable, None);
                }
            }
            Op::Break(label, _) | Op::Continue(label, _) => self.jump(inst, label, out),
            Op::Yield(_) => self.add_passed(inst, end.variables(), out),
            ref op if !op.blocks().is_empty() => return self.construct(inst, out),
            _ => {}
        }
        out.push(inst);
    }

    fn load(&mut self, inst: Inst, variable: usize, out: &mut Vec<Inst>) {
        let result = self.function.result(inst);
        let ty = self.function.ty(result);
        match self.contents[variable] {
            Some(value) if self.function.ty(value) == ty => {
                self.substitution.replace(self.function, result, value);
            }
            Some(value) => {
                self.function.replace_op(inst, Op::Cast(CastOp::Bitcast, value));
                out.push(inst);
            }
            None => {
                self.function.replace_op(inst, Op::Undef);
                out.push(inst);
            }
        }
    }

    /// The value, bitcast to the type if it has another one.
    fn converted(&mut self, like: Inst, value: Value, ty: Type, out: &mut Vec<Inst>) -> Value {
        if self.function.ty(value) == ty {
            return value;
        }
        let (fp, loc) = (self.function.inst(like).fp, self.function.inst(like).loc);
        let cast = self.function.add_inst(Op::Cast(CastOp::Bitcast, value), Some(ty), fp, loc);
        out.push(cast);
        self.function.result(cast)
    }

    /// Appends the current values of variables to those that a jump passes.
    fn pass(&mut self, variables: &[usize], values: &mut Values, out: &mut Vec<Inst>) {
        for &variable in variables {
            let value = self.contents[variable].unwrap_or_else(|| {
                let ty = self.numbers.types[variable];
                let undef = self.function.add_inst(Op::Undef, Some(ty), FpMode::default(), Loc::default());
                out.push(undef);
                self.function.result(undef)
            });
            values.push(value);
        }
    }

    /// Appends the current values of variables to those that an instruction passes.
    fn add_passed(&mut self, inst: Inst, variables: &[usize], out: &mut Vec<Inst>) {
        let mut added = Values::new();
        self.pass(variables, &mut added, out);
        match &mut self.function.insts[inst.index()].op {
            Op::Break(_, values)
            | Op::Continue(_, values)
            | Op::Yield(values)
            | Op::Loop { inits: values, .. } => values.extend(added),
            op => unreachable!("{op:?} does not pass values"),
        }
    }

    fn jump(&mut self, inst: Inst, label: Label, out: &mut Vec<Inst>) {
        let is_target = |target: &&Target| target.label == label;
        let target = self.targets.iter().rev().find(is_target).expect("a jump is in its construct");
        let variables = match self.function.inst(inst).op {
            Op::Break(..) => target.results.clone(),
            _ => target.params.clone(),
        };
        self.add_passed(inst, &variables, out);
    }

    fn construct(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let results: Vec<usize> = self.liveness.live_after(inst).collect();
        let op = &self.function.inst(inst).op;
        let (is_loop, label) = (matches!(op, Op::Loop { .. }), op.label());
        let mark = self.log.len();
        let mut params = Vec::new();
        if is_loop {
            params = self.liveness.live_at_head(inst).collect();
            self.enter_loop(inst, &params, out);
        }
        let end_params = params.clone();
        let end = match label.filter(|_| is_loop) {
            Some(label) => End::Continue(label, &end_params),
            None => End::Yield(&results),
        };
        if let Some(label) = label {
            self.targets.push(Target { label, results: results.clone(), params });
        }
        for (n, block) in self.function.inst(inst).op.blocks().into_iter().enumerate() {
            // The continuing block of a loop that gets no parameters may have something in it.
            self.block(block, if is_loop && n > 0 { End::Yield(&[]) } else { end });
        }
        if label.is_some() {
            self.targets.pop();
        }
        for (variable, old) in self.log.drain(mark..).rev() {
            self.contents[variable] = old;
        }
        for variable in self.liveness.written_in(inst) {
            // Variables that are not read after the construct have no value from here on.
            self.set(variable, None);
        }
        for variable in results {
            let result = self.function.add_construct_result(inst, self.numbers.types[variable]);
            self.function.values[result.index()].variable = self.numbers.names[variable];
            self.set(variable, Some(result));
        }
        out.push(inst);
    }

    /// Adds the parameters of a loop, which are the variables' contents in its body. Other variables that the
    /// loop writes are not live at its start.
    fn enter_loop(&mut self, inst: Inst, params: &[usize], out: &mut Vec<Inst>) {
        let mut inits = Values::new();
        self.pass(params, &mut inits, out);
        for (&variable, init) in params.iter().zip(inits) {
            let param = self.function.add_loop_param(inst, init);
            self.function.values[param.index()].variable = self.numbers.names[variable];
            self.set(variable, Some(param));
        }
    }
}
