//! The canonical form of expressions.

use super::form::{Form, MAX_TOKENS, Token};
use crate::ast::{Expr, ExprKind, Qualifiers};
use crate::sema::ast_names;
use crate::sema::checker::Checker;
use crate::sema::{evaluate, expr};

impl Form {
    pub(super) fn expr<'a>(&mut self, cx: &mut Checker<'a>, expr: &'a Expr) {
        if self.tokens.len() > MAX_TOKENS {
            return self.unlike(expr.span);
        }
        let done = cx.deeper(expr.span, |cx| self.expr_within(cx, expr));
        if done.is_none() {
            self.unlike(expr.span);
        }
    }

    fn expr_within<'a>(&mut self, cx: &mut Checker<'a>, expr: &'a Expr) {
        if !self.is_known(|visitor| ast_names::in_expr(expr, visitor))
            && !matches!(expr.kind, ExprKind::PackExpansion(_))
        {
            let value = cx.quietly(|cx| {
                let value = expr::check(cx, expr);
                let is_open = value.ty.ty.is_error();
                if is_open { None } else { evaluate::constant_integer(cx, value) }
            });
            if let Ok(Some(value)) = value {
                return self.tokens.push(Token::Value(value));
            }
        }
        let text = |text: String| Token::Text(text);
        match &expr.kind {
            ExprKind::Path(path) => self.path(cx, path, Qualifiers::default()),
            ExprKind::DecltypePath(inner, path) => {
                self.mark("decltype");
                self.expr(cx, inner);
                self.names(cx, &path.segments);
            }
            ExprKind::Paren(inner) => {
                self.mark("paren");
                self.expr(cx, inner);
            }
            ExprKind::Unary(op, a) => {
                self.tokens.push(text(format!("{op:?}")));
                self.expr(cx, a);
            }
            ExprKind::Postfix(op, a) => {
                self.tokens.push(text(format!("postfix {op:?}")));
                self.expr(cx, a);
            }
            ExprKind::Binary(op, a, b) => {
                self.tokens.push(text(format!("binary {op:?}")));
                self.expr(cx, a);
                self.expr(cx, b);
            }
            ExprKind::Assign(op, a, b) => {
                self.tokens.push(text(format!("{op:?}")));
                self.expr(cx, a);
                self.expr(cx, b);
            }
            ExprKind::Index(a, b) => {
                self.mark("[");
                self.expr(cx, a);
                self.expr(cx, b);
            }
            ExprKind::Conditional(a, b, c) => {
                self.mark("?");
                [a, b, c].into_iter().for_each(|part| self.expr(cx, part));
            }
            ExprKind::Call(callee, args) => {
                self.mark("call");
                self.expr(cx, callee);
                args.iter().for_each(|arg| self.expr(cx, arg));
                self.mark(")");
            }
            ExprKind::Member { base, arrow, member } => {
                self.mark(if *arrow { "->" } else { "." });
                self.expr(cx, base);
                self.names(cx, &member.segments);
            }
            ExprKind::Cast(kind, ty, inner) => {
                self.tokens.push(text(format!("{kind:?}")));
                self.ty(cx, ty);
                self.expr(cx, inner);
            }
            ExprKind::Construct { ty, args, braced } if args.iter().all(|arg| arg.designators.is_empty()) => {
                self.mark(if *braced { "T{" } else { "T(" });
                self.ty(cx, ty);
                args.iter().for_each(|arg| self.expr(cx, &arg.value));
                self.mark(")");
            }
            ExprKind::SizeofType(ty) | ExprKind::AlignofType(ty) => {
                let is_size = matches!(expr.kind, ExprKind::SizeofType(_));
                self.mark(if is_size { "sizeof" } else { "alignof" });
                self.ty(cx, ty);
            }
            ExprKind::SizeofExpr(inner) | ExprKind::Noexcept(inner) => {
                let is_size = matches!(expr.kind, ExprKind::SizeofExpr(_));
                self.mark(if is_size { "sizeof expr" } else { "noexcept" });
                self.expr(cx, inner);
            }
            ExprKind::SizeofPack(name) => {
                self.mark("sizeof...");
                let known = self.env.iter().rev().find(|(known, _)| known == name);
                let tokens = known.map_or_else(|| vec![Token::Name(*name)], |(_, tokens)| tokens.clone());
                self.tokens.extend(tokens);
            }
            ExprKind::PackExpansion(inner) => {
                self.mark("...");
                self.expr(cx, inner);
            }
            ExprKind::TypeTrait(name, types) => {
                self.tokens.push(Token::Name(*name));
                types.iter().for_each(|ty| self.ty(cx, ty));
                self.mark(")");
            }
            ExprKind::This => self.mark("this"),
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::Str(_)
            | ExprKind::Nullptr => self.tokens.push(text(format!("{:?}", expr.kind))),
            _ => self.unlike(expr.span),
        }
    }
}
