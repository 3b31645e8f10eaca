//! The detectors: an observer of the interpreter that turns events into findings.
//!
//! [`Detectors`] passes each event to the detectors that it concerns. To add one: a file here, its calls
//! below, its kinds in `kind.rs`, its cases in `tests/sanitizer`.

mod clock;
mod collector;
mod places;
mod race;
mod shadow;
mod uninitialised;

use anymetal_interp::{
    Access, AccessKind, ArithmeticKind, ArithmeticLint, AtomicKind, BarrierArrival, Dispatch,
    DivergentBarrier, DivergentSimd, EarlyReturn, Fault, FenceExecuted, Group, Interests, LocalStart,
    MemoryPlace, MemorySizes, Observer, PartialBarrier, Program, Variable, VectorIndex,
};

pub(crate) use collector::Collector;
use collector::{Seen, Text};
use race::{Races, action_of};
use uninitialised::Uninitialised;

use crate::finding::{Action, MemorySpace};
use crate::{FindingKind, LaunchInfo};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Detectors<'s> {
    pub(crate) findings: &'s mut Collector,
    races: Races,
    uninitialised: Uninitialised,
    info: &'s LaunchInfo,
    /// Accesses of the running instruction to threadgroup memory, for bank conflicts.
    banks: Banks,
    groups: u64,
    threads: u64,
}

/// The words of threadgroup memory that the lanes of one instruction access.
#[derive(Default, Debug)]
struct Banks {
    running: (u32, u64),
    lane: u32,
    words: Vec<u64>,
    first: Option<(Access, Action)>,
}

/// Banks of threadgroup memory, of four bytes each.
const BANKS: u64 = 32;

