//! NCCL, loaded at run time.
//!
//! Owns [`Nccl`]. Invariant: no call is made unless the library is there.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use anymetal_hal::artifact::ScalarType;
use cudarc::nccl::sys;

use crate::collectives::{GroupId, Library, Operation, RankOperand, RankRange, ReduceOp};
use crate::driver::{Driver, DriverError};

/// A communicator for each card.
#[derive(Debug)]
pub(crate) struct Nccl {
    communicators: Vec<Communicator>,
}

#[derive(Debug)]
struct Communicator(sys::ncclComm_t);

// SAFETY: NCCL lets any thread use a communicator, one at a time, which `Collectives` sees to.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

impl Drop for Communicator {
    fn drop(&mut self) {
        // SAFETY: made by `ncclCommInitAll` or `ncclCommInitRank`, and destroyed once; its work has ended,
        // since every operation is waited for. A failure leaves nothing to be done.
        let _ = unsafe { sys::ncclCommDestroy(self.0) };
    }
}

impl Nccl {
    /// For the cards of those numbers. [`DriverError::BadCode`] if there is no NCCL.
    pub(crate) fn new(numbers: &[i32]) -> Result<Self, DriverError> {
        check_present()?;
        let mut made = vec![std::ptr::null_mut(); numbers.len()];
        // SAFETY: the library is there; both arrays have that length.
        check(unsafe { sys::ncclCommInitAll(made.as_mut_ptr(), numbers.len() as c_int, numbers.as_ptr()) })?;
        Ok(Nccl { communicators: made.into_iter().map(Communicator).collect() })
    }

    /// For the cards of those drivers, at that place of a group. Waits for all others of it.
    pub(crate) fn join(
        drivers: &[Arc<dyn Driver>],
        group: [u8; GroupId::BYTES],
        place: RankRange,
    ) -> Result<Self, DriverError> {
        check_present()?;
        let id = sys::ncclUniqueId { internal: group.map(u8::cast_signed) };
        let mut made = vec![std::ptr::null_mut(); drivers.len()];
        // SAFETY: the library is there.
        check(unsafe { sys::ncclGroupStart() })?;
        let joined = drivers.iter().enumerate().zip(&mut made).try_for_each(|((at, driver), made)| {
            driver.make_current()?;
            let (ranks, rank) = (place.ranks as c_int, (place.first + at) as c_int);
            // SAFETY: the library is there; the place outlives the end of the group.
            check(unsafe { sys::ncclCommInitRank(made, ranks, id, rank) })
        });
        // SAFETY: the group was started above, and must end in any case.
        let ended = check(unsafe { sys::ncclGroupEnd() });
        joined.and(ended)?;
        Ok(Nccl { communicators: made.into_iter().map(Communicator).collect() })
    }
}

/// By what the processes of a new group find each other.
pub(crate) fn new_group() -> Result<[u8; GroupId::BYTES], DriverError> {
    check_present()?;
    let mut id = sys::ncclUniqueId { internal: [0; GroupId::BYTES] };
    // SAFETY: the library is there; the result outlives the call.
    check(unsafe { sys::ncclGetUniqueId(&raw mut id) })?;
    Ok(id.internal.map(c_char::cast_unsigned))
}

/// [`DriverError::BadCode`] if there is no NCCL.
fn check_present() -> Result<(), DriverError> {
    // SAFETY: it only looks for the library.
    if unsafe { sys::is_culib_present() } {
        Ok(())
    } else {
        Err(DriverError::BadCode("collectives without NCCL (libnccl.so is missing)".to_owned()))
    }
}

fn check(result: sys::ncclResult_t) -> Result<(), DriverError> {
    if result == sys::ncclResult_t::ncclSuccess {
        return Ok(());
    }
    // SAFETY: the library is there; it gives a static string for any code.
    let text = unsafe { sys::ncclGetErrorString(result) };
    if text.is_null() {
        return Err(DriverError::Other(format!("NCCL failed: {result:?}")));
    }
    // SAFETY: not null, so it is a C string that is never freed.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    Err(DriverError::Other(format!("NCCL failed: {text} ({result:?})")))
}

/// The library's name for a type of elements; [`DriverError::BadCode`] for those that it has not.
fn data_type(element: ScalarType) -> Result<sys::ncclDataType_t, DriverError> {
    use sys::ncclDataType_t as T;
    Ok(match element {
        ScalarType::I8 => T::ncclInt8,
        ScalarType::U8 => T::ncclUint8,
        ScalarType::I32 => T::ncclInt32,
        ScalarType::U32 => T::ncclUint32,
        ScalarType::I64 => T::ncclInt64,
        ScalarType::U64 => T::ncclUint64,
        ScalarType::F16 => T::ncclFloat16,
        ScalarType::BF16 => T::ncclBfloat16,
        ScalarType::F32 => T::ncclFloat32,
        other => return Err(DriverError::BadCode(format!("collectives of {other:?} elements"))),
    })
}

fn reduction(reduce: ReduceOp) -> sys::ncclRedOp_t {
    use sys::ncclRedOp_t as R;
    match reduce {
        ReduceOp::Sum => R::ncclSum,
        ReduceOp::Product => R::ncclProd,
        ReduceOp::Max => R::ncclMax,
        ReduceOp::Min => R::ncclMin,
    }
}

impl Library for Nccl {
    fn run(
        &self,
        operation: Operation,
        element: ScalarType,
        count: u64,
        operands: &[RankOperand],
    ) -> Result<(), DriverError> {
        let element = data_type(element)?;
        // SAFETY: the library is there.
        check(unsafe { sys::ncclGroupStart() })?;
        let put = |(communicator, operand): (&Communicator, &RankOperand)| {
            put(operation, element, count, communicator, operand)
        };
        let done = self.communicators.iter().zip(operands).try_for_each(put);
        // SAFETY: the group was started above, and must end in any case.
        let ended = check(unsafe { sys::ncclGroupEnd() });
        done.and(ended)
    }
}

fn put(
    operation: Operation,
    element: sys::ncclDataType_t,
    count: u64,
    communicator: &Communicator,
    operand: &RankOperand,
) -> Result<(), DriverError> {
    let from = operand.from as usize as *const c_void;
    let to = operand.to as usize as *mut c_void;
    let stream = operand.stream as usize as sys::cudaStream_t;
    let (comm, count) = (communicator.0, count as usize);
    // SAFETY: the caller checked both ranges against live memory of the communicator's card, which stays
    // until the stream has ended; the stream is of that card.
    check(unsafe {
        match operation {
            Operation::AllReduce(reduce) => {
                sys::ncclAllReduce(from, to, count, element, reduction(reduce), comm, stream)
            }
            Operation::Broadcast(root) => {
                sys::ncclBroadcast(from, to, count, element, root as c_int, comm, stream)
            }
            Operation::AllGather => sys::ncclAllGather(from, to, count, element, comm, stream),
            Operation::ReduceScatter(reduce) => {
                sys::ncclReduceScatter(from, to, count, element, reduction(reduce), comm, stream)
            }
        }
    })
}
