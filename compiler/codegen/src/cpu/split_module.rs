//! Splits a module's text into several, to be compiled in parallel.
//!
//! The objects of the modules that [`parts`] gives are joined to one: each function that is not inlined is
//! defined in one of them and declared where it is called. LLVM optimises function by function, so the code
//! equals that of the whole. Invariant: the text is in this crate's form, one line for everything outside
//! of functions; call targets are found by reading the functions.

use std::collections::{BTreeMap, BTreeSet};

use crate::llvm::global_names;

/// Text of a part below which a part of its own costs more than it saves: a millisecond goes into the world
/// that LLVM builds around a module.
const MIN_BYTES: usize = 6 << 10;

/// The module as at most `max` modules of about the same size; one if it is small.
pub(super) fn parts(text: &str, max: usize) -> Vec<String> {
    let module = Pieces::of(text);
    let bins = module.bins(max);
    if bins.len() < 2 {
        return vec![text.to_owned()];
    }
    bins.iter().map(|bin| module.part(bin)).collect()
}

/// A definition of the module, and what it mentions.
struct Piece<'a> {
    text: &'a str,
    /// A function that LLVM puts where it is called. Every module that calls it defines it.
    is_inlined: bool,
    is_function: bool,
    mentions: BTreeSet<&'a str>,
}

struct Pieces<'a> {
    /// Functions, variables and declarations, by name.
    named: BTreeMap<&'a str, Piece<'a>>,
    /// Attributes and metadata, which all parts have.
    rest: Vec<&'a str>,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str) -> Self {
        let mut pieces = Self { named: BTreeMap::new(), rest: Vec::new() };
        let mut left = text;
        while !left.is_empty() {
            let line = left.find('\n').map_or(left.len(), |end| end + 1);
            let is_function = left.starts_with("define ");
            let end = match is_function {
                true => left.find("\n}\n").expect("a definition ends") + 3,
                false => line,
            };
            let (piece, after) = left.split_at(end);
            left = after;
            match global_names(&piece[..line]).next() {
                Some(name) if is_function || piece.starts_with(['@', 'd']) => {
                    let before = pieces.named.insert(
                        name,
                        Piece {
                            text: piece,
                            is_inlined: is_function && piece[..line].contains(" alwaysinline"),
                            is_function,
                            mentions: global_names(piece).filter(|mentioned| *mentioned != name).collect(),
                        },
                    );
                    assert!(before.is_none(), "{name} is defined twice");
                }
                _ => pieces.rest.push(piece),
            }
        }
        pieces
    }

    /// The functions that are not inlined, in bins of about the same size: the largest is put where the least
    /// is.
    fn bins(&self, max: usize) -> Vec<BTreeSet<&'a str>> {
        let functions = self.named.iter().filter(|(_, piece)| piece.is_function && !piece.is_inlined);
        let mut functions: Vec<(usize, &str)> =
            functions.map(|(name, piece)| (self.bytes(piece), *name)).collect();
        functions.sort_unstable_by(|a, b| b.cmp(a));
        let total: usize = functions.iter().map(|(bytes, _)| bytes).sum();
        let count = max.min(functions.len()).min(total / MIN_BYTES).max(1);
        let mut bins = vec![(0, BTreeSet::new()); count];
        for (bytes, name) in functions {
            let bin = bins.iter_mut().min_by_key(|(filled, _)| *filled).expect("there is at least one bin");
            bin.0 += bytes;
            assert!(bin.1.insert(name), "{name} has two definitions");
        }
        bins.retain(|(filled, _)| *filled > 0);
        bins.into_iter().map(|(_, bin)| bin).collect()
    }

    /// The text of a function with what is inlined into it.
    fn bytes(&self, piece: &Piece<'_>) -> usize {
        let inlined = piece.mentions.iter().filter_map(|name| self.named.get(name));
        piece.text.len()
            + inlined.filter(|piece| piece.is_inlined).map(|piece| piece.text.len()).sum::<usize>()
    }

    /// The module that defines those functions.
    fn part(&self, bin: &BTreeSet<&'a str>) -> String {
        let mut text = String::new();
        let mut seen: BTreeSet<&str> = bin.clone();
        let mut open: Vec<&str> = bin.iter().copied().collect();
        while let Some(name) = open.pop() {
            // Named in metadata, or in a comment.
            let Some(piece) = self.named.get(name) else { continue };
            if piece.is_function && !piece.is_inlined && !bin.contains(name) {
                text.push_str(&declaration(piece.text));
                continue;
            }
            match piece.is_function && !piece.is_inlined {
                true => text.push_str(&piece.text.replacen("define internal ", "define hidden ", 1)),
                false => text.push_str(piece.text),
            }
            open.extend(piece.mentions.iter().filter(|mentioned| seen.insert(**mentioned)));
        }
        self.rest.iter().for_each(|line| text.push_str(line));
        text
    }
}

/// A function's declaration for those that call it from another part.
fn declaration(definition: &str) -> String {
    let (header, _) = definition.split_once(" {\n").expect("a definition has a body");
    let header = header.strip_prefix("define ").expect("a definition starts so");
    format!("declare hidden {}\n", header.strip_prefix("internal ").unwrap_or(header))
}
