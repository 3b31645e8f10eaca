//! Mutates kernels of all suites, for a limited time, on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anymetal_conformance::candle::input::Inputs;
use anymetal_conformance::execute::{on_large_stack, parse};
use anymetal_conformance::suite::Level;
use regex_lite::Regex;

use crate::mutation::{Mutation, MutationKind};
use crate::subject::{Subject, Unfit};
use crate::suites::{Family, families};
use crate::trial::{Judgement, judge};

/// What is mutated, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Chooses kernels and mutations.
    pub seed: u64,
    /// Kernels of each source file.
    pub per_family: usize,
    /// Mutations of each kernel.
    pub per_kernel: usize,
    /// Only kernels whose name it matches.
    pub kernels: Option<Regex>,
    /// No kernel is begun after this time; `None` for no end.
    pub time: Option<Duration>,
}

/// A mutant and what came of it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The suite.
    pub suite: &'static str,
    /// The kernel.
    pub kernel: String,
    /// The mutation.
    pub mutation: Mutation,
    /// The file of the position.
    pub file: String,
    /// What came of it.
    pub judgement: Judgement,
}

/// Everything that was tried.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// The mutants, in the order of suites, kernels and positions.
    pub tried: Vec<Tried>,
    /// Kernels that were mutated.
    pub kernels: usize,
    /// Kernels without a launch that is short enough and free of faults.
    pub without_launch: usize,
    /// Kernels that the sanitizer does not run.
    pub not_run: Vec<String>,
    /// Source files that the time did not suffice for.
    pub files_left: usize,
}

/// Kernels of a source file that may turn out to be unfit; in some all launches are too long.
const MAX_TRIES: usize = 6;

/// Tells of progress: how many source files are done, and how many there are.
pub type Progress<'p> = &'p (dyn Fn(usize, usize) + Sync);

/// Runs the plan.
pub fn run(plan: &Plan, progress: Progress<'_>) -> Tally {
    let families = families();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let tally = Mutex::new(Tally::default());
    let start = Instant::now();
    let is_late = || plan.time.is_some_and(|time| start.elapsed() >= time);
    let work = || {
        while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut part = Tally::default();
            if is_late() {
                part.files_left = 1;
            } else {
                of_family(plan, family, &is_late, &mut part);
            }
            tally.lock().unwrap_or_else(|error| error.into_inner()).merge(part);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, families.len());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| on_large_stack(work));
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(|error| error.into_inner());
    let order = |tried: &Tried| {
        let loc = tried.mutation.loc;
        (tried.suite, tried.kernel.clone(), loc.line, loc.column, tried.mutation.text.clone())
    };
    tally.tried.sort_by_key(order);
    tally
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.tried.extend(other.tried);
        self.kernels += other.kernels;
        self.without_launch += other.without_launch;
        self.not_run.extend(other.not_run);
        self.files_left += other.files_left;
    }
}

fn of_family(plan: &Plan, family: &Family, is_late: &dyn Fn() -> bool, tally: &mut Tally) {
    let source = family.source();
    let library = match parse(&source) {
        Ok(library) => library,
        Err(error) => return tally.not_run.push(format!("{}: {error}", source.name)),
    };
    let is_wanted = |name: &str| plan.kernels.as_ref().is_none_or(|kernels| kernels.is_match(name));
    let names = library.kernels().iter().map(|kernel| kernel.name.as_str());
    let mut names: Vec<&str> = names.filter(|name| family.covers(name) && is_wanted(name)).collect();
    let mut random = Inputs::named(&format!("{} {} {}", plan.seed, family.suite, family.name));
    let (mut mutated, mut tries) = (0, 0);
    while mutated < plan.per_family && tries < MAX_TRIES + plan.per_family && !names.is_empty() && !is_late()
    {
        tries += 1;
        let kernel = names.swap_remove(random.below(names.len()));
        let Some(cases) = (family.cases_of())(kernel, Level::Sample) else { continue };
        match Subject::new(&library, kernel, cases) {
            Ok(subject) => {
                mutated += 1;
                tally.kernels += 1;
                of_subject(plan, family, &subject, tally);
            }
            Err(Unfit::NoLaunch) => tally.without_launch += 1,
            Err(Unfit::NotRun) => tally.not_run.push(kernel.to_owned()),
        }
    }
}

fn of_subject(plan: &Plan, family: &Family, subject: &Subject, tally: &mut Tally) {
    let mut random = Inputs::named(&format!("{} {}", plan.seed, subject.kernel));
    for mutation in choose(subject.mutations(), plan.per_kernel, &mut random) {
        match judge(subject, &mutation) {
            Some(judgement) => tally.tried.push(Tried {
                suite: family.suite,
                kernel: subject.kernel.clone(),
                file: subject.file(&mutation).to_owned(),
                mutation,
                judgement,
            }),
            None => tally.not_run.push(format!("{}: {}", subject.kernel, mutation.text)),
        }
    }
}

/// Some of the mutations, of all kinds in turns.
fn choose(all: Vec<Mutation>, count: usize, random: &mut Inputs) -> Vec<Mutation> {
    let mut of_kind = MutationKind::ALL
        .map(|kind| all.iter().filter(|mutation| mutation.kind == kind).cloned().collect::<Vec<Mutation>>());
    let mut chosen = Vec::new();
    while chosen.len() < count && of_kind.iter().any(|left| !left.is_empty()) {
        for left in of_kind.iter_mut().filter(|left| !left.is_empty()) {
            if chosen.len() < count {
                chosen.push(left.swap_remove(random.below(left.len())));
            }
        }
    }
    chosen
}
