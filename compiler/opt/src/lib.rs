//! Transformations. Each takes a verified module and leaves a verified one.
//!
//! [`pipeline`] says which run for which target and in which order, [`manager`] runs them,
//! `docs/reference/passes.md` lists them. Each pass is a file or folder of its name.

#![forbid(unsafe_code)]

mod address;
pub mod alias_versioning;
mod block_values;
pub mod bool_copies;
pub mod compact;
pub mod copy;
pub mod dce;
pub mod div_rem_pairs;
pub mod early_cse;
pub mod excess_precision;
pub mod extract;
pub mod feature;
pub mod fold;
mod forward_copies;
pub mod fuse;
pub mod group_size;
pub mod hoist_divergent_barriers;
pub mod if_convert;
pub mod inline;
pub mod interleave_sums;
pub mod licm;
pub mod limits;
pub mod link;
pub mod localize_divergent_exits;
pub mod manager;
pub mod mem2reg;
pub mod merge_stores;
pub mod pass_options;
pub mod pipeline;
pub mod prefetch;
pub mod promote_loop_accesses;
pub mod reciprocal_root;
pub mod reg2mem;
pub mod remark;
mod returns;
mod rewrite_blocks;
pub mod row_blocks;
pub mod scalarize;
pub mod selective_inline;
pub mod simdgroup_barriers;
pub mod specialise;
pub mod speculate_select_loads;
pub mod sroa;
mod substitution;
pub mod uniform_div_versioning;
pub mod unroll;

pub use extract::extract_kernel;
pub use feature::Feature;
pub use inline::{InlineError, inline};
pub use link::{LinkError, link};
pub use manager::{Pass, PassContext, PassManager, Step, current_pass};
pub use pass_options::{Level, PassOptions};
pub use pipeline::{PrepareError, PrepareOptions, prepare, prepare_unchanged};
pub use remark::{Remark, RemarkId, RemarkKind, RemarkValue};
pub use selective_inline::{KeptCalls, inline_selectively};
pub use specialise::{MissingConstant, SpecialiseError, specialise};

use anymetal_ir::Module;

/// Runs the simplification passes over every function until nothing changes.
pub fn optimise(module: &mut Module) {
    pipeline::simplify(module, &mut PassManager::default());
}
