//! Turns a function that ends by calling itself into a loop.
//!
//! The IR has no recursion. A call of the function itself whose result is the function's result, or
//! after which nothing happens, can instead assign the parameters and start over. Invariant: a function
//! is left alone when the address of a by-value parameter is taken, because the next round would change
//! what it points to.

use super::walk;
use crate::hir::{Block, Expr, ExprKind, FuncId, Function, Local, LocalId, QualTy, Stmt, StmtKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Rewrites `function`, which is known as `own`.
pub(super) fn into_loop(function: &mut Function, own: FuncId) {
    if !calls(&function.body, own) || takes_parameter_address(function) {
        return;
    }
    let mut body = std::mem::take(&mut function.body);
    let mut rewriter =
        Rewriter { own, params: function.params.clone(), locals: &mut function.locals, found: false };
    rewriter.block(&mut body, true);
    if !rewriter.found {
        function.body = body;
        return;
    }
    let span = function.span;
    body.stmts.push(Stmt { kind: StmtKind::Return(None), span });
    let kind = StmtKind::Loop { cond: None, post_test: false, step: None, body, hint: None };
    function.body = Block { stmts: vec![Stmt { kind, span }] };
}

fn calls(block: &Block, own: FuncId) -> bool {
    let mut found = false;
    walk::each_in_block(block, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Call(func, _) if func == own)
    });
    found
}

fn takes_parameter_address(function: &Function) -> bool {
    let mut found = false;
    walk::each_in_block(&function.body, &mut |expr| {
        if let ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) = &expr.kind {
            found |= matches!(root(place), Some(local) if function.params.contains(&local));
        }
    });
    found
}

/// The variable a place is part of.
fn root(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        ExprKind::Local(local) => Some(*local),
        ExprKind::Field(base, ..)
        | ExprKind::Element(base, _)
        | ExprKind::Column(base, _)
        | ExprKind::Swizzle(base, _)
        | ExprKind::VectorElement(base, _) => root(base),
        _ => None,
    }
}

struct Rewriter<'f> {
    own: FuncId,
    params: Vec<LocalId>,
    locals: &'f mut Vec<Local>,
    found: bool,
}

impl Rewriter<'_> {
    /// `at_end`: nothing happens in the function after this block.
    fn block(&mut self, block: &mut Block, at_end: bool) {
        let count = block.stmts.len();
        for n in 0..count {
            let returns_next =
                matches!(block.stmts.get(n + 1).map(|next| &next.kind), Some(StmtKind::Return(None)));
            let is_last = n + 1 == count;
            self.stmt(&mut block.stmts[n], returns_next || (at_end && is_last));
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt, at_end: bool) {
        let span = stmt.span;
        match &mut stmt.kind {
            StmtKind::Block(inner) => self.block(inner, at_end),
            StmtKind::If { then, otherwise, .. } => {
                self.block(then, at_end);
                self.block(otherwise, at_end);
            }
            StmtKind::Expr(Expr { kind: ExprKind::Call(func, args), .. }) if *func == self.own && at_end => {
                let args = std::mem::take(args);
                stmt.kind = StmtKind::Block(self.restart(args, span));
            }
            StmtKind::Return(Some(Expr { kind: ExprKind::Call(func, args), .. })) if *func == self.own => {
                let args = std::mem::take(args);
                stmt.kind = StmtKind::Block(self.restart(args, span));
            }
            // A `continue` inside of these would mean the inner loop.
            StmtKind::Loop { .. } => {}
            _ => {}
        }
    }

    /// Evaluates all arguments, then assigns them to the parameters and starts over.
    fn restart(&mut self, args: Vec<Expr>, span: Span) -> Block {
        self.found = true;
        let mut stmts = Vec::new();
        let mut temporaries = Vec::new();
        for arg in args {
            let ty = arg.ty.ty;
            self.locals.push(Local { name: Name::EMPTY, ty, span });
            let local = LocalId(self.locals.len() as u32 - 1);
            temporaries.push((local, ty));
            stmts.push(Stmt { kind: StmtKind::Declare { local, init: Some(arg) }, span });
        }
        for (&param, (local, ty)) in self.params.iter().zip(temporaries) {
            let place = |local| Expr::place(ExprKind::Local(local), QualTy::plain(ty), span);
            let value = Expr::value(ExprKind::Load(Box::new(place(local))), ty, span);
            let assign = ExprKind::Assign(Box::new(place(param)), Box::new(value));
            stmts.push(Stmt { kind: StmtKind::Expr(Expr::place(assign, QualTy::plain(ty), span)), span });
        }
        stmts.push(Stmt { kind: StmtKind::Continue, span });
        Block { stmts }
    }
}
