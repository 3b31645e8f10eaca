//! Launches and their submissions.

use std::ffi::c_int;

use anymetal::argument::BoundResource;
use anymetal::argument::{ArgumentTarget, Scalar, Unbound};
use anymetal::command::{Deadline, ResourceUsage};
use anymetal::error::DeviceError;
use anymetal::functions::VisibleFunctionTable;
use anymetal::{Buffer, BufferView, Submission};

use crate::buffer::BufferHandle;
use crate::device::QueueHandle;
use crate::functions::FunctionTableHandle;
use crate::given::{Bytes, List, Place};
use crate::handles::{Handle, handled};
use crate::kernel::KernelHandle;
use crate::status::{Failure, Status, run};

/// `anymetal_argument`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument {
    kind: c_int,
    buffer: Handle<BufferHandle>,
    offset: usize,
    integer: i64,
    number: f64,
    bytes: Bytes,
    length: usize,
    functions: Handle<FunctionTableHandle>,
}

/// `anymetal_grid`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    threads: [u32; 3],
    group_size: [u32; 3],
}

/// `anymetal_submission`.
#[derive(Debug)]
pub(crate) struct SubmissionHandle {
    submission: Submission,
}

handled!(SubmissionHandle, 7);

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
    /// The argument, of which at most `max_bytes` bytes are copied.
    ///
    /// # Safety
    ///
    /// The fields that its kind names are as the header describes.
    unsafe fn given(&self, max_bytes: usize) -> Result<Given, Failure> {
        Ok(match self.kind {
            0 => Given::Nothing,
            1 => {
                let buffer = &self.buffer.object("argument's buffer")?.buffer;
                Given::View(buffer.view(self.offset..buffer.len())?)
            }
            2 => Given::Scalar(Scalar::Integer(self.integer.into())),
            3 => Given::Scalar(Scalar::Float(self.number)),
            4 => {
                // SAFETY: the caller's promise.
                let bytes = unsafe { self.bytes.slice(self.length, max_bytes, "bytes of an argument") }?;
                Given::Bytes(bytes.to_vec())
            }
            5 => Given::Threadgroup {
                index: u32::try_from(self.integer)
                    .map_err(|_| Failure::caller(format!("{} is not a threadgroup index", self.integer)))?,
                length: self.length as u64,
            },
            6 => Given::Functions(self.functions.object("argument's table of functions")?.table.clone()),
            other => return Err(Failure::caller(format!("{other} is not a kind of argument"))),
        })
    }
}

/// The parameters of a launch.
struct LaunchCall {
    queue: Handle<QueueHandle>,
    kernel: Handle<KernelHandle>,
    arguments: List<Argument>,
    argument_count: usize,
    grid: Grid,
    submission: Place<Handle<SubmissionHandle>>,
}

impl LaunchCall {
    /// # Safety
    ///
    /// `arguments` has `argument_count` arguments as the header describes them, `submission` is NULL or a
    /// place for the result.
    unsafe fn launch(self, deadline: Deadline) -> Result<(), Failure> {
        let LaunchCall { queue, kernel, arguments, argument_count, grid, submission } = self;
        let (queue, kernel) = (queue.object("queue")?, kernel.object("kernel")?);
        // SAFETY: the caller's promise.
        let place = unsafe { submission.optional() }?;
        let declared = kernel.pipeline.kernel().arguments.len();
        // SAFETY: the caller's promise.
        let arguments = unsafe { arguments.slice(argument_count, declared, "kernel's arguments") }?;
        let max_bytes = queue.queue.device().capabilities().max_inline_bytes;
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut launch = queue.queue.launch(&kernel.pipeline).threads(grid.threads).deadline(deadline);
        launch = launch.use_resources(queue.resident().iter().map(Buffer::region), ResourceUsage::ReadWrite);
        for argument in arguments {
            // SAFETY: the caller's promise.
            launch = match unsafe { argument.given(max_bytes) }? {
                Given::Threadgroup { index, length } => launch.threadgroup_memory(index, length),
                given => launch.arg(given),
            };
        }
        if grid.group_size != [0; 3] {
            launch = launch.group_size(grid.group_size);
        }
        match place {
            None => drop(launch.run()?),
            Some(place) => place.write(Handle::of(SubmissionHandle { submission: launch.submit()? })?),
        }
        Ok(())
    }
}

/// `anymetal_launch`.
///
/// # Safety
///
/// As of [`LaunchCall::launch`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_launch(
    queue: Handle<QueueHandle>,
    kernel: Handle<KernelHandle>,
    arguments: List<Argument>,
    argument_count: usize,
    grid: Grid,
    submission: Place<Handle<SubmissionHandle>>,
) -> Status {
    let call = LaunchCall { queue, kernel, arguments, argument_count, grid, submission };
    // SAFETY: the caller's promise.
    run(|| unsafe { call.launch(Deadline::Default) })
}

/// `anymetal_launch_within`.
///
/// # Safety
///
/// As of [`LaunchCall::launch`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_launch_within(
    queue: Handle<QueueHandle>,
    kernel: Handle<KernelHandle>,
    arguments: List<Argument>,
    argument_count: usize,
    grid: Grid,
    deadline_seconds: f64,
    submission: Place<Handle<SubmissionHandle>>,
) -> Status {
    let call = LaunchCall { queue, kernel, arguments, argument_count, grid, submission };
    run(|| {
        let deadline =
            Deadline::from_secs_f64(deadline_seconds).map_err(|error| Failure::caller(error.to_string()))?;
        // SAFETY: the caller's promise.
        unsafe { call.launch(deadline) }
    })
}

/// `anymetal_submission_wait`.
///
/// # Safety
///
/// `device_seconds` is NULL or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_submission_wait(
    submission: Handle<SubmissionHandle>,
    device_seconds: Place<f64>,
) -> Status {
    run(|| {
        let submission = submission.object("submission")?;
        // SAFETY: the caller's promise.
        let place = unsafe { device_seconds.optional() }?;
        let timing = submission.submission.wait()?;
        if let Some(place) = place {
            place.write(timing.device_time().as_secs_f64());
        }
        Ok(())
    })
}

/// `anymetal_submission_is_done`; true for whatever is not a live submission.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_submission_is_done(submission: Handle<SubmissionHandle>) -> bool {
    submission.if_live().is_none_or(|submission| submission.submission.is_done())
}

/// `anymetal_submission_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_submission_release(submission: Handle<SubmissionHandle>) {
    submission.release();
}
