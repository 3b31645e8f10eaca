//! Member access, swizzles and indexing.

use super::checker::Checker;
use super::expr::after;
use super::lookup::Found;
use super::overload::is_pack;
use super::values::arithmetic_scalar;
use crate::ast;
use crate::hir::{ConstValue, Expr, ExprKind, MAX_VECTOR_LEN, QualTy, RecordId, Ty, TyKind};
use anymetal_diagnostics::{Diagnostic, Span};

impl<'a> Checker<'a> {
    pub(super) fn member_expr(
        &mut self,
        base: &'a ast::Expr,
        arrow: bool,
        member: &'a ast::Path,
        span: Span,
    ) -> Expr {
        let object = self.member_object(base, arrow);
        if object.ty.ty.is_error() {
            return object;
        }
        self.member_of(object, member, span)
    }

    /// A member of a checked object.
    pub(super) fn member_of(&mut self, object: Expr, member: &'a ast::Path, span: Span) -> Expr {
        if let Some(record) = self.types.as_record(object.ty.ty) {
            return match self.member_target(record, member) {
                Some(found) => {
                    let object = self.as_naming_class(object, member);
                    self.member_value(object, found, span)
                }
                None => self.poison(span),
            };
        }
        let name = member.segments.last().map_or("", |segment| segment.name.as_str());
        if self.types.as_vector(object.ty.ty).is_some() {
            return self.swizzle(object, name, span);
        }
        let shown = self.show(object.ty);
        self.error("no-members", span, format!("`{name}`: a value of type `{shown}` has no members"));
        self.poison(span)
    }

    /// The part of an object that a qualified name's class is: `x.Base::y` is the `y` of that base.
    pub(super) fn as_naming_class(&mut self, object: Expr, member: &'a ast::Path) -> Expr {
        if member.segments.len() < 2 {
            return object;
        }
        let count = member.segments.len() - 1;
        let class = self.quietly(|s| s.resolve_prefix(member, count));
        let Ok(Ok(target)) = class else { return object };
        match self.type_of_found(&target.found) {
            Some(class) if self.is_derived(object.ty.ty, class.ty) => {
                let object = self.materialize(object);
                self.upcast_place(object, class.ty)
            }
            _ => object,
        }
    }

    /// The object before `.` or what the pointer before `->` points to.
    pub(super) fn member_object(&mut self, base: &'a ast::Expr, arrow: bool) -> Expr {
        let object = self.expr(base);
        if object.ty.ty.is_error() {
            return object;
        }
        let span = base.span;
        if !arrow {
            let is_record = self.types.as_record(object.ty.ty).is_some();
            return if is_record { self.materialize(object) } else { object };
        }
        let pointer = self.behind_arrow(object, span);
        let pointer = self.values().rvalue(pointer);
        if self.types.pointee(pointer.ty.ty).is_none() && !pointer.ty.ty.is_error() {
            let shown = self.show(pointer.ty);
            self.error("not-a-pointer", span, format!("`->` needs a pointer, not a `{shown}`"));
            return self.poison(span);
        }
        self.dereference(pointer, span)
    }

    /// The operand of `->`: of an object, what its operator returns, which may be an object in turn.
    fn behind_arrow(&mut self, object: Expr, span: Span) -> Expr {
        let mut operand = object;
        let mut seen = Vec::new();
        while self.types.as_record(operand.ty.ty).is_some() {
            let (ty, shown) = (operand.ty.ty, self.types.display(operand.ty.ty));
            let name = self.names.arrow_operator;
            let next = if seen.contains(&ty) { None } else { self.operator_call(name, vec![operand], span) };
            let Some(next) = next else {
                let message = format!("`->` needs a pointer, not a `{shown}`");
                let hint = match seen.is_empty() {
                    true => "members of an object are named with `.`",
                    false => "a chain of `operator->` ends with a pointer",
                };
                self.report(Diagnostic::error("not-a-pointer", span, message).with_hint(hint));
                return self.poison(span);
            };
            seen.push(ty);
            operand = next;
        }
        operand
    }

    /// What a found member of a class means for an object.
    pub(super) fn member_value(&mut self, object: Expr, found: Found<'a>, span: Span) -> Expr {
        match found {
            Found::Field(record, path) => self.field_place(object, record, &path, span),
            Found::Variable(decl) => match self.variable_global(decl, None, span) {
                Some(global) => {
                    let member = self.global_value(global, span);
                    after(object, member)
                }
                None => self.poison(span),
            },
            Found::Enumerator(ty, value) => {
                let enumerator = Expr::value(ExprKind::Const(value), ty, span);
                after(object, enumerator)
            }
            Found::Error => self.poison(span),
            Found::Functions(_) => {
                self.error("method-value", span, "a method can only be called");
                self.poison(span)
            }
            _ => {
                self.error("not-a-value", span, "this member is not a value");
                self.poison(span)
            }
        }
    }

