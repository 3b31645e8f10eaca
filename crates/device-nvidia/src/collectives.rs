//! Collectives: one operation on buffers of several cards.
//!
//! Owns [`Collectives`]. What is known of the operations is here, the library that runs them is behind
//! [`Library`], which has a stand-in. Invariant: buffers stay where they are until every card has ended its
//! part. Concurrency: `one_at_a_time` orders operations, since all cards must see them in one order.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::error::DeviceError;
use anymetal_hal::validate::check_range;

use crate::NvidiaDevice;
use crate::device::DeviceShared;
use crate::driver::DriverError;
use crate::memory::{Held, NvidiaBuffer};
use crate::nccl::Nccl;
use crate::owned::OwnedStream;

/// How elements of several buffers become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// What all cards do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    AllReduce(ReduceOp),
    /// From the card of that index.
    Broadcast(usize),
    AllGather,
    ReduceScatter(ReduceOp),
}

/// One card's part of an operation: where it reads and writes, and the stream that it is put into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) stream: u64,
}

/// What runs operations, for cards in their order.
pub(crate) trait Library: Send + Sync + std::fmt::Debug {
    /// Puts the parts into their streams. `count` elements are each card's: of what it reads, or for
    /// [`Operation::ReduceScatter`] of what it writes. The caller checked all ranges.
    fn run(
        &self,
        operation: Operation,
        element: ScalarType,
        count: u64,
        parts: &[Part],
    ) -> Result<(), DriverError>;
}

/// Several cards of one process that do operations together, over NCCL.
///
/// An operation takes a buffer of each device, in the order of the devices, waits for submitted work that
/// uses them, and has ended when it returns. Elements are integers of 8, 32 or 64 bits, or `half`, `bfloat`,
/// `float`.
///
/// *Errors*: [`DeviceError::Unsupported`] for a wrong number of buffers or another element type,
/// [`DeviceError::WrongDevice`], [`DeviceError::RangeOutsideBuffer`], [`DeviceError::BufferMapped`].
#[derive(Debug)]
pub struct Collectives {
    /// Before the streams, which it may still use.
    library: Box<dyn Library>,
    ranks: Vec<Rank>,
    one_at_a_time: Mutex<()>,
}

#[derive(Debug)]
struct Rank {
    device: Arc<DeviceShared>,
    stream: OwnedStream,
}

impl Collectives {
    /// Cards that take part, each once.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if there is no NCCL (`libnccl.so`), no card, or a card twice.
    pub fn new(devices: &[NvidiaDevice]) -> Result<Self, DeviceError> {
        Self::with(devices, |numbers| Ok(Box::new(Nccl::new(numbers)?)))
    }

    pub(crate) fn with(
        devices: &[NvidiaDevice],
        library: impl FnOnce(&[i32]) -> Result<Box<dyn Library>, DriverError>,
    ) -> Result<Self, DeviceError> {
        let Some(first) = devices.first() else {
            return Err(refused("nvidia", "collectives of no device", "give at least one"));
        };
        let numbers: Vec<i32> = devices.iter().map(|device| device.shared.driver.peer().number).collect();
        let name = &first.shared.name;
        if (1..numbers.len()).any(|index| numbers[..index].contains(&numbers[index])) {
            return Err(refused(name, "collectives of one card with itself", "give each card once"));
        }
        let rank = |device: &NvidiaDevice| {
            device.shared.check_alive()?;
            let stream = OwnedStream::new(&device.shared, 0);
            let stream = stream.map_err(|error| error.of(&device.shared.name, 0))?;
            Ok(Rank { device: Arc::clone(&device.shared), stream })
        };
        let ranks = devices.iter().map(rank).collect::<Result<_, DeviceError>>()?;
        let library = library(&numbers).map_err(|error| match error {
            DriverError::BadCode(reason) => refused(name, &reason, "copy between devices with a link"),
            other => other.of(name, 0),
        })?;
        Ok(Collectives { library, ranks, one_at_a_time: Mutex::default() })
    }

    /// How many cards take part.
    pub fn device_count(&self) -> usize {
        self.ranks.len()
    }

    /// Each buffer's first `count` elements become those of all buffers, reduced.
    pub fn all_reduce(
        &self,
        buffers: &[Arc<dyn Buffer>],
        element: ScalarType,
        count: u64,
        reduce: ReduceOp,
    ) -> Result<(), DeviceError> {
        self.in_place(Operation::AllReduce(reduce), buffers, element, count)
    }

