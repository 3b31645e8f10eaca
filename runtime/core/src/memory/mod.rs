//! Memory above the device: where buffers live, how they are reused, bounded and listed.
//!
//! - [`mode`] decides the storage mode from what a buffer is for, and says why.
//! - [`pool`] uses buffers again, by size class; [`budget`] bounds all pools of a device and trims them under
//!   pressure; a [`crate::tenant::Tenant`] bounds each of those who share a device.
//! - [`allocator`] makes buffers and heaps outside the pool, counted alike.
//! - [`view`] cuts ranges out of buffers and copies and fills them.
//! - [`staging`] uploads through a ring of host-visible memory.
//! - [`host_link`] copies between two devices that have no way of their own to each other.
//! - [`registry`] lists what lives.
//!
//! Invariant of the whole module: what is refused has had no effect, and what is counted is given back when
//! its owner is dropped, so totals return to zero.

pub mod allocator;
mod backtrace;
pub mod budget;
mod error;
pub mod host_link;
pub mod mode;
#[cfg(all(test, loom))]
mod models;
pub mod pool;
pub mod registry;
mod size_class;
pub mod staging;
#[cfg(test)]
pub(crate) mod test_device;
pub mod view;

pub use backtrace::Backtrace;
pub use error::MemoryError;
