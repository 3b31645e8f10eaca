//! `switch`: its cases, and what falls through.
//!
//! Invariant: a typed case never runs on into the next one: it has a copy of the next one's code instead.
//! And it has no ranges (`case 1 ... 5:`, GNU's extension): a selector in one becomes the first value of it.

use super::inner_labels;
use super::inner_labels::has_labels;
use crate::ast::{self, StmtKind as AstStmt, SwitchLabel};
use crate::hir::{
    Block, CastKind, CompareOp, ConstValue, Expr, ExprKind, LogicalOp, QualTy, ScalarTy, Stmt, StmtKind,
    SwitchCase, Ty, Types,
};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::fn_context::FnContext;
use crate::sema::{convert, evaluate, expr, lint, stmt};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::eval;
use std::collections::BTreeMap;

/// The most statements that fall-through may duplicate in one switch.
const MAX_DUPLICATED: usize = 10_000;

/// The cases of a switch while they are checked.
pub(super) struct Cases {
    /// The selector's type after promotion.
    scalar: ScalarTy,
    cases: Vec<SwitchCase>,
    /// The first and the last value of each label, by the first as the selector's type shows it.
    taken: BTreeMap<i128, (i64, i64)>,
}

impl Cases {
    pub(super) fn new(scalar: ScalarTy) -> Self {
        Self { scalar, cases: Vec::new(), taken: BTreeMap::new() }
    }

    fn take(&mut self, (first, last): (i64, i64)) {
        self.taken.insert(self.shown(first), (first, last));
    }

    pub(super) fn push(&mut self, case: SwitchCase) {
        self.cases.push(case);
    }

    pub(super) fn count(&self) -> usize {
        self.cases.len()
    }

    /// Whether a value comes after another in the selector's type. Values are sign-extended, which keeps the
    /// order of unsigned ones.
    fn is_after(&self, a: i64, b: i64) -> bool {
        if self.scalar.is_signed() { a > b } else { a as u64 > b as u64 }
    }

    /// A value as the selector's type shows it.
    fn shown(&self, n: i64) -> i128 {
        match self.scalar {
            ScalarTy::U32 => i128::from(n as u32),
            ScalarTy::U64 => i128::from(n as u64),
            _ => i128::from(n),
        }
    }

    fn overlaps(&self, (first, last): (i64, i64)) -> bool {
        let before = self.taken.range(..=self.shown(last)).next_back();
        before.is_some_and(|(_, &(_, end))| self.shown(end) >= self.shown(first))
    }
}

pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    selector: &'a ast::Expr,
    body: &'a ast::Stmt,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let selector = expr::check(cx, selector);
    let selector = convert::builtin_operand(cx, selector);
    let written = selector.ty.ty;
    let selector = cx.values().promoted(selector);
    let selector = cx.values().rvalue(selector);
    let integral = cx.types.scalar_repr(selector.ty.ty).filter(|scalar| scalar.is_integral());
    if integral.is_none() && !selector.ty.ty.is_error() {
        let shown = cx.types.display(selector.ty.ty);
        let message = format!("`switch` needs an integer, not a `{shown}`");
        cx.error("bad-selector", selector.span, message);
    }
    // The body of a switch whose selector is in error is checked as well.
    let scalar = integral.map_or(ScalarTy::I64, convert::promote);
    let promoted = Ty::scalar(scalar);
    let at = selector.span;
    let selector = match integral {
        Some(_) => cx.values().cast_value(CastKind::Convert, selector, promoted, at),
        None => cx.poison(at),
    };
    let stmts = match &body.kind {
        AstStmt::Block(block) => block.stmts.as_slice(),
        // Nested too deep to be parsed, which is reported.
        _ => std::slice::from_ref(body),
    };
    let is_label = |stmt: &ast::Stmt| matches!(stmt.kind, AstStmt::Label(_));
    let has_inner = stmts.iter().any(|stmt| !is_label(stmt) && has_labels(stmt));
    cx.function.switches += 1;
    let body = cx.scopes.add_body();
    let checked = cx.in_scope(body, |cx| {
        if has_inner {
            return inner_labels::entered_switch(cx, stmts, scalar, span);
        }
        switch_cases(cx, stmts, scalar).map(|cases| (cases, Vec::new()))
    });
    cx.function.switches -= 1;
    if integral.is_none() {
        return;
    }
    if let Some((Cases { cases, taken, .. }, mut rest)) = checked {
        let has_default = cases.iter().any(|case| case.is_default);
        lint::switch(cx, written, at, has_default, &taken);
        let selector = first_of_range(&cx.types, &mut cx.function, selector, &taken);
        // The declarations of what the cases choose come first.
        let declared = rest.len().saturating_sub(1);
        out.extend(rest.drain(..declared));
        stmt::push(out, StmtKind::Switch { selector, cases }, span);
        out.extend(rest);
    }
}

