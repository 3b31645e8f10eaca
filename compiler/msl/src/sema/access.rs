//! Access control: whether code may use a member or a base of a class (C++14 [class.access]).
//!
//! Names are checked where they are resolved, functions where they are used, since overload resolution does
//! not look at access. Code has the rights of the classes around it, of the class that it is a member of, and
//! of the classes that befriend it.

use super::checker::Checker;
use super::lookup::Found;
use super::table::function_key;
use crate::ast::{self, Access, ItemKind};
use crate::hir::{CastKind, Expr, ExprKind, FuncId, RecordId, Ty};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// A member as the rules see it.
#[derive(Clone, Copy, Debug)]
struct Accessed {
    owner: RecordId,
    access: Access,
    /// Whether it is used through an object.
    needs_object: bool,
}

impl<'a> Checker<'a> {
    /// Whether what a lookup in the class found may be used here; reports if not. Functions are checked where
    /// they are used. With `has_object`, data members are those of an object of that class.
    pub(super) fn check_access(
        &mut self,
        class: RecordId,
        name: Name,
        found: &Found<'a>,
        has_object: bool,
        span: Span,
    ) -> bool {
        if matches!(found, Found::Functions(_) | Found::Error | Found::Ambiguous(_)) {
            return true;
        }
        // The closures of lambdas have members that no class declares.
        let Some(owner) = self.declaring_class(class, name) else { return true };
        let access = self.records.get(owner).access.get(&name).copied().unwrap_or(Access::Public);
        let accessed =
            Accessed { owner, access, needs_object: has_object && matches!(found, Found::Field(..)) };
        self.check_accessed(class, accessed, name.as_str(), span)
    }

    /// Whether a function may be used here with an object; reports if not.
    pub(super) fn check_function_access(&mut self, func: FuncId, object: Option<&Expr>, span: Span) -> bool {
        // Only members have access control.
        let Some((class, accessed)) = self.accessed_function(func, object) else { return true };
        let name = self.functions.inst(func).name.clone();
        self.check_accessed(class, accessed, &name, span)
    }

    /// Whether the members of a class may use a constructor or assignment of their parts.
    pub(super) fn is_accessible_in(&mut self, class: RecordId, func: FuncId) -> bool {
        let Some((naming, accessed)) = self.accessed_function(func, None) else { return true };
        let scope = self.records.get(class).scope;
        self.in_scope(scope, |s| s.may_access(naming, accessed))
    }

    /// The class that a member function is used through; `None` for other functions.
    fn accessed_function(&mut self, func: FuncId, object: Option<&Expr>) -> Option<(RecordId, Accessed)> {
        // Functions that a class has without declaring them are public.
        let decl = self.functions.inst(func).origin.decl()?;
        let data = self.functions.decl(decl);
        let (owner, mut access) = (data.owner?, data.access);
        let is_constructor = matches!(data.ast.name, ast::FunctionName::Constructor(_));
        let is_conversion =
            matches!(data.ast.name, ast::FunctionName::Operator(ast::OperatorName::Conversion(_)));
        let key = function_key(&data.ast.name);
        let mut needs_object = self.functions.needs_object(decl) && !is_constructor;
        if needs_object && let Some(object) = object {
            // The object of `Base::f()` is of a derived class.
            let whole = whole_object(object);
            let derived = self.types.as_record(whole.ty.ty);
            let around = self.scopes.classes_around();
            needs_object = !derived.is_some_and(|derived| {
                whole.ty.ty != object.ty.ty
                    && around.iter().any(|&at| at == derived || self.records.bases_of(derived).contains(&at))
            });
        }
        // A static function may be called where there is an object of an unrelated class.
        let class = object.and_then(|object| self.types.as_record(object.ty.ty));
        let class = class.filter(|&class| self.base_path(class, owner).is_some()).unwrap_or(owner);
        let mut declaring = owner;
        if class != owner {
            let classes = Vec::from_iter(std::iter::once(class).chain(self.records.bases_of(class)));
            // Other names have been looked up, which resolved the using-declarations on the way.
            if let Some(key) = key.filter(|_| is_conversion) {
                classes.iter().for_each(|&at| drop(self.lookup_in_class(at, key)));
            }
            let introduces = |at: &RecordId| self.records.get(*at).introduced.contains(&decl);
            if let Some(by) = classes.into_iter().find(introduces) {
                declaring = by;
                let declared = key.and_then(|key| self.records.get(by).access.get(&key));
                access = declared.copied().unwrap_or(Access::Public);
            }
        }
        Some((class, Accessed { owner: declaring, access, needs_object }))
    }

