//! What machines share during a run: memory, the threadgroup that runs, limits, the report, the observer.

use std::sync::atomic::Ordering;

use anymetal_ir::{GlobalId, Query};

use crate::InterpError;
use crate::dispatch::{Dispatch, Limits};
use crate::observer::{Access, Bytes, Group, Interests, Observer};
use crate::program::step::Pc;
use crate::program::{Arena, Program, Region};
use crate::report::{Fault, MemoryPlace, PartialBarrier, Report, ThreadId, Variable};
use crate::schedule::Turns;

/// See the module's documentation.
pub(crate) struct Environment<'r, 'm> {
    pub(crate) program: &'r Program,
    pub(crate) buffers: &'r mut [&'m mut [u8]],
    /// The program's regions with the arguments filled in.
    pub(crate) regions: Vec<Region>,
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
        usize::try_from(number).ok().and_then(|n| self.regions.get(n)).unwrap_or(&Region::NOTHING)
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
    pub(super) fn is_watched(&self, arena: Arena) -> bool {
        if arena == Arena::Private { self.interests.private } else { self.interests.shared }
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
        let index = simdgroup * 32 + lane;
        let position = position_of(index, self.group.size);
        ThreadId {
            group: self.group.position,
            group_linear: self.group.linear,
            index_in_group: index,
            position_in_group: position,
            position_in_grid: std::array::from_fn(|d| {
                self.group.position[d].wrapping_mul(self.dispatch.group_size[d]).wrapping_add(position[d])
            }),
            simdgroup,
            lane,
            generation: self.generation,
        }
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

    /// Where byte `at` of an arena is, for observers.
    pub(super) fn place(&self, arena: Arena, variable: Variable, at: usize) -> MemoryPlace {
        let offset = at as u64;
        match arena {
            Arena::Buffer(buffer) => MemoryPlace::Buffer { buffer, offset },
            Arena::Threadgroup => MemoryPlace::Threadgroup { offset },
            Arena::Private => MemoryPlace::Private { offset },
            Arena::Global(_) | Arena::Nothing => {
                let global = if let Variable::Global(id) = variable { id } else { GlobalId(0) };
                MemoryPlace::Constant { global, offset }
            }
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

    /// The access of one thread, for observers.
    pub(super) fn access(
        &self,
        private: &[u8],
        thread: ThreadId,
        region: &Region,
        (offset, at): (u64, usize),
        (bytes, align): (u64, u32),
        pc: Pc,
    ) -> Access {
        let variable = region.variable;
        let place = self.place(region.arena, variable, at);
        let memory = self.bytes(private, region.arena).get(at..).unwrap_or_default();
        Access {
            thread,
            variable,
            place,
            offset,
            bytes,
            align,
            loc: self.program.locs[pc as usize],
            site: pc,
            before: Bytes::new(&memory[..memory.len().min(bytes as usize)]),
            written: Bytes::default(),
        }
    }
}

fn position_of(index: u32, size: [u32; 3]) -> [u32; 3] {
    let (x, rest) = (index % size[0], index / size[0]);
    [x, rest % size[1], rest / size[1]]
}