fn switch_cases<'a>(cx: &mut Checker<'a>, stmts: &'a [ast::Stmt], scalar: ScalarTy) -> Option<Cases> {
    let mut cases = Cases::new(scalar);
    // Pragmas at the start of the block are in force in all cases.
    let pragmas = stmts.first().filter(|stmt| matches!(stmt.kind, AstStmt::Fp(_)));
    let mut ok = true;
    let mut at = usize::from(pragmas.is_some());
    while at < stmts.len() {
        let mut case = SwitchCase { values: Vec::new(), is_default: false, body: Block::default() };
        let first = at;
        while let Some(AstStmt::Label(label)) = stmts.get(at).map(|stmt| &stmt.kind) {
            ok &= case_label(cx, label, stmts[at].span, &mut case, &mut cases);
            at += 1;
        }
        let has_label = at > first;
        let end = stmts[at..].iter().position(|stmt| matches!(stmt.kind, AstStmt::Label(_)));
        let end = end.map_or(stmts.len(), |n| at + n);
        let mut body = Vec::new();
        stmt::check_all(cx, pragmas.map_or(&[], std::slice::from_ref), &mut body);
        stmt::check_all(cx, &stmts[at..end], &mut body);
        at = end;
        case.body = Block { stmts: body };
        if !has_label {
            // Declarations before the first case: their code never runs.
            continue;
        }
        cases.cases.push(case);
    }
    ok &= resolve_fall_through(&mut cx.diagnostics, &mut cases.cases);
    // A case of empty ranges only is reached by falling through.
    cases.cases.retain(|case| case.is_default || !case.values.is_empty());
    ok.then_some(cases)
}

pub(super) fn case_label<'a>(
    cx: &mut Checker<'a>,
    label: &'a SwitchLabel,
    span: Span,
    case: &mut SwitchCase,
    cases: &mut Cases,
) -> bool {
    match label {
        SwitchLabel::Default => {
            if case.is_default || cases.cases.iter().any(|case| case.is_default) {
                cx.error("duplicate-case", span, "the switch has two `default` labels");
                return false;
            }
            case.is_default = true;
        }
        SwitchLabel::Case(expr) => {
            let Some(n) = case_value(cx, expr, cases.scalar, span) else {
                // The error is reported.
                return false;
            };
            if cases.overlaps((n, n)) {
                cx.error("duplicate-case", span, format!("the switch has two cases for {}", cases.shown(n)));
                return false;
            }
            cases.take((n, n));
            case.values.push(n);
        }
        SwitchLabel::Range(first, last) => {
            let first = case_value(cx, first, cases.scalar, span);
            let last = case_value(cx, last, cases.scalar, span);
            let (Some(first), Some(last)) = (first, last) else {
                // The error is reported.
                return false;
            };
            return case_range(&mut cx.diagnostics, (first, last), span, case, cases);
        }
    }
    true
}

fn case_range(
    diagnostics: &mut Diagnostics,
    (first, last): (i64, i64),
    span: Span,
    case: &mut SwitchCase,
    cases: &mut Cases,
) -> bool {
    if cases.is_after(first, last) {
        let (first, last) = (cases.shown(first), cases.shown(last));
        let message = format!("the range {first} ... {last} is empty");
        diagnostics.report(Diagnostic::warning("empty-range", span, message));
        return true;
    }
    if cases.overlaps((first, last)) {
        let (first, last) = (cases.shown(first), cases.shown(last));
        let message = format!("the switch has another case for a value from {first} to {last}");
        diagnostics.error("duplicate-case", span, message);
        return false;
    }
    cases.take((first, last));
    case.values.push(first);
    true
}

