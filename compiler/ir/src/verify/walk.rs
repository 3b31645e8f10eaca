//! The walk over a function: structure, labels, and definitions before uses. The types of each
//! instruction are the business of the group files, reached through [`check_instruction`].

use rustc_hash::FxHashSet;

use super::{Checked, Errors, VerifyError, require};
use super::{MAX_NESTING, arithmetic, constants, control, memory, threads, vectors};
use crate::{Block, Function, Inst, Label, Module, Op, Type, Value, ValueDef};

pub(super) fn check_function(module: &Module, function: &Function, errors: &mut Errors) {
    let mut walker = Walker {
        module,
        function,
        errors,
        defined: vec![false; function.values.len()],
        scope: Vec::new(),
        seen_insts: vec![false; function.insts.len()],
        seen_blocks: vec![false; function.blocks.len()],
        seen_labels: FxHashSet::default(),
        labels: Vec::new(),
    };
    for (n, &param) in (0u32..).zip(&function.params) {
        let expected = ValueDef::Param(n);
        match function.values.get(param.index()) {
            Some(data) if data.def == expected => walker.define(param),
            _ => walker.report(None, format!("{param} is not parameter {n}")),
        }
    }
    walker.block(function.body, End::Nothing, 0);
    assert!(walker.labels.is_empty(), "the walk has left every construct");
    assert!(walker.scope.len() <= function.params.len(), "only parameters are visible outside of the body");
}

/// A construct around the current block.
#[derive(Clone, Copy)]
struct Enclosing<'a> {
    label: Label,
    /// What its breaks pass.
    results: &'a [Value],
    /// What its continues pass, if `continue` may name it here.
    params: Option<&'a [Value]>,
}

/// How a block ends if not with a break, continue or return.
#[derive(Clone, Copy)]
enum End<'a> {
    /// Control goes on without a value.
    Nothing,
    /// With a yield of a value for each of these results.
    Yield(&'a [Value]),
    /// Not at all: the block of a loop with parameters.
    Jump,
}

struct Walker<'a> {
    module: &'a Module,
    function: &'a Function,
    errors: &'a mut Errors,
    /// Which values are visible here.
    defined: Vec<bool>,
    /// The visible values in order of definition, cut back at the end of each block.
    scope: Vec<Value>,
    seen_insts: Vec<bool>,
    seen_blocks: Vec<bool>,
    seen_labels: FxHashSet<Label>,
    labels: Vec<Enclosing<'a>>,
}

impl<'a> Walker<'a> {
    fn report(&mut self, inst: Option<Inst>, message: String) {
        let data = inst.and_then(|inst| self.function.insts.get(inst.index()));
        let loc = data.map(|data| data.loc).unwrap_or_default();
        let message = match inst {
            Some(inst) if data.is_some_and(|data| data.op.blocks().is_empty()) => {
                let mut text = String::new();
                // Writing to a string does not fail.
                let _ = crate::print::instruction(&mut text, self.function, inst);
                format!("{message}, in `{text}`")
            }
            _ => message,
        };
        self.errors.add(VerifyError { function: Some(self.function.name.clone()), inst, loc, message });
    }

    fn define(&mut self, value: Value) {
        self.defined[value.index()] = true;
        self.scope.push(value);
    }

    fn block(&mut self, block: Block, end: End<'a>, depth: usize) {
        match self.seen_blocks.get_mut(block.index()) {
            None => return self.report(None, format!("{block} does not exist")),
            Some(seen) if *seen => return self.report(None, format!("{block} appears twice")),
            Some(seen) => *seen = true,
        }
        if depth > MAX_NESTING {
            return self.report(None, format!("constructs nest deeper than {MAX_NESTING}"));
        }
        let outer = self.scope.len();
        let insts = &self.function.blocks[block.index()].insts;
        for (n, &inst) in insts.iter().enumerate() {
            if self.errors.is_full() {
                break;
            }
            if let Err(message) = self.instruction(inst, n + 1 == insts.len(), depth) {
                self.report(Some(inst), message);
            }
        }
        if let Err(message) = self.end(insts.last().copied(), end) {
            self.report(insts.last().copied(), message);
        }
        for value in self.scope.drain(outer..) {
            self.defined[value.index()] = false;
        }
    }

    /// Checks how a block ends, by its last instruction.
    fn end(&self, last: Option<Inst>, end: End<'_>) -> Checked {
        // An instruction that does not exist is reported as such.
        let op = last.and_then(|inst| self.function.insts.get(inst.index())).map(|data| &data.op);
        match (op, end) {
            (Some(Op::Yield(values)), End::Yield(results)) if !results.is_empty() => {
                self.passes(values, results)
            }
            (Some(Op::Yield(_)), _) => Err("there are no results to yield".to_owned()),
            (Some(op), _) if op.is_terminator() => Ok(()),
            (_, End::Yield([]) | End::Nothing) => Ok(()),
            (_, End::Yield(_)) => Err("the block of a construct with results does not yield".to_owned()),
            (_, End::Jump) => Err("the body of a loop with parameters ends without a jump".to_owned()),
        }
    }

