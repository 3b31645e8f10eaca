//! Runs cases on an executor and compares with the references and with the interpreter.

use crate::case::{Case, Constant, Expected, Faults, Launch};
use crate::compare::{Tolerance, compare};
use crate::data::Data;
use crate::execute::{Buffers, ExecError, Executor, Interpreter, Opened, Prepared, Source};
use crate::expectation::Expectations;
use std::fmt::Write;

/// The cases of one kernel of a family. `None`: the family does not know that kernel.
pub type CasesOf = fn(kernel: &str, level: Level) -> Option<Vec<Case>>;

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Small sizes; devices run only some of the kernels.
    Sample,
    /// Small sizes, all kernels.
    Kernels,
    /// All sizes, all kernels: hours on the interpreter.
    Full,
}

impl Level {
    /// The parts that `ANYMETAL_FULL` selects.
    pub fn of_environment() -> Self {
        match std::env::var_os("ANYMETAL_FULL") {
            Some(value) if value == "kernels" => Self::Kernels,
            Some(value) if value != "0" && !value.is_empty() => Self::Full,
            _ => Self::Sample,
        }
    }

    /// Whether a subject runs at this level: one name of `every` in samples, and every name otherwise.
    /// The name decides, so that a failure of a sample can be repeated.
    pub fn includes(self, name: &str, every: usize) -> bool {
        self != Self::Sample || hash(name).is_multiple_of(every)
    }

    /// The element counts that families run.
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Self::Sample | Self::Kernels => &[0, 1, 31, 32, 33, 1000],
            Self::Full => &[0, 1, 31, 32, 33, 1000, (1 << 20) + 7],
        }
    }
}

/// A hash of a name that selects it for a sample. It must not change between runs and machines.
pub fn hash(name: &str) -> usize {
    name.bytes().fold(0usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
}

/// What an executor's results are compared with, beside the references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// Nothing.
    None,
    /// The interpreter's results, as closely as each case says.
    Interpreter,
    /// The interpreter's bits, except where library functions with a documented error come in.
    Bits,
}

/// Launches of more threads are not repeated on the interpreter to compare with it: it takes minutes for a
/// million, and they are compared with their references like all others.
const MAX_ORACLE_THREADS: u64 = 1 << 17;

/// What came of a suite.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Kernels or files that were run.
    pub subjects: usize,
    /// Launches.
    pub launches: usize,
    /// What failed unexpectedly, and what passed unexpectedly.
    pub failures: Vec<String>,
    /// Subjects that failed as expected.
    pub known_gaps: usize,
}

impl Outcome {
    /// Asserts that nothing unexpected happened.
    ///
    /// # Panics
    /// If something did; the message lists it.
    pub fn assert_good(&self, what: &str) {
        assert!(self.subjects > 0, "{what}: nothing was run");
        if self.failures.is_empty() {
            return;
        }
        const SHOWN: usize = 40;
        let mut text = format!("{what}: {} of {} failed\n", self.failures.len(), self.subjects);
        for failure in self.failures.iter().take(SHOWN) {
            let _ = writeln!(text, "- {failure}");
        }
        if self.failures.len() > SHOWN {
            let _ = writeln!(text, "… and {} more", self.failures.len() - SHOWN);
        }
        panic!("{text}");
    }

    /// Adds another's numbers.
    pub fn merge(&mut self, other: Self) {
        self.subjects += other.subjects;
        self.launches += other.launches;
        self.known_gaps += other.known_gaps;
        self.failures.extend(other.failures);
    }

    /// Notes how one subject fared.
    pub fn note(
        &mut self,
        expectations: &Expectations,
        executor: &dyn Executor,
        subject: &str,
        result: Result<(), String>,
    ) {
        self.subjects += 1;
        let reason = expectations.reason(executor.expected_as(), executor.checks(), subject);
        let executor = executor.name();
        match (result, reason) {
            (Ok(()), None) => {}
            (Err(_), Some(_)) => self.known_gaps += 1,
            (Ok(()), Some(reason)) => {
                self.failures
                    .push(format!("{subject} on {executor} passes, but is listed as a gap: {reason}"));
            }
            (Err(message), None) => self.failures.push(format!("{subject} on {executor}: {message}")),
        }
    }
}

/// Runs every kernel of a source on an executor.
pub fn run_family(source: &Source, cases_of: CasesOf, executor: &dyn Executor, oracle: Oracle) -> Outcome {
    run_kernels(source, cases_of, executor, oracle, &|_| true)
}

/// As [`run_family`], for the kernels that `wanted` selects.
pub fn run_kernels(
    source: &Source,
    cases_of: CasesOf,
    executor: &dyn Executor,
    oracle: Oracle,
    wanted: &dyn Fn(&str) -> bool,
) -> Outcome {
    let level = Level::of_environment();
    let expectations = Expectations::of_repository();
    let mut outcome = Outcome::default();
    let opened = match executor.open(source) {
        Ok(opened) => opened,
        Err(error) => {
            outcome.note(&expectations, executor, &source.name, Err(error.to_string()));
            return outcome;
        }
    };
    let interpreter = match oracle {
        Oracle::None => None,
        _ => Interpreter::default().open(source).ok(),
    };
    for kernel in opened.kernels().iter().filter(|kernel| wanted(kernel)) {
        let result = match cases_of(kernel, level) {
            None => Err("the family has no reference for this kernel".to_owned()),
            Some(mut cases) => {
                cases.retain(|case| executor.checks() || case.faults == Faults::Never);
                if level == Level::Sample && oracle != Oracle::None {
                    keep_few_pipelines(&mut cases);
                }
                outcome.launches += cases.len();
                let against = interpreter.as_deref().map(|interpreter| (interpreter, oracle));
                run_cases(opened.as_ref(), against, &cases)
            }
        };
        let subject = format!("{kernel}{}", source.variant);
        outcome.note(&expectations, executor, &subject, result);
    }
    outcome
}

