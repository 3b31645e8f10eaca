//! Inlines every call.
//!
//! Afterwards the module holds the kernels' functions and those of their arguments only, none of
//! them with a call. Callees are done before callers, so each body is copied complete. Returns
//! that end the callee become plain control flow where possible (`returns`); the others
//! store the result in a local and leave a `scope` around the copy.

use thiserror::Error;

use super::compact::compact;
use super::returns::{Outcome, Prepared, prepare, prepare_tail};
use super::substitution::Substitution;
use crate::limits::{MAX_INSTRUCTIONS, MAX_TOTAL_INSTRUCTIONS};
use anymetal_analysis::{nesting, used_functions};
use anymetal_ir::{
    Block, FuncId, Function, Inst, InstData, KernelArg, Label, Local, MAX_NESTING, Module, Op, Value,
    ValueData, ValueDef,
};

/// Why a module cannot be inlined.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InlineError {
    /// Calls inside calls multiply to too much code.
    #[error("{function} has more than {MAX_INSTRUCTIONS} instructions after inlining")]
    TooLarge {
        /// The function's name.
        function: String,
    },
    /// Chains of calls make too much code in all functions together.
    #[error("all functions together have more than {MAX_TOTAL_INSTRUCTIONS} instructions after inlining")]
    TotalTooLarge,
    /// Calls inside constructs inside calls nest too deep.
    #[error("constructs in {function} nest deeper than {MAX_NESTING} after inlining")]
    TooDeep {
        /// The function's name.
        function: String,
    },
}

/// Inlines every call of a verified module.
///
/// # Errors
/// If the result would be too large. The module is then partly transformed and unusable.
pub fn inline(module: &mut Module) -> Result<(), InlineError> {
    let mut roots: Vec<FuncId> = Vec::new();
    for kernel in &module.kernels {
        roots.push(kernel.function);
        roots.extend(kernel.args.iter().flat_map(KernelArg::evaluated));
    }
    let order = used_functions(module, &roots);
    let mut prepared: Vec<Option<Callee>> = module.functions.iter().map(|_| None).collect();
    let called = called_functions(module, &order);
    let library = library_files(module);
    let mut total = 0;
    for &id in &order {
        let mut function =
            std::mem::replace(&mut module.functions[id.index()], Function::new(String::new(), &[], None));
        inline_into(&mut function, &prepared, &library, &EVERY_SITE)?;
        debug_assert!(
            function.insts.iter().all(|data| callee_of(data).is_none()),
            "{} still has a call: its callees were not prepared before it",
            function.name,
        );
        total += function.insts.len();
        check_size(&function, total)?;
        if called[id.index()] {
            prepared[id.index()] = Some(Callee::new(&function));
        }
        module.functions[id.index()] = function;
    }
    keep_functions(module, &roots);
    Ok(())
}

/// Checks a function that calls were inlined into, and the instructions of all such functions so far.
pub(super) fn check_size(function: &Function, total: usize) -> Result<(), InlineError> {
    let name = || function.name.clone();
    if function.insts.len() > MAX_INSTRUCTIONS {
        return Err(InlineError::TooLarge { function: name() });
    }
    if total > MAX_TOTAL_INSTRUCTIONS {
        return Err(InlineError::TotalTooLarge);
    }
    if nesting(function) > MAX_NESTING {
        return Err(InlineError::TooDeep { function: name() });
    }
    Ok(())
}

/// Inlines the call of a function of a verified module that has exactly one: an entry point is often only a
/// call of a function with its arguments. The callee's own calls are kept.
///
/// # Errors
/// As [`inline`].
pub(super) fn inline_only_call(module: &mut Module, caller: FuncId) -> Result<(), InlineError> {
    let mut calls = module.function(caller).insts.iter().filter_map(callee_of);
    let (Some(callee), None) = (calls.next(), calls.next()) else {
        // There is none, or several.
        return Ok(());
    };
    let mut prepared: Vec<Option<Callee>> = module.functions.iter().map(|_| None).collect();
    prepared[callee.index()] = Some(Callee::new(module.function(callee)));
    let library = library_files(module);
    inline_into(&mut module.functions[caller.index()], &prepared, &library, &EVERY_SITE)
}