    /// Checks that the values fit what they become.
    fn passes(&self, values: &[Value], targets: &[Value]) -> Checked {
        require(values.len() == targets.len(), || {
            format!("{} values are passed to {}", values.len(), targets.len())
        })?;
        for (&value, &target) in values.iter().zip(targets) {
            // Values that do not exist are reported where they are used or defined.
            let [of_value, of_target] =
                [value, target].map(|value| self.function.values.get(value.index()).map(|data| data.ty));
            require(of_value == of_target, || {
                format!("{value} is passed to {target}, which has another type")
            })?;
        }
        Ok(())
    }

    /// Checks the table's entries of the values that a construct defines.
    fn definitions(&self, values: &[Value], def: impl Fn(u32) -> ValueDef) -> Checked {
        for (n, &value) in (0..).zip(values) {
            let data = self.function.values.get(value.index());
            let data = data.ok_or_else(|| format!("{value} does not exist"))?;
            require(data.def == def(n), || format!("{value} is defined elsewhere"))?;
            if let Type::Vector(_, n) = data.ty {
                require((2..=4).contains(&n), || format!("a vector cannot have {n} elements"))?;
            }
        }
        Ok(())
    }

    fn instruction(&mut self, inst: Inst, last: bool, depth: usize) -> Checked {
        match self.seen_insts.get_mut(inst.index()) {
            None => return Err(format!("{inst} does not exist")),
            Some(seen) if *seen => return Err(format!("{inst} appears twice")),
            Some(seen) => *seen = true,
        }
        let data = self.function.inst(inst);
        self.operands(&data.op)?;
        let files = self.module.files.len();
        require(!data.loc.is_known() || (data.loc.file as usize) < files, || {
            format!("file {} does not exist", data.loc.file)
        })?;
        let result = match data.result {
            Some(result) => Some(self.result_type(inst, result)?),
            None => None,
        };
        require(last || !data.op.ends_block(), || "the block goes on after its end".to_owned())?;
        check_instruction(&Subject { module: self.module, function: self.function, result }, &data.op)?;
        self.constructs(inst, depth)?;
        self.definitions(data.op.results(), |n| ValueDef::Result(inst, n))?;
        for result in self.function.results(inst) {
            self.define(result);
        }
        Ok(())
    }

    fn operands(&self, op: &Op) -> Checked {
        let mut broken = None;
        op.for_each_operand(|value| match self.defined.get(value.index()) {
            Some(true) => {}
            Some(false) => broken = Some(format!("{value} is not defined here")),
            None => broken = Some(format!("{value} does not exist")),
        });
        broken.map_or(Ok(()), Err)
    }

    fn result_type(&self, inst: Inst, result: Value) -> Result<Type, String> {
        let data =
            self.function.values.get(result.index()).ok_or_else(|| format!("{result} does not exist"))?;
        require(data.def == ValueDef::Inst(inst), || format!("{result} is defined elsewhere"))?;
        if let Type::Vector(_, n) = data.ty {
            require((2..=4).contains(&n), || format!("a vector cannot have {n} elements"))?;
        }
        Ok(data.ty)
    }

