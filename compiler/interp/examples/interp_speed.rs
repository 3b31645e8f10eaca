//! Measures the interpreter: lane-operations per second of a loop of float arithmetic, and of one with
//! memory access; without an observer, with one that is told of all lanes at once, with one that is told of
//! each lane, and with arithmetic lints. `cargo run --release -p anymetal-interp --example interp_speed`
#![expect(clippy::print_stdout, reason = "it prints its measurements")]

use std::time::Instant;

use anymetal_interp::{
    Accesses, Dispatch, Interests, InterpError, Limits, Memory, NoObserver, Observer, Program, run,
};
use anymetal_ir::{
    Access, ArgKind, BinOp, Builder, CastOp, CmpOp, ElementType, Function, Kernel, KernelArg, MathFn, Module,
    Op, Query, Scalar, Space, Type, Value,
};

const THREADS: u32 = 1 << 14;
const ITERATIONS: i32 = 1000;

/// Adds up the positions of accesses, told of all lanes at once.
#[derive(Default)]
struct Batches(u64);

impl Observer for Batches {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        self.0 += accesses.each_lane().map(|lane| accesses.offset(lane)).sum::<u64>();
    }
}

/// The same, told of each lane.
#[derive(Default)]
struct Single(u64);

impl Observer for Single {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_load(&mut self, access: &anymetal_interp::Access) {
        self.0 += access.offset;
    }

    fn on_store(&mut self, access: &anymetal_interp::Access) {
        self.0 += access.offset;
    }
}

/// Interested in arithmetic only.
struct Lints;

impl Observer for Lints {
    fn interests(&self) -> Interests {
        Interests { arithmetic: true, ..Interests::default() }
    }
}

fn main() -> Result<(), InterpError> {
    measure("float arithmetic", |b, data, x| {
        let x = b.cast(CastOp::UToF, x, Type::F32);
        let var = b.func.add_local("x", 4, 4);
        let ptr = b.local_addr(var);
        b.store(ptr, x, 4);
        repeat(b, |b| {
            let mut x = b.load(ptr, Type::F32, 4);
            let (scale, shift) = (b.f32(0.999), b.f32(1.5));
            for _ in 0..8 {
                x = b.math(MathFn::Fma, vec![x, scale, shift]);
                x = b.binary(BinOp::FMul, x, scale);
            }
            b.store(ptr, x, 4);
        });
        let x = b.load(ptr, Type::F32, 4);
        b.store(data, x, 4);
    })?;
    measure("buffer access", |b, data, _| {
        repeat(b, |b| {
            for _ in 0..4 {
                let old = b.load(data, Type::I32, 4);
                let one = b.i32(1);
                let new = b.binary(BinOp::Add, old, one);
                b.store(data, new, 4);
            }
        });
    })
}

/// Runs the closure's code `ITERATIONS` times.
fn repeat(b: &mut Builder<'_>, body: impl FnOnce(&mut Builder<'_>)) {
    let var = b.func.add_local("i", 4, 4);
    let ptr = b.local_addr(var);
    let zero = b.i32(0);
    b.store(ptr, zero, 4);
    b.endless_loop(
        |b, label| {
            let i = b.load(ptr, Type::I32, 4);
            let end = b.i32(ITERATIONS);
            let done = b.compare(CmpOp::UGe, i, end);
            b.if_else(done, |b| b.push(Op::break_(label)), |_| {});
            body(b);
        },
        |b, _| {
            let i = b.load(ptr, Type::I32, 4);
            let one = b.i32(1);
            let next = b.binary(BinOp::Add, i, one);
            b.store(ptr, next, 4);
        },
    );
}

/// Builds a kernel whose closure gets the address of the thread's element and the thread's number.
fn measure(name: &str, build: impl FnOnce(&mut Builder<'_>, Value, Value)) -> Result<(), InterpError> {
    let mut function = Function::new("k", &[Type::Ptr(Space::Device)], None);
    let data = function.params[0];
    let mut b = Builder::new(&mut function);
    let x = b.query(Query::ThreadPositionInGrid(0));
    let index = b.cast(CastOp::ZExt, x, Type::I64);
    let own = b.ptr_index(data, index, 4);
    build(&mut b, own, x);
    let mut module = Module::new();
    module.functions.push(function);
    let argument = KernelArg {
        name: "data".to_owned(),
        kind: ArgKind::Buffer,
        index: 0,
        space: Space::Device,
        type_name: "float".to_owned(),
        element: ElementType::Scalar { scalar: Scalar::F32, signed: false },
        element_size: 4,
        element_align: 4,
        reference: false,
        access: Access::ReadWrite,
        index_by: None,
        enabled_by: None,
        enabled: true,
    };
    module.kernels.push(Kernel {
        name: "k".to_owned(),
        function: anymetal_ir::FuncId(0),
        args: vec![argument],
        max_threads: None,
        required_threads: None,
        thread_attributes: Vec::new(),
        logs: Vec::new(),
        stage_inputs: Vec::new(),
    });
    let program = Program::new(&module, "k")?;
    let (mut batches, mut single) = (Batches::default(), Single::default());
    time(name, "no observer", &program, THREADS, &mut NoObserver)?;
    // Watching costs so much more that fewer threads do.
    time(name, "told of all lanes at once", &program, THREADS / 8, &mut batches)?;
    time(name, "told of each lane", &program, THREADS / 8, &mut single)?;
    assert_eq!(batches.0, single.0, "both are told the same");
    time(name, "arithmetic lints", &program, THREADS / 8, &mut Lints)
}

/// Runs the kernel and prints how fast that was.
fn time(
    name: &str,
    observed: &str,
    program: &Program,
    threads: u32,
    observer: &mut dyn Observer,
) -> Result<(), InterpError> {
    let mut bytes = vec![0; THREADS as usize * 4];
    let mut memory = Memory::new().bind(&mut bytes);
    let dispatch = Dispatch::threads([threads, 1, 1], [256, 1, 1]);
    let start = Instant::now();
    let report = run(program, &dispatch, &mut memory, Limits::default(), observer)?;
    let seconds = start.elapsed().as_secs_f64();
    let lane_operations = report.steps as f64 * 32.0;
    println!(
        "{name}, {observed}: {:.0} million lane-operations/s, {:.1} ns per step of 32 lanes",
        lane_operations / seconds / 1e6,
        seconds * 1e9 / report.steps as f64
    );
    Ok(())
}
