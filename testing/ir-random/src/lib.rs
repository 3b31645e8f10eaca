//! Random kernels for differential testing: valid, deterministic, free of races.
//!
//! [`kernel`] gives the same kernel for the same seed and options, on every machine. All executors
//! must leave the same bytes in every buffer:
//! - a thread writes only its own [`BYTES_PER_THREAD`] bytes of `out`, and reads of it no others;
//!   `input` and `params` are only read; each counter of `counters` gets one kind of commutative
//!   atomic operation, whose old value is not used;
//! - threadgroup memory is exchanged element by element, with a barrier before and after, in uniform
//!   control flow, before any thread may have returned;
//! - every local is initialised; loops end; indices are in bounds, unless
//!   [`RandomOptions::out_of_bounds`] requests ones that are not, whose outcome is defined too;
//! - float operations are exact or correctly rounded ones in [`FpMode::Safe`]; a NaN is made
//!   canonical before its bits can be seen, and zeros positive before a minimum;
//! - SIMD-group operations in divergent control flow are ones that only look at active lanes;
//!   shuffles happen only where all 32 lanes are active.
//!
//! Start at [`kernel`]; `Generator` holds the state, its methods are spread over the files.
#![forbid(unsafe_code)]

mod control;
mod functions;
mod indices;
mod memory;
mod pure;
mod rng;
mod threads;
mod values;

#[cfg(test)]
mod tests;

use anymetal_ir::{
    Access, ArgKind, Builder, ElementType, FpMode, FuncId, Function, Kernel, KernelArg, Label, Module, Op,
    Query, Scalar, Space, ThreadgroupVar, Type, Value,
};
use functions::Helper;
use memory::{Base, Variable};
pub use rng::Rng;
use values::Entry;

/// Bytes of `out` that belong to each thread.
pub const BYTES_PER_THREAD: u32 = 128;

/// Bytes of `input`, all random.
const INPUT_BYTES: u32 = 512;

/// Bytes of `params`.
const PARAMS_BYTES: u32 = 64;

/// Number of 32-bit counters.
const COUNTERS: u32 = 8;

/// What random kernels contain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomOptions {
    /// About how many statements the kernel has; each becomes a handful of instructions.
    pub statements: usize,
    /// How deep constructs nest.
    pub depth: usize,
    /// Floats of all types.
    pub floats: bool,
    /// `F16` and `BF16` too.
    pub small_floats: bool,
    /// Helper functions and calls.
    pub calls: bool,
    /// SIMD-group operations.
    pub simd: bool,
    /// SIMD-group operations where lanes have diverged.
    pub divergent_simd: bool,
    /// Barriers and threadgroup memory.
    pub threadgroup: bool,
    /// Atomics on device memory.
    pub atomics: bool,
    /// Some accesses outside of buffers and locals.
    pub out_of_bounds: bool,
    /// Many flat indices that are decomposed by divisions.
    pub flat_indices: bool,
}

impl Default for RandomOptions {
    fn default() -> Self {
        Self {
            statements: 60,
            depth: 4,
            floats: true,
            small_floats: true,
            calls: true,
            simd: true,
            divergent_simd: true,
            threadgroup: true,
            atomics: true,
            out_of_bounds: false,
            flat_indices: false,
        }
    }
}

/// A random kernel and how to launch it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomKernel {
    /// The module; its kernel is called `k` and takes the buffers at indices 0, 1, ….
    pub module: Module,
    /// The number of threads, not always a multiple of the group's size.
    pub threads: [u32; 3],
    /// Threads per threadgroup.
    pub threads_per_group: [u32; 3],
    /// The initial contents of the buffers: `out`, `input`, `params`, `counters`.
    pub buffers: Vec<Vec<u8>>,
}

