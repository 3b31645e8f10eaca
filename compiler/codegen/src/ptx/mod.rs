//! IR to LLVM text for NVIDIA GPUs: one thread's view stays one thread's view.
//!
//! A kernel becomes one `ptx_kernel` function. A SIMD-group is a warp, a threadgroup a CTA. Values are
//! written scalar by scalar, control flow as basic blocks, and LLVM's NVPTX target makes PTX of it.
//!
//! | file | decides |
//! |---|---|
//! | `analysis` | what is known of a function before it is written |
//! | `by_value` | the arguments that a launch may give by value |
//! | `alignment` | the alignment that an address has by its computation |
//! | `convergence` | the constructs after or in which the active lanes must be known |
//! | `poll_plan` | how loops are written, and poll the stop flag |
//! | `matrix_layout` | which lane holds which elements of matrices |
//! | `emit/entry` | parameters, positions of threads, the exit with the fault record |
//! | `emit/allocation` | bases, lengths, tagged pointers, bounds checks |
//! | `emit/loaded_pointers` | addresses in memory, looked up in the table of resident buffers |
//! | `emit/versions`, `emit/region` | a body for threadgroups of which much is known, and one for any |
//! | `emit/memory`, `emit/copy`, `emit/atomic` | accesses |
//! | `emit/control`, `emit/loops`, `emit/pieces` | branches, loops, lanes that meet again, the stop flag |
//! | `emit/simd`, `emit/reduce`, `emit/matrix`, `emit/tensor` | operations between lanes |
//! | `emit/barrier` | barriers of the threadgroup |
//! | `emit/value`, `emit/math` | arithmetic |
//!
//! Invariants: as long as checks are on, an access out of bounds is not executed and a misaligned one is done
//! in pieces; an instruction of a warp names exactly the lanes that execute it; no `llvm.*` intrinsic is left
//! that NVPTX has no instruction for. Start with [`generate`].

mod alignment;
mod analysis;
mod by_value;
mod convergence;
mod emit;
mod matrix_layout;
mod options;
mod poll_plan;

use anymetal_analysis::function_loads_pointers;
use anymetal_ir::{Function, Inst, Kernel, Module, Op};
use anymetal_opt::{PassManager, pipeline};

pub use options::{PtxCode, PtxDescription, PtxOptions};

use crate::cpu::{CodegenError, walk};
use crate::limits::ptx::{MAX_PRIVATE_BYTES, MAX_STATIC_THREADGROUP_BYTES};
use crate::requested_kernel::requested_kernel;

/// Runs the passes for NVIDIA over a kernel's function. The module must be verified, and the function
/// inlined and specialised.
pub fn lower(
    module: &Module,
    kernel: &Kernel,
    options: &PtxOptions,
    manager: &mut PassManager<'_>,
) -> Function {
    let geometry = Some(options.geometry());
    let mut function = module.function(kernel.function).clone();
    manager.run(pipeline::NVIDIA, module, geometry, &mut function);
    if options.whole_threadgroups_only && options.group_size.is_some() {
        manager.run(pipeline::NVIDIA_WHOLE_THREADGROUPS, module, geometry, &mut function);
    }
    function
}

/// Writes the code of one kernel. The module must be verified, and the kernel's function inlined and
/// specialised.
///
/// # Errors
/// A kernel that is unknown, not prepared or too large, and operations that the target cannot do.
pub fn generate(module: &Module, kernel: &str, options: &PtxOptions) -> Result<PtxCode, CodegenError> {
    let kernel = requested_kernel(module, kernel, options.group_size)?;
    let function = lower(module, kernel, options, &mut PassManager::new(&options.passes));
    let order = checked_instructions(&function)?;
    let analysis = analysis::Analysis::new((module, kernel), &function, &order, options.geometry());
    let static_bytes = checked_static_bytes(module, &function, &analysis)?;
    let input = emit::Input { module, kernel, function: &function, order: &order, options, static_bytes };
    emit::generate(input, analysis)
}

/// What [`generate`] would tell of a kernel, without writing its code: the same errors, at the price of the
/// target's passes. The module must be verified, and the kernel's function inlined and specialised.
///
/// # Errors
/// Exactly those of [`generate`].
pub fn describe(module: &Module, kernel: &str, options: &PtxOptions) -> Result<PtxDescription, CodegenError> {
    let kernel = requested_kernel(module, kernel, options.group_size)?;
    let function = lower(module, kernel, options, &mut PassManager::new(&options.passes));
    let order = checked_instructions(&function)?;
    let analysis = analysis::Analysis::new((module, kernel), &function, &order, options.geometry());
    let threadgroup_static_bytes = checked_static_bytes(module, &function, &analysis)?;
    let (symbol, value_words) = (options.symbol.clone(), analysis.value_words);
    let loads_pointers = function_loads_pointers(&function);
    Ok(PtxDescription { symbol, threadgroup_static_bytes, value_words, loads_pointers })
}

/// The instructions of a lowered function in program order, if the code generator takes it.
fn checked_instructions(function: &Function) -> Result<Vec<Inst>, CodegenError> {
    let order = walk::instructions(function)?;
    let calls = order.iter().map(|inst| &function.inst(*inst).op);
    let callee =
        calls.filter_map(|op| if let Op::Call(callee, _) = op { Some(*callee) } else { None }).next();
    if let Some(callee) = callee {
        return Err(CodegenError::NotInlined { callee });
    }
    let bytes = function.locals.iter().fold(0_u64, |sum, local| sum.saturating_add(local.size));
    if bytes > MAX_PRIVATE_BYTES {
        return Err(CodegenError::TooMuchMemory { bytes, limit: MAX_PRIVATE_BYTES });
    }
    Ok(order)
}

/// The bytes of static threadgroup memory, if the assembler takes that many.
fn checked_static_bytes(
    module: &Module,
    function: &Function,
    analysis: &analysis::Analysis,
) -> Result<u64, CodegenError> {
    let variables = variable_bytes(module);
    let meets_grid = function.insts.iter().any(|inst| inst.op.is_grid_barrier());
    let own = [
        (analysis.convergence.barriers_diverge(), emit::BARRIER_BYTES),
        (meets_grid, emit::GRID_BARRIER_BYTES),
    ];
    let bytes = own
        .iter()
        .filter(|(is_there, _)| *is_there)
        .fold(variables, |end, (_, bytes)| end.div_ceil(16).saturating_mul(16).saturating_add(*bytes));
    if bytes > MAX_STATIC_THREADGROUP_BYTES {
        return Err(CodegenError::TooMuchMemory { bytes, limit: MAX_STATIC_THREADGROUP_BYTES });
    }
    assert!(bytes >= variables, "barriers take memory after the variables");
    Ok(bytes)
}

/// The bytes of all static threadgroup variables, each on a multiple of 16 as they are emitted.
fn variable_bytes(module: &Module) -> u64 {
    module.threadgroup_vars.iter().fold(0, |end: u64, var| {
        let align = u64::from(var.align.max(16));
        assert!(align.is_power_of_two(), "alignments are powers of two, not {align}");
        end.div_ceil(align).saturating_mul(align).saturating_add(var.size)
    })
}
