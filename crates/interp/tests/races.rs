//! The race observer.

mod support;

use anymetal_interp::{Memory, Race, RaceKind};
use anymetal_ir::{
    AtomicOp, BarrierScope, BinOp, Builder, CastOp, CmpOp, Module, Op, Scalar, Space, Type, Value,
};
use support::*;

/// Each thread writes its element of threadgroup memory and reads its neighbour's, with or without a
/// barrier between.
fn neighbours(barrier: bool, distance: i32) -> Module {
    kernel(&[Space::Device, Space::Threadgroup], |b, p| {
        let (x, t) = (thread_x(b), thread_in_group(b));
        b.loc = line(10);
        store_at(b, p[1], t, x);
        if barrier {
            b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        }
        let mask = b.i32(63);
        let other = add_const(b, t, distance);
        let other = b.binary(BinOp::And, other, mask);
        b.loc = line(12);
        let value = load_i32(b, p[1], other);
        b.loc = line(13);
        store_at(b, p[0], x, value);
    })
}

fn races(module: &Module, mut race: Race) -> Vec<(String, RaceKind, u32, RaceKind, u32)> {
    let mut buffer = vec![0; 512];
    let mut memory = Memory::new().bind(&mut buffer);
    if module.kernels[0].args.len() > 1 {
        memory = memory.threadgroup(256);
    }
    observe(module, grid(128, 64), &mut memory, &mut race).expect("it runs");
    race.races()
        .iter()
        .map(|r| (r.name.clone(), r.first.kind, r.first.loc.line, r.second.kind, r.second.loc.line))
        .collect()
}

#[test]
fn a_missing_barrier_is_found_with_both_lines() {
    assert_eq!(races(&neighbours(true, 32), Race::new()), []);
    // SIMD-group 0 reads before SIMD-group 1 writes.
    let expected = ("b".to_owned(), RaceKind::Read, 12, RaceKind::Write, 10);
    assert_eq!(races(&neighbours(false, 32), Race::new()), [expected]);
    assert_eq!(races(&neighbours(false, 32), Race::new().ignoring(0, 12)), []);
}

#[test]
fn lanes_of_one_simd_group_are_compared_on_request() {
    // Neighbours at distance 1 within the lower half of the threadgroup only.
    let module = kernel(&[Space::Device], |b, p| {
        let t = thread_x(b);
        let low = less(b, t, 31);
        b.if_else(
            low,
            |b| {
                b.loc = line(1);
                store_at(b, p[0], t, t);
                b.loc = line(2);
                let next = add_const(b, t, 1);
                store_at(b, p[0], next, t);
            },
            |_| {},
        );
    });
    assert_eq!(races(&module, Race::new()), []);
    let found = races(&module, Race::new().within_simdgroups());
    assert_eq!(found[0], ("a".to_owned(), RaceKind::Write, 1, RaceKind::Write, 2));
}

fn all_to_one(access: impl Fn(&mut Builder<'_>, Value)) -> Module {
    kernel(&[Space::Device], |b, p| {
        b.loc = line(5);
        access(b, p[0]);
    })
}

#[test]
fn threadgroups_race_with_each_other_unless_both_are_atomic() {
    let plain = all_to_one(|b, ptr| {
        let one = b.i32(1);
        b.store(ptr, one, 4);
    });
    let expected = ("a".to_owned(), RaceKind::Write, 5, RaceKind::Write, 5);
    assert_eq!(races(&plain, Race::new()), [expected]);
    let atomic = all_to_one(|b, ptr| {
        let one = b.i32(1);
        b.infer(Op::AtomicRmw(AtomicOp::Add, ptr, one));
    });
    assert_eq!(races(&atomic, Race::new()), []);
    let mixed = all_to_one(|b, ptr| {
        let one = b.i32(1);
        b.infer(Op::AtomicRmw(AtomicOp::Add, ptr, one));
        b.loc = line(6);
        b.load(ptr, anymetal_ir::Type::I32, 4);
    });
    let expected = ("a".to_owned(), RaceKind::Read, 6, RaceKind::Atomic, 5);
    assert!(races(&mixed, Race::new()).contains(&expected));
}

#[test]
fn neighbouring_bytes_do_not_race() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let x = b.cast(anymetal_ir::CastOp::ZExt, x, anymetal_ir::Type::I64);
        let ptr = b.ptr_index(p[0], x, 1);
        let flag = b.bool(true);
        b.store(ptr, flag, 1);
    });
    assert_eq!(races(&module, Race::new()), []);
}

#[test]
fn halves_of_a_word_are_tracked_separately() {
    // One thread of the first threadgroup writes both halves of a word in turn, one of the second the lower
    // half.
    let module = kernel(&[Space::Device], |b, p| {
        let t = thread_x(b);
        let (mask, zero) = (b.i32(63), b.i32(0));
        let place = b.binary(BinOp::And, t, mask);
        let is_first = b.compare(CmpOp::Eq, place, zero);
        let low = b.cast(CastOp::Trunc, t, Type::Scalar(Scalar::I16));
        let upper = b.ptr_offset(p[0], 2);
        let in_first_group = less(b, t, 64);
        b.if_else(
            is_first,
            |b| {
                b.loc = line(1);
                b.store(p[0], low, 2);
                b.loc = line(2);
                b.if_else(in_first_group, |b| b.store(upper, low, 2), |_| {});
            },
            |_| {},
        );
    });
    let expected = ("a".to_owned(), RaceKind::Write, 1, RaceKind::Write, 1);
    assert_eq!(races(&module, Race::new()), [expected]);
}
