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
mod interior;
mod lane_order;
mod lane_shift_reuse;
mod launch_abi;
mod liveness;
mod llvm_text;
pub mod math;
mod options;
mod polynomial;
mod regions;
mod shape;
mod split_module;
mod stencil_rows;
mod storage;
mod uniform_div_versioning;
mod walk;

use std::borrow::Cow;

use anymetal_ir::passes::group_size::{asks_for_group_size, set_group_size};
use anymetal_ir::passes::{
    div_rem_pairs, hoist_divergent_barriers, localize_divergent_exits, memcpy_idiom, merge_stores,
    optimise_function, prefetch, schedule_long_latency, separable_filter, split_accumulators,
};
use anymetal_ir::{ArgKind, Function, Kernel, Module};

pub use options::{AccessKind, CodegenError, CpuCode, CpuFeatures, CpuOptions, FaultSite};

use bundles::Bundles;
use liveness::Liveness;
use regions::GroupLevel;
use shape::flow::Facts;
use shape::queries::Geometry;
use shape::range::bound_anywhere;
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
    let function = &rejoined(module.function(kernel.function), options);
    let general = Analysed::new(function, kernel)?;
    // Code for whole threadgroups of one size: what depends on the size folds.
    let mut sized = options.group_size.filter(|_| asks_for_group_size(function)).map(|size| {
        let mut sized = Function::clone(function);
        set_group_size(&mut sized, size);
        optimise_function(module, &mut sized);
        sized
    });
    // And most of the work is theirs, so that copies are worth it.
    if let Some(size) = options.group_size {
        let geometry = whole_geometry(module.function(kernel.function), size);
        let copies = uniform_div_versioning::with_copies(
            module,
            kernel,
            sized.as_ref().unwrap_or(function),
            geometry,
        )?;
        sized = copies.or(sized);
    }
    let whole = sized.as_ref().map(|function| Analysed::new(function, kernel)).transpose()?;
    emit::generate_module(module, kernel, options, |geometry| match (&whole, geometry.size()) {
        (Some(whole), Some(_)) => (1, whole.facts(geometry)),
        _ => (0, general.facts(geometry)),
    })
}

/// How the threads of whole threadgroups lie in SIMD-groups.
fn whole_geometry(function: &Function, size: [u32; 3]) -> Geometry {
    if lane_order::prefers_y_major(function, size) { Geometry::YMajor(size) } else { Geometry::Full(size) }
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

/// The function in the form that regions need: threads part only where no barrier is, and
/// none follows. And with what the next threadgroup will want asked for, and elements moved and stores side by side joined, sums
/// in order of columns or taken apart, and long computations in order of what they wait for.
fn rejoined<'a>(function: &'a Function, options: &CpuOptions) -> Cow<'a, Function> {
    let mut rejoined = function.clone();
    let changed = hoist_divergent_barriers::hoist_divergent_barriers(&mut rejoined)
        | localize_divergent_exits::localize_divergent_exits(&mut rejoined)
        | prefetch::prefetch(&mut rejoined)
        | memcpy_idiom::memcpy_idiom(&mut rejoined, &bound_anywhere)
        | merge_stores::merge_stores(&mut rejoined, &bound_anywhere)
        // Only vectors of 512 bits are shifted in one instruction. Columns are alike only as long as none is taken apart.
        | ((options.features.avx512 && separable_filter::separable_filter(&mut rejoined)) || split_accumulators::split_accumulators(&mut rejoined))
        | div_rem_pairs::div_rem_pairs(&mut rejoined)
        | schedule_long_latency::schedule_long_latency(&mut rejoined);
    if changed { Cow::Owned(rejoined) } else { Cow::Borrowed(function) }
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
