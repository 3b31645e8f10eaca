//! The execution context of a device: what its streams share.
//!
//! Owns [`Context`]: device, clock, event pool, history, trace, and the measured default number of streams.
//! Invariant: the clock is the only source of time. Start at [`Context::new`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::{BufferFill, Command, CommandList};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_telemetry::collect::{Collect, Sums, add_collector};
use anymetal_telemetry::names::metrics as names;
use anymetal_telemetry::record;

use crate::event::{Event, EventPool};
use crate::history::History;
use crate::observe::device::DeviceSeries;
use crate::observe::{KernelSlot, backend};
use crate::stream::{Stream, StreamCore, StreamOptions};
use crate::trace::{DEFAULT_COMMANDS, Trace};

/// How many streams the measurement tries.
const TRIED_STREAMS: [usize; 4] = [1, 2, 4, 8];
/// What each of them fills, so often, in the measurement.
const MEASURED_BYTES: u64 = 256 * 1024;
const MEASURED_FILLS: usize = 16;
/// So often.
const MEASURED_ROUNDS: usize = 5;
/// The fewest streams whose time is within this factor of the best are chosen.
const ALMOST_BEST: f64 = 1.1;

/// A queue of the measurement, and what it fills.
type MeasuredQueue = (Arc<dyn Queue>, Arc<dyn Buffer>);

/// What the streams of a device share. Clones are the same context.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: EventPool,
    pub(crate) history: Option<History>,
    trace: OnceLock<Trace>,
    streams: AtomicU32,
    measured: OnceLock<usize>,
    series: OnceLock<DeviceSeries>,
    live_streams: Mutex<Vec<Weak<StreamCore>>>,
}

impl Collect for Inner {
    fn collect(&self, sums: &mut Sums) {
        let live: Vec<_> = {
            let live = self.live_streams.lock().unwrap_or_else(PoisonError::into_inner);
            live.iter().filter_map(Weak::upgrade).collect()
        };
        let device = [self.device.name()];
        sums.add(&names::STREAMS, &device, live.len() as f64);
        for stream in live {
            let (load, in_flight) = stream.counts();
            sums.add(&names::COMMAND_BUFFERS_IN_FLIGHT, &device, in_flight as f64);
            sums.add(&names::COMMAND_BUFFERS_WAITING, &device, load.saturating_sub(in_flight) as f64);
        }
    }
}

