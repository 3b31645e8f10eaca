//! What functions need of their callers: positions of threads, and variables that CUDA has outside
//! of kernels.
//!
//! In MSL a kernel is told its position by parameters, and its memory too; functions are passed
//! both on. A [`Hidden`] parameter keeps the name that it has in CUDA, so that the text that uses
//! it stays.

use std::collections::{BTreeMap, BTreeSet};

use super::body::{Body, Slot};
use super::declarator::Declarator;
use super::grid::{self, Grid};
use super::items::{Function, Item, Items, Kind};
use super::prelude;
use super::reach::Reached;
use super::registers::Read;
use super::textures;
use super::words::call_parens;
use crate::token::Text;

/// How a kernel comes by a hidden parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// By an attribute of Metal's.
    Attribute(&'static str),
    /// By the next buffer.
    Buffer,
    /// Dynamic threadgroup memory, which all names of it share; the type of the pointer.
    Dynamic(String),
    /// A variable of its own; its declaration.
    Local(String),
}

/// A parameter that functions pass on.
#[derive(Debug, Clone)]
pub(super) struct Hidden {
    pub(super) name: String,
    pub(super) parameter: String,
    pub(super) origin: Origin,
}

/// Where a source computes or wants positions without naming them.
pub(super) struct Positions<'g, 's> {
    pub(super) grid: &'g Grid<'s>,
    /// Constructions of CUB's collectives.
    pub(super) collectives: &'g BTreeSet<usize>,
    /// Statements that read registers of PTX.
    pub(super) registers: &'g BTreeMap<usize, Read>,
}

/// The method that calls of objects call.
const CALL: &str = "operator()";

/// What [`variable_space`] returns for textures over linear memory.
pub(super) const TEXTURE: &str = "texture";

/// Numbers of hidden parameters.
pub(super) type Needed = BTreeSet<usize>;

/// CUDA's words, the parameters, and Metal's attributes.
const POSITIONS: &[(&str, &str, &str)] = &[
    ("threadIdx", "uint3 threadIdx", "thread_position_in_threadgroup"),
    ("blockIdx", "uint3 blockIdx", "threadgroup_position_in_grid"),
    ("blockDim", "uint3 blockDim", "dispatch_threads_per_threadgroup"),
    (grid::NAME, "uint3 thread_position_in_grid", grid::NAME),
    ("gridDim", "uint3 gridDim", "threadgroups_per_grid"),
    ("warpSize", "uint warpSize", "threads_per_simdgroup"),
    ("lane_in_simdgroup", "uint lane_in_simdgroup", "thread_index_in_simdgroup"),
];

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) hidden: Vec<Hidden>,
    /// Of functions and macros, by name.
    by_name: BTreeMap<String, Needed>,
    /// Declarations of dynamic shared memory, by their first tokens, that remain in their functions.
    declared: BTreeSet<usize>,
    /// Where variables are called, which are objects.
    objects: BTreeSet<usize>,
}

/// The hidden parameter from which functions declare dynamic memory of their own types.
pub(super) const DYNAMIC: &str = "dynamic_shared";

