//! Metal's compute classes over the `anymetal` crate.
//!
//! Each class holds a handle of `anymetal`'s and translates. Mistakes that Metal's validation layer
//! stops a program for raise a failure with the rule in words ([`violation`]); what can fail
//! without a mistake gives an `NSError` with Metal's domain and code ([`errors`]).
//!
//! Objects may be used from several threads: what can change is behind locks.

pub(crate) mod allocation;
pub(crate) mod archive;
pub(crate) mod argument_descriptor;
pub(crate) mod argument_encoder;
pub(crate) mod binding;
pub(crate) mod blit_encoder;
pub(crate) mod buffer;
pub(crate) mod capture;
mod code_service;
pub(crate) mod command_buffer;
mod commands;
pub(crate) mod compile_options;
pub(crate) mod compute_encoder;
pub(crate) mod constants;
pub(crate) mod counters;
mod data_type;
pub(crate) mod descriptor;
mod descriptor_array;
pub(crate) mod descriptors;
pub(crate) mod device;
pub(crate) mod devices;
pub(crate) mod dispatches;
mod encoded;
pub(crate) mod errors;
pub(crate) mod event;
pub(crate) mod event_listener;
pub(crate) mod functions;
pub(crate) mod heap;
pub(crate) mod indirect;
mod io_compression;
pub(crate) mod label;
pub(crate) mod library;
pub(crate) mod log_state;
mod packed_source;
pub(crate) mod pass;
pub(crate) mod pipeline;
mod pixel_format;
mod protocols;
pub(crate) mod queue;
pub(crate) mod render_encoder;
pub(crate) mod render_pass;
pub(crate) mod render_pipeline;
pub(crate) mod residency;
pub(crate) mod resource_options;
pub(crate) mod sampler;
pub(crate) mod size;
pub(crate) mod stage_input;
pub(crate) mod swizzle;
pub(crate) mod texture;
mod texture_bindings;
mod texture_blit;
pub(crate) mod texture_descriptor;
mod texture_make;
mod texture_memory;
mod used;
mod worker;

#[cfg(test)]
mod tests;

use crate::foundation::Range;
use crate::runtime::raise;

/// Stops a program that breaks a rule of Metal's, with the method and the rule.
#[track_caller]
pub(crate) fn violation(method: &str, rule: impl std::fmt::Display) -> ! {
    raise(&format!("-[{method}]: failed assertion: {rule}"))
}

/// The indices of a range; a failure if one is not below the limit.
#[track_caller]
pub(crate) fn checked_range(method: &str, range: Range, limit: usize) -> std::ops::Range<usize> {
    range.within(limit).unwrap_or_else(|| {
        let Range { location, length } = range;
        violation(method, format_args!("the range of {length} from {location} is not within {limit} indices"))
    })
}
