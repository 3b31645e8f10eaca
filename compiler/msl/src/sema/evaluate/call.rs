//! Calls and statements: frames and control flow.
//!
//! Invariant: a call's memory is given back when it returns, unless an address may have escaped.

use super::machine::{Fail, Machine};
use super::memory::Val;
use crate::hir::{Block, Expr, FuncId, Local, LocalId, ScalarTy, Stmt, StmtKind, SwitchCase, Ty};
use crate::sema::function::Origin;
use anymetal_diagnostics::Span;
use anymetal_ir::eval;
use rustc_hash::FxHashMap;

/// The deepest nesting of calls.
const MAX_CALLS: usize = 512;

/// What a statement did.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Val),
}

impl Machine<'_, '_> {
    pub(super) fn construct(&mut self, func: FuncId, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let size = self.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        let mut values = vec![Val::Pointer(at)];
        for arg in args {
            values.push(self.value(arg)?);
        }
        self.call(func, values, span)?;
        self.load_memory(at, ty, span)
    }

    pub(super) fn call(&mut self, func: FuncId, args: Vec<Val>, span: Span) -> Result<Val, Fail> {
        if self.frames.len() >= MAX_CALLS {
            return Err(self.fail(span, "constant evaluation calls too deeply"));
        }
        if let (Origin::Dispatch, Some(&Val::Scalar(number))) =
            (self.facts.functions.inst(func).origin, args.first())
        {
            let Some(called) = self.facts.numbers.function(number) else {
                return Err(self.fail(span, "a call through a pointer to no function"));
            };
            return self.call(called, args[1..].to_vec(), span);
        }
        if !self.facts.may_call(func) {
            let name = &self.facts.functions.inst(func).name;
            let message = format!("non-constexpr function `{name}` cannot be used in a constant expression");
            return Err(self.fail(span, message));
        }
        if self.facts.is_in_error(func) {
            return Err(self.fail(span, "the called function is in error"));
        }
        if self.facts.awaits_check(func) {
            return Err(Fail::NeedsBody(func));
        }
        if self.facts.is_defined_later(func) {
            let name = &self.facts.functions.inst(func).name;
            let message = format!("undefined function `{name}` cannot be used in a constant expression");
            return Err(self.fail(span, message));
        }
        let Some(function) = &self.facts.functions.inst(func).hir else {
            return Err(self.fail(span, "the called function has no body that could be evaluated"));
        };
        let (memory, used) = (self.memory.len(), self.bytes_used);
        let mut frame = FxHashMap::default();
        for (&param, value) in function.params.iter().zip(&args) {
            let ty = function.locals[param.0 as usize].ty;
            frame.insert(param, self.hold(value, ty, span)?);
        }
        self.frames.push(frame);
        let result = if self.limits.try_enter() {
            let result = self.block(&function.body, &function.locals);
            self.limits.leave();
            result
        } else {
            Err(Fail::TooDeep(span))
        };
        self.frames.pop();
        let value = match result? {
            Flow::Return(value) => value,
            _ => Val::Void,
        };
        // Nothing outlives the call except what it returned, unless that is an address.
        if !matches!(value, Val::Pointer(_)) {
            self.memory.truncate(memory);
            self.bytes_used = used;
        }
        Ok(value)
    }

    fn block(&mut self, block: &Block, locals: &[Local]) -> Result<Flow, Fail> {
        for stmt in &block.stmts {
            match self.stmt(stmt, locals)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt, locals: &[Local]) -> Result<Flow, Fail> {
        self.step(stmt.span)?;
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.effect(expr)?;
                Ok(Flow::Next)
            }
            StmtKind::Declare { local, init } => {
                let ty = locals[local.0 as usize].ty;
                self.declare(*local, ty, init.as_ref(), stmt.span)?;
                Ok(Flow::Next)
            }
            StmtKind::Block(block) => self.block(block, locals),
            StmtKind::If { cond, then, otherwise } => {
                let branch = if self.flag(cond)? { then } else { otherwise };
                self.block(branch, locals)
            }
            StmtKind::Loop { cond, post_test, step, body, .. } => {
                self.run_loop((cond.as_ref(), *post_test), step.as_ref(), body, locals, stmt.span)
            }
            StmtKind::Switch { selector, cases } => match self.chosen_case(selector, cases)? {
                Some(case) => match self.block(&case.body, locals)? {
                    Flow::Break => Ok(Flow::Next),
                    other => Ok(other),
                },
                None => Ok(Flow::Next),
            },
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(None) => Ok(Flow::Return(Val::Void)),
            StmtKind::Return(Some(expr)) => self.value(expr).map(Flow::Return),
            StmtKind::Fp(_) => Ok(Flow::Next),
        }
    }

    fn declare(&mut self, local: LocalId, ty: Ty, init: Option<&Expr>, span: Span) -> Result<(), Fail> {
        let value = init.map(|init| self.value(init)).transpose()?;
        let at = match self.frames.last().and_then(|frame| frame.get(&local)) {
            // Another round of a loop.
            Some(&at) => at,
            None => self.allocate(self.types.layout(ty).size, span)?,
        };
        if let Some(value) = value {
            self.store_memory(at, ty, &value, span)?;
        }
        self.bind_to(local, at);
        Ok(())
    }

    fn chosen_case<'s>(
        &mut self,
        selector: &Expr,
        cases: &'s [SwitchCase],
    ) -> Result<Option<&'s SwitchCase>, Fail> {
        let bits = self.scalar(selector)?;
        let scalar = self.types.scalar_repr(selector.ty.ty).unwrap_or(ScalarTy::I64);
        let wanted = eval::sign_extend(scalar.into(), bits);
        let case = cases.iter().find(|case| case.values.contains(&wanted));
        Ok(case.or_else(|| cases.iter().find(|case| case.is_default)))
    }

    fn run_loop(
        &mut self,
        (cond, post_test): (Option<&Expr>, bool),
        step: Option<&Expr>,
        body: &Block,
        locals: &[Local],
        span: Span,
    ) -> Result<Flow, Fail> {
        loop {
            // A round of `for (;;) {}` evaluates nothing.
            self.step(span)?;
            if let (Some(cond), false) = (cond, post_test)
                && !self.flag(cond)?
            {
                return Ok(Flow::Next);
            }
            match self.block(body, locals)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
                Flow::Next | Flow::Continue => {}
            }
            if let Some(step) = step {
                self.effect(step)?;
            }
            if let (Some(cond), true) = (cond, post_test)
                && !self.flag(cond)?
            {
                return Ok(Flow::Next);
            }
        }
    }
}
