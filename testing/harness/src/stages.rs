//! The way of one entry point through the compiler, stage by stage, with what stopped it.
//!
//! Invariant: nothing that a stage does escapes; a panic is an [`Failure`] like a diagnostic is.
//! Start with [`Program::open`].

use crate::corpus::CorpusFile;
use crate::disk_includes::DiskIncludes;
use crate::panics;
use anymetal_diagnostics::{Diagnostic, Severity};
use anymetal_ir::{FunctionConstantId, Module, Scalar};
use anymetal_msl::{CompileOptions, Diagnostics, Library};
use anymetal_opt::{PassManager, PrepareOptions};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The stages, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// Preprocessing, parsing, declarations: of the whole file.
    Parse,
    /// Checking and lowering of the entry point.
    FrontEnd,
    /// The verifier on what the front end made.
    Verify,
    /// Specialisation, inlining, optimisation, and the verifier again.
    Passes,
    /// Machine code.
    Code,
}

/// What stopped an entry point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Where on the way.
    pub stage: Stage,
    /// The message, without names of this entry point's place where possible, so that equal causes
    /// read alike.
    pub message: String,
    /// `file:line:column`, or empty.
    pub place: String,
}

/// How an entry point fared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The entry point.
    pub kernel: String,
    /// What stopped it, if anything did.
    pub failure: Option<Failure>,
    /// Instructions of IR after the passes.
    pub instructions: usize,
    /// Bytes of machine code; 0 without that stage.
    pub code_bytes: usize,
    /// Seconds in the front end.
    pub front_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// Turns a specialised module's source into machine code; the number of its bytes. Errors are messages.
pub type CodeStage<'a> = &'a dyn Fn(&str) -> Result<usize, String>;

/// A parsed file of a corpus.
#[derive(Debug)]
pub struct Program {
    library: Library,
}

impl Program {
    /// Preprocesses, parses and declares.
    pub fn open(file: &CorpusFile) -> Result<Self, Failure> {
        let fail = |message: String, place: String| Failure { stage: Stage::Parse, message, place };
        let source = std::fs::read(&file.path).map_err(|error| fail(error.to_string(), String::new()))?;
        let options = CompileOptions::default();
        let mut includes = DiskIncludes { folders: file.include_dirs.clone() };
        let name = file.path.to_string_lossy();
        let opened = panics::caught(|| Library::parse(&name, &source, &options, &mut includes));
        let (library, diagnostics) = opened.map_err(|panic| fail(panic.message, panic.place))?;
        match library {
            Some(library) => Ok(Self { library }),
            None => {
                let (message, place) = first_error(&diagnostics);
                Err(fail(message, place))
            }
        }
    }

    /// The entry points' names, in source order.
    pub fn kernels(&self) -> Vec<String> {
        self.library.kernels().iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// The rendered diagnostics of an entry point; empty if there are none.
    pub fn rendered_errors(&self, kernel: &str) -> String {
        let outcome = panics::caught(|| self.library.module(kernel));
        match outcome {
            Ok(Err(diagnostics)) => diagnostics.render_text(false),
            _ => String::new(),
        }
    }

    /// Takes one entry point as far as it goes.
    pub fn compile(&self, kernel: &str, code: Option<CodeStage<'_>>) -> Outcome {
        let start = Instant::now();
        let mut outcome = Outcome {
            kernel: kernel.to_owned(),
            failure: None,
            instructions: 0,
            code_bytes: 0,
            front_seconds: 0.0,
            seconds: 0.0,
        };
        outcome.failure = self.stages(kernel, code, start, &mut outcome).err();
        outcome.seconds = start.elapsed().as_secs_f64();
        outcome
    }

    /// An entry point's module as the CPU device takes it.
    pub fn prepared(&self, kernel: &str) -> Result<Module, Failure> {
        let module = step(Stage::FrontEnd, || {
            self.library.module(kernel).map_err(|diagnostics| first_error(&diagnostics))
        })?;
        step(Stage::Passes, || middle(&module, kernel))
    }

    fn stages(
        &self,
        kernel: &str,
        code: Option<CodeStage<'_>>,
        start: Instant,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let module = step(Stage::FrontEnd, || {
            self.library.module(kernel).map_err(|diagnostics| first_error(&diagnostics))
        });
        outcome.front_seconds = start.elapsed().as_secs_f64();
        let module = module?;
        step(Stage::Verify, || check(&module))?;
        let module = step(Stage::Passes, || middle(&module, kernel))?;
        outcome.instructions = module.functions.iter().map(|function| function.insts.len()).sum();
        if let Some(code) = code {
            outcome.code_bytes =
                step(Stage::Code, || code(kernel).map_err(|message| (message, String::new())))?;
        }
        Ok(())
    }
}

/// Runs one stage; errors are a message and a place.
fn step<T>(stage: Stage, work: impl FnOnce() -> Result<T, (String, String)>) -> Result<T, Failure> {
    match panics::caught(work) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err((message, place))) => Err(Failure { stage, message, place }),
        Err(panic) => {
            Err(Failure { stage, message: format!("panic: {}", panic.message), place: panic.place })
        }
    }
}

fn check(module: &Module) -> Result<(), (String, String)> {
    anymetal_ir::verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        (first, format!("{} complaints", errors.len()))
    })
}

/// What executors take: one kernel, no function constants, no calls, optimised.
fn middle(module: &Module, kernel: &str) -> Result<Module, (String, String)> {
    let text = |error: &dyn std::fmt::Display| (error.to_string(), String::new());
    let mut module =
        anymetal_opt::extract_kernel(module, kernel).ok_or_else(|| text(&"the module lacks its kernel"))?;
    let values = constants(&module);
    let options = PrepareOptions {
        constants: &values,
        kept_calls: Some(anymetal_opt::KeptCalls::OF_LARGE_KERNELS),
        ..PrepareOptions::default()
    };
    anymetal_opt::prepare(&mut module, &options, &mut PassManager::default())
        .map_err(|error| text(&error))?;
    check(&module)?;
    Ok(module)
}

/// Values for all function constants: `true` and 2, which switch on most code.
pub fn constants(module: &Module) -> Vec<(FunctionConstantId, Option<u64>)> {
    let value = |ty: Scalar| match ty {
        Scalar::Bool => 1,
        Scalar::F16 => 0x4000,
        Scalar::Bf16 => 0x4000,
        Scalar::F32 => 0x4000_0000,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => 2,
    };
    let constants = module.function_constants.iter().enumerate();
    constants.map(|(n, constant)| (FunctionConstantId(n as u32), Some(value(constant.ty)))).collect()
}

/// The first error's message, with its id, and its place.
fn first_error(diagnostics: &Diagnostics) -> (String, String) {
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    let Some(first) = diagnostics.list.iter().find(is_error) else {
        return ("no error was reported".to_owned(), String::new());
    };
    let place = |span| {
        diagnostics.map.location(span).map_or_else(String::new, |(file, at)| {
            let file = file.rsplit('/').next().unwrap_or(file);
            format!("{file}:{}:{}", at.line, at.column)
        })
    };
    (format!("[{}] {}", first.id, first.message), place(first.span))
}
