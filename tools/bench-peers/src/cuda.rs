//! A GPU by the bare CUDA driver, with kernels in CUDA C compiled by `nvcc`.
//!
//! CUDA has no checks: a kernel that leaves its buffers is undefined behaviour. Its text is therefore part of
//! the program, as inline assembly would be, which `&'static str` stands for; never pass text that a user
//! wrote. The folder of compiled kernels is as trusted as the program itself.

mod modules;

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr as _, DriverError, result, sys};

pub use self::modules::Modules;
use crate::job::{Argument, Contents, Job, JobStep};
use crate::peer::{Form, Loaded, PeerError, Runtime, at};

/// The compiler's program, and the contender's name.
const COMPILER: &str = "nvcc";
/// MSL is compiled in fast math mode by default, so both of its modes take part.
const OPTIONS: [&str; 2] = ["-O3", "-O3 -use_fast_math"];

/// One GPU.
#[derive(Debug)]
pub struct Cuda {
    version: String,
    architecture: String,
    stream: Arc<CudaStream>,
    modules: Modules,
}

/// The ways to compile the job's kernels with `nvcc`.
fn forms(job: &Job<'_>) -> Vec<Form> {
    let of = |source| OPTIONS.map(|options| Form { source, options });
    job.cuda.map(of).into_iter().flatten().collect()
}

fn failed(call: &'static str) -> impl Fn(DriverError) -> PeerError {
    move |error| PeerError::Call { runtime: COMPILER.to_owned(), call, error: error.to_string() }
}

impl Cuda {
    /// The GPU of that number, with kernels of that folder.
    pub fn open(number: usize, modules: Modules) -> Result<Self, PeerError> {
        // SAFETY: it only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(PeerError::NoDriver);
        }
        let context = CudaContext::new(number).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let (major, minor) = context.compute_capability().map_err(failed("cuDeviceGetAttribute"))?;
        let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
        let architecture = format!("sm_{major}{minor}");
        let version = format!("for {architecture}");
        Ok(Cuda { version, architecture, stream, modules })
    }

    fn buffer(&self, contents: &Contents<'_>) -> Result<CudaSlice<u8>, PeerError> {
        match *contents {
            Contents::Bytes(bytes) => self.stream.clone_htod(bytes).map_err(failed("cuMemcpyHtoD")),
            Contents::Zeroed(len) => self.stream.alloc_zeros(len).map_err(failed("cuMemAlloc")),
        }
    }

    fn launch(
        &self,
        module: &Module,
        step: &JobStep,
        buffers: &[CudaSlice<u8>],
    ) -> Result<Launch, PeerError> {
        let parameters = step.arguments.iter().map(|argument| self.parameter(argument, buffers));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        let block = step.local.unwrap_or(if step.global[1] > 1 { [32, 8, 1] } else { [256, 1, 1] });
        let grid = [0, 1, 2].map(|axis| step.global[axis].div_ceil(block[axis]) as u32);
        Ok(Launch {
            function: module.function(step.kernel)?,
            parameters,
            grid,
            block: block.map(|n| n as u32),
        })
    }

    fn parameter(&self, argument: &Argument, buffers: &[CudaSlice<u8>]) -> Result<Parameter, PeerError> {
        Ok(match *argument {
            Argument::Buffer(which) => {
                let (address, _used) = at(buffers, which)?.device_ptr(&self.stream);
                Parameter::of(&address.to_ne_bytes())
            }
            Argument::U32(value) => Parameter::of(&value.to_ne_bytes()),
            Argument::F32(value) => Parameter::of(&value.to_ne_bytes()),
            Argument::U32x2(values) => Parameter::of(values.map(u32::to_ne_bytes).as_flattened()),
            Argument::U32x4(values) => Parameter::of(values.map(u32::to_ne_bytes).as_flattened()),
            Argument::F32x4(values) => Parameter::of(values.map(f32::to_ne_bytes).as_flattened()),
        })
    }
}

