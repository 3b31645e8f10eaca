//! What nodes work on: fixed buffers and parameters, and ranges of them.
//!
//! Owns [`ResourceId`], [`ResourceRange`] and the table behind them. Invariant: every range is within its
//! resource (checked when a node is added), and two ranges overlap only if [`Table::place`] says so: fixed
//! buffers are compared by identity, and a parameter without a buffer shares bytes with nothing else. Once it
//! has one, the overlaps are looked at again.

use std::ops::Range;
use std::sync::Arc;

use anymetal_hal::buffer::Buffer;

use crate::memory::view::BufferView;

/// Names a resource of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId {
    pub(crate) graph: u64,
    pub(crate) index: u32,
}

impl ResourceId {
    /// Bytes of it.
    pub fn range(self, range: Range<u64>) -> ResourceRange {
        let length = range.end.saturating_sub(range.start);
        ResourceRange { resource: self, offset: range.start, length: Some(length) }
    }
}

/// Names inline bytes that may change from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BytesId {
    pub(crate) graph: u64,
    pub(crate) index: u32,
}

/// Bytes of a resource. A [`ResourceId`] alone stands for all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceRange {
    pub(crate) resource: ResourceId,
    pub(crate) offset: u64,
    /// `None`: to the resource's end.
    pub(crate) length: Option<u64>,
}

impl From<ResourceId> for ResourceRange {
    fn from(resource: ResourceId) -> Self {
        ResourceRange { resource, offset: 0, length: None }
    }
}

/// A checked range: a resource's index and bytes within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) resource: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Bytes {
    pub(crate) fn end(self) -> u64 {
        self.offset + self.length
    }
}

/// One resource.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) name: String,
    pub(crate) length: u64,
    /// Whether its buffer may be set.
    pub(crate) is_parameter: bool,
    pub(crate) view: Option<BufferView>,
}

/// Inline bytes that may change.
#[derive(Debug, Clone)]
pub(crate) struct InlineBytes {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// All resources of a graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) resources: Vec<Resource>,
    pub(crate) inline: Vec<InlineBytes>,
}

/// Where bytes are, so far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    /// A buffer, by its address.
    Buffer(usize),
    /// A parameter without a buffer.
    Parameter(u32),
}

/// Bytes in their home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ByteRange {
    pub(crate) home: Home,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl ByteRange {
    /// Whether both share a byte.
    pub(crate) fn overlaps(&self, other: &ByteRange) -> bool {
        self.home == other.home
            && self.start < other.end
            && other.start < self.end
            && self.start < self.end
            && other.start < other.end
    }
}

impl Table {
    pub(crate) fn resource(&self, bytes: Bytes) -> &Resource {
        &self.resources[bytes.resource as usize]
    }

    /// Where bytes are.
    pub(crate) fn place(&self, bytes: Bytes) -> ByteRange {
        let (home, first) = match &self.resource(bytes).view {
            Some(view) => (Home::Buffer(address(view.buffer())), view.offset()),
            None => (Home::Parameter(bytes.resource), 0),
        };
        ByteRange { home, start: first + bytes.offset, end: first + bytes.end() }
    }

    /// The buffer behind bytes and where they start in it.
    pub(crate) fn buffer(&self, bytes: Bytes) -> Option<(&Arc<dyn Buffer>, u64)> {
        let view = self.resource(bytes).view.as_ref()?;
        Some((view.buffer(), view.offset() + bytes.offset))
    }

    /// Whether two different resources share bytes.
    pub(crate) fn has_aliases(&self) -> bool {
        let whole = |(index, resource): (usize, &Resource)| {
            self.place(Bytes { resource: index as u32, offset: 0, length: resource.length })
        };
        let mut places: Vec<ByteRange> = self.resources.iter().enumerate().map(whole).collect();
        places.retain(|place| place.start < place.end);
        places.sort_unstable();
        let mut reached: Option<ByteRange> = None;
        places.into_iter().any(|place| {
            let shared = reached.is_some_and(|before| before.home == place.home && place.start < before.end);
            // Sorted by start, so the furthest end decides.
            let end = match reached {
                Some(before) if before.home == place.home => before.end.max(place.end),
                _ => place.end,
            };
            reached = Some(ByteRange { end, ..place });
            shared
        })
    }
}

fn address(buffer: &Arc<dyn Buffer>) -> usize {
    Arc::as_ptr(buffer).cast::<()>() as usize
}
