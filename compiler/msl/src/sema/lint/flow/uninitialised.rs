//! Variables that have no value where they are read.
//!
//! Every mention of a variable except a read initialises it. A loop or a switch that may assign to a variable
//! leaves it in an unknown state, which is not reported.

use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind, TyKind};
use crate::sema::checker::Checker;
use crate::sema::lint::is_quiet;
use crate::sema::walk;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most states of variables that are copied for branches in one function.
const MAX_COPIES: usize = 10_000_000;

/// The possible states of a variable.
#[derive(Clone, Copy, Default)]
struct Variable {
    may_be_unset: bool,
    may_be_set: bool,
    /// The condition that decides, and its value without a value for the variable. Only while its use cannot
    /// be avoided after that.
    cause: Option<(Span, bool)>,
}

#[derive(Clone)]
struct State {
    is_reached: bool,
    variables: Vec<Variable>,
}

struct Flow<'f> {
    /// Numbers of the variables that are followed.
    numbers: &'f FxHashMap<LocalId, usize>,
    state: State,
    copies: usize,
    /// By variable, the place where it is used without a value, and why it has none.
    found: Vec<Option<(Span, Option<(Span, bool)>)>>,
}

pub(super) fn check(cx: &mut Checker<'_>, stmts: &[Stmt]) {
    let mut numbers = FxHashMap::default();
    followed(cx, stmts, &mut numbers);
    if numbers.is_empty() {
        return;
    }
    let variables = vec![Variable::default(); numbers.len()];
    let found = vec![None; numbers.len()];
    let mut flow = Flow { numbers: &numbers, state: State { is_reached: true, variables }, copies: 0, found };
    flow.stmts(stmts);
    if flow.copies > MAX_COPIES {
        return;
    }
    let mut found: Vec<_> = numbers.iter().filter_map(|(&local, &n)| Some((local, flow.found[n]?))).collect();
    found.sort_unstable_by_key(|(local, _)| *local);
    for (local, (used, cause)) in found {
        let hir = &cx.function.locals[local.0 as usize];
        let (name, declared) = (hir.name, hir.span);
        if is_quiet(cx, used) {
            continue;
        }
        let note = format!("initialize the variable '{name}' to silence this warning");
        let warning = match cause {
            None => {
                let message = format!("variable '{name}' is uninitialized when used here");
                Diagnostic::warning("uninitialized", used, message)
            }
            Some((condition, value)) => {
                let message =
                    format!("variable '{name}' is used uninitialized whenever 'if' condition is {value}");
                Diagnostic::warning("sometimes-uninitialized", condition, message)
                    .with_note(used, "uninitialized use occurs here")
            }
        };
        cx.report(warning.with_note(declared, note));
    }
}

/// Numbers the variables that are declared without a value.
fn followed(cx: &Checker<'_>, stmts: &[Stmt], out: &mut FxHashMap<LocalId, usize>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Declare { local, init: None } => {
                let hir = &cx.function.locals[local.0 as usize];
                let is_followed = matches!(
                    cx.types.kind(hir.ty),
                    TyKind::Scalar(_) | TyKind::Vector { .. } | TyKind::Pointer(_) | TyKind::Enum(_)
                );
                if is_followed && !hir.name.as_str().is_empty() {
                    let number = out.len();
                    out.entry(*local).or_insert(number);
                }
            }
            StmtKind::Block(block) => followed(cx, &block.stmts, out),
            StmtKind::If { then, otherwise, .. } => {
                followed(cx, &then.stmts, out);
                followed(cx, &otherwise.stmts, out);
            }
            StmtKind::Loop { body, .. } => followed(cx, &body.stmts, out),
            StmtKind::Switch { cases, .. } => {
                cases.iter().for_each(|case| followed(cx, &case.body.stmts, out));
            }
            _ => {}
        }
    }
}

