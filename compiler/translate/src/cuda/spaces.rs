//! Address spaces as changes to the text of a function's copy.

use super::declarator::Declarator;
use super::expression::{Names, Reader};
use super::inference::{Inference, Instance, Spaces};
use super::items::Function;
use super::space::{Space, Value};
use super::typename::plain_type;
use crate::token::{Changes, Text};

/// Names mean nothing: for questions of shape.
pub(super) struct NoNames;

impl Names for NoNames {
    fn name(&self, _: usize) -> Option<Value> {
        None
    }
    fn member(&self, _: usize, _: Space) -> Value {
        Value::default()
    }
    fn call(&self, _: usize, _: usize, _: usize, _: usize) -> Value {
        Value::default()
    }
}

/// The address spaces of an instance as changes, and pointers that have none.
pub(super) fn spaces(inference: &Inference<'_, '_>, instance: &Instance) -> (Changes, Vec<(usize, String)>) {
    let program = &inference.program;
    let (text, function) = (program.text, &program.items.functions[instance.function]);
    let (mut changes, mut unclear) = (Changes::default(), Vec::new());
    let Some(body) = &program.bodies[instance.function] else { return (changes, unclear) };
    for (slot, &spaces) in body.slots.iter().zip(&instance.slots) {
        let Some(one) = slot.declarators.first() else { continue };
        let is_auto = text.at(one.ty.0) == "auto";
        if is_auto {
            one.stars.iter().for_each(|&star| changes.replace(star, " "));
            let consts =
                (slot.first..one.ty.0).filter(|&token| text.at(token) == "const" && !one.stars.is_empty());
            consts.for_each(|token| changes.remove(token));
            continue;
        }
        let levels = slot.levels();
        if levels == 0 && !slot.is_reference() && !slot.is_array_parameter() {
            continue;
        }
        if slot.param.is_some() && is_forwarding(text, function, one) {
            continue;
        }
        let name = text.at(one.name);
        match spaces.0 {
            Space::Mixed => unclear.push((
                one.name,
                format!("the pointer `{name}` refers to memory of more than one address space"),
            )),
            Space::Unknown if levels > 0 => {
                unclear.push((one.name, format!("what memory the pointer `{name}` refers to is not seen")));
            }
            _ => {}
        }
        // A pointer that is shared is in threadgroup memory itself.
        let first = if slot.is_shared { one.ty.0 } else { slot.first };
        if let (true, Some(&star)) = (slot.is_shared, one.stars.last()) {
            (slot.first..=one.ty.1)
                .filter(|&token| text.at(token) == "__shared__")
                .for_each(|token| changes.remove(token));
            changes.insert_after(star, " threadgroup ");
        }
        pointer(text, &mut changes, (first, spaces), &one.stars);
        separated(text, &mut changes, slot, spaces.0);
        if levels > 0
            && let Some(reference) = one.reference
        {
            changes.insert_before(reference, " thread");
        }
    }
    if instance.this != Space::Thread && function.record.is_some() {
        let is_const = text.at(function.close + 1) == "const";
        changes.insert_after(function.close + usize::from(is_const), &format!(" {}", instance.this.word()));
    }
    returned(text, function, instance.returns, &mut changes);
    casts(inference, instance, &mut changes);
    (changes, unclear)
}

/// `T&& x` of a template over `T` refers to whatever it is given: its address space is part of `T`.
fn is_forwarding(text: &Text<'_>, function: &Function, one: &Declarator) -> bool {
    let is_double = one.reference.is_some_and(|token| text.at(token) == "&&");
    let (first, last) = one.ty;
    let parameters = function.template.filter(|_| is_double && first == last && one.stars.is_empty());
    parameters.is_some_and(|(open, close)| (open..close).any(|token| text.at(token) == text.at(first)))
}

/// `T *p, n` to two declarations: what is before the type is about both.
fn separated(text: &Text<'_>, changes: &mut Changes, slot: &super::body::Slot, space: Space) {
    if slot.param.is_some() || slot.declarators.iter().all(|one| !one.stars.is_empty()) {
        return;
    }
    for one in slot.declarators.iter().skip(1) {
        let comma = one.stars.first().copied().unwrap_or(one.name) - 1;
        let space = if one.stars.is_empty() { "" } else { space.word() };
        changes.replace(comma, format!("; {space} {}", plain_type(text, one.ty)));
    }
}

/// `T** p` to `device T* device* p`.
pub(super) fn pointer(
    text: &Text<'_>,
    changes: &mut Changes,
    (first, spaces): (usize, Spaces),
    stars: &[usize],
) {
    let (outer, inner) = (spaces.0.word(), spaces.1.word());
    match stars.len() {
        0 | 1 => changes.insert_before(first, &format!("{outer} ")),
        _ => {
            changes.insert_before(first, &format!("{inner} "));
            changes.insert_after(stars[0], &format!(" {outer}"));
            stars[1..stars.len() - 1].iter().for_each(|&star| changes.insert_after(star, " device"));
        }
    }
    debug_assert!(!text.at(first).is_empty());
}

fn returned(text: &Text<'_>, function: &Function, returns: Spaces, changes: &mut Changes) {
    if let Some((first, last)) = function.conversion_type(text) {
        let stars: Vec<usize> = (last + 1..function.open).filter(|&token| text.at(token) == "*").collect();
        pointer(text, changes, (function.at + 1, returns), &stars);
        debug_assert!(first > function.at, "the type follows the word");
        return;
    }
    let stars = function.returned_stars(text);
    if stars == 0 && !function.returns_reference(text) {
        return;
    }
    let Some((first, last)) = function.returned_type(text) else { return };
    let stars: Vec<usize> = (last + 1..function.at).filter(|&token| text.at(token) == "*").collect();
    pointer(text, changes, (first, returns), &stars);
}

/// Casts to pointers say the address space of what they are given.
fn casts(inference: &Inference<'_, '_>, instance: &Instance, changes: &mut Changes) {
    let program = &inference.program;
    let text = program.text;
    let Some((open, close)) = program.items.functions[instance.function].body else { return };
    let reader = Reader { text, names: &NoNames };
    for token in open..close {
        if text.at(token) == "(" {
            let Some((end, true)) = reader.cast(token) else { continue };
            let value = inference.value(instance, end + 1, reader.operand_end(end));
            cast(text, changes, (token + 1, end), value);
        } else if matches!(text.at(token), "reinterpret_cast" | "static_cast" | "const_cast") {
            let Some(angle) = text.angle_closing(token + 1) else { continue };
            let Some(end) = text.closing(angle + 1) else { continue };
            let value = inference.value(instance, angle + 2, end.saturating_sub(1));
            cast(text, changes, (token + 2, angle), value);
        }
    }
}

fn cast(text: &Text<'_>, changes: &mut Changes, (first, end): (usize, usize), value: Value) {
    let stars: Vec<usize> = (first..end).filter(|&token| text.at(token) == "*").collect();
    if !stars.is_empty() {
        pointer(text, changes, (first, (value.points, value.then)), &stars);
    } else if (first..end).any(|token| text.at(token) == "&") {
        pointer(text, changes, (first, (value.lives, Space::Any)), &stars);
    }
}