    /// The class that declares a name that a lookup in a class finds.
    fn declaring_class(&self, class: RecordId, name: Name) -> Option<RecordId> {
        let declares = |id: &RecordId| {
            let inst = self.records.get(*id);
            inst.members.contains_key(&name) || inst.name == Some(name)
        };
        Some(class).filter(declares).or_else(|| self.records.bases_of(class).into_iter().find(declares))
    }

    fn check_accessed(&mut self, class: RecordId, accessed: Accessed, name: &str, span: Span) -> bool {
        if self.may_access(class, accessed) {
            return true;
        }
        let owner = self.types.record(accessed.owner).name.clone();
        let message = match accessed.access {
            Access::Public => format!("`{name}` is a member of a base that is not accessible here"),
            Access::Protected => format!("`{name}` is a protected member of `{owner}`"),
            Access::Private => format!("`{name}` is a private member of `{owner}`"),
        };
        let mut diagnostic = Diagnostic::error("inaccessible-member", span, message);
        if let Some(ast) = self.records.get(accessed.owner).ast {
            diagnostic = diagnostic.with_note(ast.span, "the class is declared here");
        }
        self.report(diagnostic);
        false
    }

    fn may_access(&mut self, class: RecordId, accessed: Accessed) -> bool {
        let is_own = class == accessed.owner && accessed.access == Access::Public;
        is_own || self.records.ignores_access || { self.may_name(class, accessed, &mut FxHashMap::default()) }
    }

    /// Whether a member is accessible when it is named in a class (C++14 [class.access.base.5]).
    fn may_name(
        &mut self,
        class: RecordId,
        accessed: Accessed,
        known: &mut FxHashMap<RecordId, bool>,
    ) -> bool {
        if let Some(&known) = known.get(&class) {
            return known;
        }
        let result = match self.access_as_member(class, accessed, &mut FxHashMap::default()) {
            Some(Access::Public) => true,
            Some(_) if self.has_rights_of(class) => true,
            // Through an object only of the class itself or a derived one, which are the other cases.
            Some(Access::Protected) if !accessed.needs_object && self.has_rights_of_derived(class) => true,
            _ => {
                let bases = self.records.get(class).bases.clone();
                bases.into_iter().any(|(base, _)| {
                    self.may_convert_to_direct(class, base) && self.may_name(base, accessed, known)
                })
            }
        };
        known.insert(class, result);
        result
    }

    /// The access that a member has as a member of a class; `None` if it is private in a base.
    fn access_as_member(
        &self,
        class: RecordId,
        accessed: Accessed,
        known: &mut FxHashMap<RecordId, Option<Access>>,
    ) -> Option<Access> {
        if class == accessed.owner {
            return Some(accessed.access);
        }
        if let Some(&known) = known.get(&class) {
            return known;
        }
        let inst = self.records.get(class);
        let found = inst.bases.iter().filter_map(|&(base, _)| {
            let inner = self.access_as_member(base, accessed, known)?;
            (inner != Access::Private).then(|| inner.max(self.base_access(class, base)))
        });
        let found = found.min();
        known.insert(class, found);
        found
    }

    fn base_access(&self, class: RecordId, base: RecordId) -> Access {
        self.records.get(class).base_access.get(&base).copied().unwrap_or(Access::Public)
    }

    fn may_convert_to_direct(&mut self, class: RecordId, base: RecordId) -> bool {
        match self.base_access(class, base) {
            Access::Public => true,
            Access::Protected => self.has_rights_of(class) || self.has_rights_of_derived(class),
            Access::Private => self.has_rights_of(class),
        }
    }

