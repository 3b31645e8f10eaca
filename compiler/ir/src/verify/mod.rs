//! The verifier. A module that it accepts guarantees all of this, and executors, code generators and
//! passes may rely on it:
//!
//! Module
//! - every entity (function, global, threadgroup variable, function constant, file) exists;
//! - function names, global names and kernel names are unique;
//! - alignments are powers of two, at least 1;
//! - the call graph has no cycle;
//! - a kernel's function returns nothing and has one parameter per argument, a pointer into the
//!   argument's space: device or constant for a buffer, threadgroup for threadgroup memory;
//! - an `enabled_by` function has no parameter and returns `bool`, an `index_by` function likewise `i32`.
//!
//! Function
//! - each block and each instruction appears at most once, reached from the body;
//! - constructs nest at most [`MAX_NESTING`] deep;
//! - a value is defined once, by the parameter or instruction that its entry names, and every use
//!   comes after the definition, in the same block or in a block nested in it (a loop's continuing
//!   block is beside its body, not nested in it);
//! - vectors have 2 to 4 elements;
//! - a terminator is the last instruction of its block;
//! - a label belongs to one construct; `break` names an enclosing construct, `continue` an
//!   enclosing loop whose continuing block it is not in;
//! - `return` gives a value of the function's result type, or none if there is none. Control that
//!   reaches the end of a function with a result gives an arbitrary value.
//!
//! Instruction
//! - operand and result types are those of the operation's table in the file of its group:
//!   [`constants`](self), `arithmetic`, `vectors`, `memory`, `threads`, `control`;
//! - constant bits fit their type; nothing stores to constant memory; atomics work on device or
//!   threadgroup memory and `I32`, `I64` or `F32`.
//!
//! Start at [`verify`]; each group's file is one function per kind of operation.

mod arithmetic;
mod constants;
mod control;
mod memory;
mod module;
mod threads;
mod vectors;
mod walk;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::limits::{MAX_ERRORS, MAX_NESTING};
use crate::{Function, Inst, Loc, Module};

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function's name, if the error is in one.
    pub function: Option<String>,
    /// The instruction, if it is about one.
    pub inst: Option<Inst>,
    /// The instruction's source position.
    pub loc: Loc,
    /// The message, with the instruction's text.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "in {function}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks every rule.
///
/// # Errors
/// The broken rules, in the module's order, at most a hundred.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Errors::default();
    module::check_tables(module, &mut errors);
    module::check_kernels(module, &mut errors);
    for function in &module.functions {
        walk::check_function(module, function, &mut errors);
    }
    // The search follows calls, so it needs functions whose references exist.
    if errors.list.is_empty() {
        module::check_call_graph(module, &mut errors);
    }
    if errors.list.is_empty() { Ok(()) } else { Err(errors.list) }
}

/// Checks the rules on one function, which need not be in the module. Those that it calls must be, as must
/// the globals and constants that it names.
///
/// # Errors
/// The broken rules, in the function's order, at most a hundred.
pub fn verify_function(module: &Module, function: &Function) -> Result<(), Vec<VerifyError>> {
    let mut errors = Errors::default();
    walk::check_function(module, function, &mut errors);
    if errors.list.is_empty() { Ok(()) } else { Err(errors.list) }
}

/// Collects errors up to the limit.
#[derive(Default)]
struct Errors {
    list: Vec<VerifyError>,
}

impl Errors {
    fn module(&mut self, message: String) {
        self.add(VerifyError { function: None, inst: None, loc: Loc::default(), message });
    }

    fn add(&mut self, error: VerifyError) {
        if self.list.len() < MAX_ERRORS {
            self.list.push(error);
        }
    }

    fn is_full(&self) -> bool {
        self.list.len() >= MAX_ERRORS
    }
}

/// The outcome of one check: the message of the broken rule.
type Checked = Result<(), String>;

fn require(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}
