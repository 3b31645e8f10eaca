//! What machines share during a run: memory, the threadgroup that runs, limits, the report, the observer.

use std::sync::atomic::Ordering;

use anymetal_ir::Query;

use super::address::Addresses;
use crate::InterpError;
use crate::dispatch::{Dispatch, Limits};
use crate::lanes::Lanes;
use crate::observer::{Group, Interests, Observer, State};
use crate::program::{Arena, Program, Region};
use crate::report::{DivergentBarrier, Fault, PartialBarrier, Report, ThreadId};
use crate::schedule::Turns;

/// See the module's documentation.
pub(crate) struct Environment<'r, 'm> {
    pub(crate) program: &'r Program,
    pub(crate) buffers: &'r mut [&'m mut [u8]],
    /// The program's regions with the arguments filled in, and those of resident buffers.
    pub(crate) regions: Vec<Region>,
    pub(crate) addresses: Addresses,
    pub(crate) threadgroup: Vec<u8>,
    pub(crate) observer: &'r mut dyn Observer,
    pub(crate) interests: Interests,
    pub(crate) report: Report,
    pub(crate) limits: Limits<'r>,
    pub(crate) dispatch: Dispatch,
    pub(crate) group: Group,
    pub(crate) generation: u32,
    pub(crate) turns: Turns,
    /// For copies between memories.
    pub(crate) scratch: Vec<u8>,
}

impl Environment<'_, '_> {
    /// The region of that number; bits that never were a pointer name nothing.
    pub(crate) fn region(&self, number: u64) -> &Region {
        Region::numbered(&self.regions, number)
    }

    /// The memory that the arena represents.
    pub(super) fn bytes<'b>(&'b self, private: &'b [u8], arena: Arena) -> &'b [u8] {
        match arena {
            Arena::Nothing => &[],
            Arena::Buffer(n) => self.buffers[n as usize],
            Arena::Threadgroup => &self.threadgroup,
            Arena::Private => private,
            Arena::Global(n) => &self.program.globals[n as usize],
        }
    }

    /// As [`Self::bytes`], for writing; constant data is never written.
    pub(super) fn bytes_mut<'b>(&'b mut self, private: &'b mut [u8], arena: Arena) -> &'b mut [u8] {
        match arena {
            Arena::Nothing | Arena::Global(_) => &mut [],
            Arena::Buffer(n) => self.buffers[n as usize],
            Arena::Threadgroup => &mut self.threadgroup,
            Arena::Private => private,
        }
    }

    /// Whether observers are notified of accesses there.
    pub(super) fn is_watched(&self, region: &Region) -> bool {
        if region.arena == Arena::Private { self.interests.private } else { self.interests.shared }
    }

    pub(crate) fn check_limits(&self) -> Result<(), InterpError> {
        if self.limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed) != 0) {
            return Err(InterpError::Stopped);
        }
        if self.report.steps > self.limits.max_steps {
            return Err(InterpError::BudgetExceeded { budget: self.limits.max_steps });
        }
        Ok(())
    }

    /// The identity of a lane's thread.
    pub(crate) fn thread(&self, simdgroup: u32, lane: u32) -> ThreadId {
        thread_of(&self.group, &self.dispatch, self.generation, simdgroup, lane)
    }

    /// A query's answer for a lane's thread.
    pub(super) fn answer(&self, query: Query, simdgroup: u32, lane: u32) -> u32 {
        let index = simdgroup * 32 + lane;
        let threads: u32 = self.group.size.iter().product();
        let at = |all: [u32; 3], component: u8| all[usize::from(component.min(2))];
        match query {
            Query::ThreadPositionInGrid(d) => at(self.thread(simdgroup, lane).position_in_grid, d),
            Query::ThreadPositionInThreadgroup(d) => at(position_of(index, self.group.size), d),
            Query::ThreadgroupPositionInGrid(d) => at(self.group.position, d),
            Query::ThreadsPerGrid(d) => at(self.dispatch.grid_threads, d),
            Query::ThreadsPerThreadgroup(d) => at(self.group.size, d),
            Query::DispatchThreadsPerThreadgroup(d) => at(self.dispatch.group_size, d),
            Query::ThreadgroupsPerGrid(d) => at(self.dispatch.group_counts(), d),
            Query::ThreadIndexInThreadgroup => index,
            Query::ThreadIndexInSimdgroup => lane,
            Query::SimdgroupIndexInThreadgroup => simdgroup,
            Query::SimdgroupsPerThreadgroup => threads.div_ceil(32),
            Query::DispatchSimdgroupsPerThreadgroup => {
                self.dispatch.group_size.iter().product::<u32>().div_ceil(32)
            }
            Query::ThreadsPerSimdgroup => 32,
            Query::ThreadIndexInQuadgroup => lane % 4,
            Query::QuadgroupIndexInThreadgroup => index / 4,
            Query::QuadgroupsPerThreadgroup => threads.div_ceil(4),
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        self.report.fault_count += 1;
        if self.report.faults.len() < self.limits.max_reported {
            self.report.faults.push(fault);
        }
        self.observer.on_fault(&fault);
    }

    pub(super) fn partial_barrier(&mut self, barrier: PartialBarrier) {
        self.report.partial_barrier_count += 1;
        if self.report.partial_barriers.len() < self.limits.max_reported {
            self.report.partial_barriers.push(barrier);
        }
        self.observer.on_partial_barrier(&barrier);
    }

    /// SIMD-groups wait at different barriers: an error unless the run goes on after it.
    pub(crate) fn divergent_barrier(&mut self, barrier: DivergentBarrier) -> Result<(), InterpError> {
        self.observer.on_divergent_barrier(&barrier);
        if !self.limits.continue_after_divergence {
            return Err(InterpError::DivergentBarrier(Box::new(barrier)));
        }
        self.report.divergent_barrier_count += 1;
        if self.report.divergent_barriers.len() < self.limits.max_reported {
            self.report.divergent_barriers.push(barrier);
        }
        Ok(())
    }

    /// What is told of accesses, and the observer.
    pub(super) fn watch<'s>(
        &'s mut self,
        private: &'s [u8],
        registers: &'s [Lanes],
    ) -> (State<'s>, &'s mut dyn Observer) {
        let state = State {
            program: self.program,
            regions: &self.regions,
            addresses: &self.addresses,
            buffers: self.buffers,
            threadgroup: &self.threadgroup,
            private,
            registers,
            group: &self.group,
            dispatch: &self.dispatch,
            generation: self.generation,
        };
        (state, self.observer)
    }
}

/// The identity of a lane's thread.
pub(crate) fn thread_of(
    group: &Group,
    dispatch: &Dispatch,
    generation: u32,
    simdgroup: u32,
    lane: u32,
) -> ThreadId {
    let index = simdgroup * 32 + lane;
    let position = position_of(index, group.size);
    ThreadId {
        group: group.position,
        group_linear: group.linear,
        index_in_group: index,
        position_in_group: position,
        position_in_grid: std::array::from_fn(|d| {
            group.position[d].wrapping_mul(dispatch.group_size[d]).wrapping_add(position[d])
        }),
        simdgroup,
        lane,
        generation,
    }
}

fn position_of(index: u32, size: [u32; 3]) -> [u32; 3] {
    let (x, rest) = (index % size[0], index / size[0]);
    [x, rest % size[1], rest / size[1]]
}
