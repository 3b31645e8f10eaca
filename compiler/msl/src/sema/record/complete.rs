//! Completing a class: bases, data members, layout, assertions.
//!
//! Invariant: a class is completed once; one that needs itself complete for that is reported.

use super::lookup::names_constructors;
use super::{Member, RecordState};
use crate::ast::{self, Access, ItemKind, TypeKind};
use crate::hir::{BitField, FieldAlign, FieldInfo, MAX_OBJECT_BYTES, Padding, QualTy, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Deferred;
use crate::sema::fn_context::FnContext;
use crate::sema::lookup::Found;
use crate::token::Name;
use anymetal_diagnostics::Span;

/// The greatest number of a member of an argument buffer.
const MAX_ARGUMENT_ID: u32 = u32::MAX >> 1;

/// The members of a record while it is completed.
#[derive(Default)]
struct Members {
    fields: Vec<FieldInfo>,
    /// The unnamed bit-fields.
    padding: Vec<Padding>,
}

impl<'a> Checker<'a> {
    /// Types the members and lays the record out. Reports when that is impossible.
    pub(in crate::sema) fn complete_record(&mut self, id: RecordId, span: Span) -> bool {
        match self.records.get(id).state {
            RecordState::Complete => {
                self.diagnostics.report_deferred(Deferred::Record(id));
                return self.types.record(id).is_complete;
            }
            RecordState::Completing | RecordState::Declaring => {
                let name = self.types.record(id).name.clone();
                self.error("incomplete-type", span, format!("`{name}` is used before it is complete"));
                return false;
            }
            RecordState::Named | RecordState::Declared => {}
        }
        self.declare_members(id);
        self.records.get_mut(id).state = RecordState::Completing;
        let ok = self.once(Deferred::Record(id), |s| s.complete_in_trace(id, span));
        self.types.records[id.0 as usize].is_complete = ok;
        self.records.get_mut(id).state = RecordState::Complete;
        ok
    }

    fn complete_in_trace(&mut self, id: RecordId, span: Span) -> bool {
        if self.records.get(id).template.is_some() {
            self.instantiating(
                |s| format!("in instantiation of `{}` requested here", s.types.record(id).name),
                span,
                |s| s.complete_members(id, span),
            )
            .unwrap_or(false)
        } else {
            self.deeper(span, |s| s.complete_members(id, span)).unwrap_or(false)
        }
    }

    fn complete_members(&mut self, id: RecordId, span: Span) -> bool {
        let scope = self.records.get(id).scope;
        let Some(ast) = self.records.get(id).ast else { return true };
        let Some(items) = &ast.members else {
            let name = self.types.record(id).name.clone();
            self.error("incomplete-type", span, format!("`{name}` is declared but not defined"));
            return false;
        };
        let mut members = Members::default();
        let mut aligns = Vec::new();
        let mut ok = true;
        let unevaluated = self.function.unevaluated;
        let outside = FnContext { unevaluated, ..FnContext::outside(u32::MAX) };
        let function = std::mem::replace(&mut self.function, outside);
        self.in_scope(scope, |s| {
            for base in &ast.bases {
                ok &= s.complete_bases(id, base, &mut members.fields);
            }
            aligns.resize(members.fields.len(), FieldAlign::default());
            for item in items {
                if let ItemKind::UsingDeclaration(using) = &item.kind {
                    s.complete_usings(id, using);
                }
                if let ItemKind::Field(field) = &item.kind {
                    ok &= s.complete_field(id, field, item.access, &mut members);
                    let align = s.declared_align(&field.align);
                    aligns.resize(
                        members.fields.len(),
                        FieldAlign { at_least: align, is_packed: field.is_packed },
                    );
                }
            }
        });
        let align = self.in_scope(scope, |s| s.declared_align(&ast.align));
        self.function = function;
        let is_union = self.types.record(id).is_union;
        let Members { mut fields, padding } = members;
        if ast.is_packed {
            aligns.iter_mut().for_each(|field| field.is_packed = true);
        }
        let layout = self.types.lay_out(&mut fields, &padding, &aligns, is_union, align);
        if layout.size > MAX_OBJECT_BYTES {
            let name = self.types.record(id).name.clone();
            self.error("too-large", ast.span, format!("`{name}` takes more than {MAX_OBJECT_BYTES} bytes"));
            return false;
        }
        self.types.set_layout(id, fields, layout);
        self.in_scope(scope, |s| {
            for item in items {
                if let ItemKind::StaticAssert(cond, message) = &item.kind {
                    s.static_assert(cond, *message, item.span);
                }
            }
        });
        ok
    }

    /// A base, or those of a pack.
    fn complete_bases(&mut self, id: RecordId, base: &'a ast::Base, fields: &mut Vec<FieldInfo>) -> bool {
        if !base.is_pack {
            return self.complete_base(id, &base.ty, base.access, fields);
        }
        let Some(length) = self.scopes.pack_length_of_type(&base.ty) else {
            self.error("not-a-pack", base.ty.span, "`...` needs a parameter pack before it");
            return false;
        };
        (0..length).all(|n| {
            !self.diagnostics.gave_up()
                && self.with_pack_index(n, |s| s.complete_base(id, &base.ty, base.access, fields))
        })
    }

    fn complete_base(
        &mut self,
        id: RecordId,
        base: &'a ast::Type,
        access: Access,
        fields: &mut Vec<FieldInfo>,
    ) -> bool {
        let ty = self.resolve_type(base);
        let Some(base_id) = self.types.as_record(ty.ty) else {
            if !ty.ty.is_error() {
                let message = format!("base `{}` is not a class", self.show(ty));
                self.error("bad-base", base.span, message);
            }
            return false;
        };
        if !self.complete_record(base_id, base.span) {
            return false;
        }
        if self.records.get(id).bases.iter().any(|(known, _)| *known == base_id) {
            let message = format!("`{}` is a direct base twice", self.types.record(base_id).name);
            self.error("bad-base", base.span, message);
            return false;
        }
        let is_empty = self.types.record(base_id).fields.is_empty();
        let field = (!is_empty).then_some(fields.len() as u32);
        if !is_empty {
            fields.push(FieldInfo {
                name: Name::EMPTY,
                ty: QualTy::plain(ty.ty),
                offset: 0,
                is_reference: false,
                bits: None,
                id: None,
            });
            self.records.get_mut(id).field_inits.push(None);
        }
        let inst = self.records.get_mut(id);
        inst.bases.push((base_id, field));
        inst.base_access.insert(base_id, access);
        inst.hides_data |= access != Access::Public;
        true
    }

    fn complete_usings(&mut self, id: RecordId, using: &'a ast::UsingDeclaration) {
        if !using.is_pack {
            return self.complete_using(id, &using.path);
        }
        let Some(length) = self.scopes.pack_length_of_path(&using.path) else {
            return self.error("not-a-pack", using.path.span, "`...` needs a parameter pack before it");
        };
        for n in 0..length {
            if self.diagnostics.gave_up() {
                return;
            }
            self.with_pack_index(n, |s| s.complete_using(id, &using.path));
        }
    }

    /// Checks what a using-declaration names, and adds the constructors that it inherits.
    fn complete_using(&mut self, id: RecordId, path: &'a ast::Path) {
        let target = if names_constructors(path) {
            self.resolve_prefix(path, path.segments.len() - 1)
        } else {
            self.resolve_path(path)
        };
        let found = match target {
            Ok(target) => target.found,
            Err(miss) => return self.report_miss(miss, "member"),
        };
        if names_constructors(path) || matches!(found, Found::Injected(_)) {
            match self.type_of_found(&found) {
                Some(base) => self.inherit_constructors(id, base.ty, path.span),
                None => self.error("bad-base", path.span, "only classes have constructors to inherit"),
            }
        }
    }

    fn complete_field(
        &mut self,
        id: RecordId,
        field: &'a ast::Field,
        access: Access,
        members: &mut Members,
    ) -> bool {
        let mut ty = self.resolve_type(&field.ty);
        if ty.ty.is_error() {
            return false;
        }
        let mut is_reference = false;
        if let Some(to) = self.types.referent(ty.ty) {
            ty = QualTy::plain(self.types.pointer(to));
            is_reference = true;
        }
        if matches!(self.types.kind(ty.ty), TyKind::Void | TyKind::Function { .. }) {
            let message = format!("a member cannot have type `{}`", self.show(ty));
            self.error("bad-member-type", field.span, message);
            return false;
        }
        if !self.complete_type(ty.ty, field.span) {
            return false;
        }
        let mut bits = None;
        if let Some(width) = &field.width {
            let Some(width) = self.bit_field_width(field, width, ty) else { return false };
            if field.name.is_none() {
                members.padding.push(Padding { before: members.fields.len(), ty: ty.ty, width });
                return true;
            }
            bits = Some(BitField { shift: 0, width, bytes: 0 });
        }
        self.records.get_mut(id).hides_data |= access != Access::Public;
        self.declare_field(id, (field, access), members.fields.len() as u32, ty.ty);
        let Some(argument_id) = self.argument_id(field) else { return false };
        let name = field.name.unwrap_or(Name::EMPTY);
        members.fields.push(FieldInfo { name, ty, offset: 0, is_reference, bits, id: argument_id });
        self.records.get_mut(id).field_inits.push(field.init.as_ref());
        true
    }

    /// The number of `[[id(n)]]`: `Some(None)` when there is none.
    fn argument_id(&mut self, field: &'a ast::Field) -> Option<Option<u32>> {
        match field.attributes.iter().find(|found| found.name.as_str() == "id") {
            Some(attribute) => Some(Some(self.attribute_index(attribute, MAX_ARGUMENT_ID)?)),
            None => Some(None),
        }
    }

    /// The width of a bit-field. `None` (reported) if the type or the width makes none.
    fn bit_field_width(&mut self, field: &'a ast::Field, width: &'a ast::Expr, ty: QualTy) -> Option<u32> {
        let Some(scalar) = self.types.scalar_repr(ty.ty).filter(|scalar| scalar.is_integral()) else {
            let message = format!("a bit-field cannot have type `{}`", self.show(ty));
            self.error("bad-bit-field", field.span, message);
            return None;
        };
        let value = self.expr(width);
        let n = self.constant_integer(value)?;
        let most = i128::from(scalar.size() * 8);
        let problem = if n < 0 {
            format!("a bit-field cannot have {n} bits")
        } else if n == 0 && field.name.is_some() {
            "a bit-field with a name needs at least one bit".to_owned()
        } else if n > most {
            format!(
                "a bit-field of {n} bits is wider than its type `{}`, which is not supported",
                self.show(ty)
            )
        } else {
            return Some(n as u32);
        };
        self.error("bad-bit-field", width.span, problem);
        None
    }

    /// Enters the name of a data member, or the names of an anonymous one's members.
    fn declare_field(&mut self, id: RecordId, (field, access): (&ast::Field, Access), index: u32, ty: Ty) {
        match (field.name, &field.ty.kind) {
            (Some(name), _) => {
                let is_known =
                    self.records.get(id).members.get(&name).is_some_and(|members| !members.is_empty());
                if is_known {
                    self.error("redefinition", field.span, format!("member `{name}` is declared twice"));
                }
                self.records.add_member(id, name, Member::Field([index].into()), access);
            }
            (None, TypeKind::Record(_)) => self.lift_anonymous(id, (index, access), ty),
            (None, _) => {}
        }
    }

    /// Makes the members of an anonymous struct or union members of the record around it.
    fn lift_anonymous(&mut self, id: RecordId, (index, access): (u32, Access), ty: Ty) {
        let Some(inner) = self.types.as_record(ty) else { return };
        for name in self.records.get(inner).member_names() {
            let members = self.records.get(inner).members[&name].clone();
            for member in members {
                if let Member::Field(path) = member {
                    let path: Vec<u32> = std::iter::once(index).chain(path.iter().copied()).collect();
                    self.records.add_member(id, name, Member::Field(path.into()), access);
                }
            }
        }
    }

    /// What `alignas` and `aligned` ask for: 1 or a greater power of two.
    fn declared_align(&mut self, exprs: &'a [ast::Expr]) -> u32 {
        let mut align = 1;
        for expr in exprs {
            let value = self.expr(expr);
            if value.ty.ty.is_error() {
                continue;
            }
            match self.constant_integer(value) {
                Some(n) if n > 0 && n <= 4096 && (n as u32).is_power_of_two() => align = align.max(n as u32),
                Some(0) | None => {}
                Some(n) => self.error(
                    "bad-alignment",
                    expr.span,
                    format!("an alignment is a power of two up to 4096, not {n}"),
                ),
            }
        }
        align
    }

    /// Makes sure that a type's size is known; false (reported) if it cannot be.
    pub(in crate::sema) fn complete_type(&mut self, ty: Ty, span: Span) -> bool {
        match *self.types.kind(ty) {
            TyKind::Record(id) => self.complete_record(id, span),
            TyKind::Array(elem, _) => self.complete_type(elem, span),
            TyKind::Error => false,
            _ => true,
        }
    }
}
