//! Grids, threadgroups, SIMD-groups: partial ones, barriers, SIMD operations, atomics, matrices.

mod support;

use anymetal_interp::{Dispatch, InterpError, Memory};
use anymetal_ir::{
    AtomicOp, BarrierScope, BinOp, CmpOp, MatrixOp, Module, Op, Query, Scalar, SimdOp, Space, ThreadgroupVar,
    Type,
};
use support::*;

#[test]
fn saxpy_with_partial_threadgroups() {
    let module = kernel(&[Space::Device, Space::Device, Space::Constant], |b, p| {
        let x = thread_x(b);
        let (px, py) = (element(b, p[0], x), element(b, p[1], x));
        let (vx, vy) = (b.load(px, Type::F32, 4), b.load(py, Type::F32, 4));
        let a = b.load(p[2], Type::F32, 4);
        let product = b.binary(BinOp::FMul, a, vx);
        let sum = b.binary(BinOp::FAdd, product, vy);
        b.store(py, sum, 4);
    });
    let n = 1000;
    let mut xs = bytes_f32(&(0..n).map(|x| x as f32).collect::<Vec<_>>());
    let mut ys = bytes_f32(&vec![0.5; n]);
    let mut a = bytes_f32(&[2.0]);
    let mut memory = Memory::new().bind(&mut xs).bind(&mut ys).bind(&mut a);
    let report = run_k(&module, grid(n as u32, 96), &mut memory).expect("it runs");
    assert!(report.is_clean());
    assert_eq!(f32s(&ys), (0..n).map(|x| 2.0 * x as f32 + 0.5).collect::<Vec<_>>());
}

#[test]
fn queries_in_three_dimensions_with_partial_groups() {
    let queries = [
        Query::ThreadPositionInGrid(0),
        Query::ThreadPositionInGrid(1),
        Query::ThreadPositionInGrid(2),
        Query::ThreadPositionInThreadgroup(1),
        Query::ThreadgroupPositionInGrid(0),
        Query::ThreadsPerThreadgroup(0),
        Query::DispatchThreadsPerThreadgroup(0),
        Query::ThreadIndexInThreadgroup,
        Query::ThreadsPerGrid(1),
        Query::ThreadgroupsPerGrid(0),
        Query::SimdgroupsPerThreadgroup,
        Query::QuadgroupsPerThreadgroup,
    ];
    let module = kernel(&[Space::Device], |b, p| {
        let at: Vec<_> = (0..3).map(|d| b.query(Query::ThreadPositionInGrid(d))).collect();
        let five = b.i32(5);
        let three = b.i32(3);
        let row = b.binary(BinOp::Mul, at[2], three);
        let row = add(b, row, at[1]);
        let row = b.binary(BinOp::Mul, row, five);
        let linear = add(b, row, at[0]);
        let count = b.i32(queries.len() as i32);
        let first = b.binary(BinOp::Mul, linear, count);
        for (n, &query) in queries.iter().enumerate() {
            let value = b.query(query);
            let index = add_const(b, first, n as i32);
            store_at(b, p[0], index, value);
        }
    });
    let dispatch = Dispatch::threads([5, 3, 2], [4, 2, 2]);
    let result = run_i32(&module, dispatch, 30 * queries.len());
    let of = |x: usize, y: usize, z: usize| &result[((z * 3 + y) * 5 + x) * 12..][..12];
    assert_eq!(of(3, 1, 1), [3, 1, 1, 1, 0, 4, 4, 15, 3, 2, 1, 4]);
    // The corner group has one thread in x and one in y.
    assert_eq!(of(4, 2, 1), [4, 2, 1, 0, 1, 1, 4, 1, 3, 2, 1, 1]);
}

#[test]
fn an_empty_grid_runs_nothing_and_an_empty_group_is_an_error() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        store_at(b, p[0], x, x);
    });
    assert_eq!(run_i32(&module, Dispatch::threads([0, 4, 4], [8, 1, 1]), 2), [-1, -1]);
    let mut buffer = vec![0; 8];
    let result =
        run_k(&module, Dispatch::threads([4, 1, 1], [0, 1, 1]), &mut Memory::new().bind(&mut buffer));
    assert_eq!(result, Err(InterpError::InvalidGroupSize { size: [0, 1, 1] }));
}