    fn field_place(&mut self, object: Expr, record: RecordId, path: &[u32], span: Span) -> Expr {
        let object = self.materialize(object);
        let class = self.records.get(record).ty;
        let mut place = self.upcast_place(object, class);
        let mut at = record;
        for &index in path {
            let Some(field) = self.types.record(at).fields.get(index as usize) else {
                return self.poison(span);
            };
            let (ty, is_reference) = (field.ty, field.is_reference);
            let qual = QualTy {
                ty: ty.ty,
                is_const: place.ty.is_const || ty.is_const,
                is_volatile: place.ty.is_volatile || ty.is_volatile,
                space: place.ty.space,
            };
            place = Expr::place(ExprKind::Field(Box::new(place), at, index), qual, span);
            if is_reference {
                let pointer = self.values().rvalue(place);
                place = self.dereference(pointer, span);
            }
            if let Some(inner) = self.types.as_record(ty.ty) {
                at = inner;
            }
        }
        place
    }

    fn swizzle(&mut self, object: Expr, name: &str, span: Span) -> Expr {
        let Some((elem, len)) = self.types.as_vector(object.ty.ty) else { return self.poison(span) };
        let Some(picks) = named_elements(name, len) else {
            let shown = self.show(object.ty.unqualified());
            self.error("bad-swizzle", span, format!("`{name}` does not name elements of `{shown}`"));
            return self.poison(span);
        };
        let ty = self.types.vector_or_scalar(elem, picks.len() as u8);
        self.pick_elements(object, picks, ty, span)
    }

    fn pick_elements(&mut self, object: Expr, picks: Vec<u8>, ty: Ty, span: Span) -> Expr {
        // A swizzle of a swizzle picks from the inner one's base.
        if let ExprKind::Swizzle(base, inner) = object.kind {
            let composed = picks.iter().map(|&n| inner[usize::from(n)]).collect();
            return Expr {
                kind: ExprKind::Swizzle(base, composed),
                ty: object.ty.with_ty(ty),
                is_place: object.is_place,
                span,
            };
        }
        let (qual, is_place) = (object.ty.with_ty(ty), object.is_place);
        Expr { kind: ExprKind::Swizzle(Box::new(object), picks), ty: qual, is_place, span }
    }

    // --- indexing

    pub(super) fn index_expr(&mut self, base: &'a ast::Expr, index: &'a ast::Expr, span: Span) -> Expr {
        let object = self.indexed(base);
        if self.is_function_table(object.ty.ty) {
            return self.function_of_table(object, index, span);
        }
        if let Some(record) = self.types.as_record(object.ty.ty) {
            let name = self.names.index_operator;
            if self.complete_record(record, span)
                && let Some(found) = self.member_functions(record, name, span).transpose()
            {
                let Ok(decls) = found else { return self.poison(span) };
                let takes_several =
                    decls.iter().any(|&decl| takes_several(&self.functions.decl(decl).ast.params));
                let written = if takes_several { subscripts(index) } else { vec![index] };
                let Some(args) = self.call_args(written) else { return self.poison(span) };
                return self.overloaded_call("operator[]", &decls, None, Some(object), args, span);
            }
        }
        let index = self.expr(index);
        if object.ty.ty.is_error() || index.ty.ty.is_error() {
            return self.poison(span);
        }
        let object = self.builtin_operand(object);
        let index = self.builtin_operand(index);
        let index = self.values().rvalue(index);
        if arithmetic_scalar(&self.types, index.ty.ty).is_none_or(|scalar| scalar.is_float()) {
            let shown = self.types.display(index.ty.ty);
            self.error("bad-index", index.span, format!("an index must be an integer, not a `{shown}`"));
            return self.poison(span);
        }
        self.index_checked(object, index, span)
    }

    /// What is indexed. A matrix has one member, the array of its columns, which is only of use with an
    /// index: `m.columns[i]` is `m[i]`.
    fn indexed(&mut self, base: &'a ast::Expr) -> Expr {
        let ast::ExprKind::Member { base: matrix, arrow, member } = &base.kind else {
            return self.expr(base);
        };
        if !matches!(&member.segments[..], [only] if only.name.as_str() == "columns") {
            return self.expr(base);
        }
        let object = self.member_object(matrix, *arrow);
        if object.ty.ty.is_error() || self.types.as_matrix(object.ty.ty).is_some() {
            return object;
        }
        self.member_of(object, member, base.span)
    }

