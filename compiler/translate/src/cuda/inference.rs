//! Address spaces by inference over the call graph.
//!
//! CUDA's pointers do not say what memory they refer to, Metal's do. A kernel's pointers are to
//! device memory; from there it follows what the others refer to. A function is looked at once for
//! each combination of address spaces that it is called with: an [`Instance`], which becomes a copy
//! of the function. Knowledge only grows ([`Space::join`]), so that the rounds end.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::body::{Body, Slot};
use super::context::Context;
use super::items::{Function, Items};
use super::space::{Space, Value};
use crate::token::Text;

/// The most copies of one function.
const MAX_COPIES: usize = 16;
/// The most copies of all functions.
const MAX_INSTANCES: usize = 4000;
/// The most rounds; each makes something better known.
const MAX_ROUNDS: usize = 60;
/// The most tokens of expressions that are looked at in one visit of a copy, and for one cast.
const MAX_VISIT_TOKENS: usize = 1 << 20;
const MAX_CAST_TOKENS: usize = 1 << 12;
/// The most tokens that all visits look at. What is not known then stays unknown.
const MAX_TOKENS: usize = 1 << 24;

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
    pub(super) by_name: BTreeMap<&'a str, Vec<usize>>,
    /// Conversions of objects to pointers, by the names of their types.
    pub(super) conversions: BTreeMap<&'a str, Vec<usize>>,
    /// Functions that are operators, by the token that means them.
    pub(super) operators: BTreeMap<&'a str, Vec<usize>>,
    /// What is unknown now stays unknown.
    is_final: bool,
    /// What is left of [`MAX_TOKENS`].
    tokens_left: usize,
}

impl<'a, 's> Inference<'a, 's> {
    pub(super) fn of(program: Program<'a, 's>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, function) in program.items.functions.iter().enumerate() {
            if program.bodies[number].is_some() {
                by_name.entry(&function.name).or_default().push(number);
            }
        }
        let marks = by_name.iter().filter_map(|(name, functions)| {
            let mark = name.strip_prefix("operator")?;
            // Objects that are called are found by their names, and conversions have types for names.
            let is_mark = mark != "()" && mark.chars().all(|c| c.is_ascii_punctuation());
            is_mark.then(|| (if mark == "[]" { "[" } else { mark }, functions.clone()))
        });
        let operators = marks.collect();
        let mut conversions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, function) in program.items.functions.iter().enumerate() {
            if let Some(record) = function.converted(program.text, program.items)
                && program.bodies[number].is_some()
            {
                conversions.entry(record).or_default().push(number);
            }
        }
        let mut inference = Self {
            program,
            instances: Vec::new(),
            by_name,
            conversions,
            operators,
            is_final: false,
            tokens_left: MAX_TOKENS,
        };
        inference.kernels();
        inference.rounds();
        inference.is_final = true;
        inference.rounds();
        inference.those_not_seen_called();
        inference.rounds();
        inference
    }

    pub(super) fn function(&self, number: usize) -> &'a Function {
        &self.program.items.functions[number]
    }

    fn kernels(&mut self) {
        for number in 0..self.program.bodies.len() {
            let Some(body) = &self.program.bodies[number] else { continue };
            if self.function(number).is_kernel {
                let params = 0..self.function(number).params.len();
                let slot = |param| body.slots.iter().find(|slot| slot.param == Some(param));
                let levels = params.map(|param| slot(param).map_or(1, Slot::levels));
                let signature = levels.map(|levels| (Space::Device, Space::behind(levels))).collect();
                self.add(number, Space::Thread, signature);
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
                let function = self.function(self.instances[number].function);
                let Some(left) = self.tokens_left.checked_sub(function.last - function.first) else { return };
                self.tokens_left = left;
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
        let used;
        let wanted = {
            let mut slots = std::mem::take(&mut instance.slots);
            instance.slots.clone_from(&slots);
            let context = Context { inference: self, instance: &instance, fuel: Cell::new(MAX_VISIT_TOKENS) };
            let returns = context.visit(&mut slots);
            let wanted = context.calls();
            used = MAX_VISIT_TOKENS - context.fuel.get();
            instance.slots = slots;
            instance.returns = returns;
            wanted
        };
        let changed = (instance.slots.clone(), instance.returns) != old;
        self.instances[number] = instance;
        self.tokens_left = self.tokens_left.saturating_sub(used);
        for (function, this, signature) in wanted {
            if self.find(function, this, &signature).is_none() {
                self.add(function, this, signature);
            }
        }
        changed || self.instances.len() > before
    }

    pub(super) fn find(&self, function: usize, this: Space, signature: &[Spaces]) -> Option<&Instance> {
        let is_it = |instance: &&Instance| {
            instance.function == function && instance.this == this && instance.signature == signature
        };
        self.instances.iter().find(is_it)
    }

    /// The address spaces of a call's parameters, or `None` while some are not known.
    pub(super) fn signature(&self, function: usize, values: &[Value]) -> Option<Vec<Spaces>> {
        let body = self.program.bodies[function].as_ref()?;
        let mut signature = Vec::new();
        for (number, _) in self.function(function).params.iter().enumerate() {
            let slot = body.slots.iter().find(|slot| slot.param == Some(number))?;
            let value = values.get(number).copied().unwrap_or(Value::rvalue(Space::Any, Space::Any));
            let levels = slot.levels();
            signature.push(if levels > 0 || slot.is_array_parameter() {
                let then = if levels > 1 { value.then.or(Space::Device) } else { Space::behind(levels) };
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

    pub(super) fn settled(&self, space: Space, otherwise: Space) -> Option<Space> {
        if space.is_known() || self.is_final { Some(space.or(otherwise)) } else { None }
    }

    /// Reads an expression in an instance.
    pub(super) fn value(&self, instance: &Instance, first: usize, last: usize) -> Value {
        let context = Context { inference: self, instance, fuel: Cell::new(MAX_CAST_TOKENS) };
        context.reader().value(first, last, 0)
    }
}
