//! The pipelines of one kernel written in Rust.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::Error;
use crate::pipeline::Pipeline;

/// Most pipelines of one kernel. A program has few devices, and few instances of a generic kernel.
const MAX_PIPELINES: usize = 64;

/// The latest pipelines of one kernel, by device and by its type arguments.
#[derive(Debug)]
pub struct Pipelines {
    made: Mutex<Vec<(Device, &'static str, Pipeline)>>,
}

impl Pipelines {
    /// None so far.
    #[must_use]
    pub const fn new() -> Self {
        Self { made: Mutex::new(Vec::new()) }
    }

    /// The pipeline on the device for one instance of a generic kernel, compiled when it is first asked for.
    ///
    /// # Errors
    /// Those of the compiler.
    pub fn get(
        &self,
        device: &Device,
        instance: &'static str,
        kernel: &str,
        source: impl FnOnce() -> String,
    ) -> Result<Pipeline, Error> {
        let find = || {
            let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let is_it = |(on, of, _): &&(Device, &str, Pipeline)| *of == instance && on.is_same(device);
            made.iter().find(is_it).map(|(.., pipeline)| pipeline.clone())
        };
        if let Some(pipeline) = find() {
            return Ok(pipeline);
        }
        // Not under the lock: two threads may both compile, and the compiler's cache makes that cheap.
        let pipeline = device.library_from_source(&source())?.pipeline(kernel)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // A pipeline keeps its device alive, so old ones must not collect.
        let oldest = (made.len() == MAX_PIPELINES).then(|| made.remove(0));
        made.push((device.clone(), instance, pipeline.clone()));
        drop(made);
        drop(oldest);
        Ok(pipeline)
    }
}

impl Default for Pipelines {
    fn default() -> Self {
        Self::new()
    }
}
