//! The stages between the front end's module and an executor's input.
//!
//! Invariant: what [`prepare`] returns is verified, holds one kernel, has no function constants, and calls
//! only where they may stay.

use anymetal_ir::{FunctionConstantId, Module, VerifyError, verify};
use anymetal_opt::{
    self, Feature, KeptCalls, PassManager, PrepareError, PrepareOptions, SpecialiseError, extract_kernel,
};

use crate::budget::{Budget, largest_line};
use crate::constants::{self, describe};
use crate::error::CompileError;
use crate::library::Specialisation;

/// Whether large kernels keep calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Calls {
    /// All are inlined: what most targets and tools take.
    Inlined,
    /// Those of large functions stay: for the CPU and the interpreter.
    Kept,
}

impl Calls {
    fn kept(self) -> Option<KeptCalls> {
        (self == Self::Kept).then_some(KeptCalls::OF_LARGE_KERNELS)
    }
}

/// Specialises, inlines and optimises one kernel of a module that the front end just made.
pub(crate) fn prepare(
    module: &Module,
    kernel: &str,
    specialisation: &Specialisation,
    calls: Calls,
    budget: &Budget,
    manager: &mut PassManager<'_>,
) -> Result<Module, CompileError> {
    let (mut module, values) = extract(module, kernel, specialisation, budget)?;
    module.threadgroup_reserve = specialisation.threadgroup_reserve;
    module.whole_buffers = specialisation.whole_buffers;
    let options = PrepareOptions {
        constants: &values,
        whole_group_size: specialisation.whole_group_size(),
        kept_calls: calls.kept().filter(|_| specialisation.passes.has(Feature::Subroutines)),
    };
    anymetal_opt::prepare(&mut module, &options, manager)
        .map_err(|error| prepare_error(&module, kernel, error))?;
    check(&module, "optimiser")?;
    Ok(module)
}

/// Specialises and inlines one kernel, and changes nothing else: a load that a pass removes is an error that
/// no sanitizer sees.
pub(crate) fn prepare_for_sanitizer(
    module: &Module,
    kernel: &str,
    specialisation: &Specialisation,
    budget: &Budget,
) -> Result<Module, CompileError> {
    let (mut module, values) = extract(module, kernel, specialisation, budget)?;
    module.whole_buffers = specialisation.whole_buffers;
    let options = PrepareOptions { constants: &values, ..PrepareOptions::default() };
    anymetal_opt::prepare_unchanged(&mut module, &options)
        .map_err(|error| prepare_error(&module, kernel, error))?;
    check(&module, "inliner")?;
    Ok(module)
}

/// Function constants with the bits of their values; `None`: without one.
type ConstantValues = Vec<(FunctionConstantId, Option<u64>)>;

/// The kernel alone, and the values of its function constants.
fn extract(
    module: &Module,
    kernel: &str,
    specialisation: &Specialisation,
    budget: &Budget,
) -> Result<(Module, ConstantValues), CompileError> {
    check(module, "front end")?;
    let module = extract_kernel(module, kernel).ok_or_else(|| {
        CompileError::internal("front end", format!("the module for kernel `{kernel}` has no such kernel"))
    })?;
    refuse_more_than(budget.instructions, &module, kernel)?;
    let values = constants::resolve(
        &specialisation.constants,
        &module,
        kernel,
        specialisation.ignore_unknown_constants,
    )?;
    Ok((module, values))
}

/// Refuses a prepared module that would occupy the compilers for GPUs for minutes.
pub(crate) fn check_size_for_gpus(
    budget: &Budget,
    module: &Module,
    kernel: &str,
) -> Result<(), CompileError> {
    refuse_more_than(budget.gpu_instructions, module, kernel)
}

/// Refuses a prepared module that no program is: macros make any size.
pub(crate) fn check_size_for_machine_code(
    budget: &Budget,
    module: &Module,
    kernel: &str,
) -> Result<(), CompileError> {
    match excess_instructions(budget.instructions, module) {
        None => Ok(()),
        Some(reason) => Err(CompileError::TooMuchCode {
            kernel: kernel.to_owned(),
            reason,
            largest_line: largest_line(module),
        }),
    }
}

/// Refuses a prepared module that is too large even for the interpreter.
pub(crate) fn check_size_for_interpreter(
    budget: &Budget,
    module: &Module,
    kernel: &str,
) -> Result<(), CompileError> {
    refuse_more_than(budget.interpreted_instructions, module, kernel)
}

fn refuse_more_than(most: usize, module: &Module, kernel: &str) -> Result<(), CompileError> {
    match excess_instructions(most, module) {
        None => Ok(()),
        Some(reason) => {
            Err(CompileError::TooLarge { kernel: kernel.to_owned(), reason: reason + &largest_line(module) })
        }
    }
}

/// The reason to refuse a module with more instructions; `None` if it has at most that many.
fn excess_instructions(most: usize, module: &Module) -> Option<String> {
    let count: usize = module.functions.iter().map(|function| function.insts.len()).sum();
    (count > most).then(|| format!("it has {count} instructions, the limit is {most}"))
}

/// A stage that leaves a broken module has a bug.
pub(crate) fn check(module: &Module, stage: &'static str) -> Result<(), CompileError> {
    verify(module).map_err(|errors| {
        let shown: Vec<String> = errors.iter().take(5).map(VerifyError::to_string).collect();
        CompileError::internal(stage, format!("the module is not valid: {}", shown.join("; ")))
    })
}

fn prepare_error(module: &Module, kernel: &str, error: PrepareError) -> CompileError {
    match error {
        PrepareError::Specialise(SpecialiseError::MissingConstants(missing)) => {
            let is_missing =
                |name: &str, index: u32| missing.iter().any(|m| m.name == name && m.index == index);
            let constants = module.function_constants.iter();
            let missing = constants
                .filter(|c| c.is_listed() && is_missing(&c.name, c.index))
                .map(|c| describe(c, true));
            CompileError::MissingConstants { kernel: kernel.to_owned(), missing: missing.collect() }
        }
        PrepareError::Specialise(
            error @ (SpecialiseError::ConditionNotConstant { .. }
            | SpecialiseError::NoSuchIndex { .. }
            | SpecialiseError::SharedIndex { .. }),
        ) => CompileError::ArgumentCondition { message: error.to_string() },
        error => CompileError::TooLarge {
            kernel: kernel.to_owned(),
            reason: format!("{error}{}", largest_line(module)),
        },
    }
}