impl<'s> Detectors<'s> {
    pub(crate) fn new(findings: &'s mut Collector, info: &'s LaunchInfo, max_shadow_bytes: u64) -> Self {
        Self {
            findings,
            races: Races::new(max_shadow_bytes),
            uninitialised: Uninitialised::default(),
            info,
            banks: Banks::default(),
            groups: 0,
            threads: 0,
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

    /// Threads of these threadgroups.
    pub(crate) fn threads(&self) -> u64 {
        self.threads
    }

    fn check_alignment(&mut self, access: &Access, action: Action) {
        let align = u64::from(access.align.max(1));
        // Buffers start on page boundaries; a binding's own offset counts.
        let at = match access.place {
            MemoryPlace::Buffer { offset, .. } => offset,
            _ => access.offset,
        };
        if at % align == 0 {
            return;
        }
        let side = Seen::access(access, action, None);
        self.findings.report(FindingKind::Misaligned, &[side], Some(access.variable), |findings| Text {
            message: format!(
                "byte offset {} of `{}` is no multiple of {align}",
                access.offset,
                findings.memory(access.variable).map_or("", |memory| &memory.name)
            ),
            remedy: Some("use a packed type, or an offset that is a multiple of the alignment".to_owned()),
        });
    }

    fn note_bank(&mut self, access: &Access, action: Action) {
        let MemoryPlace::Threadgroup { offset } = access.place else { return };
        if !self.findings.wants(FindingKind::BankConflict) {
            return;
        }
        let running = (access.site, access.thread.group_linear << 5 | u64::from(access.thread.simdgroup));
        // Lanes come in ascending order: a lane that does not is of the next execution.
        if self.banks.running != running || access.thread.lane <= self.banks.lane {
            self.finish_banks();
            self.banks.running = running;
            self.banks.first = Some((*access, action));
        }
        self.banks.lane = access.thread.lane;
        self.banks.words.push(offset / 4);
    }

    fn finish_banks(&mut self) {
        let mut words = std::mem::take(&mut self.banks.words);
        let Some((first, action)) = self.banks.first.take() else { return };
        words.sort_unstable();
        words.dedup();
        let mut each = [0u32; BANKS as usize];
        words.iter().for_each(|word| each[(word % BANKS) as usize] += 1);
        let degree = each.into_iter().max().unwrap_or_default();
        if degree < 2 {
            return;
        }
        let side = Seen::access(&first, action, None);
        self.findings.report(FindingKind::BankConflict, &[side], Some(first.variable), |_| Text {
            message: format!("{degree} different words of one bank are accessed at once"),
            remedy: Some("pad the rows of the array by one word".to_owned()),
        });
    }
}

impl Observer for Detectors<'_> {
    fn interests(&self) -> Interests {
        const ARITHMETIC: [FindingKind; 3] =
            [FindingKind::DivisionByZero, FindingKind::ShiftOverflow, FindingKind::NanProduced];
        let arithmetic = ARITHMETIC.into_iter().any(|kind| self.findings.wants(kind));
        Interests { arithmetic, ..Interests::ALL }
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
    }

    fn on_group_end(&mut self, _group: &Group) {
        self.finish_banks();
    }

    fn on_load(&mut self, access: &Access) {
        self.check_alignment(access, Action::Read);
        self.uninitialised.load(access, Action::Read, self.findings);
        self.races.load(access, self.findings);
        self.note_bank(access, Action::Read);
    }

    fn on_store(&mut self, access: &Access) {
        self.check_alignment(access, Action::Write);
        self.uninitialised.store(access);
        self.races.store(access, self.findings);
        self.note_bank(access, Action::Write);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.check_alignment(source, Action::Read);
        self.check_alignment(target, Action::Write);
        self.uninitialised.copy(source, target);
        self.races.load(source, self.findings);
        self.races.store(target, self.findings);
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        self.check_alignment(access, action_of(kind));
        self.uninitialised.atomic(access, kind, self.findings);
        self.races.atomic(access, kind, self.findings);
    }

    fn on_local_start(&mut self, start: &LocalStart) {
        self.uninitialised.start_local(start);
    }

    fn on_barrier(&mut self, arrival: &BarrierArrival) {
        self.races.arrive(arrival);
    }

    fn on_barrier_passed(&mut self, _group: &Group, _generation: u32) {
        self.races.pass_barrier();
    }

    fn on_fence(&mut self, fence: &FenceExecuted) {
        self.races.fence(fence);
    }

    fn on_divergent_simd(&mut self, operation: &DivergentSimd) {
        let side = Seen::at(Action::SimdgroupFunction, &operation.thread, operation.loc);
        let lanes = |mask: u32| mask.count_ones();
        let (kind, message, remedy) = if operation.undefined != 0 {
            (
                FindingKind::InactiveLane,
                format!(
                    "{} lanes take the value of a lane that does not take part",
                    lanes(operation.undefined)
                ),
                "call it where all lanes take part, or from a lane that does",
            )
        } else if operation.matrix {
            (
                FindingKind::DivergentSimdgroup,
                format!("{} of 32 lanes do not take part", lanes(operation.elsewhere)),
                "call it outside of divergent control flow, in whole SIMD-groups",
            )
        } else {
            (
                FindingKind::DivergentReduction,
                format!("{} lanes do not take part", lanes(operation.elsewhere)),
                "call it where all lanes take part",
            )
        };
        let remedy = Some(remedy.to_owned());
        self.findings.report(kind, &[side], None, |_| Text { message, remedy });
    }

    fn on_vector_index(&mut self, access: &VectorIndex) {
        let side = Seen::at(Action::Read, &access.thread, access.loc);
        self.findings.report(FindingKind::VectorIndex, &[side], None, |_| Text {
            message: format!("component {} of a vector of {}", access.index as i32, access.count),
            remedy: None,
        });
    }

    fn on_arithmetic(&mut self, lint: &ArithmeticLint) {
        let [a, b, _] = lint.operands;
        let (kind, message, remedy) = match lint.kind {
            ArithmeticKind::DivisionByZero => {
                (FindingKind::DivisionByZero, format!("{a} is divided by zero"), "test the divisor")
            }
            ArithmeticKind::ShiftOverflow => (
                FindingKind::ShiftOverflow,
                format!("a shift by {}", b as i64),
                "shift by less than the width",
            ),
            ArithmeticKind::NanProduced => {
                (FindingKind::NanProduced, "the result is not a number".to_owned(), "test the operands")
            }
        };
        let side = Seen::at(Action::Arithmetic, &lint.thread, lint.loc);
        let remedy = Some(remedy.to_owned());
        self.findings.report(kind, &[side], None, |_| Text { message, remedy });
    }

    fn on_early_return(&mut self, barrier: &EarlyReturn) {
        let waiting = Seen::at(Action::Barrier, &barrier.waiting, barrier.loc);
        let returned = Seen::at(Action::Return, &barrier.returned, anymetal_ir::Loc::default());
        self.findings.report(FindingKind::EarlyReturn, &[waiting, returned], None, |_| Text {
            message: "threads returned before a barrier of their threadgroup".to_owned(),
            remedy: Some(
                "let all threads reach the barrier, and skip only the work between barriers".to_owned(),
            ),
        });
    }

    fn on_divergent_barrier(&mut self, barrier: &DivergentBarrier) {
        let first = Seen::at(Action::Barrier, &barrier.first_thread, barrier.first);
        let second = Seen::at(Action::Barrier, &barrier.second_thread, barrier.second);
        self.findings.report(FindingKind::DivergentBarrier, &[first, second], None, |_| Text {
            message: "SIMD-groups of one threadgroup wait at different barriers".to_owned(),
            remedy: Some("let all threads of the threadgroup reach the same barrier".to_owned()),
        });
    }

    fn on_partial_barrier(&mut self, barrier: &PartialBarrier) {
        let side = Seen::at(Action::Barrier, &barrier.thread, barrier.loc);
        self.findings.report(FindingKind::DivergentBarrier, &[side], None, |_| Text {
            message: format!("{} threads of the SIMD-group are elsewhere", barrier.missing.count_ones()),
            remedy: Some("move the barrier out of the divergent branch or loop".to_owned()),
        });
    }

    fn on_fault(&mut self, fault: &Fault) {
        let action = match fault.kind {
            AccessKind::Load => Action::Read,
            AccessKind::Store => Action::Write,
            AccessKind::Atomic => Action::AtomicReadModifyWrite,
        };
        let mut side = Seen::at(action, &fault.thread, fault.loc);
        (side.bytes, side.offset) = (fault.bytes, fault.offset);
        let memory = self.findings.memory(fault.variable);
        let space = memory.map(|memory| memory.space);
        let kind = match (fault.variable, space) {
            (Variable::Nothing, _) => FindingKind::NullAccess,
            _ if fault.bound == 0
                && matches!(fault.variable, Variable::Argument(_))
                && !self.is_bound(fault) =>
            {
                FindingKind::NullAccess
            }
            (_, Some(MemorySpace::Threadgroup)) => FindingKind::OutOfBoundsThreadgroup,
            (_, Some(MemorySpace::Thread)) => FindingKind::OutOfBoundsPrivate,
            _ => FindingKind::OutOfBounds,
        };
        let variable = Some(fault.variable).filter(|variable| *variable != Variable::Nothing);
        self.findings.report(kind, &[side], variable, |findings| bounds_text(findings, fault));
    }
}

impl Detectors<'_> {
    fn is_bound(&self, fault: &Fault) -> bool {
        let Variable::Argument(position) = fault.variable else { return true };
        self.info.arguments.get(position as usize).is_some_and(|argument| argument.is_bound)
    }
}

