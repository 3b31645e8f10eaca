//! Sessions: launches under the sanitizer, and their findings together.
//!
//! Start with [`Session::launch`].

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;

use anymetal_interp::{Dispatch, InterpError, Limits, Memory, Program, Schedule, run};
use serde::Serialize;

use crate::detect::{Collector, Detectors};
use crate::finding::Finding;
use crate::marks::Marks;
use crate::report::{Report, RunOutcome};
use crate::suppress::Suppressions;
use crate::{FindingKind, KindGroup};

/// What is detected, and how much of it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SanitizerOptions {
    /// What is detected; at first everything that is on by default.
    pub kinds: BTreeSet<FindingKind>,
    /// Different findings that are kept; more are counted.
    pub max_findings: usize,
    /// Bytes of shadow memory; accesses beyond are not followed, and counted.
    pub max_shadow_bytes: u64,
    /// Runs of each launch: the first in order, the others shuffled.
    pub schedules: u32,
    /// The seed of the second run; later ones count up from it.
    pub seed: u64,
    /// Names of arguments whose buffers have undefined contents before each launch.
    pub undefined_arguments: BTreeSet<String>,
    /// Steps of SIMD-groups that a launch may take.
    pub max_steps: u64,
}

impl Default for SanitizerOptions {
    fn default() -> Self {
        Self {
            kinds: FindingKind::ALL.iter().copied().filter(|kind| kind.is_default()).collect(),
            max_findings: 1000,
            max_shadow_bytes: 1 << 30,
            schedules: 1,
            seed: 0,
            undefined_arguments: BTreeSet::new(),
            max_steps: 10_000_000_000,
        }
    }
}

/// What the program's arguments are, for reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchInfo {
    /// In the order of the program's arguments.
    pub arguments: Vec<ArgumentInfo>,
    /// By number of the buffer: its bytes, if its contents are undefined before the launch.
    pub undefined: Vec<Option<u64>>,
}

/// What one argument is bound to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArgumentInfo {
    /// The buffer's label.
    pub label: Option<String>,
    /// Bytes that are bound.
    pub bytes: u64,
    /// Bytes of an element of the declared type; 0 if unknown.
    pub element_bytes: u64,
    /// Whether anything is bound.
    pub is_bound: bool,
}

/// How a launch ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LaunchOutcome {
    /// All threadgroups ran.
    Completed,
    /// It was stopped, took too many steps, or could not go on; what was found until then counts.
    Incomplete {
        /// Why.
        reason: String,
        /// Whether the caller stopped it.
        stopped: bool,
    },
}

/// What was done, besides the findings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Launches.
    pub launches: u64,
    /// Runs: several for each launch with several schedules.
    pub runs: u64,
    /// Threadgroups that ran, over all runs.
    pub threadgroups: u64,
    /// Threads of these threadgroups.
    pub threads: u64,
    /// Steps of SIMD-groups.
    pub steps: u64,
    /// The most shadow memory of a launch, in bytes.
    pub shadow_bytes: u64,
    /// Accesses that shadow memory had no room for.
    pub accesses_not_followed: u64,
    /// Occurrences of findings beyond the limit on their number.
    pub findings_dropped: u64,
    /// Why launches did not end, one line for each.
    pub incomplete: Vec<String>,
    /// Launches with results that depend on the schedule, by kernel and seed.
    pub schedule_dependent: Vec<String>,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Session {
    options: SanitizerOptions,
    collector: Collector,
    summary: SessionSummary,
}

impl Session {
    /// Nothing found yet.
    pub fn new(options: SanitizerOptions) -> Self {
        let collector = Collector::new(options.kinds.clone(), options.max_findings);
        Self { options, collector, summary: SessionSummary::default() }
    }

    /// What is detected.
    pub fn options(&self) -> &SanitizerOptions {
        &self.options
    }

    /// The findings so far, in order of first occurrence.
    pub fn findings(&self) -> &[Finding] {
        self.collector.findings()
    }

    /// The report of what was found and done so far.
    pub fn report(&self, suppressions: &Suppressions, marks: &Marks) -> Report {
        let summary = self.summary();
        let mut notes = summary.schedule_dependent.clone();
        if summary.accesses_not_followed > 0 {
            notes.push(format!(
                "{} accesses were not followed: shadow memory is full",
                summary.accesses_not_followed
            ));
        }
        let run = RunOutcome {
            launches: summary.launches,
            incomplete: (!summary.incomplete.is_empty()).then(|| summary.incomplete.join("; ")),
            notes,
            not_kept: summary.findings_dropped,
        };
        Report::new(self.findings().to_vec(), run, suppressions, marks)
    }

