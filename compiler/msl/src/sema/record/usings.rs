//! Using-declarations of classes: which are being resolved, and the functions they name.
//!
//! Invariant: resolving ends even if a declaration names itself (`using f::f;`), and takes time in proportion
//! to the number of declarations even where classes with two bases that use the same name have exponentially
//! many paths to it.

use crate::ast::NodeId;
use crate::hir::RecordId;
use crate::sema::entities::FnDeclId;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Usings {
    /// The declarations that are being resolved.
    stack: Vec<NodeId>,
    /// The number of declarations that name themselves.
    cycles: u64,
    /// The functions that declarations of complete classes name, by class and declaration.
    functions: FxHashMap<(RecordId, NodeId), Rc<[FnDeclId]>>,
}

impl Usings {
    /// Whether a declaration names itself.
    pub(super) fn is_cycle(&mut self, using: NodeId) -> bool {
        let is_cycle = self.stack.contains(&using);
        self.cycles += u64::from(is_cycle);
        is_cycle
    }

    /// Begins to resolve a declaration; [`Usings::leave`] takes what is returned.
    pub(super) fn enter(&mut self, using: NodeId) -> u64 {
        self.stack.push(using);
        self.cycles
    }

    /// Ends resolving; false if a cycle cut it short.
    pub(super) fn leave(&mut self, cycles_before: u64) -> bool {
        self.stack.pop().expect("a declaration is being resolved");
        self.cycles == cycles_before
    }

    pub(super) fn functions(&self, class: RecordId, using: NodeId) -> Option<Rc<[FnDeclId]>> {
        self.functions.get(&(class, using)).cloned()
    }

    pub(super) fn set_functions(&mut self, class: RecordId, using: NodeId, decls: Rc<[FnDeclId]>) {
        self.functions.insert((class, using), decls);
    }
}
