//! Types: from syntax to interned types.

use super::checker::{Checker, LocalDecl, space_of};
use crate::ast::{self, BuiltinType, Qualifiers, TypeKind};
use crate::hir::{Expr, MAX_OBJECT_BYTES, MAX_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind};
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

impl<'a> Checker<'a> {
    /// Resolves a type; poison after an error.
    pub(super) fn resolve_type(&mut self, ty: &'a ast::Type) -> QualTy {
        let base = self.deeper(ty.span, |s| s.resolve_type_kind(ty)).unwrap_or(QualTy::plain(Ty::ERROR));
        self.qualify(base, ty.quals, ty.span)
    }

    /// Adds written qualifiers. An address space that contradicts the type's own is an error.
    pub(super) fn qualify(&mut self, mut ty: QualTy, quals: Qualifiers, span: Span) -> QualTy {
        if ty.ty.is_error() {
            return ty;
        }
        if matches!(self.types.kind(ty.ty), TyKind::Reference { .. }) {
            // Qualifiers on a reference that a template argument or alias brought in do nothing.
            return ty;
        }
        ty.is_const |= quals.is_const;
        ty.is_volatile |= quals.is_volatile;
        if let Some(space) = quals.space.map(space_of) {
            if ty.space != Space::Thread && ty.space != space {
                let message = format!(
                    "`{}` is already in {} space, not {}",
                    self.show(ty),
                    ty.space.name(),
                    space.name()
                );
                self.error("conflicting-spaces", span, message);
                return QualTy::plain(Ty::ERROR);
            }
            ty.space = space;
        }
        ty
    }

    fn resolve_type_kind(&mut self, ty: &'a ast::Type) -> QualTy {
        let plain = QualTy::plain;
        match &ty.kind {
            TypeKind::Builtin(builtin) => plain(self.builtin_ty(*builtin, ty.span)),
            TypeKind::Path(path) => self.resolve_type_path(path).unwrap_or(plain(Ty::ERROR)),
            TypeKind::Auto | TypeKind::DecltypeAuto => match self.placeholders.auto_ty {
                Some(auto) => auto,
                None => {
                    self.error("auto-not-allowed", ty.span, "`auto` cannot be deduced here");
                    plain(Ty::ERROR)
                }
            },
            TypeKind::Decltype(expr) => self.decltype(expr),
            TypeKind::Typeof(expr) => {
                let ty = self.decltype(expr);
                self.types.referent(ty.ty).map_or(ty, |to| QualTy { space: Space::Thread, ..to })
            }
            TypeKind::DecltypePath(expr, path) => self.decltype_path_type(expr, path),
            TypeKind::Record(record) => {
                let scope = self.scopes.current();
                plain(self.plain_record(record, scope))
            }
            TypeKind::Enum(enumeration) => {
                let scope = self.scopes.current();
                plain(self.enum_ty(enumeration, scope))
            }
            TypeKind::Pointer(inner) => {
                let pointee = self.resolve_type(inner);
                self.pointer_to(pointee, ty.span)
            }
            TypeKind::Reference { referent, rvalue } => {
                let to = self.resolve_type(referent);
                if to.ty.is_error() {
                    return to;
                }
                if to.ty == Ty::VOID {
                    self.error("reference-to-void", ty.span, "there are no references to void");
                    return plain(Ty::ERROR);
                }
                plain(self.types.reference(to, *rvalue))
            }
            TypeKind::Array(elem, len) => self.resolve_array(elem, len.as_deref(), ty.span),
            TypeKind::ExtVector(elem, len) => self.resolve_ext_vector(elem, len, ty.span),
            TypeKind::Function { ret, params } => {
                let ret = self.resolve_type(ret);
                let mut types = Vec::with_capacity(params.len());
                let resolved = params.iter().all(|param| self.add_param_types(param, param.span, &mut types));
                if !resolved || ret.ty.is_error() || types.iter().any(|param| param.ty.is_error()) {
                    return plain(Ty::ERROR);
                }
                plain(self.types.intern(TyKind::Function { ret, params: types.into() }))
            }
            TypeKind::Pack(inner) => self.resolve_type(inner),
            TypeKind::Error => plain(Ty::ERROR),
        }
    }

