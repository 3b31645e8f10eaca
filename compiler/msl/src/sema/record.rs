//! Classes: what is known of one, and making new ones.
//!
//! A record goes through three states: *named* (its type exists), *declared* (its specialisation is
//! chosen and its member names are known, `declare`), *complete* (members are typed and laid out,
//! `complete`). Each step happens when first needed, so that members may mention the class itself.

mod complete;
mod declare;
mod lookup;

use super::checker::{Checker, FnDeclId, TArg};
use super::init::DefaultInit;
use super::lookup::ClassTemplate;
use super::scopes::ScopeId;
use crate::ast::{self, TemplateParams};
use crate::hir::{RecordId, RecordInfo, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;
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
    /// What a using-declaration makes a member.
    Using(&'a ast::UsingDeclaration),
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
    /// Of these, the constructors of bases, each with the base.
    pub(super) inherited: Vec<(FnDeclId, RecordId)>,
    /// Member functions of bases that using-declarations make members.
    pub(super) introduced: Vec<FnDeclId>,
    /// Whether copying and assigning an object call functions of classes, once it was computed.
    pub(super) copies_by_code: [Option<bool>; 2],
    pub(super) conversions: Vec<FnDeclId>,
    /// Functions that are defined in it as friends; only argument-dependent lookup finds them.
    pub(super) friends: Vec<(Name, FnDeclId)>,
    pub(super) field_inits: Vec<Option<&'a ast::Initialiser>>,
    /// What default initialisation does, once it was asked.
    pub(super) default_init: Option<DefaultInit>,
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
            equal_members: None,
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
            inherited: Vec::new(),
            introduced: Vec::new(),
            copies_by_code: [None; 2],
            conversions: Vec::new(),
            friends: Vec::new(),
            field_inits: Vec::new(),
            default_init: None,
            lambda: None,
        });
        id
    }

    /// The type of a class that is no template.
    pub(super) fn plain_record(&mut self, ast: &'a ast::Record, scope: ScopeId) -> Ty {
        let key = (ast.id, scope, Rc::from([]));
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
        let key = (template.primary.id, template.scope, args.clone());
        if let Some(&id) = self.record_ids.get(&key) {
            return self.record_inst(id).ty;
        }
        // Its members may be used without completing it, and name further specialisations.
        if !self.limits.count_instantiation(Span::NONE, &mut self.diagnostics) {
            return Ty::ERROR;
        }
        let primary = template.primary;
        let name = primary.name.map_or_else(String::new, |name| name.to_string());
        let shown = self.without_defaults(template, &args);
        let name = format!("{name}<{}>", self.show_args(shown));
        let is_union = primary.kind == ast::RecordKind::Union;
        let id = self.new_record(name, is_union, Some(primary), Some(template.clone()), args, template.scope);
        self.record_ids.insert(key, id);
        self.record_inst(id).ty
    }
}
