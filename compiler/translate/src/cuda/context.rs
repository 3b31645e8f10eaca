//! What names mean in one copy of a function, and what its statements say of its pointers.

use std::cell::Cell;
use std::ops::Range;

use super::body::{Body, Local, Slot};
use super::expression::{Names, Reader, ends_operand};
use super::inference::{Inference, Instance, Spaces};
use super::space::{Space, Value};
use super::words::call_parens;
use crate::token::Text;

/// An instance in which an expression is read.
pub(super) struct Context<'i, 'a, 's> {
    pub(super) inference: &'i Inference<'a, 's>,
    pub(super) instance: &'i Instance,
    /// How many more tokens are looked at.
    pub(super) fuel: Cell<usize>,
}

impl<'i> Context<'i, '_, '_> {
    pub(super) fn reader(&self) -> Reader<'_, '_, Self> {
        Reader { text: self.inference.program.text, names: self }
    }

    fn value(&self, first: usize, last: usize) -> Value {
        self.reader().value(first, last, 0)
    }

    fn body(&self) -> &'i Body {
        const EMPTY: &Body = &Body::EMPTY;
        self.inference.program.bodies[self.instance.function].as_ref().unwrap_or(EMPTY)
    }

    /// Improves what is known of the slots; gives what is returned.
    pub(super) fn visit(&self, slots: &mut [Spaces]) -> Spaces {
        let text = self.inference.program.text;
        let function = self.inference.function(self.instance.function);
        for (number, slot) in self.body().slots.iter().enumerate() {
            for declarator in &slot.declarators {
                let Some((first, last)) = declarator.init else { continue };
                let parts = if text.at(first) == "{" { text.parts(first, last) } else { vec![(first, last)] };
                let is_auto = text.at(declarator.ty.0) == "auto";
                for (first, last) in parts {
                    let value = self.value(first, last);
                    if !declarator.stars.is_empty() || (is_auto && declarator.reference.is_none()) {
                        join(&mut slots[number], (value.points, value.then));
                    } else if declarator.reference.is_some() {
                        join(&mut slots[number], (value.lives, Space::Unknown));
                    }
                }
            }
        }
        let mut returns = self.instance.returns;
        let Some((open, close)) = function.body else { return returns };
        for token in open..close {
            match text.at(token) {
                "=" => self.assignment(token, close, slots),
                "return" => {
                    let end = (token..close).find(|&token| text.at(token) == ";").unwrap_or(close);
                    let value = self.value(token + 1, end - 1);
                    let found = match function.returns_reference(text) {
                        true => (value.lives, Space::Unknown),
                        false => (value.points, value.then),
                    };
                    join(&mut returns, found);
                }
                _ => {}
            }
        }
        returns
    }

    /// `pointer = …` and `pointers[i] = …`
    fn assignment(&self, equals: usize, close: usize, slots: &mut [Spaces]) {
        let text = self.inference.program.text;
        let (mut name, mut indices) = (equals - 1, 0);
        while text.at(name) == "]" {
            let Some(open) = text.opening(name) else { return };
            indices += 1;
            name = open.saturating_sub(1);
        }
        if !text.is_word(name) || matches!(text.at(name.wrapping_sub(1)), "." | "->" | "*") {
            return;
        }
        let Some(local) = self.body().find(text, name) else { return };
        let declarator = self.body().declarator(local);
        if declarator.stars.is_empty() || declarator.arrays != indices || declarator.name == name {
            return;
        }
        let mut end = equals + 1;
        while end < close && !matches!(text.at(end), ";" | ")" | ",") {
            end = if matches!(text.at(end), "(" | "[" | "{") {
                text.closing(end).unwrap_or(close)
            } else {
                end
            } + 1;
        }
        let value = self.value(equals + 1, end - 1);
        join(&mut slots[local.slot], (value.points, value.then));
    }

    /// The functions that are called, with the address spaces of their parameters.
    pub(super) fn calls(&self) -> Vec<(usize, Space, Vec<Spaces>)> {
        let text = self.inference.program.text;
        let function = self.inference.function(self.instance.function);
        let Some((open, close)) = function.body else { return Vec::new() };
        let mut wanted = Vec::new();
        // Constructors' initialisers are before the body.
        for token in function.close..close.max(open) {
            if !text.is_word(token) {
                continue;
            }
            let Some((open, close)) = call_parens(text, token) else { continue };
            for function in self.candidates(token, open, close) {
                let Some(this) = self.this_of(function, token, 0) else { continue };
                let found = self.call_signature(function, open, close, 0);
                wanted.extend(found.map(|found| (function, this, found)));
            }
        }
        wanted.extend(self.operators(function.close..close.max(open)));
        for token in function.close..close.max(open) {
            let functions = self.inference.conversions.get(text.at(token));
            wanted.extend(functions.into_iter().flatten().map(|&one| (one, Space::Thread, Vec::new())));
        }
        for (name, open, close) in self.body().constructions(text) {
            for function in self.candidates(name, open, close) {
                let found = self.call_signature(function, open, close, 0);
                wanted.extend(found.map(|found| (function, Space::Thread, found)));
            }
        }
        wanted
    }

    /// The operators that are used, with the address spaces of their operands.
    fn operators(&self, tokens: Range<usize>) -> Vec<(usize, Space, Vec<Spaces>)> {
        let text = self.inference.program.text;
        let mut wanted = Vec::new();
        if self.inference.operators.is_empty() {
            return wanted;
        }
        for token in tokens {
            let Some(functions) = self.inference.operators.get(text.at(token)) else { continue };
            let operands = self.operands(token);
            for &function in functions {
                let called = self.inference.function(function);
                let (this, given) = match called.has_object(self.inference.program.text) {
                    true => (operands.first().map_or(Space::Thread, |object| object.lives), 1),
                    false => (Space::Thread, 0),
                };
                // Results of other operators are in no memory.
                let none = self.inference.signature(function, &[]);
                wanted.extend(none.map(|none| (function, Space::Thread, none)));
                let values = operands.get(given..).unwrap_or_default();
                let is_pointer = operands.iter().any(|value| value.points.is_known());
                if is_pointer || values.len() > called.params.len() {
                    continue;
                }
                let this = if this == Space::Any { Some(Space::Thread) } else { self.settled(this) };
                let found = this.zip(self.inference.signature(function, values));
                wanted.extend(found.map(|(this, signature)| (function, this, signature)));
            }
        }
        wanted
    }

    fn settled(&self, space: Space) -> Option<Space> {
        self.inference.settled(space, Space::Thread)
    }

    /// The values of the operands of an operator. The left one is taken to bind tighter than any operator.
    fn operands(&self, token: usize) -> Vec<Value> {
        let (text, reader) = (self.inference.program.text, self.reader());
        let mut operands = Vec::new();
        if ends_operand(text, token - 1) {
            operands.push(reader.value(object_start(text, token), token - 1, 1));
        }
        let right = match text.closing(token) {
            Some(close) => (token + 1, close - 1),
            None => (token + 1, reader.operand_end(token)),
        };
        let is_suffix = matches!(text.at(token), "++" | "--") && !operands.is_empty();
        if !is_suffix && right.0 <= right.1 {
            operands.push(reader.value(right.0, right.1, 1));
        }
        operands
    }

    /// Where the object of a call is, or `None` while that is not known.
    fn this_of(&self, function: usize, name: usize, depth: usize) -> Option<Space> {
        let text = self.inference.program.text;
        let called = self.inference.function(function);
        if !called.has_object(text) || called.returned_type(text).is_none() {
            return Some(Space::Thread);
        }
        let space = match text.at(name.wrapping_sub(1)) {
            "." => self.reader().value(object_start(text, name - 1), name - 2, depth + 1).lives,
            "->" => self.reader().value(object_start(text, name - 1), name - 2, depth + 1).points,
            _ if called.name == "operator()" => self.name(name)?.lives,
            _ => self.instance.this,
        };
        if space == Space::Any { Some(Space::Thread) } else { self.settled(space) }
    }

    fn candidates(&self, name: usize, open: usize, close: usize) -> Vec<usize> {
        let text = self.inference.program.text;
        let by_name = &self.inference.by_name;
        let given = text.parts(open, close).len();
        let mut found = by_name.get(text.at(name)).map(Vec::as_slice).unwrap_or_default();
        // An object that is called.
        if found.is_empty() && self.body().find(text, name).is_some() {
            found = by_name.get("operator()").map(Vec::as_slice).unwrap_or_default();
        }
        let fits = |function: &&usize| {
            let params = &self.inference.function(**function).params;
            let needed = params.iter().filter(|param| param.end == param.last).count();
            (needed..=params.len()).contains(&given)
        };
        found.iter().filter(fits).copied().collect()
    }

    fn call_signature(
        &self,
        function: usize,
        open: usize,
        close: usize,
        depth: usize,
    ) -> Option<Vec<Spaces>> {
        let parts = self.inference.program.text.parts(open, close);
        let reader = self.reader();
        let values: Vec<Value> =
            parts.into_iter().map(|(first, last)| reader.value(first, last, depth + 1)).collect();
        self.inference.signature(function, &values)
    }

    fn local(&self, local: Local) -> Value {
        let body = self.body();
        let (slot, declarator) = (&body.slots[local.slot], body.declarator(local));
        let (points, then) = self.instance.slots[local.slot];
        let text = self.inference.program.text;
        let is_wrapped = text.at(declarator.name + 1) == ")" && declarator.arrays > 0;
        let home = if slot.is_shared { Space::Threadgroup } else { Space::Thread };
        let (levels, arrays) = (declarator.stars.len(), declarator.arrays);
        if declarator.reference.is_some() {
            return match (levels, arrays) {
                (0, 0) => Value { points: Space::Any, then: Space::Unknown, lives: points, arrays },
                (0, _) => Value { points, then: Space::Unknown, lives: points, arrays },
                _ => Value { points, then, lives: Space::Thread, arrays },
            };
        }
        if slot.is_array_parameter() || is_wrapped {
            let arrays = arrays + usize::from(is_wrapped);
            return Value { points, then, lives: Space::Thread, arrays };
        }
        match (levels, arrays) {
            (0, 0) if text.at(declarator.ty.0) == "auto" => Value { points, then, lives: home, arrays },
            (0, 0) => {
                Value { points: Space::Any, then: Space::Unknown, lives: self.home(slot, home), arrays }
            }
            (0, _) => Value { points: home, then: Space::Unknown, lives: home, arrays },
            (_, 0) => Value { points, then, lives: home, arrays },
            (..) => Value { points: home, then: points, lives: home, arrays },
        }
    }

    /// A kernel's numbers and structures are in constant memory, unless they are copied.
    fn home(&self, slot: &Slot, otherwise: Space) -> Space {
        let function = self.inference.function(self.instance.function);
        match slot.param.is_some() && function.is_kernel && !slot.is_changed {
            true => Space::Constant,
            false => otherwise,
        }
    }
}