impl Flow<'_> {
    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if !self.state.is_reached || self.copies > MAX_COPIES {
                return;
            }
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.statement_expr(expr),
            StmtKind::Declare { local, init } => {
                init.iter().for_each(|init| self.expr(init));
                if let Some(&n) = self.numbers.get(local) {
                    let is_unset = init.is_none();
                    self.state.variables[n] =
                        Variable { may_be_unset: is_unset, may_be_set: !is_unset, cause: None };
                }
            }
            StmtKind::Block(block) => self.stmts(&block.stmts),
            StmtKind::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            StmtKind::Loop { cond, post_test, step, body, .. } => {
                let assigned = self.assigned(std::iter::once(body), cond.iter().chain(step));
                self.forget(&assigned);
                if !post_test {
                    cond.iter().for_each(|cond| self.expr(cond));
                }
                self.apart(|flow| {
                    flow.stmts(&body.stmts);
                    if flow.state.is_reached {
                        step.iter().for_each(|step| flow.expr(step));
                    }
                });
                self.forget(&assigned);
            }
            StmtKind::Switch { selector, cases } => {
                self.expr(selector);
                let assigned = self.assigned(cases.iter().map(|case| &case.body), std::iter::empty());
                for case in cases {
                    self.apart(|flow| flow.stmts(&case.body.stmts));
                }
                self.forget(&assigned);
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value));
                self.state.is_reached = false;
            }
            StmtKind::Break | StmtKind::Continue => self.state.is_reached = false,
            StmtKind::Fp(_) => {}
        }
    }

    /// An expression whose value is dropped: `(void)x` reads nothing.
    fn statement_expr(&mut self, expr: &Expr) {
        if let ExprKind::Cast(crate::hir::CastKind::ToVoid, inner) = &expr.kind
            && let ExprKind::Load(place) = &inner.kind
            && matches!(place.kind, ExprKind::Local(_))
        {
            return;
        }
        self.expr(expr);
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block) {
        self.expr(cond);
        let before = self.copy();
        self.drop_causes();
        let entry = self.copy();
        self.stmts(&then.stmts);
        let then = std::mem::replace(&mut self.state, entry);
        self.stmts(&otherwise.stmts);
        let (a, b) = (then, &mut self.state);
        if !a.is_reached {
            return;
        }
        if !b.is_reached {
            *b = a;
            return;
        }
        for ((a, b), before) in a.variables.iter().zip(&mut b.variables).zip(&before.variables) {
            let cause = match (a.may_be_unset, a.may_be_set, b.may_be_unset, b.may_be_set) {
                (true, false, false, true) => Some((cond.span, true)),
                (false, true, true, false) => Some((cond.span, false)),
                (true, true, true, true) => before.cause,
                _ => None,
            };
            *b = Variable {
                may_be_unset: a.may_be_unset || b.may_be_unset,
                may_be_set: a.may_be_set || b.may_be_set,
                cause,
            };
        }
    }

    fn copy(&mut self) -> State {
        self.copies += self.state.variables.len();
        self.state.clone()
    }

    /// Runs `f` for code that may not run; the state is then as before, without causes.
    fn apart(&mut self, f: impl FnOnce(&mut Self)) {
        self.drop_causes();
        let before = self.copy();
        f(self);
        self.state = before;
    }

    fn drop_causes(&mut self) {
        self.state.variables.iter_mut().for_each(|variable| variable.cause = None);
    }

    /// The variables that code may assign to.
    fn assigned<'e>(
        &mut self,
        blocks: impl Iterator<Item = &'e Block>,
        exprs: impl Iterator<Item = &'e Expr>,
    ) -> Vec<usize> {
        let mut read: FxHashSet<*const Expr> = FxHashSet::default();
        let mut assigned = FxHashSet::default();
        let mut visited = 0;
        let numbers = self.numbers;
        let mut visit = |expr: &Expr| {
            visited += 1;
            match &expr.kind {
                ExprKind::Load(place) => {
                    read.insert(std::ptr::from_ref(&**place));
                }
                ExprKind::Local(local) if !read.contains(&std::ptr::from_ref(expr)) => {
                    assigned.extend(numbers.get(local).copied());
                }
                _ => {}
            }
        };
        blocks.for_each(|block| walk::each_in_block(block, &mut visit));
        exprs.for_each(|expr| walk::each_expr(expr, &mut visit));
        // Nested loops are walked once for each loop around them.
        self.copies += visited;
        assigned.into_iter().collect()
    }

    fn forget(&mut self, assigned: &[usize]) {
        self.drop_causes();
        for &n in assigned {
            self.state.variables[n].may_be_set = true;
        }
    }

    fn set(&mut self, local: LocalId) {
        if let Some(&n) = self.numbers.get(&local) {
            self.state.variables[n] = Variable { may_be_unset: false, may_be_set: true, cause: None };
        }
    }

    fn read(&mut self, local: LocalId, span: Span) {
        let Some(&n) = self.numbers.get(&local) else { return };
        let variable = self.state.variables[n];
        if variable.may_be_unset && self.found[n].is_none() {
            if !variable.may_be_set {
                self.found[n] = Some((span, None));
            } else if variable.cause.is_some() {
                self.found[n] = Some((span, variable.cause));
            }
        }
        // Later uses are not reported.
        self.set(local);
    }

    /// Follows an expression in the order of evaluation.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Load(place) => match place.kind {
                ExprKind::Local(local) => self.read(local, expr.span),
                _ => self.expr(place),
            },
            ExprKind::Local(local) => self.set(*local),
            ExprKind::Assign(place, value) => {
                self.expr(value);
                self.expr(place);
            }
            ExprKind::Update { rhs, place, value, .. } => {
                rhs.iter().for_each(|(_, rhs)| self.expr(rhs));
                match place.kind {
                    ExprKind::Local(local) => self.read(local, place.span),
                    _ => self.expr(place),
                }
                self.expr(value);
            }
            ExprKind::Logical(_, a, b) => {
                self.expr(a);
                self.perhaps(&[b]);
            }
            ExprKind::Conditional(cond, a, b) => {
                self.expr(cond);
                self.perhaps(&[a, b]);
            }
            _ => walk::operands(expr, &mut |operand| self.expr(operand)),
        }
    }

    /// Expressions of which each may be skipped.
    fn perhaps(&mut self, exprs: &[&Expr]) {
        for expr in exprs {
            let assigned = self.assigned(std::iter::empty(), std::iter::once(*expr));
            self.apart(|flow| flow.expr(expr));
            self.forget(&assigned);
        }
    }
}
