//! Runs a dispatch: threadgroups one after the other, the SIMD-groups of one in turns.
//!
//! A SIMD-group runs until it is done, waits at a barrier, or has used up its turn. When every SIMD-group of
//! the threadgroup is done or waits, the waiting ones must wait at the same barrier, and go on. Machines of
//! SIMD-groups that are done are used again, so a kernel without barriers stays in one machine's cache.

mod cooperative;

use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_ir::{ArgKind, BarrierScope};

use crate::dispatch::{Argument, Dispatch, Limits, Memory};
use crate::machine::{Addresses, Environment, Machine, Pause, UNDEFINED_BYTE};
use crate::observer::{EarlyReturn, Group, MemorySizes, Observer, Unfinished};
use crate::program::step::Step;
use crate::program::{Arena, Program, Region};
use crate::report::{DivergentBarrier, PartialBarrier, Report, ThreadId};
use crate::schedule::{Permutation, Turns};
use crate::{InterpError, program};

/// Registers and private memory of all SIMD-groups of a threadgroup.
const MAX_MACHINE_BYTES: u64 = 1 << 32;

/// Runs a dispatch to its end. Accesses out of bounds do not end it: see [`Report`].
pub fn run(
    program: &Program,
    dispatch: &Dispatch,
    memory: &mut Memory<'_>,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<Report, InterpError> {
    check_group_size(program, dispatch)?;
    let mut regions = program.regions.clone();
    let threadgroup_bytes = bind(program, memory, &mut regions)?;
    let addresses = Addresses::bind(memory, program.arguments(), &mut regions)?;
    let sizes = MemorySizes { threadgroup: threadgroup_bytes, private: program.private_bytes };
    observer.on_dispatch(program, dispatch, sizes);
    let interests = observer.interests();
    let mut env = Environment {
        program,
        buffers: &mut memory.buffers,
        regions,
        addresses,
        threadgroup: vec![UNDEFINED_BYTE; threadgroup_bytes as usize],
        observer,
        interests,
        report: Report::default(),
        limits,
        dispatch: *dispatch,
        group: Group { position: [0; 3], linear: 0, size: [0; 3], simdgroups: 0 },
        generation: 0,
        scratch: Vec::new(),
        turns: Turns::new(limits.schedule),
    };
    let [x, y, z] = dispatch.group_counts().map(u64::from);
    let all = x.saturating_mul(y).saturating_mul(z);
    if cooperative::is_needed(program) {
        cooperative::run_all(&mut env, all)?;
        return Ok(env.report);
    }
    let mut machines = Vec::new();
    let some = limits.max_groups.map_or(all, |most| most.min(all));
    let order = Permutation::new(limits.schedule, some);
    for n in 0..some {
        env.group = group_of(dispatch, sampled(order.at(n), some, all));
        env.check_limits()?;
        run_group(&mut env, &mut machines)?;
    }
    Ok(env.report)
}

/// The threadgroup of that number.
fn group_of(dispatch: &Dispatch, linear: u64) -> Group {
    let [x, y, _] = dispatch.group_counts().map(|count| u64::from(count.max(1)));
    let position = [linear % x, linear / x % y, linear / x / y].map(|at| at as u32);
    debug_assert!(position[2] < dispatch.group_counts()[2].max(1), "threadgroup {linear} is not of the grid");
    let size = dispatch.size_of_group(position);
    let simdgroups = size.iter().product::<u32>().div_ceil(32);
    Group { position, linear, size, simdgroups }
}

/// The number of the `n`-th threadgroup of `some` that are spread evenly over `all`.
fn sampled(n: u64, some: u64, all: u64) -> u64 {
    if some < 2 || some == all {
        return n;
    }
    (u128::from(n) * u128::from(all - 1) / u128::from(some - 1)) as u64
}

fn check_group_size(program: &Program, dispatch: &Dispatch) -> Result<(), InterpError> {
    let threads = dispatch.group_size.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
    if threads == 0 || threads > MAX_THREADS_PER_THREADGROUP.into() {
        return Err(InterpError::InvalidGroupSize { size: dispatch.group_size });
    }
    let bytes = machine_bytes(program).saturating_mul(threads.div_ceil(32));
    program::limit("memory of a threadgroup's threads", bytes, MAX_MACHINE_BYTES)
}

/// Registers and private memory of a SIMD-group.
fn machine_bytes(program: &Program) -> u64 {
    program.register_count as u64 * 256 + program.private_bytes
}

