//! The SIMD plan: how one thread's view of a kernel becomes 32 lanes.
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
pub mod nontemporal;
pub mod plan;
pub mod polynomial;
pub mod regions;
pub mod stencil_rows;
pub mod storage;
pub mod target;
pub mod text;