fn bounds_text(findings: &Collector, fault: &Fault) -> Text {
    let Some(memory) = findings.memory(fault.variable).filter(|_| fault.variable != Variable::Nothing) else {
        return Text { message: "the pointer points at nothing".to_owned(), remedy: None };
    };
    let element = memory.element_bytes as i64;
    let (name, bound) = (&memory.name, fault.bound);
    let message = if fault.bound == 0 {
        format!("`{name}` has no bytes")
    } else if element > 1 {
        let (index, count) = (fault.offset.div_euclid(element), bound as i64 / element);
        format!("index {index} of `{name}`, which has {count} elements")
    } else {
        format!("byte {} of `{name}`, which has {bound} bytes", fault.offset)
    };
    let distance = if fault.offset < 0 {
        format!("{} bytes before it", fault.offset.unsigned_abs())
    } else {
        format!("{} bytes after its end", (fault.offset as u64 + fault.bytes).saturating_sub(bound))
    };
    Text {
        message: format!("{message}: {distance}"),
        remedy: Some("check the index against the size".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use anymetal_interp::{Bytes, ThreadId};

    use super::*;

    #[test]
    fn words_of_one_execution_are_counted_where_lane_0_takes_no_part() {
        let info = LaunchInfo::default();
        let mut findings = Collector::new([FindingKind::BankConflict].into(), 10);
        let mut detectors = Detectors::new(&mut findings, &info, 1 << 20);
        for turn in 0..2 {
            for lane in 1..4 {
                let offset = (turn * BANKS + u64::from(lane)) * 4;
                let access = Access {
                    thread: ThreadId { lane, ..ThreadId::default() },
                    variable: Variable::Nothing,
                    place: MemoryPlace::Threadgroup { offset },
                    offset,
                    bytes: 4,
                    align: 4,
                    loc: anymetal_ir::Loc::default(),
                    site: 0,
                    before: Bytes::default(),
                    written: Bytes::default(),
                };
                detectors.note_bank(&access, Action::Read);
            }
            assert_eq!(detectors.banks.words.len(), 3);
        }
    }
}
