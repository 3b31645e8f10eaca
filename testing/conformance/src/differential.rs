//! Random kernels: the interpreter and the CPU's code must leave the same bytes.
//!
//! The IR's own generator makes kernels whose outcome is defined to the last bit. Each is run as it is by the
//! interpreter, inlined and optimised by the interpreter, and as machine code, with and without a fixed
//! threadgroup size. What differs is made smaller by taking generator features away, and kept as text under
//! `tests/ir/differential`, whose files are tests ([`check_file`]).

use crate::execute::on_large_stack;
use crate::machine::{Machine, MachineOptions};
use anymetal_interp::{Dispatch, Limits, Memory, NoObserver, Program, run};
use anymetal_ir::{Module, parse_module, print_module, verify};
use anymetal_ir_random::{RandomKernel, RandomOptions, kernel};
use std::fmt::Write;

/// A launch of a module whose kernel is `k`, with buffers 0, 1, ….
#[derive(Clone, Debug)]
pub struct Subject {
    /// The module.
    pub module: Module,
    /// Threads of the grid.
    pub threads: [u32; 3],
    /// Threads per threadgroup.
    pub group: [u32; 3],
    /// Contents of the buffers.
    pub buffers: Vec<Vec<u8>>,
}

impl From<RandomKernel> for Subject {
    fn from(random: RandomKernel) -> Self {
        Self {
            module: random.module,
            threads: random.threads,
            group: random.threads_per_group,
            buffers: random.buffers,
        }
    }
}

/// The generator's settings for a seed: kernels of all kinds and sizes.
pub fn options(seed: u64) -> RandomOptions {
    let bit = |n: u32| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (40 + n) & 1 == 1;
    let rare = |n: u32| !(bit(n) && bit(n + 8));
    RandomOptions {
        statements: [12, 30, 60, 120][(seed % 4) as usize],
        depth: 2 + (seed / 4 % 4) as usize,
        floats: rare(0),
        small_floats: bit(1),
        calls: rare(2),
        simd: bit(3),
        divergent_simd: bit(4),
        threadgroup: bit(5),
        atomics: bit(6),
        out_of_bounds: !rare(7),
        flat_indices: bit(17),
    }
}

/// How a random kernel of a seed differs between the executors; `None`: not at all.
pub fn check_seed(seed: u64, machine: Option<&Machine>) -> Option<(Subject, String)> {
    let options = options(seed);
    let subject = Subject::from(kernel(seed, &options));
    let message = check(&subject, machine)?;
    // Smaller kernels that still differ are easier to read.
    for smaller in simpler(&options) {
        let simple = Subject::from(kernel(seed, &smaller));
        if let Some(message) = check(&simple, machine) {
            return Some((simple, format!("seed {seed}, {smaller:?}: {message}")));
        }
    }
    Some((subject, format!("seed {seed}, {options:?}: {message}")))
}

/// The same kernel with fewer statements and features, the smallest first.
fn simpler(options: &RandomOptions) -> Vec<RandomOptions> {
    let mut all = Vec::new();
    for statements in [3, 6, 12, 24, 48] {
        if statements >= options.statements {
            continue;
        }
        let few = RandomOptions { statements, ..options.clone() };
        all.push(RandomOptions {
            calls: false,
            simd: false,
            threadgroup: false,
            atomics: false,
            ..few.clone()
        });
        all.push(RandomOptions { calls: false, ..few.clone() });
        all.push(few);
    }
    all
}

/// How a launch differs between the executors.
pub fn check(subject: &Subject, machine: Option<&Machine>) -> Option<String> {
    on_large_stack(|| difference(subject, machine).err())
}

/// The contents of the buffers after a run, and whether it faulted.
type Outcome = (Vec<Vec<u8>>, bool);

