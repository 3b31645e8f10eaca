//! The classes of one check: each made once, with the facts that need no types.

use super::lookup::names_constructors;
use super::usings::Usings;
use super::{AccessRules, Member, RecordInst, RecordState, SpecialMembers};
use crate::ast::{self, Access, ItemKind, NodeId};
use crate::hir::{RecordId, RecordInfo, TyKind, Types};
use crate::sema::entities::{ClassTemplate, TArg};
use crate::sema::scopes::ScopeId;
use crate::sema::specialise::ClassSpecialisation;
use crate::sema::table::{Tag, tag_of};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The identity of a class: its declaration or primary template, where that is, and the arguments.
pub(in crate::sema) type RecordKey = (NodeId, ScopeId, Rc<[TArg]>);

/// A class of which only the name is known.
#[derive(Debug)]
pub(in crate::sema) struct NamedRecord<'a> {
    pub(in crate::sema) name: String,
    pub(in crate::sema) is_union: bool,
    pub(in crate::sema) ast: Option<&'a ast::Record>,
    pub(in crate::sema) template: Option<ClassTemplate<'a>>,
    pub(in crate::sema) args: Rc<[TArg]>,
    pub(in crate::sema) scope: ScopeId,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(in crate::sema) struct Records<'a> {
    insts: Vec<RecordInst<'a>>,
    ids: FxHashMap<RecordKey, RecordId>,
    /// The specialisations of each class template, by its identity.
    pub(in crate::sema) specialisations: FxHashMap<(NodeId, ScopeId), Rc<[ClassSpecialisation<'a>]>>,
    /// Where each instance of a class template was first needed complete.
    pub(in crate::sema) instantiated: FxHashMap<RecordId, Span>,
    /// The instances whose declarations have been checked.
    pub(in crate::sema) checked: FxHashSet<RecordId>,
    /// Where code that is no instance first requires a class to be complete, in a check of everything.
    pub(in crate::sema) required: FxHashMap<RecordId, Span>,
    pub(super) usings: Usings,
    /// Whether names are resolved without access control.
    pub(in crate::sema) ignores_access: bool,
    /// The use of a class without a definition that was reported last, which several rules may ask about.
    pub(super) last_undefined: Option<(RecordId, Span)>,
}

