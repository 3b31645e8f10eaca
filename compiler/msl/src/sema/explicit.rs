//! Explicit specialisations and explicit instantiations, in a check of everything (C++14 [temp.expl.spec],
//! [temp.explicit]).
//!
//! The declarations are checked in the order of the source. [`History`] has those before, which decide what
//! may follow: an entity is instantiated explicitly once, and specialised before it is instantiated.

mod history;
mod instantiation;
mod partial;
mod place;
mod specialisation;
mod uses;

pub(super) use history::History;
pub(super) use instantiation::check as check_instantiation;
pub(super) use partial::check as check_partial;
pub(super) use place::{check_definition, needs_head};
pub(super) use specialisation::check as check_specialisation;
pub(super) use uses::check as check_uses;