/// Inlines the calls of one function of a verified module whose callee, with everything that it calls, has at
/// most `limit` instructions. Folding then often shows that other calls are not reached.
///
/// # Errors
/// As [`inline`].
pub(super) fn inline_small(module: &mut Module, caller: FuncId, most: usize) -> Result<(), InlineError> {
    let mut prepared: Vec<Option<Callee>> = module.functions.iter().map(|_| None).collect();
    for id in used_functions(module, &[caller]) {
        let function = module.function(id);
        let calls_large = || {
            let calls = function.insts.iter();
            calls.filter_map(callee_of).any(|callee| prepared[callee.index()].is_none())
        };
        if id == caller || function.insts.len() > most || calls_large() {
            continue;
        }
        let mut function = function.clone();
        inline_into(&mut function, &prepared, &library_files(module), &EVERY_SITE)?;
        if function.insts.len() <= most {
            prepared[id.index()] = Some(Callee::new(&function));
        }
    }
    let library = library_files(module);
    inline_into(&mut module.functions[caller.index()], &prepared, &library, &EVERY_SITE)
}

/// By file: whether it is a header of the Metal library, whose names are in angle brackets.
pub(super) fn library_files(module: &Module) -> Vec<bool> {
    module.files.iter().map(|name| name.starts_with('<')).collect()
}

/// For each function, whether one of these calls it.
fn called_functions(module: &Module, order: &[FuncId]) -> Vec<bool> {
    let mut called = vec![false; module.functions.len()];
    for &caller in order {
        for callee in module.function(caller).insts.iter().filter_map(callee_of) {
            called[callee.index()] = true;
        }
    }
    called
}

pub(super) fn callee_of(data: &InstData) -> Option<FuncId> {
    if let Op::Call(callee, _) = data.op { Some(callee) } else { None }
}

/// Drops all other functions and renumbers the references to these.
pub(super) fn keep_functions(module: &mut Module, roots: &[FuncId]) {
    let mut numbers = vec![None; module.functions.len()];
    let mut kept = Vec::new();
    let mut kept_ids: Vec<FuncId> = roots.to_vec();
    kept_ids.sort_unstable();
    kept_ids.dedup();
    for id in kept_ids {
        numbers[id.index()] = Some(FuncId(kept.len() as u32));
        kept.push(std::mem::replace(&mut module.functions[id.index()], Function::new("", &[], None)));
    }
    module.functions = kept;
    for function in &mut module.functions {
        for data in &mut function.insts {
            if let Op::Call(callee, _) = &mut data.op {
                *callee = numbers[callee.index()].expect("a function that is called is kept");
            }
        }
    }
    for kernel in &mut module.kernels {
        kernel.function = numbers[kernel.function.index()].expect("a kernel's function is kept");
        for arg in &mut kernel.args {
            let number = |id: FuncId| numbers[id.index()].expect("a function of an argument is kept");
            arg.evaluated_mut().for_each(|id| *id = number(*id));
        }
    }
}

/// A function as its callers copy it.
pub(super) struct Callee {
    prepared: Prepared,
    /// As the last thing that a caller without a result does: then the callee's returns are the
    /// caller's, and stay. Only worth it where a barrier follows: threads that have returned from a
    /// kernel need not reach it, threads that wait in the other branch of an `if` would.
    tail: Option<Prepared>,
}

impl Callee {
    pub(super) fn new(function: &Function) -> Self {
        let has_barrier = function.insts.iter().any(|data| matches!(data.op, Op::Barrier(..)));
        let tail = (has_barrier && function.ret.is_none()).then(|| prepare_tail(function.clone()));
        Self { prepared: prepare(function.clone()), tail }
    }
}

/// Whether nothing but a return follows an instruction of the function's body.
fn is_tail(function: &Function, body: &[Inst], at: usize) -> bool {
    match &body[at + 1..] {
        [] => true,
        [last] => matches!(function.inst(*last).op, Op::Return(None)),
        _ => false,
    }
}

/// Whether a call is inlined: the caller, the function called and the arguments.
pub(super) type Site<'a> = dyn Fn(&Function, FuncId, &[Value]) -> bool + 'a;

/// All calls.
const EVERY_SITE: fn(&Function, FuncId, &[Value]) -> bool = |_, _, _| true;

