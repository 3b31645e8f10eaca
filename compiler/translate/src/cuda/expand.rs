//! Macros that mean something else in each use: their uses are expanded before the source is read.
//!
//! A pointer's address space follows from what it refers to, which only a use of a macro shows; a kernel that
//! a macro defines has a name and parameters in its uses only.

use std::collections::{BTreeMap, BTreeSet};

use super::PREDEFINED;
use super::declarator::declarators;
use super::expression::{Reader, ends_operand};
use super::spaces::NoNames;
use super::textures;
use crate::branches;
use crate::flatten::{Edit, Flattened};
use crate::macros::{self, Macro};
use crate::opencl::Options;
use crate::token::Text;

/// The source without the branches for hosts and other architectures, and with the uses of such macros
/// expanded.
pub(super) fn expanded(flat: Flattened, options: &Options) -> Flattened {
    let predefined = PREDEFINED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let defined = predefined.chain(options.macros.iter().cloned()).collect();
    let flat = without_branches(flat, &defined);
    let objects = objects(&Text::new(&flat.text));
    macros::expanded(flat, &defined, &options.macros, &|name, definition| {
        (definition.has_parameters() && definition.words().any(|word| word == "__global__"))
            || has_pointers(definition)
            || definition.words().any(|word| word == textures::FETCH)
            || objects.contains(name)
    })
}

/// Names of which the address is taken: a macro of the name stands for an object.
fn objects(text: &Text<'_>) -> BTreeSet<String> {
    let is_address = |token: &usize| {
        text.at(*token) == "&" && *token > 0 && !ends_operand(text, token - 1) && text.is_word(token + 1)
    };
    (0..text.len()).filter(is_address).map(|token| text.at(token + 1).to_owned()).collect()
}

/// The source without the branches that are not taken, whatever else is defined; the conditionals remain.
fn without_branches(flat: Flattened, defined: &BTreeMap<String, String>) -> Flattened {
    let text = Text::new(&flat.text);
    let dead = branches::not_taken(&text, defined, false);
    let (mut edits, mut token) = (Vec::new(), 0);
    while token < text.len() {
        let first = token;
        while token < text.len() && dead[token] && !is_conditional(&text, token) {
            token += 1;
        }
        if token == first {
            token = if is_conditional(&text, token) { text.directive_end(token) + 1 } else { token + 1 };
            continue;
        }
        let range = text.range(first).start..text.range(token - 1).end;
        // What follows remains on its line.
        let lines = "\n".repeat(text.source()[range.clone()].matches('\n').count());
        edits.push(Edit { range, text: lines });
    }
    if edits.is_empty() { flat } else { flat.edited(&edits) }
}

/// Whether a directive of a conditional begins at a token.
fn is_conditional(text: &Text<'_>, token: usize) -> bool {
    branches::begins_directive(text, token)
        && matches!(text.at(token + 1), "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif")
}

/// Whether a macro declares pointers or references, or casts to them.
fn has_pointers(definition: &Macro) -> bool {
    let body = definition.text();
    let text = Text::new(&body);
    let reader = Reader { text: &text, names: &NoNames };
    let is_pointer =
        |(first, last): (usize, usize)| (first..last).any(|token| matches!(text.at(token), "*" | "&" | "&&"));
    (0..text.len()).any(|token| match text.at(token) {
        "(" if reader.cast(token).is_some_and(|(_, is_pointer)| is_pointer) => true,
        "reinterpret_cast" | "static_cast" | "const_cast" => {
            text.angle_closing(token + 1).is_some_and(|close| is_pointer((token + 2, close)))
        }
        _ if token == 0 || matches!(text.at(token - 1), ";" | "{" | "}") => {
            let found = declarators(&text, token, text.len() - 1);
            found.is_some_and(|found| {
                found
                    .all
                    .iter()
                    .any(|one| one.init.is_some() && !(one.stars.is_empty() && one.reference.is_none()))
            })
        }
        _ => false,
    })
}
