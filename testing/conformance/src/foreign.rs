//! Third-party kernels with generated arguments: the interpreter and the CPU must leave the same bytes.
//!
//! [`Foreign`] is a file; [`Foreign::check`] makes a launch of one of its kernels from a seed, runs it on
//! both and compares all buffers: in safe math mode to the bit, unless library functions with a documented
//! error come in, otherwise closely. Only where they differ does the sanitizer check whether the launch has a
//! single outcome: races, reads of uninitialised memory, divergent barriers. So an agreement always counts,
//! and each difference that is left over is a bug of an executor or a rounding to be looked at.

mod accesses;
mod agreement;
mod arguments;
mod excuse;
mod layout;

use crate::case::{Constant, Launch};
use crate::execute::{Buffers, on_large_stack, parse};
use crate::execute::{Cpu, ExecError, Executor, Math, Opened, Source, UncheckedCpu, interpret};
use crate::execute::{module_of, sanitizer_module};
use accesses::Facts;
use agreement::{Closeness, difference};
use anymetal_interp::{InterpError, Limits, NoObserver, Program};
use anymetal_msl::{Library, hir};
use arguments::Made;
use std::cell::OnceCell;

/// What came of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same. Whether it went out of bounds.
    Same {
        /// Accesses out of bounds were dropped.
        faults: bool,
    },
    /// It was not compared, or need not have one outcome; the reason, one of a few.
    Skipped(String),
    /// It differs, or something failed that must not.
    Differs(String),
}

/// A file of kernels.
pub struct Foreign {
    source: Source,
    library: Library,
    device: OnceCell<Box<dyn Opened>>,
    settings: Settings,
}

/// How launches are run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Steps of SIMD-groups that a launch may take on the interpreter.
    pub max_steps: u64,
    /// Whether the CPU's code checks accesses; otherwise only launches that stay in bounds are run.
    pub checks: bool,
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").field("name", &self.source.name).finish_non_exhaustive()
    }
}

impl Foreign {
    /// Parses a file; an error is what the front end says.
    pub fn open(source: Source, settings: Settings) -> Result<Self, String> {
        let library = parse(&source).map_err(|error| match error {
            ExecError::Compile(message) => message,
            other => other.to_string(),
        })?;
        Ok(Self { source, library, device: OnceCell::new(), settings })
    }

