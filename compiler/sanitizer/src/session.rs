//! Sessions: launches under the sanitizer, and their findings together.
//!
//! Start with [`Session::launch`].

use std::sync::atomic::AtomicU32;

use anymetal_interp::{Dispatch, InterpError, Limits, Memory, NoObserver, Program, Schedule, Variable, run};
use serde::{Deserialize, Serialize};

use crate::KindGroup;
use crate::detect::{Collector, Detectors};
use crate::finding::Finding;
use crate::marks::Marks;
use crate::options::SanitizerOptions;
use crate::report::{Report, RunOutcome, Sampled, SourceTexts};
use crate::suppress::Suppressions;

/// What the program's arguments are, for reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchInfo {
    /// In the order of the program's arguments.
    pub arguments: Vec<ArgumentInfo>,
    /// By number of the buffer: its bytes, if its contents are undefined before the launch.
    pub undefined: Vec<Option<u64>>,
    /// In the order of [`Memory::resident`].
    pub resident: Vec<ResidentInfo>,
}

/// A buffer that pointers in memory may lead to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResidentInfo {
    /// Its label.
    pub label: Option<String>,
    /// Its bytes.
    pub bytes: u64,
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
    /// Whether it is a texture.
    pub is_texture: bool,
}

impl LaunchInfo {
    /// Whether memory is that of a texture argument.
    pub(crate) fn is_texture(&self, variable: Variable) -> bool {
        match variable {
            Variable::Argument(n) => self.arguments.get(n as usize).is_some_and(|found| found.is_texture),
            _ => false,
        }
    }
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Launches that were checked.
    pub launches: u64,
    /// Launches that ran without checks, since the options leave them out.
    pub launches_left_out: u64,
    /// Runs: several for each launch with several schedules.
    pub runs: u64,
    /// Threadgroups that were checked, over all runs.
    pub threadgroups: u64,
    /// Threadgroups that ran without checks, since only a sample of their launch was checked.
    pub threadgroups_left_out: u64,
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

impl SessionSummary {
    /// Adds what another process did.
    pub(crate) fn merge(&mut self, other: Self) {
        self.launches += other.launches;
        self.launches_left_out += other.launches_left_out;
        self.runs += other.runs;
        self.threadgroups += other.threadgroups;
        self.threadgroups_left_out += other.threadgroups_left_out;
        self.threads += other.threads;
        self.steps += other.steps;
        self.shadow_bytes = self.shadow_bytes.max(other.shadow_bytes);
        self.accesses_not_followed += other.accesses_not_followed;
        self.findings_dropped += other.findings_dropped;
        self.incomplete.extend(other.incomplete);
        self.schedule_dependent.extend(other.schedule_dependent);
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Session {
    options: SanitizerOptions,
    collector: Collector,
    summary: SessionSummary,
    sources: SourceTexts,
    marks: Marks,
}

impl Session {
    /// Nothing found yet.
    pub fn new(options: SanitizerOptions) -> Self {
        let collector = Collector::new(options.kinds.clone(), options.max_findings);
        let (summary, sources, marks) = Default::default();
        Self { options, collector, summary, sources, marks }
    }

    /// Takes note of a source of kernels that are launched: its text, for reports, and its marks, as lines
    /// and what they say ([`Marks::add`]). Of two sources with one name neither counts.
    pub fn add_source<'t>(
        &mut self,
        file: &str,
        text: &str,
        marks: impl IntoIterator<Item = ((u32, u32), &'t str)>,
    ) {
        if !self.sources.add(file, text) {
            return self.marks.forget(file);
        }
        self.marks.scan(file, text);
        marks.into_iter().for_each(|(lines, text)| self.marks.add(file, lines, text));
    }

    /// The sources so far.
    pub fn sources(&self) -> &SourceTexts {
        &self.sources
    }

    /// Their marks.
    pub fn marks(&self) -> &Marks {
        &self.marks
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
    pub fn report(&self, suppressions: &Suppressions) -> Report {
        let run = RunOutcome::from(&self.summary());
        Report::new(self.findings().to_vec(), run, suppressions, &self.marks)
    }

    /// What was done so far.
    pub fn summary(&self) -> SessionSummary {
        let findings_dropped = self.collector.dropped;
        SessionSummary { findings_dropped, ..self.summary.clone() }
    }

    /// Runs a launch in all schedules. The buffers hold the results of the run in order afterwards. A launch
    /// that the options leave out runs without checks.
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
        let number = self.summary.launches + self.summary.launches_left_out;
        if !self.options.checks(program.kernel(), number) {
            self.summary.launches_left_out += 1;
            return self.run_unchecked(program, dispatch, memory, stop);
        }
        self.summary.launches += 1;
        let all = dispatch.group_counts().iter().fold(1u64, |all, &count| all.saturating_mul(count.into()));
        let left_out = all.saturating_sub(self.options.max_threadgroups.unwrap_or(all));
        let is_repeated = self.options.schedules > 1 || left_out > 0;
        let before = is_repeated.then(|| contents(memory));
        let launch = Launch { program, dispatch, info, stop, number };
        let outcome = self.run(&launch, memory, None)?;
        let Some(before) = before else { return Ok(outcome) };
        let results = contents(memory);
        for run in 1..u64::from(self.options.schedules) {
            let seed = self.options.seed.wrapping_add(run - 1);
            restore(memory, &before);
            let shuffled = self.run(&launch, memory, Some(seed));
            let is_complete = matches!(shuffled, Ok(LaunchOutcome::Completed));
            // A sample of the threadgroups may depend on those that did not run.
            let is_comparable = is_complete && outcome == LaunchOutcome::Completed && left_out == 0;
            if is_comparable && contents(memory) != results {
                let line = format!("`{}`: other results with --seed {seed}", program.kernel());
                self.summary.schedule_dependent.push(line);
                self.note_dependence(&launch, seed);
            }
        }
        if left_out == 0 {
            restore(memory, &results);
            return Ok(outcome);
        }
        // Later launches see what all threadgroups leave.
        self.summary.threadgroups_left_out += left_out * u64::from(self.options.schedules);
        restore(memory, &before);
        let complete = self.run_unchecked(program, dispatch, memory, stop)?;
        Ok(if outcome == LaunchOutcome::Completed { complete } else { outcome })
    }

    /// Races of this launch say that its results depend on the schedule.
    fn note_dependence(&mut self, launch: &Launch<'_>, seed: u64) {
        const NOTE: &str = "; the results of this launch differ with --seed ";
        for finding in self.collector.findings_mut() {
            let is_race = finding.kind.group() == KindGroup::Race;
            if is_race
                && finding.kernel == launch.program.kernel()
                && finding.launch == launch.number
                && !finding.message.contains(NOTE)
            {
                finding.message.push_str(&format!("{NOTE}{seed}"));
            }
        }
    }

    fn run(
        &mut self,
        launch: &Launch<'_>,
        memory: &mut Memory<'_>,
        seed: Option<u64>,
    ) -> Result<LaunchOutcome, InterpError> {
        let Launch { program, dispatch, info, stop, number } = *launch;
        let schedule = seed.map_or(Schedule::InOrder, |seed| Schedule::Shuffled { seed });
        let (max_steps, max_groups) = (self.options.max_steps, self.options.max_threadgroups);
        let limits = Limits { max_steps, stop, schedule, max_groups, ..Limits::default() };
        let mut detectors = Detectors::new(&mut self.collector, info, self.options.max_shadow_bytes);
        detectors.findings.begin(program, info, (number, seed));
        let ended = run(program, dispatch, memory, limits, &mut detectors);
        let standstill = detectors.standstill();
        let summary = &mut self.summary;
        summary.runs += 1;
        summary.threadgroups += detectors.groups();
        summary.threads += detectors.threads();
        summary.shadow_bytes = summary.shadow_bytes.max(detectors.shadow_bytes());
        summary.accesses_not_followed += detectors.not_followed();
        summary.steps += ended.as_ref().map_or(0, |report| report.steps);
        // Threadgroups that wait for later ones cannot run in every order.
        self.outcome(program, ended.map(drop), standstill, seed.is_none())
    }

    fn run_unchecked(
        &mut self,
        program: &Program,
        dispatch: &Dispatch,
        memory: &mut Memory<'_>,
        stop: Option<&AtomicU32>,
    ) -> Result<LaunchOutcome, InterpError> {
        let limits = Limits { max_steps: self.options.max_steps, stop, ..Limits::default() };
        let ended = run(program, dispatch, memory, limits, &mut NoObserver);
        self.outcome(program, ended.map(drop), None, true)
    }

    /// A run that did not end is noted with what it was doing, if it `counts`.
    fn outcome(
        &mut self,
        program: &Program,
        ended: Result<(), InterpError>,
        standstill: Option<String>,
        counts: bool,
    ) -> Result<LaunchOutcome, InterpError> {
        match ended {
            Ok(()) => Ok(LaunchOutcome::Completed),
            Err(
                error @ (InterpError::Stopped
                | InterpError::BudgetExceeded { .. }
                | InterpError::DivergentBarrier(_)),
            ) => {
                let place = standstill.map(|place| format!("; {place}")).unwrap_or_default();
                let reason = format!("{error}{place}");
                if counts {
                    self.summary.incomplete.push(format!("`{}`: {reason}", program.kernel()));
                }
                Ok(LaunchOutcome::Incomplete { reason, stopped: error == InterpError::Stopped })
            }
            Err(error) => Err(error),
        }
    }
}

/// What the runs of one launch share.
struct Launch<'l> {
    program: &'l Program,
    dispatch: &'l Dispatch,
    info: &'l LaunchInfo,
    stop: Option<&'l AtomicU32>,
    /// In the session, from 0.
    number: u64,
}

impl From<&SessionSummary> for RunOutcome {
    fn from(summary: &SessionSummary) -> Self {
        let mut notes = summary.schedule_dependent.clone();
        if summary.accesses_not_followed > 0 {
            let count = summary.accesses_not_followed;
            notes.push(format!("{count} accesses were not followed: shadow memory is full"));
        }
        if summary.launches_left_out > 0 {
            let (count, all) = (summary.launches_left_out, summary.launches + summary.launches_left_out);
            notes.push(format!(
                "{count} of {all} launches ran without checks, as their kernel or number is filtered out"
            ));
        }
        let all = summary.threadgroups + summary.threadgroups_left_out;
        let sampled = Sampled { threadgroups: summary.threadgroups, of: all };
        Self {
            launches: summary.launches,
            incomplete: (!summary.incomplete.is_empty()).then(|| summary.incomplete.join("; ")),
            notes,
            sampled: (summary.threadgroups_left_out > 0).then_some(sampled),
            not_kept: summary.findings_dropped,
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
