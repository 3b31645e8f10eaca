//! The SIMD plan: how one thread's view of a kernel becomes 32 lanes.
//!
//! | what a plan has | module |
//! |---|---|
//! | variables that are values, and arrays interleaved by lane | [`storage`], [`liveness`] |
//! | what runs once per threadgroup, and what once per SIMD-group between barriers | [`group_level`], [`regions`] |
//! | how branches and loops run | [`constructs`] |
//! | strategies of loads and stores, with costs | [`access`] |
//! | loads that are done together | [`bundles`], [`stencil_rows`] |
//! | threadgroups in the interior of a picture, without checks | [`interior_path`], [`interior`], [`polynomial`] |
//! | loops whose accesses are tested before them | [`loop_predication`] |
//! | fragments of matrices | [`fragments`] |
//! | stores past the caches | [`nontemporal`] |
//! | whether lanes run along x or y | [`lane_order`] |
//!
//! Start with [`plan`]. Invariant: nothing here depends on LLVM.
#![forbid(unsafe_code)]

pub mod access;
pub mod bundles;
pub mod constructs;
mod cost;
pub mod facts;
pub mod float_range;
pub mod fragments;
pub mod group_level;
pub mod interior;
pub mod interior_path;
pub mod lane_order;
pub mod limits;
pub mod liveness;
pub mod loop_predication;
pub mod nontemporal;
pub mod plan;
pub mod polynomial;
pub mod regions;
pub mod stencil_rows;
pub mod storage;
pub mod target;
pub mod text;
