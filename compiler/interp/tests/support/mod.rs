//! Builds one-kernel modules and runs them.
#![allow(dead_code, reason = "each test file uses a part")]

use anymetal_interp::{Dispatch, InterpError, Limits, Memory, NoObserver, Observer, Program, Report, run};
use anymetal_ir::{
    Access, ArgKind, BinOp, Builder, CastOp, CmpOp, ElementType, Function, Kernel, KernelArg, Loc, Module,
    Query, Scalar, Space, Type, Value,
};

/// A kernel argument named after its position's letter: `a`, `b`, …
pub(crate) fn argument(position: usize, space: Space) -> KernelArg {
    let kind = if space == Space::Threadgroup { ArgKind::ThreadgroupMemory } else { ArgKind::Buffer };
    KernelArg {
        name: char::from(b'a' + position as u8).to_string(),
        kind,
        index: position as u32,
        space,
        type_name: "float".to_owned(),
        element: ElementType::Scalar { scalar: Scalar::F32, signed: false },
        element_size: 4,
        element_align: 4,
        reference: false,
        access: Access::ReadWrite,
        index_by: None,
        enabled_by: None,
        enabled: true,
    }
}

/// Adds a function; the closure gets the builder and the parameters.
pub(crate) fn function(
    module: &mut Module,
    name: &str,
    params: &[Type],
    ret: Option<Type>,
    build: impl FnOnce(&mut Builder<'_>, &[Value]),
) -> anymetal_ir::FuncId {
    let mut function = Function::new(name, params, ret);
    let values = function.params.clone();
    build(&mut Builder::new(&mut function), &values);
    module.functions.push(function);
    anymetal_ir::FuncId(module.functions.len() as u32 - 1)
}

/// Adds the kernel `k` with pointers to the given spaces.
pub(crate) fn add_kernel(
    module: &mut Module,
    spaces: &[Space],
    build: impl FnOnce(&mut Builder<'_>, &[Value]),
) {
    module.files = vec!["test.metal".to_owned()];
    let params: Vec<Type> = spaces.iter().map(|&space| Type::Ptr(space)).collect();
    let function = function(module, "k", &params, None, build);
    let args = spaces.iter().enumerate().map(|(n, &space)| argument(n, space)).collect();
    module.kernels.push(Kernel {
        name: "k".to_owned(),
        function,
        args,
        max_threads: None,
        required_threads: None,
        thread_attributes: Vec::new(),
        logs: Vec::new(),
        stage_inputs: Vec::new(),
    });
}

/// A module with only the kernel `k`.
pub(crate) fn kernel(spaces: &[Space], build: impl FnOnce(&mut Builder<'_>, &[Value])) -> Module {
    let mut module = Module::new();
    add_kernel(&mut module, spaces, build);
    module
}

/// A position in the test's only file.
pub(crate) fn line(line: u32) -> Loc {
    Loc { file: 0, line, column: 1, origin: 0 }
}

pub(crate) fn thread_x(b: &mut Builder<'_>) -> Value {
    b.query(Query::ThreadPositionInGrid(0))
}

pub(crate) fn thread_in_group(b: &mut Builder<'_>) -> Value {
    b.query(Query::ThreadIndexInThreadgroup)
}

/// The address of element `index` (`I32`) of four bytes.
pub(crate) fn element(b: &mut Builder<'_>, base: Value, index: Value) -> Value {
    let index = b.cast(CastOp::ZExt, index, Type::I64);
    b.ptr_index(base, index, 4)
}

pub(crate) fn load_i32(b: &mut Builder<'_>, base: Value, index: Value) -> Value {
    let ptr = element(b, base, index);
    b.load(ptr, Type::I32, 4)
}

pub(crate) fn store_at(b: &mut Builder<'_>, base: Value, index: Value, value: Value) {
    let ptr = element(b, base, index);
    b.store(ptr, value, 4);
}

pub(crate) fn add(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    b.binary(BinOp::Add, x, y)
}

pub(crate) fn add_const(b: &mut Builder<'_>, x: Value, y: i32) -> Value {
    let y = b.i32(y);
    b.binary(BinOp::Add, x, y)
}

pub(crate) fn less(b: &mut Builder<'_>, x: Value, y: i32) -> Value {
    let y = b.i32(y);
    b.compare(CmpOp::ULt, x, y)
}

pub(crate) fn equal(b: &mut Builder<'_>, x: Value, y: i32) -> Value {
    let y = b.i32(y);
    b.compare(CmpOp::Eq, x, y)
}

/// `x & mask != 0`.
pub(crate) fn has_bits(b: &mut Builder<'_>, x: Value, mask: i32) -> Value {
    let mask = b.i32(mask);
    let bits = b.binary(BinOp::And, x, mask);
    let zero = b.i32(0);
    b.compare(CmpOp::Ne, bits, zero)
}

/// One dimension.
pub(crate) fn grid(threads: u32, group: u32) -> Dispatch {
    Dispatch::threads([threads, 1, 1], [group, 1, 1])
}

pub(crate) fn run_k(
    module: &Module,
    dispatch: Dispatch,
    memory: &mut Memory<'_>,
) -> Result<Report, InterpError> {
    observe(module, dispatch, memory, &mut NoObserver)
}

pub(crate) fn observe(
    module: &Module,
    dispatch: Dispatch,
    memory: &mut Memory<'_>,
    observer: &mut dyn Observer,
) -> Result<Report, InterpError> {
    let rules = anymetal_ir::verify(module);
    assert!(rules.is_ok(), "{rules:?}");
    run(&Program::new(module, "k")?, &dispatch, memory, Limits::default(), observer)
}

/// Runs a kernel with one buffer of `i32`s, expects nothing wrong, and gives the buffer.
pub(crate) fn run_i32(module: &Module, dispatch: Dispatch, len: usize) -> Vec<i32> {
    let mut buffer = bytes_i32(&vec![-1; len]);
    let report = run_k(module, dispatch, &mut Memory::new().bind(&mut buffer)).expect("it runs");
    assert!(report.is_clean(), "{report:?}");
    i32s(&buffer)
}

pub(crate) fn bytes_i32(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn bytes_f32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}
