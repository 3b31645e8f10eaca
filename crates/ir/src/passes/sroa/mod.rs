//! Splits aggregates in locals into one local per part ("scalar replacement").
//!
//! A local qualifies if all its accesses are at constant offsets inside it and its address goes
//! nowhere else. Its *cells* are the parts that are accessed as one: overlapping accesses share a
//! cell, which must then be a vector of which each access takes whole elements. Copies between
//! locals spread cells from one to the other; a copy to other memory reads every byte, so bytes
//! without a cell get integer ones. Each copy then becomes loads and stores of the cells in its
//! range. What does not fit this picture stays as it is.

mod rewrite;
mod slices;

use crate::Function;
use slices::partition;

/// Longer copies and zero fills stay as they are, and so do the locals they touch.
const MAX_COPY: u64 = 256;

/// Locals with more cells stay as they are.
const MAX_CELLS: usize = 64;

/// Splits the locals of one function; returns whether anything changed.
pub fn sroa(function: &mut Function) -> bool {
    let Some(partition) = partition(function) else { return false };
    rewrite::rewrite(function, &partition);
    true
}
