//! A kernel to be mutated: its module, its launches, and what they leave.

use std::collections::BTreeSet;

use anymetal_conformance::case::{Case, Faults, Launch};
use anymetal_conformance::execute::{Buffers, interpret, sanitize, sanitizer_module};
use anymetal_driver::sanitizer::{Finding, FindingKind, LaunchOutcome, SanitizerOptions, Session};
use anymetal_interp::{Limits, NoObserver, Observer, Program, Schedule};
use anymetal_ir::{FuncId, Module, Space};
use anymetal_msl::Library;

use crate::extent::Extents;
use crate::mutation::Mutation;
use crate::reach::{Reached, marked};
use crate::sites::sites;

/// Launches of a kernel that its mutants are run with.
const MAX_LAUNCHES: usize = 2;

/// Threads of a launch.
const MAX_THREADS: u64 = 1 << 12;

/// Steps of SIMD-groups that a launch takes without observers.
const MAX_STEPS: u64 = 600_000;

/// Launches of a kernel that may turn out to be too long.
const MAX_TOO_LONG: usize = 6;

/// Seeds of schedules in which results are compared, besides the plain order.
const SEEDS: [u64; 3] = [1, 2, 3];

/// See the module's documentation.
#[derive(Debug)]
pub struct Subject {
    /// The entry point.
    pub kernel: String,
    /// As the sanitizer runs it.
    pub module: Module,
    /// The function, with all calls inlined.
    pub function: FuncId,
    launches: Vec<Known>,
    /// Findings without a mutation.
    known: BTreeSet<Key>,
    reached: Reached,
}

/// A launch and what the kernel does in it.
#[derive(Debug)]
struct Known {
    launch: Launch,
    steps: u64,
    /// In each schedule.
    results: Vec<Option<Buffers>>,
}

/// What a finding is told apart by.
pub type Key = (FindingKind, Vec<(String, u32, u32)>);

/// Why a kernel is not mutated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It has no launch without faults that is short enough.
    NoLaunch,
    /// It is not compiled, or the interpreter or the sanitizer do not run it.
    NotRun,
}

impl Subject {
    /// A kernel with some of its cases.
    ///
    /// # Errors
    /// It is not fit for mutation.
    pub fn new(library: &Library, kernel: &str, cases: Vec<Case>) -> Result<Self, Unfit> {
        let mut cases: Vec<Case> = cases.into_iter().filter(is_fit).collect();
        // Large ones first: they have several threadgroups.
        cases.sort_by_key(|case| std::cmp::Reverse(case.launch.threads()));
        let constants = cases.first().ok_or(Unfit::NoLaunch)?.launch.constants.clone();
        cases.retain(|case| case.launch.constants == constants);
        let module = sanitizer_module(library, kernel, &constants).map_err(|_| Unfit::NotRun)?;
        let function = module.kernel(kernel).ok_or(Unfit::NotRun)?.function;
        let mut subject = Self {
            kernel: kernel.to_owned(),
            module,
            function,
            launches: Vec::new(),
            known: BTreeSet::new(),
            reached: Reached::default(),
        };
        let program = subject.program(&subject.module).ok_or(Unfit::NotRun)?;
        let mut too_long = 0;
        for case in cases {
            if subject.launches.len() < MAX_LAUNCHES && too_long < MAX_TOO_LONG {
                let known = subject.known(&program, &case.launch);
                too_long += usize::from(known.is_none());
                subject.launches.extend(known);
            }
        }
        if subject.launches.is_empty() {
            return Err(Unfit::NoLaunch);
        }
        subject.known = subject.findings(&subject.module).ok_or(Unfit::NotRun)?.keys();
        subject.mark_reached();
        Ok(subject)
    }

    /// The mutations of code that the launches run.
    pub fn mutations(&self) -> Vec<Mutation> {
        let all = sites(&self.module.functions[self.function.index()]);
        all.into_iter().filter(|mutation| self.reached.contains(mutation.block)).collect()
    }

    /// The file of a position.
    pub fn file(&self, mutation: &Mutation) -> &str {
        self.module.files.get(mutation.loc.file as usize).map_or("", String::as_str)
    }

