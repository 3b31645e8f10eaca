//! Scalar replacement of aggregates: splits a local into one local per slice.
//!
//! A local qualifies if all its accesses are at constant offsets inside it and its address does not
//! escape. Its *slices* are the parts that are accessed as one: overlapping accesses share a
//! slice, which must then be a vector of which each access takes whole elements. Copies between
//! locals propagate slices from one to the other; a copy to other memory reads every byte, so bytes
//! without a slice get integer ones, unless it goes to a local whose address escapes. Each copy then
//! becomes loads and stores of the slices in its range. Other locals are not changed.

mod rewrite;
mod slices;

use anymetal_ir::Function;
use slices::partition;

/// Splits the locals of one function; returns whether anything changed.
pub fn sroa(function: &mut Function) -> bool {
    let partition = partition(function);
    if let Some(partition) = &partition {
        rewrite::rewrite(function, partition);
    }
    partition.is_some()
}