    /// Each buffer's first `count` elements become those of the buffer of that index.
    pub fn broadcast(
        &self,
        buffers: &[Arc<dyn Buffer>],
        root: usize,
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        if root >= self.ranks.len() {
            let what = format!("a broadcast from device {root} of {}", self.ranks.len());
            return Err(refused(self.name(), &what, "count them from 0"));
        }
        self.in_place(Operation::Broadcast(root), buffers, element, count)
    }

    /// Each buffer of `to` becomes the first `count` elements of every buffer of `from`, one after the other.
    pub fn all_gather(
        &self,
        from: &[Arc<dyn Buffer>],
        to: &[Arc<dyn Buffer>],
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        let all = count.saturating_mul(self.ranks.len() as u64);
        self.between(Operation::AllGather, (from, count), (to, all), element, count)
    }

    /// The buffers of `from`, reduced, are cut into as many pieces of `count` elements as there are devices;
    /// each buffer of `to` becomes one.
    pub fn reduce_scatter(
        &self,
        from: &[Arc<dyn Buffer>],
        to: &[Arc<dyn Buffer>],
        element: ScalarType,
        count: u64,
        reduce: ReduceOp,
    ) -> Result<(), DeviceError> {
        let all = count.saturating_mul(self.ranks.len() as u64);
        self.between(Operation::ReduceScatter(reduce), (from, all), (to, count), element, count)
    }

    fn name(&self) -> &str {
        self.ranks.first().map_or("nvidia", |rank| &rank.device.name)
    }

    fn in_place(
        &self,
        operation: Operation,
        buffers: &[Arc<dyn Buffer>],
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        let held = self.hold(buffers, element, count, MapMode::Write)?;
        let parts = self.parts(&held, &held);
        self.run(operation, element, count, &parts)
    }

    fn between(
        &self,
        operation: Operation,
        (from, reads): (&[Arc<dyn Buffer>], u64),
        (to, writes): (&[Arc<dyn Buffer>], u64),
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        if from.iter().zip(to).any(|(from, to)| std::ptr::addr_eq(Arc::as_ptr(from), Arc::as_ptr(to))) {
            let what = "a collective that writes the buffer that it reads";
            return Err(refused(self.name(), what, "give it two buffers of each device"));
        }
        let read = self.hold(from, element, reads, MapMode::Read)?;
        let written = self.hold(to, element, writes, MapMode::Write)?;
        let parts = self.parts(&read, &written);
        self.run(operation, element, count, &parts)
    }

    /// Checks buffers for so many elements, and keeps them where they are.
    fn hold<'a>(
        &self,
        buffers: &'a [Arc<dyn Buffer>],
        element: ScalarType,
        count: u64,
        mode: MapMode,
    ) -> Result<Vec<Held<'a>>, DeviceError> {
        if buffers.len() != self.ranks.len() {
            let what = format!("{} buffers for {} devices", buffers.len(), self.ranks.len());
            return Err(refused(self.name(), &what, "give one of each device, in their order"));
        }
        let bytes = count.saturating_mul(element.size());
        let hold = |(rank, buffer): (&Rank, &'a Arc<dyn Buffer>)| {
            rank.device.check_alive()?;
            let own = NvidiaBuffer::of(buffer, &rank.device)?;
            check_range(0, bytes, own.length())?;
            own.hold(mode)
        };
        self.ranks.iter().zip(buffers).map(hold).collect()
    }

    fn parts(&self, from: &[Held<'_>], to: &[Held<'_>]) -> Vec<Part> {
        let ranks = self.ranks.iter().zip(from.iter().zip(to));
        let part = |(rank, (from, to)): (&Rank, (&Held<'_>, &Held<'_>))| Part {
            from: from.address(),
            to: to.address(),
            stream: rank.stream.number,
        };
        ranks.map(part).collect()
    }

    /// Runs it and waits for every card's end, also after an error: the buffers must stay until then.
    fn run(
        &self,
        operation: Operation,
        element: ScalarType,
        count: u64,
        parts: &[Part],
    ) -> Result<(), DeviceError> {
        if count == 0 {
            return Ok(());
        }
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let put = self.library.run(operation, element, count, parts).map_err(|error| match error {
            DriverError::BadCode(reason) => refused(self.name(), &reason, "convert the elements"),
            other => other.of(self.name(), 0),
        });
        self.ranks.iter().fold(put, |result, rank| {
            let ended = rank.device.driver.synchronise(rank.stream.number);
            result.and(ended.map_err(|error| error.of(&rank.device.name, 0)))
        })
    }
}

fn refused(device: &str, what: &str, alternative: &str) -> DeviceError {
    let (what, alternative) = (what.to_owned(), alternative.to_owned());
    DeviceError::Unsupported { device: device.to_owned(), what, alternative }
}
