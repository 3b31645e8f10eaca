//! Argument buffers: structures whose members the host sets by number (`[[id(n)]]`).
//!
//! Owns [`ArgumentLayout`]. A member without a number has the one after the member before it; an array takes
//! a number for each element, a structure those of its members. Members are where C++ has them: encoders
//! write what the kernel reads.

use super::{KernelParamKind, Program, Ty, TyKind, Types};

/// A buffer argument's structure as an argument encoder fills it in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArgumentLayout {
    /// Its bytes.
    pub size: u64,
    /// Its alignment.
    pub align: u32,
    /// Its members, each element of an array for itself.
    pub members: Vec<ArgumentMember>,
}

/// A member of an argument buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgumentMember {
    /// Its number.
    pub id: u32,
    /// Its place in bytes.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// What it is.
    pub kind: ArgumentMemberKind,
}

/// What a member of an argument buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentMemberKind {
    /// A pointer or a reference to device or constant memory.
    Pointer,
    /// A value.
    Constant,
}

/// More members than this are not listed.
const MAX_MEMBERS: usize = 1 << 16;

/// The structure that the kernel's buffer argument of that index points to; `None` if it has no such argument
/// or that is no structure.
pub fn argument_layout(program: &Program, index: u32) -> Option<ArgumentLayout> {
    let element = program.kernel.params.iter().find_map(|param| match &param.kind {
        KernelParamKind::Buffer { index: own, element, .. } if *own == index => Some(element.ty),
        _ => None,
    })?;
    let types = &program.types;
    types.as_record(element)?;
    let layout = types.layout(element);
    let mut found = ArgumentLayout { size: layout.size, align: layout.align, members: Vec::new() };
    add(types, element, 0, &mut 0, &mut found.members);
    Some(found)
}

/// Adds what there is from `offset` on; `next` is the number for it.
fn add(types: &Types, ty: Ty, offset: u64, next: &mut u32, members: &mut Vec<ArgumentMember>) {
    match *types.kind(ty) {
        TyKind::Record(id) if !types.record(id).is_union => {
            for field in &types.record(id).fields {
                *next = field.id.unwrap_or(*next);
                add(types, field.ty.ty, offset + field.offset, next, members);
            }
        }
        TyKind::Array(elem, len) => {
            let size = types.layout(elem).size;
            for n in 0..len.min(MAX_MEMBERS as u64) {
                add(types, elem, offset + n * size, next, members);
            }
        }
        _ if members.len() < MAX_MEMBERS => {
            let kind = match types.kind(ty) {
                TyKind::Pointer(_) | TyKind::Reference { .. } => ArgumentMemberKind::Pointer,
                _ => ArgumentMemberKind::Constant,
            };
            members.push(ArgumentMember { id: *next, offset, size: types.layout(ty).size, kind });
            *next = next.saturating_add(1);
        }
        _ => {}
    }
}
