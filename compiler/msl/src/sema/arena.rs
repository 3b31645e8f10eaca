//! Syntax that a check makes up and that must live as long as the check: the `operator()` of lambdas, lists
//! with their packs expanded.

use crate::ast::{Function, InitClause, NodeId, TemplateParam, TemplateParams};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

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
    fn keep(
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
    fn keep_clauses(&self, clauses: Vec<InitClause>) -> &[InitClause] {
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

/// A function that is made from a lambda or a constructor, with its template parameters.
type MadeFunction<'a> = (&'a Function, Option<&'a TemplateParams>);

/// The syntax that one check makes up, each made once.
#[derive(Debug)]
pub(super) struct MadeSyntax<'a> {
    arena: &'a Arena,
    /// Lists with packs, by their first clause and the lengths of the packs.
    lists: FxHashMap<(NodeId, Rc<[usize]>), &'a [InitClause]>,
    lambdas: FxHashMap<NodeId, MadeFunction<'a>>,
    /// The parameters of a class template and a constructor template of it together, by the constructor.
    guides: FxHashMap<NodeId, &'a [TemplateParam]>,
}

impl<'a> MadeSyntax<'a> {
    pub(super) fn new(arena: &'a Arena) -> Self {
        Self {
            arena,
            lists: FxHashMap::default(),
            lambdas: FxHashMap::default(),
            guides: FxHashMap::default(),
        }
    }

    /// The `operator()` of a lambda, if it exists.
    pub(super) fn lambda(&self, id: NodeId) -> Option<MadeFunction<'a>> {
        self.lambdas.get(&id).copied()
    }

    pub(super) fn add_lambda(
        &mut self,
        id: NodeId,
        function: Function,
        template: Option<TemplateParams>,
    ) -> MadeFunction<'a> {
        let made = self.arena.keep(function, template);
        self.lambdas.insert(id, made);
        made
    }

    /// The list that begins with this clause, with its packs of these lengths written out, if it exists.
    pub(super) fn list(&self, first: NodeId, lengths: &Rc<[usize]>) -> Option<&'a [InitClause]> {
        self.lists.get(&(first, lengths.clone())).copied()
    }

    pub(super) fn add_list(
        &mut self,
        first: NodeId,
        lengths: Rc<[usize]>,
        clauses: Vec<InitClause>,
    ) -> &'a [InitClause] {
        let kept = self.arena.keep_clauses(clauses);
        self.lists.insert((first, lengths), kept);
        kept
    }

    /// The template parameters of a constructor template as a deduction guide: `make` returns a function
    /// without a body and its parameters.
    pub(super) fn guide(
        &mut self,
        constructor: NodeId,
        make: impl FnOnce() -> (Function, TemplateParams),
    ) -> &'a [TemplateParam] {
        self.guides.entry(constructor).or_insert_with(|| {
            let (function, params) = make();
            let (_, kept) = self.arena.keep(function, Some(params));
            kept.map_or(&[], |kept| &kept.params)
        })
    }
}