impl Needs {
    pub(super) fn of(
        text: &Text<'_>,
        items: &Items,
        reached: &Reached,
        bodies: &[Option<Body>],
        positions: &Positions<'_, '_>,
    ) -> Self {
        let mut needs = Self::default();
        let own: BTreeSet<&String> =
            items.items.iter().flat_map(|item| &item.names).chain(items.macros.keys()).collect();
        for (word, parameter, attribute) in POSITIONS {
            if own.contains(&(*word).to_owned()) {
                continue;
            }
            let (name, parameter) = ((*word).to_owned(), (*parameter).to_owned());
            needs.hidden.push(Hidden { name, parameter, origin: Origin::Attribute(attribute) });
        }
        needs.hidden.push(Hidden {
            name: "sync_scratch".to_owned(),
            parameter: "threadgroup atomic_uint& sync_scratch".to_owned(),
            origin: Origin::Local("threadgroup atomic_uint sync_scratch;".to_owned()),
        });
        needs.variables(text, items, reached);
        let ambiguous = ambiguous(text, items, bodies);
        let words: BTreeMap<String, usize> =
            needs.hidden.iter().enumerate().map(|(number, hidden)| (hidden.name.clone(), number)).collect();
        let mut uses: BTreeMap<String, (Needed, BTreeSet<String>)> = BTreeMap::new();
        for (number, function) in items.functions.iter().enumerate() {
            let Some(body) = &bodies[number] else { continue };
            let own = needs.shared(text, function, body, &ambiguous);
            let entry = uses.entry(function.name.clone()).or_default();
            entry.0.extend(own);
            let called: Vec<usize> = body.called(text, function.close..function.last).collect();
            if !called.is_empty() {
                entry.1.insert(CALL.to_owned());
            }
            needs.objects.extend(called);
            note(text, function.close..function.last + 1, &words, positions, entry);
        }
        for function in &items.functions {
            if let Some(record) = function.converted(text, items) {
                uses.entry(record.to_owned()).or_default().1.insert(function.name.clone());
            }
        }
        for (name, tokens) in &items.macros {
            for &token in tokens {
                note(text, token..token + 1, &words, positions, uses.entry(name.clone()).or_default());
            }
        }
        needs.spread(&uses);
        needs
    }

    /// Variables outside of functions: `__constant__` and `__device__` ones become buffers.
    fn variables(&mut self, text: &Text<'_>, items: &Items, reached: &Reached) {
        for (number, item) in items.items.iter().enumerate() {
            if item.kind != Kind::Variable || !reached.items[number] {
                continue;
            }
            let Some(space) = variable_space(text, item) else { continue };
            let Some(found) = super::declarator::declarators(text, item.first, item.last) else { continue };
            let is_extern = (item.first..item.last).take(4).any(|token| text.at(token) == "extern");
            for one in &found.all {
                let name = text.at(one.name).to_owned();
                let hidden = match space {
                    "threadgroup" if is_extern => dynamic(text, one),
                    "threadgroup" => shared(text, one, name),
                    TEXTURE => texture(text, item, name),
                    _ => Hidden { parameter: buffer(text, one, space), name, origin: Origin::Buffer },
                };
                self.hidden.push(hidden);
            }
        }
    }

    /// `__shared__` variables of functions, and dynamic ones of kernels, too. `ambiguous` are the names of
    /// dynamic memory that have several types.
    fn shared(
        &mut self,
        text: &Text<'_>,
        function: &Function,
        body: &Body,
        ambiguous: &BTreeSet<String>,
    ) -> Vec<usize> {
        let mut own = Vec::new();
        for slot in body.slots.iter().filter(|slot| is_hoisted(text, function, slot)) {
            let is_ambiguous = |one: &Declarator| ambiguous.contains(text.at(one.name));
            let is_own = !function.is_kernel && has_own_type(text, function, slot);
            if slot.is_extern && (is_own || slot.declarators.iter().any(is_ambiguous)) {
                self.declared.insert(slot.first);
                let parameter = format!("threadgroup uchar* {DYNAMIC}");
                let origin = Origin::Dynamic("threadgroup uchar*".to_owned());
                own.push(self.add(Hidden { name: DYNAMIC.to_owned(), parameter, origin }));
                continue;
            }
            for one in &slot.declarators {
                let hidden = match slot.is_extern {
                    true => dynamic(text, one),
                    false => shared(text, one, unique(function, text.at(one.name))),
                };
                own.push(self.add(hidden));
            }
        }
        own
    }

    /// The number of a hidden parameter, which may be known.
    fn add(&mut self, hidden: Hidden) -> usize {
        let known = self.hidden.iter().position(|known| known.parameter == hidden.parameter);
        known.unwrap_or_else(|| {
            self.hidden.push(hidden);
            self.hidden.len() - 1
        })
    }

    /// Whether a declaration of dynamic shared memory remains in its function.
    pub(super) fn is_declared(&self, slot: &Slot) -> bool {
        self.declared.contains(&slot.first)
    }