/// Sum of a threadgroup's values by halving distances, with a barrier in the loop.
#[test]
fn a_tree_reduction_with_barriers_in_a_loop() {
    let mut module = Module::new();
    module.threadgroup_vars.push(ThreadgroupVar { name: "partial".to_owned(), size: 4 * 128, align: 4 });
    let shared = Op::ThreadgroupAddr(anymetal_ir::ThreadgroupId(0));
    add_kernel(&mut module, &[Space::Device, Space::Device], |b, p| {
        let (x, t) = (thread_x(b), thread_in_group(b));
        let shared = b.infer(shared);
        let value = load_i32(b, p[0], x);
        store_at(b, shared, t, value);
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        let distance_var = b.func.add_local("distance", 4, 4);
        let distance_ptr = b.local_addr(distance_var);
        let half = b.i32(64);
        b.store(distance_ptr, half, 4);
        b.endless_loop(
            |b, label| {
                let distance = b.load(distance_ptr, Type::I32, 4);
                let done = equal(b, distance, 0);
                b.if_else(done, |b| b.push(Op::break_(label)), |_| {});
                let takes_part = b.compare(CmpOp::ULt, t, distance);
                b.if_else(
                    takes_part,
                    |b| {
                        let partner = add(b, t, distance);
                        let other = load_i32(b, shared, partner);
                        let own = load_i32(b, shared, t);
                        let sum = add(b, own, other);
                        store_at(b, shared, t, sum);
                    },
                    |_| {},
                );
                b.push(Op::Barrier(BarrierScope::Threadgroup, None));
            },
            |b, _| {
                let distance = b.load(distance_ptr, Type::I32, 4);
                let one = b.i32(1);
                let half = b.binary(BinOp::LShr, distance, one);
                b.store(distance_ptr, half, 4);
            },
        );
        let first = equal(b, t, 0);
        b.if_else(
            first,
            |b| {
                let group = b.query(Query::ThreadgroupPositionInGrid(0));
                let zero = b.i32(0);
                let sum = load_i32(b, shared, zero);
                store_at(b, p[1], group, sum);
            },
            |_| {},
        );
    });
    let values: Vec<i32> = (0..512).map(|n| n * 7 % 31).collect();
    let mut input = bytes_i32(&values);
    let mut output = bytes_i32(&[0; 4]);
    let mut memory = Memory::new().bind(&mut input).bind(&mut output);
    let report = run_k(&module, grid(512, 128), &mut memory).expect("it runs");
    assert!(report.is_clean());
    assert_eq!(i32s(&output), values.chunks(128).map(|group| group.iter().sum()).collect::<Vec<i32>>());
}

#[test]
fn returned_threads_do_not_take_part_in_barriers() {
    let module = kernel(&[Space::Device, Space::Threadgroup], |b, p| {
        let t = thread_in_group(b);
        let high = less(b, t, 40);
        b.if_else(high, |_| {}, |b| b.push(Op::Return(None)));
        store_at(b, p[1], t, t);
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        let last = b.i32(39);
        let mirrored = b.binary(BinOp::Sub, last, t);
        let value = load_i32(b, p[1], mirrored);
        store_at(b, p[0], t, value);
    });
    let mut buffer = bytes_i32(&[-1; 96]);
    let mut memory = Memory::new().bind(&mut buffer).threadgroup(160);
    let report = run_k(&module, grid(96, 96), &mut memory).expect("it runs");
    assert!(report.is_clean(), "{report:?}");
    let expected: Vec<i32> = (0..96).map(|t| if t < 40 { 39 - t } else { -1 }).collect();
    assert_eq!(i32s(&buffer), expected);
}

#[test]
fn different_barriers_are_an_error_and_partial_ones_a_finding() {
    let module = |split: i32| {
        kernel(&[], |b, _| {
            let t = thread_in_group(b);
            let low = less(b, t, split);
            b.if_else(
                low,
                |b| {
                    b.loc = line(3);
                    b.push(Op::Barrier(BarrierScope::Threadgroup, None));
                },
                |b| {
                    b.loc = line(5);
                    b.push(Op::Barrier(BarrierScope::Threadgroup, None));
                },
            );
        })
    };
    let result = run_k(&module(32), grid(64, 64), &mut Memory::new());
    let Err(InterpError::DivergentBarrier(divergent)) = result else { panic!("{result:?}") };
    assert_eq!((divergent.first.line, divergent.second.line), (3, 5));
    assert_eq!((divergent.first_thread.index_in_group, divergent.second_thread.index_in_group), (0, 32));

    let report = run_k(&module(8), grid(32, 32), &mut Memory::new()).expect("it goes on");
    assert_eq!(report.partial_barrier_count, 2);
    assert_eq!((report.partial_barriers[0].arrived, report.partial_barriers[0].missing), (0xff, !0xff));
}

#[test]
fn simd_operations_see_the_active_lanes_only() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let sum_all = b.infer(Op::Simd(SimdOp::Sum, vec![x]));
        let odd = has_bits(b, x, 1);
        b.if_else(
            odd,
            |b| {
                let sum = b.infer(Op::Simd(SimdOp::Sum, vec![x]));
                store_at(b, p[0], x, sum);
            },
            |b| {
                let before = b.infer(Op::Simd(SimdOp::PrefixExclusiveSum, vec![x]));
                let both = add(b, before, sum_all);
                store_at(b, p[0], x, both);
            },
        );
    });
    // The second SIMD-group has 8 lanes: 32..40.
    let result = run_i32(&module, grid(40, 64), 40);
    assert_eq!(result[1], (1..32).step_by(2).sum::<i32>());
    assert_eq!(result[6], 2 + 4 + (0..32).sum::<i32>());
    assert_eq!(result[33], 33 + 35 + 37 + 39);
    assert_eq!(result[38], 32 + 34 + 36 + (32..40).sum::<i32>());
}

