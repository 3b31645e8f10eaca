//! The C library: the facade's objects behind opaque pointers.
//!
//! Owns the functions of `include/anymetal.h`, a module for each type of handle. Invariant: a
//! handle is a box that C gives back once; every call is run by [`status::run`], so that no panic
//! crosses into C, and every failure has a status and a text. A NULL where an object is needed is a
//! failure, not undefined behaviour.

mod buffer;
mod device;
mod functions;
mod kernel;
mod launch;
mod library;
mod status;

pub use buffer::{
    anymetal_buffer_borrow, anymetal_buffer_length, anymetal_buffer_make, anymetal_buffer_read,
    anymetal_buffer_release, anymetal_buffer_write,
};
pub use device::{
    anymetal_device_name, anymetal_device_open, anymetal_device_release, anymetal_queue_make,
    anymetal_queue_release,
};
pub use functions::{
    FunctionTableHandle, LinkedFunction, anymetal_function_table_make, anymetal_function_table_release,
    anymetal_function_table_set,
};
pub use kernel::{
    ArgumentDescription, anymetal_kernel_argument, anymetal_kernel_argument_count,
    anymetal_kernel_is_machine_code, anymetal_kernel_make, anymetal_kernel_make_linked,
    anymetal_kernel_max_threads_per_threadgroup, anymetal_kernel_release,
};
pub use launch::{
    Argument, Grid, anymetal_launch, anymetal_submission_is_done, anymetal_submission_release,
    anymetal_submission_wait,
};
pub use library::{anymetal_library_compile, anymetal_library_release};
pub use status::{Status, anymetal_last_error, anymetal_version};
