//! The execution context of a device: what its streams share.
//!
//! Owns [`Context`]: device, clock, event pool, history, and the measured default number of streams. Invariant:
//! the clock is the only source of time. Start at [`Context::new`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::{BufferFill, Command, Submission};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::QueueDescriptor;

use crate::event::{Event, EventPool};
use crate::history::History;
use crate::stream::{Stream, StreamOptions};

/// How many streams the measurement tries.
const TRIED_STREAMS: [usize; 4] = [1, 2, 4, 8];
/// What each of them fills, so often, in the measurement.
const MEASURED_BYTES: u64 = 256 * 1024;
const MEASURED_FILLS: usize = 16;
/// More streams must be faster than this share of the time of fewer.
const WORTH_IT: f64 = 0.93;

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
    streams: AtomicU32,
    measured: OnceLock<usize>,
}

impl Context {
    /// A context by real time without a history.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Context::with(device, SystemClock::shared(), None)
    }

    /// A context with a clock and, if wanted, a history.
    pub fn with(device: Arc<dyn Device>, clock: Arc<dyn Clock>, history: Option<History>) -> Self {
        let events = EventPool::new(Arc::clone(&device));
        let (streams, measured) = (AtomicU32::new(0), OnceLock::new());
        Context { inner: Arc::new(Inner { device, clock, events, history, streams, measured }) }
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

    /// A stream.
    pub fn stream(&self, options: StreamOptions) -> Result<Stream, DeviceError> {
        Stream::new(self, options)
    }

    /// An event from the pool, with the value 0.
    pub fn event(&self) -> Result<Event, DeviceError> {
        self.inner.events.event()
    }

    /// The events of this context.
    pub fn events(&self) -> &EventPool {
        &self.inner.events
    }

    pub(crate) fn next_stream_number(&self) -> u32 {
        self.inner.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// How many streams this device is worth: measured once, with fills of private buffers on 1, 2, 4 and 8
    /// queues; more are chosen only where they are faster.
    pub fn default_stream_count(&self) -> Result<usize, DeviceError> {
        if let Some(measured) = self.inner.measured.get() {
            return Ok(*measured);
        }
        let (mut best, mut best_time) = (1, self.time_of(1)?);
        for streams in TRIED_STREAMS.into_iter().skip(1) {
            let time = self.time_of(streams)?;
            if time.as_secs_f64() < best_time.as_secs_f64() * WORTH_IT {
                (best, best_time) = (streams, time);
            }
        }
        Ok(*self.inner.measured.get_or_init(|| best))
    }

    /// The least time of three for the same work on so many queues.
    fn time_of(&self, queues: usize) -> Result<Duration, DeviceError> {
        let device = &self.inner.device;
        let mut lanes = Vec::new();
        for _ in 0..queues {
            let queue = device.queue(&QueueDescriptor::default())?;
            lanes.push((queue, device.buffer(&BufferDescriptor::shared(MEASURED_BYTES))?));
        }
        let mut least = Duration::MAX;
        for _ in 0..3 {
            let start = self.inner.clock.now();
            let mut ends = Vec::new();
            for turn in 0..TRIED_STREAMS[TRIED_STREAMS.len() - 1] {
                let (queue, buffer) = &lanes[turn % queues];
                let fill =
                    || BufferFill { buffer: Arc::clone(buffer), offset: 0, length: MEASURED_BYTES, value: 0 };
                let commands = (0..MEASURED_FILLS).map(|_| Command::Fill(fill())).collect();
                ends.push(queue.submit(Submission { commands, ..Submission::default() })?);
            }
            for end in ends {
                end.wait()?;
            }
            least = least.min(self.inner.clock.now().saturating_sub(start));
        }
        Ok(least)
    }
}