    /// The entry points.
    pub fn kernels(&self) -> Vec<String> {
        self.library.kernels().iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// Runs a launch of a kernel on both and compares.
    pub fn check(&self, kernel: &str, seed: u64) -> Verdict {
        match self.verdict(kernel, seed) {
            Ok(verdict) | Err(verdict) => verdict,
        }
    }

    fn verdict(&self, kernel: &str, seed: u64) -> Result<Verdict, Verdict> {
        let skipped = |reason: &str| Verdict::Skipped(reason.to_owned());
        let program = self
            .library
            .program(kernel, &self.library.handles())
            .map_err(|_| skipped("refused by the front end"))?;
        let module = self.library.module(kernel).map_err(|_| skipped("refused by the front end"))?;
        let constants = arguments::constants(&module, seed);
        let optimised = on_large_stack(|| module_of(&module, kernel, &constants, false))
            .map_err(|error| Verdict::Differs(error.to_string()))?;
        let subject = Subject {
            kernel,
            facts: Facts::of(&optimised, kernel),
            runs: Program::new(&optimised, kernel).map_err(|error| skipped(&error.to_string()))?,
            program,
            constants,
        };
        let first = self.launched(&subject, seed, 0);
        let Err(excuse) = first else { return first };
        // Many kernels count on a threadgroup size; with another they leave things out.
        for turn in 1..TURNS {
            let made = subject.make(seed, turn)?;
            if matches!(self.excuse(&subject, &made.launch), Ok(None)) {
                return self.launched(&subject, seed, turn);
            }
        }
        Err(excuse)
    }

    /// Runs and compares one launch. An error: that launch need not have one outcome.
    fn launched(&self, subject: &Subject<'_>, seed: u64, turn: u64) -> Result<Verdict, Verdict> {
        let made = subject.make(seed, turn)?;
        let limits = Limits { max_steps: self.settings.max_steps, ..Limits::default() };
        let (expected, report) = interpret(&subject.runs, &made.launch, limits, &mut NoObserver)
            .map_err(|error| Verdict::Skipped(reason(&error).to_owned()))?;
        let faults = report.fault_count > 0;
        if faults && !self.settings.checks {
            return Ok(Verdict::Skipped("out of bounds".to_owned()));
        }
        let (got, faulted) = match self.on_cpu(subject.kernel, &made.launch) {
            Ok(outcome) => outcome,
            Err(verdict @ Verdict::Differs(_)) => return Ok(verdict),
            Err(verdict) => return Err(verdict),
        };
        let difference = self.first_difference(&made, subject.facts.library, &expected, &got);
        let difference = difference.or_else(|| {
            (faulted != faults).then(|| format!("out of bounds: the interpreter {faults}, the CPU {faulted}"))
        });
        let Some(message) = difference else { return Ok(Verdict::Same { faults }) };
        match self.excuse(subject, &made.launch) {
            Ok(Some(excuse)) | Err(excuse) => Err(Verdict::Skipped(excuse.to_owned())),
            Ok(None) => {
                Ok(Verdict::Differs(format!("{message}; {:?} {:?}", made.launch.grid, made.launch.group)))
            }
        }
    }

    /// What the CPU leaves, and whether it noticed an access out of bounds.
    fn on_cpu(&self, kernel: &str, launch: &Launch) -> Result<(Buffers, bool), Verdict> {
        let differs = |error: ExecError| Verdict::Differs(format!("on the CPU: {error}"));
        let device = match self.device.get() {
            Some(device) => device,
            None => {
                let cpu: &dyn Executor = if self.settings.checks { &Cpu } else { &UncheckedCpu };
                let opened = cpu.open(&self.source).map_err(differs)?;
                self.device.get_or_init(|| opened)
            }
        };
        let constants: &[(u32, Constant)] = &launch.constants;
        let prepared = match device.prepare(kernel, constants) {
            Err(error) if error.to_string().contains("threadgroup memory") => {
                return Err(Verdict::Skipped("too much threadgroup memory".to_owned()));
            }
            other => other.map_err(differs)?,
        };
        match prepared.run(launch) {
            Ok(buffers) => Ok((buffers, false)),
            Err(ExecError::Fault(_, buffers)) => Ok((buffers, true)),
            Err(error) if error.to_string().contains("threadgroup memory") => {
                Err(Verdict::Skipped("too much threadgroup memory".to_owned()))
            }
            Err(error) => Err(differs(error)),
        }
    }

    fn first_difference(&self, made: &Made, library: bool, want: &Buffers, have: &Buffers) -> Option<String> {
        let closeness = match (self.source.math, library) {
            (Math::Safe, false) => Closeness::Bits,
            (Math::Safe, true) => Closeness::Near(1e-4),
            (Math::Fast, _) => Closeness::Near(1e-2),
        };
        (0..want.len()).find_map(|n| {
            let text = difference(&made.layouts[n], &want[n], &have[n], closeness)?;
            Some(format!("argument {}: {text} ({closeness:?})", made.launch.args[n].index))
        })
    }

    /// Why a launch need not have one outcome; an error: why it has none.
    fn excuse(&self, subject: &Subject<'_>, launch: &Launch) -> Result<Option<&'static str>, &'static str> {
        let module = sanitizer_module(&self.library, subject.kernel, &subject.constants);
        let module = module.map_err(|_| "the sanitizer does not run it")?;
        let program = Program::new(&module, subject.kernel).map_err(|error| reason(&error))?;
        // Watching takes many times as long as running.
        excuse::excuse(&program, launch, self.settings.max_steps / 4)
    }
}

/// How many threadgroup sizes are tried.
const TURNS: u64 = 5;

/// A kernel with its constants.
struct Subject<'k> {
    kernel: &'k str,
    constants: Vec<(u32, Constant)>,
    /// With the types of the arguments.
    program: hir::Program,
    facts: Facts,
    /// What the interpreter runs.
    runs: Program,
}

impl Subject<'_> {
    fn make(&self, seed: u64, turn: u64) -> Result<Made, Verdict> {
        let mut made = arguments::make(&self.program, &self.facts, seed, turn).map_err(Verdict::Skipped)?;
        made.launch.constants.clone_from(&self.constants);
        Ok(made)
    }
}

fn reason(error: &InterpError) -> &'static str {
    match error {
        InterpError::BudgetExceeded { .. } => "takes too long",
        InterpError::DivergentBarrier(_) => "divergent barriers",
        InterpError::TooLarge { .. } => "too large",
        InterpError::InvalidGroupSize { .. } => "threadgroup size",
        _ => "the interpreter does not run it",
    }
}
