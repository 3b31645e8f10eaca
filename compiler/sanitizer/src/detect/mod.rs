//! The detectors: an observer of the interpreter that turns events into findings.
//!
//! [`Detectors`] passes each event to the detectors that it concerns. To add one: a file here, its calls
//! below, its kinds in `kind.rs`, its cases in `tests/sanitizer`.

mod alignment;
mod arithmetic;
mod bank_conflicts;
mod bounds;
mod clock;
mod collector;
mod convergence;
mod places;
mod race;
mod shadow;
mod texture_fences;
mod unfinished;
mod uninitialised;

use anymetal_interp::{
    Accesses, ArithmeticLint, BarrierArrival, Dispatch, DivergentBarrier, DivergentSimd, EarlyReturn, Fault,
    FenceExecuted, Group, Interests, LocalStart, MemorySizes, Observer, PartialBarrier, Program, Unfinished,
    VectorIndex,
};

pub(crate) use collector::Collector;
use race::Races;
use texture_fences::TextureFences;
use unfinished::Standstills;
use uninitialised::Uninitialised;

use crate::LaunchInfo;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Detectors<'s> {
    pub(crate) findings: &'s mut Collector,
    races: Races,
    uninitialised: Uninitialised,
    texture_fences: TextureFences,
    info: &'s LaunchInfo,
    groups: u64,
    threads: u64,
    standstills: Standstills,
}

impl<'s> Detectors<'s> {
    pub(crate) fn new(findings: &'s mut Collector, info: &'s LaunchInfo, max_shadow_bytes: u64) -> Self {
        Self {
            findings,
            races: Races::new(max_shadow_bytes),
            uninitialised: Uninitialised::default(),
            texture_fences: TextureFences::default(),
            info,
            groups: 0,
            threads: 0,
            standstills: Standstills::default(),
        }
    }

    /// Bytes of shadow memory.
    pub(crate) fn shadow_bytes(&self) -> u64 {
        self.races.bytes()
    }

    /// Accesses that shadow memory had no room for.
    pub(crate) fn not_followed(&self) -> u64 {
        self.races.not_followed()
    }

    /// Threadgroups that were started.
    pub(crate) fn groups(&self) -> u64 {
        self.groups
    }

    /// What the threadgroup was doing that a limit stopped, if one did.
    pub(crate) fn standstill(&self) -> Option<String> {
        self.standstills.describe(self.findings)
    }

    /// Threads of these threadgroups.
    pub(crate) fn threads(&self) -> u64 {
        self.threads
    }
}

impl Observer for Detectors<'_> {
    fn interests(&self) -> Interests {
        Interests { arithmetic: arithmetic::is_wanted(self.findings), ..Interests::ALL }
    }

    fn on_dispatch(&mut self, _program: &Program, dispatch: &Dispatch, sizes: MemorySizes) {
        self.races.begin(dispatch);
        let simdgroups = dispatch.group_size.iter().product::<u32>().div_ceil(32);
        self.uninitialised.begin(self.info, sizes, simdgroups);
    }

    fn on_group_start(&mut self, group: &Group) {
        self.groups += 1;
        self.threads += group.size.iter().map(|&extent| u64::from(extent)).product::<u64>();
        self.races.start_group(group);
        self.uninitialised.start_group();
        self.texture_fences.start_group();
    }

    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        alignment::check(accesses, self.findings);
        self.uninitialised.access(accesses, self.findings);
        self.races.access(accesses, self.info, self.findings);
        self.texture_fences.access(accesses, self.info, self.findings);
        bank_conflicts::check(accesses, self.findings);
    }

    fn on_copies(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        alignment::check(source, self.findings);
        alignment::check(target, self.findings);
        self.uninitialised.copy(source, target);
        self.races.access(source, self.info, self.findings);
        self.races.access(target, self.info, self.findings);
    }

    fn on_whole_writes(&mut self, objects: &Accesses<'_>) {
        self.races.write_wholes(objects);
    }

    fn on_local_start(&mut self, start: &LocalStart) {
        self.uninitialised.start_local(start);
    }

    fn on_barrier(&mut self, arrival: &BarrierArrival) {
        self.races.arrive(arrival);
        self.texture_fences.arrive(arrival);
    }

    fn on_barrier_passed(&mut self, _group: &Group, _generation: u32) {
        self.races.pass_barrier();
    }

    fn on_group_parked(&mut self, group: &Group) {
        self.uninitialised.park_group(group.linear);
    }

    fn on_grid_barrier_passed(&mut self) {
        self.races.pass_grid_barrier();
    }

    fn on_group_resumed(&mut self, group: &Group) {
        self.races.start_group(group);
        self.uninitialised.resume_group(group.linear);
    }

    fn on_fence(&mut self, fence: &FenceExecuted) {
        self.races.fence(fence);
        self.texture_fences.fence(fence);
    }

    fn on_divergent_simd(&mut self, operation: &DivergentSimd) {
        convergence::divergent_simd(operation, self.findings);
    }

    fn on_vector_index(&mut self, access: &VectorIndex) {
        bounds::vector_index(access, self.findings);
    }

    fn on_arithmetic(&mut self, lint: &ArithmeticLint) {
        arithmetic::report(lint, self.findings);
    }

    fn on_early_return(&mut self, barrier: &EarlyReturn) {
        convergence::early_return(barrier, self.findings);
    }

    fn on_divergent_barrier(&mut self, barrier: &DivergentBarrier) {
        convergence::divergent_barrier(barrier, self.findings);
    }

    fn on_partial_barrier(&mut self, barrier: &PartialBarrier) {
        convergence::partial_barrier(barrier, self.findings);
    }

    fn on_unfinished(&mut self, simdgroup: &Unfinished) {
        self.standstills.add(simdgroup);
    }

    fn on_fault(&mut self, fault: &Fault) {
        bounds::fault(fault, self.info, self.findings);
    }
}
