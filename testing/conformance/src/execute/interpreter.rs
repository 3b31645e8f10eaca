//! The interpreter as an executor, without LLVM: front end, passes, interpreter.

use super::{Buffers, ExecError, Executor, Math, Opened, Prepared, Source};
use crate::case::{Arg, Binding, Constant, Grid, Launch};
use anymetal_harness::disk_includes::DiskIncludes;
use anymetal_interp::{
    Argument, Dispatch, InterpError, Limits, Memory, NoObserver, Observer, Program, Report, Resident, run,
};
use anymetal_ir::{Access, ArgKind, FunctionConstantId, Module, Scalar, verify};
use anymetal_msl::pp::Definition;
use anymetal_msl::token::MathMode;
use anymetal_msl::{CompileOptions, Library};
use half::{bf16, f16};

/// No test needs more steps.
const MAX_STEPS: u64 = 20_000_000_000;

/// The interpreter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter {
    /// Interprets what the front end made, without inlining and optimisation.
    pub unoptimised: bool,
}

impl Executor for Interpreter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        let (unoptimised, whole_buffers) = (self.unoptimised, source.whole_buffers);
        Ok(Box::new(OpenedLibrary { library: parse(source)?, unoptimised, whole_buffers }))
    }
}

/// A source as the front end reads it.
///
/// # Errors
/// What the front end refuses.
pub fn parse(source: &Source) -> Result<Library, ExecError> {
    let math_mode = match source.math {
        Math::Safe => MathMode::Safe,
        Math::Fast => MathMode::Fast,
    };
    let definitions = source.defines.iter().map(|name| Definition::Define((*name).to_owned())).collect();
    let options = CompileOptions { math_mode, definitions, ..CompileOptions::default() };
    let mut includes = DiskIncludes { folders: source.include_dirs.clone() };
    let (library, diagnostics) =
        Library::parse(&source.name, source.text.as_bytes(), &options, &mut includes);
    library.ok_or_else(|| ExecError::Compile(diagnostics.render_text(false)))
}

struct OpenedLibrary {
    library: Library,
    unoptimised: bool,
    whole_buffers: bool,
}

impl Opened for OpenedLibrary {
    fn kernels(&self) -> Vec<String> {
        self.library.kernels().iter().map(|kernel| kernel.name.clone()).collect()
    }

    fn prepare(&self, kernel: &str, constants: &[(u32, Constant)]) -> Result<Box<dyn Prepared>, ExecError> {
        let module = self.library.module(kernel);
        let mut module = module.map_err(|errors| ExecError::Compile(errors.render_text(false)))?;
        module.whole_buffers = self.whole_buffers;
        let unoptimised = self.unoptimised;
        let program = on_large_stack(|| program_of(&module, kernel, constants, unoptimised))?;
        Ok(Box::new(PreparedProgram { program, unoptimised }))
    }
}

/// The program of a kernel with its constants.
pub(crate) fn program_of(
    module: &Module,
    kernel: &str,
    constants: &[(u32, Constant)],
    unoptimised: bool,
) -> Result<Program, ExecError> {
    let module = module_of(module, kernel, constants, unoptimised)?;
    Program::new(&module, kernel).map_err(|error| internal("interpreter", &error))
}

pub(super) fn internal(what: &str, error: &dyn std::fmt::Display) -> ExecError {
    ExecError::Compile(format!("{what}: {error}"))
}

/// The module of a kernel with its constants, inlined and optimised unless `unoptimised`.
pub(crate) fn module_of(
    module: &Module,
    kernel: &str,
    constants: &[(u32, Constant)],
    unoptimised: bool,
) -> Result<Module, ExecError> {
    check(module, "the front end's module")?;
    let mut module = anymetal_opt::extract_kernel(module, kernel)
        .ok_or_else(|| ExecError::Compile(format!("the module has no kernel `{kernel}`")))?;
    let values = constant_values(&module, constants)?;
    anymetal_opt::specialise(&mut module, &values).map_err(|error| internal("specialisation", &error))?;
    if !unoptimised {
        anymetal_opt::inline(&mut module).map_err(|error| internal("inlining", &error))?;
        anymetal_opt::optimise(&mut module);
        check(&module, "the optimised module")?;
    }
    Ok(module)
}

pub(super) fn check(module: &Module, what: &str) -> Result<(), ExecError> {
    verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        ExecError::Compile(format!("{what} is invalid: {first}"))
    })
}

pub(super) fn constant_values(
    module: &Module,
    constants: &[(u32, Constant)],
) -> Result<Vec<(FunctionConstantId, Option<u64>)>, ExecError> {
    let mut values = Vec::new();
    for &(index, value) in constants {
        for (position, known) in module.function_constants.iter().enumerate() {
            if known.index == index {
                let bits = constant_bits(value, known.ty).ok_or_else(|| {
                    ExecError::Compile(format!("constant {index} is a {:?}, {value:?} is given", known.ty))
                })?;
                values.push((FunctionConstantId(position as u32), Some(bits)));
            }
        }
    }
    Ok(values)
}

fn constant_bits(value: Constant, ty: Scalar) -> Option<u64> {
    Some(match (value, ty) {
        (Constant::Bool(value), Scalar::Bool) => u64::from(value),
        (Constant::Integer(value), Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64) => value as u64,
        (Constant::Float(value), Scalar::F32) => u64::from((value as f32).to_bits()),
        (Constant::Float(value), Scalar::F16) => u64::from(f16::from_f64(value).to_bits()),
        (Constant::Float(value), Scalar::Bf16) => u64::from(bf16::from_f64(value).to_bits()),
        _ => return None,
    })
}

