//! Textures: what the eight bytes stand for that a program has of one.
//!
//! A texture of an argument buffer is the address of its description, 0 is none. An argument of the kernel is
//! a number from [`FIRST_ARGUMENT`] on: its texels and its description are bindings of the launch, of which
//! more is known than of addresses, and its format may be a constant. The entry keeps all three in a record
//! in thread memory, which it hands to the functions that use textures. Invariant: arguments that are no
//! elements of arrays are chosen by comparisons with their numbers, so that the record is accessed at
//! constant places and is split into values. Elements of arrays have a record of their own, which is indexed.

use super::Lowerer;
use super::function::FunctionLowerer;
use super::purity;
use super::resources::{Bound, Resource};
use crate::builtins::BuiltinOp;
use crate::hir::{self, KernelParamKind, ResourceKind, Ty, TyKind, Types};
use anymetal_abi::textures::{FIRST_ARGUMENT, TEXELS_AT, format_constant};
use anymetal_ir as ir;

const WORD: ir::Type = ir::Type::Scalar(ir::Scalar::I64);
const INFO: ir::Type = ir::Type::Ptr(ir::Space::Constant);
const TEXELS: ir::Type = ir::Type::Ptr(ir::Space::Device);

/// Bytes of an argument in a record: where its texels are, where its description is, its format.
const ENTRY_BYTES: i64 = 24;
/// Up to so many arguments are told apart by comparisons.
const MAX_COMPARED: u32 = 16;

/// The parameter that functions that use textures have after their own: the record.
pub(super) const PARAMETER: ir::Type = ir::Type::Ptr(ir::Space::Thread);

/// What a program does with textures.
pub(super) struct Textures {
    /// By function: whether it uses textures, or calls a function that does.
    uses: Vec<bool>,
    /// Whether there may be textures in buffers.
    in_memory: bool,
    /// Arguments that are compared; their numbers come first.
    compared: u32,
    /// Arguments that are indexed.
    indexed: u32,
    /// The numbers that the next arguments of both kinds get.
    next: [u32; 2],
}

/// The records of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Records {
    /// The entries of arguments that are compared, then a pointer to the other record.
    pub(super) own: ir::Value,
    /// The entries of arguments that are indexed.
    indexed: ir::Value,
}

#[derive(Clone, Copy)]
enum Part {
    Texels = 0,
    Info = 8,
    Format = 16,
}

impl Textures {
    pub(super) fn new(program: &hir::Program) -> Self {
        let uses = purity::reaches(program, |op| {
            matches!(op, BuiltinOp::TextureInfo | BuiltinOp::TextureTexels | BuiltinOp::TextureFormat)
        });
        let counts = |wanted: fn(u32) -> bool| -> u32 {
            let of = |param: &hir::KernelParam| match param.kind {
                KernelParamKind::Resource { kind: ResourceKind::Texture(_), count, .. } => Some(count),
                _ => None,
            };
            program.kernel.arguments().filter_map(of).filter(|&count| wanted(count)).sum()
        };
        let (singles, elements) = (counts(|count| count == 1), counts(|count| count != 1));
        let (compared, indexed) =
            if singles > MAX_COMPARED { (0, singles + elements) } else { (singles, elements) };
        let in_memory = are_in_memory(&program.types);
        Self { uses, in_memory, compared, indexed, next: [0, compared] }
    }

    /// Whether a function uses textures, or calls one that does.
    pub(super) fn uses(&self, function: hir::FuncId) -> bool {
        self.uses[function.0 as usize]
    }

    /// The numbers for a parameter with that many textures: the first of them.
    fn number(&mut self, count: u32) -> u32 {
        let kind = usize::from(count != 1 || self.compared == 0);
        let number = self.next[kind];
        self.next[kind] += count;
        let end = [self.compared, self.compared + self.indexed][kind];
        assert!(self.next[kind] <= end, "the record has an entry for each texture");
        number
    }

    /// The offset of an argument's entry in its record, and whether that is the one that is indexed.
    fn place(&self, number: u32) -> (bool, i64) {
        match number.checked_sub(self.compared) {
            Some(index) => (true, i64::from(index) * ENTRY_BYTES),
            None => (false, i64::from(number) * ENTRY_BYTES),
        }
    }
}