/// Inlines the calls of prepared callees that `site` is for; other calls are kept.
pub(super) fn inline_into(
    function: &mut Function,
    prepared: &[Option<Callee>],
    library: &[bool],
    site: &Site<'_>,
) -> Result<(), InlineError> {
    let mut substitution = Substitution::default();
    let has_call = function.insts.iter().any(|data| matches!(data.op, Op::Call(..)));
    if has_call {
        for block in 0..function.blocks.len() {
            let insts = std::mem::take(&mut function.blocks[block].insts);
            let mut out = Vec::with_capacity(insts.len());
            for (at, &inst) in insts.iter().enumerate() {
                let data = function.inst(inst);
                let Op::Call(callee, args) = &data.op else {
                    out.push(inst);
                    continue;
                };
                let inlined = site(function, *callee, args);
                let Some(callee) = prepared[callee.index()].as_ref().filter(|_| inlined) else {
                    out.push(inst);
                    continue;
                };
                let (args, result) = (args.clone(), data.result);
                let in_tail =
                    function.ret.is_none() && block == function.body.index() && is_tail(function, &insts, at);
                if let (true, Some(tail)) = (in_tail, &callee.tail) {
                    // A return of the caller after it would be a second terminator.
                    BodyCloner::new(function, tail, &args, inst, library).run(&mut out);
                    break;
                }
                let copied = BodyCloner::new(function, &callee.prepared, &args, inst, library).run(&mut out);
                assert_eq!(
                    result.is_some(),
                    copied.is_some(),
                    "a call has a result if its callee returns one"
                );
                if let (Some(result), Some(copied)) = (result, copied) {
                    substitution.replace(function, result, copied);
                }
                if function.insts.len() > MAX_INSTRUCTIONS {
                    return Err(InlineError::TooLarge { function: function.name.clone() });
                }
            }
            function.blocks[block].insts = out;
        }
        substitution.apply_everywhere(function);
    }
    compact(function);
    Ok(())
}

/// The copy of a value that has none yet.
const UNKNOWN: Value = Value(u32::MAX);

/// Copies a callee into a caller: every table is appended, every number shifted.
struct BodyCloner<'a> {
    caller: &'a mut Function,
    callee: &'a Prepared,
    values: Vec<Value>,
    first_block: u32,
    first_local: u32,
    first_label: u32,
    /// The call, whose source position is used for instructions without one.
    call: Inst,
    /// By file: whether it is of the Metal library. Its code gets the call's position: users know that line.
    library: &'a [bool],
}

impl<'a> BodyCloner<'a> {
    fn new(
        caller: &'a mut Function,
        callee: &'a Prepared,
        args: &[Value],
        call: Inst,
        library: &'a [bool],
    ) -> Self {
        // Parameters are never results, so every other entry gets its number in `insts`.
        let mut values = vec![UNKNOWN; callee.function.values.len()];
        assert_eq!(callee.function.params.len(), args.len(), "the arguments of {}", callee.function.name);
        for (param, &arg) in callee.function.params.iter().zip(args) {
            let (expected, given) = (callee.function.ty(*param), caller.ty(arg));
            assert_eq!(expected, given, "{arg} for {param} of {}", callee.function.name);
            values[param.index()] = arg;
        }
        let (first_block, first_local) = (caller.blocks.len() as u32, caller.locals.len() as u32);
        let first_label = caller.labels;
        Self { caller, callee, values, first_block, first_local, first_label, call, library }
    }

    /// Appends the copy to `out`; returns the value of the call, if it has one.
    fn run(mut self, out: &mut Vec<Inst>) -> Option<Value> {
        let call = self.caller.inst(self.call).clone();
        self.caller.locals.extend(self.callee.function.locals.iter().cloned());
        self.caller.labels += self.callee.function.labels;
        for local in &self.callee.unstarted {
            let start = Op::LocalStart(Local(self.first_local + local.0));
            out.push(self.caller.add_inst(start, None, call.fp, call.loc));
        }
        let body = self.copy_code();
        match self.callee.scope {
            Some(label) => {
                let label = self.label(label);
                out.push(self.caller.add_inst(Op::scope(label, body), None, call.fp, call.loc));
            }
            None => out.append(&mut std::mem::take(&mut self.caller.blocks[body.index()].insts)),
        }
        match self.callee.outcome {
            Outcome::Nothing => None,
            Outcome::Value(value) => Some(self.value(value)),
            Outcome::Local { local, ty, align } => {
                let local = Local(self.first_local + local.0);
                let thread = anymetal_ir::Type::Ptr(anymetal_ir::Space::Thread);
                let addr = self.caller.add_inst(Op::LocalAddr(local), Some(thread), call.fp, call.loc);
                let ptr = self.caller.result(addr);
                let load = self.caller.add_inst(
                    Op::Load { ptr, align, volatile: false },
                    Some(ty),
                    call.fp,
                    call.loc,
                );
                out.extend([addr, load]);
                self.caller.inst(load).result
            }
        }
    }

