//! Threadgroup sizes by measuring.
//!
//! [`Queue::tune`] measures a launch with several threadgroup sizes and keeps the fastest in this machine's
//! [`database`]. From then on launches of that kernel, over grids of the same class, have that size if they
//! name none: in this process, and in later ones, because the database is a file beside compiled kernels
//! (`ANYMETAL_CACHE`). Where there is no such folder it lasts as long as the process.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::Device;
//!
//! let device = Device::system_default()?;
//! let library = device.library_from_source(
//!     "kernel void twice(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }",
//! )?;
//! let (twice, y) = (library.pipeline("twice")?, device.buffer_zeroed::<f32>(10_000)?);
//! let queue = device.queue()?;
//! let tuned = queue.tune(&twice).run(|launch| launch.arg(&y).threads(10_000))?;
//! println!("{:?} is {:.2} times as fast as {:?}", tuned.best().size, tuned.speedup(), tuned.default().size);
//! queue.launch(&twice).arg(&y).threads(9_999).submit()?.wait()?; // with the size that was found
//! # Ok(())
//! # }
//! ```

mod candidates;
mod database;
mod search;
mod shape;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::Duration;

use anymetal_driver::CacheConfig;
use anymetal_hal::command::Grid;

pub use candidates::{SizeLimits, candidates, default_group_size};
pub use database::{Database, DatabaseError, Entry, Key, SetAside};
pub use search::{Outcome as Tuned, Samples, SearchOptions, Trial, Verdict, search};
pub use shape::ShapeClass;

use crate::error::Error;
use crate::launch::Launch;
use crate::notice::{self, NoticeKind};
use crate::pipeline::Pipeline;
use crate::queue::Queue;

/// The name of the database's file in the folder of compiled kernels.
const FILE_NAME: &str = "tuning.json";

/// This machine's database. A file that cannot be used is set aside, with a [`crate::notice::Notice`].
pub fn database() -> &'static Database {
    static DATABASE: OnceLock<Database> = OnceLock::new();
    DATABASE.get_or_init(|| {
        let Some(folder) = CacheConfig::from_environment().folder else { return Database::in_memory() };
        match Database::open(&folder.join(FILE_NAME)) {
            Ok((database, None)) => database,
            Ok((database, Some(aside))) => {
                let (path, reason) = (aside.path.display(), aside.reason);
                let message =
                    format!("the tuning database starts empty; the old one is {path} now: {reason}");
                notice::emit(NoticeKind::Tuning, message);
                database
            }
            Err(error) => {
                notice::emit(NoticeKind::Tuning, format!("{error}; what tuning finds ends with the process"));
                Database::in_memory()
            }
        }
    })
}

/// What tuning found for one kernel on one device.
#[derive(Debug, Default)]
pub(crate) struct TunedSizes {
    kernel: String,
    /// Empty: nothing is looked up.
    fingerprint: String,
    device: String,
    /// Whether there is any, so that launches without pay nothing.
    any: AtomicBool,
    sizes: RwLock<Vec<(ShapeClass, [u32; 3])>>,
}

impl TunedSizes {
    /// Of a kernel that is not tuned.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// What the database knows.
    pub(crate) fn of(kernel: &str, fingerprint: String, device: &str) -> Self {
        let sizes = database().sizes(kernel, &fingerprint, device);
        Self {
            kernel: kernel.to_owned(),
            fingerprint,
            device: device.to_owned(),
            any: AtomicBool::new(!sizes.is_empty()),
            sizes: RwLock::new(sizes),
        }
    }

    /// The size for a grid of threads, if one was found that the kernel allows.
    pub(crate) fn size(&self, threads: [u32; 3], dimensions: usize, limit: u32) -> Option<[u32; 3]> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let class = ShapeClass::of(threads, dimensions);
        let sizes = self.sizes.read().unwrap_or_else(PoisonError::into_inner);
        let (_, size) = sizes.iter().find(|(known, _)| *known == class)?;
        let fits = size
            .iter()
            .try_fold(1u32, |product, &axis| product.checked_mul(axis))
            .is_some_and(|n| n <= limit);
        fits.then_some(*size)
    }

    fn is_tunable(&self) -> bool {
        !self.fingerprint.is_empty()
    }

    fn keep(&self, shape: ShapeClass, entry: Entry) {
        let mut sizes = self.sizes.write().unwrap_or_else(PoisonError::into_inner);
        sizes.retain(|(known, _)| *known != shape);
        sizes.push((shape, entry.size));
        drop(sizes);
        self.any.store(true, Ordering::Release);
        let (kernel, fingerprint, device) =
            (self.kernel.clone(), self.fingerprint.clone(), self.device.clone());
        if let Err(error) = database().insert(Key { kernel, fingerprint, device, shape }, entry) {
            notice::emit(
                NoticeKind::Tuning,
                format!("{error}; the size that was found ends with the process"),
            );
        }
    }
}

