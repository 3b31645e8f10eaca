//! IR text in, bytes out: parse, verify, optimise, emit. One fresh context per compile.
//!
//! Pipelines are constants: a malformed pipeline string makes LLVM end the process. A short one of our
//! own with aggressive code generation is the usual choice: measured, O1, O2 and O3 give the same speed
//! for what the code generators write, at a higher price.

use std::ffi::CStr;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol};

use crate::bindings::{FILE_ASSEMBLY, FILE_OBJECT};
use crate::error::CompileError;
use crate::handles::{Context, Module, TargetMachine};
use crate::library::Llvm;
use crate::target::{Architecture, Target};

/// How much work to spend on the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OptLevel {
    /// No optimisation beyond inlining what must be inlined, and the fastest code generation.
    O0,
    /// A short pipeline for code that is vectors and masks already, and full code generation. The default.
    #[default]
    O1,
    /// The standard pipeline.
    O2,
    /// The standard heavy pipeline.
    O3,
}

/// What generated kernels gain from: the variables of lanes into registers, equal computations once, constant
/// loops unrolled, the unchanging out of loops. A third of the time of `default<O1>` for the same speed. All
/// passes and parameters exist from LLVM 18 on.
const SHORT_PIPELINE: &CStr = c"always-inline,function(\
    sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-simplify,lcssa,loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,\
    loop(indvars,loop-deletion,loop-unroll-full),\
    sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// The same for GPUs, where loops that ask for it (`llvm.loop.unroll.count`) have several rounds side by
/// side, whatever their number. CPUs hide the latency of loads by themselves.
const SHORT_GPU_PIPELINE: &CStr = c"always-inline,function(\
    sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-simplify,lcssa,loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,\
    loop(indvars,loop-deletion,loop-unroll-full),\
    loop-unroll<O1;no-runtime;no-partial;no-peeling;no-profile-peeling>,\
    sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Bytes of a module's text from which code for GPUs is generated without optimising: straight-line strength
/// reduction, which the target runs before it, takes time that is quadratic in the length of a kernel. What
/// comes of it is optimised by NVIDIA's assembler.
const MAX_GPU_BYTES_TO_OPTIMISE: usize = 1 << 20;

impl OptLevel {
    fn pipeline(self, architecture: Architecture) -> &'static CStr {
        match self {
            Self::O0 => c"default<O0>",
            Self::O1 if architecture == Architecture::Nvptx64 => SHORT_GPU_PIPELINE,
            Self::O1 => SHORT_PIPELINE,
            Self::O2 => c"default<O2>",
            Self::O3 => c"default<O3>",
        }
    }

    /// `LLVMCodeGenOptLevel`: none or aggressive.
    fn code_level(self, architecture: Architecture, text: &str) -> i32 {
        let is_long = architecture == Architecture::Nvptx64 && text.len() > MAX_GPU_BYTES_TO_OPTIMISE;
        if self == Self::O0 || is_long { 0 } else { 3 }
    }
}

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Emit {
    /// An ELF object, which the CPU device loads.
    #[default]
    Object,
    /// Assembly text; for the NVIDIA target this is PTX.
    Assembly,
    /// The IR after the passes, as text.
    OptimizedIr,
}

/// How to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileOptions {
    /// How hard to optimise.
    pub opt: OptLevel,
    /// What to produce.
    pub emit: Emit,
    /// What to produce it for; `None` is the host.
    pub target: Option<Target>,
    /// Check the module before optimising. Leave on: an invalid module crashes the passes.
    pub verify: bool,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self { opt: OptLevel::default(), emit: Emit::default(), target: None, verify: true }
    }
}

