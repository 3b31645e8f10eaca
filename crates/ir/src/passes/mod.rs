//! Transformations. Each takes a verified module and leaves a verified one.
//!
//! [`extract_kernel`], [`specialise()`] and [`inline()`] bring a module to the form that code
//! generators take: kernels without calls and function constants; [`mod@group_size`] fixes one more thing. [`mod@fold`], [`mod@split`], [`mod@pick`],
//! [`mod@forward`], [`mod@alike`], [`mod@choose`], [`mod@reuse`], [`mod@hoist`] and [`mod@dead`] make it small, [`mod@unroll`] turns small arrays into values; [`optimise`] runs them until nothing changes.
//! [`mod@fuse`] makes one kernel of several. [`mod@lift`] and [`mod@rejoin`] prepare for code generators that cut functions at barriers, [`mod@prefetch`] for
//! those that run one threadgroup after the other, [`mod@moves`], [`mod@pair`], [`mod@columns`], [`mod@sums`] and [`mod@advance`] for those that run
//! many threads at once.

mod address;
pub mod advance;
pub mod alike;
pub mod choose;
pub mod columns;
pub mod compact;
pub mod copy;
pub mod dead;
pub mod divisions;
pub mod extract;
pub mod fold;
pub mod forward;
pub mod fuse;
pub mod group_size;
pub mod hoist;
pub mod inline;
pub mod lift;
pub mod moves;
pub mod pair;
pub mod pick;
pub mod prefetch;
pub mod quotients;
pub mod rejoin;
mod returns;
pub mod reuse;
pub mod specialise;
pub mod split;
mod substitution;
pub mod sums;
pub mod unroll;

pub use extract::extract_kernel;
pub use inline::{InlineError, inline};
pub use specialise::{MissingConstant, SpecialiseError, specialise};

use crate::{Function, Module};

/// Rounds of [`optimise`]. Each round that matters enables the next by one more nested fact, so
/// few are needed; the bound keeps the cost linear.
const MAX_ROUNDS: usize = 8;

/// The rounds that may unroll loops: an inner loop first, then the one around it.
const UNROLL_ROUNDS: usize = 3;

/// Runs the passes that make code small or simple until nothing changes, in every function.
pub fn optimise(module: &mut Module) {
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        optimise_function(module, function);
    }
    module.functions = functions;
}

/// As [`optimise`], for one function. The module gives the constant data; its functions are not
/// looked at.
pub fn optimise_function(module: &Module, function: &mut Function) {
    for round in 0..MAX_ROUNDS {
        let mut changed = fold::fold(module, function);
        changed |= split::split(function);
        changed |= pick::pick(function);
        changed |= forward::forward(function);
        changed |= alike::alike(function);
        changed |= choose::choose(function);
        changed |= reuse::reuse(function);
        changed |= hoist::hoist(function);
        changed |= dead::dead(function);
        if round < UNROLL_ROUNDS {
            changed |= unroll::unroll(function);
        }
        compact::compact(function);
        if !changed {
            break;
        }
    }
}
