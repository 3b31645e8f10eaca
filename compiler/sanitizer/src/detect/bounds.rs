//! Accesses outside of their memory, through null pointers, and of components that a vector does not have.

use anymetal_interp::{AccessKind, Fault, Variable, VectorIndex};

use super::collector::{Collector, Seen, Text};
use crate::finding::{Action, MemorySpace};
use crate::{FindingKind, LaunchInfo};

pub(super) fn fault(fault: &Fault, info: &LaunchInfo, findings: &mut Collector) {
    let action = match fault.kind {
        AccessKind::Load => Action::Read,
        AccessKind::Store => Action::Write,
        AccessKind::Atomic => Action::AtomicReadModifyWrite,
    };
    let mut side = Seen::at(action, &fault.thread, fault.loc);
    (side.bytes, side.offset) = (fault.bytes, fault.offset);
    let memory = findings.memory(fault.variable);
    let space = memory.map(|memory| memory.space);
    let kind = match (fault.variable, space) {
        (Variable::Nothing, _) => FindingKind::NullAccess,
        _ if fault.bound == 0
            && matches!(fault.variable, Variable::Argument(_))
            && !is_bound(fault, info) =>
        {
            FindingKind::NullAccess
        }
        (_, Some(MemorySpace::Threadgroup)) => FindingKind::OutOfBoundsThreadgroup,
        (_, Some(MemorySpace::Thread)) => FindingKind::OutOfBoundsPrivate,
        _ => FindingKind::OutOfBounds,
    };
    let is_nameless = matches!(fault.variable, Variable::Nothing | Variable::Address);
    let variable = (!is_nameless).then_some(fault.variable);
    findings.report(kind, &[side], variable, |findings| {
        if fault.variable == Variable::Address {
            address_text(fault)
        } else if kind == FindingKind::NullAccess {
            null_text(findings, fault)
        } else {
            bounds_text(findings, fault)
        }
    });
}

pub(super) fn vector_index(access: &VectorIndex, findings: &mut Collector) {
    let side = Seen::at(Action::Read, &access.thread, access.loc);
    findings.report(FindingKind::VectorIndex, &[side], None, |_| Text {
        message: format!("component {} of a vector of {}", access.index as i32, access.count),
        remedy: None,
    });
}

fn is_bound(fault: &Fault, info: &LaunchInfo) -> bool {
    let Variable::Argument(position) = fault.variable else { return true };
    info.arguments.get(position as usize).is_some_and(|argument| argument.is_bound)
}

fn null_text(findings: &Collector, fault: &Fault) -> Text {
    let argument = findings.memory(fault.variable).filter(|_| fault.variable != Variable::Nothing);
    match argument {
        None => Text { message: "the pointer points at nothing".to_owned(), remedy: None },
        Some(argument) => Text {
            message: format!("nothing is bound to `{}`", argument.name),
            remedy: Some(
                "bind a buffer, or test the function constant that says whether there is one".to_owned(),
            ),
        },
    }
}

fn address_text(fault: &Fault) -> Text {
    Text {
        message: format!(
            "address {:#x}, through a loaded pointer, is in no buffer that is resident in this launch",
            fault.offset
        ),
        remedy: Some(
            "bind the buffer, or name it with `use_resource`; a buffer that is gone has no address"
                .to_owned(),
        ),
    }
}

fn bounds_text(findings: &Collector, fault: &Fault) -> Text {
    let memory = findings.memory(fault.variable);
    let (element, name) = memory.map_or((1, ""), |memory| (memory.element_bytes as i64, &memory.name));
    let bound = fault.bound;
    let message = if fault.bound == 0 {
        format!("`{name}` has no bytes")
    } else if element > 1 {
        let (index, count) = (fault.offset.div_euclid(element), bound as i64 / element);
        format!("index {index} of `{name}`, which has {count} elements")
    } else {
        format!("byte {} of `{name}`, which has {bound} bytes", fault.offset)
    };
    let distance = if fault.offset < 0 {
        format!("{} bytes before it", fault.offset.unsigned_abs())
    } else {
        format!("{} bytes after its end", (fault.offset as u64 + fault.bytes).saturating_sub(bound))
    };
    Text {
        message: format!("{message}: {distance}"),
        remedy: Some("check the index against the size".to_owned()),
    }
}
