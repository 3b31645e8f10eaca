//! Kernel fusion: combines kernels that are launched one after the other over the same grid into one kernel.
//!
//! In one launch a thread may start the second kernel before another thread has finished the first. That is
//! correct if no thread accesses bytes that another thread writes in another of these kernels. [`fuse`]
//! proves it for each bound range (*place*): all accesses to bytes that two of the kernels access and one of
//! them writes must be at the same sum `s` of the thread's position, times constants, and uniform values,
//! plus `[low, high)`, and `s` must differ by at least `high - low` between any two threads of the grid, so
//! that threads access disjoint bytes. Bytes that only one kernel accesses, or that no kernel writes, need no
//! proof. Kernels that access memory through a pointer that this analysis cannot follow are refused, and so
//! is all synchronisation between threads.
//!
//! Whether threads are disjoint can depend on the grid: `y * width + x` overlaps if `x` reaches `width`, and
//! a 32-bit sum wraps at 2^32. [`Launched`] says what is known of the launch, and the proof holds for such
//! launches only; the fused kernel is the same for all.

mod proof;
mod sum;

use thiserror::Error;

use super::{InlineError, inline};
use anymetal_abi::MAX_BOUND_BUFFERS;
use anymetal_ir::{
    Access, BarrierScope, Builder, FuncId, Function, GlobalId, Kernel, KernelArg, Module, Op, Space, Type,
};

/// A kernel to be fused.
#[derive(Clone, Copy, Debug)]
pub struct FusedKernel<'a> {
    /// A verified module with that one kernel, specialised and inlined.
    pub module: &'a Module,
    /// For each argument, what it is bound to: the same number for exactly the same bytes. Arguments with
    /// different numbers share no byte that is written.
    pub places: &'a [u32],
    /// For each argument, the bytes that it is bound to, where they are known.
    pub bytes: &'a [Option<&'a [u8]>],
}

/// How the kernels are launched, all of them alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launched {
    /// The threads along each axis, or their maximum if not `exact`.
    pub threads: [u64; 3],
    /// Whether `threads` is the exact number.
    pub exact: bool,
    /// The size of full threadgroups, if known.
    pub group_size: Option<[u32; 3]>,
}

impl Launched {
    /// A line of threads of any length, in threadgroups of any size.
    pub const ANY_LINE: Self = Self { threads: [1 << 32, 1, 1], exact: false, group_size: None };

    /// Exactly `threads` threads in threadgroups of that size.
    pub fn exactly(threads: [u64; 3], group_size: Option<[u32; 3]>) -> Self {
        Self { threads, exact: true, group_size }
    }
}

/// Why kernels cannot be fused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// A module does not meet the requirements of [`FusedKernel`].
    #[error("{kernel} is not specialised and inlined")]
    NotPrepared {
        /// The kernel.
        kernel: String,
    },
    /// Threads of a kernel may synchronise or communicate through memory.
    #[error("threads of {kernel} communicate by {by}")]
    Communicates {
        /// The kernel.
        kernel: String,
        /// How.
        by: &'static str,
    },
    /// A kernel dereferences pointers that it loads from memory.
    #[error("{kernel} takes pointers from memory")]
    PointerFromMemory {
        /// The kernel.
        kernel: String,
    },
    /// A shared argument's address escapes.
    #[error("the address of {kernel}'s {argument} is more than accessed")]
    Escapes {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
    },
    /// A thread accesses shared bytes at an address that another thread may access too.
    #[error("a thread of {kernel} may access {argument} at another thread's position (line {line})")]
    NotOwn {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// The line in the source; 0 if it is unknown.
        line: u32,
    },
    /// The bytes of different threads overlap, or a thread's bytes differ between kernels.
    #[error("the threads' bytes of {kernel}'s {argument} overlap those of other threads")]
    Overlap {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
    },
    /// Bytes that one kernel writes are constant memory for another.
    #[error("{kernel}'s {argument} is constant memory that another kernel writes")]
    WritesConstant {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
    },
    /// More arguments than can be bound.
    #[error("{0} arguments are more than {MAX_BOUND_BUFFERS}")]
    TooManyArguments(usize),
    /// The fused code is too large.
    #[error(transparent)]
    TooLarge(#[from] InlineError),
}

/// For each argument of the fused kernel, in order, the part and the position there of an argument that it
/// stands for. `parts` gives the place and the space of each argument. Arguments for the same bytes in the
/// same space are one.
pub fn arguments<S: PartialEq + Copy>(parts: &[Vec<(u32, S)>]) -> Vec<(usize, usize)> {
    let mut known: Vec<(usize, usize)> = Vec::new();
    for (part, arguments) in parts.iter().enumerate() {
        for (position, argument) in arguments.iter().enumerate() {
            if !known.iter().any(|&(part, position)| parts[part][position] == *argument) {
                known.push((part, position));
            }
        }
    }
    known
}

