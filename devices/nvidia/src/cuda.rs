//! The CUDA driver, loaded at run time.
//!
//! Owns [`CudaDriver`]. Invariant: no call is made unless the library is there and knows the symbol; each
//! makes the card's primary context current first, if it is not. After an error
//! that ends CUDA for the process no further
//! call is made.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anymetal_hal::matrix_product::MatrixProduct;
use cudarc::driver::sys;

mod card;
mod cublas;
mod handles;
mod linker;
mod peer;
mod words;

use crate::driver::{Allocation, Card, Driver, DriverError, KernelLaunch, MemoryPlacement, Peer};

/// The oldest driver that is used: CUDA 12.4.
const MIN_VERSION: i32 = 12_040;

/// Why CUDA has ended in this process, if it has.
static LOST: OnceLock<String> = OnceLock::new();

/// One card with its primary context.
#[derive(Debug)]
pub(crate) struct CudaDriver {
    card: Card,
    number: c_int,
    device: sys::CUdevice,
    context: Context,
    cells: Cells,
    products: Arc<cublas::Products>,
}

/// Bytes of a page of the host: what moves between card and host together.
const CELL_BYTES: usize = 4096;
const CELLS_OF_BLOCK: usize = 256;

/// Pages of managed memory, which is never freed: the driver would wait for running kernels, and the host
/// could not touch other managed memory meanwhile.
#[derive(Debug, Default)]
struct Cells(Mutex<Vec<u64>>);

impl Cells {
    /// The address of a free cell, of a new block if there is none.
    fn take(&self, block: impl FnOnce() -> Result<u64, DriverError>) -> Result<u64, DriverError> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            let start = block()?;
            free.extend((0..CELLS_OF_BLOCK).map(|cell| start + (cell * CELL_BYTES) as u64));
        }
        Ok(free.pop().expect("a block has cells"))
    }

    fn give_back(&self, cell: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
    }
}

#[derive(Debug, Clone, Copy)]
struct Context(sys::CUcontext);

