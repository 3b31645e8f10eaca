//! `switch`: its cases, and what falls through.
//!
//! Invariant: a typed case never runs on into the next one: it has a copy of the next one's code instead.

use crate::ast::{self, StmtKind as AstStmt, SwitchLabel};
use crate::hir::{Block, CastKind, Stmt, StmtKind, SwitchCase, Ty};
use crate::sema::checker::Checker;
use crate::sema::convert;
use anymetal_diag::{Diagnostic, Span};

/// The most statements that fall-through may duplicate in one switch.
const MAX_DUPLICATED: usize = 10_000;

impl<'a> Checker<'a> {
    pub(super) fn switch_stmt(
        &mut self,
        selector: &'a ast::Expr,
        body: &'a ast::Stmt,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let selector = self.expr(selector);
        let selector = self.builtin_operand(selector);
        let selector = self.rvalue(selector);
        if selector.ty.ty.is_error() {
            return;
        }
        let Some(scalar) = self.types.scalar_repr(selector.ty.ty).filter(|scalar| scalar.is_integral())
        else {
            let shown = self.types.display(selector.ty.ty);
            let message = format!("`switch` needs an integer, not a `{shown}`");
            self.error("bad-selector", selector.span, message);
            return;
        };
        let promoted = Ty::scalar(convert::promote(scalar));
        let at = selector.span;
        let selector = self.cast_value(CastKind::Convert, selector, promoted, at);
        let AstStmt::Block(block) = &body.kind else {
            self.error("bad-switch", body.span, "the body of a switch must be a block");
            return;
        };
        self.function.switches += 1;
        let cases = self.in_block(|s| s.switch_cases(&block.stmts, promoted));
        self.function.switches -= 1;
        if let Some(cases) = cases {
            Self::push(out, StmtKind::Switch { selector, cases }, span);
        }
    }

    fn switch_cases(&mut self, stmts: &'a [ast::Stmt], ty: Ty) -> Option<Vec<SwitchCase>> {
        let mut cases: Vec<SwitchCase> = Vec::new();
        let mut ok = true;
        let mut at = 0;
        while at < stmts.len() {
            let mut case = SwitchCase { values: Vec::new(), is_default: false, body: Block::default() };
            while let Some(AstStmt::Label(label)) = stmts.get(at).map(|stmt| &stmt.kind) {
                ok &= self.case_label(label, ty, stmts[at].span, &mut case, &cases);
                at += 1;
            }
            let end = stmts[at..].iter().position(|stmt| matches!(stmt.kind, AstStmt::Label(_)));
            let end = end.map_or(stmts.len(), |n| at + n);
            let mut body = Vec::new();
            self.stmts(&stmts[at..end], &mut body);
            at = end;
            case.body = Block { stmts: body };
            if case.values.is_empty() && !case.is_default {
                // Declarations before the first case: their code never runs.
                continue;
            }
            cases.push(case);
        }
        ok &= self.resolve_fall_through(&mut cases);
        ok.then_some(cases)
    }

    fn case_label(
        &mut self,
        label: &'a SwitchLabel,
        ty: Ty,
        span: Span,
        case: &mut SwitchCase,
        cases: &[SwitchCase],
    ) -> bool {
        match label {
            SwitchLabel::Default => {
                if case.is_default || cases.iter().any(|case| case.is_default) {
                    self.error("duplicate-case", span, "the switch has two `default` labels");
                    return false;
                }
                case.is_default = true;
            }
            SwitchLabel::Case(expr) => {
                let Some(n) = self.case_value(expr, ty, span) else { return false };
                let selects = |case: &SwitchCase| case.values.contains(&n);
                if selects(case) || cases.iter().any(selects) {
                    self.error("duplicate-case", span, format!("the switch has two cases for {n}"));
                    return false;
                }
                case.values.push(n);
            }
        }
        true
    }

    fn case_value(&mut self, expr: &'a ast::Expr, ty: Ty, span: Span) -> Option<i64> {
        let value = self.expr(expr);
        if value.ty.ty.is_error() {
            return None;
        }
        let value = self.builtin_operand(value);
        let value = self.rvalue(value);
        let value = if self.types.scalar_repr(value.ty.ty).is_some() {
            self.cast_value(CastKind::Convert, value, ty, span)
        } else {
            value
        };
        self.constant_integer(value).map(|n| n as i64)
    }

    /// A case that runs on into the next gets a copy of the next one's code.
    fn resolve_fall_through(&mut self, cases: &mut [SwitchCase]) -> bool {
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
                self.report(Diagnostic::error("fall-through", span, message).with_hint(hint));
                return false;
            }
            cases[n].body.stmts.extend(next);
        }
        true
    }
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
