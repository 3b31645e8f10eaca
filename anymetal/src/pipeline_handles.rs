//! Handles of pipelines, by which encoded commands name them.
//!
//! Invariant: a handle is of one pipeline for the process's life, and of none once that is gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, Weak};

use crate::pipeline::{Pipeline, Shared};

static PIPELINES: Mutex<BTreeMap<u64, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// A handle; dropping it, with its pipeline, takes it out of the table.
#[derive(Debug)]
pub(crate) struct PipelineHandle(u64);

impl PipelineHandle {
    /// A new handle for a pipeline.
    pub(crate) fn new(pipeline: Weak<Shared>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        PIPELINES.lock().unwrap_or_else(PoisonError::into_inner).insert(handle, pipeline);
        PipelineHandle(handle)
    }

    /// The number.
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Drop for PipelineHandle {
    fn drop(&mut self) {
        PIPELINES.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// The pipeline with that handle.
pub(crate) fn find(handle: u64) -> Option<Pipeline> {
    // The lock is not held while a pipeline ends.
    let found = PIPELINES.lock().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned();
    found?.upgrade().map(Pipeline::of)
}
