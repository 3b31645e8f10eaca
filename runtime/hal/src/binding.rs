//! What is bound to the arguments of a dispatch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::buffer::Buffer;

/// Something bound to a buffer argument.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Binding {
    /// The Metal index.
    pub index: u32,
    /// What is bound.
    pub resource: BoundResource,
}

impl Binding {
    /// Binds a resource to the argument of that Metal index.
    pub fn new(index: u32, resource: BoundResource) -> Self {
        Binding { index, resource }
    }
}

/// What is bound to a buffer argument.
///
/// Exhaustive, like [`crate::command::Command`]: a device must handle every kind of resource.
#[derive(Debug, Clone)]
pub enum BoundResource {
    /// A buffer from an offset on.
    Buffer {
        /// The buffer.
        buffer: Arc<dyn Buffer>,
        /// The first byte.
        offset: u64,
        /// The bytes bound; `None`: to the buffer's end.
        length: Option<u64>,
    },
    /// Bytes copied into the command buffer, as Metal's `setBytes`.
    Bytes(Vec<u8>),
    /// Nothing, on purpose; any access faults.
    Unbound,
}

impl BoundResource {
    /// The bytes of the buffer before what is bound.
    pub fn offset(&self) -> u64 {
        match self {
            BoundResource::Buffer { offset, .. } => *offset,
            BoundResource::Bytes(_) | BoundResource::Unbound => 0,
        }
    }
}

/// The length of a dynamic threadgroup memory argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadgroupMemory {
    /// The Metal index.
    pub index: u32,
    /// Its bytes.
    pub length: u64,
}

impl ThreadgroupMemory {
    /// `length` bytes for the argument of that Metal index.
    pub fn new(index: u32, length: u64) -> Self {
        ThreadgroupMemory { index, length }
    }
}
