//! Specialises function constants: replaces them by values.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{InlineError, inline, optimise};
use anymetal_abi::MAX_BOUND_BUFFERS;
use anymetal_abi::textures::{BindingRole, MAX_SAMPLERS, MAX_TEXTURES};
use anymetal_analysis::walk_insts;
use anymetal_ir::eval::mask;
use anymetal_ir::{
    FpMode, FuncId, Function, FunctionConstant, FunctionConstantId, KernelArg, Loc, Module, Op, Value,
};

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
    /// The condition or the index of an argument does not fold to a constant.
    #[error("the condition or the index of argument {argument} of {kernel} is not constant")]
    ConditionNotConstant {
        /// The kernel's name.
        kernel: String,
        /// The argument's name.
        argument: String,
    },
    /// Function constants specify an index that does not exist.
    #[error(
        "function constants specify index {index} for argument {argument} of {kernel}, which does not exist"
    )]
    NoSuchIndex {
        /// The kernel's name.
        kernel: String,
        /// The argument's name.
        argument: String,
        /// What they specify.
        index: i32,
    },
    /// Function constants specify an index that another argument has.
    #[error("function constants specify one index for arguments {argument} and {other} of {kernel}")]
    SharedIndex {
        /// The kernel's name.
        kernel: String,
        /// The argument's name.
        argument: String,
        /// The name of the other argument.
        other: String,
    },
    /// The code that was to be folded is too large.
    #[error(transparent)]
    Inline(#[from] InlineError),
}

fn names(missing: &[MissingConstant]) -> String {
    let names: Vec<_> = missing.iter().map(|m| format!("{} (index {})", m.name, m.index)).collect();
    names.join(", ")
}

/// Replaces function constants by values, decides which arguments are enabled and at which index, and gives
/// disabled ones the null pointer. `values` names constants by their position in the module; bits beyond
/// the constant's type are ignored, and `None` means the same as leaving one out.
///
/// A constant may be left out if nothing depends on it once the others are known, for instance
/// because it is only read where [`Op::FunctionConstantDefined`] says so; it then reads as 0, as hidden
/// constants without a value do anywhere ([`FunctionConstant::is_hidden`]).
/// All kernels of the module are specialised: call [`super::extract_kernel`] first.
///
/// # Errors
/// Constants that are missing; conditions and indices that do not fold; indices that do not exist or that two
/// arguments have. The module is then unchanged in its kernels, but already specialised in its code.
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
    let (found, missing) = evaluated(module)?;
    // Where no read is left, there is nothing to fold that could depend on one.
    if !remaining_constants(module).is_empty() {
        check_missing(module, &found, missing)?;
    }
    disable_arguments(module, &found);
    move_arguments(module, &found)?;
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

/// The values of the functions of arguments.
type Evaluated = BTreeMap<FuncId, u64>;

/// The value of each function of an argument that has one, and the constants that the others lack. The index
/// of an argument that does not exist is not evaluated.
fn evaluated(module: &Module) -> Result<(Evaluated, Vec<MissingConstant>), SpecialiseError> {
    let mut found = Evaluated::new();
    let mut lacking = Vec::new();
    for kernel in &module.kernels {
        for arg in &kernel.args {
            for id in arg.enabled_by.into_iter().chain(arg.index_by) {
                let is_disabled = arg.enabled_by.is_some_and(|id| found.get(&id) == Some(&0));
                if found.contains_key(&id) || is_disabled {
                    continue;
                }
                match evaluate(module, id) {
                    Ok(Some(value)) => {
                        found.insert(id, value);
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
    }
    Ok((found, lacking))
}

/// Folds a function without parameters to its result.
fn evaluate(module: &Module, id: FuncId) -> Result<Option<u64>, SpecialiseError> {
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
        Some(Op::Return(Some(value))) => function.as_const(*value),
        _ => None,
    })
}

/// Folds a copy to see whether anything depends on a constant without a value. Arguments whose condition
/// is unknown count as enabled, so that all that is missing is named at once.
fn check_missing(
    module: &Module,
    found: &Evaluated,
    lacking: Vec<MissingConstant>,
) -> Result<(), SpecialiseError> {
    let mut copy = module.clone();
    disable_arguments(&mut copy, found);
    // What their indices lack is known.
    copy.kernels.iter_mut().flat_map(|kernel| &mut kernel.args).for_each(|arg| arg.index_by = None);
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

fn disable_arguments(module: &mut Module, found: &Evaluated) {
    for kernel in &mut module.kernels {
        for (n, arg) in kernel.args.iter_mut().enumerate() {
            let Some(condition) = arg.enabled_by.take() else { continue };
            // An argument whose condition is not known stays enabled, see `check_missing`.
            if found.get(&condition) == Some(&0) {
                arg.enabled = false;
                let function = &mut module.functions[kernel.function.index()];
                use_null(function, function.params[n]);
            }
        }
    }
}

/// Gives arguments the indices that function constants specify (MSL 5.8.1.4).
fn move_arguments(module: &mut Module, found: &Evaluated) -> Result<(), SpecialiseError> {
    for kernel in &mut module.kernels {
        let mut moved = Vec::new();
        for (n, arg) in kernel.args.iter_mut().enumerate() {
            let Some(id) = arg.index_by.take() else { continue };
            // An argument without a value of its own is disabled, or not used.
            let distance = found.get(&id).map_or(0, |&bits| bits as u32 as i32);
            let Some(index) = moved_index(arg.index, distance) else {
                let (kernel, argument) = (kernel.name.clone(), arg.name.clone());
                return Err(SpecialiseError::NoSuchIndex { kernel, argument, index: distance });
            };
            arg.index = index;
            moved.push(n);
        }
        for n in moved {
            let arg = &kernel.args[n];
            let shares = |(m, other): &(usize, &KernelArg)| {
                *m != n && other.enabled && (other.kind, other.index) == (arg.kind, arg.index)
            };
            if let Some((_, other)) = kernel.args.iter().enumerate().find(shares).filter(|_| arg.enabled) {
                return Err(SpecialiseError::SharedIndex {
                    kernel: kernel.name.clone(),
                    argument: arg.name.clone(),
                    other: other.name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// The index of what is bound at `index`, moved by `distance` among Metal's indices of its kind; `None` where
/// there is no such index.
fn moved_index(index: u32, distance: i32) -> Option<u32> {
    let moved = |number: u32, end: u32| number.checked_add_signed(distance).filter(|&number| number < end);
    match BindingRole::of(index) {
        BindingRole::Buffer => moved(index, MAX_BOUND_BUFFERS),
        BindingRole::Texels(texture) => BindingRole::Texels(moved(texture, MAX_TEXTURES)?).index(),
        BindingRole::Description(texture) => BindingRole::Description(moved(texture, MAX_TEXTURES)?).index(),
        BindingRole::Sampler(sampler) => BindingRole::Sampler(moved(sampler, MAX_SAMPLERS)?).index(),
        BindingRole::TensorShape(buffer) => {
            BindingRole::TensorShape(moved(buffer, MAX_BOUND_BUFFERS)?).index()
        }
        role @ (BindingRole::Log
        | BindingRole::LogCommand
        | BindingRole::EncodedCommands(_)
        | BindingRole::ResourceTable
        | BindingRole::StageInRegion) => unreachable!("programs have no argument that is {role:?}"),
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
