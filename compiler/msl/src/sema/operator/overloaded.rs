//! Operator functions: which types may have them, and finding the best.

use crate::hir::{Expr, Ty, TyKind};
use crate::sema::call::Arg;
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::lookup::Found;
use crate::sema::overload::{Call, NoOverload};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

impl<'a> Checker<'a> {
    /// Whether operators on this type may be functions.
    pub(in crate::sema) fn is_overloadable(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Record(_) | TyKind::Enum(_) | TyKind::Matrix { .. })
    }

    /// Calls the function that the operator `{op}{suffix}` is for these operands, if one fits.
    pub(in crate::sema) fn binary_function(
        &mut self,
        op: &str,
        suffix: &str,
        lhs: &Expr,
        rhs: &Expr,
        span: Span,
    ) -> Option<Expr> {
        if !self.is_overloadable(lhs.ty.ty) && !self.is_overloadable(rhs.ty.ty) {
            return None;
        }
        let name = Name::new(&format!("operator{op}{suffix}"));
        self.operator_call(name, vec![lhs.clone(), rhs.clone()], span)
    }

    /// Calls an operator function, if one fits; `None` leaves the builtin meaning.
    pub(in crate::sema) fn operator_call(
        &mut self,
        name: Name,
        operands: Vec<Expr>,
        span: Span,
    ) -> Option<Expr> {
        let mut members = Vec::new();
        if let Some(record) = operands.first().and_then(|first| self.types.as_record(first.ty.ty))
            && self.complete_record(record, span)
        {
            if name == self.names.assign_operator {
                members = self.assignment_operators(record);
            } else {
                match self.member_functions(record, name, span) {
                    Ok(decls) => members.extend(decls.iter().flat_map(|decls| decls.iter().copied())),
                    Err(_) => return Some(self.poison(span)),
                }
            }
        }
        let args: Vec<Arg<'a>> = operands.iter().cloned().map(Arg::Expr).collect();
        let mut free: Vec<FnDeclId> = Vec::new();
        if let Some(Found::Functions(decls)) = self.lookup_operator(name) {
            free.extend(decls.iter().copied());
        }
        let more = self.argument_dependent(name, &args, &free);
        free.extend(more);
        self.best_operator(name, members, free, &operands, args, span)
    }

    fn best_operator(
        &mut self,
        name: Name,
        members: Vec<FnDeclId>,
        free: Vec<FnDeclId>,
        operands: &[Expr],
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Option<Expr> {
        let (name_text, object) = (name.as_str(), operands.first());
        let by_member =
            Call { name: name_text, decls: &members, explicit: None, object, args: &args[1..], span };
        let by_name = Call { name: name_text, decls: &free, explicit: None, object: None, args: &args, span };
        match self.find_operator(&by_member, &by_name) {
            Ok(func) if self.functions.inst(func).this.is_some() => {
                let mut args = args;
                args.remove(0);
                Some(self.call_known(func, object.cloned(), args, span))
            }
            Ok(func) => Some(self.call_known(func, None, args, span)),
            Err(NoOverload::Ambiguous(decls)) => {
                self.report_ambiguous_operator(name, &decls, span);
                Some(self.poison(span))
            }
            Err(NoOverload::None(_)) => None,
        }
    }

    fn report_ambiguous_operator(&mut self, name: Name, decls: &[FnDeclId], span: Span) {
        let mut diagnostic = Diagnostic::error("ambiguous-call", span, format!("`{name}` is ambiguous here"));
        for &decl in decls {
            diagnostic = diagnostic.with_note(self.functions.decl(decl).ast.span, "candidate");
        }
        self.report(diagnostic);
    }
}
