//! The analysis of a kernel beside a run of it on the interpreter: counts, executions, patterns.

use anymetal_analyze::{Options, Recorder, analyze, disagreements};
use anymetal_interp::{Limits, Program};
use anymetal_ir::Module;
use anymetal_msl::Library;

use super::interpreter::{interpret, module_of, on_large_stack, parse};
use super::{Buffers, ExecError, Executor, Opened, Prepared, Source};
use crate::case::{Constant, Launch};

/// An interpreter whose runs fail where `analyze` said something else than what they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Analysis;

impl Executor for Analysis {
    fn name(&self) -> &'static str {
        "analysis"
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        Ok(Box::new(OpenedLibrary(parse(source)?)))
    }
}

struct OpenedLibrary(Library);

impl Opened for OpenedLibrary {
    fn kernels(&self) -> Vec<String> {
        self.0.kernels().iter().map(|kernel| kernel.name.clone()).collect()
    }

    fn prepare(&self, kernel: &str, constants: &[(u32, Constant)]) -> Result<Box<dyn Prepared>, ExecError> {
        let module = self.0.module(kernel);
        let module = module.map_err(|errors| ExecError::Compile(errors.render_text(false)))?;
        let module = on_large_stack(|| module_of(&module, kernel, constants, false))?;
        let program = Program::new(&module, kernel).map_err(|error| ExecError::Compile(error.to_string()))?;
        Ok(Box::new(Analyzed { module, program, kernel: kernel.to_owned() }))
    }
}

struct Analyzed {
    module: Module,
    program: Program,
    kernel: String,
}

impl Prepared for Analyzed {
    fn run(&self, launch: &Launch) -> Result<Buffers, ExecError> {
        let mut run = Recorder::default();
        let (buffers, report) = interpret(&self.program, launch, Limits::default(), &mut run)
            .map_err(|error| ExecError::Failed(error.to_string()))?;
        if let Some(fault) = report.faults.first() {
            return Err(ExecError::Fault(format!("{:?}", fault.kind), buffers));
        }
        let options = Options { group: Some(launch.group), ..Options::default() };
        let analysis = analyze(&self.module, &self.kernel, &options)
            .ok_or_else(|| ExecError::Failed("the kernel is not analyzed".to_owned()))?;
        match disagreements(&analysis, &self.program, &run, launch.threads()) {
            found if found.is_empty() => Ok(buffers),
            found => Err(ExecError::Failed(found.join("; "))),
        }
    }
}