/// Whether a program has a pointer to something in a buffer that contains a texture, or has records with
/// textures, which may be copied from there byte by byte.
fn are_in_memory(types: &Types) -> bool {
    let with_texture = records_with_textures(types);
    let contains_texture = |ty| record_of(types, ty).is_some_and(|id| with_texture[id.0 as usize]);
    let in_buffer = |ty: &TyKind| match *ty {
        TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
            matches!(to.space, ir::Space::Device | ir::Space::Constant) && contains_texture(to.ty)
        }
        _ => false,
    };
    let of_program = |record: &hir::RecordInfo| {
        let is_library = record.fields.first().is_some_and(|field| field.name.as_str().starts_with("__"));
        !is_library && record.fields.iter().any(|field| contains_texture(field.ty.ty))
    };
    types.kinds().any(in_buffer) || types.records.iter().any(of_program)
}

/// The record that a type is, or is an array of.
fn record_of(types: &Types, mut ty: Ty) -> Option<hir::RecordId> {
    while let Some((elem, _)) = types.as_array(ty) {
        ty = elem;
    }
    types.as_record(ty)
}

/// Which records contain a texture, at any depth. Goes from members to the records that have them, once each:
/// a record may contain others several times on each level of many.
fn records_with_textures(types: &Types) -> Vec<bool> {
    let mut containers: Vec<Vec<usize>> = vec![Vec::new(); types.records.len()];
    let mut found = vec![false; types.records.len()];
    let mut new = Vec::new();
    for (number, record) in types.records.iter().enumerate() {
        if record.fields.first().is_some_and(|field| field.name.as_str() == hir::TEXTURE_MEMBER) {
            new.push(number);
        }
        for member in record.fields.iter().filter_map(|field| record_of(types, field.ty.ty)) {
            containers[member.0 as usize].push(number);
        }
    }
    while let Some(number) = new.pop() {
        if !std::mem::replace(&mut found[number], true) {
            new.append(&mut containers[number]);
        }
    }
    found
}

impl Lowerer<'_> {
    /// Makes the records of a kernel.
    pub(super) fn texture_records(&mut self, b: &mut ir::Builder<'_>) -> Records {
        let [compared, indexed] = [self.textures.compared, self.textures.indexed].map(u64::from);
        let entry = ENTRY_BYTES as u64;
        let mut record = |name: &str, bytes| {
            let local = b.func.add_local(name, bytes, 8);
            b.push(ir::Op::LocalStart(local));
            b.local_addr(local)
        };
        let own = record("(textures)", compared * entry + 8);
        let indexed = record("(elements)", (indexed * entry).max(8));
        let to = b.ptr_offset(own, compared as i64 * ENTRY_BYTES);
        b.store(to, indexed, 8);
        Records { own, indexed }
    }

    /// Writes what the body gets of a parameter's textures, and what the records have of them.
    pub(super) fn texture_arguments(
        &mut self,
        b: &mut ir::Builder<'_>,
        resource: &Resource,
        ids: ir::Value,
        bound: &mut Bound<'_>,
    ) {
        let enabled =
            resource.enabled.map(|condition| b.value(ir::Op::Call(condition, Vec::new()), ir::Type::BOOL));
        let first = self.textures.number(resource.count);
        for n in 0..resource.count {
            let (texels, info) = (bound.pointer(), bound.pointer());
            let number = b.const_bits(ir::Scalar::I64, FIRST_ARGUMENT + u64::from(first + n));
            let id = match enabled {
                Some(enabled) => {
                    let none = b.i64(0);
                    b.infer(ir::Op::Select(enabled, number, none))
                }
                None => number,
            };
            let to = b.ptr_offset(ids, i64::from(n) * 8);
            b.store(to, id, 8);
            let Some(records) = bound.textures else {
                // No function that the kernel calls uses textures.
                continue;
            };
            let known = match resource.index {
                Some(index) => {
                    let known = self.hidden_constant(format_constant(index + n), ir::Scalar::I64);
                    b.value(ir::Op::FunctionConstant(known), WORD)
                }
                None => b.i64(0),
            };
            let (is_indexed, offset) = self.textures.place(first + n);
            let record = if is_indexed { records.indexed } else { records.own };
            for (part, value) in [(Part::Texels, texels), (Part::Info, info), (Part::Format, known)] {
                let to = b.ptr_offset(record, offset + part as i64);
                b.store(to, value, 8);
            }
        }
    }
}