    /// Indexing with a checked integer value.
    pub(super) fn index_checked(&mut self, object: Expr, index: Expr, span: Span) -> Expr {
        match *self.types.kind(object.ty.ty) {
            TyKind::Array(elem, _) => {
                let object = self.materialize(object);
                let index = self.values().index_value(index);
                let qual = object.ty.with_ty(elem);
                Expr::place(ExprKind::Element(Box::new(object), Box::new(index)), qual, span)
            }
            TyKind::Pointer(to) => {
                if to.ty == Ty::VOID {
                    self.error("bad-index", span, "a pointer to `void` cannot be indexed");
                    return self.poison(span);
                }
                if !self.complete_type(to.ty, span) {
                    return self.poison(span);
                }
                let ty = object.ty.ty;
                let pointer = self.values().rvalue(object);
                let index = self.values().index_value(index);
                let at = Expr::value(ExprKind::PointerAdd(Box::new(pointer), Box::new(index)), ty, span);
                Expr::place(ExprKind::Deref(Box::new(at)), to, span)
            }
            TyKind::Vector { elem, len, .. } => {
                let qual = object.ty.with_ty(Ty::scalar(elem));
                if let Some(n) = self.literal_index(&index, len, span) {
                    return self.pick_elements(object, vec![n], Ty::scalar(elem), span);
                }
                let index = self.small_index(index);
                let is_place = object.is_place;
                Expr {
                    kind: ExprKind::VectorElement(Box::new(object), Box::new(index)),
                    ty: qual,
                    is_place,
                    span,
                }
            }
            TyKind::Matrix { elem, rows, .. } => {
                let column = self.types.vector(elem, rows);
                let index = self.small_index(index);
                let (qual, is_place) = (object.ty.with_ty(column), object.is_place);
                Expr { kind: ExprKind::Column(Box::new(object), Box::new(index)), ty: qual, is_place, span }
            }
            _ => {
                let shown = self.show(object.ty);
                self.error("not-indexable", span, format!("a value of type `{shown}` cannot be indexed"));
                self.poison(span)
            }
        }
    }

    fn literal_index(&mut self, index: &Expr, len: u8, span: Span) -> Option<u8> {
        let ExprKind::Const(value @ ConstValue::Scalar(_)) = &index.kind else {
            // The index is known at run time only.
            return None;
        };
        let n = super::evaluate::integer_of(&self.types, index.ty.ty, value)?;
        if n < 0 || n >= i128::from(len) {
            self.report(anymetal_diagnostics::Diagnostic::warning(
                "index-out-of-range",
                span,
                format!("index {n} is outside of a vector of {len} elements"),
            ));
        }
        Some(n.rem_euclid(i128::from(len)) as u8)
    }

    /// An integer of any type as `int` or `uint`.
    fn small_index(&mut self, index: Expr) -> Expr {
        let span = index.span;
        match arithmetic_scalar(&self.types, index.ty.ty) {
            Some(crate::hir::ScalarTy::U32) => {
                self.values().cast_value(crate::hir::CastKind::Convert, index, Ty::UINT, span)
            }
            _ => self.values().cast_value(crate::hir::CastKind::Convert, index, Ty::INT, span),
        }
    }
}

/// Whether an `operator[]` takes more than one index, as those of tensors do (MSL section 2.20.2). Before
/// C++23 the comma in `a[i, j]` is otherwise an operator.
fn takes_several(params: &[ast::Param]) -> bool {
    params.len() > 1 || params.iter().any(is_pack)
}

/// The indices of `a[i, j]`.
fn subscripts(index: &ast::Expr) -> Vec<&ast::Expr> {
    let mut found = Vec::new();
    let mut at = index;
    while let ast::ExprKind::Binary(ast::BinaryOp::Comma, rest, last) = &at.kind {
        found.push(&**last);
        at = rest;
    }
    found.push(at);
    found.reverse();
    found
}

/// The elements that a member name picks from a vector of `len`: `xyzw` or `rgba`, `s` with hexadecimal
/// digits, `lo`, `hi`, `even`, `odd`. `None` for other names and for elements beyond the end.
fn named_elements(name: &str, len: u8) -> Option<Vec<u8>> {
    let half = len.div_ceil(2);
    let picks: Vec<u8> = match name {
        "lo" if len > 1 => (0..half).collect(),
        "hi" if len > 1 => (half..2 * half).collect(),
        "even" if len > 1 => (0..half).map(|n| 2 * n).collect(),
        "odd" if len > 1 => (0..half).map(|n| 2 * n + 1).collect(),
        _ => match name.strip_prefix(['s', 'S']).filter(|digits| !digits.is_empty()) {
            Some(digits) => digits.chars().map(|c| Some(c.to_digit(16)? as u8)).collect::<Option<_>>()?,
            None => letters(name)?,
        },
    };
    let fits = (1..=usize::from(MAX_VECTOR_LEN)).contains(&picks.len()) && picks.iter().all(|&n| n < len);
    fits.then_some(picks)
}

/// The elements that one to four letters of one set stand for.
fn letters(name: &str) -> Option<Vec<u8>> {
    let pick = |set: &str| name.chars().map(|c| set.find(c).map(|n| n as u8)).collect::<Option<Vec<_>>>();
    pick("xyzw").or_else(|| pick("rgba")).filter(|picks| picks.len() <= 4)
}