fn difference(subject: &Subject, machine: Option<&Machine>) -> Result<(), String> {
    valid(&subject.module, "the generator's module")?;
    let reference = interpret(&subject.module, subject)?;
    let mut optimised = subject.module.clone();
    anymetal_opt::inline(&mut optimised).map_err(|error| format!("inlining: {error}"))?;
    valid(&optimised, "the inlined module")?;
    let inlined = optimised.clone();
    anymetal_opt::optimise(&mut optimised);
    valid(&optimised, "the optimised module")?;
    let optimised_outcome = interpret(&optimised, subject)?;
    same(&reference, &optimised_outcome, Faults::MayGo, "the interpreter on the optimised module")?;
    let Some(machine) = machine else { return Ok(()) };
    let with = |fixed: bool, checks| MachineOptions {
        fixed_group: fixed.then_some(subject.group),
        checks,
        baseline: false,
    };
    let (raw, optimised, faulty) =
        ((&inlined, &reference), (&optimised, &optimised_outcome), optimised_outcome.1);
    for ((module, expected), faults, options, what) in [
        (optimised, Faults::Same, with(true, true), "the CPU, with a fixed threadgroup size"),
        (optimised, Faults::Same, with(false, true), "the CPU, with any threadgroup size"),
        (optimised, Faults::Same, with(true, false), "the CPU, without checks"),
        (raw, Faults::MayGo, with(true, true), "the CPU, not optimised"),
    ] {
        if faulty && !options.checks {
            continue;
        }
        let code = machine.compile(module, "k", &options)?;
        let mut buffers = subject.buffers.clone();
        let clean = machine.run(&code, subject.threads, subject.group, &mut buffers)?;
        same(expected, &(buffers, !clean), faults, what)?;
    }
    Ok(())
}

/// What a launch without faults leaves in the buffers, for each executor by name: the interpreter before
/// and after the passes, and machine code, optimised and baseline.
///
/// # Errors
/// If an executor does not run the launch, or it faults.
pub fn outcomes(
    subject: &Subject,
    machine: Option<&Machine>,
) -> Result<Vec<(&'static str, Vec<Vec<u8>>)>, String> {
    on_large_stack(|| {
        let mut inlined = subject.module.clone();
        anymetal_opt::inline(&mut inlined).map_err(|error| format!("inlining: {error}"))?;
        let mut optimised = inlined.clone();
        anymetal_opt::optimise(&mut optimised);
        valid(&optimised, "the optimised module")?;
        let mut outcomes = vec![
            ("interpreter, no passes", interpret(&subject.module, subject)?),
            ("interpreter", interpret(&optimised, subject)?),
        ];
        for (name, module, baseline) in [("CPU", &optimised, false), ("CPU baseline", &inlined, true)] {
            let Some(machine) = machine else { break };
            let options = MachineOptions { fixed_group: None, checks: true, baseline };
            let code = machine.compile(module, "k", &options)?;
            let mut buffers = subject.buffers.clone();
            let is_clean = machine.run(&code, subject.threads, subject.group, &mut buffers)?;
            outcomes.push((name, (buffers, !is_clean)));
        }
        match outcomes.iter().find(|(_, (_, is_faulty))| *is_faulty) {
            Some((name, _)) => Err(format!("{name}: an access is out of bounds")),
            None => Ok(outcomes.into_iter().map(|(name, (buffers, _))| (name, buffers)).collect()),
        }
    })
}

fn valid(module: &Module, what: &str) -> Result<(), String> {
    verify(module).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        format!("{what} is invalid: {first}")
    })
}

fn interpret(module: &Module, subject: &Subject) -> Result<Outcome, String> {
    let program = Program::new(module, "k").map_err(|error| error.to_string())?;
    let mut buffers = subject.buffers.clone();
    let mut memory = buffers.iter_mut().fold(Memory::new(), |memory, bytes| memory.bind(bytes));
    let dispatch = Dispatch::threads(subject.threads, subject.group);
    let limits = Limits { max_steps: 500_000_000, ..Limits::default() };
    let report = run(&program, &dispatch, &mut memory, limits, &mut NoObserver)
        .map_err(|error| format!("the interpreter: {error}"))?;
    drop(memory);
    Ok((buffers, report.fault_count > 0))
}

