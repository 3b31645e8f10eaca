//! Classes: what is known of one, and making new ones.
//!
//! A record goes through three states: *named* (its type exists), *declared* (its specialisation is
//! chosen and its member names are known, `declare`), *complete* (members are typed and laid out,
//! `complete`). Each step happens when first needed, so that members may mention the class itself.

mod complete;
mod declare;
mod instance;
mod lookup;
mod registry;
mod usings;

pub(super) use complete::{UNION_MEMBERS, complete, complete_type};
pub(super) use declare::declare_members;
pub(super) use lookup::{assignment_operators, base_path, lookup, lookup_in_class, member_tag};
pub(super) use registry::{NamedRecord, Records};

use super::checker::Checker;
use super::entities::{ClassTemplate, FnDeclId, TArg};
use super::init::DefaultInit;
use super::scopes::ScopeId;
use super::special::Deletion;
use super::template_args;
use crate::ast::{self, Access, TemplateParams};
use crate::hir::{FuncId, RecordId, Ty, Types};
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
    pub(super) access: AccessRules<'a>,
    /// Base classes; an empty one has no field.
    pub(super) bases: Vec<(RecordId, Option<u32>)>,
    pub(super) constructors: Vec<FnDeclId>,
    /// Of these, the constructors of bases, each with the base.
    pub(super) inherited: Vec<(FnDeclId, RecordId)>,
    /// Member functions of bases that using-declarations make members.
    pub(super) introduced: Vec<FnDeclId>,
    pub(super) special: SpecialMembers,
    pub(super) conversions: Vec<FnDeclId>,
    /// Functions that are defined in it as friends; only argument-dependent lookup finds them.
    pub(super) friends: Vec<(Name, FnDeclId)>,
    pub(super) field_inits: Vec<Option<&'a ast::Initialiser>>,
    pub(super) lambda: Option<&'a ast::Lambda>,
    /// Whether a base depends on template arguments that are not known.
    pub(super) has_unknown_base: bool,
}

/// Who may use the members and bases of a class.
#[derive(Debug, Default)]
pub(super) struct AccessRules<'a> {
    /// The access of members that are not public; of functions, those that using-declarations name.
    pub(super) members: FxHashMap<Name, Access>,
    pub(super) bases: FxHashMap<RecordId, Access>,
    /// The declared friends, classes and functions.
    pub(super) befriended: Vec<&'a ast::Item>,
    /// Whether a data member or base is not public.
    pub(super) hides_data: bool,
}

/// Computed facts about special member functions of a class; `None` until they are first needed.
#[derive(Debug, Default)]
pub(super) struct SpecialMembers {
    /// Whether copying and assigning an object call functions of classes.
    pub(super) copies_by_code: [Option<bool>; 2],
    /// Why its parts cannot be copied or assigned, for each kind of source.
    pub(super) parts_deletion: [Option<Option<Deletion>>; 6],
    /// The default constructor that is declared as defaulted.
    pub(super) defaulted: Option<FuncId>,
    /// The effect of default initialisation.
    pub(super) default_init: Option<DefaultInit>,
}

impl RecordInst<'_> {
    /// The names of its members, sorted.
    pub(super) fn member_names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.members.keys().copied().collect();
        names.sort_by_key(|name| name.as_str());
        names
    }
}

/// The type of a class that is no template.
pub(super) fn plain<'a>(
    types: &mut Types,
    records: &mut Records<'a>,
    ast: &'a ast::Record,
    scope: ScopeId,
) -> Ty {
    let key = (ast.id, scope, Rc::from([]));
    if let Some(known) = records.known(&key) {
        return known.ty;
    }
    let kind = if ast.kind == ast::RecordKind::Union { "union" } else { "struct" };
    let name = ast.name.map_or_else(|| format!("(unnamed {kind})"), |name| name.to_string());
    let is_union = ast.kind == ast::RecordKind::Union;
    let named = NamedRecord { name, is_union, ast: Some(ast), template: None, args: Rc::from([]), scope };
    let id = records.add(types, named);
    records.set_known(key, id);
    records.get(id).ty
}

/// The type of a class template with these arguments.
pub(super) fn instantiate<'a>(cx: &mut Checker<'a>, template: &ClassTemplate<'a>, args: Rc<[TArg]>) -> Ty {
    let key = (template.primary.id, template.scope, args.clone());
    if let Some(known) = cx.records.known(&key) {
        return known.ty;
    }
    // Its members may be used without completing it, and name further specialisations.
    if !cx.limits.count_instantiation(Span::NONE, &mut cx.diagnostics) {
        return Ty::ERROR;
    }
    let primary = template.primary;
    let name = primary.name.map_or_else(String::new, |name| name.to_string());
    let shown = template_args::without_defaults(cx, template, &args);
    let name = format!("{name}<{}>", template_args::show_args(cx, shown));
    let is_union = primary.kind == ast::RecordKind::Union;
    let named = NamedRecord {
        name,
        is_union,
        ast: Some(primary),
        template: Some(template.clone()),
        args,
        scope: template.scope,
    };
    let id = cx.records.add(&mut cx.types, named);
    cx.records.set_known(key, id);
    cx.records.get(id).ty
}
