//! A kernel's text at the stages of compilation.

use std::fmt::Write as _;
use std::iter;

use anymetal_ir::{Function, Module, print_function, print_module};
use anymetal_llvm::{CompileOptions as LlvmOptions, Emit as LlvmEmit};
use anymetal_opt::PassManager;
use anymetal_opt::manager::Execution;
use anymetal_opt::pass_options::unknown_pass;
use anymetal_opt::pipeline::pass_names;
use serde::{Deserialize, Serialize};

use super::{Library, Specialisation, Target};
use crate::artifacts::kernel_of;
use crate::big_stack;
use crate::compiler::Compiler;
use crate::error::CompileError;
use crate::isolated;
use crate::machine_code;
use crate::nvidia;
use crate::pipeline::{Calls, prepare};

/// The stage of compilation to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Emit {
    /// The IR as the front end made it; function constants stay open.
    FrontEndIr,
    /// The IR after the passes that all targets share, as the interpreter runs it: specialised, inlined,
    /// simplified.
    PreparedIr,
    /// The IR after all passes, the CPU's included, as its code generator takes it. With a threadgroup size,
    /// the version for whole threadgroups follows after a line of comment.
    Ir,
    /// The CPU's SIMD plan of each version: how 32 lanes run the kernel, and how they access memory.
    Plan,
    /// The code generator's LLVM text.
    Llvm,
    /// The processor's assembly.
    Assembly,
    /// The IR after all passes of NVIDIA GPUs of that architecture, as their code generator takes it.
    NvidiaIr(u32),
    /// The LLVM text for NVIDIA GPUs of that architecture (80 for `sm_80`).
    NvidiaLlvm(u32),
    /// NVIDIA's assembly for GPUs of that architecture.
    Ptx(u32),
}

/// After which passes the IR is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrintAfter {
    /// Every one that changes something.
    All,
    /// The one of that name.
    Pass(String),
}

impl PrintAfter {
    /// `all`, or a pass's name.
    ///
    /// # Errors
    /// A message for a name that no pass has.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        if pass_names().any(|name| name == text) {
            return Ok(Self::Pass(text.to_owned()));
        }
        Err(unknown_pass(text, iter::once("all").chain(pass_names())))
    }

    fn includes(&self, pass: &str) -> bool {
        match self {
            Self::All => true,
            Self::Pass(name) => name == pass,
        }
    }
}

/// The module's text with the kernel's function as the code generator takes it, and again with that for whole
/// threadgroups.
fn print_lowered(
    mut module: Module,
    kernel: &str,
    specialisation: &Specialisation,
) -> Result<String, CompileError> {
    let found = kernel_of(&module, kernel)?;
    let function = found.function.index();
    let lowered =
        machine_code::lower(&module, found, specialisation, &mut PassManager::new(&specialisation.passes))?;
    module.functions[function] = lowered.general;
    let mut text = print_module(&module);
    if let (Some(whole), Some([x, y, z])) = (lowered.whole, specialisation.group_size) {
        module.functions[function] = whole;
        let _ =
            write!(text, "\n; for whole threadgroups of {x}, {y}, {z} threads\n{}", print_module(&module));
    }
    Ok(text)
}

impl Library {
    /// The kernel's text at a stage. Nothing of it is cached.
    pub fn emit(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        emit: Emit,
    ) -> Result<String, CompileError> {
        self.check_name(kernel)?;
        self.state.caught(kernel, Some(specialisation), None, || match self.shared().isolation()? {
            Some(pool) => isolated::emit(pool, self, kernel, specialisation, emit),
            None => self.emit_stage(kernel, specialisation, emit),
        })
    }

