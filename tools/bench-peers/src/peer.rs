//! What all contenders have in common.
//!
//! A [`Job`] is data: the kernels' text, the buffers' first contents, the launches. [`Runtime::load`] builds
//! a form of it for one device, and [`Loaded::run`] only enqueues and waits, so that it can be timed.

use std::fmt::Debug;

use crate::job::Job;

/// A way to compile a job's kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The text.
    pub source: &'static str,
    /// The compiler's options.
    pub options: &'static str,
}

/// Somebody else's compiler and device.
pub trait Runtime: Debug {
    /// Its name.
    fn name(&self) -> &str;
    /// Of which version.
    fn version(&self) -> &str;
    /// The ways to compile this job, of which the fastest counts; none where it has no text for this runtime.
    fn forms(&self, job: &Job<'_>) -> Vec<Form>;
    /// Compiles the job's kernels, fills its buffers and prepares its launches.
    fn load<'a>(&'a self, job: &Job<'_>, form: Form) -> Result<Box<dyn Loaded + 'a>, PeerError>;
}

/// A job compiled and filled in for one runtime.
pub trait Loaded: Debug {
    /// Enqueues every step in order, and waits.
    fn run(&self) -> Result<(), PeerError>;
    /// The bytes of the result buffer.
    fn result(&self) -> Result<Vec<u8>, PeerError>;
}

/// What can go wrong with a peer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// There is no OpenCL loader on this machine, or it has no CPU device to offer.
    #[error("no OpenCL CPU runtime is installed")]
    NoRuntime,
    /// There is no CUDA driver on this machine.
    #[error("there is no CUDA driver (libcuda.so)")]
    NoDriver,
    /// There is no cuBLAS.
    #[error(transparent)]
    NoLibrary(anymetal_nvidia::cublas::CublasError),
    /// The compiler does not start.
    #[error("{compiler} does not start: {error}")]
    NoCompiler {
        /// Its program.
        compiler: String,
        /// Why not.
        error: std::io::Error,
    },
    /// A file or folder of compiled kernels cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The kernels do not compile there.
    #[error("{runtime} cannot compile the kernels:\n{log}")]
    Build {
        /// Whose compiler.
        runtime: String,
        /// What it said.
        log: String,
    },
    /// A call failed.
    #[error("{runtime}: {call} failed: {error}")]
    Call {
        /// Whose.
        runtime: String,
        /// Which.
        call: &'static str,
        /// The runtime's word for it.
        error: String,
    },
    /// The job itself makes no sense.
    #[error("the job refers to buffer {index}, and there are {count}")]
    NoSuchBuffer {
        /// The index it has.
        index: usize,
        /// The number of buffers.
        count: usize,
    },
}

/// The buffer of that index.
pub(crate) fn at<T>(buffers: &[T], index: usize) -> Result<&T, PeerError> {
    buffers.get(index).ok_or(PeerError::NoSuchBuffer { index, count: buffers.len() })
}