struct PreparedProgram {
    program: Program,
    unoptimised: bool,
}

impl Prepared for PreparedProgram {
    fn run(&self, launch: &Launch) -> Result<Buffers, ExecError> {
        let limits = Limits { max_steps: MAX_STEPS, ..Limits::default() };
        let (buffers, report) = interpret(&self.program, launch, limits, &mut NoObserver)
            .map_err(|error| ExecError::Failed(error.to_string()))?;
        match complaint(&self.program, &report) {
            None => Ok(buffers),
            Some(message) if report.fault_count > 0 => Err(ExecError::Fault(message, buffers)),
            // A thread that has returned from the function that holds the barrier waits in its caller; only
            // inlining makes that a return from the kernel.
            Some(_) if self.unoptimised => Ok(buffers),
            Some(message) => Err(ExecError::DivergentBarrier(message, buffers)),
        }
    }
}

/// What a launch leaves in the buffers, watched by an observer.
///
/// # Errors
/// As for [`anymetal_interp::run()`].
pub fn interpret(
    program: &Program,
    launch: &Launch,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<(Buffers, Report), InterpError> {
    let (buffers, report) =
        with_memory(program, launch, |dispatch, memory| run(program, dispatch, memory, limits, observer));
    Ok((buffers, report?))
}

/// Gives `work` the grid of a launch and memory with its arguments; what it leaves in the buffers.
pub(super) fn with_memory<T>(
    program: &Program,
    launch: &Launch,
    work: impl FnOnce(&Dispatch, &mut Memory<'_>) -> T,
) -> (Buffers, T) {
    let mut buffers: Buffers = launch.args.iter().map(contents).collect();
    let arguments = program.arguments().iter().map(|argument| {
        let position = launch.args.iter().position(|arg| {
            arg.index == argument.index
                && matches!(arg.binding, Binding::Threadgroup(_))
                    == (argument.kind == ArgKind::ThreadgroupMemory)
        });
        position.map_or(Argument::Unbound, |position| {
            let buffer = launch.buffer_of(position);
            bound(launch, position, buffer)
        })
    });
    let arguments = arguments.collect();
    let dispatch = match launch.grid {
        Grid::Threads(threads) => Dispatch::threads(threads, launch.group),
        Grid::Groups(groups) => Dispatch::groups(groups, launch.group),
    };
    let addresses = addresses(&buffers);
    launch.write_pointers(&mut buffers, &addresses);
    // As a device has it: what a kernel takes with the access of its arguments, all else for writing.
    let is_stored_to = |buffer: usize| {
        let bound =
            launch.args.iter().enumerate().filter(|(position, _)| launch.buffer_of(*position) == buffer);
        let taken = bound.filter_map(|(_, arg)| {
            program
                .arguments()
                .iter()
                .find(|argument| argument.index == arg.index)
                .map(|argument| argument.access)
        });
        let accesses: Vec<Access> = taken.collect();
        accesses.is_empty() || accesses.iter().any(|access| *access != Access::Read)
    };
    let resident = (0..buffers.len()).map(|buffer| Resident {
        buffer,
        address: addresses[buffer],
        writable: is_stored_to(buffer),
    });
    let resident = if launch.pointers.is_empty() { Vec::new() } else { resident.collect() };
    let slices = buffers.iter_mut().map(Vec::as_mut_slice).collect();
    let outcome = work(&dispatch, &mut Memory { buffers: slices, arguments, resident });
    launch.mark_pointers(&mut buffers, &addresses);
    (buffers, outcome)
}

/// Places for the buffers, with a gap after each.
fn addresses(buffers: &Buffers) -> Vec<u64> {
    let mut next = 0x10_0000;
    let place = |bytes: &Vec<u8>| {
        let address = next;
        next = (address + bytes.len() as u64).next_multiple_of(4096) + 4096;
        address
    };
    buffers.iter().map(place).collect()
}

fn contents(arg: &Arg) -> Vec<u8> {
    match &arg.binding {
        Binding::Buffer { bytes, .. } => bytes.clone(),
        Binding::Alias { .. } | Binding::Unbound | Binding::Threadgroup(_) => Vec::new(),
    }
}

fn bound(launch: &Launch, position: usize, buffer: usize) -> Argument {
    match (&launch.args[position].binding, launch.bound_bytes(position)) {
        (Binding::Threadgroup(bytes), _) => Argument::Threadgroup { len: *bytes },
        (_, Some(bytes)) => Argument::Buffer { buffer, offset: bytes.start as u64, len: bytes.len() as u64 },
        (_, None) => Argument::Unbound,
    }
}

/// What the kernel did wrong.
fn complaint(program: &Program, report: &Report) -> Option<String> {
    if let Some(fault) = report.faults.first() {
        let (kind, variable) = (fault.kind, program.variable_name(fault.variable));
        let (offset, bound) = (fault.offset, fault.bound);
        return Some(format!(
            "{kind:?} of `{variable}` at byte {offset} of {bound}, line {}; {} in all",
            fault.loc.line, report.fault_count
        ));
    }
    let barrier = report.partial_barriers.first()?;
    Some(format!("only a part of the threads reach the barrier of line {}", barrier.loc.line))
}

/// Runs `work` on a thread with the compiler's large stack.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    anymetal_msl::on_large_stack(work).unwrap_or_else(|error| panic!("no thread to compile on: {error}"))
}
