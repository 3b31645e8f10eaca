//! The functions of one check: declarations and instances, each made once.

use super::{FnDecl, FnInst};
use crate::ast::{self, Access, NodeId, TemplateParams};
use crate::hir::{FuncId, RecordId};
use crate::sema::entities::{FnDeclId, TArg};
use crate::sema::equivalence::Signature;
use crate::sema::init::Synthesised;
use crate::sema::scopes::{ScopeId, Scopes};
use crate::sema::table::NsId;
use crate::token::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(in crate::sema) struct Functions<'a> {
    decls: Vec<FnDecl<'a>>,
    decl_ids: FxHashMap<(NodeId, ScopeId), FnDeclId>,
    insts: Vec<FnInst<'a>>,
    inst_ids: FxHashMap<(FnDeclId, Rc<[TArg]>), FuncId>,
    synthesised: FxHashMap<Synthesised, FuncId>,
    /// The definitions outside of classes that serve a declaration.
    pub(in crate::sema) served: FxHashSet<NodeId>,
    /// Instances whose `noexcept(…)` was checked.
    pub(in crate::sema) noexcept_checked: FxHashSet<FuncId>,
    /// The functions whose signatures are being checked.
    pub(in crate::sema) signatures: Vec<(FnDeclId, Rc<[TArg]>)>,
    /// The default arguments that are being checked.
    pub(in crate::sema) defaults: Vec<(FnDeclId, usize)>,
    /// The functions of namespaces that blocks declare.
    of_blocks: FxHashMap<(NsId, Name), Vec<FnDeclId>>,
    /// By the scope of the body.
    bodies: FxHashMap<ScopeId, FuncId>,
}

impl<'a> Functions<'a> {
    /// The declaration's identity in this check.
    pub(in crate::sema) fn declare(
        &mut self,
        ast: &'a ast::Function,
        template: Option<&'a TemplateParams>,
        scope: ScopeId,
        owner: Option<RecordId>,
    ) -> FnDeclId {
        let Self { decls, decl_ids, .. } = self;
        *decl_ids.entry((ast.id, scope)).or_insert_with(|| {
            decls.push(FnDecl {
                ast,
                template,
                scope,
                owner,
                access: Access::Public,
                patterns: None,
                signature: None,
            });
            FnDeclId(decls.len() as u32 - 1)
        })
    }

    pub(in crate::sema) fn set_access(&mut self, id: FnDeclId, access: Access) {
        self.decls[id.0 as usize].access = access;
    }

    /// Records a function that a block declares; returns the earlier block declarations of the name.
    pub(in crate::sema) fn declare_in_block(
        &mut self,
        ns: NsId,
        name: Name,
        decl: FnDeclId,
    ) -> Vec<FnDeclId> {
        let of_blocks = self.of_blocks.entry((ns, name)).or_default();
        let earlier = of_blocks.clone();
        of_blocks.push(decl);
        earlier
    }

    /// Whether a block declares any of these functions.
    pub(in crate::sema) fn is_any_of_block(&self, decls: &[FnDeclId]) -> bool {
        !self.of_blocks.is_empty() && self.of_blocks.values().flatten().any(|decl| decls.contains(decl))
    }

    /// Records the scope of a function's body.
    pub(super) fn set_body_scope(&mut self, scope: ScopeId, func: FuncId) {
        self.bodies.insert(scope, func);
    }

    /// The functions whose bodies the current code is in.
    pub(in crate::sema) fn bodies_around(&self, scopes: &Scopes<'_>) -> Vec<FuncId> {
        scopes.around().filter_map(|scope| self.bodies.get(&scope).copied()).collect()
    }

    /// Whether the function is a kernel or a function of a graphics pipeline.
    pub(in crate::sema) fn is_entry_point(&self, func: FuncId) -> bool {
        let decl = self.inst(func).origin.decl();
        decl.is_some_and(|decl| self.decl(decl).ast.specifiers.is_entry_point())
    }

    pub(in crate::sema) fn decl(&self, id: FnDeclId) -> &FnDecl<'a> {
        &self.decls[id.0 as usize]
    }

    pub(in crate::sema) fn set_signature(&mut self, id: FnDeclId, signature: Rc<Signature>) {
        self.decls[id.0 as usize].signature = Some(signature);
    }

    pub(super) fn decl_mut(&mut self, id: FnDeclId) -> &mut FnDecl<'a> {
        &mut self.decls[id.0 as usize]
    }

    /// Whether calls need an object.
    pub(in crate::sema) fn needs_object(&self, id: FnDeclId) -> bool {
        let decl = self.decl(id);
        decl.owner.is_some() && !decl.ast.specifiers.is_static
    }

    pub(in crate::sema) fn inst(&self, id: FuncId) -> &FnInst<'a> {
        &self.insts[id.0 as usize]
    }

    pub(in crate::sema) fn inst_mut(&mut self, id: FuncId) -> &mut FnInst<'a> {
        &mut self.insts[id.0 as usize]
    }

    pub(in crate::sema) fn add(&mut self, inst: FnInst<'a>) -> FuncId {
        self.insts.push(inst);
        FuncId(self.insts.len() as u32 - 1)
    }

    /// The instances whose bodies have been checked.
    pub(in crate::sema) fn with_bodies(&self) -> Vec<FuncId> {
        let checked = self.insts.iter().enumerate().filter(|(_, inst)| inst.hir.is_some());
        checked.map(|(n, _)| FuncId(n as u32)).collect()
    }

    /// The instance with these template arguments, if it exists.
    pub(super) fn instance(&self, id: FnDeclId, args: &Rc<[TArg]>) -> Option<FuncId> {
        self.inst_ids.get(&(id, args.clone())).copied()
    }

    pub(super) fn set_instance(&mut self, id: FnDeclId, args: Rc<[TArg]>, func: FuncId) {
        self.inst_ids.insert((id, args), func);
    }

    /// The function that a class has without declaring it, if it exists.
    pub(in crate::sema) fn synthesised(&self, which: Synthesised) -> Option<FuncId> {
        self.synthesised.get(&which).copied()
    }

    pub(in crate::sema) fn set_synthesised(&mut self, which: Synthesised, func: FuncId) {
        self.synthesised.insert(which, func);
    }
}
