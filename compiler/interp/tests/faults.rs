//! Faults, limits and the trace.

mod support;

use std::sync::atomic::AtomicU32;

use anymetal_interp::{
    AccessKind, Argument, Fault, Interests, InterpError, Limits, Memory, NoObserver, Observer, Program,
    Trace, Variable, run,
};
use anymetal_ir::{BarrierScope, CastOp, CmpOp, Module, Op, Space, ThreadgroupId, ThreadgroupVar, Type};
use support::*;

/// Every fault that it is told of.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Observer for Faults {
    fn on_fault(&mut self, fault: &Fault) {
        self.0.push(*fault);
    }
}

#[test]
fn accesses_out_of_bounds_are_dropped_read_zero_and_are_reported() {
    let module = kernel(&[Space::Device, Space::Device], |b, p| {
        let x = thread_x(b);
        b.loc = line(7);
        let value = load_i32(b, p[0], x);
        let value = add_const(b, value, 1);
        b.loc = line(8);
        store_at(b, p[1], x, value);
    });
    let (mut input, mut output) = (bytes_i32(&[10; 60]), bytes_i32(&[0; 64]));
    let mut told = Faults::default();
    let mut memory = Memory::new().bind(&mut input).bind(&mut output);
    // The second argument is bound to elements 2..60 of its buffer.
    memory.arguments[1] = Argument::Buffer { buffer: 1, offset: 8, len: 232 };
    let report = observe(&module, grid(64, 64), &mut memory, &mut told).expect("it goes on");
    assert_eq!(report.fault_count, 4 + 6);
    let first = report.faults[0];
    assert_eq!((first.kind, first.variable, first.loc.line), (AccessKind::Load, Variable::Argument(0), 7));
    assert_eq!((first.offset, first.bound, first.bytes), (240, 240, 4));
    assert_eq!((first.thread.index_in_group, first.thread.simdgroup, first.thread.lane), (60, 1, 28));
    let places = told.0.iter().map(|fault| (fault.kind, fault.offset, fault.loc.line));
    let loads = [240, 244, 248, 252].map(|offset| (AccessKind::Load, offset, 7));
    let stores = [232, 236, 240, 244, 248, 252].map(|offset| (AccessKind::Store, offset, 8));
    assert_eq!(places.collect::<Vec<_>>(), [&loads[..], &stores[..]].concat());
    let output = i32s(&output);
    assert_eq!((output[1], output[2], output[59], output[60], output[63]), (0, 11, 11, 0, 0));
}

#[test]
fn unbound_arguments_equal_null_and_fault_with_their_name() {
    let module = kernel(&[Space::Device, Space::Device], |b, p| {
        let null = b.value(Op::Const(0), Type::Ptr(Space::Device));
        let is_null = b.compare(CmpOp::Eq, p[0], null);
        let is_null = b.cast(CastOp::ZExt, is_null, Type::I32);
        b.store(p[1], is_null, 4);
        b.loc = line(4);
        let before = b.ptr_offset(p[0], -4);
        let value = b.load(before, Type::I32, 4);
        let second = b.ptr_offset(p[1], 4);
        b.store(second, value, 4);
    });
    let mut output = bytes_i32(&[9, 9]);
    let program = Program::new(&module, "k").expect("it is well formed");
    let mut memory = Memory::new().unbound().bind(&mut output);
    let report =
        run(&program, &grid(1, 1), &mut memory, Limits::default(), &mut NoObserver).expect("goes on");
    assert_eq!(i32s(&output), [1, 0]);
    let fault = report.faults[0];
    assert_eq!((fault.offset, fault.bound, program.variable_name(fault.variable)), (-4, 0, "a"));
    assert_eq!(program.position(fault.loc), "test.metal:4:1");
}

#[test]
fn pointers_survive_memory_and_forged_ones_fault() {
    let module = kernel(&[Space::Device, Space::Device], |b, p| {
        let slot = b.func.add_local("slot", 8, 8);
        let slot = b.local_addr(slot);
        let behind = b.ptr_offset(p[0], 64);
        b.store(slot, behind, 8);
        let loaded = b.load(slot, Type::Ptr(Space::Device), 8);
        let back = b.ptr_offset(loaded, -60);
        let value = b.load(back, Type::I32, 4);
        b.store(p[1], value, 4);
        let forged = b.i64(0x1234_5678_9abc_def0);
        let forged = b.cast(CastOp::IntToPtr, forged, Type::Ptr(Space::Device));
        b.store(forged, value, 4);
    });
    let (mut input, mut output) = (bytes_i32(&[5, 6]), bytes_i32(&[0]));
    let mut memory = Memory::new().bind(&mut input).bind(&mut output);
    let report = run_k(&module, grid(1, 1), &mut memory).expect("it goes on");
    assert_eq!(i32s(&output), [6]);
    assert_eq!((report.fault_count, report.faults[0].variable), (1, Variable::Address));
}

