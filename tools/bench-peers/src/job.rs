//! A benchmark as data: text, buffers, launches.

/// What to compile, fill in and launch. The text is trusted: see [`crate::opencl`] and [`crate::cuda`].
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// OpenCL C, in several variants, of which each runtime's fastest counts; none where the language cannot
    /// say it.
    pub opencl: Vec<&'static str>,
    /// CUDA C of kernels with the same names and arguments.
    pub cuda: Option<&'static str>,
    /// First contents of the buffers.
    pub buffers: Vec<Contents<'a>>,
    /// The launches of one run, in order.
    pub steps: Vec<JobStep>,
    /// The buffer that holds the result.
    pub result: usize,
    /// What the launches do, if it is a product of matrices, for libraries that have one.
    pub product: Option<JobProduct>,
}

/// A product of matrices in rows: of the buffers with these indices, with a result of `float` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobProduct {
    /// Of `rows` by `inner` elements.
    pub left: usize,
    /// Of `inner` by `columns` elements.
    pub right: usize,
    /// Rows of the result.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// Columns of the left factor.
    pub inner: u32,
    /// The factors are of `half`, not of `float`.
    pub is_half: bool,
}

/// What a buffer holds at first.
#[derive(Clone, Copy, Debug)]
pub enum Contents<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// This many zeros.
    Zeroed(usize),
}

impl Contents<'_> {
    /// The size in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Contents::Bytes(bytes) => bytes.len(),
            Contents::Zeroed(len) => *len,
        }
    }
}

/// One launch.
#[derive(Clone, Debug)]
pub struct JobStep {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Its arguments, in order.
    pub arguments: Vec<Argument>,
    /// Work-items in each dimension.
    pub global: [usize; 3],
    /// The work-group; without one the runtime chooses.
    pub local: Option<[usize; 3]>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Argument {
    /// The buffer with this index in [`Job::buffers`].
    Buffer(usize),
    /// A `uint`.
    U32(u32),
    /// A `float`.
    F32(f32),
    /// A `uint2`.
    U32x2([u32; 2]),
    /// A `uint4`.
    U32x4([u32; 4]),
    /// A `float4`.
    F32x4([f32; 4]),
}
