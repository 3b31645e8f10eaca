//! Use after `fork`: threads of the device do not live in the child, so that a wait would never
//! end.
//!
//! Owns [`check`], which every call that reaches a device makes. Invariant: a child of a process
//! that has used a device gets an exception, never a hang.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Whether this process has used a device, or its parent had.
static USED: AtomicBool = AtomicBool::new(false);
/// Whether a parent had used a device when this process was forked.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Notes that a device is used.
pub(crate) fn note_use() -> PyResult<()> {
    check()?;
    USED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Refuses if this process was forked from one that had used a device.
pub(crate) fn check() -> PyResult<()> {
    if !FORKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this process was forked after its parent had used anymetal, whose threads do not exist here; start \
         processes with the method \"spawn\" or \"forkserver\" (multiprocessing.set_start_method, or \
         multiprocessing_context=\"spawn\" of a DataLoader), or use anymetal only in the children",
    ))
}

/// What `os.register_at_fork` calls in the child.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    if USED.load(Ordering::Relaxed) {
        FORKED.store(true, Ordering::Relaxed);
    }
}