impl Names for Context<'_, '_, '_> {
    fn may_go_on(&self, tokens: usize) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(tokens));
        left > 0
    }

    fn name(&self, token: usize) -> Option<Value> {
        let program = &self.inference.program;
        if let Some(local) = self.body().find(program.text, token) {
            return Some(self.local(local));
        }
        let word = program.text.at(token);
        if let Some(value) = program.globals.get(word) {
            return Some(*value);
        }
        let is_method = self.inference.function(self.instance.function).record.is_some();
        if word == "this" {
            return Some(Value::rvalue(self.instance.this, Space::Unknown));
        }
        (is_method && program.members.contains_key(word)).then(|| self.member(token, self.instance.this))
    }

    fn member(&self, token: usize, lives: Space) -> Value {
        let members = &self.inference.program.members;
        match members.get(self.inference.program.text.at(token)).copied() {
            Some((0, 0)) | None => Value { points: Space::Any, then: Space::Unknown, lives, arrays: 0 },
            Some((stars, 0)) => Value { points: Space::Device, then: Space::behind(stars), lives, arrays: 0 },
            Some((_, arrays)) => Value { points: lives, then: Space::Device, lives, arrays },
        }
    }

    fn element(&self, object: Value) -> Option<Value> {
        self.element_of(object.lives)
    }

    fn call(&self, name: usize, open: usize, close: usize, depth: usize) -> Value {
        let text = self.inference.program.text;
        let mut value = Value::rvalue(Space::Any, Space::Unknown);
        // Which specialisation is called is not known: that of one may return no pointer.
        for function in self.candidates(name, open, close) {
            let called = self.inference.function(function);
            if called.returned_stars(text) == 0 && !called.returns_reference(text) {
                continue;
            }
            let found =
                self.call_signature(function, open, close, depth).zip(self.this_of(function, name, depth));
            let instance =
                found.and_then(|(signature, this)| self.inference.find(function, this, &signature));
            let Some(instance) = instance else {
                return Value::default();
            };
            let (points, then) = instance.returns;
            match called.returns_reference(text) {
                true => value.lives = value.lives.join(points),
                false => {
                    value.points = value.points.join(points);
                    value.then = value.then.join(then);
                }
            }
        }
        for &function in self.inference.conversions.get(text.at(name)).map(Vec::as_slice).unwrap_or_default()
        {
            let is_it = |instance: &&Instance| instance.function == function;
            let Some(instance) = self.inference.instances.iter().find(is_it) else { return Value::default() };
            value.points = value.points.join(instance.returns.0);
        }
        value
    }
}