#[test]
fn constant_memory_is_not_written_and_copies_check_both_sides() {
    let module = kernel(&[Space::Constant, Space::Device], |b, p| {
        let one = b.i32(1);
        // The verifier refuses a store to constant memory; a pointer made of bits gets past it.
        let bits = b.cast(CastOp::PtrToInt, p[0], Type::I64);
        let forged = b.cast(CastOp::IntToPtr, bits, Type::Ptr(Space::Device));
        b.store(forged, one, 4);
        b.mem_copy(p[1], p[0], 8, 4);
        let far = b.ptr_offset(p[0], 4);
        let second = b.ptr_offset(p[1], 8);
        b.mem_copy(second, far, 8, 4);
        let end = b.ptr_offset(p[1], 12);
        b.mem_zero(end, 8, 4);
    });
    let (mut input, mut output) = (bytes_i32(&[5, 6]), bytes_i32(&[-1; 4]));
    let mut memory = Memory::new().bind(&mut input).bind(&mut output);
    let report = run_k(&module, grid(1, 1), &mut memory).expect("it goes on");
    assert_eq!(i32s(&input), [5, 6]);
    assert_eq!(i32s(&output), [5, 6, 6, 0]);
    let kinds: Vec<_> = report.faults.iter().map(|fault| (fault.kind, fault.offset)).collect();
    assert_eq!(kinds, [(AccessKind::Store, 0), (AccessKind::Load, 8), (AccessKind::Store, 16)]);
}

fn endless() -> Module {
    kernel(&[], |b, _| b.endless_loop(|_, _| {}, |_, _| {}))
}

#[test]
fn an_endless_loop_is_stopped_by_the_budget_and_by_the_flag() {
    let program = Program::new(&endless(), "k").expect("it is well formed");
    let limits = Limits { max_steps: 10_000, ..Limits::default() };
    let result = run(&program, &grid(1, 1), &mut Memory::new(), limits, &mut NoObserver);
    assert_eq!(result, Err(InterpError::BudgetExceeded { budget: 10_000 }));
    let stop = AtomicU32::new(1);
    let limits = Limits { stop: Some(&stop), ..Limits::default() };
    let result = run(&program, &grid(1, 1), &mut Memory::new(), limits, &mut NoObserver);
    assert_eq!(result, Err(InterpError::Stopped));
}

#[test]
fn a_flag_set_from_another_thread_stops_the_run() {
    let program = Program::new(&endless(), "k").expect("it is well formed");
    let stop = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| {
            let limits = Limits { stop: Some(&stop), ..Limits::default() };
            run(&program, &grid(100, 64), &mut Memory::new(), limits, &mut NoObserver)
        });
        stop.store(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(runner.join().expect("no panic"), Err(InterpError::Stopped));
    });
}

#[test]
fn arguments_are_checked_before_anything_runs() {
    let module = kernel(&[Space::Device, Space::Threadgroup], |_, _| {});
    let mut bytes = vec![0; 8];
    let wrong_count = run_k(&module, grid(1, 1), &mut Memory::new().bind(&mut bytes));
    assert_eq!(wrong_count, Err(InterpError::ArgumentCount { expected: 2, given: 1 }));
    let wrong_kind = run_k(&module, grid(1, 1), &mut Memory::new().threadgroup(4).bind(&mut bytes));
    assert_eq!(wrong_kind, Err(InterpError::ArgumentKind { name: "a".to_owned() }));
    let mut memory = Memory::new().bind(&mut bytes).threadgroup(4);
    memory.arguments[0] = Argument::Buffer { buffer: 0, offset: u64::MAX, len: 8 };
    assert_eq!(
        run_k(&module, grid(1, 1), &mut memory),
        Err(InterpError::InvalidBinding { name: "a".into() })
    );
}

#[test]
fn oversized_locals_are_refused() {
    let with_local = |size: u64| {
        kernel(&[], |b, _| {
            b.func.add_local("big", size, 16);
        })
    };
    let error = Program::new(&with_local(u64::MAX), "k").expect_err("too large");
    assert!(matches!(error, InterpError::TooLarge { what: "a local variable", .. }), "{error}");
    let result = run_k(&with_local(8 << 20), grid(1024, 1024), &mut Memory::new());
    assert!(matches!(result, Err(InterpError::TooLarge { .. })), "{result:?}");
}

