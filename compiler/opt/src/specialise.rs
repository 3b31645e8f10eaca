//! Specialises function constants: replaces them by values.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{InlineError, inline, optimise};
use anymetal_analysis::walk_insts;
use anymetal_ir::eval::mask;
use anymetal_ir::{FpMode, FuncId, Function, FunctionConstant, FunctionConstantId, Loc, Module, Op, Value};

/// A function constant that needs a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingConstant {
    /// Its name in the source.
    pub name: String,
    /// The index of `[[function_constant(index)]]`.
    pub index: u32,
}

/// Why a module cannot be specialised.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SpecialiseError {
    /// Constants without a value are used.
    #[error("function constants without a value: {}", names(.0))]
    MissingConstants(Vec<MissingConstant>),
    /// The condition of an argument does not fold to a constant.
    #[error("the condition of argument {argument} of {kernel} is not constant")]
    ConditionNotConstant {
        /// The kernel's name.
        kernel: String,
        /// The argument's name.
        argument: String,
    },
    /// The code that was to be folded is too large.
    #[error(transparent)]
    Inline(#[from] InlineError),
}

fn names(missing: &[MissingConstant]) -> String {
    let names: Vec<_> = missing.iter().map(|m| format!("{} (index {})", m.name, m.index)).collect();
    names.join(", ")
}

/// Replaces function constants by values, decides which arguments are enabled, and gives disabled
/// ones the null pointer. `values` names constants by their position in the module; bits beyond
/// the constant's type are ignored, and `None` means the same as leaving one out.
///
/// A constant may be left out if nothing depends on it once the others are known, for instance
/// because it is only read where [`Op::FunctionConstantDefined`] says so; it then reads as 0, as hidden
/// constants without a value do anywhere ([`FunctionConstant::is_hidden`]).
/// All kernels of the module are specialised: call [`super::extract_kernel`] first.
///
/// # Errors
/// Constants that are missing; conditions that do not fold. The module is then unchanged in its
/// kernels, but already specialised in its code.
pub fn specialise(
    module: &mut Module,
    values: &[(FunctionConstantId, Option<u64>)],
) -> Result<(), SpecialiseError> {
    let unknown = |constant: &FunctionConstant| constant.is_hidden().then_some(0);
    let mut known: Vec<Option<u64>> = module.function_constants.iter().map(unknown).collect();
    for &(id, value) in values {
        assert!(id.index() < known.len(), "{id} is not a function constant of the module");
        known[id.index()] = value.map(|bits| bits & mask(module.function_constants[id.index()].ty));
    }
    for function in &mut module.functions {
        substitute(function, &known);
    }
    let (conditions, missing) = conditions(module)?;
    // Where no read is left, there is nothing to fold that could depend on one.
    if !remaining_constants(module).is_empty() {
        check_missing(module, &conditions, missing)?;
    }
    disable_arguments(module, &conditions);
    // Remaining reads are unreachable.
    let zeros = vec![Some(0); known.len()];
    for function in &mut module.functions {
        substitute(function, &zeros);
    }
    debug_assert_eq!(remaining_constants(module), [], "every function constant has a value");
    Ok(())
}

fn substitute(function: &mut Function, known: &[Option<u64>]) {
    for data in &mut function.insts {
        match data.op {
            Op::FunctionConstant(id) => {
                if let Some(bits) = known[id.index()] {
                    data.op = Op::Const(bits);
                }
            }
            Op::FunctionConstantDefined(id) => data.op = Op::bool_const(known[id.index()].is_some()),
            _ => {}
        }
    }
}

/// The value of each `enabled_by` function that has one, and the constants that the others lack.
fn conditions(module: &Module) -> Result<(BTreeMap<FuncId, bool>, Vec<MissingConstant>), SpecialiseError> {
    let mut conditions = BTreeMap::new();
    let mut lacking = Vec::new();
    for kernel in &module.kernels {
        for arg in &kernel.args {
            let Some(id) = arg.enabled_by else { continue };
            if conditions.contains_key(&id) {
                continue;
            }
            match evaluate(module, id) {
                Ok(Some(value)) => {
                    conditions.insert(id, value);
                }
                Ok(None) => {
                    return Err(SpecialiseError::ConditionNotConstant {
                        kernel: kernel.name.clone(),
                        argument: arg.name.clone(),
                    });
                }
                Err(SpecialiseError::MissingConstants(missing)) => lacking.extend(missing),
                Err(other) => return Err(other),
            }
        }
    }
    Ok((conditions, lacking))
}