/// Drops the cases for which a kernel would have to be compiled a third time: for samples on devices.
fn keep_few_pipelines(cases: &mut Vec<Case>) {
    const MAX_KEPT: usize = 2;
    let mut kept: Vec<Vec<(u32, Constant)>> = Vec::new();
    cases.retain(|case| {
        let constants = &case.launch.constants;
        let known = kept.contains(constants);
        if !known && kept.len() < MAX_KEPT {
            kept.push(constants.clone());
        }
        known || kept.last() == Some(constants)
    });
}

/// Runs the cases of one kernel.
pub fn run_cases(
    opened: &dyn Opened,
    against: Option<(&dyn Opened, Oracle)>,
    cases: &[Case],
) -> Result<(), String> {
    let mut ready: Option<(Launch, Pair)> = None;
    for case in cases {
        let same =
            |known: &Launch| known.kernel == case.launch.kernel && known.constants == case.launch.constants;
        if !ready.as_ref().is_some_and(|(known, _)| same(known)) {
            let pair = Pair::prepare(opened, against, &case.launch).map_err(|error| error.to_string())?;
            let key = Launch { args: Vec::new(), ..case.launch.clone() };
            ready = Some((key, pair));
        }
        if let Some((_, pair)) = &ready {
            pair.check(case).map_err(|message| format!("{}: {message}", case.name))?;
        }
    }
    Ok(())
}

/// A kernel prepared on an executor, and on the interpreter if requested.
struct Pair {
    subject: Box<dyn Prepared>,
    oracle: Option<(Box<dyn Prepared>, Oracle)>,
}

impl Pair {
    fn prepare(
        opened: &dyn Opened,
        against: Option<(&dyn Opened, Oracle)>,
        launch: &Launch,
    ) -> Result<Self, ExecError> {
        let subject = opened.prepare(&launch.kernel, &launch.constants)?;
        let oracle = match against {
            None => None,
            Some((opened, oracle)) => Some((opened.prepare(&launch.kernel, &launch.constants)?, oracle)),
        };
        Ok(Self { subject, oracle })
    }

    #[expect(clippy::print_stdout, reason = "shown by tests that fail")]
    fn check(&self, case: &Case) -> Result<(), String> {
        // An access to a guard ends the process: the last line names it.
        println!("{}, {}", case.launch.kernel, case.name);
        let buffers = finish(self.subject.run(&case.launch), case)?;
        for expected in &case.expected {
            let got = output(case, expected, &buffers);
            compare(&expected.data, &got, expected.tolerance)
                .map_err(|message| format!("argument {}: {message}", expected.index))?;
        }
        let Some((prepared, oracle)) = &self.oracle else { return Ok(()) };
        if case.launch.threads() > MAX_ORACLE_THREADS {
            return Ok(());
        }
        let reference = finish(prepared.run(&case.launch), case)?;
        for expected in case.expected.iter().filter(|expected| expected.agreement != Tolerance::Any) {
            let (want, got) = (output(case, expected, &reference), output(case, expected, &buffers));
            let exact = *oracle == Oracle::Bits && !case.library;
            let agreement = if exact { Tolerance::Bits } else { expected.agreement };
            compare(&want, &got, agreement).map_err(|message| {
                format!("argument {} against the interpreter: {message}", expected.index)
            })?;
        }
        Ok(())
    }
}

/// The buffers of a run that ended as it should.
fn finish(result: Result<Buffers, ExecError>, case: &Case) -> Result<Buffers, String> {
    match (result, case.faults) {
        (Ok(_), Faults::Always) => Err("an access out of bounds was not noticed".to_owned()),
        (Ok(buffers), _) => Ok(buffers),
        (Err(ExecError::Fault(_, buffers)), Faults::Always | Faults::Harmless) => Ok(buffers),
        (Err(ExecError::DivergentBarrier(_, buffers)), _) if case.divergent_barriers => Ok(buffers),
        (Err(error), _) => Err(error.to_string()),
    }
}

/// The part of a buffer that is compared.
fn output(case: &Case, expected: &Expected, buffers: &Buffers) -> Data {
    let args = case.launch.args.iter().zip(buffers);
    let found = args.into_iter().find_map(|(arg, bytes)| match &arg.binding {
        crate::case::Binding::Buffer { offset, .. } if arg.index == expected.index => Some(&bytes[*offset..]),
        _ => None,
    });
    let bytes = found.unwrap_or(&[]);
    let len = bytes.len().min(expected.data.bytes.len());
    Data { dtype: expected.data.dtype, bytes: bytes[..len].to_vec() }
}
