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
    walker.block(function.body, 0);
    assert!(walker.labels.is_empty(), "the walk has left every construct");
    assert!(walker.scope.len() <= function.params.len(), "only parameters are visible outside of the body");
}

/// A construct around the current block.
#[derive(Clone, Copy)]
struct Enclosing {
    label: Label,
    /// Whether `continue` may name it here.
    continues: bool,
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
    labels: Vec<Enclosing>,
}

impl Walker<'_> {
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

    fn block(&mut self, block: Block, depth: usize) {
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
        for value in self.scope.drain(outer..) {
            self.defined[value.index()] = false;
        }
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
        require(last || !data.op.is_terminator(), || "the block goes on after its end".to_owned())?;
        check_instruction(&Subject { module: self.module, function: self.function, result }, &data.op)?;
        self.constructs(inst, depth)?;
        if let Some(result) = data.result {
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
            Op::Break(label) => {
                require(self.labels.iter().any(|l| l.label == *label), || format!("{label} is not around"))
            }
            Op::Continue(label) => {
                let found = self.labels.iter().any(|l| l.label == *label && l.continues);
                require(found, || format!("{label} is not a loop around, outside its continuing block"))
            }
            Op::Loop { label, body, continuing } => {
                self.labelled(*label, true, &[*body], depth)?;
                self.inside(*label, false, &[*continuing], depth);
                Ok(())
            }
            Op::Switch { label, cases, default, .. } => {
                let mut blocks: Vec<Block> = cases.iter().map(|case| case.body).collect();
                blocks.push(*default);
                self.labelled(*label, false, &blocks, depth)
            }
            Op::Scope { label, body } => self.labelled(*label, false, &[*body], depth),
            Op::If { then, otherwise, .. } => {
                self.block(*then, depth + 1);
                self.block(*otherwise, depth + 1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn labelled(&mut self, label: Label, continues: bool, blocks: &[Block], depth: usize) -> Checked {
        require(label.0 < self.function.labels, || format!("{label} does not exist"))?;
        require(self.seen_labels.insert(label), || format!("{label} belongs to two constructs"))?;
        self.inside(label, continues, blocks, depth);
        Ok(())
    }

    fn inside(&mut self, label: Label, continues: bool, blocks: &[Block], depth: usize) {
        self.labels.push(Enclosing { label, continues });
        for &block in blocks {
            self.block(block, depth + 1);
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
        | Op::MemConvert { .. }
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
        | Op::Return(..) => control::check(subject, op),
    }
}
