//! Launches under the sanitizer without a device: for callers that look into the module, or change it.
//!
//! Start with [`sanitizer_module`], then [`sanitize`].

use super::interpreter::{check, constant_values, internal, with_memory};
use super::{Buffers, ExecError, on_large_stack};
use crate::case::{Constant, Launch};
use anymetal_driver::sanitizer::{ArgumentInfo, LaunchInfo, LaunchOutcome, Session};
use anymetal_interp::{Argument, InterpError, Program};
use anymetal_ir::Module;
use anymetal_msl::Library;
use anymetal_opt::PrepareOptions;

/// The module of a kernel with its constants as the sanitizer runs it: inlined, and otherwise unchanged.
///
/// # Errors
/// What the front end refuses, and what specialisation and inlining refuse.
pub fn sanitizer_module(
    library: &Library,
    kernel: &str,
    constants: &[(u32, Constant)],
) -> Result<Module, ExecError> {
    let made = library.module_for_sanitizer(kernel);
    let module = made.map_err(|errors| ExecError::Compile(errors.render_text(false)))?;
    on_large_stack(|| {
        check(&module, "the front end's module")?;
        let mut module = anymetal_opt::extract_kernel(&module, kernel)
            .ok_or_else(|| ExecError::Compile(format!("the module has no kernel `{kernel}`")))?;
        let values = constant_values(&module, constants)?;
        let options = PrepareOptions { constants: &values, ..PrepareOptions::default() };
        anymetal_opt::prepare_unchanged(&mut module, &options)
            .map_err(|error| internal("inlining", &error))?;
        check(&module, "the inlined module")?;
        Ok(module)
    })
}

/// Runs a launch in a session: what it leaves in the buffers, and how it ended.
///
/// # Errors
/// The launch does not fit the program.
pub fn sanitize(
    session: &mut Session,
    program: &Program,
    launch: &Launch,
) -> Result<(Buffers, LaunchOutcome), InterpError> {
    let (buffers, outcome) = with_memory(program, launch, |dispatch, memory| {
        let arguments = memory.arguments.iter().map(info).collect();
        let info = LaunchInfo { arguments, ..LaunchInfo::default() };
        session.launch(program, dispatch, memory, &info, None)
    });
    Ok((buffers, outcome?))
}

fn info(argument: &Argument) -> ArgumentInfo {
    let bytes = match *argument {
        Argument::Unbound => 0,
        Argument::Threadgroup { len } | Argument::Buffer { len, .. } => len,
    };
    let is_bound = *argument != Argument::Unbound;
    ArgumentInfo { bytes, element_bytes: 1, is_bound, ..ArgumentInfo::default() }
}
