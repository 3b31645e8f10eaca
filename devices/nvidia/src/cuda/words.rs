//! A few bytes into the card's memory by the stream itself.
//!
//! A copy from the host goes through another engine of the card, which costs some 30 µs; writes of single
//! words are the stream's own.

use cudarc::driver::sys;

use super::check;
use crate::driver::DriverError;

/// More bytes are better copied.
pub(super) const MAX_BYTES: usize = 256;
/// Bytes of a word.
const WORD: usize = 4;

/// Whether bytes can be written as words.
pub(super) fn fit(to: u64, bytes: &[u8]) -> bool {
    bytes.len() <= MAX_BYTES && bytes.len().is_multiple_of(WORD) && to.is_multiple_of(WORD as u64)
}

/// Writes bytes for which [`fit`] holds; they may change when it returns. The context must be current, and
/// the range live memory of the card.
pub(super) fn write(to: u64, bytes: &[u8], stream: sys::CUstream) -> Result<(), DriverError> {
    use sys::CUstreamBatchMemOpType_enum::CU_STREAM_MEM_OP_WRITE_VALUE_32;
    let (words, _) = bytes.as_chunks::<WORD>();
    let write = |(address, word): (u64, &[u8; WORD])| {
        // SAFETY: a union may be all zeros; what is read of it is written below.
        let mut operation: sys::CUstreamBatchMemOpParams = unsafe { std::mem::zeroed() };
        operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        operation.writeValue.address = address;
        operation.writeValue.__bindgen_anon_1.value = u32::from_ne_bytes(*word);
        operation
    };
    let mut operations: Vec<_> = (to..).step_by(WORD).zip(words).map(write).collect();
    let count = operations.len() as u32;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the context is current and the range is live, as the caller says; the driver reads `count`
    // operations before it returns.
    check(unsafe { sys::cuStreamBatchMemOp_v2(stream, count, operations.as_mut_ptr(), 0) })
}