    fn spread(&mut self, uses: &BTreeMap<String, (Needed, BTreeSet<String>)>) {
        self.by_name = uses.iter().map(|(name, (needed, _))| (name.clone(), needed.clone())).collect();
        loop {
            let mut changed = false;
            for (name, (_, used)) in uses {
                let more: Needed =
                    used.iter().filter_map(|used| self.by_name.get(used)).flatten().copied().collect();
                let own = self.by_name.entry(name.clone()).or_default();
                let before = own.len();
                own.extend(more);
                changed |= own.len() > before;
            }
            if !changed {
                return;
            }
        }
    }

    /// What the call at a token needs if it is one of an object.
    pub(super) fn of_object(&self, token: usize) -> impl Iterator<Item = &Hidden> {
        let is_object = self.objects.contains(&token);
        self.of_function(CALL).filter(move |_| is_object)
    }

    /// What a function needs.
    pub(super) fn of_function(&self, name: &str) -> impl Iterator<Item = &Hidden> {
        self.by_name.get(name).into_iter().flatten().map(|&number| &self.hidden[number])
    }
}

/// Whether a shared variable becomes a parameter: dynamic memory, and variables of functions whose type does
/// not depend on the function's template, or on a type that the function declares.
pub(super) fn is_hoisted(text: &Text<'_>, function: &Function, slot: &Slot) -> bool {
    slot.is_shared && (slot.is_extern || !(function.is_kernel || has_own_type(text, function, slot)))
}

fn has_own_type(text: &Text<'_>, function: &Function, slot: &Slot) -> bool {
    function.names_template(text, slot.first, slot.last)
        || function.names_own_type(text, slot.first, slot.last)
}

/// The names of dynamic shared memory that functions declare with different types, or that mean something
/// else in functions to which they would be passed.
fn ambiguous(text: &Text<'_>, items: &Items, bodies: &[Option<Body>]) -> BTreeSet<String> {
    let (mut types, mut others): (BTreeMap<&str, BTreeSet<String>>, BTreeSet<&str>) = Default::default();
    let mut passed = BTreeSet::new();
    for (function, body) in items.functions.iter().zip(bodies) {
        for slot in body.iter().flat_map(|body| &body.slots) {
            let names = slot.declarators.iter().map(|one| (text.at(one.name), one));
            match slot.is_shared && slot.is_extern {
                // A type of the function's own does not reach its callers.
                true if !function.is_kernel && has_own_type(text, function, slot) => {}
                true => {
                    for (name, one) in names {
                        types.entry(name).or_default().insert(pointer_to(text, one, ""));
                        passed.extend((!function.is_kernel).then_some(name));
                    }
                }
                false => others.extend(names.map(|(name, _)| name)),
            }
        }
    }
    types.retain(|name, types| types.len() > 1 || (passed.contains(name) && others.contains(name)));
    types.into_keys().map(str::to_owned).collect()
}

/// A pointer to the elements of a dynamic array.
pub(super) fn pointer_to(text: &Text<'_>, one: &Declarator, name: &str) -> String {
    let (ty, stars) = (super::typename::plain_type(text, one.ty), "*".repeat(one.stars.len()));
    match text.closing(one.name + 1).filter(|&close| close < one.end) {
        Some(close) => format!("threadgroup {ty}{stars} (*{name}){}", text.between(close + 1, one.end)),
        None => format!("threadgroup {ty}{stars}* {name}").trim_end().to_owned(),
    }
}

fn dynamic(text: &Text<'_>, one: &Declarator) -> Hidden {
    let name = text.at(one.name).to_owned();
    Hidden {
        parameter: pointer_to(text, one, &name),
        name,
        origin: Origin::Dynamic(pointer_to(text, one, "")),
    }
}

/// The buffer of a texture over linear memory.
fn texture(text: &Text<'_>, item: &Item, name: String) -> Hidden {
    let element = textures::element(text, item).expect("the variable is a texture");
    let ty = super::typename::plain_type(text, element);
    Hidden { parameter: format!("device const {ty}* {name}"), name, origin: Origin::Buffer }
}

