//! Argument-dependent lookup: functions of the namespaces that the arguments' types come from, and friends
//! that are defined in their classes.

use super::Arg;
use crate::hir::{RecordId, Ty, TyKind};
use crate::sema::checker::{Checker, FnDeclId, TArg};
use crate::sema::lookup::Found;
use crate::sema::table::NsId;
use crate::token::Name;

/// Where the arguments' types come from.
#[derive(Default)]
struct Associated {
    namespaces: Vec<NsId>,
    classes: Vec<RecordId>,
}

impl<'a> Checker<'a> {
    /// Functions that the arguments' types lead to, besides those known.
    pub(in crate::sema) fn argument_dependent(
        &mut self,
        name: Name,
        args: &[Arg<'a>],
        known: &[FnDeclId],
    ) -> Vec<FnDeclId> {
        let mut associated = Associated::default();
        for arg in args {
            if let Arg::Expr(expr) = arg {
                self.associate(expr.ty.ty, &mut associated, 0);
            }
        }
        let mut found: Vec<FnDeclId> = Vec::new();
        let mut find = |decl: FnDeclId| {
            if !known.contains(&decl) && !found.contains(&decl) {
                found.push(decl);
            }
        };
        for ns in associated.namespaces {
            // Directives of associated namespaces do not count (C++14 [basic.lookup.argdep]).
            if let Some(Found::Functions(decls)) = self.lookup_directly(ns, name) {
                decls.iter().copied().for_each(&mut find);
            }
        }
        for class in associated.classes {
            self.declare_members(class);
            let friends = &self.records.get(class).friends;
            friends.iter().filter(|(friend, _)| *friend == name).for_each(|&(_, decl)| find(decl));
        }
        found
    }

    fn associate(&mut self, ty: Ty, out: &mut Associated, depth: u32) {
        if depth > 4 {
            return;
        }
        let ns = match *self.types.kind(ty) {
            TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
                return self.associate(to.ty, out, depth + 1);
            }
            TyKind::Array(elem, _) => return self.associate(elem, out, depth + 1),
            TyKind::Record(id) => Some(self.scopes.enclosing_namespace(self.records.get(id).decl_scope)),
            TyKind::Enum(id) => Some(self.scopes.enclosing_namespace(self.enums.get(id).scope)),
            TyKind::Matrix { .. } => self.metal_namespace(),
            _ => None,
        };
        out.namespaces.extend(ns.filter(|ns| !out.namespaces.contains(ns)));
        if let TyKind::Record(id) = *self.types.kind(ty) {
            self.associate_class(id, out, depth);
        }
    }

    fn associate_class(&mut self, id: RecordId, out: &mut Associated, depth: u32) {
        if out.classes.contains(&id) {
            return;
        }
        out.classes.push(id);
        for arg in self.records.get(id).args.clone().iter() {
            if let TArg::Type(ty) = arg {
                self.associate(ty.ty, out, depth + 1);
            }
        }
        for (base, _) in self.records.get(id).bases.clone() {
            self.associate(self.records.get(base).ty, out, depth + 1);
        }
    }

    pub(in crate::sema) fn metal_namespace(&mut self) -> Option<NsId> {
        let name = self.names.metal;
        match self.lookup_in_namespace(NsId::GLOBAL, name) {
            Some(Found::Namespace(ns)) => Some(ns),
            _ => None,
        }
    }
}
