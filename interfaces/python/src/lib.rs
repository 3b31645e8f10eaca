//! The native half of the Python package `anymetal`: devices, kernels, arrays, queues.
//!
//! Owns the classes of `anymetal._native`; what can be written in Python is in `python/anymetal`.
//! Invariant: no call ends the interpreter: every mistake is an exception, every panic of a layer
//! below becomes one, the interpreter's lock is free while a thread waits, and memory of a caller's
//! array is used only while the array is held. Start with [`kernel`] and [`borrowed`].

mod analysis;
mod argument;
mod array;
mod borrowed;
mod call;
mod casts;
mod check;
mod collectives;
mod device;
mod element;
mod errors;
mod event;
mod export;
mod extent;
mod fork;
mod functions;
mod graph;
mod interpreter;
mod items;
mod kernel;
mod lend;
mod library;
mod ops;
mod profile;
mod queue;
mod submission;

use pyo3::prelude::*;

/// Registers the classes and functions.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<library::PyLibrary>()?;
    module.add_class::<kernel::PyKernel>()?;
    module.add_class::<functions::PyFunction>()?;
    module.add_class::<functions::PyFunctionTable>()?;
    module.add_class::<array::PyArray>()?;
    module.add_class::<queue::PyQueue>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_class::<submission::PySubmission>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<graph::PyGraphValue>()?;
    module.add_class::<graph::PyExecutable>()?;
    module.add_class::<profile::PyProfile>()?;
    module.add_class::<check::PyCheckpoint>()?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_names, module)?)?;
    module.add_function(wrap_pyfunction!(device::take_notices, module)?)?;
    module.add_function(wrap_pyfunction!(interpreter::at_exit, module)?)?;
    module.add_function(wrap_pyfunction!(fork::after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(check::set_checking, module)?)?;
    module.add_function(wrap_pyfunction!(array::describe, module)?)?;
    collectives::register(module)?;
    ops::register(module)
}