impl Runtime for Cuda {
    fn name(&self) -> &str {
        COMPILER
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn forms(&self, job: &Job<'_>) -> Vec<Form> {
        forms(job)
    }

    fn load<'a>(&'a self, job: &Job<'_>, form: Form) -> Result<Box<dyn Loaded + 'a>, PeerError> {
        let cubin = self.modules.cubin(job, form, &self.architecture)?;
        let module = Module::load(self.stream.context(), &cubin)?;
        let buffers =
            job.buffers.iter().map(|contents| self.buffer(contents)).collect::<Result<Vec<_>, _>>()?;
        let launches = job.steps.iter().map(|step| self.launch(&module, step, &buffers));
        let launches = launches.collect::<Result<Vec<_>, _>>()?;
        at(&buffers, job.result)?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(Box::new(LoadedJob {
            stream: &self.stream,
            buffers,
            launches,
            result: job.result,
            _module: module,
        }))
    }
}

/// A loaded cubin.
#[derive(Debug)]
struct Module {
    module: sys::CUmodule,
    context: Arc<CudaContext>,
}

impl Module {
    fn load(context: &Arc<CudaContext>, cubin: &[u8]) -> Result<Self, PeerError> {
        context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        // SAFETY: a cubin says its own length in its header, and the driver copies it; that this one is what
        // `nvcc` wrote is the folder's promise, see the top of this file.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) };
        Ok(Module { module: module.map_err(failed("cuModuleLoadData"))?, context: Arc::clone(context) })
    }

    fn function(&self, name: &str) -> Result<sys::CUfunction, PeerError> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded and stays so as long as `self`.
        let function = unsafe { result::module::get_function(self.module, name) };
        function.map_err(failed("cuModuleGetFunction"))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: loaded in `load` and unloaded only here; `LoadedJob` drops it after its kernels have ended.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// The bytes of one kernel parameter, aligned for any of CUDA's types.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
struct Parameter([u8; 16]);

impl Parameter {
    fn of(bytes: &[u8]) -> Self {
        let mut parameter = [0; 16];
        parameter[..bytes.len()].copy_from_slice(bytes);
        Parameter(parameter)
    }
}

#[derive(Debug)]
struct Launch {
    function: sys::CUfunction,
    parameters: Vec<Parameter>,
    grid: [u32; 3],
    block: [u32; 3],
}

#[derive(Debug)]
struct LoadedJob<'a> {
    stream: &'a Arc<CudaStream>,
    buffers: Vec<CudaSlice<u8>>,
    launches: Vec<Launch>,
    result: usize,
    /// After the buffers, whose release waits for the kernels.
    _module: Module,
}

impl Loaded for LoadedJob<'_> {
    fn run(&self) -> Result<(), PeerError> {
        self.stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        for launch in &self.launches {
            let addresses = launch
                .parameters
                .iter()
                .map(|parameter| std::ptr::from_ref(parameter).cast_mut().cast::<c_void>());
            let mut addresses: Vec<*mut c_void> = addresses.collect();
            let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
            // SAFETY: the function is of a loaded module and the stream of the same context; the driver reads
            // each parameter's size, 16 bytes at most, from its address before the call returns. Kernels and
            // arguments are written together, in the program's own text, and buffers outlive the launch,
            // which `drop` waits for.
            let launched = unsafe {
                result::launch_kernel(
                    launch.function,
                    grid,
                    block,
                    0,
                    self.stream.cu_stream(),
                    &mut addresses,
                )
            };
            launched.map_err(failed("cuLaunchKernel"))?;
        }
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    fn result(&self) -> Result<Vec<u8>, PeerError> {
        let bytes =
            self.stream.clone_dtoh(at(&self.buffers, self.result)?).map_err(failed("cuMemcpyDtoH"))?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        Ok(bytes)
    }
}

impl Drop for LoadedJob<'_> {
    /// Kernels still running use the buffers, so nothing is released before they end.
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
    }
}