impl Context<'_, '_, '_> {
    /// The value of an operator `[]` of objects in a space; `None` if the source has none, or if it is not
    /// known yet.
    fn element_of(&self, lives: Space) -> Option<Value> {
        let text = self.inference.program.text;
        let this = if lives == Space::Any { Space::Thread } else { lives };
        let mut functions = self.inference.operators.get("[")?.iter();
        let instance = functions.find_map(|&function| {
            let called = self.inference.function(function);
            let is_it = |instance: &&Instance| instance.function == function && instance.this == this;
            let instance = self.inference.instances.iter().find(is_it)?;
            called.returns_reference(text).then_some(instance)
        })?;
        Some(Value { points: Space::Any, then: Space::Unknown, lives: instance.returns.0, arrays: 0 })
    }
}

/// The most members and calls after one another that are looked at.
const MAX_CHAIN: usize = 64;

/// The first token of what stands before `.` or `->`.
fn object_start(text: &Text<'_>, dot: usize) -> usize {
    let mut token = dot.saturating_sub(1);
    for _ in 0..MAX_CHAIN {
        if matches!(text.at(token), "]" | ")")
            && let Some(open) = text.opening(token)
        {
            let before = open.saturating_sub(1);
            if !(text.is_word(before) || text.at(before) == "]") || open == 0 {
                return open;
            }
            token = before;
        } else if matches!(text.at(token.wrapping_sub(1)), "." | "->") {
            token -= 2;
        } else {
            return token;
        }
    }
    token
}

fn join(known: &mut Spaces, more: Spaces) {
    known.0 = known.0.join(more.0);
    known.1 = known.1.join(more.1);
}
