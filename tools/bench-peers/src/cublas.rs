//! Products of matrices by cuBLAS on a GPU.
//!
//! Owns [`Blas`], the peer of workloads that are products ([`Job::product`]). `float` factors are multiplied
//! in full precision, without `tf32`, and sums are in `float`, as in our kernels.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal_nvidia::cublas::product::{Element, Matrix, Product};
use anymetal_nvidia::cublas::{Cublas, Handle};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr as _, DriverError, sys};

use crate::job::{Contents, Job, JobProduct};
use crate::peer::{Form, Loaded, PeerError, Runtime, at};

/// The contender's name.
const NAME: &str = "cuBLAS";

/// cuBLAS on one GPU.
#[derive(Debug)]
pub struct Blas {
    library: &'static Cublas,
    stream: Arc<CudaStream>,
}

fn failed(call: &'static str) -> impl Fn(DriverError) -> PeerError {
    move |error| PeerError::Call { runtime: NAME.to_owned(), call, error: error.to_string() }
}

impl Blas {
    /// On the GPU of that number.
    pub fn open(number: usize) -> Result<Self, PeerError> {
        // SAFETY: it only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(PeerError::NoDriver);
        }
        let library = Cublas::load().map_err(PeerError::NoLibrary)?;
        let context = CudaContext::new(number).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let stream = context.new_stream().map_err(failed("cuStreamCreate"))?;
        Ok(Blas { library, stream })
    }

    fn buffer(&self, contents: &Contents<'_>) -> Result<CudaSlice<u8>, PeerError> {
        match *contents {
            Contents::Bytes(bytes) => self.stream.clone_htod(bytes).map_err(failed("cuMemcpyHtoD")),
            Contents::Zeroed(len) => self.stream.alloc_zeros(len).map_err(failed("cuMemAlloc")),
        }
    }

    /// Where a matrix of so many elements is; the buffer must have them.
    fn matrix(
        &self,
        buffers: &[CudaSlice<u8>],
        (index, element): (usize, Element),
        [rows, columns]: [u32; 2],
    ) -> Result<Matrix, PeerError> {
        let buffer = at(buffers, index)?;
        let size = if element == Element::F32 { 4 } else { 2 };
        if (buffer.len() as u64) < u64::from(rows) * u64::from(columns) * size {
            return Err(PeerError::NoSuchBuffer { index, count: buffers.len() });
        }
        let (address, _used) = buffer.device_ptr(&self.stream);
        Ok(Matrix { address, element, row_stride: columns.into(), batch_stride: 0, transposed: false })
    }
}

impl Runtime for Blas {
    fn name(&self) -> &str {
        NAME
    }

    fn version(&self) -> &str {
        self.library.version()
    }

    fn forms(&self, job: &Job<'_>) -> Vec<Form> {
        let form = Form { source: "cublasGemmStridedBatchedEx", options: "" };
        job.product.map_or(Vec::new(), |_| vec![form])
    }

    fn load<'a>(&'a self, job: &Job<'_>, _form: Form) -> Result<Box<dyn Loaded + 'a>, PeerError> {
        let none =
            PeerError::Build { runtime: NAME.to_owned(), log: "it is no product of matrices".to_owned() };
        let JobProduct { left, right, rows, columns, inner, is_half } = job.product.ok_or(none)?;
        let buffers = job.buffers.iter().map(|contents| self.buffer(contents));
        let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        let factors = if is_half { Element::F16 } else { Element::F32 };
        let product = Product {
            left: self.matrix(&buffers, (left, factors), [rows, inner])?,
            right: self.matrix(&buffers, (right, factors), [inner, columns])?,
            result: self.matrix(&buffers, (job.result, Element::F32), [rows, columns])?,
            rows,
            columns,
            inner,
            batches: 1,
            alpha: 1.0,
            beta: 0.0,
        };
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        self.stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        // SAFETY: the context was made current above; `LoadedProduct` makes it so for each further call, and
        // holds the stream.
        let handle = unsafe { Handle::new(self.library, self.stream.cu_stream() as usize as u64) };
        let handle = Mutex::new(Some(handle.map_err(PeerError::NoLibrary)?));
        Ok(Box::new(LoadedProduct { stream: &self.stream, handle, buffers, product, result: job.result }))
    }
}

#[derive(Debug)]
struct LoadedProduct<'a> {
    stream: &'a Arc<CudaStream>,
    handle: Mutex<Option<Handle>>,
    buffers: Vec<CudaSlice<u8>>,
    product: Product,
    result: usize,
}

impl Loaded for LoadedProduct<'_> {
    fn run(&self) -> Result<(), PeerError> {
        self.stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
        if let Some(handle) = &mut *self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the buffers have all elements (`Blas::matrix`) and stay until the stream has ended,
            // which `drop` waits for; each matrix is a buffer of its own.
            let put = unsafe { handle.multiply(&self.product) };
            put.map_err(|error| PeerError::Call {
                runtime: NAME.to_owned(),
                call: "cublasGemmStridedBatchedEx",
                error: error.to_string(),
            })?;
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

impl Drop for LoadedProduct<'_> {
    /// Products still running use the buffers, and the handle goes with its context current.
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
        let _ = self.stream.context().bind_to_thread();
        drop(self.handle.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}
