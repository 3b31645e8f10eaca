//! A machine that runs typed trees to find constant values: its state, its budget, its door.
//!
//! Memory is bytes, as the kernel's will be, so that unions and casts mean here what they mean there.
//! Invariant: every node costs a step of the check's budget, and nesting is bounded ([`Machine::deeper`]).
//!
//! `value` and `place` run expressions, `call` functions and statements, `memory` holds what they store.

use super::NotConstant;
use super::memory::{Address, Val};
use crate::hir::{ConstValue, Expr, GlobalId, LocalId};
use crate::sema::checker::Checker;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;

/// Why evaluation stopped.
pub(super) type Fail = NotConstant;

/// The most steps that all constant evaluations of one check may take.
const MAX_CONSTANT_STEPS: u64 = 10_000_000;

/// The deepest nesting of expressions, those of all calls together.
const MAX_DEPTH: u32 = 20_000;

/// See the module's documentation.
pub(super) struct Machine<'c, 'a> {
    pub(super) checker: &'c mut Checker<'a>,
    pub(super) memory: Vec<Vec<u8>>,
    pub(super) bytes_used: usize,
    depth: u32,
    pub(super) frames: Vec<FxHashMap<LocalId, Address>>,
    /// Globals that were copied into memory.
    pub(super) globals: FxHashMap<GlobalId, Address>,
}

impl<'c, 'a> Machine<'c, 'a> {
    pub(super) fn new(checker: &'c mut Checker<'a>) -> Self {
        Self {
            checker,
            memory: Vec::new(),
            bytes_used: 0,
            depth: 0,
            frames: vec![FxHashMap::default()],
            globals: FxHashMap::default(),
        }
    }

    pub(super) fn fail(&self, span: Span, message: impl Into<String>) -> Fail {
        NotConstant { span, message: message.into() }
    }

    /// Evaluates an expression to a constant.
    pub(super) fn run(mut self, expr: &Expr) -> Result<ConstValue, Fail> {
        let value = self.value(expr)?;
        Ok(match value {
            Val::Scalar(bits) => ConstValue::Scalar(bits),
            Val::Vector(elements) => ConstValue::Vector(elements),
            Val::Bytes(bytes) => ConstValue::Bytes(bytes),
            Val::Pointer(Address::NULL) => ConstValue::Null,
            Val::Pointer(_) => return Err(self.fail(expr.span, "an address is not a constant")),
            Val::Void => return Err(self.fail(expr.span, "there is no value")),
        })
    }

    pub(super) fn step(&mut self, span: Span) -> Result<(), Fail> {
        self.checker.limits.constant_steps += 1;
        if self.checker.limits.constant_steps > MAX_CONSTANT_STEPS {
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