/// The record, for a function that is called. Conditions of arguments have none.
pub(super) fn record(f: &mut FunctionLowerer<'_, '_, '_>) -> ir::Value {
    match f.textures {
        Some(record) => record,
        None => f.b.value(ir::Op::Const(0), PARAMETER),
    }
}

/// Where the description of a texture is.
pub(super) fn info(f: &mut FunctionLowerer<'_, '_, '_>, id: ir::Value) -> ir::Value {
    let argument = argument_part(f, id, Part::Info, INFO);
    if !f.module.textures.in_memory {
        return argument;
    }
    let is_argument = is_parameter(f, id);
    let loaded = f.b.cast(ir::CastOp::IntToPtr, id, INFO);
    f.b.infer(ir::Op::Select(is_argument, argument, loaded))
}

/// Where its texels are.
pub(super) fn texels(f: &mut FunctionLowerer<'_, '_, '_>, id: ir::Value) -> ir::Value {
    let argument = argument_part(f, id, Part::Texels, TEXELS);
    if !f.module.textures.in_memory {
        return argument;
    }
    // Descriptions of arguments have the word, too, so that it can be read of either.
    let info = info(f, id);
    let place = f.b.ptr_offset(info, TEXELS_AT as i64);
    let loaded = f.b.load(place, TEXELS, 8);
    let is_argument = is_parameter(f, id);
    f.b.infer(ir::Op::Select(is_argument, argument, loaded))
}

/// Its format, or 0 if it has to be read from the description.
pub(super) fn format(f: &mut FunctionLowerer<'_, '_, '_>, id: ir::Value) -> ir::Value {
    let argument = argument_part(f, id, Part::Format, WORD);
    if !f.module.textures.in_memory {
        return argument;
    }
    let (is_argument, unknown) = (is_parameter(f, id), f.b.i64(0));
    f.b.infer(ir::Op::Select(is_argument, argument, unknown))
}

fn is_parameter(f: &mut FunctionLowerer<'_, '_, '_>, id: ir::Value) -> ir::Value {
    let zero = f.b.i64(0);
    f.b.compare(ir::CmpOp::SLt, id, zero)
}

/// What the records have of the argument with that number; of one of them if it is none.
fn argument_part(f: &mut FunctionLowerer<'_, '_, '_>, id: ir::Value, part: Part, ty: ir::Type) -> ir::Value {
    let (record, [compared, indexed]) = (record(f), [f.module.textures.compared, f.module.textures.indexed]);
    let b = &mut f.b;
    let mut found = None;
    for number in (0..compared).rev() {
        let place = b.ptr_offset(record, i64::from(number) * ENTRY_BYTES + part as i64);
        let own = b.load(place, ty, 8);
        found = Some(match found {
            None => own,
            Some(found) => {
                let wanted = b.const_bits(ir::Scalar::I64, FIRST_ARGUMENT + u64::from(number));
                let is_it = b.compare(ir::CmpOp::Eq, id, wanted);
                b.infer(ir::Op::Select(is_it, own, found))
            }
        });
    }
    if indexed == 0 {
        // A kernel without textures has no texture to read: its texture comes from nowhere.
        return found.unwrap_or_else(|| b.value(ir::Op::Const(0), ty));
    }
    let first = b.const_bits(ir::Scalar::I64, FIRST_ARGUMENT + u64::from(compared));
    let index = b.binary(ir::BinOp::Sub, id, first);
    let end = b.i64(i64::from(indexed));
    let is_element = b.compare(ir::CmpOp::ULt, index, end);
    let zero = b.i64(0);
    let index = b.infer(ir::Op::Select(is_element, index, zero));
    let elements = b.ptr_offset(record, i64::from(compared) * ENTRY_BYTES);
    let elements = b.load(elements, PARAMETER, 8);
    let entry = b.ptr_index(elements, index, ENTRY_BYTES as u32);
    let place = b.ptr_offset(entry, part as i64);
    let element = b.load(place, ty, 8);
    match found {
        Some(found) => b.infer(ir::Op::Select(is_element, element, found)),
        None => element,
    }
}
