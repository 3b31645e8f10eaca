//! The intermediate representation: typed, structured, from the view of one thread.
//!
//! A [`Module`] holds monomorphic functions, constant data, threadgroup variables, function
//! constants and kernels. This page is the meaning of all of it; the verifier's documentation is
//! the list of what a well-formed module guarantees.
//!
//! # Values and types
//! A [`Value`] is defined once, by a function parameter or an instruction, and may be used by any
//! later instruction of the same block or of a block nested in it. Values are scalars, vectors of
//! 2 to 4 elements, or pointers ([`Type`]); integers carry no sign, operations do. `bool` is a type
//! of its own in values and one byte (0 or 1) in memory; another byte loads as true, and may be kept by code
//! that loads it only to store it (`anymetal_opt::bool_copies`). Aggregates live in memory only: the front
//! end passes and returns them by pointer.
//!
//! # Memory
//! A pointer is an allocation and a byte offset in it; its [`Space`] is part of its type.
//! Allocations are: each kernel argument's binding (device, constant), each threadgroup variable
//! or dynamic threadgroup slot, each constant datum, and each [`Local`] of each function
//! activation (thread). Constant memory does not change while a kernel runs, whatever else is bound
//! to the same bytes. [`Op::PtrAdd`] never leaves the allocation's identity, and any offset may
//! be computed; only accesses are checked. Layout is little endian, natural alignment; a vector of
//! three elements occupies and aligns as four when the front end says so, the IR itself knows only
//! the `size` and `align` it is given: [`Op::Load`] of a vector type reads exactly
//! `elements × element size` contiguous bytes.
//!
//! A pointer in memory takes eight bytes. A pointer to a buffer is stored as the address of the byte that
//! it points to; pointers to other memory are stored in a form of the executor's choice, which means
//! something within the launch only. Memory may hold any bytes, so what a loaded pointer points to depends
//! on its space:
//! - Device: the *resident buffer* that contains the address, or else ends there, whatever argument that
//!   buffer is bound to, with the access that the launch has to it. Any other bytes are a pointer to
//!   nothing.
//! - Constant: the same, or constant data of the kernel.
//! - Threadgroup, thread: the threadgroup's or the thread's own memory, or nothing.
//!
//! [`CastOp::PtrToInt`] and [`CastOp::IntToPtr`] convert as a store and a load do. Eight bytes of a local
//! that only ever hold pointers to one space ([`analysis::PointerSlots`]) keep a pointer's allocation
//! wherever it points, even out of bounds.
//!
//! An access outside its allocation is a *fault*: the executor drops the store or gives zero for
//! the load, records the first fault with the instruction's [`Loc`], and goes on. A scalar or a vector is
//! one access; copies and fills access one of their [`Pieces`] after the other. A pass may leave
//! out an access whose outcome is not used, and its fault with it. Reading a byte
//! never written gives an arbitrary value (a sanitizer may report it). [`Op::LocalStart`] begins a
//! new lifetime: the local's contents become undefined.
//!
//! # Threads
//! The kernel is executed by every thread of a grid of threadgroups; 32 consecutive threads of a
//! threadgroup (linear index, x fastest) form a SIMD-group, the last one of a threadgroup may be
//! partial. [`Op::Barrier`] of threadgroup scope must be executed by all threads of the threadgroup that
//! have not returned, the same textual barrier in the same loop iterations; all accesses to
//! threadgroup and device memory before it are ordered before those after it, whatever its flags
//! say (real programs rely on that). A barrier of grid scope is one of threadgroup scope at which the
//! threadgroups of the grid meet, too: those that have threads left. It orders what all of them did before it
//! before what any does after it, and is executed in cooperative launches only. A barrier of thread scope
//! synchronises no threads: it separates the launches that `anymetal_opt::fuse` combines, so that arithmetic
//! is not contracted or reassociated across it.
//! SIMD-group operations ([`Op::Simd`]) work over the *active*
//! lanes: those that execute this instruction together, namely all lanes of the SIMD-group that
//! took the same path through the enclosing structured regions. Lanes diverge at `if`, `switch`,
//! and at `break`, `continue` and `return`, and reconverge at the end of the construct.
//! The value of a lane that is not active, or that a partial SIMD-group lacks, is zero in shuffles and
//! broadcasts, and takes no part in votes, reductions and prefix operations.
//! Relaxed atomics are single, indivisible accesses; plain racing accesses give either value.
//!
//! # Control flow
//! Structured: [`Op::If`], [`Op::Loop`], [`Op::Switch`], [`Op::Scope`]. `Loop` runs `body`, then
//! `continuing`, for ever; [`Op::Break`] of its label leaves it, [`Op::Continue`] goes to
//! `continuing` at once. `Switch` runs the one matching case (no fall-through) and ends after it;
//! `Break` of its label ends it early. `Scope` runs its body once; `Break` of its label leaves it.
//! [`Op::Break`], [`Op::Continue`], [`Op::Yield`] and [`Op::Return`] end their block. Control that reaches
//! the end of a function with a result gives an arbitrary value.
//!
//! Constructs define values. Their *results* are visible after them: a block of an `if`, switch or scope
//! passes them in the `Yield` that ends it, a jump out of a loop, switch or scope in its `Break`. A loop's
//! *parameters* are the values that it carries from one iteration to the next, visible in its body: the loop
//! passes those of the first iteration, each `Continue` those of the next one. There is no continuing block
//! in a loop with parameters. They are what phi nodes are in LLVM's IR and block parameters in MLIR's
//! structured control flow; each thread gets the values that it passed itself.
//!
//! # Arithmetic
//! Integer arithmetic wraps. A divisor of zero counts as one (`x / 0 = x`, `x % 0 = 0`), and
//! `MIN / -1 = MIN`, `MIN % -1 = 0`: nothing traps. Shift amounts are taken modulo the bit width.
//! Float to integer conversion truncates towards zero, saturates, and gives 0 for NaN. Float
//! arithmetic is IEEE 754 round to nearest even; an instruction's [`FpMode`] gives an executor
//! permission to deviate: `Relaxed` allows contraction, reassociation and reciprocals but honours NaN
//! and infinities, `Fast` also assumes neither occurs. Denormals may be flushed in all but
//! `Safe`. `F16` and `BF16` operations round each result once; where all of them are `Fast`, a
//! conversion from `F32` to `F16` and the arithmetic that takes its result may do without the
//! rounding between them. The minimum and maximum of zeros of
//! opposite sign are either zero; of a number and a NaN, the number. The bits of a NaN that
//! arithmetic gives are arbitrary. [`eval`] computes the exact results.
//!
//! # Where to start
//! [`Builder`] makes functions, [`print_module`] and [`parse_module`] write and read the text form,
//! [`verify`] checks, [`passes`] transforms, [`analysis`] has what passes and code generators share.
#![forbid(unsafe_code)]

mod builder;
mod entity;
pub mod eval;
mod function;
mod limits;
mod module;
mod names;
mod op;
mod parse;
mod print;
mod types;
mod verify;

pub use builder::Builder;
pub use entity::{Block, FuncId, FunctionConstantId, GlobalId, Inst, Label, Local, ThreadgroupId, Value};
pub use function::{BlockData, Function, InstData, Loc, LocalData, MacroUse, Origin, ValueData, ValueDef};
pub use limits::MAX_NESTING;
pub use module::{
    Access, ArgKind, ElementType, FunctionConstant, Global, Kernel, KernelArg, Module, StageInput,
    ThreadgroupVar,
};
pub use op::{
    AtomicOp, BarrierScope, BinOp, CastOp, CmpOp, Combination, Combine, CombinedLanes, Effect, FpMode,
    MathFn, MatrixOp, Op, Pieces, PrefetchHint, Query, SimdOp, SwitchCase, UnOp, Values,
};
pub use parse::{ParseError, parse_module};
pub use print::{print_annotated, print_function, print_module};
pub use types::{Scalar, Space, Type};
pub use verify::{VerifyError, verify, verify_function};
