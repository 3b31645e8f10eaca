//! Calls: what is called, with which object and arguments.

use super::checker::{Checker, FnDeclId, LocalDecl, TArg};
use super::construct::ConstructArgs;
use super::lookup::Found;
use super::overload::Call;
use super::path::{Miss, Target};
use super::table::operator_key;
use crate::ast::{self, ExprKind as AstKind, InitClause, TemplateArg};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, RecordId, Ty};
use crate::token::Name;
use anymetal_diag::Span;
use std::rc::Rc;

/// An argument before it is known what parameter it is for.
#[derive(Clone, Debug)]
pub(super) enum Arg<'a> {
    Expr(Expr),
    /// `{…}`
    List(&'a [InitClause], Span),
    /// A name of functions.
    Functions(Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
}

impl<'a> Checker<'a> {
    /// Checks arguments, expanding packs. `None` if one is in error (all are checked).
    pub(super) fn call_args(&mut self, args: &'a [ast::Expr]) -> Option<Vec<Arg<'a>>> {
        let mut out = Vec::with_capacity(args.len());
        let mut ok = true;
        for arg in args {
            if let AstKind::PackExpansion(inner) = &arg.kind {
                for n in 0..self.pack_length_of_expr(inner).unwrap_or(0) {
                    let arg = self.with_pack_index(n, |s| s.call_arg(inner));
                    ok &= is_fine(&arg);
                    out.push(arg);
                }
                continue;
            }
            let arg = self.call_arg(arg);
            ok &= is_fine(&arg);
            out.push(arg);
        }
        ok.then_some(out)
    }

    pub(super) fn call_arg(&mut self, arg: &'a ast::Expr) -> Arg<'a> {
        match &arg.kind {
            AstKind::InitList(clauses) => Arg::List(clauses, arg.span),
            AstKind::Path(path) => match self.resolve_path(path) {
                Ok(Target { found: Found::Functions(decls), args, .. }) => {
                    Arg::Functions(decls, args, path.span)
                }
                Ok(target) => Arg::Expr(self.target_value(target, path)),
                Err(miss) => {
                    self.report_miss(miss, "name");
                    Arg::Expr(self.poison(arg.span))
                }
            },
            _ => Arg::Expr(self.expr(arg)),
        }
    }

    /// `callee(args)`.
    pub(super) fn call_expr(&mut self, callee: &'a ast::Expr, args: &'a [ast::Expr], span: Span) -> Expr {
        match &callee.kind {
            AstKind::Path(path) => self.path_call(path, args, span),
            AstKind::Member { base, arrow, member } => self.member_call(base, *arrow, member, args, span),
            AstKind::DecltypePath(inner, path) => {
                let outer = self.decltype(inner);
                match self.resolve_in_type(outer, path) {
                    Ok(target) => self.target_call(target, path, args, span),
                    Err(miss) => {
                        self.report_miss(miss, "name");
                        self.poison(span)
                    }
                }
            }
            _ => {
                let function = self.expr(callee);
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_value(function, args, span)
            }
        }
    }

    fn path_call(&mut self, path: &'a ast::Path, args: &'a [ast::Expr], span: Span) -> Expr {
        if let [only] = path.segments.as_slice() {
            if only.name.as_str().starts_with("__am_") {
                return self.builtin_call(only, args, span);
            }
            if only.name == self.names.is_function_constant_defined {
                return self.function_constant_defined(args, span);
            }
        } else if path
            .segments
            .last()
            .is_some_and(|last| last.name == self.names.is_function_constant_defined)
        {
            return self.function_constant_defined(args, span);
        }
        match self.resolve_path(path) {
            Ok(target) => self.target_call(target, path, args, span),
            Err(Miss::Unknown { name, span: at, within: None }) => {
                let Some(args) = self.call_args(args) else {
                    self.report_miss(Miss::Unknown { name, span: at, within: None }, "function");
                    return self.poison(span);
                };
                let decls = self.argument_dependent(name, &args, &[]);
                if decls.is_empty() {
                    self.report_miss(Miss::Unknown { name, span: at, within: None }, "function");
                    return self.poison(span);
                }
                self.overloaded_call(name.as_str(), &decls, None, None, args, span)
            }
            Err(miss) => {
                self.report_miss(miss, "function");
                self.poison(span)
            }
        }
    }

    fn target_call(
        &mut self,
        target: Target<'a>,
        path: &'a ast::Path,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        if let Some(ty) = self.type_of_found(&target.found) {
            let Some(args) = self.call_args(args) else { return self.poison(span) };
            return self.construct(ty, ConstructArgs::Paren(args), span);
        }
        let name = path.segments.last().map_or(Name::EMPTY, super::path::segment_key);
        match target.found {
            Found::Error => self.poison(span),
            Found::Functions(decls) => {
                let explicit = target.args.map(|args| self.explicit_args(args));
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                let is_member = decls.iter().any(|&decl| self.decl(decl).owner.is_some());
                let mut all = decls.to_vec();
                if !target.qualified && !is_member {
                    let more = self.argument_dependent(name, &args, &all);
                    all.extend(more);
                }
                let object = if is_member { self.implicit_object(span) } else { None };
                self.overloaded_call(name.as_str(), &all, explicit, object, args, span)
            }
            Found::TArg(TArg::Function(func)) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_known(func, None, args, span)
            }
            Found::ClassTemplate(template) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.construct_deduced(&template, args, span)
            }
            _ => {
                let function = self.target_value(target, path);
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_value(function, args, span)
            }
        }
    }

    /// `*this` as the object of an unqualified method call.
    pub(super) fn implicit_object(&mut self, span: Span) -> Option<Expr> {
        self.this_object(span)
    }

    /// `*this`, if there is one here.
    pub(super) fn this_object(&mut self, span: Span) -> Option<Expr> {
        if let Some(Found::Local(LocalDecl::Capture { field, record, ty })) = self.captured_this() {
            let pointer = self.capture_value(record, field, ty, span)?;
            let pointer = self.rvalue(pointer);
            let to = self.types.pointee(pointer.ty.ty)?;
            return Some(Expr::place(ExprKind::Deref(Box::new(pointer)), to, span));
        }
        let (local, object) = self.function.this?;
        let pointer_ty = self.types.pointer(object);
        let place = Expr::place(ExprKind::Local(local), QualTy::plain(pointer_ty), span);
        let pointer = self.rvalue(place);
        Some(Expr::place(ExprKind::Deref(Box::new(pointer)), object, span))
    }

    /// Resolves among `decls` and makes the call.
    pub(super) fn overloaded_call(
        &mut self,
        name: &str,
        decls: &[FnDeclId],
        explicit: Option<Vec<super::template_args::ExplicitArg<'a>>>,
        object: Option<Expr>,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        if let Some(explicit) = &explicit
            && explicit.iter().any(|arg| matches!(arg, super::template_args::ExplicitArg::Error))
        {
            return self.poison(span);
        }
        let call =
            Call { name, decls, explicit: explicit.as_deref(), object: object.as_ref(), args: &args, span };
        let Some(func) = self.resolve_call(&call) else { return self.poison(span) };
        self.call_known(func, object, args, span)
    }

    /// A call of a known function: converts the arguments and adds the default ones.
    pub(super) fn call_known(
        &mut self,
        func: FuncId,
        object: Option<Expr>,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        let params = self.inst(func).params.clone();
        if args.len() > params.len() {
            let message =
                format!("`{}` takes {} arguments, not {}", self.inst(func).name, params.len(), args.len());
            self.error("argument-count", span, message);
            return self.poison(span);
        }
        let mut values: Vec<Expr> =
            args.into_iter().zip(params.iter()).map(|(arg, &param)| self.convert_arg(arg, param)).collect();
        self.default_arguments(func, &mut values, span);
        if values.len() < params.len() || values.iter().any(|value| value.ty.ty.is_error()) {
            return self.poison(span);
        }
        self.call_function(func, object, values, span)
    }

    /// Converts an argument to its parameter's type.
    pub(super) fn convert_arg(&mut self, arg: Arg<'a>, to: QualTy) -> Expr {
        match arg {
            Arg::Expr(expr) => self.convert(expr, to, "for this argument"),
            Arg::List(clauses, span) => self.list_value(clauses, to, span),
            Arg::Functions(_, _, span) => {
                self.error("function-pointer", span, "pointers to functions are not supported at run time");
                self.poison(span)
            }
        }
    }

    /// Adds default arguments for the parameters that have no argument yet.
    pub(super) fn default_arguments(&mut self, func: FuncId, values: &mut Vec<Expr>, span: Span) {
        let super::function::Origin::Decl(decl) = self.inst(func).origin else { return };
        let params = self.inst(func).params.clone();
        let ast = self.decl(decl).ast;
        let scope = self.inst(func).scope;
        while values.len() < params.len() {
            let n = values.len();
            let Some(default) = ast.params.get(n).and_then(|param| param.default.as_ref()) else {
                let message = format!("`{}` takes {} arguments, not {n}", self.inst(func).name, params.len());
                self.error("argument-count", span, message);
                return;
            };
            let value = self.in_scope(scope, |s| {
                let arg = s.call_arg(default);
                s.convert_arg(arg, params[n])
            });
            values.push(value);
        }
    }

    /// Calls a value: a closure, a functor.
    pub(super) fn call_value(&mut self, function: Expr, args: Vec<Arg<'a>>, span: Span) -> Expr {
        if function.ty.ty.is_error() {
            return function;
        }
        let Some(record) = self.types.as_record(function.ty.ty) else {
            let message = format!("a value of type `{}` cannot be called", self.show(function.ty));
            self.error("not-callable", span, message);
            return self.poison(span);
        };
        let key = self.names.call_operator;
        match self.lookup_in_record(record, key) {
            Some(Found::Functions(decls)) => {
                self.overloaded_call("operator()", &decls, None, Some(function), args, span)
            }
            _ => {
                let message = format!("a value of type `{}` cannot be called", self.show(function.ty));
                self.error("not-callable", span, message);
                self.poison(span)
            }
        }
    }

    fn member_call(
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
    pub(super) fn member_target(&mut self, record: RecordId, member: &'a ast::Path) -> Option<Found<'a>> {
        if let [only] = member.segments.as_slice() {
            let key = only.operator.as_ref().map_or(only.name, operator_key);
            let ty = QualTy::plain(self.record_inst(record).ty);
            if !self.complete_record(record, member.span) {
                return None;
            }
            let found = match self.lookup_in_type(ty, key, only.span) {
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
            if self.decl(decl).template.is_some() {
                continue;
            }
            if let Some(func) = self.instantiate_function(decl, Rc::from([]), Span::NONE)
                && self.inst(func).ret.is_some_and(|ret| ret.ty == wanted.ty)
            {
                fitting.push(decl);
            }
        }
        Some(Found::Functions(fitting.into()))
    }

    fn report_member_miss(&mut self, miss: Miss, record: RecordId) {
        let Miss::Unknown { name, span, .. } = miss else { return };
        let class = self.types.record(record).name.clone();
        let mut diagnostic = anymetal_diag::Diagnostic::error(
            "unknown-member",
            span,
            format!("no member named `{name}` in `{class}`"),
        );
        let names = self.record_inst(record).member_names();
        if let Some(near) = anymetal_diag::suggest(name.as_str(), names.iter().map(|name| name.as_str())) {
            diagnostic = diagnostic.with_hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }

    // --- argument-dependent lookup

    /// Functions found in the namespaces of the arguments' types, besides those known.
    pub(super) fn argument_dependent(
        &mut self,
        name: Name,
        args: &[Arg<'a>],
        known: &[FnDeclId],
    ) -> Vec<FnDeclId> {
        let mut found: Vec<FnDeclId> = Vec::new();
        let mut spaces = Vec::new();
        for arg in args {
            if let Arg::Expr(expr) = arg {
                self.associated_namespaces(expr.ty.ty, &mut spaces, 0);
            }
        }
        for ns in spaces {
            if let Some(Found::Functions(decls)) = self.lookup_in_namespace(ns, name) {
                for &decl in decls.iter() {
                    if !known.contains(&decl) && !found.contains(&decl) {
                        found.push(decl);
                    }
                }
            }
        }
        found
    }

    fn associated_namespaces(&mut self, ty: Ty, out: &mut Vec<super::table::NsId>, depth: u32) {
        use crate::hir::TyKind;
        if depth > 4 {
            return;
        }
        match *self.types.kind(ty) {
            TyKind::Record(id) => {
                let ns = self.enclosing_namespace(self.record_inst(id).decl_scope);
                if !out.contains(&ns) {
                    out.push(ns);
                }
                let args = self.record_inst(id).args.clone();
                for arg in args.iter() {
                    if let TArg::Type(ty) = arg {
                        self.associated_namespaces(ty.ty, out, depth + 1);
                    }
                }
            }
            TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
                self.associated_namespaces(to.ty, out, depth + 1)
            }
            TyKind::Array(elem, _) => self.associated_namespaces(elem, out, depth + 1),
            TyKind::Enum(id) => {
                if let Some(inst) = self.enum_insts.get(id.0 as usize) {
                    let ns = self.enclosing_namespace(inst.scope);
                    if !out.contains(&ns) {
                        out.push(ns);
                    }
                }
            }
            TyKind::Matrix { .. } => {
                if let Some(ns) = self.metal_namespace()
                    && !out.contains(&ns)
                {
                    out.push(ns);
                }
            }
            _ => {}
        }
    }

    pub(super) fn metal_namespace(&mut self) -> Option<super::table::NsId> {
        let name = self.names.metal;
        match self.lookup_in_namespace(super::table::NsId::GLOBAL, name) {
            Some(Found::Namespace(ns)) => Some(ns),
            _ => None,
        }
    }
}

fn is_fine(arg: &Arg<'_>) -> bool {
    !matches!(arg, Arg::Expr(expr) if expr.ty.ty.is_error())
}