/// The random kernel of a seed.
pub fn kernel(seed: u64, options: &RandomOptions) -> RandomKernel {
    let mut rng = Rng::new(seed);
    let (threads, threads_per_group) = geometry(&mut rng);
    let total: u32 = threads.iter().product();
    let group: u32 = threads_per_group.iter().product();
    let full =
        threads.iter().zip(threads_per_group).all(|(t, g)| t.is_multiple_of(g)) && group.is_multiple_of(32);
    let buffers = [total * BYTES_PER_THREAD, INPUT_BYTES, PARAMS_BYTES, COUNTERS * 4]
        .iter()
        .map(|&bytes| (0..bytes).map(|_| rng.next() as u8).collect())
        .collect();
    let module = Module {
        files: vec!["random.metal".to_owned()],
        threadgroup_vars: vec![ThreadgroupVar {
            name: "exchange".to_owned(),
            size: u64::from(group) * 8,
            align: 16,
        }],
        ..Module::new()
    };
    let mut generator = Generator::new(rng, options.clone(), module, full);
    generator.helpers();
    generator.kernel();
    RandomKernel { module: generator.module, threads, threads_per_group, buffers }
}

/// The module of [`kernel`] alone.
pub fn module(seed: u64, options: &RandomOptions) -> Module {
    kernel(seed, options).module
}

fn geometry(rng: &mut Rng) -> ([u32; 3], [u32; 3]) {
    let shapes: &[([u32; 3], [u32; 3])] = &[
        ([128, 1, 1], [64, 1, 1]),
        ([64, 1, 1], [32, 1, 1]),
        ([100, 1, 1], [40, 1, 1]),
        ([70, 1, 1], [64, 1, 1]),
        ([16, 8, 1], [8, 8, 1]),
        ([13, 7, 1], [8, 4, 1]),
        ([8, 4, 6], [4, 4, 4]),
        ([5, 1, 1], [5, 1, 1]),
    ];
    rng.pick(shapes)
}

/// What may be done at the current place of the current function.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// All threads of the threadgroup get here together.
    uniform: bool,
    depth: usize,
    /// Iterations of the loops around this place, multiplied.
    iterations: usize,
}

/// The generator's state; the part about the current function is replaced for each.
struct Generator {
    rng: Rng,
    options: RandomOptions,
    module: Module,
    /// Whether every SIMD-group has 32 threads.
    full: bool,
    helpers: Vec<Helper>,
    /// Statements left in the current function.
    budget: usize,
    /// The values in scope.
    pool: Vec<Entry>,
    /// The locals in scope.
    variables: Vec<Variable>,
    /// Pointers of the current function.
    pointers: Pointers,
    /// The current function's result; `None` in the kernel.
    returns: Option<Type>,
    /// Whether a return was made anywhere in the current function so far.
    any_returned: bool,
    /// Where values are mixed together.
    accumulator: Option<Base>,
    /// What the jumps of the labelled constructs around the current position pass, innermost last.
    jumps: Vec<JumpTypes>,
}

/// What the jumps of a construct pass.
#[derive(Clone, Debug)]
struct JumpTypes {
    label: Label,
    /// The types of the construct's results.
    results: Vec<Type>,
    /// Of a loop with parameters: the counter's next value, and the types of the other parameters.
    params: Option<(Value, Vec<Type>)>,
}

/// What the current function has to work on.
#[derive(Clone, Copy, Debug, Default)]
struct Pointers {
    /// This thread's bytes of `out`.
    own: Option<Value>,
    input: Option<Value>,
    params: Option<Value>,
    counters: Option<Value>,
}

impl Generator {
    fn new(rng: Rng, options: RandomOptions, module: Module, full: bool) -> Self {
        Self {
            rng,
            options,
            module,
            full,
            helpers: Vec::new(),
            budget: 0,
            pool: Vec::new(),
            variables: Vec::new(),
            pointers: Pointers::default(),
            returns: None,
            any_returned: false,
            accumulator: None,
            jumps: Vec::new(),
        }
    }