/// Folds a function without parameters to its result.
fn evaluate(module: &Module, id: FuncId) -> Result<Option<bool>, SpecialiseError> {
    // A kernel that has this function as its own is all that inlining needs to keep it.
    let kernel = anymetal_ir::Kernel {
        name: "condition".to_owned(),
        function: id,
        args: Vec::new(),
        max_threads: None,
        required_threads: None,
        thread_attributes: Vec::new(),
        logs: Vec::new(),
        stage_inputs: Vec::new(),
    };
    let mut copy = super::extract::extract(module, kernel);
    inline(&mut copy)?;
    optimise(&mut copy);
    assert_eq!(copy.functions.len(), 1, "inlining leaves the functions of kernels only");
    let missing = remaining_constants(&copy);
    if !missing.is_empty() {
        return Err(SpecialiseError::MissingConstants(missing));
    }
    let function = &copy.functions[0];
    let last = function.block(function.body).last().map(|&inst| &function.inst(inst).op);
    Ok(match last {
        Some(Op::Return(Some(value))) => function.as_const(*value).map(|bits| bits != 0),
        _ => None,
    })
}

/// Folds a copy to see whether anything depends on a constant without a value. Arguments whose condition
/// is unknown count as enabled, so that all that is missing is named at once.
fn check_missing(
    module: &Module,
    conditions: &BTreeMap<FuncId, bool>,
    lacking: Vec<MissingConstant>,
) -> Result<(), SpecialiseError> {
    let mut copy = module.clone();
    disable_arguments(&mut copy, conditions);
    inline(&mut copy)?;
    optimise(&mut copy);
    let mut missing = remaining_constants(&copy);
    missing.extend(lacking);
    missing.sort_by(|a, b| (a.index, &a.name).cmp(&(b.index, &b.name)));
    missing.dedup();
    if missing.is_empty() { Ok(()) } else { Err(SpecialiseError::MissingConstants(missing)) }
}

fn remaining_constants(module: &Module) -> Vec<MissingConstant> {
    let mut used = vec![false; module.function_constants.len()];
    for function in &module.functions {
        walk_insts(function, function.body, &mut |inst| {
            if let Op::FunctionConstant(id) = function.inst(inst).op {
                used[id.index()] = true;
            }
        });
    }
    let constants = module.function_constants.iter().zip(used).filter(|(_, used)| *used);
    constants.map(|(fc, _)| MissingConstant { name: fc.name.clone(), index: fc.index }).collect()
}

fn disable_arguments(module: &mut Module, conditions: &BTreeMap<FuncId, bool>) {
    for kernel in &mut module.kernels {
        for (n, arg) in kernel.args.iter_mut().enumerate() {
            let Some(condition) = arg.enabled_by.take() else { continue };
            // An argument whose condition is not known stays enabled, see `check_missing`.
            if conditions.get(&condition) == Some(&false) {
                arg.enabled = false;
                let function = &mut module.functions[kernel.function.index()];
                use_null(function, function.params[n]);
            }
        }
    }
}

/// Replaces a pointer parameter's uses by the null pointer.
fn use_null(function: &mut Function, param: Value) {
    let ty = function.ty(param);
    assert!(ty.is_ptr(), "a kernel's parameter is a pointer, not {ty}");
    let inst = function.add_inst(Op::Const(0), Some(ty), FpMode::default(), Loc::default());
    let null = function.result(inst);
    for data in &mut function.insts {
        data.op.for_each_operand_mut(|value| {
            if *value == param {
                *value = null;
            }
        });
    }
    let body = function.body;
    function.blocks[body.index()].insts.insert(0, inst);
}
