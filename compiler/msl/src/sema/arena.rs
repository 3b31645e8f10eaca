//! Syntax that a check makes up and that must live as long as the check: the `operator()` of lambdas, lists
//! with their packs expanded.

use crate::ast::{Function, InitClause, TemplateParams};
use std::cell::OnceCell;

/// An append-only list whose elements never move.
#[derive(Debug, Default)]
pub(super) struct Arena {
    first: OnceCell<Box<Node>>,
}

#[derive(Debug)]
struct Node {
    kept: Kept,
    next: OnceCell<Box<Node>>,
}

#[derive(Debug)]
enum Kept {
    Function(Box<Function>, Option<TemplateParams>),
    Clauses(Vec<InitClause>),
}

impl Arena {
    /// Keeps a function for as long as the arena lives.
    pub(super) fn keep(
        &self,
        function: Function,
        template: Option<TemplateParams>,
    ) -> (&Function, Option<&TemplateParams>) {
        match self.push(Kept::Function(Box::new(function), template)) {
            Kept::Function(function, template) => (function, template.as_ref()),
            Kept::Clauses(_) => unreachable!("a function was kept"),
        }
    }

    /// Keeps the clauses of a list for as long as the arena lives.
    pub(super) fn keep_clauses(&self, clauses: Vec<InitClause>) -> &[InitClause] {
        match self.push(Kept::Clauses(clauses)) {
            Kept::Clauses(clauses) => clauses,
            Kept::Function(..) => unreachable!("clauses were kept"),
        }
    }

    fn push(&self, kept: Kept) -> &Kept {
        let mut slot = &self.first;
        while let Some(node) = slot.get() {
            slot = &node.next;
        }
        &slot.get_or_init(|| Box::new(Node { kept, next: OnceCell::new() })).kept
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // One by one, since the list may be long.
        let mut next = self.first.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}