// SAFETY: a context handle is a token; the driver locks what is behind it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Whether the driver is there, and how many cards it has; otherwise why not. Asked once.
pub(crate) fn cards() -> Result<c_int, String> {
    static FOUND: OnceLock<Result<c_int, String>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Result<c_int, String> {
    // SAFETY: it only looks for the library.
    if !unsafe { sys::is_culib_present() } {
        return Err("there is no CUDA driver (libcuda.so)".to_owned());
    }
    let mut version = 0;
    // SAFETY: the library is there, and this call needs no initialisation; `version` outlives it.
    check(unsafe { sys::cuDriverGetVersion(&raw mut version) }).map_err(|error| format!("{error:?}"))?;
    if version < MIN_VERSION {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        return Err(format!(
            "the CUDA driver is of version {major}.{minor}; 12.4 is the oldest that is used"
        ));
    }
    // SAFETY: the library is there.
    check(unsafe { sys::cuInit(0) }).map_err(|error| format!("the CUDA driver does not start: {error:?}"))?;
    let mut count = 0;
    // SAFETY: initialised; `count` outlives the call.
    check(unsafe { sys::cuDeviceGetCount(&raw mut count) }).map_err(|error| format!("{error:?}"))?;
    if count == 0 { Err("the CUDA driver has no card".to_owned()) } else { Ok(count) }
}

fn check(result: sys::CUresult) -> Result<(), DriverError> {
    use sys::cudaError_enum as E;
    let text = || {
        let mut text: *const std::ffi::c_char = std::ptr::null();
        // SAFETY: the driver gives a static string, or leaves null for an unknown code.
        let known = unsafe { sys::cuGetErrorString(result, &raw mut text) } == E::CUDA_SUCCESS;
        match known && !text.is_null() {
            // SAFETY: not null, so it is a C string of the driver's that is never freed.
            true => format!("{} ({result:?})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
            false => format!("{result:?}"),
        }
    };
    match result {
        E::CUDA_SUCCESS => Ok(()),
        E::CUDA_ERROR_OUT_OF_MEMORY => Err(DriverError::OutOfMemory),
        E::CUDA_ERROR_ILLEGAL_ADDRESS
        | E::CUDA_ERROR_LAUNCH_FAILED
        | E::CUDA_ERROR_LAUNCH_TIMEOUT
        | E::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | E::CUDA_ERROR_MISALIGNED_ADDRESS
        | E::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | E::CUDA_ERROR_INVALID_PC
        | E::CUDA_ERROR_HARDWARE_STACK_ERROR
        | E::CUDA_ERROR_ECC_UNCORRECTABLE
        | E::CUDA_ERROR_ASSERT
        | E::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | E::CUDA_ERROR_DEINITIALIZED => {
            let reason = format!("CUDA has ended in this process: {}", text());
            Err(DriverError::Lost(LOST.get_or_init(|| reason).clone()))
        }
        _ => Err(DriverError::Other(text())),
    }
}

impl CudaDriver {
    /// The card of that number, below what [`cards`] gives.
    pub(crate) fn open(number: c_int) -> Result<Self, DriverError> {
        cards().map_err(DriverError::Other)?;
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: initialised by `cards`; the results outlive the calls.
        check(unsafe { sys::cuDeviceGet(&raw mut device, number) })?;
        let card = card::of(device)?;
        // SAFETY: a device of the driver's. The context is retained for as long as the process lives.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device) })?;
        let products = cublas::Products::of_card(number);
        let (context, cells) = (Context(context), Cells::default());
        Ok(CudaDriver { card, number, device, context, cells, products })
    }

    /// A page of managed memory; memory in the card alone where the host may not reach it while kernels run.
    fn managed_cell(&self, size: usize) -> Result<Allocation, DriverError> {
        use sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS as CONCURRENT;
        assert!(size <= CELL_BYTES, "managed memory is for flags");
        let mut is_concurrent = 0;
        // SAFETY: a device of the driver's; the result outlives the call.
        check(unsafe { sys::cuDeviceGetAttribute(&raw mut is_concurrent, CONCURRENT, self.device) })?;
        if is_concurrent == 0 {
            return self.allocate(size as u64, MemoryPlacement::Device);
        }
        let address = self.cells.take(|| self.managed_block())?;
        let host = NonNull::new(address as usize as *mut u8);
        Ok(Allocation { address, host, place: MemoryPlacement::Managed })
    }

    /// Managed memory whose place is the card.
    fn managed_block(&self) -> Result<u64, DriverError> {
        let (mut address, size) = (0, CELL_BYTES * CELLS_OF_BLOCK);
        let global = sys::CUmemAttach_flags_enum::CU_MEM_ATTACH_GLOBAL as c_uint;
        // SAFETY: the context is current; the result outlives the call.
        check(unsafe { sys::cuMemAllocManaged(&raw mut address, size, global) })?;
        let in_card = sys::CUmem_advise_enum::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
        // SAFETY: the range was allocated as managed. A block whose advice fails goes with the process.
        check(unsafe { sys::cuMemAdvise(address, size, in_card, self.device) })?;
        Ok(address)
    }

    /// Destroys a stream if it has no work; whether it did.
    fn destroy_idle(&self, stream: u64) -> bool {
        let is_idle = matches!(self.is_idle(stream), Ok(true));
        if is_idle {
            destroy(stream);
        }
        is_idle
    }

    /// Makes the card's context current.
    fn enter(&self) -> Result<(), DriverError> {
        if let Some(reason) = LOST.get() {
            return Err(DriverError::Lost(reason.clone()));
        }
        // Asked each time, which is cheap: the program may use CUDA on this thread beside us.
        let mut current = std::ptr::null_mut();
        // SAFETY: the result outlives the call.
        check(unsafe { sys::cuCtxGetCurrent(&raw mut current) })?;
        if current == self.context.0 {
            return Ok(());
        }
        // SAFETY: the context is retained.
        check(unsafe { sys::cuCtxSetCurrent(self.context.0) })
    }
}

/// Destroys a stream. Work that it still has is let finish.
fn destroy(stream: u64) {
    // SAFETY: made by `create_stream` for the card whose context is current, and destroyed once.
    let _ = check(unsafe { sys::cuStreamDestroy_v2(stream_of(stream)) });
}

/// Asks for all threadgroups of a launch at once.
fn cooperative_attribute() -> sys::CUlaunchAttribute {
    let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
    value.cooperative = 1;
    sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        pad: [0; 4],
        value,
    }
}

fn stream_of(stream: u64) -> sys::CUstream {
    stream as usize as sys::CUstream
}

fn event_of(event: u64) -> sys::CUevent {
    event as usize as sys::CUevent
}

// SAFETY: `allocate` hands on what the driver allocated, which lives until `free`.
unsafe impl Driver for CudaDriver {
    fn card(&self) -> &Card {
        &self.card
    }

    #[cfg(feature = "nccl")]
    fn make_current(&self) -> Result<(), DriverError> {
        self.enter()
    }

    fn allocate(&self, bytes: u64, place: MemoryPlacement) -> Result<Allocation, DriverError> {
        self.enter()?;
        let size = usize::try_from(bytes.max(1)).map_err(|_| DriverError::OutOfMemory)?;
        let mut address = 0;
        match place {
            MemoryPlacement::Device => {
                // SAFETY: the context is current; the result outlives the call.
                check(unsafe { sys::cuMemAlloc_v2(&raw mut address, size) })?;
                Ok(Allocation { address, host: None, place })
            }
            MemoryPlacement::Managed => self.managed_cell(size),
            MemoryPlacement::Host | MemoryPlacement::Registered => {
                let mut host: *mut c_void = std::ptr::null_mut();
                let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
                // SAFETY: as above.
                check(unsafe { sys::cuMemHostAlloc(&raw mut host, size, flags) })?;
                // SAFETY: `host` was allocated as mapped.
                check(unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, host, 0) })?;
                Ok(Allocation { address, host: NonNull::new(host.cast()), place: MemoryPlacement::Host })
            }
        }
    }

    fn register(&self, host: NonNull<u8>, bytes: u64) -> Result<Allocation, DriverError> {
        self.enter()?;
        let size = usize::try_from(bytes).map_err(|_| DriverError::OutOfMemory)?;
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        let start: *mut c_void = host.as_ptr().cast();
        // SAFETY: the context is current, and the memory is the caller's until `free`.
        check(unsafe { sys::cuMemHostRegister_v2(start, size, flags) })?;
        let mut address = 0;
        // SAFETY: it was registered as mapped.
        let mapped = check(unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, start, 0) });
        let allocation = Allocation { address, host: Some(host), place: MemoryPlacement::Registered };
        mapped.map(|()| allocation).inspect_err(|_| self.free(allocation))
    }

    fn free(&self, allocation: Allocation) {
        if self.enter().is_err() {
            return;
        }
        // A failure leaves nothing to be done: the memory goes with the process.
        let _ = match (allocation.place, allocation.host) {
            // SAFETY: allocated by `allocate` in that place, and freed once, as the trait demands.
            (MemoryPlacement::Host, Some(host)) => check(unsafe { sys::cuMemFreeHost(host.as_ptr().cast()) }),
            (MemoryPlacement::Registered, Some(host)) => {
                // SAFETY: registered by `register`, and let go of once, as the trait demands.
                check(unsafe { sys::cuMemHostUnregister(host.as_ptr().cast()) })
            }
            (MemoryPlacement::Managed, _) => {
                self.cells.give_back(allocation.address);
                Ok(())
            }
            // SAFETY: as above.
            _ => check(unsafe { sys::cuMemFree_v2(allocation.address) }),
        };
    }

    fn create_stream(&self, priority: i32) -> Result<u64, DriverError> {
        self.enter()?;
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: the context is current. Priorities outside of the card's range are clamped.
        check(unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, flags, priority) })?;
        Ok(stream as usize as u64)
    }

    fn destroy_stream(&self, stream: u64) {
        if self.enter().is_ok() && !self.products.retire(stream, |stream| self.destroy_idle(stream)) {
            destroy(stream);
        }
    }

    fn is_idle(&self, stream: u64) -> Result<bool, DriverError> {
        self.enter()?;
        // SAFETY: a stream of this driver.
        match unsafe { sys::cuStreamQuery(stream_of(stream)) } {
            sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            other => check(other).map(|()| true),
        }
    }

    fn synchronise(&self, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: a stream of this driver.
        check(unsafe { sys::cuStreamSynchronize(stream_of(stream)) })
    }

    fn create_event(&self) -> Result<u64, DriverError> {
        self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the context is current.
        check(unsafe { sys::cuEventCreate(&raw mut event, 0) })?;
        Ok(event as usize as u64)
    }

    fn destroy_event(&self, event: u64) {
        if self.enter().is_ok() {
            // SAFETY: made by `create_event`.
            let _ = check(unsafe { sys::cuEventDestroy_v2(event_of(event)) });
        }
    }

    fn record(&self, event: u64, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: both are of this driver.
        check(unsafe { sys::cuEventRecord(event_of(event), stream_of(stream)) })
    }

    fn has_ended(&self, event: u64) -> Result<bool, DriverError> {
        self.enter()?;
        // SAFETY: an event of this driver.
        match unsafe { sys::cuEventQuery(event_of(event)) } {
            sys::cudaError_enum::CUDA_ERROR_NOT_READY => Ok(false),
            other => check(other).map(|()| true),
        }
    }

    fn wait_event(&self, stream: u64, event: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the stream is of this driver, the event of a driver of this process.
        check(unsafe { sys::cuStreamWaitEvent(stream_of(stream), event_of(event), 0) })
    }

    fn elapsed(&self, from: u64, to: u64) -> Result<u64, DriverError> {
        self.enter()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: both are of this driver and recorded.
        check(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, event_of(from), event_of(to)) })?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }

    fn compile(&self, ptx: &str) -> Result<Vec<u8>, DriverError> {
        self.enter()?;
        linker::compile(ptx)
    }

    fn load(&self, code: &[u8]) -> Result<u64, DriverError> {
        self.enter()?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the code is an ELF image, which names its own length; that it is whole is `compile`'s
        // promise, or the cache's.
        let result = unsafe { sys::cuModuleLoadData(&raw mut module, code.as_ptr().cast()) };
        check(result).map(|()| module as usize as u64).map_err(|error| match error {
            DriverError::Other(reason) => DriverError::BadCode(reason),
            other => other,
        })
    }

    fn unload(&self, module: u64) {
        if self.enter().is_ok() {
            // SAFETY: made by `load`; no work uses it, as the trait demands.
            let _ = check(unsafe { sys::cuModuleUnload(module as usize as sys::CUmodule) });
        }
    }

    fn function(&self, module: u64, name: &str) -> Result<u64, DriverError> {
        self.enter()?;
        let name =
            CString::new(name).map_err(|_| DriverError::BadCode("a name with a zero byte".to_owned()))?;
        let mut function = std::ptr::null_mut();
        let module = module as usize as sys::CUmodule;
        // SAFETY: a module of this driver; the name ends with 0.
        let result = unsafe { sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) };
        check(result).map_err(|error| match error {
            DriverError::Other(reason) => DriverError::BadCode(reason),
            other => other,
        })?;
        Ok(function as usize as u64)
    }

    fn allow_shared(&self, function: u64, bytes: u32) -> Result<(), DriverError> {
        self.enter()?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let function = function as usize as sys::CUfunction;
        // SAFETY: a function of this driver.
        check(unsafe { sys::cuFuncSetAttribute(function, attribute, bytes as c_int) })
    }

    fn launch(&self, launch: KernelLaunch<'_>, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        let KernelLaunch { function, groups, group_size, shared_bytes, cooperative, parameters } = launch;
        let mut size = parameters.len();
        // `CU_LAUNCH_PARAM_BUFFER_POINTER`, `_BUFFER_SIZE` and `_END`.
        let mut extra = [
            std::ptr::without_provenance_mut(1),
            parameters.as_ptr().cast_mut().cast(),
            std::ptr::without_provenance_mut(2),
            (&raw mut size).cast(),
            std::ptr::null_mut(),
        ];
        let mut attributes = [cooperative_attribute()];
        let config = sys::CUlaunchConfig {
            gridDimX: groups[0],
            gridDimY: groups[1],
            gridDimZ: groups[2],
            blockDimX: group_size[0],
            blockDimY: group_size[1],
            blockDimZ: group_size[2],
            sharedMemBytes: shared_bytes,
            hStream: stream_of(stream),
            attrs: attributes.as_mut_ptr(),
            numAttrs: 1,
        };
        let function = function as usize as sys::CUfunction;
        if cooperative {
            // SAFETY: a function and a stream of this driver, and one attribute. The parameters are copied
            // before the call returns, and their layout is the function's own.
            return check(unsafe {
                sys::cuLaunchKernelEx(&raw const config, function, std::ptr::null_mut(), extra.as_mut_ptr())
            });
        }
        // SAFETY: a function and a stream of this driver. The parameters are copied before the call returns,
        // and their layout is the function's own.
        check(unsafe {
            sys::cuLaunchKernel(
                function,
                groups[0],
                groups[1],
                groups[2],
                group_size[0],
                group_size[1],
                group_size[2],
                shared_bytes,
                stream_of(stream),
                std::ptr::null_mut(),
                extra.as_mut_ptr(),
            )
        })
    }

    fn resident_groups(&self, function: u64, threads: u32, shared_bytes: u32) -> Result<u64, DriverError> {
        self.enter()?;
        let mut groups: c_int = 0;
        // SAFETY: a function of this driver, and a place for the number.
        check(unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut groups,
                function as usize as sys::CUfunction,
                threads as c_int,
                shared_bytes as usize,
            )
        })?;
        Ok(u64::from(groups.max(0) as u32) * u64::from(self.card().multiprocessors))
    }

    fn can_multiply(&self) -> Result<(), DriverError> {
        cublas::library().map(drop)
    }

    fn multiply(&self, product: &MatrixProduct<u64>, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        self.products.put(product, stream, |stream| self.destroy_idle(stream))
    }

    fn begin_capture(&self, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // Other threads are free to make any call meanwhile.
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: a stream of this driver.
        check(unsafe { sys::cuStreamBeginCapture_v2(stream_of(stream), mode) })
    }

    fn end_capture(&self, stream: u64) -> Result<u64, DriverError> {
        self.enter()?;
        let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a stream of this driver, whose capture this thread began.
        check(unsafe { sys::cuStreamEndCapture(stream_of(stream), &raw mut graph) })?;
        // SAFETY: the graph was made above; its executable form does not need it.
        let made = check(unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) });
        // SAFETY: the graph was made above and is destroyed once.
        let destroyed = check(unsafe { sys::cuGraphDestroy(graph) });
        made.and(destroyed).map(|()| executable as usize as u64)
    }

    fn launch_graph(&self, graph: u64, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: a graph and a stream of this driver; the memory that it names is alive, as the trait
        // demands.
        check(unsafe { sys::cuGraphLaunch(graph as usize as sys::CUgraphExec, stream_of(stream)) })
    }

    fn destroy_graph(&self, graph: u64) {
        if self.enter().is_ok() {
            // SAFETY: made by `end_capture`; no work uses it, as the trait demands.
            let _ = check(unsafe { sys::cuGraphExecDestroy(graph as usize as sys::CUgraphExec) });
        }
    }

    fn peer(&self) -> Peer {
        Peer { number: self.number, context: self.context.0 as usize as u64 }
    }

    fn reach(&self, peer: Peer) -> Result<bool, DriverError> {
        self.enter()?;
        peer::reach(self.peer(), peer)
    }

    fn copy_to_peer(
        &self,
        to: u64,
        peer: Peer,
        from: u64,
        bytes: u64,
        stream: u64,
    ) -> Result<(), DriverError> {
        self.enter()?;
        peer::copy((to, peer), (from, self.peer()), bytes, stream_of(stream))
    }

    fn copy_to_peer_now(&self, to: u64, peer: Peer, from: u64, bytes: u64) -> Result<(), DriverError> {
        self.enter()?;
        peer::copy_now((to, peer), (from, self.peer()), bytes)
    }

    fn copy(&self, to: u64, from: u64, bytes: u64, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the caller checked both ranges against live memory; addresses are unified.
        check(unsafe { sys::cuMemcpyAsync(to, from, bytes as usize, stream_of(stream)) })
    }

    fn fill(&self, to: u64, value: u8, bytes: u64, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the caller checked the range against live memory.
        check(unsafe { sys::cuMemsetD8Async(to, value, bytes as usize, stream_of(stream)) })
    }

    fn upload(&self, to: u64, bytes: &[u8], stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        if words::fit(to, bytes) {
            return words::write(to, bytes, stream_of(stream));
        }
        // SAFETY: the caller checked the range; from pageable memory the driver takes a copy before it
        // returns.
        check(unsafe { sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), stream_of(stream)) })
    }

    fn download(&self, bytes: &mut [u8], from: u64, stream: u64) -> Result<(), DriverError> {
        self.enter()?;
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the caller checked the range; the bytes are borrowed until the copy has ended.
        check(unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, bytes.len(), stream_of(stream)) })?;
        self.synchronise(stream)
    }
}
