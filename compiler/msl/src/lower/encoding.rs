//! Encoding of indirect command buffers ([`anymetal_abi::commands`]), with plain operations.
//!
//! A kernel that encodes has more arguments: the memory of the indirect command buffers, and the table that
//! says where these and the kernel's own buffers are. Its entry keeps them in a record in thread memory,
//! which it hands to the functions that encode or call such. Invariant: a pointer has an address exactly if
//! it points into what is bound to an argument of the kernel.

use super::Lowerer;
use super::function::FunctionLowerer;
use super::purity;
use crate::builtins::BuiltinOp;
use crate::hir;
use anymetal_abi::commands::{HEADER_WORDS, MAX_ENCODED_BUFFERS, TABLE_HEADER_BYTES};
use anymetal_abi::textures::BindingRole;
use anymetal_ir as ir;

const WORD: ir::Type = ir::Type::Scalar(ir::Scalar::I64);
const COMMANDS: ir::Type = ir::Type::Ptr(ir::Space::Device);
const TABLE: ir::Type = ir::Type::Ptr(ir::Space::Constant);

/// Where the record has the table; the indirect command buffers come first.
const TABLE_AT: i64 = 8 * MAX_ENCODED_BUFFERS as i64;
/// Where the record has the bits of the kernel's buffer arguments.
const BITS_AT: i64 = TABLE_AT + 8;

/// The parameter that functions that encode have after their own: the record.
pub(super) const PARAMETER: ir::Type = ir::Type::Ptr(ir::Space::Thread);

/// What a program encodes.
pub(super) struct Encoding {
    /// By function: whether it encodes, or calls a function that does.
    encodes: Vec<bool>,
    /// The buffer arguments of the kernel.
    buffers: usize,
}

impl Encoding {
    pub(super) fn new(program: &hir::Program) -> Self {
        let encodes = purity::reaches(program, |op| {
            matches!(op, BuiltinOp::CommandMemory | BuiltinOp::ResourceAddress)
        });
        Self { encodes, buffers: 0 }
    }

    /// Whether a function encodes, or calls one that does.
    pub(super) fn encodes(&self, function: hir::FuncId) -> bool {
        // Without commands there are no entries.
        self.encodes.get(function.0 as usize).copied().unwrap_or(false)
    }
}

/// What is bound for the encoding of a kernel.
pub(super) fn arguments() -> Vec<ir::KernelArg> {
    let argument = |role: BindingRole, name: &str, space, access, scalar, bytes| ir::KernelArg {
        name: name.to_owned(),
        kind: ir::ArgKind::Buffer,
        index: role.index().expect("no program's buffer"),
        space,
        type_name: if scalar == ir::Scalar::I64 { "ulong" } else { "uint" }.to_owned(),
        element: ir::ElementType::Scalar { scalar, signed: false },
        element_size: bytes,
        element_align: bytes as u32,
        reference: false,
        access,
        index_by: None,
        enabled_by: None,
        enabled: true,
    };
    let commands = (0..MAX_ENCODED_BUFFERS).map(|number| {
        let (role, name) = (BindingRole::EncodedCommands(number), format!("(commands {number})"));
        argument(role, &name, ir::Space::Device, ir::Access::ReadWrite, ir::Scalar::I32, 4)
    });
    let table =
        |role| argument(role, "(resources)", ir::Space::Constant, ir::Access::Read, ir::Scalar::I64, 8);
    commands.chain([table(BindingRole::ResourceTable)]).collect()
}

