//! Collectives: one operation on buffers of several GPUs, of one process or of many.
//!
//! Owns [`Collectives`]. Invariant: work that was submitted with a buffer comes before an operation on it.

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::error::DeviceError;
use anymetal_nvidia::{NvidiaDevice, Shard};

use crate::buffer::BufferSlice;
use crate::device::Device;
use crate::error::Error;

pub use anymetal_nvidia::{GroupId, ReduceOp};

/// NVIDIA GPUs that do operations together, over NCCL, which is loaded when it is asked for.
///
/// An operation takes a buffer or view of each device of this process, in their order, all of one length,
/// and has ended when it returns. All processes of a group do the same operations in the same order; one that
/// is missing is waited for. Elements are integers of 8, 32 or 64 bits, or `half`, `bfloat`, `float`.
///
/// *Errors*: [`DeviceError::Unsupported`] without NCCL or for other devices, for a wrong number of buffers
/// and another element type; [`DeviceError::RangeOutsideBuffer`] for lengths that do not fit each other.
#[derive(Debug)]
pub struct Collectives {
    nvidia: anymetal_nvidia::Collectives,
    first: Device,
}

impl Collectives {
    /// Devices of this process, each once.
    pub fn new(devices: &[Device]) -> Result<Self, Error> {
        let (own, first) = nvidia(devices)?;
        Ok(Collectives { nvidia: anymetal_nvidia::Collectives::new(&own)?, first })
    }

    /// Devices of this process in a group of `ranks` devices of several processes, on one machine or many.
    /// Those of this process have the ranks from `first` on. Returns when all processes have joined.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), anymetal::Error> {
    /// # let (rank, ranks, bytes) = (0, 2, [0; 128]);
    /// use anymetal::collectives::{Collectives, GroupId, ReduceOp};
    /// use anymetal::reflection::ScalarType;
    /// use anymetal::Device;
    ///
    /// // One process made it with `GroupId::new()`, and gave its bytes to the others.
    /// let group = GroupId::from_bytes(bytes);
    /// let device = Device::by_name(&format!("nvidia:{rank}"))?;
    /// let all = Collectives::join(&[device.clone()], &group, rank, ranks)?;
    /// let gradients = device.buffer(&[1.0f32; 1000])?;
    /// all.all_reduce(&[gradients.region()], ScalarType::F32, ReduceOp::Sum)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(devices: &[Device], group: &GroupId, first: usize, ranks: usize) -> Result<Self, Error> {
        let (own, device) = nvidia(devices)?;
        let nvidia = anymetal_nvidia::Collectives::join(&own, group, first, ranks)?;
        Ok(Collectives { nvidia, first: device })
    }

    /// How many devices take part, those of other processes too.
    pub fn rank_count(&self) -> usize {
        self.nvidia.rank_count()
    }

    /// The elements become those of all ranks, reduced.
    pub fn all_reduce(
        &self,
        data: &[BufferSlice],
        element: ScalarType,
        reduce: ReduceOp,
    ) -> Result<(), Error> {
        let count = self.count(data, element)?;
        Ok(self.nvidia.all_reduce(&shards(data)?, element, count, reduce)?)
    }

    /// The elements become those of the rank `root`.
    pub fn broadcast(&self, data: &[BufferSlice], root: usize, element: ScalarType) -> Result<(), Error> {
        let count = self.count(data, element)?;
        Ok(self.nvidia.broadcast(&shards(data)?, root, element, count)?)
    }

    /// `to` becomes the elements of `from` of every rank, one after the other.
    pub fn all_gather(
        &self,
        from: &[BufferSlice],
        to: &[BufferSlice],
        element: ScalarType,
    ) -> Result<(), Error> {
        let count = self.count(from, element)?;
        Ok(self.nvidia.all_gather(&shards(from)?, &shards(to)?, element, count)?)
    }

    /// The elements of `from` of all ranks, reduced, are cut into as many pieces as there are ranks; `to`
    /// becomes the piece of its rank.
    pub fn reduce_scatter(
        &self,
        from: &[BufferSlice],
        to: &[BufferSlice],
        element: ScalarType,
        reduce: ReduceOp,
    ) -> Result<(), Error> {
        let count = self.count(to, element)?;
        Ok(self.nvidia.reduce_scatter(&shards(from)?, &shards(to)?, element, count, reduce)?)
    }

    /// The elements of each region, if they are alike.
    fn count(&self, data: &[BufferSlice], element: ScalarType) -> Result<u64, Error> {
        let bytes = data.first().map_or(0, BufferSlice::length);
        if data.iter().any(|region| region.length() != bytes) || !bytes.is_multiple_of(element.size().into())
        {
            return Err(DeviceError::Unsupported {
                device: self.first.name().to_owned(),
                what: "a collective of buffers of several lengths, or of parts of elements".to_owned(),
                alternative: "give whole elements, as many on each device".to_owned(),
            }
            .into());
        }
        Ok(bytes / u64::from(element.size()))
    }
}

/// The devices as NVIDIA's, and the first of them.
fn nvidia(devices: &[Device]) -> Result<(Vec<NvidiaDevice>, Device), Error> {
    let refused = |device: &str, what: &str| DeviceError::Unsupported {
        device: device.to_owned(),
        what: what.to_owned(),
        alternative: "give NVIDIA GPUs".to_owned(),
    };
    let first = devices.first().ok_or_else(|| refused("nvidia", "collectives of no device"))?;
    let own = devices.iter().map(|device| {
        NvidiaDevice::of(device.hal().as_ref()).ok_or_else(|| refused(device.name(), "collectives"))
    });
    Ok((own.collect::<Result<_, _>>()?, first.clone()))
}

/// Regions for the library, once no held work uses them.
fn shards(data: &[BufferSlice]) -> Result<Vec<Shard>, Error> {
    let shard = |region: &BufferSlice| {
        region.buffer().wait_for_work(None)?;
        Ok(Shard { buffer: std::sync::Arc::clone(region.buffer()), offset: region.offset() })
    };
    data.iter().map(shard).collect()
}
