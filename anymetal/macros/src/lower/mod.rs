//! Rust's syntax to [`crate::hir`]: everything that device code cannot do is refused here, with the way out.
//!
//! | file | lowers |
//! |---|---|
//! | `stmt` | statements, loops, `match` |
//! | `expr` | expressions |
//! | `calls` | functions and constants by path |
//! | `methods` | methods of numbers and atomics |

mod calls;
mod expr;
mod methods;
mod stmt;

pub(crate) use expr::strip_cast;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;

use crate::hir::Stmt;
use crate::names::Scopes;
use crate::types::{Inference, Type};

/// What a function needs from elsewhere, by name.
#[derive(Default, Debug)]
pub(crate) struct Needs {
    /// Functions with `#[device_fn]`.
    pub(crate) functions: BTreeMap<String, syn::Path>,
    /// Structures.
    pub(crate) types: BTreeMap<String, syn::Path>,
    /// Constants.
    pub(crate) constants: BTreeMap<String, syn::Path>,
    /// Parameters whose length is asked for.
    pub(crate) lengths: BTreeSet<String>,
    /// What only devices can do, where it is done first.
    pub(crate) device_only: Option<Span>,
}

/// A sum or product of types that this macro cannot see: the host's code asserts that they are as wide as
/// C++ computes.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The address of the expression's syntax.
    pub(crate) expr: usize,
    pub(crate) operand: Type,
}

/// The state of lowering one function.
#[derive(Default, Debug)]
pub(crate) struct Lowering {
    pub(crate) inference: Inference,
    pub(crate) scopes: Scopes,
    pub(crate) needs: Needs,
    pub(crate) guards: Vec<Guard>,
    /// Type parameters and constants of the function itself.
    pub(crate) generics: BTreeSet<String>,
    /// Of a device function.
    pub(crate) result: Option<Type>,
    pub(crate) errors: Vec<syn::Error>,
    /// Variables in MSL that Rust declares as `mut`.
    pub(crate) mutable: BTreeSet<String>,
    /// Variables that are declared without a value, whose type must be known in the end.
    pub(crate) untyped: Vec<(Type, Span)>,
    /// Structures that are written as literals.
    pub(crate) literals: BTreeSet<String>,
}

/// An error at some syntax.
fn refuse<T>(at: impl quote::ToTokens, what: impl std::fmt::Display) -> syn::Result<T> {
    Err(syn::Error::new_spanned(at, what))
}

impl Lowering {
    /// The body of a function, whose last expression is its result.
    pub(crate) fn body(&mut self, block: &syn::Block) -> Vec<Stmt> {
        let dest = if self.result.is_some() { stmt::Dest::Return } else { stmt::Dest::Nothing };
        self.block(block, &dest)
    }

    /// Keeps an error and goes on after it.
    fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn device_only(&mut self, span: Span) {
        self.needs.device_only.get_or_insert(span);
    }

    /// Notes the structures that a type names.
    pub(crate) fn note_type(&mut self, ty: &Type) {
        match ty {
            Type::Array(element, length) => {
                self.note_type(element);
                if length.parse::<u64>().is_err() {
                    self.note_constant(length);
                }
            }
            Type::Slice(element, _) => self.note_type(element),
            Type::Named(name) if !self.generics.contains(name) => {
                let ident = syn::Ident::new(name, Span::call_site());
                self.needs.types.insert(name.clone(), ident.into());
            }
            _ => {}
        }
    }

    fn note_constant(&mut self, name: &str) {
        if !self.generics.contains(name) {
            let ident = syn::Ident::new(name, Span::call_site());
            self.needs.constants.insert(name.to_owned(), ident.into());
        }
    }
}
