//! The staging ring: host-visible memory through which bytes are uploaded to buffers the host cannot see.
//!
//! Owns [`StagingRing`] and [`UploadBatch`]. A batch copies bytes into the ring and encodes the copies out of
//! it; submitting the batch ties those ring bytes to the submission, and they are written again only after it
//! has ended. A batch that is dropped gives its bytes back at once: its commands go with it, so nothing can
//! read them any more. On a device with memory of its own the ring is page-locked, since shared storage is.
//!
//! Invariant: the bytes of chunks that are being filled or in flight never overlap. Concurrency: `state` is
//! behind one lock; bytes are written outside it, into a chunk that only its batch knows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{BufferCopy, Command};
use anymetal_hal::completion::{Completion, CompletionSource, Timing};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;

use crate::memory::error::MemoryError;
use crate::memory::view::BufferView;
use crate::stream::Stream;
use crate::submission::{CommittedCommands, ExecError, Outcome};
use crate::sync::{Mutex, lock};

/// Each chunk starts at a multiple of this: what the strictest copy engines want.
const ALIGNMENT: u64 = 256;

/// A ring of host-visible memory. Clones are handles to the same ring.
#[derive(Clone)]
pub struct StagingRing {
    shared: Arc<RingShared>,
}

struct RingShared {
    buffer: Arc<dyn Buffer>,
    state: Mutex<RingState>,
}

#[derive(Default)]
struct RingState {
    /// The chunks in the order of their making; the oldest is at the front.
    chunks: VecDeque<RingChunk>,
    /// The number of the chunk at the front.
    first: u64,
    /// Where the next chunk starts.
    next: u64,
}

struct RingChunk {
    start: u64,
    end: u64,
    stage: Stage,
}

enum Stage {
    /// Its batch has not been submitted.
    Filling,
    /// Until this has ended.
    InFlight(Completion),
    /// Nobody needs it any more.
    Over,
}

impl Stage {
    fn is_over(&self) -> bool {
        match self {
            Stage::Filling => false,
            Stage::InFlight(completion) => completion.is_done(),
            Stage::Over => true,
        }
    }
}

impl RingState {
    /// Takes a chunk of that many bytes, at least one; without room, says how many bytes are free.
    fn take(&mut self, length: u64, capacity: u64) -> Result<(u64, u64), u64> {
        while self.chunks.front().is_some_and(|chunk| chunk.stage.is_over()) {
            self.chunks.pop_front();
            self.first += 1;
        }
        let start = self.place(length, capacity).ok_or_else(|| self.free(capacity))?;
        let end = start + length;
        self.next = end.next_multiple_of(ALIGNMENT);
        self.chunks.push_back(RingChunk { start, end, stage: Stage::Filling });
        Ok((self.first + self.chunks.len() as u64 - 1, start))
    }

    /// Where a chunk fits: behind the newest, or at the start again, never over the oldest.
    fn place(&self, length: u64, capacity: u64) -> Option<u64> {
        let fits = |start: u64, end: u64| start.checked_add(length).is_some_and(|last| last <= end);
        let (Some(oldest), Some(newest)) = (self.chunks.front(), self.chunks.back()) else {
            return fits(0, capacity).then_some(0);
        };
        // No chunk is empty, so only a chunk that began again at the start is before the oldest.
        if newest.start < oldest.start {
            return fits(self.next, oldest.start).then_some(self.next);
        }
        if fits(self.next, capacity) {
            return Some(self.next);
        }
        fits(0, oldest.start).then_some(0)
    }

    fn free(&self, capacity: u64) -> u64 {
        capacity - self.chunks.iter().map(|chunk| chunk.end - chunk.start).sum::<u64>()
    }

    fn set(&mut self, number: u64, stage: Stage) {
        let position = number.checked_sub(self.first).and_then(|position| usize::try_from(position).ok());
        if let Some(chunk) = position.and_then(|position| self.chunks.get_mut(position)) {
            chunk.stage = stage;
        }
    }
}

impl StagingRing {
    /// A ring of that many bytes.
    pub fn new(device: &dyn Device, capacity: u64) -> Result<Self, MemoryError> {
        let label = "staging ring".to_owned();
        Ok(StagingRing::in_buffer(device.buffer(&BufferDescriptor::shared(capacity).label(label))?))
    }

    /// A ring in the memory of a buffer.
    pub fn in_buffer(buffer: Arc<dyn Buffer>) -> Self {
        StagingRing { shared: Arc::new(RingShared { buffer, state: Mutex::default() }) }
    }

    /// Begins a batch of uploads that are submitted together.
    pub fn batch(&self) -> UploadBatch {
        UploadBatch { shared: Arc::clone(&self.shared), commands: Vec::new(), chunks: Vec::new(), bytes: 0 }
    }

    /// The ring's bytes.
    pub fn capacity(&self) -> u64 {
        self.shared.buffer.length()
    }

    /// The submission that must end before the oldest bytes are free; to wait for when the ring is full.
    pub fn oldest_in_flight(&self) -> Option<Completion> {
        let state = lock(&self.shared.state);
        state.chunks.iter().find_map(|chunk| match &chunk.stage {
            Stage::InFlight(completion) if !completion.is_done() => Some(completion.clone()),
            Stage::InFlight(_) | Stage::Filling | Stage::Over => None,
        })
    }
}

