//! One life of a device: from when it was made, or rebuilt, to its loss.
//!
//! Owns [`Generation`]: the device with its queues, pipelines and graphs, all of which end with it.
//! Invariant: after [`Generation::end`] no new copy of a buffer is placed on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anymetal::error::DeviceError;
use anymetal::{Device, Error, Pipeline, Queue};
use anymetal_hal::sync::lock;

use super::error::ManagerError;
use super::gate::{AdmissionQueue, Pass, StreamUse};
use super::graph::BuiltGraph;

#[derive(Debug)]
pub(super) struct Generation {
    slot: usize,
    name: Arc<str>,
    number: u64,
    device: Device,
    ended: AtomicBool,
    /// Locked while results are noted, so that a loss is before or after all of them.
    noting: Mutex<()>,
    /// As many enter as there are streams.
    streams: Arc<AdmissionQueue<StreamUse>>,
    /// The queues that nothing runs on.
    idle: Mutex<Vec<Queue>>,
    /// By the numbers of their kernels.
    pipelines: Mutex<BTreeMap<u64, Pipeline>>,
    /// By their numbers.
    graphs: Mutex<BTreeMap<u64, Arc<BuiltGraph>>>,
}

impl Generation {
    pub(super) fn new(
        slot: usize,
        name: &Arc<str>,
        number: u64,
        device: Device,
        streams: usize,
    ) -> Arc<Self> {
        Arc::new(Generation {
            slot,
            name: Arc::clone(name),
            number,
            device,
            ended: AtomicBool::new(false),
            noting: Mutex::default(),
            streams: AdmissionQueue::new(streams),
            idle: Mutex::default(),
            pipelines: Mutex::default(),
            graphs: Mutex::default(),
        })
    }

    /// The number of its slot.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn streams(&self) -> &Arc<AdmissionQueue<StreamUse>> {
        &self.streams
    }

    /// The device is lost. What was made with it goes when the last attempt on it has ended.
    pub(super) fn end(&self) {
        {
            let _between_results = lock(&self.noting);
            self.ended.store(true, Ordering::SeqCst);
        }
        let pipelines = std::mem::take(&mut *lock(&self.pipelines));
        let graphs = std::mem::take(&mut *lock(&self.graphs));
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop((pipelines, graphs, idle));
    }

    /// Notes the results of one execution, unless the device is lost.
    pub(super) fn while_alive<R>(&self, note: impl FnOnce() -> R) -> Option<R> {
        let _no_loss = lock(&self.noting);
        (!self.has_ended()).then(note)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(super) fn lost_error(&self) -> DeviceError {
        let reason = "it was lost while it was in use".to_owned();
        DeviceError::DeviceLost { device: self.name.to_string(), reason }
    }

    /// The queue of an attempt that is inside the gate.
    pub(super) fn stream(self: &Arc<Self>, pass: Pass<StreamUse>) -> Result<StreamLease, Error> {
        let idle = lock(&self.idle).pop();
        let queue = match idle {
            Some(queue) => queue,
            None => self.device.queue()?,
        };
        Ok(StreamLease { generation: Arc::clone(self), queue, _pass: pass })
    }

    /// The pipeline of that number, made if it is not there. Two that make it at once get the same
    /// code from the compiler's cache.
    pub(super) fn pipeline(
        &self,
        kernel: u64,
        make: impl FnOnce(&Device) -> Result<Pipeline, Error>,
    ) -> Result<Pipeline, Error> {
        if let Some(known) = lock(&self.pipelines).get(&kernel) {
            return Ok(known.clone());
        }
        let made = make(&self.device)?;
        if !self.has_ended() {
            lock(&self.pipelines).insert(kernel, made.clone());
        }
        Ok(made)
    }

    /// The threadgroup sizes that a kernel has code for.
    pub(super) fn group_sizes(&self, kernel: u64) -> Vec<[u32; 3]> {
        let known = lock(&self.pipelines).get(&kernel).cloned();
        known.map_or_else(Vec::new, |pipeline| pipeline.compiled_group_sizes())
    }

    /// The same of all kernels, by their numbers.
    pub(super) fn all_group_sizes(&self) -> Vec<(u64, Vec<[u32; 3]>)> {
        let known: Vec<_> =
            lock(&self.pipelines).iter().map(|(kernel, pipeline)| (*kernel, pipeline.clone())).collect();
        known.into_iter().map(|(kernel, pipeline)| (kernel, pipeline.compiled_group_sizes())).collect()
    }

    /// The graph of that number, made if it is not there or does not fit.
    pub(super) fn graph(
        &self,
        graph: u64,
        fits: impl FnOnce(&BuiltGraph) -> bool,
        make: impl FnOnce() -> Result<BuiltGraph, ManagerError>,
    ) -> Result<Arc<BuiltGraph>, ManagerError> {
        let known = lock(&self.graphs).get(&graph).cloned();
        if let Some(known) = known.filter(|known| fits(known)) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        if !self.has_ended() {
            let before = lock(&self.graphs).insert(graph, Arc::clone(&made));
            drop(before);
        }
        Ok(made)
    }

    /// Forgets what was made for a kernel or graph that is gone.
    pub(super) fn forget(&self, number: u64) {
        let pipeline = lock(&self.pipelines).remove(&number);
        let graph = lock(&self.graphs).remove(&number);
        drop((pipeline, graph));
    }
}

/// A queue that only one attempt uses; it goes back when this is dropped.
pub(super) struct StreamLease {
    generation: Arc<Generation>,
    queue: Queue,
    _pass: Pass<StreamUse>,
}

impl StreamLease {
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }
}

impl Drop for StreamLease {
    fn drop(&mut self) {
        // A queue that still has work, as after a hang, is not used again.
        if !self.generation.has_ended() && self.queue.in_flight() == 0 {
            lock(&self.generation.idle).push(self.queue.clone());
        }
    }
}