    fn program(&self, module: &Module) -> Option<Program> {
        Program::new(module, &self.kernel).ok()
    }

    /// The launch with buffers that end where the kernel's accesses do; `None` if it is too long.
    fn known(&self, program: &Program, launch: &Launch) -> Option<Known> {
        let limits = Limits { max_steps: MAX_STEPS, ..Limits::default() };
        let mut extents = Extents::default();
        interpret(program, launch, limits, &mut extents).ok()?;
        let arguments = &self.module.kernel(&self.kernel)?.args;
        let is_constant =
            |index: u32| arguments.iter().any(|arg| arg.index == index && arg.space == Space::Constant);
        let launch = extents.cut(launch, is_constant);
        let (_, report) = interpret(program, &launch, limits, &mut NoObserver).ok()?;
        let results = results(program, &launch, 2 * report.steps);
        Some(Known { launch, steps: report.steps, results })
    }

    fn mark_reached(&mut self) {
        let marked = marked(&self.module, self.function);
        let mut reached = Reached::default();
        self.observe(&marked, &mut reached);
        self.reached = reached;
    }

    /// Runs all launches in the plain order; false if one does not end.
    pub(crate) fn observe(&self, module: &Module, observer: &mut dyn Observer) -> bool {
        let Some(program) = self.program(module) else { return false };
        self.launches.iter().all(|known| {
            let limits = Limits { max_steps: patience(known.steps), ..Limits::default() };
            interpret(&program, &known.launch, limits, observer).is_ok()
        })
    }

    /// Whether a changed module has the kernel's results in every schedule.
    pub(crate) fn has_same_results(&self, module: &Module) -> bool {
        let Some(program) = self.program(module) else { return false };
        let same = |known: &Known| results(&program, &known.launch, patience(known.steps)) == known.results;
        self.launches.iter().all(same)
    }

    /// What the sanitizer says of a changed module that it does not say of the kernel.
    pub(crate) fn new_findings(&self, module: &Module) -> Option<Findings> {
        let mut findings = self.findings(module)?;
        findings.found.retain(|finding| !self.known.contains(&key(finding)));
        Some(findings)
    }

    fn findings(&self, module: &Module) -> Option<Findings> {
        let program = self.program(module)?;
        let mut all = Findings { found: Vec::new(), ended: true };
        for known in &self.launches {
            let mut options = SanitizerOptions::default();
            options.kinds.insert(FindingKind::BarrierWithoutFlags);
            options.max_steps = patience(known.steps);
            let mut session = Session::new(options);
            let (_, outcome) = sanitize(&mut session, &program, &known.launch).ok()?;
            all.ended &= outcome == LaunchOutcome::Completed;
            all.found.extend_from_slice(session.findings());
        }
        Some(all)
    }
}

/// What the sanitizer says of all launches of a module.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) found: Vec<Finding>,
    /// All launches ran to their end.
    pub(crate) ended: bool,
}

impl Findings {
    fn keys(&self) -> BTreeSet<Key> {
        self.found.iter().map(key).collect()
    }
}

fn key(finding: &Finding) -> Key {
    let place = |side: &anymetal_driver::sanitizer::Side| {
        (side.place.file.clone(), side.place.line, side.place.column)
    };
    let mut places: Vec<_> = finding.sides.iter().map(place).collect();
    places.sort();
    (finding.kind, places)
}

/// Steps that a mutant may take where the kernel takes these.
fn patience(steps: u64) -> u64 {
    4 * steps + 20_000
}

fn is_fit(case: &Case) -> bool {
    case.faults == Faults::Never && (1..=MAX_THREADS).contains(&case.launch.threads())
}

/// What a launch leaves, in each schedule; `None` where it does not end.
fn results(program: &Program, launch: &Launch, max_steps: u64) -> Vec<Option<Buffers>> {
    let shuffled = SEEDS.iter().map(|&seed| Schedule::Shuffled { seed });
    let run = |schedule| {
        let limits = Limits { max_steps, schedule, ..Limits::default() };
        interpret(program, launch, limits, &mut NoObserver).ok().map(|(buffers, _)| buffers)
    };
    std::iter::once(Schedule::InOrder).chain(shuffled).map(run).collect()
}