    /// Labels of jumps; labels and blocks of constructs.
    fn constructs(&mut self, inst: Inst, depth: usize) -> Checked {
        let function = self.function;
        match &function.inst(inst).op {
            Op::Break(label, values) => {
                let around = self.labels.iter().find(|around| around.label == *label);
                let around = around.ok_or_else(|| format!("{label} is not around"))?;
                self.passes(values, around.results)
            }
            Op::Continue(label, values) => {
                let around = self.labels.iter().find(|around| around.label == *label);
                let params = around.and_then(|around| around.params);
                let params = params
                    .ok_or_else(|| format!("{label} is not a loop around, outside its continuing block"))?;
                self.passes(values, params)
            }
            Op::Loop { label, inits, params, body, continuing, results } => {
                self.passes(inits, params)?;
                self.definitions(params, |n| ValueDef::LoopParam(inst, n))?;
                let outer = self.scope.len();
                params.iter().for_each(|&param| self.define(param));
                let end = if params.is_empty() { End::Nothing } else { End::Jump };
                let around = Enclosing { label: *label, results, params: Some(params) };
                self.labelled(around, &[*body], end, depth)?;
                for value in self.scope.drain(outer..) {
                    self.defined[value.index()] = false;
                }
                let is_empty =
                    self.function.blocks.get(continuing.index()).is_none_or(|block| block.insts.is_empty());
                require(params.is_empty() || is_empty, || {
                    "a loop with parameters has a continuing block".to_owned()
                })?;
                self.inside(Enclosing { params: None, ..around }, &[*continuing], End::Nothing, depth);
                Ok(())
            }
            Op::Switch { label, cases, default, results, .. } => {
                let mut blocks: Vec<Block> = cases.iter().map(|case| case.body).collect();
                blocks.push(*default);
                let around = Enclosing { label: *label, results, params: None };
                self.labelled(around, &blocks, End::Yield(results), depth)
            }
            Op::Scope { label, body, results } => {
                let around = Enclosing { label: *label, results, params: None };
                self.labelled(around, &[*body], End::Yield(results), depth)
            }
            Op::If { then, otherwise, results, .. } => {
                self.block(*then, End::Yield(results), depth + 1);
                self.block(*otherwise, End::Yield(results), depth + 1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn labelled(&mut self, around: Enclosing<'a>, blocks: &[Block], end: End<'a>, depth: usize) -> Checked {
        let label = around.label;
        require(label.0 < self.function.labels, || format!("{label} does not exist"))?;
        require(self.seen_labels.insert(label), || format!("{label} belongs to two constructs"))?;
        self.inside(around, blocks, end, depth);
        Ok(())
    }

    fn inside(&mut self, around: Enclosing<'a>, blocks: &[Block], end: End<'a>, depth: usize) {
        self.labels.push(around);
        for &block in blocks {
            self.block(block, end, depth + 1);
        }
        self.labels.pop();
    }
}

/// An instruction's surroundings, for the type checks. All operands exist and are defined.
pub(super) struct Subject<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    /// The result's type.
    pub(super) result: Option<Type>,
}

impl Subject<'_> {
    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// The result must have this type.
    pub(super) fn gives(&self, ty: Type) -> Checked {
        require(self.result == Some(ty), || format!("the result must be {ty}"))
    }

    /// There must be no result.
    pub(super) fn gives_nothing(&self) -> Checked {
        require(self.result.is_none(), || "the operation has no result".to_owned())
    }

    /// There must be a result.
    pub(super) fn gives_something(&self) -> Result<Type, String> {
        self.result.ok_or_else(|| "the operation has a result".to_owned())
    }

    pub(super) fn operand(&self, value: Value, ty: Type) -> Checked {
        require(self.ty(value) == ty, || format!("{value} must be {ty}, is {}", self.ty(value)))
    }

    pub(super) fn same(&self, a: Value, b: Value) -> Checked {
        require(self.ty(a) == self.ty(b), || format!("{a} is {} but {b} is {}", self.ty(a), self.ty(b)))
    }

    /// The operand's scalar must be in the class that `accepts` names `what`.
    pub(super) fn scalar(
        &self,
        value: Value,
        what: &str,
        accepts: impl Fn(crate::Scalar) -> bool,
    ) -> Checked {
        require(self.ty(value).scalar().is_some_and(accepts), || {
            format!("{value} must be {what}, is {}", self.ty(value))
        })
    }
}

/// Dispatches to the check of the operation's group.
fn check_instruction(subject: &Subject<'_>, op: &Op) -> Checked {
    match op {
        Op::Const(..) | Op::Undef | Op::FunctionConstant(..) | Op::FunctionConstantDefined(..) => {
            constants::check(subject, op)
        }
        Op::Unary(op, a) => arithmetic::unary(subject, *op, *a),
        Op::Binary(op, a, b) => arithmetic::binary(subject, *op, *a, *b),
        Op::Compare(op, a, b) => arithmetic::compare(subject, *op, *a, *b),
        Op::Select(cond, a, b) => arithmetic::select(subject, *cond, *a, *b),
        Op::Cast(op, a) => arithmetic::cast(subject, *op, *a),
        Op::Math(function, args) => arithmetic::math(subject, *function, args),
        Op::Splat(..)
        | Op::Compose(..)
        | Op::Extract(..)
        | Op::ExtractDynamic(..)
        | Op::Insert(..)
        | Op::InsertDynamic(..)
        | Op::Shuffle(..) => vectors::check(subject, op),
        Op::LocalStart(..)
        | Op::LocalAddr(..)
        | Op::ThreadgroupAddr(..)
        | Op::GlobalAddr(..)
        | Op::PtrAdd { .. } => memory::address(subject, op),
        Op::Load { .. }
        | Op::Store { .. }
        | Op::MemCopy { .. }
        | Op::MemZero { .. }
        | Op::Prefetch { .. } => memory::access(subject, op),
        Op::AtomicLoad(..) | Op::AtomicStore(..) | Op::AtomicRmw(..) | Op::AtomicCas(..) => {
            memory::atomic(subject, op)
        }
        Op::Fence(..) | Op::Barrier(..) => threads::order(subject, op),
        Op::Query(query) => threads::query(subject, *query),
        Op::Simd(op, args) => threads::simd(subject, *op, args),
        Op::Matrix(op, args) => threads::matrix(subject, *op, args),
        Op::Call(..)
        | Op::If { .. }
        | Op::Loop { .. }
        | Op::Switch { .. }
        | Op::Scope { .. }
        | Op::Break(..)
        | Op::Continue(..)
        | Op::Yield(..)
        | Op::Return(..) => control::check(subject, op),
    }
}
