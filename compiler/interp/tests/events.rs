//! What observers are told: accesses of all lanes as one event, arithmetic, returns.

mod support;

use anymetal_interp::{
    Access, AccessOp, Accesses, ArithmeticKind, ArithmeticLint, AtomicKind, Interests, LanesExit, Memory,
    MemoryPlace, Observer, Variable,
};
use anymetal_ir::{AtomicOp, BinOp, CastOp, MathFn, MatrixOp, Op, Scalar, Space, Type};
use support::*;

/// Keeps what it is told of accesses: of all lanes, or (`lanes`) of each.
#[derive(Default)]
struct Batches {
    events: Vec<(AccessOp, u32, Option<Variable>)>,
    accesses: Vec<Access>,
    copies: Vec<(Access, Access)>,
}

impl Observer for Batches {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        self.events.push((accesses.op, accesses.lanes, accesses.common_variable()));
        self.accesses.extend(accesses.each_lane().map(|lane| accesses.access(lane)));
    }

    fn on_copies(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        assert_eq!(source.lanes, target.lanes);
        self.copies.extend(target.each_lane().map(|lane| (source.access(lane), target.access(lane))));
    }
}

/// Implements only the events of single lanes.
#[derive(Default)]
struct Single {
    accesses: Vec<Access>,
    atomics: Vec<AtomicKind>,
    copies: Vec<(Access, Access)>,
}

impl Observer for Single {
    fn interests(&self) -> Interests {
        Interests { shared: true, ..Interests::default() }
    }

    fn on_load(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn on_store(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        self.accesses.push(*access);
        self.atomics.push(kind);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.copies.push((*source, *target));
    }
}

/// Both of them, told of the same run.
#[derive(Default)]
struct Both {
    batches: Batches,
    single: Single,
}

impl Observer for Both {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        self.batches.on_accesses(accesses);
        self.single.on_accesses(accesses);
    }

    fn on_copies(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        self.batches.on_copies(source, target);
        self.single.on_copies(source, target);
    }
}

#[test]
fn accesses_of_all_lanes_are_one_event() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let value = load_i32(b, p[0], x);
        let more = add_const(b, value, 100);
        let low = less(b, x, 8);
        b.if_else(low, |b| store_at(b, p[0], x, more), |_| {});
        b.infer(Op::AtomicRmw(AtomicOp::Add, p[0], x));
        let zero = b.i32(0);
        b.infer(Op::AtomicCas(p[0], zero, x));
    });
    let mut buffer = bytes_i32(&(0..40).collect::<Vec<_>>());
    let mut both = Both::default();
    observe(&module, grid(40, 64), &mut Memory::new().bind(&mut buffer), &mut both).expect("it runs");
    let Both { batches, single } = both;
    let all = Some(Variable::Argument(0));
    let expected = [
        (AccessOp::Load, u32::MAX, all),
        (AccessOp::Store, 0xff, all),
        (AccessOp::AtomicRmw, u32::MAX, all),
        (AccessOp::AtomicCas, u32::MAX, all),
        (AccessOp::Load, 0xff, all),
        (AccessOp::AtomicRmw, 0xff, all),
        (AccessOp::AtomicCas, 0xff, all),
    ];
    assert_eq!(batches.events, expected);
    assert_eq!(batches.accesses, single.accesses);
    assert_eq!(single.atomics, [AtomicKind::ReadModifyWrite; 80]);
    let store = &batches.accesses[32 + 5];
    assert_eq!((store.thread.lane, store.offset), (5, 20));
    assert_eq!(store.place, MemoryPlace::Buffer { buffer: 0, offset: 20 });
    assert_eq!(store.before.as_slice(), 5i32.to_le_bytes());
    assert_eq!(store.written.as_slice(), 105i32.to_le_bytes());
}

