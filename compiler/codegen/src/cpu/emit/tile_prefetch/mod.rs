//! Prefetch of the next tile: what a loop around barriers reads in its next iteration.
//!
//! `queued` notes the addresses and spreads their prefetches over the products of this iteration; `immediate`
//! finds the addresses and, where nothing spreads them, prefetches on the spot.

mod immediate;
mod queued;

pub(super) use immediate::TileLoop;
pub(super) use queued::Walk;