/// One kernel with the given name that executes the parts one after the other, its calls inlined. Its n-th
/// argument has the index n and stands for the n-th of [`arguments`]; disabled ones count too.
///
/// # Errors
/// The first requirement that could not be proved.
pub fn fuse(name: &str, parts: &[FusedKernel<'_>], launched: &Launched) -> Result<Module, Refusal> {
    proof::prove(parts, launched)?;
    let spaces = |part: &FusedKernel<'_>| {
        let spaces = part.module.kernels[0].args.iter().map(|argument| argument.space);
        part.places.iter().copied().zip(spaces).collect()
    };
    let arguments_of: Vec<Vec<(u32, Space)>> = parts.iter().map(spaces).collect();
    let arguments = arguments(&arguments_of);
    if arguments.len() > MAX_BOUND_BUFFERS as usize {
        return Err(Refusal::TooManyArguments(arguments.len()));
    }
    let mut module = joined(name, parts, &arguments_of, &arguments);
    inline(&mut module)?;
    Ok(module)
}

/// A module with the parts' functions and a kernel that calls them in order.
fn joined(
    name: &str,
    parts: &[FusedKernel<'_>],
    arguments_of: &[Vec<(u32, Space)>],
    arguments: &[(usize, usize)],
) -> Module {
    let args: Vec<KernelArg> = arguments
        .iter()
        .zip(0..)
        .map(|(known, index)| joined_arg(parts, arguments_of, *known, index))
        .collect();
    let params: Vec<Type> = args.iter().map(|argument| Type::Ptr(argument.space)).collect();
    let mut function = Function::new(name, &params, None);
    let mut module = Module::new();
    let mut builder = Builder::new(&mut function);
    for (part, of_part) in parts.iter().zip(arguments_of) {
        let callee = add_function(&mut module, part.module);
        let params = module.function(callee).params.len();
        assert_eq!(params, of_part.len(), "a part's function has one parameter for each argument");
        if callee != FuncId(0) {
            builder.push(Op::Barrier(BarrierScope::Thread, None));
        }
        let values = of_part.iter().map(|wanted| {
            let position = arguments.iter().position(|&(part, at)| arguments_of[part][at] == *wanted);
            builder.func.params[position.expect("every argument is among the fused ones")]
        });
        let values = values.collect();
        builder.push(Op::Call(callee, values));
    }
    module.functions.push(function);
    let kernels = || parts.iter().map(|part| &part.module.kernels[0]);
    let mut thread_attributes: Vec<String> = Vec::new();
    for attribute in kernels().flat_map(|kernel| &kernel.thread_attributes) {
        if !thread_attributes.contains(attribute) {
            thread_attributes.push(attribute.clone());
        }
    }
    module.kernels.push(Kernel {
        name: name.to_owned(),
        function: FuncId(module.functions.len() as u32 - 1),
        args,
        max_threads: kernels().filter_map(|kernel| kernel.max_threads).min(),
        // The parts are launched with one size, which each of them was checked for.
        required_threads: kernels().find_map(|kernel| kernel.required_threads),
        thread_attributes,
        logs: Vec::new(),
        // What the parts fetch is among their arguments.
        stage_inputs: Vec::new(),
    });
    module
}

/// One argument for all that are bound to the same bytes.
fn joined_arg(
    parts: &[FusedKernel<'_>],
    arguments_of: &[Vec<(u32, Space)>],
    (part, position): (usize, usize),
    index: u32,
) -> KernelArg {
    let mut joined =
        KernelArg { index, enabled_by: None, ..parts[part].module.kernels[0].args[position].clone() };
    let wanted = arguments_of[part][position];
    for (part, of_part) in parts.iter().zip(arguments_of) {
        let args = part.module.kernels[0].args.iter();
        for (other, _) in args.zip(of_part).filter(|(other, of)| **of == wanted && other.enabled) {
            joined.element_size = joined.element_size.max(other.element_size);
            joined.element_align = joined.element_align.max(other.element_align);
            joined.reference |= other.reference;
            if joined.access != other.access {
                joined.access = Access::ReadWrite;
            }
        }
    }
    joined
}

/// Copies the kernel's function and its dependences; returns its id.
fn add_function(module: &mut Module, part: &Module) -> FuncId {
    let id = FuncId(module.functions.len() as u32);
    let (files, globals) = (module.files.len() as u32, module.globals.len() as u32);
    module.files.extend_from_slice(&part.files);
    module.globals.extend(part.globals.iter().cloned().map(|mut global| {
        global.name = format!("{}.{}", id.0, global.name);
        global
    }));
    let mut function = part.function(part.kernels[0].function).clone();
    function.name = format!("{}.{}", id.0, function.name);
    for data in &mut function.insts {
        data.loc.file += files;
        match &mut data.op {
            Op::GlobalAddr(global) => *global = GlobalId(global.0 + globals),
            // Their numbers would have to be moved as well.
            op @ (Op::Call(..) | Op::ThreadgroupAddr(_) | Op::FunctionConstant(_)) => {
                unreachable!("the proof refuses {op:?}")
            }
            _ => {}
        }
    }
    module.functions.push(function);
    id
}

#[cfg(test)]
mod tests;