impl<'a> Records<'a> {
    pub(in crate::sema) fn get(&self, id: RecordId) -> &RecordInst<'a> {
        &self.insts[id.0 as usize]
    }

    /// The number of classes so far; their ids are the numbers below.
    pub(in crate::sema) fn count(&self) -> usize {
        self.insts.len()
    }

    pub(in crate::sema) fn get_mut(&mut self, id: RecordId) -> &mut RecordInst<'a> {
        &mut self.insts[id.0 as usize]
    }

    /// The class of that identity, if it exists.
    pub(super) fn known(&self, key: &RecordKey) -> Option<&RecordInst<'a>> {
        self.ids.get(key).map(|&id| self.get(id))
    }

    pub(super) fn set_known(&mut self, key: RecordKey, id: RecordId) {
        self.ids.insert(key, id);
    }

    /// Makes a record of which only the name is known.
    pub(in crate::sema) fn add(&mut self, types: &mut Types, named: NamedRecord<'a>) -> RecordId {
        let NamedRecord { name, is_union, ast, template, args, scope } = named;
        let id = RecordId(self.insts.len() as u32);
        types.records.push(RecordInfo {
            name,
            is_union,
            fields: Vec::new(),
            size: 1,
            align: 1,
            equal_members: None,
            is_complete: false,
        });
        let ty = types.intern(TyKind::Record(id));
        self.insts.push(RecordInst {
            ty,
            ast,
            name: ast.and_then(|ast| ast.name),
            template,
            args,
            decl_scope: scope,
            scope,
            state: RecordState::Named,
            members: FxHashMap::default(),
            access: AccessRules::default(),
            bases: Vec::new(),
            constructors: Vec::new(),
            inherited: Vec::new(),
            introduced: Vec::new(),
            special: SpecialMembers::default(),
            conversions: Vec::new(),
            friends: Vec::new(),
            field_inits: Vec::new(),
            lambda: None,
            has_unknown_base: false,
        });
        id
    }

    /// The bases of a class and theirs, each once: of classes that are bases of two bases there are
    /// exponentially many paths.
    pub(in crate::sema) fn bases_of(&self, id: RecordId) -> Vec<RecordId> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let direct = |id: RecordId| self.get(id).bases.iter().rev().map(|&(base, _)| base);
        let mut pending: Vec<RecordId> = direct(id).collect();
        while let Some(base) = pending.pop() {
            if seen.insert(base) {
                found.push(base);
                pending.extend(direct(base));
            }
        }
        found
    }

    /// Whether completing the class may bring a member of that name.
    pub(super) fn has_more_members(&self, id: RecordId, name: Name) -> bool {
        let ast = self.get(id).ast;
        ast.and_then(|ast| ast.members.as_ref()).is_some_and(|items| {
            let declares = |item: &ast::Item| match &item.kind {
                ItemKind::Field(field) => field.name.is_none_or(|field| field == name),
                _ => false,
            };
            items.iter().any(declares) || ast.is_some_and(|ast| !ast.bases.is_empty())
        })
    }

    /// Whether a using-declaration of the class names constructors of a base.
    pub(in crate::sema) fn inherits_constructors(&self, id: RecordId) -> bool {
        let members = self.get(id).ast.and_then(|ast| ast.members.as_ref());
        members.into_iter().flatten().any(
            |item| matches!(&item.kind, ItemKind::UsingDeclaration(using) if names_constructors(&using.path)),
        )
    }

    /// Extends the path to the base; `seen` are the classes without a path to it.
    pub(super) fn find_base(
        &self,
        derived: RecordId,
        base: RecordId,
        path: &mut Vec<u32>,
        seen: &mut FxHashSet<RecordId>,
    ) -> bool {
        for &(direct, field) in &self.get(derived).bases {
            if !seen.insert(direct) {
                continue;
            }
            path.extend(field);
            if direct == base || self.find_base(direct, base, path, seen) {
                return true;
            }
            path.truncate(path.len() - usize::from(field.is_some()));
        }
        false
    }

    /// Whether a base of the class depends on template arguments that are not known.
    pub(in crate::sema) fn has_unknown_base(&self, id: RecordId) -> bool {
        self.get(id).has_unknown_base || self.bases_of(id).iter().any(|&base| self.get(base).has_unknown_base)
    }

    /// Whether a class has several base subobjects of that class.
    pub(in crate::sema) fn has_several(&self, derived: RecordId, base: RecordId) -> bool {
        self.count_bases(derived, base, &mut FxHashMap::default()) > 1
    }

    fn count_bases(&self, derived: RecordId, base: RecordId, known: &mut FxHashMap<RecordId, u32>) -> u32 {
        if derived == base {
            return 1;
        }
        if let Some(&count) = known.get(&derived) {
            return count;
        }
        let bases = &self.get(derived).bases;
        let count = bases
            .iter()
            .fold(0_u32, |sum, &(next, _)| sum.saturating_add(self.count_bases(next, base, known)));
        known.insert(derived, count);
        count
    }

    pub(super) fn add_member(&mut self, id: RecordId, name: Name, member: Member<'a>, access: Access) {
        if access != Access::Public {
            self.get_mut(id).access.members.insert(name, access);
        }
        self.get_mut(id).members.entry(name).or_default().push(member);
    }

    pub(super) fn declare_enum(&mut self, id: RecordId, enumeration: &'a ast::Enum, access: Access) {
        if let Some(name) = enumeration.name {
            self.add_member(id, name, Member::Enum(enumeration), access);
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            self.add_member(id, enumerator.name, Member::Enumerator(enumeration, n as u32), access);
        }
    }

    pub(super) fn declare_tag(
        &mut self,
        id: RecordId,
        ty: &'a ast::Type,
        alias: Option<Name>,
        access: Access,
    ) {
        match tag_of(ty) {
            Some(Tag::Record(record)) => {
                if let Some(name) = record.name
                    && Some(name) != alias
                {
                    self.add_member(id, name, Member::Record(record, None), access);
                }
            }
            Some(Tag::Enum(enumeration)) => self.declare_enum(id, enumeration, access),
            None => {}
        }
    }
}
