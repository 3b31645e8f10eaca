//! What goes into code generation for a CPU and what comes out. Plain data.

use anymetal_abi::AccessKind;
use anymetal_ir::{FuncId, Loc, Space};
use anymetal_opt::{PassOptions, Remark};
use anymetal_simd::target::CpuFeatures;

/// How to generate code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuOptions {
    /// Check every access whose bounds are known only at run time.
    pub checks: bool,
    /// The threadgroup size that every dispatch of this code uses; `None`: any.
    pub group_size: Option<[u32; 3]>,
    /// With a size given: no dispatch has threadgroups cut off at the grid's edge. The code does nothing
    /// for such threadgroups; the device must refuse those grids.
    pub whole_threadgroups_only: bool,
    /// The processor.
    pub features: CpuFeatures,
    /// The name of the entry.
    pub symbol: String,
    /// Write the IR's value numbers into the text, as comments.
    pub comments: bool,
    /// Collect remarks. They are not part of the code.
    pub remarks: bool,
    /// As little text as possible: one version of the code for all threadgroups, unless there are only whole
    /// ones of one size, and no copies of code for the case that all lanes are on.
    pub baseline: bool,
    /// Bytes of text of one function at which [`CodegenError::TooMuchText`] ends the emission.
    pub max_text_bytes: usize,
    /// Which of the target's passes run.
    pub passes: PassOptions,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self {
            checks: true,
            group_size: None,
            whole_threadgroups_only: false,
            features: CpuFeatures::default(),
            symbol: "kernel".to_owned(),
            comments: false,
            remarks: false,
            baseline: false,
            max_text_bytes: usize::MAX,
            passes: PassOptions::new(),
        }
    }
}

/// What is known of a kernel's code before it is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuDescription {
    /// The entry's symbol.
    pub symbol: String,
    /// As [`CpuCode::threadgroup_static_bytes`].
    pub threadgroup_static_bytes: u64,
}

/// The result of code generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuCode {
    /// A module of LLVM IR text, to be read by LLVM 18 to 23.
    pub llvm_ir: String,
    /// The entry's symbol.
    pub symbol: String,
    /// Bytes of threadgroup memory that static variables take, at offset 0.
    pub threadgroup_static_bytes: u64,
    /// Scratch bytes of a worker, whatever the threadgroup size.
    pub scratch_bytes: u64,
    /// Scratch bytes of a worker for each SIMD-group of a threadgroup, on top.
    pub scratch_bytes_per_simdgroup: u64,
    /// Whether it looks addresses up that it loads: it needs the launch's resident buffers.
    pub loads_pointers: bool,
    /// Whether a call of the entry runs one SIMD-group, because SIMD-groups may wait for each other.
    pub independent_simdgroups: bool,
    /// The accesses that can fault, by the number that the code gives to the fault function.
    pub fault_sites: Vec<FaultSite>,
    /// How constructs were compiled, if requested.
    pub remarks: Vec<Remark>,
}

impl CpuCode {
    /// The module as at most `max` modules to be compiled side by side; one if it is small. Their objects
    /// joined are the code of the whole.
    pub fn parts(&self, max: usize) -> Vec<String> {
        super::split_module::parts(&self.llvm_ir, max)
    }
}

/// A checked access, in terms of the IR. The artifact has the same in the words of the source (the hal's
/// `FaultSite`); the compiler makes one of the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FaultSite {
    /// The kernel's argument (position in [`anymetal_ir::Kernel::args`]), if the access is to one and
    /// it is known which.
    pub argument: Option<usize>,
    /// The name of the variable accessed, if it is not an argument and known; else empty.
    pub variable: String,
    /// The address space accessed.
    pub space: Space,
    /// Reads, writes or both.
    pub kind: AccessKind,
    /// Bytes that one thread accesses.
    pub access_bytes: u32,
    /// Where it is in the source.
    pub loc: Loc,
}

/// Why no code was generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// No such kernel in the module.
    #[error("the module has no kernel `{name}`")]
    UnknownKernel {
        /// The name asked for.
        name: String,
    },
    /// A call is left; the inliner removes them.
    #[error("the kernel still calls function {callee}")]
    NotInlined {
        /// The function called.
        callee: FuncId,
    },
    /// A function constant is left; specialisation removes them.
    #[error("the kernel still depends on a function constant")]
    NotSpecialised,
    /// Control flow is nested deeper than the generator follows.
    #[error("control flow is nested more than {limit} levels deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The kernel needs more private or threadgroup memory than any device has.
    #[error("the kernel's variables take {bytes} bytes, more than the limit of {limit}")]
    TooMuchMemory {
        /// Needed.
        bytes: u64,
        /// Allowed.
        limit: u64,
    },
    /// The code of a function is longer than the options allow.
    #[error("its code takes more than the limit of {limit} bytes of LLVM's text")]
    TooMuchText {
        /// The limit.
        limit: usize,
    },
    /// The target has no code for an operation.
    #[error("{what} cannot be compiled for this target")]
    Unsupported {
        /// The operation.
        what: String,
        /// Where it is in the source.
        loc: Loc,
    },
    /// The threadgroup size asked for has a zero or too many threads.
    #[error("no threadgroup has the size {size:?}")]
    BadGroupSize {
        /// The size asked for.
        size: [u32; 3],
    },
}