/// What may become of the faults when a module is transformed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Faults {
    /// There is one or there is none, as before.
    Same,
    /// An access whose outcome is not used may be left out, and its fault with it.
    MayGo,
}

fn same(reference: &Outcome, got: &Outcome, faults: Faults, what: &str) -> Result<(), String> {
    for (index, (want, have)) in reference.0.iter().zip(&got.0).enumerate() {
        if let Some(at) = (0..want.len()).find(|&at| want[at] != have[at]) {
            let word = at / 4 * 4;
            let range = word..(word + 4).min(want.len());
            return Err(format!(
                "{what}: buffer {index}, byte {at}: {:02x?} instead of {:02x?}",
                &have[range.clone()],
                &want[range]
            ));
        }
    }
    match (reference.1, got.1) {
        (true, false) if faults == Faults::Same => {
            Err(format!("{what}: an access out of bounds was not noticed"))
        }
        (false, true) => Err(format!("{what}: there was no access out of bounds")),
        _ => Ok(()),
    }
}

/// A launch as text: comments with the grid and the buffers, then the module.
pub fn to_text(subject: &Subject, why: &str) -> String {
    let mut text = String::new();
    for line in why.lines() {
        let _ = writeln!(text, "; {line}");
    }
    let numbers = |numbers: [u32; 3]| numbers.map(|n| n.to_string()).join(",");
    let _ = writeln!(text, "; threads: {}", numbers(subject.threads));
    let _ = writeln!(text, "; group: {}", numbers(subject.group));
    for bytes in &subject.buffers {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "; buffer: {hex}");
    }
    text.push_str(&print_module(&subject.module));
    text
}

/// The launch of a text.
pub fn from_text(text: &str) -> Result<Subject, String> {
    let field = |name: &'static str| {
        let value = move |line: &'_ str| {
            line.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned)
        };
        text.lines().filter_map(value)
    };
    let extent = |name: &'static str| -> Result<[u32; 3], String> {
        let value = field(name).next().ok_or_else(|| format!("no `{name}`"))?;
        let numbers: Result<Vec<u32>, _> = value.split(',').map(|number| number.trim().parse()).collect();
        let numbers = numbers.map_err(|_| format!("`{value}` is no extent"))?;
        numbers.try_into().map_err(|_| format!("`{value}` has not three numbers"))
    };
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(digits, 16).ok()
    };
    let buffer = |hex: String| hex.trim().as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    let buffers: Option<Vec<Vec<u8>>> = field("buffer").map(buffer).collect();
    Ok(Subject {
        module: parse_module(text).map_err(|error| error.to_string())?,
        threads: extent("threads")?,
        group: extent("group")?,
        buffers: buffers.ok_or("a buffer is no hexadecimal number")?,
    })
}

/// Checks a file of `tests/ir/differential`.
pub fn check_file(text: &str, machine: Option<&Machine>) -> Result<(), String> {
    let subject = from_text(text)?;
    check(&subject, machine).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_survive_as_text() {
        let subject = Subject::from(kernel(5, &options(5)));
        let again = from_text(&to_text(&subject, "why\nnot")).expect("it can be read");
        assert_eq!(print_module(&again.module), print_module(&subject.module));
        assert_eq!((again.threads, again.group), (subject.threads, subject.group));
        assert_eq!(again.buffers, subject.buffers);
    }

    #[test]
    fn differences_are_noticed() {
        let reference = (vec![vec![1, 2, 3, 4, 5]], false);
        let faulty = (reference.0.clone(), true);
        assert!(same(&reference, &reference, Faults::Same, "x").is_ok());
        assert!(same(&reference, &(vec![vec![1, 2, 3, 4, 6]], false), Faults::MayGo, "x").is_err());
        assert!(same(&reference, &faulty, Faults::MayGo, "x").is_err());
        assert!(same(&faulty, &reference, Faults::Same, "x").is_err());
        assert!(same(&faulty, &reference, Faults::MayGo, "x").is_ok());
    }
}
