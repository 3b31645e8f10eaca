//! What a device asks of a driver.
//!
//! Owns the [`Driver`] trait: plain calls on plain numbers, so that a stand-in can take its place in tests.
//! Invariant: whoever calls keeps memory, modules and streams alive while work uses them.

use std::fmt;
use std::ptr::NonNull;

use anymetal_hal::error::DeviceError;
use anymetal_hal::matrix_product::MatrixProduct;

/// What is known of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) name: String,
    /// The architecture: 90 for `sm_90`.
    pub(crate) sm: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) multiprocessors: u32,
    pub(crate) max_threads_per_group: u32,
    pub(crate) max_group_size: [u32; 3],
    /// Dynamic and static shared memory of a threadgroup, by request.
    pub(crate) max_shared_bytes: u64,
    /// As the driver has it: 12040 is CUDA 12.4.
    pub(crate) driver_version: u32,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryPlacement {
    /// In the card.
    Device,
    /// In the card, until the host touches it; `Device` where the host may not while kernels run.
    Managed,
    /// In the host, locked and mapped.
    Host,
    /// In memory of the host that others allocated, locked and mapped ([`Driver::register`]).
    Registered,
}

/// Memory for kernels, and for the host unless it is in the card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(crate) address: u64,
    pub(crate) host: Option<NonNull<u8>>,
    pub(crate) place: MemoryPlacement,
}

/// What the driver of another card knows this one by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) number: i32,
    pub(crate) context: u64,
}

/// A launch of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelLaunch<'a> {
    pub(crate) function: u64,
    pub(crate) groups: [u32; 3],
    pub(crate) group_size: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// All threadgroups must be in progress at once; the driver refuses more than fit.
    pub(crate) cooperative: bool,
    /// In the layout of [`anymetal_hal::launch::nvidia`].
    pub(crate) parameters: &'a [u8],
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverError {
    /// There is not enough memory.
    OutOfMemory,
    /// The driver does not take the code, with its log.
    BadCode(String),
    /// It, or a library, does not do that, with the reason.
    Refused(String),
    /// Nothing works any more in this process.
    Lost(String),
    /// Anything else.
    Other(String),
}

impl DriverError {
    /// As a device's error. `requested` is for memory.
    pub(crate) fn of(self, device: &str, requested: u64) -> DeviceError {
        match self {
            DriverError::OutOfMemory => DeviceError::OutOfMemory { requested },
            DriverError::BadCode(reason) => DeviceError::UnloadableCode { kernel: String::new(), reason },
            DriverError::Refused(what) => DeviceError::Unsupported {
                device: device.to_owned(),
                what,
                alternative: "make the product with a kernel".to_owned(),
            },
            DriverError::Lost(reason) | DriverError::Other(reason) => {
                DeviceError::DeviceLost { device: device.to_owned(), reason }
            }
        }
    }
}

/// A driver with one card. Streams, events, modules and functions are numbers; 0 is none of them.
///
/// # Safety
/// Whoever implements it makes sure that memory which [`Self::allocate`] gives is valid, for the host too if
/// it has a host address, until [`Self::free`].
pub(crate) unsafe trait Driver: Send + Sync + fmt::Debug {
    fn card(&self) -> &Card;

    /// Makes the card the one that libraries beside the driver use on this thread.
    #[cfg(feature = "nccl")]
    fn make_current(&self) -> Result<(), DriverError>;

    fn allocate(&self, bytes: u64, place: MemoryPlacement) -> Result<Allocation, DriverError>;
    /// Locks and maps that much memory of the host, which its owner keeps until [`Self::free`]; not
    /// [`Self::allocate`]'s own.
    fn register(&self, host: NonNull<u8>, bytes: u64) -> Result<Allocation, DriverError>;
    /// Frees memory, or lets go of registered memory.
    fn free(&self, allocation: Allocation);