    /// What was done so far.
    pub fn summary(&self) -> SessionSummary {
        let findings_dropped = self.collector.dropped;
        SessionSummary { findings_dropped, ..self.summary.clone() }
    }

    /// Runs a launch in all schedules. The buffers hold the results of the run in order afterwards.
    ///
    /// # Errors
    /// The launch does not fit the program, as for [`anymetal_interp::run()`].
    pub fn launch(
        &mut self,
        program: &Program,
        dispatch: &Dispatch,
        memory: &mut Memory<'_>,
        info: &LaunchInfo,
        stop: Option<&AtomicU32>,
    ) -> Result<LaunchOutcome, InterpError> {
        self.summary.launches += 1;
        let before = (self.options.schedules > 1).then(|| contents(memory));
        let outcome = self.run(program, dispatch, memory, info, (None, stop))?;
        let Some(before) = before else { return Ok(outcome) };
        let results = contents(memory);
        for run in 1..u64::from(self.options.schedules) {
            let seed = self.options.seed.wrapping_add(run - 1);
            restore(memory, &before);
            let shuffled = self.run(program, dispatch, memory, info, (Some(seed), stop));
            let is_complete = matches!(shuffled, Ok(LaunchOutcome::Completed));
            if is_complete && outcome == LaunchOutcome::Completed && contents(memory) != results {
                let line = format!("`{}`: other results with --seed {seed}", program.kernel());
                self.summary.schedule_dependent.push(line);
                self.note_dependence(program.kernel(), seed);
            }
        }
        restore(memory, &results);
        Ok(outcome)
    }

    /// Races of this launch say that its results depend on the schedule.
    fn note_dependence(&mut self, kernel: &str, seed: u64) {
        const NOTE: &str = "; the results of this launch differ with --seed ";
        let launch = self.summary.launches - 1;
        for finding in self.collector.findings_mut() {
            let is_race = finding.kind.group() == KindGroup::Race;
            if is_race
                && finding.kernel == kernel
                && finding.launch == launch
                && !finding.message.contains(NOTE)
            {
                finding.message.push_str(&format!("{NOTE}{seed}"));
            }
        }
    }

    fn run(
        &mut self,
        program: &Program,
        dispatch: &Dispatch,
        memory: &mut Memory<'_>,
        info: &LaunchInfo,
        (seed, stop): (Option<u64>, Option<&AtomicU32>),
    ) -> Result<LaunchOutcome, InterpError> {
        let schedule = seed.map_or(Schedule::InOrder, |seed| Schedule::Shuffled { seed });
        let limits = Limits { max_steps: self.options.max_steps, stop, schedule, ..Limits::default() };
        let mut detectors = Detectors::new(&mut self.collector, info, self.options.max_shadow_bytes);
        detectors.findings.begin(program, info, (self.summary.launches - 1, seed));
        let ended = run(program, dispatch, memory, limits, &mut detectors);
        let summary = &mut self.summary;
        summary.runs += 1;
        summary.threadgroups += detectors.groups();
        summary.threads += detectors.threads();
        summary.shadow_bytes = summary.shadow_bytes.max(detectors.shadow_bytes());
        summary.accesses_not_followed += detectors.not_followed();
        match ended {
            Ok(report) => {
                summary.steps += report.steps;
                Ok(LaunchOutcome::Completed)
            }
            Err(
                error @ (InterpError::Stopped
                | InterpError::BudgetExceeded { .. }
                | InterpError::DivergentBarrier(_)),
            ) => {
                let reason = error.to_string();
                // Threadgroups that wait for later ones cannot run in every order.
                if seed.is_none() {
                    summary.incomplete.push(format!("`{}`: {reason}", program.kernel()));
                }
                Ok(LaunchOutcome::Incomplete { reason, stopped: error == InterpError::Stopped })
            }
            Err(error) => Err(error),
        }
    }
}

fn contents(memory: &Memory<'_>) -> Vec<Vec<u8>> {
    memory.buffers.iter().map(|buffer| buffer.to_vec()).collect()
}

fn restore(memory: &mut Memory<'_>, contents: &[Vec<u8>]) {
    for (buffer, bytes) in memory.buffers.iter_mut().zip(contents) {
        buffer.copy_from_slice(bytes);
    }
}