    fn builtin_ty(&mut self, builtin: BuiltinType, span: Span) -> Ty {
        let scalar = match builtin {
            BuiltinType::Void => return Ty::VOID,
            BuiltinType::Bool => ScalarTy::Bool,
            BuiltinType::Char | BuiltinType::SChar => ScalarTy::I8,
            BuiltinType::UChar => ScalarTy::U8,
            BuiltinType::Short => ScalarTy::I16,
            BuiltinType::UShort => ScalarTy::U16,
            BuiltinType::Int => ScalarTy::I32,
            BuiltinType::UInt => ScalarTy::U32,
            BuiltinType::Long => ScalarTy::I64,
            BuiltinType::ULong => ScalarTy::U64,
            BuiltinType::Half => ScalarTy::F16,
            BuiltinType::Bfloat => ScalarTy::BF16,
            BuiltinType::Float => ScalarTy::F32,
            BuiltinType::Double => {
                self.error("no-double", span, "`double` is not supported in Metal");
                return Ty::ERROR;
            }
        };
        Ty::scalar(scalar)
    }

    fn pointer_to(&mut self, pointee: QualTy, span: Span) -> QualTy {
        if pointee.ty.is_error() {
            return pointee;
        }
        if matches!(self.types.kind(pointee.ty), TyKind::Reference { .. }) {
            self.error("pointer-to-reference", span, "there are no pointers to references");
            return QualTy::plain(Ty::ERROR);
        }
        QualTy::plain(self.types.pointer(pointee))
    }

    fn resolve_array(&mut self, elem: &'a ast::Type, len: Option<&'a ast::Expr>, span: Span) -> QualTy {
        let elem = self.resolve_type(elem);
        if elem.ty.is_error() {
            return elem;
        }
        let bad = matches!(
            self.types.kind(elem.ty),
            TyKind::Void | TyKind::Function { .. } | TyKind::Reference { .. }
        );
        if bad {
            let message = format!("there are no arrays of `{}`", self.show(elem));
            self.error("bad-array-element", span, message);
            return QualTy::plain(Ty::ERROR);
        }
        // A length of 0 stands for `[]`, which an initialiser completes or a parameter decays.
        let Some(len) = len else { return elem.with_ty(self.types.array(elem.ty, 0)) };
        let value = self.expr(len);
        if value.ty.ty.is_error() {
            return QualTy::plain(Ty::ERROR);
        }
        let Some(len_value) = self.constant_integer(value) else { return QualTy::plain(Ty::ERROR) };
        self.complete_type(elem.ty, span);
        let size = self.types.layout(elem.ty).size.max(1);
        if len_value < 0 || (len_value == 0 && self.sink_is_strict()) {
            self.error("array-length", len.span, format!("an array cannot have {len_value} elements"));
            return QualTy::plain(Ty::ERROR);
        }
        if len_value > i128::from(MAX_OBJECT_BYTES / size) {
            self.error("array-length", len.span, format!("an array of {len_value} elements is too large"));
            return QualTy::plain(Ty::ERROR);
        }
        elem.with_ty(self.types.array(elem.ty, len_value as u64))
    }

    /// `T __attribute__((ext_vector_type(n)))`
    fn resolve_ext_vector(&mut self, elem: &'a ast::Type, len: &'a ast::Expr, span: Span) -> QualTy {
        let elem = self.resolve_type(elem);
        if elem.ty.is_error() {
            return elem;
        }
        let Some(scalar) = self.types.as_scalar(elem.ty) else {
            let shown = self.show(elem);
            let message = format!("the element of a vector must be an arithmetic type, not `{shown}`");
            self.error("vector-element", span, message);
            return QualTy::plain(Ty::ERROR);
        };
        let value = self.expr(len);
        let count = (!value.ty.ty.is_error()).then(|| self.constant_integer(value)).flatten();
        let Some(count) = count else { return QualTy::plain(Ty::ERROR) };
        match u8::try_from(count) {
            Ok(count) if (1..=MAX_VECTOR_LEN).contains(&count) => {
                elem.with_ty(self.types.vector(scalar, count))
            }
            _ => {
                let message = format!("a vector has 1 to {MAX_VECTOR_LEN} elements, not {count}");
                self.error("vector-size", len.span, message);
                QualTy::plain(Ty::ERROR)
            }
        }
    }

