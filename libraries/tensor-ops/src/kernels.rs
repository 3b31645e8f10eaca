//! The sources of all kernels, and the pipelines made of them so far.
//!
//! Owns [`Source`], [`Defines`] and [`Kernels`]. Invariant: a kernel is compiled once for each set
//! of macros; the macros say types and functions, so that a pipeline is one instance of its
//! family's template.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::memory::{CacheLimit, CacheOwner, CacheUsage, LruMap, register_caches};
use anymetal::{CompileOptions, Device, Library, LibraryDescriptor, MathMode, Pipeline};

use crate::error::OpError;

/// What every source begins with.
const PRELUDE: &str =
    concat!(include_str!("kernels/prelude.metal"), "\n", include_str!("kernels/activation.metal"));

/// The most operands that the prelude's structure of a layout is of.
pub(crate) const MAX_OPERANDS: usize = 4;

/// One family's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Attention,
    Conv,
    Creation,
    Elementwise,
    Index,
    Matmul,
    Norm,
    Pool,
    Quantised,
    Reduce,
    Softmax,
    Sort,
}

impl Source {
    /// The name of its file, and the text.
    fn file(self) -> (&'static str, &'static str) {
        macro_rules! file {
            ($name:literal) => {
                (concat!($name, ".metal"), include_str!(concat!("kernels/", $name, ".metal")))
            };
        }
        match self {
            Source::Attention => file!("attention"),
            Source::Conv => file!("conv"),
            Source::Creation => file!("creation"),
            Source::Elementwise => (
                "elementwise.metal",
                concat!(
                    include_str!("kernels/elementwise_functions.metal"),
                    "\n",
                    include_str!("kernels/elementwise.metal")
                ),
            ),
            Source::Index => file!("index"),
            Source::Matmul => file!("matmul"),
            Source::Norm => file!("norm"),
            Source::Pool => file!("pool"),
            Source::Quantised => file!("quantised"),
            Source::Reduce => file!("reduce"),
            Source::Softmax => file!("softmax"),
            Source::Sort => file!("sort"),
        }
    }

    /// Sums may be reassociated; elementwise functions are as written, which their accuracy needs.
    fn math_mode(self) -> MathMode {
        match self {
            Source::Attention
            | Source::Creation
            | Source::Elementwise
            | Source::Index
            | Source::Pool
            | Source::Quantised
            | Source::Sort => MathMode::Safe,
            Source::Conv | Source::Matmul | Source::Norm | Source::Reduce | Source::Softmax => {
                MathMode::Relaxed
            }
        }
    }
}

/// Macros that make an instance of a family's template.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Defines {
    values: BTreeMap<&'static str, String>,
}

impl Defines {
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.values.insert(name, value.to_string());
        self
    }

    /// These and those.
    pub(crate) fn and(mut self, others: Defines) -> Self {
        self.values.extend(others.values);
        self
    }
}

/// Most pipelines of each kind that a context keeps: programs use tens.
const MAX_PIPELINES: usize = 1024;

/// The pipelines of a context.
#[derive(Debug)]
pub(crate) struct Kernels {
    device: String,
    made: Mutex<LruMap<(Source, &'static str, Defines), Pipeline>>,
    fused: Mutex<LruMap<(String, Defines), Pipeline>>,
}

impl CacheOwner for Kernels {
    fn usage(&self, into: &mut Vec<CacheUsage>) {
        let mut list = |name, entries: usize, bytes: usize| {
            let limit = CacheLimit::Entries(MAX_PIPELINES as u64);
            let usage = CacheUsage::new(name, self.device.clone(), limit);
            into.push(usage.entries(entries as u64).bytes(bytes as u64));
        };
        // Their code is in the device's account.
        let made = lock(&self.made).len();
        list("pipelines of tensor operations", made, 0);
        let fused = lock(&self.fused);
        let text = fused.keys().map(|(source, _)| source.len()).sum();
        list("fused pipelines of tensor operations", fused.len(), text);
    }

    fn trim(&self) {
        let made = std::mem::replace(&mut *lock(&self.made), LruMap::new(MAX_PIPELINES));
        let fused = std::mem::replace(&mut *lock(&self.fused), LruMap::new(MAX_PIPELINES));
        // Outside the locks, because the device may unload their code.
        drop((made, fused));
    }
}

fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernels {
    /// No pipelines, listed among the device's caches.
    pub(crate) fn new(device: &Device) -> Arc<Self> {
        let kernels = Arc::new(Kernels {
            device: device.name().to_owned(),
            made: Mutex::new(LruMap::new(MAX_PIPELINES)),
            fused: Mutex::new(LruMap::new(MAX_PIPELINES)),
        });
        let caches: Arc<dyn CacheOwner> = Arc::<Kernels>::clone(&kernels);
        register_caches(Arc::downgrade(&caches));
        kernels
    }

    /// The pipeline of a kernel, made now if it is not there.
    pub(crate) fn pipeline(
        &self,
        device: &Device,
        source: Source,
        kernel: &'static str,
        defines: Defines,
    ) -> Result<Pipeline, OpError> {
        let key = (source, kernel, defines);
        let mut made = lock(&self.made);
        if let Some(found) = made.get(&key) {
            return Ok(found.clone());
        }
        let (name, text) = source.file();
        let library = library(device, (name, text), &key.2, source.math_mode())?;
        let pipeline = library.pipeline(kernel)?;
        let displaced = made.insert(key, pipeline.clone());
        drop(made);
        drop(displaced);
        Ok(pipeline)
    }

    /// The pipeline of the kernel `fused` of a source that is not a family's; its functions are elementwise.
    pub(crate) fn fused(
        &self,
        device: &Device,
        source: String,
        defines: Defines,
    ) -> Result<Pipeline, OpError> {
        let key = (source, defines);
        let mut made = lock(&self.fused);
        if let Some(found) = made.get(&key) {
            return Ok(found.clone());
        }
        let file = ("fused.metal", &*key.0);
        let pipeline = library(device, file, &key.1, Source::Elementwise.math_mode())?.pipeline("fused")?;
        let displaced = made.insert(key, pipeline.clone());
        drop(made);
        drop(displaced);
        Ok(pipeline)
    }
}

/// A source, by the name of its file and its text, with the prelude and those macros.
fn library(
    device: &Device,
    (name, text): (&str, &str),
    defines: &Defines,
    math_mode: MathMode,
) -> Result<Library, OpError> {
    let macros = defines.values.iter().map(|(name, value)| ((*name).to_owned(), Some(value.clone())));
    let options = CompileOptions::new().file_name(name).defines(macros).math_mode(math_mode);
    Ok(device.create_library(
        &LibraryDescriptor::from_source(&format!("{PRELUDE}\n#line 1\n{text}")).options(&options),
    )?)
}