    fn kernel(&mut self) {
        let device = Type::Ptr(Space::Device);
        let constant = Type::Ptr(Space::Constant);
        let mut function = Function::new("k", &[device, device, constant, device], None);
        let params = function.params.clone();
        let mut builder = Builder::new(&mut function);
        builder.fp = FpMode::Safe;
        self.begin_function(None);
        let index = self.thread_index(&mut builder);
        let wide = builder.cast(anymetal_ir::CastOp::ZExt, index, Type::I64);
        let own = builder.ptr_index(params[0], wide, BYTES_PER_THREAD);
        self.pointers = Pointers {
            own: Some(own),
            input: Some(params[1]),
            params: Some(params[2]),
            counters: Some(params[3]),
        };
        self.pool.push(Entry { value: index, ty: Type::I32, uniform: false });
        self.budget = self.options.statements;
        let place = Position { uniform: true, depth: 0, iterations: 1 };
        self.start_accumulator(&mut builder);
        self.initial_values(&mut builder);
        self.statements(&mut builder, place);
        self.store_results(&mut builder);
        self.module.functions.push(function);
        let id = FuncId(self.module.functions.len() as u32 - 1);
        self.module.kernels.push(Kernel {
            name: "k".to_owned(),
            function: id,
            args: vec![
                argument("out", 0, Space::Device, Access::ReadWrite),
                argument("input", 1, Space::Device, Access::Read),
                argument("params", 2, Space::Constant, Access::Read),
                argument("counters", 3, Space::Device, Access::ReadWrite),
            ],
            max_threads: None,
            required_threads: None,
            thread_attributes: vec!["thread_position_in_grid".to_owned()],
            logs: Vec::new(),
            stage_inputs: Vec::new(),
        });
    }

    /// Forgets the last function.
    fn begin_function(&mut self, returns: Option<Type>) {
        self.pool.clear();
        self.variables.clear();
        self.pointers = Pointers::default();
        self.returns = returns;
        self.any_returned = false;
        self.accumulator = None;
    }

    /// The linear index of this thread in the grid.
    fn thread_index(&mut self, b: &mut Builder<'_>) -> Value {
        let x = b.query(Query::ThreadPositionInGrid(0));
        let y = b.query(Query::ThreadPositionInGrid(1));
        let z = b.query(Query::ThreadPositionInGrid(2));
        let width = b.query(Query::ThreadsPerGrid(0));
        let height = b.query(Query::ThreadsPerGrid(1));
        let plane = b.binary(anymetal_ir::BinOp::Mul, z, height);
        let row = b.binary(anymetal_ir::BinOp::Add, plane, y);
        let rows = b.binary(anymetal_ir::BinOp::Mul, row, width);
        b.binary(anymetal_ir::BinOp::Add, rows, x)
    }

    /// Facts about the thread, and a variable or two.
    fn initial_values(&mut self, b: &mut Builder<'_>) {
        let queries = [
            (Query::ThreadPositionInThreadgroup(0), false),
            (Query::ThreadgroupPositionInGrid(0), true),
            (Query::ThreadIndexInSimdgroup, false),
            (Query::ThreadsPerThreadgroup(0), true),
            (Query::ThreadsPerGrid(0), true),
        ];
        for (query, uniform) in queries {
            if self.rng.one_in(2) {
                let value = b.infer(Op::Query(query));
                self.pool.push(Entry { value, ty: Type::I32, uniform });
            }
        }
        for _ in 0..3 {
            self.input_statement(b);
            self.param_statement(b);
            self.declare(b);
        }
    }
}

fn argument(name: &str, index: u32, space: Space, access: Access) -> KernelArg {
    KernelArg {
        name: name.to_owned(),
        kind: ArgKind::Buffer,
        index,
        space,
        type_name: "uchar".to_owned(),
        element: ElementType::Scalar { scalar: Scalar::I8, signed: false },
        element_size: 1,
        element_align: 16,
        reference: false,
        access,
        index_by: None,
        enabled_by: None,
        enabled: true,
    }
}
