//! Whether an analysis and a run agree: counts, executions, patterns.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_interp::Program;

use crate::access::{AccessSite, Operation};
use crate::count::Counts;
use crate::kernel::KernelAnalysis;
use crate::pattern::Pattern;
use crate::recorded::{RecordedSite, Recorder};

/// What in a run of whole threadgroups, of `threads` threads in all, is not as the analysis says; empty if
/// nothing is. `program` is of the module that was analyzed.
pub fn disagreements(
    analysis: &KernelAnalysis,
    program: &Program,
    run: &Recorder,
    threads: u64,
) -> Vec<String> {
    let mut found = Vec::new();
    let executions = executions(analysis, program, run, threads, &mut found);
    counts(analysis, program, run, &executions, &mut found);
    for site in run.sites() {
        let known = candidates(analysis, site);
        if known.is_empty() {
            found.push(format!("no access is known for {site:?}"));
        }
        for &pattern in &site.patterns {
            if !known.iter().any(|known| allows(known, pattern)) {
                found.push(format!("{pattern:?} of {site:?}, but {known:?}"));
            }
        }
    }
    found
}

/// How often threads executed each region: as often as each of its instructions.
fn executions(
    analysis: &KernelAnalysis,
    program: &Program,
    run: &Recorder,
    threads: u64,
    found: &mut Vec<String>,
) -> BTreeMap<usize, u64> {
    let mut executions: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::from([(0, BTreeSet::from([threads]))]);
    for (site, times) in run.executions() {
        let region = program.step_origin(site).inst.and_then(|inst| analysis.region_of(inst));
        if let Some(region) = region {
            executions.entry(region).or_default().insert(times);
        }
    }
    for (region, times) in executions.iter().filter(|(_, times)| times.len() > 1) {
        found.push(format!("instructions of region {region} were executed {times:?} times"));
    }
    executions.into_iter().filter_map(|(region, times)| Some((region, *times.first()?))).collect()
}

/// Regions' operations and bytes add up to those of the run.
fn counts(
    analysis: &KernelAnalysis,
    program: &Program,
    run: &Recorder,
    executions: &BTreeMap<usize, u64>,
    found: &mut Vec<String>,
) {
    let analyzed = |count: fn(&Counts) -> u64| -> u64 {
        executions.iter().map(|(&region, times)| times * count(&analysis.regions[region].counts)).sum()
    };
    let moved = |wanted: fn(&RecordedSite) -> bool| -> u64 {
        run.sites().filter(|site| wanted(site)).map(|site| site.executions * site.bytes).sum()
    };
    let computed: u64 = run
        .executions()
        .map(|(site, times)| times * u64::from(program.step_origin(site).float_operations))
        .sum();
    let read = moved(|site| !site.threadgroup && site.operation != Operation::Store);
    let written = moved(|site| !site.threadgroup && site.operation == Operation::Store);
    let rows = [
        ("float operations", analyzed(|counts| counts.float_operations), computed),
        ("bytes read", analyzed(|counts| counts.bytes_read), read),
        ("bytes written", analyzed(|counts| counts.bytes_written), written),
        (
            "bytes of threadgroup memory",
            analyzed(|counts| counts.threadgroup_bytes),
            moved(|site| site.threadgroup),
        ),
    ];
    for (what, analyzed, of_run) in rows {
        if analyzed != of_run {
            found.push(format!("{what}: {analyzed} by the analysis, {of_run} in the run"));
        }
    }
}

/// The accesses that a recorded one can be.
fn candidates<'a>(analysis: &'a KernelAnalysis, site: &RecordedSite) -> Vec<&'a AccessSite> {
    // The interpreter reads and writes the two elements that a lane has of a matrix one by one.
    let is_same = |found: &AccessSite| match (found.operation, site.operation) {
        (Operation::MatrixLoad, Operation::Load) | (Operation::MatrixStore, Operation::Store) => {
            found.bytes == 2 * site.bytes
        }
        (found_operation, operation) => found_operation == operation && found.bytes == site.bytes,
    };
    let same = |found: &&AccessSite| {
        (found.file, found.line, found.column) == (site.loc.file, site.loc.line, site.loc.column)
            && is_same(found)
            && found.threadgroup == site.threadgroup
    };
    analysis.accesses.iter().filter(same).collect()
}

/// Whether an access of that pattern can look so in a run.
fn allows(site: &AccessSite, recorded: Pattern) -> bool {
    match (site.pattern, recorded) {
        (Pattern::Gathered, _) => true,
        (Pattern::Strided { bytes: None }, pattern) => pattern != Pattern::Gathered,
        (known, pattern) => known == pattern,
    }
}