impl Lowerer<'_> {
    /// Makes the record of a kernel from its parameters.
    pub(super) fn encoding_record(&mut self, b: &mut ir::Builder<'_>, args: &[ir::KernelArg]) -> ir::Value {
        let params = b.func.params.clone();
        let own: Vec<ir::Value> = own_buffers(args).map(|at| params[at]).collect();
        self.encoding.buffers = own.len();
        let slot = b.func.add_local("(resources)", BITS_AT as u64 + 8 * own.len() as u64, 8);
        b.push(ir::Op::LocalStart(slot));
        let record = b.local_addr(slot);
        let first = args.iter().position(|arg| is(arg, BindingRole::EncodedCommands(0)));
        let hidden = &params[first.expect("a kernel that encodes has them")..];
        let hidden = hidden.iter().take(MAX_ENCODED_BUFFERS as usize + 1);
        for (at, &pointer) in hidden.enumerate() {
            let to = b.ptr_offset(record, 8 * at as i64);
            b.store(to, pointer, 8);
        }
        for (at, &pointer) in own.iter().enumerate() {
            let bits = b.cast(ir::CastOp::PtrToInt, pointer, WORD);
            let to = b.ptr_offset(record, BITS_AT + 8 * at as i64);
            b.store(to, bits, 8);
        }
        record
    }
}

fn is(arg: &ir::KernelArg, role: BindingRole) -> bool {
    arg.kind == ir::ArgKind::Buffer && role.index() == Some(arg.index)
}

/// The positions of the arguments that are the program's buffers; the table has them in this order.
fn own_buffers(args: &[ir::KernelArg]) -> impl Iterator<Item = usize> {
    let own = |arg: &ir::KernelArg| {
        arg.kind == ir::ArgKind::Buffer && BindingRole::of(arg.index) == BindingRole::Buffer
    };
    args.iter().enumerate().filter(move |(_, arg)| own(arg)).map(|(at, _)| at)
}

/// The record, for a function that is called. Conditions of arguments have none.
pub(super) fn record_pointer(f: &mut FunctionLowerer<'_, '_, '_>) -> ir::Value {
    match f.encoding {
        Some(record) => record,
        None => f.b.value(ir::Op::Const(0), PARAMETER),
    }
}

/// The memory of the indirect command buffer with that handle; null if it is none of the launch's.
pub(super) fn command_memory(f: &mut FunctionLowerer<'_, '_, '_>, handle: ir::Value) -> ir::Value {
    let record = record_pointer(f);
    let b = &mut f.b;
    let table = b.ptr_offset(record, TABLE_AT);
    let table = b.load(table, TABLE, 8);
    let null = b.value(ir::Op::Const(0), COMMANDS);
    (0..i64::from(MAX_ENCODED_BUFFERS)).fold(null, |found, at| {
        let address = b.ptr_offset(table, 8 * at);
        let address = b.load(address, WORD, 8);
        let pointer = b.ptr_offset(record, 8 * at);
        let pointer = b.load(pointer, COMMANDS, 8);
        let is_it = b.compare(ir::CmpOp::Eq, address, handle);
        b.infer(ir::Op::Select(is_it, pointer, found))
    })
}

/// The address of a pointer; 0 if it points into no buffer of the kernel. Pointers of one allocation
/// differ by their distance, others by more than any length or by the distance of their addresses.
pub(super) fn resource_address(f: &mut FunctionLowerer<'_, '_, '_>, pointer: ir::Value) -> ir::Value {
    let (record, buffers) = (record_pointer(f), f.module.encoding.buffers as i64);
    let b = &mut f.b;
    let bits = b.cast(ir::CastOp::PtrToInt, pointer, WORD);
    let table = b.ptr_offset(record, TABLE_AT);
    let table = b.load(table, TABLE, 8);
    let none = b.i64(0);
    (0..buffers).fold(none, |found, at| {
        let base = b.ptr_offset(record, BITS_AT + 8 * at);
        let base = b.load(base, WORD, 8);
        let place = b.ptr_offset(table, i64::from(TABLE_HEADER_BYTES) + 16 * at);
        let address = b.load(place, WORD, 8);
        let length = b.ptr_offset(place, 8);
        let length = b.load(length, WORD, 8);
        let distance = b.binary(ir::BinOp::Sub, bits, base);
        let inside = b.compare(ir::CmpOp::ULt, distance, length);
        let sum = b.binary(ir::BinOp::Add, address, distance);
        b.infer(ir::Op::Select(inside, sum, found))
    })
}

/// Bytes of the header that `<metal_command_buffer>` skips.
const _: () = assert!(HEADER_WORDS == 8, "the header of the library has this number");
