//! A command buffer's place among those that its stream allows.
//!
//! Owns [`Permit`]. Invariant: a permit is given back exactly once, when the command buffer is dropped
//! without a commit or when its submission has ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::stream::StreamCore;

#[derive(Debug)]
pub(crate) struct Permit {
    stream: Arc<StreamCore>,
    committed: bool,
}

impl Permit {
    /// For a permit that was just taken.
    pub(crate) fn new(stream: &Arc<StreamCore>) -> Self {
        stream.uncommitted.fetch_add(1, Ordering::Relaxed);
        Permit { stream: Arc::clone(stream), committed: false }
    }

    /// The command buffer is committed.
    pub(crate) fn commit(&mut self) {
        if !std::mem::replace(&mut self.committed, true) {
            self.stream.uncommitted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.commit();
        self.stream.permits.release();
    }
}
