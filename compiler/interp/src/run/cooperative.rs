//! Runs a program with barriers of the grid: all threadgroups in rounds, from one barrier to the next.
//!
//! Between two rounds each threadgroup that has not ended is parked with its SIMD-groups and its memory. All
//! threadgroups run, whatever [`crate::Limits::max_groups`] says: the others would wait for those left out.

use super::{Member, Stop, begin_group, group_of, machine_bytes, release, run_members};
use crate::InterpError;
use crate::machine::{Environment, Machine, UNDEFINED_BYTE};
use crate::observer::Group;
use crate::program::step::Step;
use crate::program::{self, Program};
use crate::report::{DivergentBarrier, ThreadId};
use crate::schedule::Permutation;
use anymetal_ir::BarrierScope;

/// Registers and memory of all threadgroups of a launch.
const MAX_BYTES: u64 = 1 << 32;

/// A threadgroup at a barrier of the grid.
struct Parked {
    group: Group,
    generation: u32,
    threadgroup: Vec<u8>,
    members: Vec<Member>,
    /// The barrier's step, and a thread that waits there.
    at: u32,
    waiting: ThreadId,
}

/// Whether the program has a barrier of the grid.
pub(super) fn is_needed(program: &Program) -> bool {
    let is_one = |step: &Step| matches!(step, Step::Barrier { scope: BarrierScope::Grid, .. });
    program.steps.iter().any(is_one)
}

/// Runs all threadgroups to their end.
pub(super) fn run_all(env: &mut Environment<'_, '_>, all: u64) -> Result<(), InterpError> {
    let simdgroups = u64::from(env.dispatch.group_size.iter().product::<u32>().div_ceil(32));
    let own = machine_bytes(env.program).saturating_mul(simdgroups) + env.threadgroup.len() as u64;
    program::limit("memory of all threadgroups of a cooperative launch", own.saturating_mul(all), MAX_BYTES)?;
    let (mut parked, mut spare) = (Vec::new(), Vec::new());
    let order = Permutation::new(env.limits.schedule, all);
    for n in 0..all {
        env.group = group_of(&env.dispatch, order.at(n));
        env.check_limits()?;
        let members = begin_group(env, &mut spare)?;
        parked.extend(go_on(env, members, &mut spare)?);
    }
    while !parked.is_empty() {
        check_same_barrier(env, &parked)?;
        env.observer.on_grid_barrier_passed();
        for group in std::mem::take(&mut parked) {
            let members = unpark(env, group);
            parked.extend(go_on(env, members, &mut spare)?);
        }
    }
    Ok(())
}

/// Runs the threadgroup in the environment to its end, or to a barrier of the grid, where it is parked.
fn go_on(
    env: &mut Environment<'_, '_>,
    mut members: Vec<Member>,
    spare: &mut Vec<Machine>,
) -> Result<Option<Parked>, InterpError> {
    let stop = run_members(env, &mut members, spare)?;
    let group = env.group;
    let Stop::GridBarrier(at, waiting) = stop else {
        env.observer.on_group_end(&group);
        return Ok(None);
    };
    env.observer.on_group_parked(&group);
    let fresh = vec![UNDEFINED_BYTE; env.threadgroup.len()];
    let threadgroup = std::mem::replace(&mut env.threadgroup, fresh);
    Ok(Some(Parked { group, generation: env.generation, threadgroup, members, at, waiting }))
}

/// Puts a parked threadgroup into the environment, its SIMD-groups ready to go on.
fn unpark(env: &mut Environment<'_, '_>, parked: Parked) -> Vec<Member> {
    let Parked { group, generation, threadgroup, mut members, .. } = parked;
    (env.group, env.generation, env.threadgroup) = (group, generation, threadgroup);
    env.observer.on_group_resumed(&group);
    release(&mut members);
    members
}

/// Threadgroups must meet at one barrier.
fn check_same_barrier(env: &mut Environment<'_, '_>, parked: &[Parked]) -> Result<(), InterpError> {
    let first = parked.first();
    let Some((first, other)) =
        first.zip(parked.iter().find(|other| Some(other.at) != first.map(|first| first.at)))
    else {
        // All wait at one barrier, or none waits.
        return Ok(());
    };
    let barrier = DivergentBarrier {
        first: env.program.locs[first.at as usize],
        first_thread: first.waiting,
        second: env.program.locs[other.at as usize],
        second_thread: other.waiting,
    };
    env.divergent_barrier(barrier)
}
