//! Kernels in CUDA C++ to MSL.
//!
//! The source is taken apart into declarations ([`items`]); what kernels do not name is dropped with the host
//! code ([`reach`]). What stays keeps its tokens, of which some change ([`rewrite`]); pointers get address
//! spaces by [`inference`], positions and variables outside of functions become parameters ([`needs`]).

mod amount;
mod atomics;
mod body;
mod context;
mod cub;
mod declarator;
mod emit;
mod expand;
mod expression;
mod grid;
mod inference;
mod items;
mod kept;
mod kernel;
mod lambdas;
mod launches;
mod needs;
mod note;
mod packs;
mod prelude;
mod reach;
mod registers;
mod rewrite;
mod shape;
mod space;
mod spaces;
mod textures;
mod typename;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use anymetal_diagnostics::{Diagnostic, Span};

use crate::flatten::{Flattened, Includes};
use crate::opencl::{Options, Translation};
use crate::token::Text;
pub use amount::Amount;
use body::Body;
use grid::Grid;
use inference::{Inference, Program};
use items::{Items, Kind};
use needs::Needs;
pub use note::{Argument, Launch, launches_toml};
use reach::Reached;
use space::{Space, Value};

/// Macros that CUDA's compiler defines for kernels. Those that a source names are defined before it, so that
/// its conditionals take the branches for devices. Sources for architectures from 8.0 on rely on `asm`.
const PREDEFINED: &[(&str, &str)] = &[
    ("__CUDACC__", "1"),
    ("__NVCC__", "1"),
    ("__CUDA_ARCH__", "700"),
    ("__CUDACC_VER_MAJOR__", "11"),
    ("__CUDACC_VER_MINOR__", "7"),
    ("CUDART_VERSION", "11070"),
    ("CUDA_VERSION", "11070"),
];

/// The most diagnostics that are kept.
const MAX_DIAGNOSTICS: usize = 100;

/// The state of a translation.
struct Translator<'a, 's> {
    text: Text<'s>,
    flat: &'a Flattened,
    items: &'a Items,
    reached: Reached,
    bodies: Vec<Option<Body>>,
    needs: Needs,
    options: &'a Options,
    diagnostics: Vec<Diagnostic>,
    /// Functions of the prelude that are called.
    helpers: BTreeSet<String>,
    /// Template arguments of kernels, by name.
    instantiations: BTreeSet<(String, String)>,
    /// Names of functions that stay, and of methods.
    own_functions: BTreeSet<String>,
    own_methods: BTreeSet<String>,
    /// Names of variables of functions.
    variables: BTreeSet<String>,
    /// Namespaces that functions give another name.
    aliases: BTreeMap<String, String>,
    has_doubles: bool,
    /// Functions of Metal's of which the source has overloads, under a new name.
    forwarded: BTreeSet<String>,
    /// Where collectives of CUB are constructed.
    collectives: BTreeSet<usize>,
    /// Statements that read registers of PTX.
    registers: BTreeMap<usize, registers::Read>,
    /// Reads of textures over linear memory.
    fetches: BTreeSet<usize>,
}

impl Translator<'_, '_> {
    fn span(&self, token: usize) -> Span {
        self.flat.span(self.text.range(token))
    }

    /// Something that Metal does not have.
    fn refuse(&mut self, token: usize, message: impl Into<String>, hint: &str) {
        let diagnostic = Diagnostic::error("untranslatable", self.span(token), message);
        self.tell(diagnostic.with_hint(hint.to_owned()));
    }

    fn tell(&mut self, diagnostic: Diagnostic) {
        let is_known =
            |known: &Diagnostic| known.span == diagnostic.span && known.message == diagnostic.message;
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !self.diagnostics.iter().any(is_known) {
            self.diagnostics.push(diagnostic);
        }
    }
}

