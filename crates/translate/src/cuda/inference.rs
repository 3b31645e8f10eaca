//! Address spaces by inference over the call graph.
//!
//! CUDA's pointers do not say what memory they refer to, Metal's do. A kernel's pointers are to device memory;
//! from there it follows what the others refer to. A function is looked at once for each combination of address
//! spaces that it is called with: an [`Instance`], which becomes a copy of the function. Knowledge only grows
//! ([`Space::join`]), so that the rounds end.

use std::collections::BTreeMap;

use super::body::{Body, Local};
use super::expression::{Names, Reader};
use super::items::{Function, Items};
use super::space::{Space, Value};
use super::words::call_parens;
use crate::token::Text;

/// The most copies of one function.
const MAX_COPIES: usize = 16;
/// The most copies of all functions.
const MAX_INSTANCES: usize = 4000;
/// The most rounds; each makes something better known.
const MAX_ROUNDS: usize = 60;

/// What a parameter's pointer points to, and what that points to; of a reference, where its object is.
pub(super) type Spaces = (Space, Space);

/// A function with the address spaces of its parameters.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) function: usize,
    pub(super) signature: Vec<Spaces>,
    /// Where the object of a method is.
    pub(super) this: Space,
    /// Of each slot of its body.
    pub(super) slots: Vec<Spaces>,
    pub(super) returns: Spaces,
}

/// What is known of the source before the inference.
pub(super) struct Program<'a, 's> {
    pub(super) text: &'a Text<'s>,
    pub(super) items: &'a Items,
    /// By function; of those that stay.
    pub(super) bodies: &'a [Option<Body>],
    /// Numbers of stars and extents of records' data, by name.
    pub(super) members: BTreeMap<String, (usize, usize)>,
    /// Variables outside of functions.
    pub(super) globals: BTreeMap<String, Value>,
}

/// See the module's documentation.
pub(super) struct Inference<'a, 's> {
    pub(super) program: Program<'a, 's>,
    pub(super) instances: Vec<Instance>,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    /// What is unknown now stays unknown.
    is_final: bool,
}

/// An instance in which an expression is read.
struct Context<'i, 'a, 's> {
    inference: &'i Inference<'a, 's>,
    instance: &'i Instance,
}

impl<'a, 's> Inference<'a, 's> {
    pub(super) fn of(program: Program<'a, 's>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, function) in program.items.functions.iter().enumerate() {
            if program.bodies[number].is_some() {
                by_name.entry(&function.name).or_default().push(number);
            }
        }
        let mut inference = Self { program, instances: Vec::new(), by_name, is_final: false };
        inference.kernels();
        inference.rounds();
        inference.is_final = true;
        inference.rounds();
        inference.those_not_seen_called();
        inference.rounds();
        inference
    }

    fn function(&self, number: usize) -> &'a Function {
        &self.program.items.functions[number]
    }

    fn kernels(&mut self) {
        for number in 0..self.program.bodies.len() {
            if self.function(number).is_kernel && self.program.bodies[number].is_some() {
                let params = self.function(number).params.len();
                self.add(number, Space::Thread, vec![(Space::Device, Space::Device); params]);
            }
        }
    }

    /// Functions that are called in ways that are not seen, as by a macro.
    fn those_not_seen_called(&mut self) {
        for number in 0..self.program.bodies.len() {
            let is_made = self.instances.iter().any(|instance| instance.function == number);
            if self.program.bodies[number].is_some() && !is_made {
                let signature = self.signature(number, &[]);
                self.add(number, Space::Thread, signature.unwrap_or_default());
            }
        }
    }

    fn add(&mut self, function: usize, this: Space, signature: Vec<Spaces>) {
        let Some(body) = &self.program.bodies[function] else { return };
        let copies = self.instances.iter().filter(|instance| instance.function == function).count();
        if copies >= MAX_COPIES || self.instances.len() >= MAX_INSTANCES {
            return;
        }
        let slots = body.slots.iter().map(|slot| {
            let given = slot.param.and_then(|param| signature.get(param));
            given.copied().unwrap_or_default()
        });
        let slots = slots.collect();
        self.instances.push(Instance { function, signature, this, slots, returns: Spaces::default() });
    }

    fn rounds(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            let mut number = 0;
            while number < self.instances.len() {
                changed |= self.visit(number);
                number += 1;
            }
            if !changed {
                return;
            }
        }
    }

    /// Looks at one instance; whether something became better known.
    fn visit(&mut self, number: usize) -> bool {
        let before = self.instances.len();
        let mut instance = self.instances[number].clone();
        let old = (instance.slots.clone(), instance.returns);
        let wanted = {
            let mut slots = std::mem::take(&mut instance.slots);
            instance.slots.clone_from(&slots);
            let context = Context { inference: self, instance: &instance };
            let returns = context.visit(&mut slots);
            let wanted = context.calls();
            instance.slots = slots;
            instance.returns = returns;
            wanted
        };
        let changed = (instance.slots.clone(), instance.returns) != old;
        self.instances[number] = instance;
        for (function, this, signature) in wanted {
            if self.find(function, this, &signature).is_none() {
                self.add(function, this, signature);
            }
        }
        changed || self.instances.len() > before
    }

    fn find(&self, function: usize, this: Space, signature: &[Spaces]) -> Option<&Instance> {
        let is_it = |instance: &&Instance| {
            instance.function == function && instance.this == this && instance.signature == signature
        };
        self.instances.iter().find(is_it)
    }

    /// The address spaces of a call's parameters, or `None` while some are not known.
    fn signature(&self, function: usize, values: &[Value]) -> Option<Vec<Spaces>> {
        let body = self.program.bodies[function].as_ref()?;
        let mut signature = Vec::new();
        for (number, _) in self.function(function).params.iter().enumerate() {
            let slot = body.slots.iter().find(|slot| slot.param == Some(number))?;
            let value = values.get(number).copied().unwrap_or(Value::rvalue(Space::Any, Space::Any));
            let levels = slot.levels();
            signature.push(if levels > 0 || slot.is_array_parameter() {
                let then = if levels > 1 { value.then.or(Space::Device) } else { Space::Any };
                (self.settled(value.points, Space::Device)?, then)
            } else if slot.is_reference() {
                let lives = if value.lives == Space::Any { Space::Thread } else { value.lives };
                (self.settled(lives, Space::Thread)?, Space::Any)
            } else {
                (Space::Any, Space::Any)
            });
        }
        Some(signature)
    }

    fn settled(&self, space: Space, otherwise: Space) -> Option<Space> {
        if space.is_known() || self.is_final { Some(space.or(otherwise)) } else { None }
    }

    /// Reads an expression in an instance.
    pub(super) fn value(&self, instance: &Instance, first: usize, last: usize) -> Value {
        let context = Context { inference: self, instance };
        context.reader().value(first, last, 0)
    }
}