    /// Clang accepts arrays of no elements as an extension; so do we.
    fn sink_is_strict(&self) -> bool {
        false
    }

    /// A parameter's type: arrays and functions become pointers, `const` of the parameter itself goes.
    pub(super) fn resolve_param_type(&mut self, ty: &'a ast::Type) -> QualTy {
        let resolved = self.resolve_type(ty);
        self.decayed_param(resolved)
    }

    /// The type a parameter of this declared type has.
    pub(super) fn decayed_param(&mut self, ty: QualTy) -> QualTy {
        match *self.types.kind(ty.ty) {
            TyKind::Array(elem, _) => {
                let pointee = ty.with_ty(elem);
                QualTy::plain(self.types.pointer(pointee))
            }
            TyKind::Function { .. } => QualTy::plain(self.types.pointer(ty)),
            _ => ty,
        }
    }

    /// `decltype(e)`: the declared type of a name or member, else the expression's type, a reference
    /// for places.
    pub(super) fn decltype(&mut self, expr: &'a ast::Expr) -> QualTy {
        self.function.unevaluated += 1;
        let ty = self.decltype_inner(expr);
        self.function.unevaluated -= 1;
        ty
    }

    fn decltype_inner(&mut self, expr: &'a ast::Expr) -> QualTy {
        if let ast::ExprKind::Path(path) = &expr.kind {
            match self.resolve_path(path) {
                Ok(target) => {
                    if let super::lookup::Found::Functions(decls) = &target.found {
                        let decls = decls.clone();
                        return self.decltype_of_function(&decls, target.args, path.span);
                    }
                    if let super::lookup::Found::Local(LocalDecl::Variable { ty, .. }) = &target.found
                        && self.types.referent(ty.ty).is_some()
                    {
                        return *ty;
                    }
                    let value = self.target_value(target, path);
                    return if value.is_place { value.ty_as_declared() } else { value.ty };
                }
                Err(miss) => {
                    self.report_miss(miss, "name");
                    return QualTy::plain(Ty::ERROR);
                }
            }
        }
        let value = self.expr(expr);
        self.decltype_of_value(expr, &value)
    }

    /// `decltype(e)` of an expression that has been checked: only a name is looked up again.
    pub(super) fn decltype_of_value(&mut self, expr: &'a ast::Expr, value: &Expr) -> QualTy {
        if value.ty.ty.is_error() {
            return value.ty;
        }
        if matches!(expr.kind, ast::ExprKind::Path(_)) {
            return self.decltype(expr);
        }
        if !value.is_place {
            return value.ty.unqualified();
        }
        if matches!(expr.kind, ast::ExprKind::Member { .. }) {
            return QualTy { space: Space::Thread, ..value.ty };
        }
        let rvalue = self.functions.is_xvalue(&self.types, value);
        QualTy::plain(self.types.reference(value.ty, rvalue))
    }

    fn decltype_of_function(
        &mut self,
        decls: &[super::checker::FnDeclId],
        args: Option<&'a [ast::TemplateArg]>,
        span: Span,
    ) -> QualTy {
        match self.function_without_call(decls, args, span) {
            Some(function) => {
                let inst = &self.functions.inst(function);
                let params: std::sync::Arc<[QualTy]> = inst.params.iter().copied().collect();
                let ret = self.return_type(function, span);
                QualTy::plain(self.types.intern(TyKind::Function { ret, params }))
            }
            None => QualTy::plain(Ty::ERROR),
        }
    }

    fn decltype_path_type(&mut self, expr: &'a ast::Expr, path: &'a ast::Path) -> QualTy {
        let outer = self.decltype(expr);
        match self.resolve_in_type(outer, path) {
            Ok(target) => match self.type_of_found(&target.found) {
                Some(ty) => ty,
                None => {
                    self.error("not-a-type", path.span, "this is not a type");
                    QualTy::plain(Ty::ERROR)
                }
            },
            Err(miss) => {
                self.report_miss(miss, "type");
                QualTy::plain(Ty::ERROR)
            }
        }
    }
}

impl Expr {
    /// A variable's declared type, without the space that its place implies.
    fn ty_as_declared(&self) -> QualTy {
        QualTy { space: Space::Thread, ..self.ty }
    }
}