/// Translates the kernels of a source in CUDA C++. `name` is its file's, for messages; `includes` finds the
/// files that it includes, and `instantiate` lists kernels with template arguments, as in `scale<float>`,
/// besides those that the source launches.
///
/// ```
/// let source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }";
/// let none = &mut |_: &str, _: bool, _: &str| None;
/// let translation = anymetal_translate::cuda_to_msl("twice.cu", source, none, &[], &Default::default());
/// assert!(!translation.has_errors());
/// assert!(translation.text.contains("kernel void twice(device float* x [[buffer(0)]]"));
/// ```
pub fn cuda_to_msl(
    name: &str,
    source: &str,
    includes: Includes<'_>,
    instantiate: &[String],
    options: &Options,
) -> Translation {
    let flat = Flattened::new(name, source, &options.definitions(), includes);
    let flat = expand::expanded(flat, options);
    let flat = packs::expanded(flat, instantiate);
    let text = Text::new(&flat.text);
    let items = Items::of(&text);
    let host = launches::Host { text: &text, items: &items };
    let found = launches::find(&text);
    let arguments_of = |launch: &launches::Found| host.template_arguments(launch).into_iter().next();
    let notes = note::notes(&text, &items, &found, arguments_of, |token| {
        let span = flat.span(text.range(token));
        flat.map.location(span).map_or((String::new(), 0), |(file, at)| (file.to_owned(), at.line))
    });
    let mut instantiations = host.instantiations(&found);
    let is_known = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || words::is_builtin_type(word)
            || words::word(word).is_some()
            || declarator::is_qualifier(word)
            || matches!(word.as_str(), "true" | "false" | "const" | "metal")
            || items.macros.contains_key(word)
            || items.items.iter().any(|item| item.names.contains(word))
    };
    // What is not known is the host's.
    instantiations.retain(|(_, arguments)| words_of(arguments).iter().all(is_known));
    for kernel in instantiate {
        let Some((name, arguments)) = kernel.strip_suffix('>').and_then(|kernel| kernel.split_once('<'))
        else {
            continue;
        };
        // The caller's spelling counts.
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        instantiations.retain(|(known, given)| known != name || plain(given) != plain(arguments));
        instantiations.insert((name.to_owned(), arguments.to_owned()));
    }
    let words = instantiations.iter().flat_map(|(_, arguments)| words_of(arguments)).collect();
    let reached = Reached::of(&text, &items, &words);
    let bodies: Vec<Option<Body>> = items
        .functions
        .iter()
        .zip(&reached.functions)
        .map(|(function, is_reached)| is_reached.then(|| Body::of(&text, function)))
        .collect();
    let grid = Grid::of(&text);
    let collectives = cub::constructions(&text);
    let registers = registers::reads(&text);
    let fetches = textures::fetches(&text, &items);
    let needs = Needs::of(
        &text,
        &items,
        &reached,
        &bodies,
        &needs::Positions { grid: &grid, collectives: &collectives, registers: &registers },
    );
    let names = |is_method: bool| {
        let all = items.functions.iter().zip(&reached.functions);
        let is_it = move |(function, is_reached): &(&items::Function, &bool)| {
            **is_reached && (!is_method || function.record.is_some())
        };
        all.filter(is_it).map(|(function, _)| function.name.clone()).collect::<BTreeSet<String>>()
    };
    let (mut own_functions, own_methods) = (names(false), names(true));
    for function in items.functions.iter().filter(|function| is_for_doubles(&text, function)) {
        own_functions.remove(&function.name);
    }
    own_functions.retain(|name| !name.starts_with("make_") || words::vector(&name[5..]).is_none());
    let names_of = |body: &Body| body.names(&text).map(str::to_owned).collect::<Vec<_>>();
    let aliases = local_aliases(&text, &items);
    let variables = bodies.iter().flatten().flat_map(names_of).collect();
    let mut translator = Translator {
        text,
        flat: &flat,
        items: &items,
        reached,
        bodies,
        needs,
        options,
        diagnostics: Vec::new(),
        helpers: BTreeSet::new(),
        instantiations,
        own_functions,
        own_methods,
        variables,
        aliases,
        has_doubles: false,
        forwarded: BTreeSet::new(),
        collectives,
        registers,
        fetches,
    };
    for lambda in lambdas::arguments(&translator.text, &items, &found) {
        let text = &translator.text;
        let name =
            lambda.variable.map_or("a lambda".to_owned(), |name| format!("the lambda `{}`", text.at(name)));
        let message = format!("{name} is an argument of the kernel `{}`", text.at(lambda.kernel));
        translator.refuse(
            lambda.open,
            message,
            "pass a structure with an `operator()` whose members are what the lambda captures",
        );
    }
    for (first, last, component) in grid.all() {
        translator.text.replace(first, format!("{}.{component}", grid::NAME));
        translator.text.remove_all(first + 1..=last);
    }
    let predefined = predefined(&translator.text, &items);
    let body = translator.translate();
    let Translator { helpers, diagnostics, forwarded, .. } = translator;
    let mut out = String::from("#include <metal_stdlib>\n");
    if flat.text.contains("printf") {
        out.push_str("#include <metal_logging>\n");
    }
    out.push_str("using namespace metal;\n\n");
    out.push_str(crate::shared_in_functions(&diagnostics));
    out.push_str(&prelude::text(&helpers));
    for name in &forwarded {
        let call = format!("{name}(x...)");
        out.push_str(&format!(
            "template <typename... T> inline auto {name}_(T... x) {{\n    return {call};\n}}\n"
        ));
    }
    out.push_str(&predefined);
    out.push_str(body.trim_start_matches('\n'));
    let mut map = flat.map;
    map.freeze();
    Translation { text: out, map, diagnostics, launches: notes }
}

