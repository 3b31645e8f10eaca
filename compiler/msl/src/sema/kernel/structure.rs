//! Arguments that are one resource or several: pointers, textures and the like, arrays of pointers, and
//! structures of all these, passed by value (MSL 2.12.2).

use super::indices::{self, Indices};
use super::{params, resources};
use crate::ast::{self, ItemKind};
use crate::hir::{KernelParam, KernelParamKind, QualTy, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::record;
use crate::sema::stage::{self, Attributed};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

/// The most resources of one argument: there are fewer indices of all kinds.
const MAX_RESOURCES: u32 = 256;

/// What the host binds for an argument: `None` if the type is none that it can bind, `Some(None)` after an
/// error.
pub(super) fn argument<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    indices: &mut Indices,
) -> Option<Option<KernelParamKind>> {
    if let TyKind::Pointer(element) | TyKind::Reference { to: element, .. } = *cx.types.kind(param.ty.ty) {
        return Some(params::pointer_argument(cx, param, element, indices));
    }
    if let Some(resource) = resources::resource_type(cx, param.ty, param.span) {
        return Some(resources::resource_argument(cx, param, resource, indices));
    }
    is_structure_of_resources(cx, param.ty.ty, param.span).then(|| structure_argument(cx, param, indices))
}

/// Whether a type is an array of pointers or a structure with a resource in it, at any depth.
pub(in crate::sema) fn is_structure_of_resources(cx: &mut Checker<'_>, ty: Ty, span: Span) -> bool {
    // A structure may contain others several times on each of many levels: each is looked at once.
    let mut seen = FxHashSet::default();
    let mut work = vec![ty];
    while let Some(ty) = work.pop() {
        if elements_of_pointers(cx, ty).is_some() {
            return true;
        }
        let Some(id) = cx.types.as_record(ty) else { continue };
        if !seen.insert(id) || !record::complete_type(cx, ty, span) || !is_plain_structure(cx, id) {
            continue;
        }
        for field in cx.types.record(id).fields.clone() {
            let is_pointer = matches!(cx.types.kind(field.ty.ty), TyKind::Pointer(_));
            if is_pointer || resources::resource_type(cx, field.ty, span).is_some() {
                return true;
            }
            work.push(field.ty.ty);
        }
    }
    false
}

/// Whether a class is a program's structure, not an object of the library.
fn is_plain_structure(cx: &Checker<'_>, id: RecordId) -> bool {
    !cx.types.record(id).is_union && stage::object(&cx.types, id).is_none()
}

/// The type that the pointers of an array point to, and their number.
fn elements_of_pointers(cx: &Checker<'_>, ty: Ty) -> Option<(QualTy, u32)> {
    let (element, count) = resources::array_elements(&cx.types, &cx.names, ty)?;
    let to = cx.types.pointee(element).filter(|_| cx.types.pointed_function(element).is_none())?;
    Some((to, u32::try_from(count).ok().filter(|count| (1..=MAX_RESOURCES).contains(count))?))
}

/// A structure of resources or an array of pointers.
pub(in crate::sema) fn structure_argument<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    indices: &mut Indices,
) -> Option<KernelParamKind> {
    let mut structure = Structure { indices, members: Vec::new() };
    structure.add(cx, param, 0, param.name.as_str())?;
    Some(KernelParamKind::Structure { members: structure.members })
}

/// The members of an argument that were found so far.
struct Structure<'i> {
    indices: &'i mut Indices,
    members: Vec<(u64, KernelParam)>,
}

impl Structure<'_> {
    /// Adds what is at byte `offset` of the argument, which the host knows by `path`.
    fn add<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        part: &Attributed<'a>,
        offset: u64,
        path: &str,
    ) -> Option<()> {
        if self.members.len() > MAX_RESOURCES as usize {
            cx.error(
                "kernel-parameter",
                part.span,
                format!("an argument has at most {MAX_RESOURCES} resources"),
            );
            return None;
        }
        if let Some((element, count)) = elements_of_pointers(cx, part.ty.ty) {
            return self.add_pointers(cx, part, (element, count), offset, path);
        }
        let id = cx
            .types
            .as_record(part.ty.ty)
            .filter(|&id| is_structure_of_resources(cx, part.ty.ty, part.span) && is_plain_structure(cx, id));
        if let Some(id) = id {
            return self.add_members(cx, id, part.span, offset, path);
        }
        match argument(cx, part, self.indices) {
            Some(kind) => {
                let (name, ty, span) = (Name::new(path), part.ty.ty, part.span);
                self.members.push((offset, KernelParam { name, ty, kind: kind?, span }));
                Some(())
            }
            None => {
                let shown = cx.show(part.ty);
                let message =
                    format!("member{} of type `{shown}` is not a resource", params::shown_name(part));
                let hint = "an argument by value has buffers, textures and samplers only; bind other data as \
                            `constant T& name [[buffer(n)]]`";
                cx.report(Diagnostic::error("kernel-parameter", part.span, message).with_hint(hint));
                None
            }
        }
    }

    fn add_members<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        id: RecordId,
        used: Span,
        offset: u64,
        path: &str,
    ) -> Option<()> {
        let scope = cx.records.get(id).scope;
        for field in cx.types.record(id).fields.clone() {
            let Some(declared) = declaration(cx, id, field.name) else {
                let message = "the type of an argument has no base class, and no member without a name";
                cx.error("kernel-parameter", used, message);
                return None;
            };
            let mut member = Attributed::of_member(&field, declared);
            if cx.diagnostics.is_of_library(member.span) {
                member.span = used;
            }
            let path = format!("{path}.{}", field.name);
            cx.in_scope(scope, |cx| self.add(cx, &member, offset + field.offset, &path))?;
        }
        Some(())
    }

    /// Adds an array of pointers, which takes an index for each.
    fn add_pointers<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        part: &Attributed<'a>,
        (element, count): (QualTy, u32),
        offset: u64,
        path: &str,
    ) -> Option<()> {
        let table = params::pointer_table(cx, part, element)?;
        let first = indices::argument_binding(cx, part, table, count, self.indices)?;
        let ty = cx.types.pointer(element);
        let stride = cx.types.layout(ty).size;
        for n in 0..count {
            let mut binding = first.clone();
            binding.index = n;
            let kind = params::pointer_kind(binding, element, false);
            let name = Name::new(&format!("{path}[{n}]"));
            let member = KernelParam { name, ty, kind, span: part.span };
            self.members.push((offset + u64::from(n) * stride, member));
        }
        Some(())
    }
}

/// The declaration of a data member in the body of its class.
fn declaration<'a>(cx: &Checker<'a>, id: RecordId, name: Name) -> Option<&'a ast::Field> {
    let members = cx.records.get(id).ast.and_then(|ast| ast.members.as_ref());
    members.into_iter().flatten().find_map(|item| match &item.kind {
        ItemKind::Field(field) if field.name == Some(name) => Some(&**field),
        _ => None,
    })
}
