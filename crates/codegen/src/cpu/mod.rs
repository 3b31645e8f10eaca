//! IR to LLVM text for CPUs: SPMD on SIMD, one vector element per thread of a SIMD-group.
//!
//! The pipeline, one file or folder each: `walk` (what is there), `storage` (where pointers point,
//! how locals are kept), `liveness`, `regions` (what barriers cut), `shape` (uniform, laned or
//! varying), `emit` (the text, through `llvm_text`). Start with [`generate`].
//!
//! A kernel becomes an entry that loops over threadgroups, and one function per version: a version
//! for full threadgroups of a promised size, one for everything else.

mod emit;
mod launch_abi;
mod liveness;
mod llvm_text;
pub mod math;
mod options;
mod regions;
mod shape;
mod storage;
mod walk;

use anymetal_ir::{ArgKind, Kernel, Module};

pub use options::{AccessKind, CodegenError, CpuCode, CpuFeatures, CpuOptions, FaultSite};

use liveness::Liveness;
use regions::GroupLevel;
use shape::flow::{Facts, Flow};
use storage::Storage;

/// The most bytes that one thread's variables may take.
const MAX_PRIVATE_BYTES: u64 = 1 << 18;
/// The most threads of a threadgroup.
const MAX_THREADS: u64 = 1024;

/// Writes the code of one kernel. The module must be verified, and the kernel's function inlined and
/// specialised.
pub fn generate(module: &Module, kernel: &str, options: &CpuOptions) -> Result<CpuCode, CodegenError> {
    let unknown = || CodegenError::UnknownKernel { name: kernel.to_owned() };
    let kernel = module.kernel(kernel).ok_or_else(unknown)?;
    if let Some(size) = options.group_size {
        let threads: u64 = size.iter().fold(1, |product, &n| u64::from(n).saturating_mul(product));
        if threads == 0 || threads > MAX_THREADS {
            return Err(CodegenError::BadGroupSize { size });
        }
    }
    let function = module.function(kernel.function);
    let order = walk::instructions(function)?;
    let bytes = function.locals.iter().fold(0_u64, |sum, local| sum.saturating_add(local.size));
    if bytes > MAX_PRIVATE_BYTES {
        return Err(CodegenError::TooMuchMemory { bytes, limit: MAX_PRIVATE_BYTES });
    }
    let storage = Storage::new(function, kernel, &order);
    let liveness = Liveness::new(function, &storage);
    let group_level = GroupLevel::new(function);
    emit::generate_module(module, kernel, options, |geometry| {
        let facts =
            Facts { function, storage: &storage, liveness: &liveness, group_level: &group_level, geometry };
        (facts, Flow::new(facts))
    })
}

/// Each argument's position in the launch's table of its kind; `None` for disabled arguments.
pub fn argument_slots(kernel: &Kernel) -> Vec<Option<u32>> {
    let (mut buffers, mut threadgroup) = (0, 0);
    let mut next = |kind| {
        let counter = if kind == ArgKind::Buffer { &mut buffers } else { &mut threadgroup };
        *counter += 1;
        *counter - 1
    };
    kernel.args.iter().map(|argument| argument.enabled.then(|| next(argument.kind))).collect()
}
