//! A machine that runs typed trees to find constant values: its state, its budget, its entrance.
//!
//! The machine checks nothing: it reads the known functions, globals and constants ([`Facts`]). At a call
//! of a function that is not checked yet it stops with [`Fail::NeedsBody`]; the caller checks the function
//! and repeats the evaluation. So checking never runs inside an evaluation.
//!
//! Memory is bytes, as the kernel's will be, so that unions and casts mean here what they mean there.
//! Invariant: every node costs a step of the check's budget, and nesting is bounded ([`Machine::deeper`]).
//!
//! `value` and `place` run expressions, `call` functions and statements, `memory` holds what they store.

use super::NotConstant;
use super::memory::{Address, Val, each_pointer};
use crate::hir::{ConstValue, Expr, FuncId, LocalId, Types};
use crate::sema::collect::ProgramData;
use crate::sema::declaration_order;
use crate::sema::diagnostics::{Deferred, Diagnostics};
use crate::sema::fn_context::{FnContext, LocalConstants};
use crate::sema::function::{BodyState, Functions};
use crate::sema::function_pointer::FunctionNumbers;
use crate::sema::limits::Limits;
use crate::sema::table::Layer;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;

/// Why evaluation stopped.
#[derive(Clone, Debug)]
pub(super) enum Fail {
    NotConstant(NotConstant),
    /// A function must be checked first; then evaluation is repeated.
    NeedsBody(FuncId),
    /// The check around the evaluation leaves too few levels of nesting.
    TooDeep(Span),
}

/// The most steps that all constant evaluations of one check may take.
pub(super) const MAX_CONSTANT_STEPS: u64 = 10_000_000;

/// The deepest nesting of expressions, those of all calls together.
const MAX_DEPTH: u32 = 20_000;

/// The state of the check that an evaluation reads.
#[derive(Clone, Copy)]
pub(super) struct Facts<'c, 'a> {
    pub(super) functions: &'c Functions<'a>,
    pub(super) numbers: &'c FunctionNumbers,
    pub(super) data: &'c ProgramData,
    /// The function that the expression is in.
    pub(super) function: &'c FnContext,
    pub(super) constants: &'c LocalConstants,
    pub(super) diagnostics: &'c Diagnostics,
    pub(super) table: &'c Layer,
    pub(super) calls: Calls,
    /// The constant expression, after which no function may be defined; [`Span::NONE`] if the order does not
    /// matter.
    pub(super) root: Span,
}

/// The functions that an evaluation calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sema) enum Calls {
    /// All whose bodies are known. This folds more than C++ does.
    All,
    /// Those of constant expressions (C++17 [expr.const.2]): `constexpr` functions, functions that no source
    /// declares, and those of the library, whose declarations here say nothing of Metal's.
    Constexpr,
}

impl Facts<'_, '_> {
    /// Whether a function's body can and must be checked, or its errors reported, before it is evaluated.
    pub(super) fn awaits_check(&self, func: FuncId) -> bool {
        let is_unchecked = self.functions.inst(func).state == BodyState::Unchecked;
        (is_unchecked && !self.diagnostics.gave_up()) || self.diagnostics.has_deferred(Deferred::Body(func))
    }

    /// Whether a constant expression calls a function that is defined after it (C++14 [expr.const.2]). The
    /// members of a class are defined where the class is complete.
    pub(super) fn is_defined_later(&self, func: FuncId) -> bool {
        let inst = self.functions.inst(func);
        let is_free = inst.origin.decl().is_some_and(|decl| self.functions.decl(decl).owner.is_none());
        let definition = inst.definition.filter(|_| is_free && !self.root.is_none());
        definition.is_some_and(|definition| declaration_order::is_after(definition.ast.span, self.root))
    }

    /// Whether a constant expression calls a function whose body is in error.
    pub(super) fn is_in_error(&self, func: FuncId) -> bool {
        self.calls == Calls::Constexpr && self.functions.inst(func).has_errors
    }

    /// Whether the evaluation may call a function.
    pub(super) fn may_call(&self, func: FuncId) -> bool {
        let inst = self.functions.inst(func);
        let Some(decl) = inst.origin.decl().filter(|_| self.calls == Calls::Constexpr) else { return true };
        // A definition outside of the class may have the word, too.
        let definition = inst.definition.map(|definition| definition.ast.specifiers.is_constexpr);
        self.functions.decl(decl).ast.specifiers.is_constexpr
            || definition == Some(true)
            || self.table.is_below(inst.span)
    }
}

/// See the module's documentation.
pub(super) struct Machine<'c, 'a> {
    pub(super) facts: Facts<'c, 'a>,
    /// Evaluation names types that the program does not.
    pub(super) types: &'c mut Types,
    pub(super) limits: &'c mut Limits,
    pub(super) memory: Vec<Vec<u8>>,
    pub(super) bytes_used: usize,
    depth: u32,
    pub(super) frames: Vec<FxHashMap<LocalId, Address>>,
}

impl<'c, 'a> Machine<'c, 'a> {
    pub(super) fn new(facts: Facts<'c, 'a>, types: &'c mut Types, limits: &'c mut Limits) -> Self {
        Self {
            facts,
            types,
            limits,
            memory: Vec::new(),
            bytes_used: 0,
            depth: 0,
            frames: vec![FxHashMap::default()],
        }
    }

    pub(super) fn fail(&self, span: Span, message: impl Into<String>) -> Fail {
        Fail::NotConstant(NotConstant { span, message: message.into() })
    }

    /// Evaluates an expression to a constant.
    pub(super) fn run(mut self, expr: &Expr) -> Result<ConstValue, Fail> {
        let value = self.value(expr)?;
        Ok(match value {
            Val::Scalar(bits) => ConstValue::Scalar(bits),
            Val::Vector(elements) => ConstValue::Vector(elements),
            Val::Bytes(bytes) => {
                let mut leaves = false;
                each_pointer(self.types, expr.ty.ty, &bytes, &mut |at| {
                    leaves |= at != Address::NULL && at.global().is_none();
                });
                if leaves {
                    return Err(self.fail(expr.span, "an address of a temporary is not a constant"));
                }
                ConstValue::Bytes(bytes)
            }
            Val::Pointer(at) => match at.global() {
                Some(global) => ConstValue::Address(global, at.offset),
                None if at == Address::NULL => ConstValue::Null,
                None => return Err(self.fail(expr.span, "an address of a temporary is not a constant")),
            },
            Val::Void => return Err(self.fail(expr.span, "there is no value")),
        })
    }

    pub(super) fn step(&mut self, span: Span) -> Result<(), Fail> {
        self.limits.constant_steps += 1;
        if self.limits.constant_steps > MAX_CONSTANT_STEPS {
            return Err(self.fail(span, "constant evaluation takes too many steps"));
        }
        Ok(())
    }

    /// Runs `f` one level deeper, if that is allowed.
    pub(super) fn deeper<R>(
        &mut self,
        span: Span,
        f: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        self.step(span)?;
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(span, "constant evaluation nests too deeply"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }
}