    /// Checks that objects may be converted to a base here; reports if not.
    pub(super) fn check_base_access(&mut self, derived: Ty, base: Ty, span: Span) -> bool {
        let (Some(from), Some(to)) = (self.types.as_record(derived), self.types.as_record(base)) else {
            return true;
        };
        if self.records.ignores_access || self.may_convert(from, to, &mut FxHashMap::default()) {
            return true;
        }
        let (from, to) = (self.types.record(from).name.clone(), self.types.record(to).name.clone());
        let message = format!("the base `{to}` of `{from}` is not accessible here");
        self.error("inaccessible-member", span, message);
        false
    }

    fn may_convert(&mut self, from: RecordId, to: RecordId, known: &mut FxHashMap<RecordId, bool>) -> bool {
        if from == to {
            return true;
        }
        if let Some(&known) = known.get(&from) {
            return known;
        }
        let bases = self.records.get(from).bases.clone();
        let result = bases
            .into_iter()
            .any(|(base, _)| self.may_convert(base, to, known) && self.may_convert_to_direct(from, base));
        known.insert(from, result);
        result
    }

    // --- whose rights the code has

    /// Whether the current code is in the class, in a class within it, or befriended by it.
    fn has_rights_of(&mut self, class: RecordId) -> bool {
        self.scopes.classes_around().contains(&class) || self.is_befriended(class)
    }

    fn has_rights_of_derived(&mut self, class: RecordId) -> bool {
        let around = self.scopes.classes_around();
        around.into_iter().any(|at| at != class && self.records.bases_of(at).contains(&class))
    }

    fn is_befriended(&mut self, class: RecordId) -> bool {
        let befriended = self.records.get(class).befriended.clone();
        befriended.into_iter().any(|item| match &item.kind {
            ItemKind::Function(function) => self.is_in_friend(class, function, item.template.is_some()),
            ItemKind::Friend(ty) => self.is_in_friend_class(class, ty, item.template.is_some()),
            _ => panic!("only functions and classes are friends"),
        })
    }

    fn is_in_friend_class(&mut self, class: RecordId, ty: &'a ast::Type, is_template: bool) -> bool {
        let around = self.scopes.classes_around();
        if is_template {
            let ast::TypeKind::Path(path) = &ty.kind else { return false };
            let name = path.segments.last().map(|segment| segment.name);
            return around
                .into_iter()
                .any(|at| self.records.get(at).template.is_some() && self.records.get(at).name == name);
        }
        let scope = self.records.get(class).scope;
        let friend = self.without_access(|s| s.quietly(|s| s.in_scope(scope, |s| s.resolve_type(ty))));
        let friend = friend.ok().and_then(|ty| self.types.as_record(ty.ty));
        friend.is_some_and(|friend| around.contains(&friend))
    }

    /// Whether the current code is in the body of a function that the class befriends.
    fn is_in_friend(&mut self, class: RecordId, friend: &'a ast::Function, is_template: bool) -> bool {
        let scope = self.records.get(class).scope;
        let key = function_key(&friend.name);
        let around = self.functions.bodies_around(&self.scopes);
        around.into_iter().any(|func| {
            // Only declared functions are named as friends.
            let Some(decl) = self.functions.inst(func).origin.decl() else { return false };
            let data = self.functions.decl(decl);
            let (is_member, own_template) = (data.owner.is_some(), data.template.is_some());
            if function_key(&data.ast.name) != key || is_member != friend.scope.is_some() {
                return false;
            }
            if is_template || friend.specialisation.is_some() {
                return own_template;
            }
            let signature =
                self.without_access(|s| s.quietly(|s| s.in_scope(scope, |s| s.signature(friend))));
            matches!(signature, Ok(Some((params, _)))
                if Self::are_same_params(&params, &self.functions.inst(func).params))
        })
    }
}

/// The object that a base subobject is part of.
fn whole_object(object: &Expr) -> &Expr {
    match &object.kind {
        ExprKind::Field(whole, ..) => whole_object(whole),
        ExprKind::Deref(pointer) => match &pointer.kind {
            ExprKind::Cast(CastKind::Pointer, address) => match &address.kind {
                ExprKind::AddressOf(whole) => whole_object(whole),
                _ => object,
            },
            _ => object,
        },
        _ => object,
    }
}
