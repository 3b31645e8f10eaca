//! What the driver made for us and gets back: memory, streams, events, graphs.
//!
//! Invariant: each is given back once, when its owner goes; but not while a kernel that cannot be stopped may
//! still use it.

use std::sync::Arc;

use crate::device_shared::DeviceShared;
use crate::driver::{Allocation, DriverError, MemoryPlacement};

/// Memory of the device's own, which programs do not see.
#[derive(Debug)]
pub(crate) struct OwnedMemory {
    device: Arc<DeviceShared>,
    pub(crate) allocation: Allocation,
}

// SAFETY: all access to the memory goes through the driver or raw pointers whose users answer for races.
unsafe impl Send for OwnedMemory {}
// SAFETY: as above; no method reads or writes the bytes.
unsafe impl Sync for OwnedMemory {}

impl OwnedMemory {
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        bytes: u64,
        place: MemoryPlacement,
    ) -> Result<Self, DriverError> {
        let allocation = device.driver.allocate(bytes, place)?;
        Ok(OwnedMemory { device: Arc::clone(device), allocation })
    }

    pub(crate) fn address(&self) -> u64 {
        self.allocation.address
    }
}

impl Drop for OwnedMemory {
    fn drop(&mut self) {
        if !self.device.is_lost() {
            self.device.driver.free(self.allocation);
        }
    }
}

/// A stream.
#[derive(Debug)]
pub(crate) struct OwnedStream {
    device: Arc<DeviceShared>,
    pub(crate) number: u64,
}

impl OwnedStream {
    pub(crate) fn new(device: &Arc<DeviceShared>, priority: i32) -> Result<Self, DriverError> {
        let number = device.driver.create_stream(priority)?;
        Ok(OwnedStream { device: Arc::clone(device), number })
    }
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        self.device.driver.destroy_stream(self.number);
    }
}

/// An event of a stream, with its time.
#[derive(Debug)]
pub(crate) struct OwnedEvent {
    device: Arc<DeviceShared>,
    pub(crate) number: u64,
}

impl OwnedEvent {
    pub(crate) fn new(device: &Arc<DeviceShared>) -> Result<Self, DriverError> {
        let number = device.driver.create_event()?;
        Ok(OwnedEvent { device: Arc::clone(device), number })
    }
}

impl Drop for OwnedEvent {
    fn drop(&mut self) {
        self.device.driver.destroy_event(self.number);
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub(crate) struct OwnedGraph {
    device: Arc<DeviceShared>,
    pub(crate) number: u64,
}

impl OwnedGraph {
    /// Makes a graph of what `put` puts into the stream, which does not run.
    pub(crate) fn capture(
        device: &Arc<DeviceShared>,
        stream: u64,
        put: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<Self, DriverError> {
        device.driver.begin_capture(stream)?;
        let done = put();
        // A capture must end in any case: the stream is of no use meanwhile.
        let ended = device.driver.end_capture(stream);
        let graph = ended.map(|number| OwnedGraph { device: Arc::clone(device), number });
        done.and(graph)
    }
}

impl Drop for OwnedGraph {
    fn drop(&mut self) {
        if !self.device.is_lost() {
            self.device.driver.destroy_graph(self.number);
        }
    }
}
