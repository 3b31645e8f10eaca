//! Argument-dependent lookup: functions of the namespaces that the arguments' types come from.

use super::Arg;
use crate::hir::{Ty, TyKind};
use crate::sema::checker::{Checker, FnDeclId, TArg};
use crate::sema::lookup::Found;
use crate::sema::table::NsId;
use crate::token::Name;

impl<'a> Checker<'a> {
    /// Functions found in the namespaces of the arguments' types, besides those known.
    pub(in crate::sema) fn argument_dependent(
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

    fn associated_namespaces(&mut self, ty: Ty, out: &mut Vec<NsId>, depth: u32) {
        if depth > 4 {
            return;
        }
        let ns = match *self.types.kind(ty) {
            TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
                return self.associated_namespaces(to.ty, out, depth + 1);
            }
            TyKind::Array(elem, _) => return self.associated_namespaces(elem, out, depth + 1),
            TyKind::Record(id) => Some(self.enclosing_namespace(self.record_inst(id).decl_scope)),
            TyKind::Enum(id) => {
                self.enum_insts.get(id.0 as usize).map(|inst| self.enclosing_namespace(inst.scope))
            }
            TyKind::Matrix { .. } => self.metal_namespace(),
            _ => None,
        };
        out.extend(ns.filter(|ns| !out.contains(ns)));
        if let TyKind::Record(id) = *self.types.kind(ty) {
            let args = self.record_inst(id).args.clone();
            for arg in args.iter() {
                if let TArg::Type(ty) = arg {
                    self.associated_namespaces(ty.ty, out, depth + 1);
                }
            }
        }
    }

    fn metal_namespace(&mut self) -> Option<NsId> {
        let name = self.names.metal;
        match self.lookup_in_namespace(NsId::GLOBAL, name) {
            Some(Found::Namespace(ns)) => Some(ns),
            _ => None,
        }
    }
}
