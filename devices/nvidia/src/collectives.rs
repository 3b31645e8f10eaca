//! Collectives: one operation on buffers of several cards, of one process or of several.
//!
//! Owns [`Collectives`] and [`GroupId`]. What is known of the operations is here, the library that runs them
//! is behind [`Library`], which has a stand-in. Invariant: buffers stay where they are until every card has
//! ended its part. Concurrency: `one_at_a_time` orders operations; all cards must see them in one order.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::buffer::same_buffer;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::error::DeviceError;
use anymetal_hal::validate::check_range;

use crate::NvidiaDevice;
use crate::device_shared::DeviceShared;
use crate::driver::DriverError;
use crate::memory::{BufferGuard, NvidiaBuffer};
use crate::nccl::Nccl;
use crate::owned::OwnedStream;

/// What a device gives to an operation, or gets of it: the bytes of a buffer from an offset on.
#[derive(Debug, Clone)]
pub struct Shard {
    /// The buffer.
    pub buffer: Arc<dyn Buffer>,
    /// Bytes, a multiple of an element's.
    pub offset: u64,
}

impl From<&Arc<dyn Buffer>> for Shard {
    fn from(buffer: &Arc<dyn Buffer>) -> Self {
        Shard { buffer: Arc::clone(buffer), offset: 0 }
    }
}

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
pub(crate) struct RankOperand {
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
        operands: &[RankOperand],
    ) -> Result<(), DriverError>;
}

/// By what the processes of a group find each other: one makes it and gives it to the others, by a file, a
/// socket or whatever started them. A group may span machines that reach each other by network.
#[derive(Clone, PartialEq, Eq)]
pub struct GroupId([u8; GroupId::BYTES]);

impl GroupId {
    /// Its bytes.
    pub const BYTES: usize = 128;

    /// A new one, for one group. The process that makes it must take part, and live until all have joined.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if there is no NCCL, [`DeviceError::DeviceLost`] if it finds no network.
    pub fn new() -> Result<Self, DeviceError> {
        crate::nccl::new_group().map(GroupId).map_err(|error| library_error("nvidia", error))
    }

    /// From what [`Self::to_bytes`] gave another process.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        GroupId(bytes)
    }

    /// For other processes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        self.0
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("GroupId").finish_non_exhaustive()
    }
}

/// Where this process's cards are among all of a group's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankRange {
    /// The rank of the first of them; the others follow.
    pub(crate) first: usize,
    /// All ranks.
    pub(crate) ranks: usize,
}

/// Several cards, of one process or of many, that do operations together, over NCCL.
///
/// An operation takes a buffer of each device of this process, in the order of the devices, waits for
/// submitted work that uses them, and has ended when it returns. All processes of a group do the same
/// operations in the same order; one that is missing is waited for. Elements are integers of 8, 32 or 64
/// bits, or `half`, `bfloat`, `float`.
///
/// *Errors*: [`DeviceError::Unsupported`] for a wrong number of buffers or another element type,
/// [`DeviceError::WrongDevice`], [`DeviceError::RangeOutsideBuffer`], [`DeviceError::BufferMapped`].
#[derive(Debug)]
pub struct Collectives {
    /// Before the streams, which it may still use.
    library: Box<dyn Library>,
    /// This process's.
    ranks: Vec<Rank>,
    place: RankRange,
    one_at_a_time: Mutex<()>,
}

#[derive(Debug)]
struct Rank {
    device: Arc<DeviceShared>,
    stream: OwnedStream,
}

impl Collectives {
    /// Cards of this process, each once.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if there is no NCCL (`libnccl.so`), no card, or a card twice.
    pub fn new(devices: &[NvidiaDevice]) -> Result<Self, DeviceError> {
        let place = RankRange { first: 0, ranks: devices.len() };
        Self::with(devices, place, |numbers| Ok(Box::new(Nccl::new(numbers)?)))
    }

    /// Cards of this process in a group of `ranks` cards of several processes. Those of this process have the
    /// ranks from `first` on. Returns when all processes have joined.
    ///
    /// # Errors
    /// As [`Self::new`], and [`DeviceError::Unsupported`] for ranks that are not there.
    pub fn join(
        devices: &[NvidiaDevice],
        group: &GroupId,
        first: usize,
        ranks: usize,
    ) -> Result<Self, DeviceError> {
        let drivers: Vec<_> = devices.iter().map(|device| Arc::clone(&device.shared.driver)).collect();
        let place = RankRange { first, ranks };
        Self::with(devices, place, |_| Ok(Box::new(Nccl::join(&drivers, group.0, place)?)))
    }

    pub(crate) fn with(
        devices: &[NvidiaDevice],
        place: RankRange,
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
        if place.first.checked_add(devices.len()).is_none_or(|end| end > place.ranks) {
            let what = format!(
                "ranks from {} on for {} devices in a group of {}",
                place.first,
                devices.len(),
                place.ranks
            );
            return Err(refused(name, &what, "count all devices of all processes, from 0"));
        }
        let rank = |device: &NvidiaDevice| {
            device.shared.check_alive()?;
            let stream = OwnedStream::new(&device.shared, 0);
            let stream = stream.map_err(|error| error.of(&device.shared.name, 0))?;
            Ok(Rank { device: Arc::clone(&device.shared), stream })
        };
        let ranks = devices.iter().map(rank).collect::<Result<_, DeviceError>>()?;
        let library = library(&numbers).map_err(|error| library_error(name, error))?;
        Ok(Collectives { library, ranks, place, one_at_a_time: Mutex::default() })
    }

    /// How many cards take part, those of other processes too.
    pub fn rank_count(&self) -> usize {
        self.place.ranks
    }

