//! Launches and their submissions.

use std::ffi::{c_int, c_void};

use anymetal::hal::command::BoundResource;
use anymetal::{ArgumentTarget, BufferView, DeviceError, Scalar, Submission, Unbound, VisibleFunctionTable};

use crate::buffer::BufferHandle;
use crate::device::QueueHandle;
use crate::functions::FunctionTableHandle;
use crate::kernel::KernelHandle;
use crate::status::{Failure, Status, give, list, object, release, run};

/// `anymetal_argument`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    kind: c_int,
    buffer: *const BufferHandle,
    offset: usize,
    integer: i64,
    number: f64,
    bytes: *const c_void,
    length: usize,
    functions: *const FunctionTableHandle,
}

/// `anymetal_grid`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    threads: [u32; 3],
    group_size: [u32; 3],
}

/// `anymetal_submission`.
#[derive(Debug)]
pub struct SubmissionHandle {
    submission: Submission,
}

/// An argument, copied out of C's memory.
enum Given {
    Nothing,
    View(BufferView<u8>),
    Scalar(Scalar),
    Bytes(Vec<u8>),
    Functions(VisibleFunctionTable),
    Threadgroup { index: u32, length: u64 },
}

impl anymetal::Argument for Given {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        match self {
            Given::Nothing | Given::Threadgroup { .. } => Unbound.bind(target),
            Given::View(view) => view.bind(target),
            Given::Scalar(scalar) => scalar.bind(target),
            Given::Functions(table) => table.bind(target),
            Given::Bytes(bytes) => Ok(BoundResource::Bytes(bytes.clone())),
        }
    }
}

impl Argument {
    /// # Safety
    ///
    /// The fields that its kind names are as the header says.
    unsafe fn given(&self) -> Result<Given, Failure> {
        Ok(match self.kind {
            0 => Given::Nothing,
            1 => {
                // SAFETY: the caller's promise.
                let buffer = &unsafe { object(self.buffer, "argument's buffer") }?.buffer;
                Given::View(buffer.view(self.offset..buffer.len())?)
            }
            2 => Given::Scalar(Scalar::Integer(self.integer.into())),
            3 => Given::Scalar(Scalar::Float(self.number)),
            4 if self.bytes.is_null() => return Err(Failure::caller("an argument's bytes are NULL")),
            // SAFETY: the caller's promise.
            4 => Given::Bytes(unsafe { std::slice::from_raw_parts(self.bytes.cast(), self.length) }.to_vec()),
            5 => Given::Threadgroup {
                index: u32::try_from(self.integer)
                    .map_err(|_| Failure::caller(format!("{} is no threadgroup index", self.integer)))?,
                length: self.length as u64,
            },
            6 => {
                // SAFETY: the caller's promise.
                let functions = unsafe { object(self.functions, "argument's table of functions") }?;
                Given::Functions(functions.table.clone())
            }
            other => return Err(Failure::caller(format!("{other} is no kind of argument"))),
        })
    }
}

/// `anymetal_launch`.
///
/// # Safety
///
/// `queue` and `kernel` are NULL or were not given back, `arguments` has `argument_count` arguments
/// as the header describes them, `submission` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_launch(
    queue: *const QueueHandle,
    kernel: *const KernelHandle,
    arguments: *const Argument,
    argument_count: usize,
    grid: Grid,
    submission: *mut *mut SubmissionHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let (queue, kernel) = unsafe { (object(queue, "queue")?, object(kernel, "kernel")?) };
        // SAFETY: the caller's promise.
        let arguments = unsafe { list(arguments, argument_count, "arguments") }?;
        let mut launch = queue.queue.launch(&kernel.pipeline).threads(grid.threads);
        for argument in arguments {
            // SAFETY: the caller's promise.
            launch = match unsafe { argument.given() }? {
                Given::Threadgroup { index, length } => launch.threadgroup_memory(index, length),
                given => launch.arg(given),
            };
        }
        if grid.group_size != [0; 3] {
            launch = launch.group_size(grid.group_size);
        }
        if submission.is_null() {
            launch.run()?;
            return Ok(());
        }
        let started = SubmissionHandle { submission: launch.submit()? };
        // SAFETY: the caller's promise.
        unsafe { give(submission, started) }
    })
}

/// `anymetal_submission_wait`.
///
/// # Safety
///
/// `submission` is NULL or was not given back, `device_seconds` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_submission_wait(
    submission: *const SubmissionHandle,
    device_seconds: *mut f64,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let timing = unsafe { object(submission, "submission") }?.submission.wait()?;
        if !device_seconds.is_null() {
            // SAFETY: the caller's promise.
            unsafe { device_seconds.write(timing.device_time().as_secs_f64()) };
        }
        Ok(())
    })
}

/// `anymetal_submission_is_done`; true for NULL.
///
/// # Safety
///
/// `submission` is NULL or was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_submission_is_done(submission: *const SubmissionHandle) -> bool {
    // SAFETY: the caller's promise.
    unsafe { submission.as_ref() }.is_none_or(|submission| submission.submission.is_done())
}

/// `anymetal_submission_release`.
///
/// # Safety
///
/// `submission` is NULL or was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_submission_release(submission: *mut SubmissionHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(submission) }
}