/// The selector, but the first value of a range for all values of it.
fn first_of_range(
    types: &Types,
    function: &mut FnContext,
    selector: Expr,
    labels: &BTreeMap<i128, (i64, i64)>,
) -> Expr {
    let (ty, span) = (selector.ty.ty, selector.span);
    if labels.values().all(|(first, last)| first == last) {
        return selector;
    }
    let ranges: Vec<(i64, i64)> = labels.values().filter(|(first, last)| first != last).copied().collect();
    let local = function.new_local(Name::EMPTY, ty, span);
    let place = Expr::place(ExprKind::Local(local), QualTy::plain(ty), span);
    let given = Expr::value(ExprKind::Load(Box::new(place)), ty, span);
    let chosen = first_of_ranges(types, &given, &ranges);
    Expr::value(ExprKind::Let(local, Some(Box::new(selector)), Box::new(chosen)), ty, span)
}

/// The same for ranges in their order: a search, so that expressions nest little.
fn first_of_ranges(types: &Types, given: &Expr, ranges: &[(i64, i64)]) -> Expr {
    let (ty, span) = (given.ty.ty, given.span);
    let compare = |op, bound: i64| {
        let bound = Box::new(selector_value(types, bound, ty, span));
        Expr::value(ExprKind::Compare(op, Box::new(given.clone()), bound), Ty::BOOL, span)
    };
    let (cond, then, otherwise) = match *ranges {
        [] => return given.clone(),
        [(first, last)] => {
            let from = Box::new(compare(CompareOp::Ge, first));
            let to = Box::new(compare(CompareOp::Le, last));
            let within = Expr::value(ExprKind::Logical(LogicalOp::And, from, to), Ty::BOOL, span);
            (within, selector_value(types, first, ty, span), given.clone())
        }
        _ => {
            let (before, after) = ranges.split_at(ranges.len() / 2);
            let is_before = compare(CompareOp::Lt, after[0].0);
            (is_before, first_of_ranges(types, given, before), first_of_ranges(types, given, after))
        }
    };
    let kind = ExprKind::Conditional(Box::new(cond), Box::new(then), Box::new(otherwise));
    Expr::value(kind, ty, span)
}

/// A value of the selector's type, of 32 or 64 bits.
fn selector_value(types: &Types, n: i64, ty: Ty, span: Span) -> Expr {
    let is_long = types.layout(ty).size == 8;
    let bits = if is_long { n as u64 } else { u64::from(n as u32) };
    Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span)
}

/// The value of a label, sign-extended whatever the selector's type is.
fn case_value<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr, scalar: ScalarTy, span: Span) -> Option<i64> {
    let value = expr::check(cx, expr);
    if value.ty.ty.is_error() {
        return None;
    }
    let value = convert::builtin_operand(cx, value);
    let value = cx.values().rvalue(value);
    let value = if cx.types.scalar_repr(value.ty.ty).is_some() {
        cx.values().cast_value(CastKind::Convert, value, Ty::scalar(scalar), span)
    } else {
        value
    };
    let bits = evaluate::constant_integer(cx, value)? as u64;
    Some(eval::sign_extend(scalar.into(), bits & eval::mask(scalar.into())))
}

/// A case that runs on into the next gets a copy of the next one's code.
fn resolve_fall_through(diagnostics: &mut Diagnostics, cases: &mut [SwitchCase]) -> bool {
    let mut duplicated = 0;
    for n in (0..cases.len().saturating_sub(1)).rev() {
        if ends(&cases[n].body) {
            continue;
        }
        let next = cases[n + 1].body.stmts.clone();
        duplicated += next.len();
        if duplicated > MAX_DUPLICATED {
            let span = next.first().map_or(Span::NONE, |stmt| stmt.span);
            let message = "too many statements in cases that fall through to the next";
            let hint = "end cases with `break`";
            diagnostics.report(Diagnostic::error("fall-through", span, message).with_hint(hint));
            return false;
        }
        cases[n].body.stmts.extend(next);
    }
    true
}

/// Whether control never reaches the end of a block.
fn ends(block: &Block) -> bool {
    match block.stmts.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)) => true,
        Some(StmtKind::Block(inner)) => ends(inner),
        Some(StmtKind::If { then, otherwise, .. }) => ends(then) && ends(otherwise),
        _ => false,
    }
}
