//! Interpreted kernels in another process: the module as text, with its positions.
//!
//! Invariant: an interpreter that was decoded runs a verified module.

use std::sync::Arc;

use anymetal_hal::launch::DispatchInterpreter;
use anymetal_ir::Module;
use anymetal_isolate::IsolationError;
use anymetal_opt::PassOptions;
use serde::{Deserialize, Serialize};

use super::module::{self, Positions};
use crate::artifacts::kernel_of;
use crate::big_stack;
use crate::bug::RunBoundary;
use crate::error::CompileError;
use crate::executor::Executor;
use crate::prepared::Prepared;

#[derive(Serialize, Deserialize)]
struct WireInterpreter {
    kernel: String,
    text: String,
    positions: Option<Positions>,
}

/// The bytes of a kernel of a module.
pub(crate) fn encode(module: &Module, kernel: &str) -> Vec<u8> {
    let (text, positions) = module::write(module);
    let wire = WireInterpreter { kernel: kernel.to_owned(), text, positions };
    serde_json::to_vec(&wire).expect("texts and numbers can be written")
}

/// The interpreter of a kernel, of the bytes that `DispatchInterpreter::encoded` returned in a process of the
/// same build.
///
/// # Errors
/// The bytes are not of a valid module.
pub fn decode_interpreter(bytes: &[u8]) -> Result<Arc<dyn DispatchInterpreter>, CompileError> {
    let wire: WireInterpreter =
        serde_json::from_slice(bytes).map_err(|error| IsolationError::malformed(error.to_string()))?;
    let module = big_stack::run("reader", || Ok(module::read(&wire.text, wire.positions)?))?;
    // No pass follows: the interpreter runs the module as it is.
    let prepared = Arc::new(Prepared::of_module(module, PassOptions::new()));
    let kernel = kernel_of(&prepared.module, &wire.kernel)?;
    Ok(Arc::new(Executor::new(&prepared, kernel, RunBoundary { source: None })?))
}
