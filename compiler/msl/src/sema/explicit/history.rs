//! The explicit specialisations and instantiations of each entity so far.

use crate::ast::NodeId;
use crate::hir::{FuncId, RecordId};
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::TArg;
use crate::sema::scopes::ScopeId;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An entity that explicit specialisations and instantiations name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Entity {
    Class(RecordId),
    Function(FuncId),
    /// A variable: its declaration and scope, and the arguments of a template.
    Variable(NodeId, ScopeId, Rc<[TArg]>),
}

/// The effect of a declaration on an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Specialisation {
        is_definition: bool,
    },
    /// `template …;`
    Instantiation,
    /// `extern template …;`
    InstantiationDeclaration,
}

/// The declarations of one entity.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The first explicit specialisation.
    specialised: Option<Span>,
    defined: Option<Span>,
    instantiated: Option<Span>,
    /// The first `extern template`.
    declared: Option<Span>,
    /// An instantiation while the template had no definition.
    failed: bool,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(in crate::sema) struct History {
    states: FxHashMap<Entity, State>,
    /// The first specialisation of each function, and whether it is `constexpr`.
    functions: FxHashMap<FuncId, (Span, bool)>,
}

impl History {
    /// Records a declaration, and reports it if earlier declarations exclude it. `name` is the entity's, for
    /// messages.
    pub(super) fn add(
        &mut self,
        diagnostics: &mut Diagnostics,
        entity: Entity,
        event: Event,
        name: &str,
        span: Span,
    ) {
        let state = self.states.entry(entity).or_default();
        let mut note = "the other declaration is here";
        let problem = match event {
            Event::Specialisation { is_definition } => {
                let problem = state.excludes_specialisation(is_definition, name);
                if problem
                    .as_ref()
                    .is_some_and(|(at, _)| [state.instantiated, state.declared].contains(&Some(*at)))
                {
                    note = "explicit instantiation first required here";
                }
                state.specialised.get_or_insert(span);
                // Instantiations before have no effect any more.
                (state.instantiated, state.declared) = (None, None);
                if is_definition {
                    state.defined.get_or_insert(span);
                }
                problem
            }
            Event::Instantiation => {
                let problem = state
                    .instantiated
                    .map(|at| (at, format!("duplicate explicit instantiation of `{name}`")));
                state.instantiated.get_or_insert(span);
                problem
            }
            Event::InstantiationDeclaration => {
                state.declared.get_or_insert(span);
                state.instantiated.map(|at| {
                    let message = "explicit instantiation declaration (with `extern`) follows explicit \
                                   instantiation definition (without `extern`)";
                    (at, message.to_owned())
                })
            }
        };
        if let Some((earlier, message)) = problem {
            let diagnostic = Diagnostic::error("explicit-instantiation", span, message);
            diagnostics.report(diagnostic.with_note(earlier, note));
        }
    }

    /// Records a specialisation of a function; the first one, and whether that is `constexpr`, if this is
    /// another.
    pub(super) fn first_of(&mut self, func: FuncId, span: Span, is_constexpr: bool) -> Option<(Span, bool)> {
        let known = self.functions.get(&func).copied();
        self.functions.entry(func).or_insert((span, is_constexpr));
        known
    }

    /// Whether the entity is instantiated explicitly so far; the declaration.
    pub(super) fn instantiated(&self, entity: &Entity) -> Option<Span> {
        self.states.get(entity).and_then(|state| state.instantiated)
    }

    /// Records that an entity was instantiated without a definition; false if that is known.
    pub(super) fn fail(&mut self, entity: &Entity) -> bool {
        !std::mem::replace(&mut self.states.entry(entity.clone()).or_default().failed, true)
    }

    /// The functions that are specialised explicitly, each with its first specialisation, in the order of the
    /// source.
    pub(super) fn specialised_functions(&self) -> Vec<(FuncId, Span)> {
        #[allow(clippy::iter_over_hash_type, reason = "sorted right below")]
        let mut all: Vec<(FuncId, Span)> = self
            .states
            .iter()
            .filter_map(|(entity, state)| match entity {
                Entity::Function(func) => state.specialised.map(|span| (*func, span)),
                Entity::Class(_) | Entity::Variable(..) => None,
            })
            .collect();
        all.sort_by_key(|(_, span)| (span.file, span.lo));
        all
    }

    /// Whether no explicit specialisation or instantiation of the entity is known.
    pub(super) fn is_new(&self, entity: &Entity) -> bool {
        self.states.get(entity).is_none_or(|state| {
            state.specialised.is_none() && state.instantiated.is_none() && state.declared.is_none()
        })
    }

    /// Whether the entity is specialised explicitly so far.
    pub(super) fn is_specialised(&self, entity: &Entity) -> bool {
        self.states.get(entity).is_some_and(|state| state.specialised.is_some())
    }
}

impl State {
    fn excludes_specialisation(&self, is_definition: bool, name: &str) -> Option<(Span, String)> {
        if is_definition && let Some(earlier) = self.defined {
            return Some((earlier, format!("redefinition of `{name}`")));
        }
        // Instantiations after the first specialisation have no effect.
        let has_effect = self.specialised.is_none() && !self.failed;
        let earlier = self.instantiated.or(self.declared).filter(|_| has_effect)?;
        Some((earlier, format!("explicit specialization of `{name}` after instantiation")))
    }
}