impl<'i> Context<'i, '_, '_> {
    fn reader(&self) -> Reader<'_, '_, Self> {
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
    fn visit(&self, slots: &mut [Spaces]) -> Spaces {
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
    fn calls(&self) -> Vec<(usize, Space, Vec<Spaces>)> {
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
                let Some(this) = self.this_of(function, token) else { continue };
                let found = self.call_signature(function, open, close, 0);
                wanted.extend(found.map(|found| (function, this, found)));
            }
        }
        for (name, open, close) in self.body().constructions(text) {
            for function in self.candidates(name, open, close) {
                let found = self.call_signature(function, open, close, 0);
                wanted.extend(found.map(|found| (function, Space::Thread, found)));
            }
        }
        wanted
    }

    /// Where the object of a call is, or `None` while that is not known.
    fn this_of(&self, function: usize, name: usize) -> Option<Space> {
        let text = self.inference.program.text;
        let called = self.inference.function(function);
        let is_static = (called.first..called.at).any(|token| text.at(token) == "static");
        if called.record.is_none() || is_static || called.returned_type(text).is_none() {
            return Some(Space::Thread);
        }
        let space = match text.at(name.wrapping_sub(1)) {
            "." => self.value(object_start(text, name - 1), name - 2).lives,
            "->" => self.value(object_start(text, name - 1), name - 2).points,
            _ if called.name == "operator()" => self.value(name, name).lives,
            _ => self.instance.this,
        };
        if space == Space::Any { Some(Space::Thread) } else { self.inference.settled(space, Space::Thread) }
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
                Value { points: Space::Any, then: Space::Unknown, lives: self.home(slot.param, home), arrays }
            }
            (0, _) => Value { points: home, then: Space::Unknown, lives: home, arrays },
            (_, 0) => Value { points, then, lives: home, arrays },
            (..) => Value { points: home, then: points, lives: home, arrays },
        }
    }

    /// A kernel's numbers and structures are in constant memory, unless they are copied.
    fn home(&self, param: Option<usize>, otherwise: Space) -> Space {
        let function = self.inference.function(self.instance.function);
        let (Some(param), true) = (param, function.is_kernel) else { return otherwise };
        match super::kernel::is_changed(self.inference.program.text, function, param) {
            true => Space::Thread,
            false => Space::Constant,
        }
    }
}

impl Names for Context<'_, '_, '_> {
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
            Some((_, 0)) => Value { points: Space::Device, then: Space::Device, lives, arrays: 0 },
            Some((_, arrays)) => Value { points: lives, then: Space::Device, lives, arrays },
        }
    }

    fn call(&self, name: usize, open: usize, close: usize, depth: usize) -> Value {
        let text = self.inference.program.text;
        for function in self.candidates(name, open, close) {
            let called = self.inference.function(function);
            if called.returned_stars(text) == 0 && !called.returns_reference(text) {
                continue;
            }
            let found = self.call_signature(function, open, close, depth).zip(self.this_of(function, name));
            let instance =
                found.and_then(|(signature, this)| self.inference.find(function, this, &signature));
            let Some(instance) = instance else {
                return Value::default();
            };
            let (points, then) = instance.returns;
            return match called.returns_reference(text) {
                true => Value { points: Space::Any, then: Space::Unknown, lives: points, arrays: 0 },
                false => Value::rvalue(points, then),
            };
        }
        Value::rvalue(Space::Any, Space::Unknown)
    }
}

/// The first token of what stands before `.` or `->`.
fn object_start(text: &Text<'_>, dot: usize) -> usize {
    let mut token = dot.saturating_sub(1);
    loop {
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
}

fn join(known: &mut Spaces, more: Spaces) {
    known.0 = known.0.join(more.0);
    known.1 = known.1.join(more.1);
}
