//! Classes: instantiation, members, layout.
//!
//! A record goes through three states: *named* (its type exists), *declared* (its specialisation is
//! chosen and its member names are known), *complete* (members are typed and laid out). Each step
//! happens when first needed, so that members may mention the class itself.

use super::checker::{Checker, Deferred, FnDeclId, ScopeId, ScopeKind, TArg, address};
use super::lookup::{ClassTemplate, Found, VarDecl};
use super::table::{Tag, function_key, tag_of};
use crate::ast::{self, FunctionName, ItemKind, OperatorName, TemplateParams, TypeKind};
use crate::hir::{FieldInfo, FuncId, Layout, QualTy, RecordId, RecordInfo, Ty, TyKind};
use crate::token::Name;
use anymetal_diag::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What a name in a class stands for.
#[derive(Clone, Debug)]
pub(super) enum Member<'a> {
    /// The way to a data member through anonymous ones.
    Field(Rc<[u32]>),
    Method(FnDeclId),
    Variable(&'a ast::Variable, Option<&'a TemplateParams>),
    Alias(&'a ast::TypeAlias, Option<&'a TemplateParams>),
    Record(&'a ast::Record, Option<&'a TemplateParams>),
    Enum(&'a ast::Enum),
    Enumerator(&'a ast::Enum, u32),
}

/// How much is known of a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RecordState {
    Named,
    Declaring,
    Declared,
    Completing,
    Complete,
}

/// A class of this check.
#[derive(Debug)]
pub(super) struct RecordInst<'a> {
    pub(super) ty: Ty,
    /// The declaration it was made from; for a template, of the primary until a specialisation is chosen.
    pub(super) ast: Option<&'a ast::Record>,
    pub(super) name: Option<Name>,
    pub(super) template: Option<ClassTemplate<'a>>,
    pub(super) args: Rc<[TArg]>,
    pub(super) decl_scope: ScopeId,
    /// The scope of its members; valid once declared.
    pub(super) scope: ScopeId,
    pub(super) state: RecordState,
    pub(super) members: FxHashMap<Name, Vec<Member<'a>>>,
    /// Base classes; an empty one has no field.
    pub(super) bases: Vec<(RecordId, Option<u32>)>,
    pub(super) constructors: Vec<FnDeclId>,
    pub(super) conversions: Vec<FnDeclId>,
    pub(super) field_inits: Vec<Option<&'a ast::Initialiser>>,
    /// The synthesised default constructor, if one was needed.
    pub(super) default_constructor: Option<FuncId>,
    pub(super) lambda: Option<&'a ast::Lambda>,
}

impl RecordInst<'_> {
    /// The names of its members, sorted.
    pub(super) fn member_names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.members.keys().copied().collect();
        names.sort_by_key(|name| name.as_str());
        names
    }
}

