//! Variables that have no value where they are read.
//!
//! Every mention of a variable except a read initialises it. Where ways meet of which some leave the variable
//! without a value, the branch that decides is the cause. An operand of `&&` or `||` that may assign to a
//! variable leaves it in an unknown state, which is not reported: what the result says of it is not followed.

mod state;

use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind, SwitchCase, TyKind};
use crate::sema::checker::Checker;
use crate::sema::lint::{is_quiet, known_condition};
use crate::sema::walk;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use state::{Cause, State, Taken, Variable};

/// The most states of variables that are copied for branches in one function.
const MAX_COPIES: usize = 10_000_000;

/// Statements that `break` leaves, with the states there.
struct Target {
    is_loop: bool,
    breaks: Vec<State>,
    continues: Vec<State>,
}

struct Flow<'f, 'c> {
    cx: &'f Checker<'c>,
    /// Numbers of the variables that are followed.
    numbers: &'f FxHashMap<LocalId, usize>,
    state: State,
    targets: Vec<Target>,
    /// The number of loops around that are run to find the state at their beginning: nothing is reported.
    rehearsals: u32,
    copies: usize,
    /// By variable, the place where it is used without a value, and why it has none.
    found: Vec<Option<(Span, Option<Cause>)>>,
}

pub(super) fn check(cx: &mut Checker<'_>, stmts: &[Stmt]) {
    let mut numbers = FxHashMap::default();
    followed(cx, stmts, &mut numbers);
    if numbers.is_empty() {
        return;
    }
    let variables = vec![Variable::default(); numbers.len()];
    let found = vec![None; numbers.len()];
    let state = State { is_reached: true, variables };
    let (targets, rehearsals) = (Vec::new(), 0);
    let mut flow = Flow { cx, numbers: &numbers, state, targets, rehearsals, copies: 0, found };
    flow.stmts(stmts);
    if flow.copies > MAX_COPIES {
        return;
    }
    let found = flow.found;
    let mut found: Vec<_> = numbers.iter().filter_map(|(&local, &n)| Some((local, found[n]?))).collect();
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
            Some(Cause { span, taken }) => {
                let message = format!("variable '{name}' is used uninitialized whenever {}", taken.text());
                Diagnostic::warning("sometimes-uninitialized", span, message)
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

impl Flow<'_, '_> {
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
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                let causes = [true, false].map(|value| Cause { span: cond.span, taken: Taken::If(value) });
                self.branch(causes, &mut |flow| flow.stmts(&then.stmts), &mut |flow| {
                    flow.stmts(&otherwise.stmts)
                });
            }
            StmtKind::Loop { .. } => self.looped(&stmt.kind),
            StmtKind::Switch { selector, cases } => self.switch(selector, cases),
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value));
                self.state.is_reached = false;
            }
            StmtKind::Break => {
                let state = self.copy();
                let target = self.targets.last_mut().expect("a break is in a loop or a switch");
                target.breaks.push(state);
                self.state.is_reached = false;
            }
            StmtKind::Continue => {
                let state = self.copy();
                let target = self.targets.iter_mut().rev().find(|target| target.is_loop);
                target.expect("a continue is in a loop").continues.push(state);
                self.state.is_reached = false;
            }
            StmtKind::Fp(_) => {}
        }
    }

    /// A loop: its body is run until the state at its beginning does not change.
    fn looped(&mut self, kind: &StmtKind) {
        let StmtKind::Loop { cond, post_test, step, body, .. } = kind else { unreachable!("it is a loop") };
        let word = match (step, *post_test) {
            (_, true) => "do",
            (Some(_), false) => "for",
            (None, false) => "while",
        };
        self.drop_causes();
        let mut head = self.copy();
        self.rehearsals += 1;
        // Each round adds states that a variable may have.
        loop {
            self.state = head.clone();
            let (back, _) = self.round(cond.as_ref(), *post_test, step.as_ref(), body);
            let next = self.joined(vec![(head.clone(), None), (back, None)]);
            if next.has_states_of(&head) || self.copies > MAX_COPIES {
                break;
            }
            head = next;
        }
        self.rehearsals -= 1;
        self.state = head;
        let (_, exits) = self.round(cond.as_ref(), *post_test, step.as_ref(), body);
        let cause = cond.as_ref().map(|cond| Cause { span: cond.span, taken: Taken::Exit(word) });
        let exits = exits.into_iter().map(|(state, by_condition)| (state, cause.filter(|_| by_condition)));
        self.state = self.joined(exits.collect());
    }

    /// Runs a loop once. Returns the state before the next round, and those in which the loop is left, by its
    /// condition or otherwise.
    fn round(
        &mut self,
        cond: Option<&Expr>,
        post_test: bool,
        step: Option<&Expr>,
        body: &Block,
    ) -> (State, Vec<(State, bool)>) {
        let mut exits = Vec::new();
        let mut test = |flow: &mut Self| {
            let Some(cond) = cond else {
                // A loop without a condition is left by `break` only.
                return;
            };
            flow.expr(cond);
            let known = known_condition(cond);
            if known != Some(true) {
                exits.push((flow.copy(), true));
            }
            flow.state.is_reached &= known != Some(false);
        };
        if !post_test {
            test(self);
        }
        self.targets.push(Target { is_loop: true, breaks: Vec::new(), continues: Vec::new() });
        self.stmts(&body.stmts);
        let target = self.targets.pop().expect("it was pushed");
        let end = self.copy();
        let ends = std::iter::once(end).chain(target.continues).map(|state| (state, None)).collect();
        self.state = self.joined(ends);
        if self.state.is_reached {
            step.iter().for_each(|step| self.expr(step));
            if post_test {
                test(self);
            }
        }
        exits.extend(target.breaks.into_iter().map(|state| (state, false)));
        exits.retain(|(state, _)| state.is_reached);
        (self.copy(), exits)
    }

    fn switch(&mut self, selector: &Expr, cases: &[SwitchCase]) {
        self.expr(selector);
        self.drop_causes();
        let before = self.copy();
        let mut ends = Vec::new();
        for case in cases {
            self.state = before.clone();
            self.copies += before.variables.len();
            self.targets.push(Target { is_loop: false, breaks: Vec::new(), continues: Vec::new() });
            self.stmts(&case.body.stmts);
            let target = self.targets.pop().expect("it was pushed");
            // A `continue` is for the loop around, which is on top now.
            if let Some(around) = self.targets.iter_mut().rev().find(|target| target.is_loop) {
                around.continues.extend(target.continues);
            }
            let end = self.copy();
            let of_case = target.breaks.into_iter().chain([end]).map(|state| (state, None)).collect();
            let span = case.body.stmts.first().map_or(selector.span, |stmt| stmt.span);
            ends.push((self.joined(of_case), Some(Cause { span, taken: Taken::Case(case.is_default) })));
        }
        let has_default = cases.iter().any(|case| case.is_default);
        if !has_default && !super::is_covered(self.cx, selector, cases) {
            ends.push((before, Some(Cause { span: selector.span, taken: Taken::Case(true) })));
        }
        self.state = self.joined(ends);
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

    /// Two ways, of which one is taken; the causes are those of the first and of the second.
    fn branch(
        &mut self,
        causes: [Cause; 2],
        first: &mut dyn FnMut(&mut Self),
        second: &mut dyn FnMut(&mut Self),
    ) {
        let before = self.copy();
        self.drop_causes();
        let entry = self.copy();
        first(self);
        let end = std::mem::replace(&mut self.state, entry);
        second(self);
        let other = self.copy();
        let are_open =
            |n: usize| [&end, &other].iter().all(|way| way.is_reached && way.variables[n].is_open());
        // Neither way decides what an earlier branch left open.
        let kept: Vec<_> = before
            .variables
            .iter()
            .enumerate()
            .map(|(n, variable)| variable.cause.filter(|_| are_open(n)))
            .collect();
        let [first, second] = causes;
        self.state = self.joined(vec![(end, Some(first)), (other, Some(second))]);
        for (variable, kept) in self.state.variables.iter_mut().zip(kept) {
            variable.cause = variable.cause.or(kept);
        }
    }

    /// The state where ways meet, each with the branch that led to it.
    fn joined(&mut self, ways: Vec<(State, Option<Cause>)>) -> State {
        let mut reached = ways.into_iter().filter(|(state, _)| state.is_reached);
        let Some((mut all, first)) = reached.next() else {
            return State { is_reached: false, ..self.state.clone() };
        };
        let rest: Vec<_> = reached.collect();
        if rest.is_empty() {
            return all;
        }
        self.copies += all.variables.len() * rest.len();
        for (n, variable) in all.variables.iter_mut().enumerate() {
            let ways = || {
                std::iter::once((*variable, first))
                    .chain(rest.iter().map(|(state, cause)| (state.variables[n], *cause)))
            };
            let is_decided = ways().all(|(way, _)| way.may_be_unset != way.may_be_set);
            let unset = ways().find(|(way, _)| way.is_unset());
            let cause = unset.filter(|_| is_decided).and_then(|(_, cause)| cause);
            let (may_be_unset, may_be_set) =
                (ways().any(|(way, _)| way.may_be_unset), ways().any(|(way, _)| way.may_be_set));
            *variable = Variable { may_be_unset, may_be_set, cause: cause.filter(|_| may_be_set) };
        }
        all
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

    /// The variables that an expression may assign to.
    fn assigned(&mut self, expr: &Expr) -> Vec<usize> {
        let mut read: FxHashSet<*const Expr> = FxHashSet::default();
        let mut assigned = FxHashSet::default();
        let numbers = self.numbers;
        walk::each_expr(expr, &mut |expr| match &expr.kind {
            ExprKind::Load(place) => {
                read.insert(std::ptr::from_ref(&**place));
            }
            ExprKind::Local(local) if !read.contains(&std::ptr::from_ref(expr)) => {
                assigned.extend(numbers.get(local).copied());
            }
            _ => {}
        });
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
        let Some(&n) = self.numbers.get(&local) else {
            // Parameters and variables with initialisers have values.
            return;
        };
        if self.rehearsals > 0 {
            return;
        }
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
                self.perhaps(b);
            }
            ExprKind::Conditional(cond, a, b) => {
                self.expr(cond);
                let causes =
                    [true, false].map(|value| Cause { span: cond.span, taken: Taken::Conditional(value) });
                self.branch(causes, &mut |flow| flow.expr(a), &mut |flow| flow.expr(b));
            }
            _ => walk::operands(expr, &mut |operand| self.expr(operand)),
        }
    }

    /// An expression that may be skipped.
    fn perhaps(&mut self, expr: &Expr) {
        let assigned = self.assigned(expr);
        self.apart(|flow| flow.expr(expr));
        self.forget(&assigned);
    }
}