/// Uploads that are submitted together.
pub struct UploadBatch {
    shared: Arc<RingShared>,
    commands: Vec<Command>,
    chunks: Vec<u64>,
    /// The bytes of the ring that it takes.
    bytes: u64,
}

impl UploadBatch {
    /// Adds an upload: the bytes are taken now, and reach the destination when the batch runs.
    pub fn upload(&mut self, bytes: &[u8], destination: &BufferView) -> Result<(), MemoryError> {
        let (length, capacity) = (bytes.len() as u64, self.shared.buffer.length());
        if length != destination.length() {
            let destination_len = destination.length();
            return Err(MemoryError::CopyLengths { source_len: length, destination_len });
        }
        if length > capacity {
            return Err(MemoryError::RingTooSmall { requested: length, capacity });
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let (chunk, source_offset) = lock(&self.shared.state)
            .take(length, capacity)
            .map_err(|free| MemoryError::RingFull { requested: length, free, capacity })?;
        self.chunks.push(chunk);
        self.bytes += length;
        self.shared.buffer.write(source_offset, bytes)?;
        let (source, target) = (Arc::clone(&self.shared.buffer), Arc::clone(destination.buffer()));
        let range = source_offset..source_offset + length;
        let copy = BufferCopy::new(source, range, target, destination.offset())?;
        self.commands.push(Command::Copy(copy));
        Ok(())
    }

    /// Hands the commands to `submit`, which may add others behind them and gives them to a queue. The ring's
    /// bytes are free again when the submission has ended, or at once if it is refused.
    pub fn submit(
        mut self,
        submit: impl FnOnce(Vec<Command>) -> Result<Completion, DeviceError>,
    ) -> Result<Completion, MemoryError> {
        let completion = submit(std::mem::take(&mut self.commands))?;
        let mut state = lock(&self.shared.state);
        for chunk in std::mem::take(&mut self.chunks) {
            state.set(chunk, Stage::InFlight(completion.clone()));
        }
        drop(state);
        Ok(completion)
    }

    /// Commits the uploads to a stream, to run after other work has ended well too. The ring's bytes are free
    /// again when the submission has ended, however, or at once if there is no place in the stream. Until
    /// then they are charged to the stream's tenant.
    pub fn commit(
        mut self,
        stream: &Stream,
        after: Option<&CommittedCommands>,
    ) -> Result<CommittedCommands, ExecError> {
        let tenant = stream.options().tenant.as_ref();
        let charge = tenant.map(|tenant| tenant.charge_bytes(self.bytes)).transpose()?;
        let mut command_buffer = stream.command_buffer()?.label("upload");
        command_buffer.set_commands(std::mem::take(&mut self.commands));
        command_buffer.set_staging_charge(charge);
        if let Some(after) = after {
            command_buffer = command_buffer.after(after);
        }
        let source = CompletionSource::new(None);
        let mut state = lock(&self.shared.state);
        for chunk in std::mem::take(&mut self.chunks) {
            state.set(chunk, Stage::InFlight(source.completion()));
        }
        drop(state);
        // Dropped without a call it ends as well.
        let ended = move |_outcome: &Outcome| source.finish(Ok(Timing::default()));
        Ok(command_buffer.on_done(ended).commit())
    }
}

impl Drop for UploadBatch {
    fn drop(&mut self) {
        // The commands first: nothing may read the bytes once they are given back.
        self.commands.clear();
        let mut state = lock(&self.shared.state);
        for &chunk in &self.chunks {
            state.set(chunk, Stage::Over);
        }
    }
}

impl fmt::Debug for StagingRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StagingRing").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl fmt::Debug for UploadBatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UploadBatch").field("commands", &self.commands).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    const CAPACITY: u64 = 4096;

    #[derive(Debug, Clone)]
    enum RingStep {
        Take(u64),
        End(usize),
    }

    fn step() -> impl Strategy<Value = RingStep> {
        prop_oneof![(1..1500u64).prop_map(RingStep::Take), any::<usize>().prop_map(RingStep::End)]
    }

    proptest! {
        #[test]
        fn pieces_never_overlap_and_the_ring_empties(
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let mut state = RingState::default();
            let mut held: Vec<(u64, std::ops::Range<u64>)> = Vec::new();
            for step in steps {
                match step {
                    RingStep::Take(length) => {
                        if let Ok((number, start)) = state.take(length, CAPACITY) {
                            let chunk = start..start + length;
                            prop_assert!(chunk.end <= CAPACITY && start.is_multiple_of(ALIGNMENT));
                            let apart = |other: &std::ops::Range<u64>| {
                                chunk.end <= other.start || other.end <= chunk.start
                            };
                            prop_assert!(held.iter().all(|(_, other)| apart(other)), "{chunk:?} in {held:?}");
                            held.push((number, chunk));
                        } else {
                            prop_assert!(!held.is_empty(), "an empty ring has room");
                        }
                    }
                    RingStep::End(which) if !held.is_empty() => {
                        let (number, _) = held.swap_remove(which % held.len());
                        state.set(number, Stage::Over);
                    }
                    RingStep::End(_) => {}
                }
            }
            for (number, _) in held {
                state.set(number, Stage::Over);
            }
            prop_assert_eq!(state.take(CAPACITY, CAPACITY).map(|(_, start)| start), Ok(0));
        }
    }
}
