//! OpenCL CPU devices, found through the ICD loader at run time.
//!
//! OpenCL has no checks: a kernel that leaves its buffers is undefined behaviour. Its text is therefore part
//! of the program, as inline assembly would be, which `&'static str` stands for; never pass text that a user
//! wrote. Counts and sizes of arguments are checked by the runtime itself.

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_CPU, Device};
use opencl3::error_codes::{ClError, DLOPEN_FUNCTION_NOT_AVAILABLE, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int};
use std::borrow::Cow;
use std::ptr;

use crate::job::{Argument, Contents, Job, JobStep};
use crate::peer::{Form, Loaded, PeerError, Runtime, at};

/// Status of the loader when it found no driver: `CL_PLATFORM_NOT_FOUND_KHR`.
const PLATFORM_NOT_FOUND: cl_int = -1001;
/// Status of a platform that has no device of the requested kind: `CL_DEVICE_NOT_FOUND`.
const DEVICE_NOT_FOUND: cl_int = -1;

/// One CPU device of one installed runtime.
#[derive(Debug)]
pub struct OpenCl {
    name: String,
    version: String,
    options: &'static str,
    device: Device,
    context: Context,
    queue: CommandQueue,
}

/// All CPU devices that the loader offers, at least one.
pub fn runtimes() -> Result<Vec<OpenCl>, PeerError> {
    let platforms = match get_platforms() {
        // No loader, something else in its place, or a loader without a driver.
        Err(ClError(DLOPEN_RUNTIME_LOAD_FAILED | DLOPEN_FUNCTION_NOT_AVAILABLE | PLATFORM_NOT_FOUND)) => {
            return Err(PeerError::NoRuntime);
        }
        other => other.map_err(failed("the loader", "clGetPlatformIDs"))?,
    };
    let mut found = Vec::new();
    for platform in platforms {
        let name = platform.name().map_err(failed("a platform", "clGetPlatformInfo"))?;
        let devices = match platform.get_devices(CL_DEVICE_TYPE_CPU) {
            Err(ClError(DEVICE_NOT_FOUND)) => continue,
            other => other.map_err(failed(&name, "clGetDeviceIDs"))?,
        };
        for id in devices {
            found.push(OpenCl::open(&name, Device::new(id))?);
        }
    }
    if found.is_empty() { Err(PeerError::NoRuntime) } else { Ok(found) }
}

/// Turns a status into an error that says whose call it was.
fn failed(runtime: &str, call: &'static str) -> impl Fn(ClError) -> PeerError {
    let runtime = runtime.to_owned();
    move |error| PeerError::Call { runtime: runtime.clone(), call, error: error.to_string() }
}

impl OpenCl {
    fn open(platform: &str, device: Device) -> Result<Self, PeerError> {
        let language = device.opencl_c_version().map_err(failed(platform, "clGetDeviceInfo"))?;
        let version = device.driver_version().map_err(failed(platform, "clGetDeviceInfo"))?;
        // Metal's default is fast math, so the peers get theirs; and each the newest language it has.
        let options = if language.starts_with("OpenCL C 3") {
            "-cl-fast-relaxed-math -cl-std=CL3.0"
        } else {
            "-cl-fast-relaxed-math"
        };
        let context = Context::from_device(&device).map_err(failed(platform, "clCreateContext"))?;
        #[expect(deprecated, reason = "the replacement needs OpenCL 2, which a CPU runtime need not have")]
        let queue =
            CommandQueue::create_default(&context, 0).map_err(failed(platform, "clCreateCommandQueue"))?;
        Ok(Self { name: platform.to_owned(), version, options, device, context, queue })
    }

    fn build(&self, form: Form) -> Result<Program, PeerError> {
        let mut program = Program::create_from_source(&self.context, form.source)
            .map_err(failed(&self.name, "clCreateProgramWithSource"))?;
        if let Err(error) = program.build(&[self.device.id()], form.options) {
            let log = program.get_build_log(self.device.id()).unwrap_or_else(|_| error.to_string());
            return Err(PeerError::Build { runtime: self.name.clone(), log });
        }
        Ok(program)
    }

