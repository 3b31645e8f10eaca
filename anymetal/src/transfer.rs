//! Uploads and downloads by commands: for memory that the host does not see, and in order with a queue's
//! work.
//!
//! Owns [`Transfers`], a device's staging ring and the queue of its own transfers, both made when first
//! needed, and [`Download`]. Invariant: an upload takes its bytes at the call; the ring's bytes are written
//! again only when the copies out of them have ended. Concurrency: one lock is held while uploads are staged,
//! room waited for included, so that a full ring is always full of submitted work, which ends.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use anymetal_core::memory::MemoryError;
use anymetal_core::memory::mode::{AccessFrequency, BufferUsage, ModeRequest};
use anymetal_core::memory::pool::{AcquireRequest, PooledBuffer};
use anymetal_core::memory::staging::StagingRing;
use anymetal_core::memory::view;
use anymetal_hal::buffer::{BufferDescriptor as HalDescriptor, StorageMode};
use anymetal_telemetry::{record, span};
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferView};
use crate::buffer_descriptor::BufferDescriptor;
use crate::device::Device;
use crate::error::Error;
use crate::queue::Queue;
use crate::submission::Submission;

/// A large upload goes through the ring in pieces of this share of it, so that one is filled while others are
/// copied.
const PIECES: u64 = 4;

/// What transfers of a device use.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    ring: Option<StagingRing>,
    queue: Option<Queue>,
}