    /// A lower priority is more urgent: -1, 0, 1.
    fn create_stream(&self, priority: i32) -> Result<u64, DriverError>;
    fn destroy_stream(&self, stream: u64);
    /// Whether all work of the stream has ended.
    fn is_idle(&self, stream: u64) -> Result<bool, DriverError>;
    /// Waits for all work of the stream.
    fn synchronise(&self, stream: u64) -> Result<(), DriverError>;

    fn create_event(&self) -> Result<u64, DriverError>;
    fn destroy_event(&self, event: u64);
    fn record(&self, event: u64, stream: u64) -> Result<(), DriverError>;
    /// Whether what the event was last recorded after has ended.
    fn has_ended(&self, event: u64) -> Result<bool, DriverError>;
    /// What is put into the stream from now on waits for what the event was last recorded after, if it was.
    /// The event may be another card's.
    fn wait_event(&self, stream: u64, event: u64) -> Result<(), DriverError>;
    /// Nanoseconds between two recorded events.
    fn elapsed(&self, from: u64, to: u64) -> Result<u64, DriverError>;

    /// Compiles PTX for the card; gives code for [`Self::load`].
    fn compile(&self, ptx: &str) -> Result<Vec<u8>, DriverError>;
    /// Loads compiled code. Damaged code is refused.
    fn load(&self, code: &[u8]) -> Result<u64, DriverError>;
    fn unload(&self, module: u64);
    fn function(&self, module: u64, name: &str) -> Result<u64, DriverError>;
    /// Lets launches of the function have that much dynamic shared memory.
    fn allow_shared(&self, function: u64, bytes: u32) -> Result<(), DriverError>;
    /// The threadgroups of a launch that can be in progress at once.
    fn resident_groups(&self, function: u64, threads: u32, shared_bytes: u32) -> Result<u64, DriverError>;
    fn launch(&self, launch: KernelLaunch<'_>, stream: u64) -> Result<(), DriverError>;

    /// Whether there is a library of matrix products; [`DriverError::Refused`] says why not.
    fn can_multiply(&self) -> Result<(), DriverError>;
    /// Puts a product of matrices at those addresses, which was checked, into the stream.
    fn multiply(&self, product: &MatrixProduct<u64>, stream: u64) -> Result<(), DriverError>;

    /// From now on launches, copies and fills of the stream do not run, but become a graph.
    fn begin_capture(&self, stream: u64) -> Result<(), DriverError>;
    /// Ends that, in any case; gives the graph.
    fn end_capture(&self, stream: u64) -> Result<u64, DriverError>;
    fn launch_graph(&self, graph: u64, stream: u64) -> Result<(), DriverError>;
    fn destroy_graph(&self, graph: u64);

    /// What other cards' drivers know this one by.
    fn peer(&self) -> Peer;
    /// Lets this card reach the memory of another, if it can; returns whether it does.
    fn reach(&self, peer: Peer) -> Result<bool, DriverError>;
    /// Copies from memory in this card to memory in another.
    fn copy_to_peer(
        &self,
        to: u64,
        peer: Peer,
        from: u64,
        bytes: u64,
        stream: u64,
    ) -> Result<(), DriverError>;
    /// As [`Self::copy_to_peer`], by the driver's call without a stream; waits for its end.
    fn copy_to_peer_now(&self, to: u64, peer: Peer, from: u64, bytes: u64) -> Result<(), DriverError>;

    fn copy(&self, to: u64, from: u64, bytes: u64, stream: u64) -> Result<(), DriverError>;
    fn fill(&self, to: u64, value: u8, bytes: u64, stream: u64) -> Result<(), DriverError>;
    /// The bytes may change when it returns.
    fn upload(&self, to: u64, bytes: &[u8], stream: u64) -> Result<(), DriverError>;
    /// Waits for the stream, too.
    fn download(&self, bytes: &mut [u8], from: u64, stream: u64) -> Result<(), DriverError>;
}