    fn buffer(&self, contents: &Contents<'_>) -> Result<Buffer<u8>, PeerError> {
        let bytes = match *contents {
            Contents::Bytes(bytes) => Cow::Borrowed(bytes),
            // Written like the others, so that no page is touched for the first time while being timed.
            Contents::Zeroed(len) => Cow::Owned(vec![0; len]),
        };
        // SAFETY: no host pointer is given, so the runtime allocates the memory itself.
        let buffer =
            unsafe { Buffer::<u8>::create(&self.context, CL_MEM_READ_WRITE, bytes.len(), ptr::null_mut()) };
        let mut buffer = buffer.map_err(failed(&self.name, "clCreateBuffer"))?;
        // SAFETY: the call blocks, so `bytes` outlives the copy, and the buffer has exactly that many bytes.
        let written = unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &bytes, &[]) };
        written.map_err(failed(&self.name, "clEnqueueWriteBuffer"))?;
        Ok(buffer)
    }

    fn launch(&self, program: &Program, step: &JobStep, buffers: &[Buffer<u8>]) -> Result<Launch, PeerError> {
        let kernel = Kernel::create(program, step.kernel).map_err(failed(&self.name, "clCreateKernel"))?;
        for (index, argument) in (0..).zip(&step.arguments) {
            let set = match argument {
                Argument::Buffer(which) => {
                    let memory = at(buffers, *which)?.get();
                    // SAFETY: a valid memory object, kept alive by `LoadedJob` as long as the kernel; the
                    // runtime refuses an index or size that the kernel's signature does not have.
                    unsafe { kernel.set_arg(index, &memory) }
                }
                // SAFETY: plain values, copied by the call; index and size are checked as above.
                Argument::U32(value) => unsafe { kernel.set_arg(index, value) },
                // SAFETY: as above.
                Argument::F32(value) => unsafe { kernel.set_arg(index, value) },
                // SAFETY: as above.
                Argument::U32x2(value) => unsafe { kernel.set_arg(index, value) },
                // SAFETY: as above.
                Argument::U32x4(value) => unsafe { kernel.set_arg(index, value) },
                // SAFETY: as above.
                Argument::F32x4(value) => unsafe { kernel.set_arg(index, value) },
            };
            set.map_err(failed(&self.name, "clSetKernelArg"))?;
        }
        Ok(Launch { kernel, global: step.global, local: step.local })
    }
}

impl Runtime for OpenCl {
    /// The platform's name.
    fn name(&self) -> &str {
        &self.name
    }

    /// The driver's version.
    fn version(&self) -> &str {
        &self.version
    }

    fn forms(&self, job: &Job<'_>) -> Vec<Form> {
        job.opencl.iter().map(|&source| Form { source, options: self.options }).collect()
    }

    fn load<'a>(&'a self, job: &Job<'_>, form: Form) -> Result<Box<dyn Loaded + 'a>, PeerError> {
        let program = self.build(form)?;
        let buffers =
            job.buffers.iter().map(|contents| self.buffer(contents)).collect::<Result<Vec<_>, _>>()?;
        let launches = job.steps.iter().map(|step| self.launch(&program, step, &buffers));
        let launches = launches.collect::<Result<Vec<_>, _>>()?;
        at(&buffers, job.result)?;
        let bytes = job.buffers[job.result].len();
        Ok(Box::new(LoadedJob { runtime: self, buffers, launches, result: job.result, bytes }))
    }
}

/// A kernel with its arguments set.
#[derive(Debug)]
struct Launch {
    kernel: Kernel,
    global: [usize; 3],
    local: Option<[usize; 3]>,
}

/// A job compiled and filled in for one runtime.
#[derive(Debug)]
struct LoadedJob<'a> {
    runtime: &'a OpenCl,
    buffers: Vec<Buffer<u8>>,
    launches: Vec<Launch>,
    result: usize,
    bytes: usize,
}

impl Loaded for LoadedJob<'_> {
    fn run(&self) -> Result<(), PeerError> {
        for launch in &self.launches {
            let local = launch.local.as_ref().map_or(ptr::null(), |local| local.as_ptr());
            // SAFETY: the kernel is valid and has all its arguments (the runtime refuses it otherwise);
            // `global` has the three entries that the dimension count says, `local` too where it is not
            // null; the queue is in order, so steps do not overlap. The kernel's text is trusted: see the
            // module.
            let event = unsafe {
                self.runtime.queue.enqueue_nd_range_kernel(
                    launch.kernel.get(),
                    3,
                    ptr::null(),
                    launch.global.as_ptr(),
                    local,
                    &[],
                )
            };
            event.map_err(failed(&self.runtime.name, "clEnqueueNDRangeKernel"))?;
        }
        self.runtime.queue.finish().map_err(failed(&self.runtime.name, "clFinish"))
    }

    fn result(&self) -> Result<Vec<u8>, PeerError> {
        let mut bytes = vec![0u8; self.bytes];
        let buffer = at(&self.buffers, self.result)?;
        // SAFETY: the call blocks, so `bytes` outlives the copy, and has the buffer's length.
        let read = unsafe { self.runtime.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut bytes, &[]) };
        read.map_err(failed(&self.runtime.name, "clEnqueueReadBuffer"))?;
        Ok(bytes)
    }
}

impl Drop for LoadedJob<'_> {
    /// Kernels still running use the buffers, so nothing is released before they end.
    fn drop(&mut self) {
        let _ = self.runtime.queue.finish();
    }
}
