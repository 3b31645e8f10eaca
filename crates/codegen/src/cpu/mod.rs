//! IR to LLVM text for CPUs: SPMD on SIMD, one vector element per thread of a SIMD-group.
//!
//! The pipeline, one file or folder each: `walk` (what is there), `storage` (where pointers point,
//! how locals are kept), `liveness`, `regions` (what barriers cut), `bundles`
//! (loads of a thread that belong together), `shape` (uniform, laned or varying), `windows` (loads around each
//! thread's place), `shifted` (what is computed from them), `inside` (what no limit concerns, by `polynomial`), `turned` (which threads share a SIMD-group), `emit` (the text, through `llvm_text`), `parts` (the text taken apart). Start with [`generate`].
//!
//! A kernel becomes an entry that loops over threadgroups, and one function per version: a version
//! for full threadgroups of a promised size, one for everything else.

mod bundles;
mod emit;
mod inside;
mod launch_abi;
mod liveness;
mod llvm_text;
pub mod math;
mod options;
mod parts;
mod polynomial;
mod regions;
mod shape;
mod shifted;
mod storage;
mod target;
mod turned;
mod walk;
mod windows;

use anymetal_ir::passes::{PassManager, pipeline};
use anymetal_ir::{ArgKind, Function, Kernel, Module};

pub use options::{AccessKind, CodegenError, CpuCode, CpuFeatures, CpuOptions, FaultSite};

use bundles::Bundles;
use liveness::Liveness;
use regions::GroupLevel;
use shape::flow::Facts;
use shape::queries::Geometry;
use storage::Storage;

/// The most bytes that one thread's variables may take.
const MAX_PRIVATE_BYTES: u64 = 1 << 18;
/// The most threads of a threadgroup.
const MAX_THREADS: u64 = 1024;

/// A kernel's function as the code generator takes it: after the target's passes.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// For threadgroups of any size and those cut off at the grid's edge.
    pub general: Function,
    /// For whole threadgroups of the size in the options, where that makes a difference.
    pub whole: Option<Function>,
}

/// Runs the CPU's passes over a kernel's function. The module must be verified, and the function inlined and
/// specialised.
pub fn lower(
    module: &Module,
    kernel: &Kernel,
    options: &CpuOptions,
    manager: &mut PassManager<'_>,
) -> Lowered {
    let mut general = module.function(kernel.function).clone();
    manager.run(pipeline::CPU, module, &target::CpuTarget::any_size(kernel, options), &mut general);
    let whole = options.group_size.and_then(|size| {
        let geometry = whole_geometry(module.function(kernel.function), size);
        let target = target::CpuTarget::whole(kernel, options, geometry);
        let mut whole = general.clone();
        let changed = manager.run(pipeline::CPU_WHOLE_THREADGROUPS, module, &target, &mut whole);
        changed.then_some(whole)
    });
    Lowered { general, whole }
}

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
    let Lowered { general, whole } = lower(module, kernel, options, &mut PassManager::default());
    let general = Analysed::new(&general, kernel)?;
    let whole = whole.as_ref().map(|function| Analysed::new(function, kernel)).transpose()?;
    emit::generate_module(module, kernel, options, |geometry| match (&whole, geometry.size()) {
        (Some(whole), Some(_)) => (1, whole.facts(geometry)),
        _ => (0, general.facts(geometry)),
    })
}

/// How the threads of whole threadgroups lie in SIMD-groups.
fn whole_geometry(function: &Function, size: [u32; 3]) -> Geometry {
    if turned::turns(function, size) { Geometry::Turned(size) } else { Geometry::Full(size) }
}

/// A function and what is found out about it before its shapes.
struct Analysed<'a> {
    function: &'a Function,
    storage: Storage,
    liveness: Liveness,
    group_level: GroupLevel,
    bundles: Bundles,
}

impl<'a> Analysed<'a> {
    fn new(function: &'a Function, kernel: &Kernel) -> Result<Self, CodegenError> {
        let order = walk::instructions(function)?;
        let bytes = function.locals.iter().fold(0_u64, |sum, local| sum.saturating_add(local.size));
        if bytes > MAX_PRIVATE_BYTES {
            return Err(CodegenError::TooMuchMemory { bytes, limit: MAX_PRIVATE_BYTES });
        }
        let storage = Storage::new(function, kernel, &order);
        let liveness = Liveness::new(function, &storage);
        let group_level = GroupLevel::new(function);
        Ok(Self { function, storage, liveness, group_level, bundles: Bundles::new(function) })
    }

    fn facts(&self, geometry: Geometry) -> Facts<'_> {
        let Self { function, storage, liveness, group_level, bundles } = self;
        Facts { function, storage, liveness, group_level, bundles, geometry }
    }
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
