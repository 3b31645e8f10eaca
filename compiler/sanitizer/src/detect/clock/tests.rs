//! What orders accesses and what does not.

use super::super::shadow::Site;
use super::*;

const ALL: u32 = 7;

fn record(group: u64, index: u32, date: u32) -> Record {
    Record { thread: Record::thread_number(group, index), date, site: Site::default() }
}

#[test]
fn a_barrier_orders_the_memory_of_its_flags() {
    let mut clocks = Clocks::default();
    clocks.start(3, 2);
    let access = record(3, 40, clocks.now());
    assert_eq!(clocks.order(&access, 0, Class::Device), Order::Concurrent);
    clocks.pass_barrier(2);
    assert_eq!(clocks.order(&access, 0, Class::Threadgroup), Order::Before);
    assert_eq!(clocks.order(&access, 0, Class::Device), Order::ByOtherBarrier);
    assert_eq!(clocks.order(&record(2, 40, 1), 0, Class::Device), Order::Concurrent);
}

#[test]
fn a_simdgroup_barrier_orders_its_own_lanes() {
    let mut clocks = Clocks::default();
    clocks.start(0, 2);
    let (same, other) = (record(0, 5, clocks.now()), record(0, 40, clocks.now()));
    clocks.pass_simdgroup_barrier(0, ALL);
    assert_eq!(clocks.order(&same, 6, Class::Device), Order::Before);
    assert_eq!(clocks.order(&other, 6, Class::Device), Order::Concurrent);
}

#[test]
fn fences_and_an_atomic_pass_a_threadgroup_on() {
    let mut clocks = Clocks::default();
    clocks.start(0, 2);
    let (own, others) = (record(0, 0, clocks.now()), record(0, 40, clocks.now()));
    clocks.pass_barrier(ALL);
    clocks.fence(0, (1, 5, 2));
    let flag = clocks.atomic(0, (false, true), None);
    assert!(flag.is_some());
    clocks.start(1, 2);
    assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
    clocks.atomic(7, (true, false), flag.as_ref());
    assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
    clocks.fence(7, (1, 5, 2));
    assert_eq!(clocks.order(&own, 7, Class::Device), Order::Before);
    assert_eq!(clocks.order(&others, 7, Class::Device), Order::Before);
    assert_eq!(clocks.order(&own, 8, Class::Device), Order::Concurrent);
    clocks.pass_barrier(ALL);
    assert_eq!(clocks.order(&own, 8, Class::Device), Order::Before);
}

#[test]
fn a_fence_of_threadgroup_scope_stays_there() {
    let mut clocks = Clocks::default();
    clocks.start(0, 1);
    let own = record(0, 0, clocks.now());
    clocks.fence(0, (1, 5, 1));
    let flag = clocks.atomic(0, (false, true), None);
    clocks.start(1, 1);
    clocks.atomic(7, (true, false), flag.as_ref());
    clocks.fence(7, (1, 5, 2));
    assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
}

/// Thread 0 of threadgroup 0 publishes with a fence of this scope.
fn published(scope: u32) -> (Record, Option<Published>) {
    let mut clocks = Clocks::default();
    clocks.start(0, 1);
    let own = record(0, 0, clocks.now());
    clocks.fence(0, (1, 5, scope));
    (own, clocks.atomic(0, (true, true), None))
}

#[test]
fn a_read_modify_write_does_not_widen_the_scope_of_what_it_goes_on_with() {
    for (scope, expected) in [(1, Order::Concurrent), (2, Order::Before)] {
        let (first, flag) = published(scope);
        let mut clocks = Clocks::default();
        clocks.start(1, 1);
        clocks.fence(0, (1, RELEASE, 2));
        let flag = clocks.atomic(0, (true, true), flag.as_ref());
        clocks.start(2, 1);
        clocks.atomic(0, (true, true), flag.as_ref());
        clocks.fence(0, (1, ACQUIRE, 2));
        assert_eq!(clocks.order(&first, 0, Class::Device), expected, "scope {scope}");
    }
}

#[test]
fn an_acquire_fence_of_threadgroup_scope_takes_nothing_of_other_threadgroups() {
    let (first, flag) = published(2);
    let mut clocks = Clocks::default();
    clocks.start(1, 1);
    clocks.atomic(0, (true, false), flag.as_ref());
    clocks.fence(0, (1, ACQUIRE, 1));
    assert_eq!(clocks.order(&first, 0, Class::Device), Order::Concurrent);
    // What that fence could not take is there for one of the right scope.
    clocks.fence(0, (1, ACQUIRE, 2));
    assert_eq!(clocks.order(&first, 0, Class::Device), Order::Before);
}

#[test]
fn a_fence_of_other_memory_leaves_what_it_does_not_name() {
    let (first, flag) = published(2);
    let mut clocks = Clocks::default();
    clocks.start(1, 1);
    clocks.atomic(0, (true, false), flag.as_ref());
    clocks.fence(0, (2, ACQUIRE, 2));
    assert_eq!(clocks.order(&first, 0, Class::Device), Order::Concurrent);
    clocks.fence(0, (1, ACQUIRE, 2));
    assert_eq!(clocks.order(&first, 0, Class::Device), Order::Before);
}

#[test]
fn a_barrier_takes_nothing_from_the_thread_that_acquired() {
    let (first, flag) = published(2);
    let mut clocks = Clocks::default();
    clocks.start(1, 1);
    clocks.atomic(0, (true, false), flag.as_ref());
    clocks.fence(0, (1, ACQUIRE, 2));
    clocks.pass_barrier(Class::Threadgroup.flags());
    assert_eq!(clocks.order(&first, 0, Class::Device), Order::Before);
    assert_eq!(clocks.order(&first, 1, Class::Device), Order::Concurrent);
}

#[test]
fn simdgroup_barriers_without_the_flag_are_told_apart() {
    let mut clocks = Clocks::default();
    clocks.start(0, 2);
    let (same, other) = (record(0, 5, clocks.now()), record(0, 40, clocks.now()));
    clocks.pass_simdgroup_barrier(0, 2);
    assert_eq!(clocks.order(&same, 6, Class::Device), Order::ByOtherBarrier);
    clocks.pass_simdgroup_barrier(0, 0);
    assert_eq!(clocks.order(&same, 6, Class::Device), Order::ByEmptyBarrier);
    assert_eq!(clocks.order(&other, 6, Class::Device), Order::Concurrent);
}