impl Llvm {
    /// Compiles a module given as text. May be called from any number of threads at once.
    ///
    /// The text needs no target lines; the target's are used whatever it says. A function that it
    /// declares and does not define becomes a symbol for the loader to resolve.
    pub fn compile(&self, ir_text: &str, options: &CompileOptions) -> Result<Vec<u8>, CompileError> {
        let target = options.target.as_ref().unwrap_or_else(|| self.host_target());
        let triple = target.architecture.triple();
        let code_level = options.opt.code_level(target.architecture, ir_text);
        let machine =
            TargetMachine::new(&self.bindings, triple, &target.cpu, &target.features, code_level)
                .map_err(|message| CompileError::UnknownTarget { triple: triple.to_owned(), message })?;
        let context = Context::new(&self.bindings);
        let module = context.parse(&with_layout(ir_text, &machine)).map_err(parse_error)?;
        machine.adopt(&module);
        if options.verify {
            module.verify().map_err(|message| CompileError::Verify { message })?;
        }
        let optimised = machine.run_passes(&module, options.opt.pipeline(target.architecture));
        let message = optimised.err().into_iter().chain(context.take_errors()).next();
        if let Some(message) = message {
            return Err(CompileError::Passes { message });
        }
        let kind = match options.emit {
            Emit::OptimizedIr => return Ok(module.print().into_bytes()),
            Emit::Assembly => FILE_ASSEMBLY,
            Emit::Object => FILE_OBJECT,
        };
        let bytes = emit(&machine, &context, &module, kind)?;
        if options.emit == Emit::Object && target.architecture != Architecture::Nvptx64 {
            refuse_unknown_intrinsics(&bytes)?;
        }
        if options.emit == Emit::Assembly && target.architecture == Architecture::Nvptx64 {
            refuse_external_functions(&bytes)?;
        }
        Ok(bytes)
    }
}

fn emit(
    machine: &TargetMachine<'_>,
    context: &Context<'_>,
    module: &Module<'_>,
    kind: i32,
) -> Result<Vec<u8>, CompileError> {
    let result = machine.emit(module, kind);
    // A reported error does not stop the emission, but the output is then wrong.
    match (result, context.take_errors()) {
        (Ok(bytes), None) => Ok(bytes),
        (_, Some(message)) | (Err(message), None) => Err(CompileError::Codegen { message }),
    }
}

/// Prepends the target's data layout to the text, because the reader takes default alignments
/// from it. It stays on the first line, so the lines of error messages remain those of the text.
fn with_layout(ir_text: &str, machine: &TargetMachine<'_>) -> String {
    if ir_text.contains("target datalayout") {
        return ir_text.to_owned();
    }
    format!("target datalayout = \"{}\" {ir_text}", machine.data_layout())
}

/// Splits LLVM's `ir:LINE:COLUMN: error: …` into line and message.
fn parse_error(message: String) -> CompileError {
    let mut parts = message.splitn(4, ':');
    let line = parts.nth(1).and_then(|line| line.parse().ok());
    let rest = parts.nth(1).map(|rest| rest.trim().trim_start_matches("error:").trim().to_owned());
    match (line, rest) {
        (Some(line), Some(rest)) => CompileError::Parse { message: rest, line: Some(line) },
        _ => CompileError::Parse { message, line: None },
    }
}

/// An unknown `llvm.foo` is not an error to LLVM's reader or verifier; it becomes a call to a symbol
/// of that name. Reported here, before the object is loaded.
fn refuse_unknown_intrinsics(object: &[u8]) -> Result<(), CompileError> {
    let unreadable =
        |error: object::Error| CompileError::Codegen { message: format!("unreadable object: {error}") };
    let file = ElfFile64::<Endianness>::parse(object).map_err(unreadable)?;
    let unknown = file
        .symbols()
        .filter(ObjectSymbol::is_undefined)
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .find(|name| name.starts_with("llvm."));
    match unknown {
        Some(name) => Err(CompileError::UndefinedIntrinsic { name }),
        None => Ok(()),
    }
}

/// The same for PTX, where such a call becomes an `.extern .func` that no driver resolves.
fn refuse_external_functions(ptx: &[u8]) -> Result<(), CompileError> {
    let text = String::from_utf8_lossy(ptx);
    let Some((_, declaration)) = text.split_once(".extern .func") else {
        // Every function is defined.
        return Ok(());
    };
    let name = declaration.split(';').next().unwrap_or_default().split_whitespace();
    Err(CompileError::UndefinedIntrinsic { name: name.collect::<Vec<_>>().join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_with_functions_from_elsewhere_is_refused() {
        assert_eq!(refuse_external_functions(b".visible .entry f() { ret; }"), Ok(()));
        assert!(refuse_external_functions(b".extern .func llvm.nvvm.foo\n(\n)\n;").is_err());
    }

    #[test]
    fn parse_messages_are_split() {
        let error = parse_error("ir:3:5: error: expected type\n  bad\n  ^".to_owned());
        let message = "expected type\n  bad\n  ^".to_owned();
        assert_eq!(error, CompileError::Parse { message, line: Some(3) });
        let odd = parse_error("something else".to_owned());
        assert_eq!(odd, CompileError::Parse { message: "something else".to_owned(), line: None });
    }
}