impl Context {
    /// A context by real time without a history.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Context::with(device, SystemClock::shared(), None)
    }

    /// A context with a clock and, if wanted, a history.
    pub fn with(device: Arc<dyn Device>, clock: Arc<dyn Clock>, history: Option<History>) -> Self {
        let events = EventPool::new(Arc::clone(&device));
        let inner = Inner {
            device,
            clock,
            events,
            history,
            trace: OnceLock::new(),
            streams: AtomicU32::new(0),
            measured: OnceLock::new(),
            series: OnceLock::new(),
            live_streams: Mutex::default(),
        };
        let inner = Arc::new(inner);
        let collector: Arc<dyn Collect> = Arc::<Inner>::clone(&inner);
        add_collector(Arc::downgrade(&collector));
        Context { inner }
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.inner.device
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The history, if there is one.
    pub fn history(&self) -> Option<&History> {
        self.inner.history.as_ref()
    }

    /// Starts a trace of everything that streams of this context are given from now on, or gives the one that
    /// was started. It ends with the context, and keeps the latest 131,072 commands.
    pub fn start_trace(&self) -> Trace {
        self.start_trace_with_capacity(DEFAULT_COMMANDS)
    }

    /// As [`Context::start_trace`], with the latest `commands` commands, and at least one submission. A trace
    /// that was started before keeps its own number.
    pub fn start_trace_with_capacity(&self, commands: usize) -> Trace {
        let started = || Trace::bounded(Arc::clone(&self.inner.device), commands);
        self.inner.trace.get_or_init(started).clone()
    }

    /// The trace, if one was started.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.inner.trace.get()
    }

    /// A stream.
    pub fn stream(&self, options: StreamOptions) -> Result<Stream, DeviceError> {
        Stream::new(self, options)
    }

    /// Makes a kernel of the artifact ready to run, and notes in the history where its code is from, so that
    /// what runs it can be replayed.
    pub fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let pipeline = self.inner.device.pipeline(artifact, kernel)?;
        if let Some(history) = &self.inner.history {
            history.note_pipeline(&pipeline, artifact);
        }
        if let Some(attachment) = pipeline.attachment() {
            attachment.get_or_init(|| KernelSlot::of(artifact));
        }
        record::pipeline_created(self.inner.device.name(), backend(artifact));
        Ok(pipeline)
    }

    /// An event from the pool, with the value 0.
    pub fn event(&self) -> Result<Event, DeviceError> {
        self.inner.events.event()
    }

    /// The events of this context.
    pub fn events(&self) -> &EventPool {
        &self.inner.events
    }

    /// What submissions record in. Only to be called while there is a recorder.
    pub(crate) fn series(&self) -> &DeviceSeries {
        self.inner.series.get_or_init(|| DeviceSeries::new(self.inner.device.name()))
    }

    /// Counts a stream among the live ones.
    pub(crate) fn note_stream(&self, stream: &Arc<StreamCore>) {
        let mut live = self.inner.live_streams.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|stream| stream.strong_count() > 0);
        live.push(Arc::downgrade(stream));
    }

    pub(crate) fn next_stream_number(&self) -> u32 {
        self.inner.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// How many streams this device is worth: measured once, with fills of separate buffers on 1, 2, 4 and 8
    /// queues; the fewest that are about as fast as the fastest.
    pub fn default_stream_count(&self) -> Result<usize, DeviceError> {
        if let Some(measured) = self.inner.measured.get() {
            return Ok(*measured);
        }
        let device = &self.inner.device;
        let queues = (0..TRIED_STREAMS[TRIED_STREAMS.len() - 1]).map(|_| {
            let queue = device.queue(&QueueDescriptor::default())?;
            Ok((queue, device.buffer(&BufferDescriptor::shared(MEASURED_BYTES))?))
        });
        let queues = queues.collect::<Result<Vec<MeasuredQueue>, DeviceError>>()?;
        let mut least = TRIED_STREAMS.map(|_| Duration::MAX);
        // In turns, so that a busy moment of the machine hits all alike.
        for _ in 0..MEASURED_ROUNDS {
            for (streams, least) in TRIED_STREAMS.into_iter().zip(&mut least) {
                *least = (*least).min(self.time_of(&queues, streams)?);
            }
        }
        let best = least.iter().min().copied().unwrap_or_default().mul_f64(ALMOST_BEST);
        let fewest = TRIED_STREAMS.into_iter().zip(least).find(|(_, time)| *time <= best);
        let fewest = fewest.map_or(1, |(streams, _)| streams);
        Ok(*self.inner.measured.get_or_init(|| fewest))
    }

    /// The time of the same work on the first so many queues.
    fn time_of(&self, queues: &[MeasuredQueue], streams: usize) -> Result<Duration, DeviceError> {
        let start = self.inner.clock.now();
        let mut ends = Vec::new();
        for turn in 0..queues.len() {
            let (queue, buffer) = &queues[turn % streams];
            let fill = || BufferFill::new(Arc::clone(buffer), 0..MEASURED_BYTES, 0).map(Command::Fill);
            let commands = (0..MEASURED_FILLS).map(|_| fill()).collect::<Result<_, _>>()?;
            ends.push(queue.submit(CommandList::new(commands))?);
        }
        for end in ends {
            end.wait()?;
        }
        Ok(self.inner.clock.now().saturating_sub(start))
    }
}
