//! Rules of Metal that syntax alone decides: address spaces of variables at program scope and of members.

use crate::ast::{AddressSpace, Item, ItemKind, Record, Type, TypeKind, Variable};
use anymetal_diagnostics::{Diagnostic, Sink};

/// Reports what breaks a rule.
pub(crate) fn check(items: &[Item], sink: &mut Sink) {
    let mut work: Vec<&Item> = items.iter().collect();
    while let Some(item) = work.pop() {
        match &item.kind {
            ItemKind::Namespace(namespace) => work.extend(&namespace.items),
            ItemKind::Variable(variable) => program_scope(variable, sink),
            ItemKind::Record(record) => members(record, sink),
            _ => {}
        }
    }
}

/// A variable at program scope is in constant memory (MSL 4). Samplers need no memory, and attributes are for
/// arguments that are declared there.
fn program_scope(variable: &Variable, sink: &mut Sink) {
    let is_out_of_line = variable.declarator.scope.is_some();
    if is_out_of_line || !variable.attributes.is_empty() || may_be_constant(&variable.ty) {
        return;
    }
    let message = "a variable at program scope must be in the `constant` address space";
    sink.push(Diagnostic::error("program-scope-space", variable.span, message));
}

/// Whether a type is in constant memory, or may name a type that is or that needs no memory.
fn may_be_constant(ty: &Type) -> bool {
    if let Some(space) = ty.quals.space {
        return space == AddressSpace::Constant;
    }
    match &ty.kind {
        TypeKind::Array(elem, _) => may_be_constant(elem),
        TypeKind::Builtin(_) | TypeKind::Pointer(_) => false,
        // The alias or class is not known here.
        _ => true,
    }
}

fn members(record: &Record, sink: &mut Sink) {
    for member in record.members.iter().flatten() {
        match &member.kind {
            ItemKind::Record(record) => members(record, sink),
            ItemKind::Field(field) => {
                let mut ty = &field.ty;
                while let TypeKind::Array(elem, _) = &ty.kind {
                    ty = elem;
                }
                if let Some(space) = ty.quals.space.or(field.ty.quals.space) {
                    let word = match space {
                        AddressSpace::Device => "device",
                        AddressSpace::Constant => "constant",
                        AddressSpace::Threadgroup => "threadgroup",
                        AddressSpace::Thread => "thread",
                    };
                    let message = format!("a member cannot be in an address space of its own, here `{word}`");
                    sink.push(
                        Diagnostic::error("member-space", field.span, message)
                            .with_hint("a member is in the memory that its object is in"),
                    );
                }
            }
            _ => {}
        }
    }
}