impl<'a> Checker<'a> {
    pub(super) fn record_inst(&self, id: RecordId) -> &RecordInst<'a> {
        &self.records[id.0 as usize]
    }

    /// Makes a record of which only the name is known.
    pub(super) fn new_record(
        &mut self,
        name: String,
        is_union: bool,
        ast: Option<&'a ast::Record>,
        template: Option<ClassTemplate<'a>>,
        args: Rc<[TArg]>,
        decl_scope: ScopeId,
    ) -> RecordId {
        let id = RecordId(self.records.len() as u32);
        self.types.records.push(RecordInfo {
            name,
            is_union,
            fields: Vec::new(),
            size: 1,
            align: 1,
            is_complete: false,
        });
        let ty = self.types.intern(TyKind::Record(id));
        self.records.push(RecordInst {
            ty,
            ast,
            name: ast.and_then(|ast| ast.name),
            template,
            args,
            decl_scope,
            scope: decl_scope,
            state: RecordState::Named,
            members: FxHashMap::default(),
            bases: Vec::new(),
            constructors: Vec::new(),
            conversions: Vec::new(),
            field_inits: Vec::new(),
            default_constructor: None,
            lambda: None,
        });
        id
    }

    /// The type of a class that is no template.
    pub(super) fn plain_record(&mut self, ast: &'a ast::Record, scope: ScopeId) -> Ty {
        let key = (address(ast), scope, Rc::from([]));
        if let Some(&id) = self.record_ids.get(&key) {
            return self.record_inst(id).ty;
        }
        let kind = if ast.kind == ast::RecordKind::Union { "union" } else { "struct" };
        let name = ast.name.map_or_else(|| format!("(unnamed {kind})"), |name| name.to_string());
        let is_union = ast.kind == ast::RecordKind::Union;
        let id = self.new_record(name, is_union, Some(ast), None, Rc::from([]), scope);
        self.record_ids.insert(key, id);
        self.record_inst(id).ty
    }

    /// The type of a class template with these arguments.
    pub(super) fn instantiate_class(&mut self, template: &ClassTemplate<'a>, args: Rc<[TArg]>) -> Ty {
        let key = (address(template.primary), template.scope, args.clone());
        if let Some(&id) = self.record_ids.get(&key) {
            return self.record_inst(id).ty;
        }
        let primary = template.primary;
        let name = primary.name.map_or_else(String::new, |name| name.to_string());
        let name = format!("{name}<{}>", self.show_args(&args));
        let is_union = primary.kind == ast::RecordKind::Union;
        let id = self.new_record(name, is_union, Some(primary), Some(template.clone()), args, template.scope);
        self.record_ids.insert(key, id);
        self.record_inst(id).ty
    }

    /// Chooses the specialisation and makes the member names known.
    pub(super) fn declare_members(&mut self, id: RecordId) {
        if self.record_inst(id).state > RecordState::Named {
            return;
        }
        self.records[id.0 as usize].state = RecordState::Declaring;
        if let Some(template) = self.record_inst(id).template.clone() {
            let args = self.record_inst(id).args.clone();
            let (ast, scope) = self.select_specialisation(&template, &args);
            let record = &mut self.records[id.0 as usize];
            record.ast = Some(ast);
            record.scope = scope;
        }
        let outer = self.record_inst(id).scope;
        let scope = self.add_scope(Some(outer), ScopeKind::Record(id));
        self.records[id.0 as usize].scope = scope;
        self.records[id.0 as usize].state = RecordState::Declared;
        if let Some(ast) = self.record_inst(id).ast {
            for item in ast.members.iter().flatten() {
                self.declare_member(id, scope, item);
            }
        }
    }

    fn add_member(&mut self, id: RecordId, name: Name, member: Member<'a>) {
        self.records[id.0 as usize].members.entry(name).or_default().push(member);
    }

    fn declare_member(&mut self, id: RecordId, scope: ScopeId, item: &'a ast::Item) {
        let template = item.template.as_ref();
        match &item.kind {
            ItemKind::Function(function) => {
                let Some(key) = function_key(&function.name) else { return };
                let decl = self.fn_decl(function, template, scope, Some(id), None);
                match &function.name {
                    FunctionName::Constructor(_) => self.records[id.0 as usize].constructors.push(decl),
                    FunctionName::Operator(OperatorName::Conversion(_)) => {
                        self.records[id.0 as usize].conversions.push(decl);
                        self.add_member(id, key, Member::Method(decl));
                    }
                    _ => self.add_member(id, key, Member::Method(decl)),
                }
            }
            ItemKind::Variable(variable)
                if variable.declarator.scope.is_none() && variable.declarator.specialisation.is_none() =>
            {
                self.add_member(id, variable.declarator.name, Member::Variable(variable, template));
            }
            ItemKind::Alias(alias) => {
                self.add_member(id, alias.name, Member::Alias(alias, template));
                self.declare_tag(id, &alias.ty, Some(alias.name));
            }
            ItemKind::Record(record) => {
                if let Some(name) = record.name
                    && record.specialisation.is_none()
                {
                    self.add_member(id, name, Member::Record(record, template));
                }
            }
            ItemKind::Enum(enumeration) => self.declare_enum(id, enumeration),
            ItemKind::Field(field) => self.declare_tag(id, &field.ty, None),
            _ => {}
        }
    }

    fn declare_enum(&mut self, id: RecordId, enumeration: &'a ast::Enum) {
        if let Some(name) = enumeration.name {
            self.add_member(id, name, Member::Enum(enumeration));
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            self.add_member(id, enumerator.name, Member::Enumerator(enumeration, n as u32));
        }
    }

    fn declare_tag(&mut self, id: RecordId, ty: &'a ast::Type, alias: Option<Name>) {
        match tag_of(ty) {
            Some(Tag::Record(record)) => {
                if let Some(name) = record.name
                    && Some(name) != alias
                {
                    self.add_member(id, name, Member::Record(record, None));
                }
            }
            Some(Tag::Enum(enumeration)) => self.declare_enum(id, enumeration),
            None => {}
        }
    }

    /// Types the members and lays the record out. Reports when that is impossible.
    pub(super) fn complete_record(&mut self, id: RecordId, span: Span) -> bool {
        match self.record_inst(id).state {
            RecordState::Complete => {
                self.report_deferred(Deferred::Record(id));
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
        self.records[id.0 as usize].state = RecordState::Completing;
        let ok = self.once(Deferred::Record(id), |s| s.complete_in_trace(id, span));
        self.types.records[id.0 as usize].is_complete = ok;
        self.records[id.0 as usize].state = RecordState::Complete;
        ok
    }

    fn complete_in_trace(&mut self, id: RecordId, span: Span) -> bool {
        if self.record_inst(id).template.is_some() {
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
        let scope = self.record_inst(id).scope;
        let Some(ast) = self.record_inst(id).ast else { return true };
        let Some(items) = &ast.members else {
            let name = self.types.record(id).name.clone();
            self.error("incomplete-type", span, format!("`{name}` is declared but not defined"));
            return false;
        };
        let mut fields = Vec::new();
        let mut ok = true;
        let function = std::mem::replace(
            &mut self.function,
            super::checker::FnState::new(u32::MAX, super::checker::Returns::Type(QualTy::plain(Ty::VOID))),
        );
        self.in_scope(scope, |s| {
            for base in &ast.bases {
                ok &= s.complete_base(id, base, &mut fields);
            }
            for item in items {
                if let ItemKind::Field(field) = &item.kind {
                    ok &= s.complete_field(id, field, &mut fields);
                }
            }
        });
        let align = self.in_scope(scope, |s| s.record_align(ast));
        self.function = function;
        let is_union = self.types.record(id).is_union;
        let layout = self.types.lay_out(&mut fields, is_union, align, ast.is_packed);
        let record = &mut self.types.records[id.0 as usize];
        record.fields = fields;
        Layout { size: record.size, align: record.align } = layout;
        self.in_scope(scope, |s| {
            for item in items {
                if let ItemKind::StaticAssert(cond, message) = &item.kind {
                    s.static_assert(cond, *message, item.span);
                }
            }
        });
        ok
    }

    fn complete_base(&mut self, id: RecordId, base: &'a ast::Type, fields: &mut Vec<FieldInfo>) -> bool {
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
        let is_empty = self.types.record(base_id).fields.is_empty();
        let field = (!is_empty).then_some(fields.len() as u32);
        if !is_empty {
            fields.push(FieldInfo {
                name: Name::EMPTY,
                ty: QualTy::plain(ty.ty),
                offset: 0,
                is_reference: false,
            });
            self.records[id.0 as usize].field_inits.push(None);
        }
        self.records[id.0 as usize].bases.push((base_id, field));
        true
    }

    fn complete_field(&mut self, id: RecordId, field: &'a ast::Field, fields: &mut Vec<FieldInfo>) -> bool {
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
        let index = fields.len() as u32;
        match (field.name, &field.ty.kind) {
            (Some(name), _) => {
                let is_known =
                    self.record_inst(id).members.get(&name).is_some_and(|members| !members.is_empty());
                if is_known {
                    self.error("redefinition", field.span, format!("member `{name}` is declared twice"));
                }
                self.add_member(id, name, Member::Field([index].into()));
            }
            (None, TypeKind::Record(_)) => self.lift_anonymous(id, index, ty.ty),
            (None, _) => {}
        }
        let name = field.name.unwrap_or(Name::EMPTY);
        fields.push(FieldInfo { name, ty, offset: 0, is_reference });
        self.records[id.0 as usize].field_inits.push(field.init.as_ref());
        true
    }

    /// Makes the members of an anonymous struct or union members of the record around it.
    fn lift_anonymous(&mut self, id: RecordId, index: u32, ty: Ty) {
        let Some(inner) = self.types.as_record(ty) else { return };
        for name in self.record_inst(inner).member_names() {
            let members = self.record_inst(inner).members[&name].clone();
            for member in members {
                if let Member::Field(path) = member {
                    let path: Vec<u32> = std::iter::once(index).chain(path.iter().copied()).collect();
                    self.add_member(id, name, Member::Field(path.into()));
                }
            }
        }
    }

    fn record_align(&mut self, ast: &'a ast::Record) -> u32 {
        let mut align = 1;
        for expr in &ast.align {
            let value = self.expr(expr);
            if value.ty.ty.is_error() {
                continue;
            }
            match self.constant_integer(value) {
                Some(n) if n > 0 && n <= 4096 && (n as u32).is_power_of_two() => align = align.max(n as u32),
                Some(0) | None => {}
                Some(n) => self.error("bad-alignment", expr.span, format!("{n} is not a possible alignment")),
            }
        }
        align
    }

    /// Makes sure that a type's size is known; false (reported) if it cannot be.
    pub(super) fn complete_type(&mut self, ty: Ty, span: Span) -> bool {
        match *self.types.kind(ty) {
            TyKind::Record(id) => self.complete_record(id, span),
            TyKind::Array(elem, _) => self.complete_type(elem, span),
            TyKind::Error => false,
            _ => true,
        }
    }

    /// Looks a name up in a class and its bases.
    pub(super) fn lookup_in_record(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        self.declare_members(id);
        if let Some(found) = self.own_member(id, name) {
            return Some(found);
        }
        if self.record_inst(id).state == RecordState::Declared && self.has_more_members(id, name) {
            // Data members and bases are only known of a complete class.
            let span = self.record_inst(id).ast.map_or(Span::NONE, |ast| ast.span);
            self.complete_record(id, span);
            if let Some(found) = self.own_member(id, name) {
                return Some(found);
            }
        }
        if self.record_inst(id).name == Some(name) {
            return Some(Found::Injected(id));
        }
        for (base, _) in self.record_inst(id).bases.clone() {
            if let Some(found) = self.lookup_in_record(base, name) {
                return Some(found);
            }
        }
        None
    }

    /// Whether completing the class may bring a member of that name.
    fn has_more_members(&self, id: RecordId, name: Name) -> bool {
        let ast = self.record_inst(id).ast;
        ast.and_then(|ast| ast.members.as_ref()).is_some_and(|items| {
            let declares = |item: &crate::ast::Item| match &item.kind {
                ItemKind::Field(field) => field.name.is_none_or(|field| field == name),
                _ => false,
            };
            items.iter().any(declares) || ast.is_some_and(|ast| !ast.bases.is_empty())
        })
    }

    fn own_member(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        let members = self.record_inst(id).members.get(&name)?;
        let scope = self.record_inst(id).scope;
        let methods: Vec<FnDeclId> = members
            .iter()
            .filter_map(|m| if let Member::Method(decl) = m { Some(*decl) } else { None })
            .collect();
        if !methods.is_empty() {
            return Some(Found::Functions(methods.into()));
        }
        Some(match members.first()?.clone() {
            Member::Field(path) => Found::Field(id, path),
            Member::Method(_) => return None,
            Member::Variable(variable, template) => Found::Variable(VarDecl { variable, template, scope }),
            Member::Alias(alias, template) => self.alias_found(alias, template, scope),
            Member::Record(record, template) => self.record_found(record, template, Vec::new(), scope),
            Member::Enum(enumeration) => Found::Type(QualTy::plain(self.enum_ty(enumeration, scope))),
            Member::Enumerator(enumeration, n) => self.enumerator(enumeration, scope, n),
        })
    }

    /// The offset path from a class to one of its bases, as field indices; `None` if it is no base.
    /// An empty base has no field: then `Some(vec![])` stands for the object itself.
    pub(super) fn base_path(&mut self, derived: RecordId, base: RecordId) -> Option<Vec<u32>> {
        if derived == base {
            return Some(Vec::new());
        }
        self.declare_members(derived);
        if self.record_inst(derived).ast.is_none_or(|ast| ast.bases.is_empty()) {
            return None;
        }
        let span = self.record_inst(derived).ast.map_or(Span::NONE, |ast| ast.span);
        if self.record_inst(derived).state < RecordState::Completing {
            self.complete_record(derived, span);
        }
        for (id, field) in self.record_inst(derived).bases.clone() {
            if let Some(mut path) = self.base_path(id, base) {
                if let Some(field) = field {
                    path.insert(0, field);
                }
                return Some(path);
            }
        }
        None
    }
}
