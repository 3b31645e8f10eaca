//! Textures over linear memory, which are buffers: `tex1Dfetch` reads an element by its number.
//!
//! A texture reference is a variable of the program, which becomes a buffer; a texture object is a number,
//! the address of its memory. Textures over arrays, which filter and clamp, are refused by the names of their
//! functions.

use std::collections::BTreeSet;

use super::items::{Item, Items, Kind};
use super::words::call_parens;
use crate::token::Text;

/// The function that reads them, and its entry in the prelude.
pub(super) const FETCH: &str = "tex1Dfetch";

/// The element's type of a texture reference of one dimension that a variable declares, by its tokens.
pub(super) fn element(text: &Text<'_>, item: &Item) -> Option<(usize, usize)> {
    if item.kind != Kind::Variable {
        return None;
    }
    let ty = (item.first..item.last).find(|&token| text.at(token) == "texture")?;
    let close = text.angle_closing(ty + 1)?;
    let parts = text.parts(ty + 1, close);
    let is_linear =
        parts.get(1).is_none_or(|&(first, _)| matches!(text.at(first), "1" | "cudaTextureType1D"));
    let converts = parts.get(2).is_some_and(|&(first, _)| text.at(first) == "cudaReadModeNormalizedFloat");
    parts.first().copied().filter(|_| is_linear && !converts)
}

/// The calls of [`FETCH`] that read a texture reference, or a texture object as a type.
pub(super) fn fetches(text: &Text<'_>, items: &Items) -> BTreeSet<usize> {
    let references = items.items.iter().filter(|item| element(text, item).is_some());
    let names: BTreeSet<&String> = references.flat_map(|item| &item.names).collect();
    let is_fetch = |token: &usize| {
        text.at(*token) == FETCH
            && call_parens(text, *token).is_some_and(|(open, _)| {
                text.at(*token + 1) == "<" || names.iter().any(|name| *name == text.at(open + 1))
            })
    };
    (0..text.len()).filter(is_fetch).collect()
}