#[test]
fn copies_and_zeros_say_what_they_write() {
    let module = kernel(&[Space::Device], |b, p| {
        let target = b.ptr_offset(p[0], 16);
        b.mem_copy(target, p[0], 8, 4);
        b.mem_zero(p[0], 4, 4);
        let beyond = b.ptr_offset(p[0], 1 << 20);
        b.mem_copy(target, beyond, 4, 4);
    });
    let mut buffer = bytes_i32(&[1, 2, 3, 4, 5, 6]);
    let mut both = Both::default();
    observe(&module, grid(1, 1), &mut Memory::new().bind(&mut buffer), &mut both).expect("it runs");
    let Both { batches, single } = both;
    assert_eq!(i32s(&buffer), [0, 2, 3, 4, 0, 2]);
    assert_eq!((&batches.accesses, &batches.copies), (&single.accesses, &single.copies));
    let [(source, target)] = batches.copies[..] else { panic!("{:?}", batches.copies) };
    assert_eq!((source.offset, target.offset), (0, 16));
    assert_eq!(target.written.as_slice(), bytes_i32(&[1, 2]));
    assert_eq!(target.before.as_slice(), bytes_i32(&[5, 6]));
    let zeros: Vec<_> = batches.accesses.iter().map(|access| (access.offset, access.written)).collect();
    assert_eq!(zeros.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [0, 16]);
    assert!(zeros.iter().all(|(_, written)| written.as_slice() == [0; 4]));
}

#[test]
fn matrix_stores_say_what_they_write() {
    let module = kernel(&[Space::Device; 2], |b, p| {
        let stride = b.i64(8);
        let vector = Type::Vector(Scalar::F32, 2);
        let m = b.value(Op::Matrix(MatrixOp::Load { transpose: false }, vec![p[0], stride]), vector);
        b.push(Op::Matrix(MatrixOp::Store { transpose: true }, vec![p[1], stride, m]));
    });
    let values: Vec<f32> = (0..64).map(|n| n as f32).collect();
    let (mut input, mut output) = (bytes_f32(&values), bytes_f32(&[0.0; 64]));
    let mut batches = Batches::default();
    let mut memory = Memory::new().bind(&mut input).bind(&mut output);
    observe(&module, grid(32, 32), &mut memory, &mut batches).expect("it runs");
    let stores: Vec<&Access> =
        batches.accesses.iter().filter(|access| access.variable == Variable::Argument(1)).collect();
    assert_eq!(stores.len(), 64);
    for store in stores {
        assert_eq!(store.written.as_slice(), &output[store.offset as usize..][..4]);
    }
}

#[derive(Default)]
struct Lints {
    found: Vec<(ArithmeticKind, u32, [u64; 3])>,
    exits: Vec<(u32, u32)>,
    is_interested: bool,
}

impl Observer for Lints {
    fn interests(&self) -> Interests {
        Interests { arithmetic: self.is_interested, lanes: self.is_interested, ..Interests::default() }
    }

    fn on_arithmetic(&mut self, lint: &ArithmeticLint) {
        assert_eq!(lint.thread.lane, lint.lanes.trailing_zeros());
        self.found.push((lint.kind, lint.lanes, lint.operands));
    }

    fn on_exit(&mut self, exit: &LanesExit) {
        self.exits.push((exit.lanes, exit.loc.line));
    }
}