    fn copy_code(&mut self) -> Block {
        let source = &self.callee.function;
        let call_loc = self.caller.inst(self.call).loc;
        let first_inst = self.caller.insts.len() as u32;
        let first_origin = self.copy_origins();
        // Definitions may come after uses in the table, so values are numbered first.
        for (n, data) in (first_inst..).map(Inst).zip(&source.insts) {
            let definitions = data.op.results().iter().chain(data.op.params());
            for &value in data.result.iter().chain(definitions) {
                self.values[value.index()] = Value(self.caller.values.len() as u32);
                // Those of constructs are numbered when the instruction exists.
                self.caller.values.push(ValueData::new(source.ty(value), ValueDef::Inst(n)));
            }
        }
        for data in &source.insts {
            let mut data = data.clone();
            self.renumber(&mut data.op);
            if self.is_library(data.loc) {
                data.loc = call_loc;
            } else if data.loc.origin != 0 {
                data.loc.origin += first_origin;
            }
            data.result = data.result.map(|value| self.value(value));
            self.caller.insts.push(data);
            self.caller.number_definitions(Inst(self.caller.insts.len() as u32 - 1));
        }
        for block in &source.blocks {
            let insts = block.insts.iter().map(|inst| Inst(first_inst + inst.0)).collect();
            self.caller.blocks.push(anymetal_ir::BlockData { insts });
        }
        self.block(source.body)
    }

    fn is_library(&self, loc: anymetal_ir::Loc) -> bool {
        self.library.get(loc.file as usize) == Some(&true)
    }

    /// Copies what is known of the callee's positions, and notes at their outer ends that they are reached by
    /// this call. Returns by how much the copies' numbers are higher.
    fn copy_origins(&mut self) -> u32 {
        let first = self.caller.origins.len() as u32;
        let keeps_origin = |data: &InstData| data.loc.origin != 0 && !self.is_library(data.loc);
        if !self.callee.function.insts.iter().any(keeps_origin) {
            return first;
        }
        let call = self.caller.inst(self.call).loc;
        for origin in &self.callee.function.origins {
            let mut origin = origin.clone();
            match &mut origin.inlined_at {
                Some(inner) if inner.origin != 0 => inner.origin += first,
                Some(_) => {}
                // A call without an origin is none of the program's: that of a kernel by its host.
                outermost if call.origin != 0 => *outermost = Some(call),
                None => {}
            }
            self.caller.origins.push(origin);
        }
        first
    }

    fn renumber(&self, op: &mut Op) {
        op.for_each_operand_mut(|value| *value = self.value(*value));
        op.for_each_definition_mut(|value| *value = self.value(*value));
        if let Op::LocalAddr(local) | Op::LocalStart(local) = op {
            *local = Local(self.first_local + local.0);
        }
        if let Some(label) = op.label_mut() {
            *label = self.label(*label);
        }
        op.for_each_block_mut(|block| *block = self.block(*block));
    }

    /// The copy of a callee's value.
    fn value(&self, value: Value) -> Value {
        let copy = self.values[value.index()];
        assert_ne!(copy, UNKNOWN, "{} uses {value} without a definition", self.callee.function.name);
        copy
    }

    fn block(&self, block: Block) -> Block {
        Block(self.first_block + block.0)
    }

    fn label(&self, label: Label) -> Label {
        Label(self.first_label + label.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_a_function_only_if_that_function_is_too_large() {
        let function = Function::new("f".to_owned(), &[], None);
        assert_eq!(check_size(&function, MAX_TOTAL_INSTRUCTIONS), Ok(()));
        let total = check_size(&function, MAX_TOTAL_INSTRUCTIONS + 1).unwrap_err();
        assert_eq!(total, InlineError::TotalTooLarge);
        assert!(total.to_string().contains("2000000"), "{total}");
    }
}
