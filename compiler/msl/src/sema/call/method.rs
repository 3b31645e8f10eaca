//! Calls through an object: `x.f()`, `p->f()`, `x.Base::f()`, and `*this`.

use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, RecordId};
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::lookup::Found;
use crate::sema::path::Miss;
use crate::sema::table::operator_key;
use anymetal_diagnostics::Span;
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// `*this`, if there is one here.
    pub(in crate::sema) fn this_object(&mut self, span: Span) -> Option<Expr> {
        if let Some(Found::Local(LocalDecl::Capture { field, record, ty })) = self.captured_this() {
            let pointer = self.capture_value(record, field, ty, span)?;
            let pointer = self.values().rvalue(pointer);
            let to = self.types.pointee(pointer.ty.ty)?;
            return Some(Expr::place(ExprKind::Deref(Box::new(pointer)), to, span));
        }
        let (local, object) = self.function.this?;
        let pointer_ty = self.types.pointer(object);
        let place = Expr::place(ExprKind::Local(local), QualTy::plain(pointer_ty), span);
        let pointer = self.values().rvalue(place);
        Some(Expr::place(ExprKind::Deref(Box::new(pointer)), object, span))
    }

    pub(super) fn member_call(
        &mut self,
        base: &'a ast::Expr,
        arrow: bool,
        member: &'a ast::Path,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        let object = self.member_object(base, arrow);
        if object.ty.ty.is_error() {
            let _ = self.call_args(args);
            return object;
        }
        let Some(record) = self.types.as_record(object.ty.ty) else {
            let function = self.member_of(object, member, span);
            let Some(args) = self.call_args(args) else { return self.poison(span) };
            return self.call_value(function, args, span);
        };
        let Some(found) = self.member_target(record, member) else { return self.poison(span) };
        if let Some(level) = self.log_method(record, member) {
            return self.log_call(&object, level, args, span);
        }
        let object = self.as_naming_class(object, member);
        match found {
            Found::Functions(decls) => {
                let explicit = member
                    .segments
                    .last()
                    .and_then(|last| last.args.as_ref())
                    .map(|args| self.explicit_args(args));
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                let name = member.segments.last().map_or("", |last| last.name.as_str());
                self.overloaded_call(name, &decls, explicit, Some(object), args, span)
            }
            Found::Error => self.poison(span),
            found => {
                let function = self.member_value(object, found, span);
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_value(function, args, span)
            }
        }
    }

    /// What a member path means in a class.
    pub(in crate::sema) fn member_target(
        &mut self,
        record: RecordId,
        member: &'a ast::Path,
    ) -> Option<Found<'a>> {
        if let [only] = member.segments.as_slice() {
            let key = only.operator.as_ref().map_or(only.name, operator_key);
            let ty = QualTy::plain(self.records.get(record).ty);
            if !self.complete_record(record, member.span) {
                return None;
            }
            let found = self.lookup_in_type(ty, key, only.span);
            let found = found.and_then(|found| self.accessible(ty, key, found, true, only.span));
            let found = match found {
                Ok(found) => found,
                Err(miss) => {
                    self.report_member_miss(miss, record);
                    return None;
                }
            };
            if key == self.names.conversion
                && let Some(ast::OperatorName::Conversion(wanted)) = &only.operator
            {
                return self.explicit_conversion(found, wanted);
            }
            return Some(found);
        }
        // `x.Base::f`
        match self.resolve_path(member) {
            Ok(target) => Some(target.found),
            Err(miss) => {
                self.report_miss(miss, "member");
                None
            }
        }
    }

    fn explicit_conversion(&mut self, found: Found<'a>, wanted: &'a ast::Type) -> Option<Found<'a>> {
        let Found::Functions(decls) = found else { return Some(found) };
        let wanted = self.resolve_type(wanted);
        let mut fitting = Vec::new();
        for &decl in decls.iter() {
            if self.functions.decl(decl).template.is_some() {
                continue;
            }
            if let Some(func) = self.instantiate_function(decl, Rc::from([]), Span::NONE)
                && self.functions.inst(func).ret.is_some_and(|ret| ret.ty == wanted.ty)
            {
                fitting.push(decl);
            }
        }
        Some(Found::Functions(fitting.into()))
    }

    fn report_member_miss(&mut self, miss: Miss, record: RecordId) {
        let Miss::Unknown { name, span, .. } = miss else { return };
        let class = self.types.record(record).name.clone();
        let mut diagnostic = anymetal_diagnostics::Diagnostic::error(
            "unknown-member",
            span,
            format!("no member named `{name}` in `{class}`"),
        );
        let names = self.records.get(record).member_names();
        if let Some(near) =
            anymetal_diagnostics::suggest(name.as_str(), names.iter().map(|name| name.as_str()))
        {
            diagnostic = diagnostic.with_hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }
}