#[test]
fn simd_operations_work_on_vectors() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let minus = b.unary(anymetal_ir::UnOp::INeg, x);
        let pair = b.value(Op::Compose(vec![x, minus]), Type::Vector(Scalar::I32, 2));
        let max = b.infer(Op::Simd(SimdOp::SMax, vec![pair]));
        let first = b.infer(Op::Extract(max, 0));
        let second = b.infer(Op::Extract(max, 1));
        let hundred = b.i32(100);
        let first = b.binary(BinOp::Mul, first, hundred);
        let both = add(b, first, second);
        store_at(b, p[0], x, both);
    });
    assert_eq!(run_i32(&module, grid(32, 32), 32), vec![3100; 32]);
}

#[test]
fn atomics_of_all_threads_add_up() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let one = b.i32(1);
        b.infer(Op::AtomicRmw(AtomicOp::Add, p[0], one));
        let max_at = b.ptr_offset(p[0], 4);
        b.infer(Op::AtomicRmw(AtomicOp::UMax, max_at, x));
        let cas_at = b.ptr_offset(p[0], 8);
        let minus = b.i32(-1);
        let seen = b.infer(Op::AtomicCas(cas_at, minus, x));
        let won = b.compare(CmpOp::Eq, seen, minus);
        let winners = b.ptr_offset(p[0], 12);
        b.if_else(won, |b| b.push(Op::AtomicStore(winners, x)), |_| {});
        let back = b.value(Op::AtomicLoad(winners), Type::I32);
        let last = b.ptr_offset(p[0], 16);
        b.push(Op::AtomicStore(last, back));
    });
    let mut buffer = bytes_i32(&[0, 0, -1, -1, -1]);
    run_k(&module, grid(100, 64), &mut Memory::new().bind(&mut buffer)).expect("it runs");
    assert_eq!(i32s(&buffer), [100, 99, 0, 0, 0]);
}

#[test]
fn a_simd_group_may_wait_for_another_through_memory() {
    // SIMD-group 0 spins until SIMD-group 1 has set the flag.
    let module = kernel(&[Space::Device], |b, p| {
        let t = thread_in_group(b);
        let first = less(b, t, 32);
        b.if_else(
            first,
            |b| {
                b.endless_loop(
                    |b, label| {
                        let flag = b.value(Op::AtomicLoad(p[0]), Type::I32);
                        let set = equal(b, flag, 1);
                        b.if_else(set, |b| b.push(Op::break_(label)), |_| {});
                    },
                    |_, _| {},
                );
            },
            |b| {
                let one = b.i32(1);
                b.push(Op::AtomicStore(p[0], one));
            },
        );
    });
    assert_eq!(run_i32(&module, grid(64, 64), 1), [1]);
}

#[test]
fn matrix_products_follow_the_lane_layout() {
    let vector = Type::Vector(Scalar::F32, 2);
    let module = kernel(&[Space::Device; 4], |b, p| {
        let stride = b.i64(8);
        let wide = b.i64(10);
        let load = |transpose| Op::Matrix(MatrixOp::Load { transpose }, vec![p[0], stride]);
        let a = b.value(load(false), vector);
        let bt = b.value(Op::Matrix(MatrixOp::Load { transpose: true }, vec![p[1], wide]), vector);
        let c = b.value(Op::Matrix(MatrixOp::Load { transpose: false }, vec![p[2], stride]), vector);
        let d = b.infer(Op::Matrix(MatrixOp::MultiplyAccumulate, vec![a, bt, c]));
        b.push(Op::Matrix(MatrixOp::Store { transpose: false }, vec![p[3], stride, d]));
    });
    let a: Vec<f32> = (0..64).map(|n| (n % 7) as f32).collect();
    let bt: Vec<f32> = (0..80).map(|n| (n % 5) as f32 - 1.0).collect();
    let c: Vec<f32> = (0..64).map(|n| n as f32).collect();
    let (mut a_bytes, mut b_bytes, mut c_bytes) = (bytes_f32(&a), bytes_f32(&bt), bytes_f32(&c));
    let mut d_bytes = vec![0; 256];
    let mut memory =
        Memory::new().bind(&mut a_bytes).bind(&mut b_bytes).bind(&mut c_bytes).bind(&mut d_bytes);
    assert!(run_k(&module, grid(32, 32), &mut memory).expect("it runs").is_clean());
    let expected: Vec<f32> = (0..64)
        .map(|n| {
            let (row, col) = (n / 8, n % 8);
            c[n] + (0..8).map(|k| a[row * 8 + k] * bt[col * 10 + k]).sum::<f32>()
        })
        .collect();
    assert_eq!(f32s(&d_bytes), expected);
}