#[test]
fn undefined_memory_has_a_recognisable_pattern() {
    let mut module = Module::new();
    module.threadgroup_vars.push(ThreadgroupVar { name: "tile".to_owned(), size: 64, align: 4 });
    add_kernel(&mut module, &[Space::Device], |b, p| {
        let x = thread_x(b);
        let local = b.func.add_local("local", 4, 4);
        b.push(Op::LocalStart(local));
        let local = b.local_addr(local);
        let tile = b.infer(Op::ThreadgroupAddr(ThreadgroupId(0)));
        let (first, second) = (b.load(local, Type::I32, 4), b.load(tile, Type::I32, 4));
        let sum = add(b, first, second);
        store_at(b, p[0], x, sum);
    });
    let mut buffer = bytes_i32(&[0; 4]);
    run_k(&module, grid(4, 4), &mut Memory::new().bind(&mut buffer)).expect("it runs");
    let pattern = i32::from_le_bytes([0xa5; 4]);
    assert_eq!(i32s(&buffer), [pattern.wrapping_add(pattern); 4]);
}

#[test]
fn with_a_reserve_threadgroup_memory_ends_where_all_of_it_does() {
    let faults = |reserve: u64, offset: i64| {
        let mut module = Module::new();
        module.threadgroup_reserve = reserve;
        module.threadgroup_vars.push(ThreadgroupVar { name: "tile".to_owned(), size: 64, align: 4 });
        add_kernel(&mut module, &[Space::Device], |b, p| {
            let x = thread_x(b);
            let tile = b.infer(Op::ThreadgroupAddr(ThreadgroupId(0)));
            let beyond = b.ptr_offset(tile, offset);
            let value = b.load(beyond, Type::I32, 4);
            store_at(b, p[0], x, value);
        });
        let mut buffer = bytes_i32(&[0; 4]);
        let report = run_k(&module, grid(4, 4), &mut Memory::new().bind(&mut buffer)).expect("it runs");
        report.faults.len()
    };
    assert_eq!((faults(0, 60), faults(0, 64)), (0, 4));
    assert_eq!((faults(256, 64), faults(256, 252)), (0, 0));
    assert_eq!((faults(256, 256), faults(256, -4), faults(8, 64)), (4, 4, 4));
}

#[test]
fn with_a_reserve_accesses_outside_of_a_threads_array_are_dropped_in_silence() {
    let run = |reserve: u64| {
        let mut module = Module::new();
        module.threadgroup_reserve = reserve;
        add_kernel(&mut module, &[Space::Device], |b, p| {
            let x = thread_x(b);
            let local = b.func.add_local("array", 16, 4);
            let array = b.local_addr(local);
            b.store(array, x, 4);
            let before = b.ptr_offset(array, -4);
            b.store(before, x, 4);
            let beyond = b.ptr_offset(array, 16);
            let (first, zero) = (b.load(array, Type::I32, 4), b.load(beyond, Type::I32, 4));
            let sum = add(b, first, zero);
            store_at(b, p[0], x, sum);
        });
        let mut buffer = bytes_i32(&[9; 4]);
        let report = run_k(&module, grid(4, 4), &mut Memory::new().bind(&mut buffer)).expect("it runs");
        (report.faults.len(), i32s(&buffer))
    };
    assert_eq!((run(0), run(256)), ((8, vec![0, 1, 2, 3]), (0, vec![0, 1, 2, 3])));
}

#[test]
fn a_trace_is_cut_off_at_its_limit() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        b.loc = line(2);
        let odd = b.ptr_offset(p[0], 2);
        b.store(odd, x, 4);
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        let far = b.ptr_offset(p[0], 8);
        b.store(far, x, 4);
    });
    let mut buffer = vec![0; 8];
    let mut trace = Trace::new(4, Interests::ALL);
    observe(&module, grid(1, 1), &mut Memory::new().bind(&mut buffer), &mut trace).expect("it runs");
    assert_eq!(
        trace.text(),
        "dispatch k of [1, 1, 1] threads in groups of [1, 1, 1]\n\
         group [0, 0, 0] starts with [1, 1, 1] threads\n\
         group (0, 0, 0) thread (0, 0, 0) writes a+2 (4 bytes) at test.metal:2:1\n\
         group [0, 0, 0] SIMD-group 0 lanes 0x00000001 arrive at the Threadgroup barrier at test.metal:2:1\n"
    );
    assert_eq!(trace.omitted(), 3);
}
