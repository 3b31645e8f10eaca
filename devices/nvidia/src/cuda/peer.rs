//! From one card to another.
//!
//! The card that copies is the current context's.

use std::ffi::c_int;

use cudarc::driver::sys;

use super::check;
use crate::driver::{DriverError, Peer};

fn context_of(peer: Peer) -> sys::CUcontext {
    peer.context as usize as sys::CUcontext
}

/// Lets the current context reach the other card's memory, if the cards can; returns whether it does.
pub(super) fn reach(own: Peer, peer: Peer) -> Result<bool, DriverError> {
    if own.number == peer.number {
        // One card, one context.
        return Ok(true);
    }
    let mut can: c_int = 0;
    // SAFETY: numbers of cards are the driver's devices; the result outlives the call.
    check(unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, own.number, peer.number) })?;
    if can == 0 {
        return Ok(false);
    }
    // SAFETY: the context is retained for as long as the process lives.
    match unsafe { sys::cuCtxEnablePeerAccess(context_of(peer), 0) } {
        sys::cudaError_enum::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
        // The card reaches as many others as it can already, or the machine forbids it.
        sys::cudaError_enum::CUDA_ERROR_TOO_MANY_PEERS
        | sys::cudaError_enum::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => Ok(false),
        other => check(other).map(|()| true),
    }
}

/// Puts a copy into a stream of the current context's. An end is an address with its card.
pub(super) fn copy(
    to: (u64, Peer),
    from: (u64, Peer),
    bytes: u64,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    let (target, source) = (context_of(to.1), context_of(from.1));
    // SAFETY: the caller checked both ranges against live memory of those cards.
    check(unsafe { sys::cuMemcpyPeerAsync(to.0, target, from.0, source, bytes as usize, stream) })
}

/// Copies, and waits for everything of the current context.
pub(super) fn copy_now(to: (u64, Peer), from: (u64, Peer), bytes: u64) -> Result<(), DriverError> {
    let (target, source) = (context_of(to.1), context_of(from.1));
    // SAFETY: as in `copy`.
    check(unsafe { sys::cuMemcpyPeer(to.0, target, from.0, source, bytes as usize) })?;
    // SAFETY: a context is current. The call above may return before the bytes are there.
    check(unsafe { sys::cuCtxSynchronize() })
}
