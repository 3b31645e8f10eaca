//! Syntax that a check makes up and that must live as long as the check: the `operator()` of lambdas, lists
//! with their packs expanded.

use crate::ast::{Function, InitClause, TemplateParams};
use std::cell::{Cell, OnceCell};

/// An append-only list whose elements never move.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Each chunk has twice the capacity of the previous chunk.
    chunks: [OnceCell<Box<[OnceCell<Kept>]>>; 32],
    len: Cell<usize>,
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
        let position = self.len.get() + 1;
        let chunk = position.ilog2() as usize;
        let first = 1 << chunk;
        self.len.set(position);
        let slots = self.chunks[chunk].get_or_init(|| (0..first).map(|_| OnceCell::new()).collect());
        slots[position - first].get_or_init(|| kept)
    }
}