    /// Each buffer's first `count` elements become those of all buffers, reduced.
    pub fn all_reduce(
        &self,
        buffers: &[Shard],
        element: ScalarType,
        count: u64,
        reduce: ReduceOp,
    ) -> Result<(), DeviceError> {
        self.in_place(Operation::AllReduce(reduce), buffers, element, count)
    }

    /// Each buffer's first `count` elements become those of the buffer of that rank.
    pub fn broadcast(
        &self,
        buffers: &[Shard],
        root: usize,
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        if root >= self.place.ranks {
            let what = format!("a broadcast from rank {root} of {}", self.place.ranks);
            return Err(refused(self.name(), &what, "count them from 0"));
        }
        self.in_place(Operation::Broadcast(root), buffers, element, count)
    }

    /// Each buffer of `to` becomes the first `count` elements of every rank's buffer of `from`, one after the
    /// other.
    pub fn all_gather(
        &self,
        from: &[Shard],
        to: &[Shard],
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        let all = count.saturating_mul(self.place.ranks as u64);
        self.between(Operation::AllGather, (from, count), (to, all), element, count)
    }

    /// The buffers of `from` of all ranks, reduced, are cut into as many pieces of `count` elements as there
    /// are ranks; each buffer of `to` becomes the piece of its rank.
    pub fn reduce_scatter(
        &self,
        from: &[Shard],
        to: &[Shard],
        element: ScalarType,
        count: u64,
        reduce: ReduceOp,
    ) -> Result<(), DeviceError> {
        let all = count.saturating_mul(self.place.ranks as u64);
        self.between(Operation::ReduceScatter(reduce), (from, all), (to, count), element, count)
    }

    fn name(&self) -> &str {
        self.ranks.first().map_or("nvidia", |rank| &rank.device.name)
    }

    fn in_place(
        &self,
        operation: Operation,
        buffers: &[Shard],
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        let held = self.hold(buffers, element, count, MapMode::Write)?;
        let operands = self.operands(&held, &held);
        self.run(operation, element, count, &operands)
    }

    fn between(
        &self,
        operation: Operation,
        (from, reads): (&[Shard], u64),
        (to, writes): (&[Shard], u64),
        element: ScalarType,
        count: u64,
    ) -> Result<(), DeviceError> {
        if from.iter().zip(to).any(|(from, to)| same_buffer(&from.buffer, &to.buffer)) {
            let what = "a collective that writes the buffer that it reads";
            return Err(refused(self.name(), what, "give it two buffers of each device"));
        }
        let read = self.hold(from, element, reads, MapMode::Read)?;
        let written = self.hold(to, element, writes, MapMode::Write)?;
        let operands = self.operands(&read, &written);
        self.run(operation, element, count, &operands)
    }

    /// Checks buffers for so many elements, and keeps them where they are.
    fn hold<'a>(
        &self,
        shards: &'a [Shard],
        element: ScalarType,
        count: u64,
        mode: MapMode,
    ) -> Result<Vec<(BufferGuard<'a>, u64)>, DeviceError> {
        if shards.len() != self.ranks.len() {
            let what = format!("{} buffers for {} devices", shards.len(), self.ranks.len());
            return Err(refused(self.name(), &what, "give one of each device, in their order"));
        }
        let bytes = count.saturating_mul(element.size().into());
        let hold = |(rank, shard): (&Rank, &'a Shard)| {
            rank.device.check_alive()?;
            let own = NvidiaBuffer::of(&shard.buffer, &rank.device)?;
            check_range(shard.offset, bytes, own.length())?;
            if !shard.offset.is_multiple_of(element.size().into()) {
                let what =
                    format!("a collective of elements of {} bytes at byte {}", element.size(), shard.offset);
                return Err(refused(&rank.device.name, &what, "begin at a multiple of an element's bytes"));
            }
            Ok((own.hold(mode)?, shard.offset))
        };
        self.ranks.iter().zip(shards).map(hold).collect()
    }

    fn operands(&self, from: &[(BufferGuard<'_>, u64)], to: &[(BufferGuard<'_>, u64)]) -> Vec<RankOperand> {
        let address = |(held, offset): &(BufferGuard<'_>, u64)| held.address() + offset;
        let ranks = self.ranks.iter().zip(from.iter().zip(to));
        let operand = |(rank, (from, to)): (&Rank, (&(BufferGuard<'_>, u64), &(BufferGuard<'_>, u64)))| {
            RankOperand { from: address(from), to: address(to), stream: rank.stream.number }
        };
        ranks.map(operand).collect()
    }

    /// Runs it and waits for every card's end, also after an error: the buffers must stay until then.
    fn run(
        &self,
        operation: Operation,
        element: ScalarType,
        count: u64,
        operands: &[RankOperand],
    ) -> Result<(), DeviceError> {
        if count == 0 {
            return Ok(());
        }
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let put = self.library.run(operation, element, count, operands).map_err(|error| match error {
            DriverError::BadCode(reason) => refused(self.name(), &reason, "convert the elements"),
            other => other.of(self.name(), 0),
        });
        self.ranks.iter().fold(put, |result, rank| {
            let ended = rank.device.driver.synchronise(rank.stream.number);
            result.and(ended.map_err(|error| error.of(&rank.device.name, 0)))
        })
    }
}

/// What a library without NCCL, or a call of it that failed, is as a device's error.
fn library_error(device: &str, error: DriverError) -> DeviceError {
    match error {
        DriverError::BadCode(reason) => refused(device, &reason, "copy between devices with a link"),
        other => other.of(device, 0),
    }
}

fn refused(device: &str, what: &str, alternative: &str) -> DeviceError {
    let (what, alternative) = (what.to_owned(), alternative.to_owned());
    DeviceError::Unsupported { device: device.to_owned(), what, alternative }
}