    fn emit_stage(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        emit: Emit,
    ) -> Result<String, CompileError> {
        if emit == Emit::FrontEndIr {
            return Ok(print_module(&self.state.module(kernel)?.module));
        }
        let prepared = match emit {
            Emit::NvidiaIr(_) | Emit::NvidiaLlvm(_) | Emit::Ptx(_) => {
                self.prepared_inlined(kernel, specialisation)?
            }
            _ => self.prepared(kernel, specialisation)?,
        };
        let module = &prepared.module;
        let specialisation = &prepared.lowering(specialisation);
        let generate = |comments| {
            let found = kernel_of(module, kernel)?;
            let wanted = machine_code::Wanted { comments, ..machine_code::Wanted::default() };
            machine_code::generate(module, found, specialisation, wanted, self.shared())
        };
        big_stack::run("printing", || match emit {
            Emit::FrontEndIr | Emit::PreparedIr => Ok(print_module(module)),
            Emit::Ir => print_lowered(module.clone(), kernel, specialisation),
            Emit::Plan => machine_code::plans(module, kernel_of(module, kernel)?, specialisation),
            Emit::Llvm => Ok(generate(true)?.code.llvm_ir),
            Emit::Assembly => {
                let llvm = Compiler::llvm()?;
                let options = LlvmOptions { emit: LlvmEmit::Assembly, ..LlvmOptions::default() };
                let bytes = machine_code::through_llvm(&llvm, &generate(false)?, &options)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            Emit::NvidiaIr(sm) => {
                let mut module = module.clone();
                let found = kernel_of(&module, kernel)?;
                let at = found.function.index();
                let lowered = nvidia::lower(
                    &module,
                    found,
                    specialisation,
                    sm,
                    &mut PassManager::new(&specialisation.passes),
                )?;
                module.functions[at] = lowered;
                Ok(print_module(&module))
            }
            Emit::NvidiaLlvm(sm) | Emit::Ptx(sm) => {
                let found = kernel_of(module, kernel)?;
                let code = nvidia::generate(module, found, specialisation, sm, self.shared())?;
                if emit == Emit::NvidiaLlvm(sm) {
                    Ok(code.llvm_ir)
                } else {
                    nvidia::assembly(&*Compiler::llvm()?, &code.llvm_ir, sm)
                }
            }
        })
    }

    /// The kernel's IR after passes, in the order in which they run: one section for each function that a
    /// pass changed, headed by a line of comment. Of the target's pipeline; the interpreter has none of its
    /// own.
    pub fn print_after(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        target: Target,
        passes: &PrintAfter,
    ) -> Result<String, CompileError> {
        self.check_name(kernel)?;
        if let Some(pool) = self.shared().isolation()? {
            let print = || isolated::print_after(pool, self, kernel, specialisation, target, passes);
            return self.state.caught(kernel, Some(specialisation), Some(target), print);
        }
        let print = || {
            let made = self.state.module(kernel)?;
            let mut text = String::new();
            let mut after = |Execution { pass, number }: Execution<'_>, _: &Module, function: &Function| {
                if passes.includes(pass) {
                    let (name, printed) = (&function.name, print_function(function));
                    let _ = writeln!(text, "; after {pass}, execution {number}: {name}\n{printed}");
                }
            };
            let mut manager = PassManager::watched(&specialisation.passes, &mut after);
            let budget = &self.shared().budget;
            let calls = match target {
                Target::Nvidia { .. } => Calls::Inlined,
                _ => Calls::Kept,
            };
            let module = prepare(&made.module, kernel, specialisation, calls, budget, &mut manager)?;
            let found = kernel_of(&module, kernel)?;
            match target {
                Target::Cpu | Target::CpuLlvm => {
                    machine_code::lower(&module, found, specialisation, &mut manager)?;
                }
                Target::Nvidia { sm } => {
                    nvidia::lower(&module, found, specialisation, sm, &mut manager)?;
                }
                Target::Metal | Target::Interpreter => {}
            }
            Ok(text)
        };
        self.state.caught(kernel, Some(specialisation), Some(target), || big_stack::run("printing", print))
    }
}
