//! Elementwise operations as LLVM text, the same for one value and for a vector of lanes.
//!
//! Shared by the code generators: [`Width`] says how many elements, `arith` has arithmetic and comparisons,
//! `cast` conversions, `constant` constants.

pub(crate) mod arith;
pub(crate) mod cast;
mod constant;
mod width;

pub(crate) use constant::constant;
pub(crate) use width::Width;