/// A search in the making: [`Queue::tune`].
#[must_use = "nothing is measured before `run`"]
pub struct Tuning<'a> {
    queue: &'a Queue,
    pipeline: &'a Pipeline,
    options: SearchOptions,
    check: Option<Box<dyn FnMut() -> Result<(), String> + 'a>>,
}

impl std::fmt::Debug for Tuning<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tuning").field("pipeline", &self.pipeline.label()).finish_non_exhaustive()
    }
}

impl<'a> Tuning<'a> {
    pub(crate) fn new(queue: &'a Queue, pipeline: &'a Pipeline) -> Self {
        Self { queue, pipeline, options: SearchOptions::default(), check: None }
    }

    /// The sum of launches' times after which the search ends.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.options.budget = budget;
        self
    }

    /// All that a search can be told.
    pub fn options(mut self, options: SearchOptions) -> Self {
        self.options = options;
        self
    }

    /// Called after each launch: whether its result is right; an error takes the size out. For kernels whose
    /// result may depend on the threadgroup size, such as those with threadgroup arrays of a fixed length.
    pub fn check(mut self, check: impl FnMut() -> Result<(), String> + 'a) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Measures. The launch that the closure completes runs many times, each time from what its buffers hold
    /// then; its threadgroup size is not used. Code is made for each size before it is measured.
    ///
    /// # Errors
    /// Of the launch with the default size; a kernel that demands a size, or that cannot be compiled for one
    /// (interpreted, sanitized or loaded as an artifact), and a grid in threadgroups are
    /// [`Error::NotTunable`].
    pub fn run(mut self, launch: impl for<'l> Fn(Launch<'l>) -> Launch<'l>) -> Result<Tuned, Error> {
        let (threads, dimensions) = self.grid(&launch)?;
        let kernel = self.pipeline.kernel();
        let limits = SizeLimits::from(self.pipeline.device().capabilities());
        let sizes = candidates(threads, dimensions, kernel, limits);
        let mut failed = None;
        let (options, mut pipelines) = (self.options, BTreeMap::new());
        let measure = |size| {
            self.measure(&mut pipelines, &launch, size).map_err(|error| {
                let text = error.to_string();
                failed.get_or_insert(error);
                text
            })
        };
        let found = search(&sizes, &options, measure);
        let tuned = found.map_err(|reason| {
            let reason = reason.unwrap_or_else(|| "no size was measured".to_owned());
            failed.unwrap_or_else(|| self.refuse(reason))
        })?;
        self.pipeline.tuned().keep(ShapeClass::of(threads, dimensions), tuned.entry());
        Ok(tuned)
    }

    fn grid(&self, launch: &impl for<'l> Fn(Launch<'l>) -> Launch<'l>) -> Result<([u32; 3], usize), Error> {
        let kernel = self.pipeline.kernel();
        if let Some([x, y, z]) = kernel.required_threads_per_threadgroup {
            return Err(self.refuse(format!("it demands threadgroups of {x}x{y}x{z}")));
        }
        if !self.pipeline.tuned().is_tunable() {
            return Err(self.refuse("it is interpreted, sanitized or compiled before".to_owned()));
        }
        match launch(self.queue.launch(self.pipeline)).grid_given() {
            Some((Grid::Threads(threads), dimensions)) => Ok((threads, dimensions)),
            Some((Grid::Threadgroups(_), _)) => {
                Err(self.refuse("its grid counts threadgroups, so that their size is part of it".to_owned()))
            }
            None => Err(Error::NoGrid { kernel: kernel.name.clone() }),
        }
    }

    fn refuse(&self, reason: String) -> Error {
        Error::NotTunable { kernel: self.pipeline.name().to_owned(), reason }
    }

    /// The time of one launch on the device. Each size has a pipeline of its own, because one has code for a
    /// few sizes only; the first launch of a size is not measured.
    fn measure(
        &mut self,
        pipelines: &mut BTreeMap<[u32; 3], Pipeline>,
        launch: &impl for<'l> Fn(Launch<'l>) -> Launch<'l>,
        size: [u32; 3],
    ) -> Result<Duration, Error> {
        let time = |pipeline: &Pipeline| {
            let submission = launch(self.queue.launch(pipeline)).group_size(size).submit()?;
            Ok::<_, Error>(submission.wait()?.device_time())
        };
        let pipeline = match pipelines.entry(size) {
            Slot::Occupied(made) => made.into_mut(),
            Slot::Vacant(place) => {
                let made = self.pipeline.again()?;
                time(&made)?;
                place.insert(made)
            }
        };
        let time = time(pipeline)?;
        match self.check.as_mut().map(|check| check()) {
            None | Some(Ok(())) => Ok(time),
            Some(Err(reason)) => Err(self.refuse(reason)),
        }
    }
}