/// Fills in the regions of the arguments; returns the bytes of threadgroup memory.
fn bind(program: &Program, memory: &Memory<'_>, regions: &mut [Region]) -> Result<u64, InterpError> {
    let (expected, given) = (program.arguments().len(), memory.arguments.len());
    if expected != given {
        return Err(InterpError::ArgumentCount { expected, given });
    }
    let mut threadgroup_end = program.static_threadgroup_bytes;
    for ((description, argument), region) in
        program.arguments().iter().zip(&memory.arguments).zip(&mut regions[1..])
    {
        let name = || description.name.clone();
        match *argument {
            _ if !description.enabled => {}
            Argument::Unbound => {}
            Argument::Buffer { buffer, offset, len } => {
                if description.kind != ArgKind::Buffer {
                    return Err(InterpError::ArgumentKind { name: name() });
                }
                let whole = memory.buffers.get(buffer).map(|bytes| bytes.len() as u64);
                let end = offset.checked_add(len);
                if whole.is_none() || end.is_none() || end > whole {
                    return Err(InterpError::InvalidBinding { name: name() });
                }
                region.arena = Arena::Buffer(buffer as u32);
                (region.start, region.len, region.is_null) = (offset, len, false);
                region.before = if program.whole_buffers { offset } else { 0 };
            }
            Argument::Threadgroup { len } => {
                if description.kind != ArgKind::ThreadgroupMemory {
                    return Err(InterpError::ArgumentKind { name: name() });
                }
                let start = threadgroup_end.next_multiple_of(16);
                threadgroup_end = start.saturating_add(len);
                program::limit("threadgroup memory", threadgroup_end, program::MAX_BYTES)?;
                region.arena = Arena::Threadgroup;
                (region.start, region.len, region.is_null) = (start, len, false);
            }
        }
    }
    Ok(bounded_together(threadgroup_end, program.threadgroup_reserve, regions))
}

/// With a reserve, lets all of threadgroup memory reach to its common end; returns its bytes.
fn bounded_together(end: u64, reserve: u64, regions: &mut [Region]) -> u64 {
    if reserve == 0 || end == 0 {
        return end;
    }
    let end = end.max(reserve);
    for region in regions.iter_mut().filter(|region| region.arena == Arena::Threadgroup && !region.is_null) {
        region.len = end.saturating_sub(region.start);
    }
    end
}

/// A SIMD-group of the running threadgroup.
enum Member {
    /// Can go on.
    Ready(Machine),
    /// Waits at a barrier (its step), with a lane that waits.
    Waiting(Machine, u32, u32),
    /// With a lane that ended it by a return.
    Done(Option<u32>),
}

/// Why a threadgroup stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// All its threads have ended.
    Ended,
    /// The others wait at a barrier of the grid: its step, and one of them.
    GridBarrier(u32, ThreadId),
}

fn run_group(env: &mut Environment<'_, '_>, spare: &mut Vec<Machine>) -> Result<(), InterpError> {
    let mut members = begin_group(env, spare)?;
    let stop = run_members(env, &mut members, spare)?;
    assert!(matches!(stop, Stop::Ended), "a program with barriers of the grid runs cooperatively");
    let group = env.group;
    env.observer.on_group_end(&group);
    Ok(())
}

/// Begins the threadgroup in the environment.
fn begin_group(env: &mut Environment<'_, '_>, spare: &mut Vec<Machine>) -> Result<Vec<Member>, InterpError> {
    env.generation = 0;
    env.threadgroup.fill(UNDEFINED_BYTE);
    let group = env.group;
    env.observer.on_group_start(&group);
    let mut members = Vec::with_capacity(group.simdgroups as usize);
    for simdgroup in 0..group.simdgroups {
        let mut machine = spare.pop().unwrap_or_else(|| Machine::new(env.program));
        machine.start(env, simdgroup);
        members.push(Member::Ready(machine));
        if matches!(env.turns, Turns::InOrder) {
            advance(env, &mut members, simdgroup as usize, spare)?;
        }
    }
    Ok(members)
}