fn lints(build: impl FnOnce(&mut anymetal_ir::Builder<'_>, &[anymetal_ir::Value])) -> Lints {
    let module = kernel(&[Space::Device], build);
    let mut runs = [true, false].map(|is_interested| {
        let mut buffer = vec![0; 256];
        let mut observer = Lints { is_interested, ..Lints::default() };
        observe(&module, grid(32, 32), &mut Memory::new().bind(&mut buffer), &mut observer).expect("it runs");
        (observer, buffer)
    });
    assert_eq!(runs[0].1, runs[1].1, "lints change nothing");
    assert!(runs[1].0.found.is_empty() && runs[1].0.exits.is_empty());
    std::mem::take(&mut runs[0].0)
}

#[test]
fn divisions_by_zero_and_shifts_by_too_much_are_told() {
    // Fast forms, and those that are evaluated lane by lane.
    for (op, by, kind) in [
        (BinOp::UDiv, 0, ArithmeticKind::DivisionByZero),
        (BinOp::SDiv, 0, ArithmeticKind::DivisionByZero),
        (BinOp::URem, 0, ArithmeticKind::DivisionByZero),
        (BinOp::SRem, 0, ArithmeticKind::DivisionByZero),
        (BinOp::Shl, 32, ArithmeticKind::ShiftOverflow),
        (BinOp::LShr, 40, ArithmeticKind::ShiftOverflow),
        (BinOp::AShr, -1, ArithmeticKind::ShiftOverflow),
    ] {
        let found = lints(|b, p| {
            let x = thread_x(b);
            let is_four = equal(b, x, 4);
            let (by, one) = (b.i32(by), b.i32(1));
            let right = b.infer(Op::Select(is_four, by, one));
            let result = b.binary(op, x, right);
            store_at(b, p[0], x, result);
        });
        assert_eq!(found.found, [(kind, 1 << 4, [4, u64::from(by as u32), 0])], "{op:?}");
    }
    let narrow = lints(|b, p| {
        let x = thread_x(b);
        let narrow = b.cast(CastOp::Trunc, x, Type::Scalar(Scalar::I16));
        let result = b.binary(BinOp::Shl, narrow, narrow);
        let index = b.cast(CastOp::ZExt, result, Type::I32);
        let zero = b.i32(0);
        store_at(b, p[0], zero, index);
    });
    assert_eq!(narrow.found, [(ArithmeticKind::ShiftOverflow, 0xffff_0000, [16, 16, 0])]);
}

#[test]
fn a_nan_is_told_where_it_appears() {
    let found = lints(|b, p| {
        let x = thread_x(b);
        let x_f = b.cast(CastOp::UToF, x, Type::F32);
        let two = b.f32(2.0);
        let below_zero = b.binary(BinOp::FSub, x_f, two);
        // Lanes 0 and 1; what follows only passes the NaN on.
        let root = b.math(MathFn::Sqrt, vec![below_zero]);
        let sum = b.binary(BinOp::FAdd, root, two);
        let product = b.math(MathFn::Fma, vec![sum, two, two]);
        // Lane 2.
        let quotient = b.binary(BinOp::FDiv, below_zero, below_zero);
        let logarithm = b.math(MathFn::Log, vec![below_zero]);
        for value in [product, quotient, logarithm] {
            store_at(b, p[0], x, value);
        }
    });
    let kinds: Vec<_> = found.found.iter().map(|(kind, lanes, _)| (*kind, *lanes)).collect();
    let nan = ArithmeticKind::NanProduced;
    assert_eq!(kinds, [(nan, 0b11), (nan, 0b100), (nan, 0b11)]);
}

#[test]
fn inactive_lanes_have_no_lints() {
    let found = lints(|b, p| {
        let x = thread_x(b);
        let zero = b.i32(0);
        let is_zero = equal(b, x, 0);
        b.if_else(
            is_zero,
            |_| {},
            |b| {
                let quotient = b.binary(BinOp::UDiv, zero, x);
                store_at(b, p[0], x, quotient);
            },
        );
    });
    assert_eq!(found.found, []);
}

#[test]
fn returns_are_told_once_for_each_lane() {
    let found = lints(|b, _| {
        let x = thread_x(b);
        let low = less(b, x, 8);
        b.loc = line(7);
        b.if_else(low, |b| b.push(Op::Return(None)), |_| {});
        b.loc = line(9);
        b.push(Op::Return(None));
    });
    let mut told = 0;
    for (lanes, _) in &found.exits {
        assert_eq!(told & lanes, 0, "{:?}", found.exits);
        told |= lanes;
    }
    assert_eq!(told, u32::MAX);
    assert_eq!(found.exits[0], (0xff, 7));
}