/// The definitions of the macros that a source names and does not define.
fn predefined(text: &Text<'_>, items: &Items) -> String {
    let is_named =
        |name: &str| !items.macros.contains_key(name) && (0..text.len()).any(|token| text.at(token) == name);
    let named = PREDEFINED.iter().filter(|(name, _)| is_named(name));
    named.map(|(name, value)| format!("#define {name} {value}\n")).collect()
}

/// An overload of one of CUDA's functions for `double`, as of `atomicAdd`: as a `float` it is there.
fn is_for_doubles(text: &Text<'_>, function: &items::Function) -> bool {
    let ty = function.params.first().and_then(|param| param.declarator.as_ref()).map(|one| one.ty);
    function.record.is_none()
        && prelude::has(&function.name)
        && ty.is_some_and(|(_, last)| text.at(last) == "double")
}

/// Namespaces that functions give another name.
fn local_aliases(text: &Text<'_>, items: &Items) -> BTreeMap<String, String> {
    let bodies = items.functions.iter().filter_map(|function| function.body);
    let all = bodies.flat_map(|(open, close)| open..close);
    let is_alias = |token: &usize| {
        text.at(*token) == "namespace" && text.at(token + 2) == "=" && text.at(token + 4) == ";"
    };
    all.filter(is_alias).map(|token| (text.at(token + 1).to_owned(), text.at(token + 3).to_owned())).collect()
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Translator<'_, '_> {
    fn translate(&mut self) -> String {
        self.rewrite();
        let (members, globals) = (self.members(), self.globals());
        let bodies = std::mem::take(&mut self.bodies);
        let text = std::mem::replace(&mut self.text, Text::new(""));
        let program = Program { text: &text, items: self.items, bodies: &bodies, members, globals };
        let inference = Inference::of(program);
        let instances = inference.instances.clone();
        let mut changes = Vec::new();
        let edits: Vec<_> = instances.iter().map(|instance| spaces::spaces(&inference, instance)).collect();
        drop(inference);
        (self.text, self.bodies) = (text, bodies);
        for (instance, (own, unclear)) in instances.iter().zip(edits) {
            for (token, message) in unclear {
                self.refuse(token, message, "give each use a pointer of its own");
            }
            changes.push((instance.function, self.finished(instance.function, own)));
        }
        self.emit(&changes)
    }

    /// Data of records: numbers of stars and extents by name.
    fn members(&self) -> BTreeMap<String, (usize, usize)> {
        let mut members = BTreeMap::new();
        let of_records = self.items.records.iter().flat_map(|record| &record.members);
        for &(first, last) in of_records.chain(&self.items.alias_members) {
            let found = declarator::declarators(&self.text, first, last);
            for one in found.into_iter().flat_map(|found| found.all) {
                let shape = members.entry(self.text.at(one.name).to_owned()).or_insert((0, 0));
                *shape = (one.stars.len().max(shape.0), one.arrays.max(shape.1));
            }
        }
        members
    }

    fn globals(&self) -> BTreeMap<String, Value> {
        let mut globals = BTreeMap::new();
        for item in self.items.items.iter().filter(|item| item.kind == Kind::Variable) {
            let lives = match needs::variable_space(&self.text, item) {
                Some("device" | needs::TEXTURE) => Space::Device,
                Some("threadgroup") => Space::Threadgroup,
                _ => Space::Constant,
            };
            let found = declarator::declarators(&self.text, item.first, item.last);
            let is_texture = textures::element(&self.text, item).is_some();
            for one in found.into_iter().flat_map(|found| found.all) {
                let value = match (one.stars.len() + usize::from(is_texture), one.arrays) {
                    (0, 0) => Value { points: Space::Any, then: Space::Unknown, lives, arrays: 0 },
                    (0, arrays) => Value { points: lives, then: Space::Unknown, lives, arrays },
                    (stars, 0) => {
                        Value { points: Space::Device, then: Space::behind(stars), lives, arrays: 0 }
                    }
                    (_, arrays) => Value { points: lives, then: Space::Device, lives, arrays },
                };
                globals.insert(self.text.at(one.name).to_owned(), value);
            }
        }
        globals
    }
}

#[cfg(test)]
mod tests;
