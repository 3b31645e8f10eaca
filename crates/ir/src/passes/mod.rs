//! Transformations. Each takes a verified module and leaves a verified one.
//!
//! [`extract_kernel`], [`specialise()`] and [`inline()`] bring a module to the form that code
//! generators take: kernels without calls and function constants; [`mod@group_size`] fixes one more thing. [`mod@fold`], [`mod@sroa`], [`mod@speculate_select_loads`],
//! [`mod@mem2reg`], [`mod@hoist_common_code`], [`mod@if_convert`], [`mod@early_cse`], [`mod@licm`] and [`mod@dce`] make it small, [`mod@unroll`] turns small arrays into values; [`optimise`] runs them until nothing changes.
//! [`mod@fuse`] makes one kernel of several. [`mod@hoist_divergent_barriers`] and [`mod@localize_divergent_exits`] prepare for code generators that cut functions at barriers, [`mod@prefetch`] for
//! those that run one threadgroup after the other, [`mod@memcpy_idiom`], [`mod@merge_stores`], [`mod@separable_filter`], [`mod@split_accumulators`] and [`mod@schedule_long_latency`] for those that run
//! many threads at once.

mod address;
pub mod compact;
pub mod copy;
pub mod dce;
pub mod div_rem_pairs;
pub mod early_cse;
pub mod extract;
pub mod fold;
pub mod fuse;
pub mod group_size;
pub mod hoist_common_code;
pub mod hoist_divergent_barriers;
pub mod if_convert;
pub mod inline;
pub mod licm;
pub mod localize_divergent_exits;
pub mod mem2reg;
pub mod memcpy_idiom;
pub mod merge_stores;
pub mod prefetch;
mod returns;
pub mod schedule_long_latency;
pub mod separable_filter;
pub mod specialise;
pub mod speculate_select_loads;
pub mod split_accumulators;
pub mod sroa;
mod substitution;
pub mod uniform_div_versioning;
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
        changed |= sroa::sroa(function);
        changed |= speculate_select_loads::speculate_select_loads(function);
        changed |= mem2reg::mem2reg(function);
        changed |= hoist_common_code::hoist_common_code(function);
        changed |= if_convert::if_convert(function);
        changed |= early_cse::early_cse(function);
        changed |= licm::licm(function);
        changed |= dce::dce(function);
        if round < UNROLL_ROUNDS {
            changed |= unroll::unroll(function);
        }
        compact::compact(function);
        if !changed {
            break;
        }
    }
}
