//! Vectors, conversions, half precision, pointers that differ between lanes, constant data.

mod support;

use anymetal_interp::{Argument, Memory};
use anymetal_ir::{BinOp, CastOp, CmpOp, Global, MathFn, Module, Op, Scalar, SimdOp, Space, Type};
use support::*;

const I32X4: Type = Type::Vector(Scalar::I32, 4);

#[test]
fn vectors_are_built_picked_and_changed() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let ten = b.i32(10);
        let pair = b.value(Op::Compose(vec![x, ten]), Type::Vector(Scalar::I32, 2));
        let vector = b.value(Op::Compose(vec![pair, x, ten]), I32X4); // x 10 x 10
        let next = add_const(b, x, 1);
        let vector = b.infer(Op::Insert(vector, 3, next)); // x 10 x x+1
        let vector = b.infer(Op::InsertDynamic(vector, x, ten)); // element x % 4 becomes 10
        let swapped = b.value(Op::Shuffle(vector, vector, vec![3, 2, 5, 4]), I32X4);
        let picked = b.infer(Op::ExtractDynamic(swapped, x));
        let index = {
            let five = b.i32(5);
            b.binary(BinOp::Mul, x, five)
        };
        let ptr = element(b, p[0], index);
        b.store(ptr, swapped, 4);
        let last = b.ptr_offset(ptr, 16);
        b.store(last, picked, 4);
    });
    let result = run_i32(&module, grid(6, 6), 30);
    for x in 0..6usize {
        let n = x as i32;
        let mut vector = [n, 10, n, n + 1];
        vector[x % 4] = 10;
        let swapped = [vector[3], vector[2], vector[1], vector[0]];
        assert_eq!(result[x * 5..][..4], swapped, "thread {x}");
        assert_eq!(result[x * 5 + 4], swapped[x % 4], "thread {x}");
    }
}

#[test]
fn bits_are_seen_as_other_types() {
    let module = kernel(&[Space::Device], |b, p| {
        let bits = b.i32(0x3f80_8001u32 as i32);
        let bytes = b.cast(CastOp::Bitcast, bits, Type::Vector(Scalar::I8, 4));
        let top = b.infer(Op::Extract(bytes, 3));
        let top = b.cast(CastOp::ZExt, top, Type::I32);
        b.store(p[0], top, 4);
        let second = b.infer(Op::Extract(bytes, 1));
        let second = b.cast(CastOp::SExt, second, Type::I32);
        let ptr = b.ptr_offset(p[0], 4);
        b.store(ptr, second, 4);
        let back = b.cast(CastOp::Bitcast, bytes, Type::F32);
        let ptr = b.ptr_offset(p[0], 8);
        b.store(ptr, back, 4);
    });
    assert_eq!(run_i32(&module, grid(1, 1), 3), [0x3f, -128, 0x3f80_8001]);
}

#[test]
fn half_precision_rounds_each_result() {
    let module = kernel(&[Space::Device], |b, p| {
        let f16 = Type::Scalar(Scalar::F16);
        let x = b.load(p[0], f16, 2);
        let ptr = b.ptr_offset(p[0], 2);
        let y = b.load(ptr, f16, 2);
        let sum = b.binary(BinOp::FAdd, x, y);
        b.store(p[0], sum, 2);
        let root = b.math(MathFn::Rsqrt, vec![y]);
        b.store(ptr, root, 2);
    });
    let half = |x: f32| half::f16::from_f32(x).to_bits().to_le_bytes();
    let mut buffer = [half(2048.0), half(4.0)].concat();
    run_k(&module, grid(1, 1), &mut Memory::new().bind(&mut buffer)).expect("it runs");
    assert_eq!(buffer, [half(2052.0), half(0.5)].concat());
    let mut buffer = [half(2048.0), half(1.0)].concat();
    run_k(&module, grid(1, 1), &mut Memory::new().bind(&mut buffer)).expect("it runs");
    // 2049 is a tie between 2048 and 2050.
    assert_eq!(buffer, [half(2048.0), half(1.0)].concat());
}