impl Device {
    /// A buffer with a copy of those elements, placed for kernels that use them again and again: in the
    /// device's own memory, if it has some. The elements are there when this returns.
    pub fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        let usage = BufferUsage::new(AccessFrequency::Once, AccessFrequency::Often);
        self.create_buffer(&BufferDescriptor::new(elements).placed(usage, ModeRequest::Automatic))
    }

    /// Overwrites a new buffer, wherever it is, and waits.
    pub(crate) fn fill_with<T: Pod>(&self, buffer: &Buffer<T>, elements: &[T]) -> Result<(), Error> {
        if host_sees(buffer) {
            return buffer.write(elements);
        }
        self.upload_to(&self.transfer_queue()?, &buffer.view(0..buffer.len())?, elements)?.wait().map(drop)
    }

    /// A copy of all elements, wherever they are, once submitted work is done with them.
    pub fn download<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        if host_sees(buffer) {
            return buffer.read();
        }
        buffer.hal().wait_for_work(None)?;
        self.download_from(&self.transfer_queue()?, &buffer.view(0..buffer.len())?)?.wait()
    }

    /// Overwrites a view in its turn on a queue, by way of the staging ring. The elements are taken now; if
    /// the ring has no room, this waits for uploads before it, as long as a queue waits for a place. More
    /// than a quarter of the ring goes in pieces: after a refusal in between, those that have not started are
    /// taken back.
    pub fn upload_to<T: Pod>(
        &self,
        queue: &Queue,
        view: &BufferView<T>,
        elements: &[T],
    ) -> Result<Submission, Error> {
        if elements.len() != view.len() {
            return Err(Error::RangeOutsideBuffer { start: 0, end: elements.len(), len: view.len() });
        }
        let (bytes, region) = (bytemuck::cast_slice::<T, u8>(elements), view.region());
        let span = span::transfer(self.name(), "upload", region.length());
        let _entered = span.enter();
        let mut made = self.made();
        let ring = self.ring(&mut made)?;
        let piece = usize::try_from((ring.capacity() / PIECES).max(1)).unwrap_or(usize::MAX);
        let mut pieces = Pieces(Vec::new());
        let mut start = 0usize;
        loop {
            let end = start.saturating_add(piece).min(bytes.len());
            let part = region.slice(start as u64..end as u64)?;
            let uploaded = self.upload_piece(&ring, queue, &bytes[start..end], &part, pieces.0.last())?;
            start = end;
            if start == bytes.len() {
                pieces.0.clear();
                record::copied(self.name(), "upload", region.length());
                return Ok(uploaded);
            }
            pieces.0.push(uploaded);
        }
    }

    fn upload_piece(
        &self,
        ring: &StagingRing,
        queue: &Queue,
        bytes: &[u8],
        part: &view::BufferView,
        after: Option<&Submission>,
    ) -> Result<Submission, Error> {
        let clock = self.context().clock();
        let until = clock.now().saturating_add(self.config().streams.wait);
        loop {
            let mut batch = ring.batch();
            match batch.upload(bytes, part) {
                Ok(()) => {
                    return Submission::accepted(batch.commit(queue.stream(), after.map(Submission::inner))?);
                }
                Err(full @ MemoryError::RingFull { .. }) => {
                    let oldest = ring.oldest_in_flight();
                    if oldest.is_some_and(|oldest| oldest.wait_until(&**clock, until).is_none()) {
                        return Err(full.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Copies a view in its turn on a queue to where the host sees it.
    pub fn download_from<T: Pod>(&self, queue: &Queue, view: &BufferView<T>) -> Result<Download<T>, Error> {
        let region = view.region();
        let span = span::transfer(self.name(), "download", region.length());
        let _entered = span.enter();
        let mut request = AcquireRequest::new(region.length()).label("download");
        if let Some(tenant) = &queue.stream().options().tenant {
            request = request.tenant(tenant);
        }
        let staged = self.pool().acquire(&request)?;
        let mut commands = queue.stream().command_buffer()?.label("download");
        let source = region.offset()..region.offset() + region.length();
        commands.blit().copy(region.buffer(), source, staged.whole(), 0)?;
        let submission = Submission::accepted(commands.commit())?;
        record::copied(self.name(), "download", region.length());
        Ok(Download { submission, staged, len: view.len(), element: PhantomData })
    }

    fn made(&self) -> std::sync::MutexGuard<'_, Made> {
        self.shared.transfers.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, made: &mut Made) -> Result<StagingRing, Error> {
        match &made.ring {
            Some(ring) => Ok(ring.clone()),
            None => {
                let bytes = self.config().memory.staging_bytes;
                let descriptor = HalDescriptor::shared(bytes).label("staging ring");
                let ring = StagingRing::in_buffer(self.shared.allocator.internal_buffer(&descriptor)?);
                Ok(made.ring.insert(ring).clone())
            }
        }
    }

    fn transfer_queue(&self) -> Result<Queue, Error> {
        if self.tenant.is_some() {
            // A tenant's transfers are charged to it: they go through a queue of its own.
            return self.queue();
        }
        let mut made = self.made();
        match &made.queue {
            Some(queue) => Ok(queue.clone()),
            None => Ok(made.queue.insert(self.queue()?).clone()),
        }
    }
}

/// The pieces of an upload so far; dropped with some in it, it takes them back, the last first.
struct Pieces(Vec<Submission>);

impl Drop for Pieces {
    fn drop(&mut self) {
        for piece in self.0.drain(..).rev() {
            let _answer = piece.cancel();
        }
    }
}

fn host_sees<T: Pod>(buffer: &Buffer<T>) -> bool {
    buffer.hal().storage_mode() != StorageMode::Private
}

/// Elements on their way to the host: wait for them, or await them.
#[derive(Debug)]
#[must_use = "the elements come by `wait` or `await`"]
pub struct Download<T> {
    submission: Submission,
    staged: PooledBuffer,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> Download<T> {
    /// The elements, once they are here.
    pub fn wait(self) -> Result<Vec<T>, Error> {
        self.submission.wait()?;
        self.elements()
    }

    /// The work that brings them.
    pub fn submission(&self) -> &Submission {
        &self.submission
    }

    fn elements(&self) -> Result<Vec<T>, Error> {
        let mut elements = vec![T::zeroed(); self.len];
        self.staged.whole().read(0, bytemuck::cast_slice_mut(&mut elements))?;
        Ok(elements)
    }
}

impl<T: Pod> Future for Download<T> {
    type Output = Result<Vec<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.submission).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(_)) => Poll::Ready(self.elements()),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }
}