/// The name that a shared variable of a function has in kernels.
pub(super) fn unique(function: &Function, name: &str) -> String {
    format!("{}_{name}", function.name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

/// A shared variable that kernels declare under a name.
fn shared(text: &Text<'_>, one: &Declarator, name: String) -> Hidden {
    let (ty, stars) = (super::typename::plain_type(text, one.ty), "*".repeat(one.stars.len()));
    let extents = text.between(one.name + 1, one.end);
    let parameter = match one.arrays {
        0 => format!("threadgroup {ty}{stars}& {name}"),
        _ => format!("threadgroup {ty}{stars} (&{name}){extents}"),
    };
    Hidden { origin: Origin::Local(format!("threadgroup {ty}{stars} {name}{extents};")), name, parameter }
}

/// The parameter for a variable in an address space.
fn buffer(text: &Text<'_>, one: &Declarator, space: &str) -> String {
    let ty = super::typename::plain_type(text, one.ty);
    let (name, stars) = (text.at(one.name), "*".repeat(one.stars.len()));
    let ty = match one.stars.is_empty() {
        true => format!("{space} {ty}"),
        false => format!("device {ty}{stars} {space}"),
    };
    match one.arrays {
        0 => format!("{ty}& {name}"),
        _ => format!("{ty} (&{name}){}", text.between(one.name + 1, one.end)),
    }
}

/// The address space of a variable outside of functions that becomes a parameter: one that the host can
/// write, or shared memory.
pub(super) fn variable_space(text: &Text<'_>, item: &Item) -> Option<&'static str> {
    let says = |word: &str| (item.first..=item.last).take(8).any(|token| text.at(token) == word);
    let is_initialised = (item.first..=item.last).any(|token| matches!(text.at(token), "=" | "{"));
    let is_const = says("const") || says("constexpr");
    match () {
        // Those that the host does not write are constants of the program.
        () if says("__constant__") && is_initialised && !is_copied(text, item) => None,
        () if says("__constant__") => Some("constant"),
        () if says("__device__") && is_const => None,
        () if says("__device__") || says("__managed__") => Some("device"),
        () if says("__shared__") => Some("threadgroup"),
        () if textures::element(text, item).is_some() => Some(TEXTURE),
        () => None,
    }
}

/// Whether the host writes a variable: its name is an argument of a copy.
fn is_copied(text: &Text<'_>, item: &Item) -> bool {
    let is_name = |token: usize| item.names.iter().any(|name| name == text.at(token));
    (0..text.len()).any(|token| {
        (text.at(token).ends_with("ToSymbol") || text.at(token).ends_with("ToSymbolAsync"))
            && text.closing(token + 1).is_some_and(|close| (token..close).any(is_name))
    })
}

fn note(
    text: &Text<'_>,
    tokens: std::ops::Range<usize>,
    words: &BTreeMap<String, usize>,
    positions: &Positions<'_, '_>,
    entry: &mut (Needed, BTreeSet<String>),
) {
    for token in tokens {
        if positions.collectives.contains(&token) {
            entry.0.extend(super::cub::NEEDS.iter().filter_map(|name| words.get(*name)));
            continue;
        }
        if let Some(read) = positions.registers.get(&token) {
            entry.0.extend(read.needs.iter().filter_map(|name| words.get(*name)));
            continue;
        }
        if positions.grid.last(token).is_some() {
            entry.0.extend(words.get(grid::NAME));
            continue;
        }
        let word = text.at(token);
        if !text.is_word(token)
            || (matches!(text.at(token.wrapping_sub(1)), "." | "->") && words.contains_key(word))
        {
            continue;
        }
        if let Some(&number) = words.get(word) {
            entry.0.insert(number);
        } else if prelude::has(word) && call_parens(text, token).is_some() {
            entry.0.extend(prelude::needs(word).filter_map(|name| words.get(name)));
        } else {
            entry.1.insert(word.to_owned());
        }
    }
}