#[test]
fn lanes_may_point_into_different_memory() {
    let mut module = Module::new();
    module.globals.push(Global { name: "table".to_owned(), bytes: bytes_i32(&[7, 8, 9]), align: 4 });
    add_kernel(&mut module, &[Space::Device, Space::Device], |b, p| {
        let x = thread_x(b);
        let odd = has_bits(b, x, 1);
        let chosen = b.infer(Op::Select(odd, p[0], p[1]));
        b.loc = line(3);
        let old = load_i32(b, chosen, x);
        let three = b.i32(3);
        let index = b.binary(BinOp::URem, x, three);
        let table = b.infer(Op::GlobalAddr(anymetal_ir::GlobalId(0)));
        let entry = load_i32(b, table, index);
        let sum = add(b, old, entry);
        store_at(b, chosen, x, sum);
    });
    let (mut first, mut second) = (bytes_i32(&[100; 8]), bytes_i32(&[200; 7]));
    let mut memory = Memory::new().bind(&mut first).bind(&mut second);
    let report = run_k(&module, grid(9, 9), &mut memory).expect("it runs");
    assert_eq!(i32s(&first), [100, 108, 100, 107, 100, 109, 100, 108]);
    assert_eq!(i32s(&second), [207, 200, 209, 200, 208, 200, 207]);
    // Thread 8 is out of the second buffer, twice.
    let faults: Vec<_> = report.faults.iter().map(|f| (f.offset, f.bound, f.thread.lane)).collect();
    assert_eq!(faults, [(32, 28, 8), (32, 28, 8)]);
}

#[test]
fn unused_results_and_bool_memory() {
    let module = kernel(&[Space::Device], |b, p| {
        let byte = Type::BOOL;
        let flag = b.load(p[0], byte, 1);
        let not = b.unary(anymetal_ir::UnOp::Not, flag);
        b.store(p[0], not, 1);
        b.infer(Op::Simd(SimdOp::ActiveMask, vec![]));
        b.infer(Op::Simd(SimdOp::Any, vec![flag]));
        let x = b.i64(-1);
        let shifted = b.binary(BinOp::AShr, x, x);
        let same = b.compare(CmpOp::Eq, shifted, x);
        let ptr = b.ptr_offset(p[0], 1);
        b.store(ptr, same, 1);
    });
    let mut buffer = vec![4, 9];
    run_k(&module, grid(1, 1), &mut Memory::new().bind(&mut buffer)).expect("it runs");
    assert_eq!(buffer, [0, 1]);
}

#[test]
fn a_disabled_argument_is_null_whatever_is_bound() {
    let mut module = kernel(&[Space::Device, Space::Device], |b, p| {
        let null = b.value(Op::Const(0), Type::Ptr(Space::Device));
        let absent = b.compare(CmpOp::Eq, p[1], null);
        b.store(p[0], absent, 1);
    });
    module.kernels[0].args[1].enabled = false;
    let (mut first, mut second) = (vec![9], vec![9]);
    let mut memory = Memory::new().bind(&mut first).bind(&mut second);
    run_k(&module, grid(1, 1), &mut memory).expect("it runs");
    assert_eq!((first[0], second[0]), (1, 9));
}

/// Whether the interpreter finds two arguments disjoint that are bound to bytes of a buffer of 16 bytes.
fn are_disjoint(whole_buffers: bool, a: std::ops::Range<u64>, b: std::ops::Range<u64>) -> bool {
    let mut module = kernel(&[Space::Device; 3], |b, params| {
        let disjoint = b.compare(CmpOp::Disjoint, params[0], params[1]);
        let word = b.cast(CastOp::ZExt, disjoint, Type::I32);
        b.store(params[2], word, 4);
    });
    module.whole_buffers = whole_buffers;
    let (mut bytes, mut result) = ([0; 16], [0; 4]);
    let bound = |buffer, bytes: std::ops::Range<u64>| Argument::Buffer {
        buffer,
        offset: bytes.start,
        len: bytes.end - bytes.start,
    };
    let mut memory = Memory {
        buffers: vec![&mut bytes, &mut result],
        arguments: vec![bound(0, a), bound(0, b), bound(1, 0..4)],
        ..Memory::new()
    };
    let report = run_k(&module, grid(1, 1), &mut memory).expect("it runs");
    assert!(report.is_clean(), "{report:?}");
    result[0] == 1
}

#[test]
fn arguments_are_disjoint_unless_they_are_bound_to_common_bytes() {
    assert!(are_disjoint(false, 0..8, 8..16));
    assert!(are_disjoint(false, 12..16, 4..8));
    assert!(!are_disjoint(false, 0..16, 0..16));
    assert!(!are_disjoint(false, 0..8, 4..16));
    assert!(!are_disjoint(false, 8..12, 4..16));
    // The second argument may be accessed from the buffer's first byte on.
    assert!(!are_disjoint(true, 0..8, 8..16));
}