/// Runs the threadgroup in the environment until it ends or waits for others.
fn run_members(
    env: &mut Environment<'_, '_>,
    members: &mut [Member],
    spare: &mut Vec<Machine>,
) -> Result<Stop, InterpError> {
    loop {
        if !members.iter().any(|member| matches!(member, Member::Ready(_))) {
            let Some((at, waiting)) = meet(env, members)? else {
                // None waits: all have ended.
                return Ok(Stop::Ended);
            };
            if is_grid_barrier(env.program, at) {
                return Ok(Stop::GridBarrier(at, waiting));
            }
            release(members);
        }
        for n in env.turns.order(members.len()) {
            advance(env, members, n, spare)?;
        }
    }
}

fn is_grid_barrier(program: &Program, at: u32) -> bool {
    matches!(program.steps[at as usize], Step::Barrier { scope: BarrierScope::Grid, .. })
}

/// Runs one SIMD-group as far as it goes in one turn, if it can go on.
fn advance(
    env: &mut Environment<'_, '_>,
    members: &mut [Member],
    n: usize,
    spare: &mut Vec<Machine>,
) -> Result<(), InterpError> {
    let Member::Ready(machine) = &mut members[n] else {
        // It waits at a barrier, or has ended.
        return Ok(());
    };
    let pause = machine.resume(env).and_then(|pause| match pause {
        Pause::Turn => env.check_limits().map(|()| pause),
        _ => Ok(pause),
    });
    let pause = pause.inspect_err(|_| tell_unfinished(env, members))?;
    if matches!(pause, Pause::Turn) {
        return Ok(());
    }
    let Member::Ready(machine) = std::mem::replace(&mut members[n], Member::Done(None)) else {
        unreachable!("the SIMD-group that has run was ready")
    };
    members[n] = match pause {
        Pause::Barrier { at, lane } => Member::Waiting(machine, at, lane),
        _ => {
            let returned = machine.returned_lane();
            spare.push(machine);
            Member::Done(returned)
        }
    };
    Ok(())
}

fn tell_unfinished(env: &mut Environment<'_, '_>, members: &[Member]) {
    for (simdgroup, member) in (0u32..).zip(members) {
        let (machine, at, waits) = match member {
            Member::Ready(machine) => (machine, machine.position().0, false),
            Member::Waiting(machine, at, _) => (machine, *at, true),
            Member::Done(_) => continue,
        };
        let (_, lanes) = machine.position();
        let thread = env.thread(simdgroup, lanes.trailing_zeros().min(31));
        let loc = env.program.locs[at as usize];
        env.observer.on_unfinished(&Unfinished { thread, lanes, loc, waits });
    }
}

/// All SIMD-groups that have not ended have arrived at a barrier: its step, and a thread that waits there;
/// none if all have ended.
fn meet(env: &mut Environment<'_, '_>, members: &[Member]) -> Result<Option<(u32, ThreadId)>, InterpError> {
    let mut first = None;
    for (simdgroup, member) in (0u32..).zip(members) {
        let Member::Waiting(_, at, lane) = *member else { continue };
        let (first_at, first_simdgroup, first_lane) = *first.get_or_insert((at, simdgroup, lane));
        if at != first_at {
            let barrier = DivergentBarrier {
                first: env.program.locs[first_at as usize],
                first_thread: env.thread(first_simdgroup, first_lane),
                second: env.program.locs[at as usize],
                second_thread: env.thread(simdgroup, lane),
            };
            env.divergent_barrier(barrier)?;
            break;
        }
    }
    let Some((at, simdgroup, lane)) = first else {
        // None waits: all have ended.
        return Ok(None);
    };
    let loc = env.program.locs[at as usize];
    let waiting = env.thread(simdgroup, lane);
    for (done, member) in (0u32..).zip(members) {
        match *member {
            Member::Done(Some(lane)) => {
                let returned = env.thread(done, lane);
                env.observer.on_early_return(&EarlyReturn { loc, waiting, returned });
            }
            // It ran to its end without this barrier.
            Member::Done(None) => {
                let missing = u32::MAX;
                let barrier = PartialBarrier { loc, thread: waiting, arrived: 0, missing };
                env.observer.on_partial_barrier(&barrier);
            }
            Member::Ready(_) | Member::Waiting(..) => {}
        }
    }
    env.generation += 1;
    let group = env.group;
    env.observer.on_barrier_passed(&group, env.generation);
    env.check_limits()?;
    Ok(Some((at, waiting)))
}

/// Lets all waiting SIMD-groups go on.
fn release(members: &mut [Member]) {
    for member in members {
        *member = match std::mem::replace(member, Member::Done(None)) {
            Member::Waiting(machine, ..) => Member::Ready(machine),
            other => other,
        };
    }
}
