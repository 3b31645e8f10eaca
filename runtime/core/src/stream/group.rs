//! Groups of streams: the same device several times, work goes where least waits.
//!
//! Owns [`StreamGroup`]. Invariant: all its streams have the same options but their number in the label; a
//! submission's order is kept within its stream only, and dependencies order the rest.

use std::sync::atomic::{AtomicUsize, Ordering};

use anymetal_hal::error::DeviceError;

use crate::stream::context::Context;
use crate::stream::{Stream, StreamOptions};
use crate::submission::ExecError;

/// Several streams of one device.
#[derive(Debug)]
pub struct StreamGroup {
    streams: Vec<Stream>,
    turn: AtomicUsize,
}

impl StreamGroup {
    /// So many streams, at least one; `None`: as many as the device was measured to be worth.
    pub fn new(
        context: &Context,
        count: Option<usize>,
        options: &StreamOptions,
    ) -> Result<Self, DeviceError> {
        let count = match count {
            Some(count) => count.max(1),
            None => context.default_stream_count()?,
        };
        let stream = |number| {
            let label = format!("{}/{number}", options.label);
            context.stream(StreamOptions { label, ..options.clone() })
        };
        let streams = (0..count).map(stream).collect::<Result<_, _>>()?;
        Ok(StreamGroup { streams, turn: AtomicUsize::new(0) })
    }

    /// The streams.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The stream with the fewest submissions that have not ended; of several, each in its turn.
    pub fn least_loaded(&self) -> &Stream {
        let count = self.streams.len();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..count).map(|at| &self.streams[(turn + at) % count]);
        // The group has at least one stream.
        in_turn.min_by_key(|stream| stream.load()).unwrap_or(&self.streams[0])
    }

    /// Pauses all of them.
    pub fn pause(&self) {
        self.streams.iter().for_each(Stream::pause);
    }

    /// Resumes all of them.
    pub fn resume(&self) {
        self.streams.iter().for_each(Stream::resume);
    }

    /// Blocks until everything committed to any of them has ended.
    pub fn drain(&self) -> Result<(), ExecError> {
        self.streams.iter().try_for_each(Stream::drain)
    }
}
