//! Argument buffers: structures whose members the host sets by number (`[[id(n)]]`).
//!
//! Owns [`ArgumentLayout`]. A member without a number has the one after the member before it; an array takes
//! a number for each element, a structure those of its members. Members are where C++ has them: encoders
//! write what the kernel reads.

use super::{KernelParamKind, Program, Ty, TyKind, Types};

/// A buffer argument's structure as an argument encoder fills it in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ArgumentLayout {
    /// Its bytes.
    pub size: u64,
    /// Its alignment.
    pub align: u32,
    /// Its members, each element of an array for itself.
    pub members: Vec<ArgumentMember>,
}

impl ArgumentLayout {
    /// The layout of a structure with these members.
    pub fn new(size: u64, align: u32, members: Vec<ArgumentMember>) -> Self {
        ArgumentLayout { size, align, members }
    }
}

/// A member of an argument buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
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

impl ArgumentMember {
    /// The member with the number `id`, `size` bytes from byte `offset` on.
    pub fn new(id: u32, offset: u64, size: u64, kind: ArgumentMemberKind) -> Self {
        ArgumentMember { id, offset, size, kind }
    }
}

/// What a member of an argument buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentMemberKind {
    /// A pointer or a reference to device or constant memory.
    Pointer,
    /// A value.
    Constant,
    /// A texture's resource id: eight bytes.
    Texture,
    /// A sampler's resource id: eight bytes.
    Sampler,
    /// The resource id of an indirect command buffer that kernels encode: eight bytes.
    IndirectCommandBuffer,
    /// The resource id of a compute pipeline state for commands that kernels encode: eight bytes.
    ComputePipeline,
}

/// The first member of the Metal library's texture types, a name which programs cannot use.
pub const TEXTURE_MEMBER: &str = "__texture";

/// By the first member, of the types of the Metal library.
const HANDLES: [(&str, ArgumentMemberKind); 4] = [
    (TEXTURE_MEMBER, ArgumentMemberKind::Texture),
    ("__state", ArgumentMemberKind::Sampler),
    ("__commands", ArgumentMemberKind::IndirectCommandBuffer),
    ("__pipeline", ArgumentMemberKind::ComputePipeline),
];

/// More members than this are not listed.
const MAX_MEMBERS: usize = 1 << 16;

/// The structure that the kernel's buffer argument of that index points to, or that which a member with the
/// first number of the path points to, and so on; `None` if there is no such argument or member or it points
/// to no structure.
pub fn argument_layout(program: &Program, index: u32, path: &[u32]) -> Option<ArgumentLayout> {
    let element = program.kernel.arguments().find_map(|param| match &param.kind {
        KernelParamKind::Buffer { binding, element, .. }
            if binding.index == index && binding.index_by.is_none() =>
        {
            Some(element.ty)
        }
        _ => None,
    })?;
    let types = &program.types;
    let element = path.iter().try_fold(element, |element, &id| {
        let (_, ty) = members(types, element)?.into_iter().find(|(member, _)| member.id == id)?;
        types.pointee(ty).or_else(|| types.referent(ty)).map(|to| to.ty)
    })?;
    let members = members(types, element)?.into_iter().map(|(member, _)| member).collect();
    let layout = types.layout(element);
    Some(ArgumentLayout { size: layout.size, align: layout.align, members })
}

/// The members of a structure with their types; `None` if it is none.
fn members(types: &Types, structure: Ty) -> Option<Vec<(ArgumentMember, Ty)>> {
    types.as_record(structure)?;
    let mut found = Vec::new();
    add(types, structure, 0, &mut 0, &mut found);
    Some(found)
}

/// The kind of a type of the Metal library that the host has an object for.
fn handle_kind(types: &Types, ty: Ty) -> Option<ArgumentMemberKind> {
    let first = types.record(types.as_record(ty)?).fields.first()?.name;
    HANDLES.into_iter().find_map(|(name, kind)| (first.as_str() == name).then_some(kind))
}

/// Adds what there is from `offset` on; `next` is the number for it.
fn add(types: &Types, ty: Ty, offset: u64, next: &mut u32, members: &mut Vec<(ArgumentMember, Ty)>) {
    if members.len() >= MAX_MEMBERS {
        return;
    }
    let handle = handle_kind(types, ty);
    match *types.kind(ty) {
        TyKind::Record(id) if handle.is_none() && !types.record(id).is_union => {
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
        _ => {
            let kind = match (handle, types.kind(ty)) {
                (Some(kind), _) => kind,
                (None, TyKind::Pointer(_) | TyKind::Reference { .. }) => ArgumentMemberKind::Pointer,
                (None, _) => ArgumentMemberKind::Constant,
            };
            members.push((ArgumentMember { id: *next, offset, size: types.layout(ty).size, kind }, ty));
            *next = next.saturating_add(1);
        }
    }
}
