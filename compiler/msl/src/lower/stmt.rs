//! Statements.

use super::function::{FunctionLowerer, Target};
use crate::hir::{self, StmtKind};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    /// Statements in order; floating-point pragmas among them end with them.
    pub(super) fn block(&mut self, block: &hir::Block) {
        let fp = (self.b.fp, self.b.contract);
        for stmt in &block.stmts {
            if self.b.is_terminated() {
                break;
            }
            self.statement(stmt);
        }
        (self.b.fp, self.b.contract) = fp;
    }

    fn statement(&mut self, stmt: &hir::Stmt) {
        self.at(stmt.span);
        match &stmt.kind {
            StmtKind::Expr(expr) => self.effects(expr),
            StmtKind::Declare { local, init } => self.bind(*local, init.as_ref()),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.value(cond);
                self.branch(cond, |f| f.block(then), |f| f.block(otherwise));
            }
            StmtKind::Loop { cond, post_test, step, body, .. } => {
                self.endless_loop(cond.as_ref(), *post_test, step.as_ref(), body);
            }
            StmtKind::Switch { selector, cases } => self.switch(selector, cases),
            StmtKind::Break => {
                let label = self.targets.last().expect("a break is in a loop or switch").label;
                self.b.push(ir::Op::break_(label));
            }
            StmtKind::Continue => {
                let target = self.targets.iter().rev().find(|target| target.is_loop);
                let label = target.expect("a continue is in a loop").label;
                self.b.push(ir::Op::continue_(label));
            }
            StmtKind::Return(value) => self.return_value(value.as_ref()),
            StmtKind::Fp(pragmas) => self.follow(*pragmas),
        }
    }

    fn endless_loop(
        &mut self,
        cond: Option<&hir::Expr>,
        post_test: bool,
        step: Option<&hir::Expr>,
        body: &hir::Block,
    ) {
        let loc = self.b.loc;
        let label = self.b.func.add_label();
        self.targets.push(Target { label, is_loop: true });
        let main = self.nested(|f| {
            if !post_test {
                f.leave_unless(cond, label);
            }
            f.block(body);
        });
        let continuing = self.nested(|f| {
            if let Some(step) = step {
                f.effects(step);
            }
            if post_test {
                f.leave_unless(cond, label);
            }
        });
        self.targets.pop();
        self.b.loc = loc;
        self.b.push(ir::Op::endless(label, main, continuing));
    }

    fn leave_unless(&mut self, cond: Option<&hir::Expr>, label: ir::Label) {
        if let Some(cond) = cond {
            let cond = self.value(cond);
            self.branch(cond, |_| {}, |f| f.b.push(ir::Op::break_(label)));
        }
    }

    fn switch(&mut self, selector: &hir::Expr, cases: &[hir::SwitchCase]) {
        let selector = self.value(selector);
        let loc = self.b.loc;
        let label = self.b.func.add_label();
        self.targets.push(Target { label, is_loop: false });
        let mut lowered = Vec::new();
        let mut default = None;
        for case in cases {
            let body = self.nested(|f| f.block(&case.body));
            if case.is_default {
                // Values beside `default` reach it anyway.
                let other = default.replace(body);
                assert_eq!(other, None, "a switch has one default");
            } else {
                lowered.push(ir::SwitchCase { values: case.values.clone(), body });
            }
        }
        self.targets.pop();
        let default = default.unwrap_or_else(|| self.b.func.add_block());
        self.b.loc = loc;
        self.b.push(ir::Op::switch(label, selector, lowered, default));
    }

    fn return_value(&mut self, value: Option<&hir::Expr>) {
        let returned = match (value, self.result) {
            (Some(value), Some(result)) => {
                // The result may be what the expression still reads (`a = f(a)` passes no such pointer,
                // but a reference parameter can alias it only through the caller's temporary).
                self.into(value, result);
                None
            }
            (Some(value), None) if self.b.func.ret.is_some() => Some(self.value(value)),
            (Some(value), None) => {
                self.effects(value);
                None
            }
            (None, _) => self.b.func.ret.map(|ty| self.b.value(ir::Op::Undef, ty)),
        };
        self.b.push(ir::Op::Return(returned));
    }
}
