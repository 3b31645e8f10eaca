//! CUB's collectives of blocks and warps: which calls construct one.
//!
//! A collective is constructed from its memory, `BlockReduce(temp)`, under a name that the source gives it;
//! the one of the prelude wants the position before. [`constructions`] finds the names by the shape of
//! their declarations, wherever these are: what names collectives in one function does so in all.

use std::collections::BTreeSet;

use crate::token::Text;

/// The name of the namespace, and of the prelude's entry.
pub(super) const NAMESPACE: &str = "cub";

/// What constructors want first.
pub(super) const NEEDS: [&str; 2] = ["threadIdx", "blockDim"];

const COLLECTIVES: &[&str] =
    &["BlockReduce", "BlockScan", "BlockLoad", "BlockStore", "BlockExchange", "WarpReduce", "WarpScan"];

/// The tokens that name a collective where one is constructed.
pub(super) fn constructions(text: &Text<'_>) -> BTreeSet<usize> {
    if !(0..text.len()).any(|token| text.at(token) == NAMESPACE) {
        return BTreeSet::new();
    }
    let is_using = |token: usize| {
        (text.at(token), text.at(token + 1), text.at(token + 2)) == ("using", "namespace", NAMESPACE)
    };
    let is_used = (0..text.len()).any(is_using);
    let types: Vec<(usize, usize)> = (0..text.len())
        .filter(|&token| COLLECTIVES.contains(&text.at(token)) && (is_used || is_qualified(text, token)))
        .filter_map(|token| Some((token, text.angle_closing(token + 1)?)))
        .collect();
    let names: BTreeSet<&str> = types.iter().filter_map(|&(first, last)| alias(text, first, last)).collect();
    let is_new = |token: &usize| {
        text.is_word(*token)
            && names.contains(text.at(*token))
            && text.at(token + 1) == "("
            && !matches!(text.at(token.wrapping_sub(1)), "." | "->" | "void")
    };
    let by_name = (0..text.len()).filter(is_new);
    let by_type = types.iter().filter(|(_, last)| text.at(last + 1) == "(").map(|&(first, _)| first);
    by_name.chain(by_type).collect()
}

fn is_qualified(text: &Text<'_>, token: usize) -> bool {
    token >= 3 && (text.at(token - 1), text.at(token - 2), text.at(token - 3)) == (":", ":", NAMESPACE)
}

/// The name that `using NAME = cub::BlockReduce<...>` or `typedef cub::BlockReduce<...> NAME` gives the type.
fn alias<'s>(text: &Text<'s>, first: usize, last: usize) -> Option<&'s str> {
    let mut start = first;
    while start > 0 && matches!(text.at(start - 1), ":" | NAMESPACE | "typename") {
        start -= 1;
    }
    match text.at(start.checked_sub(1)?) {
        "typedef" if text.is_word(last + 1) => Some(text.at(last + 1)),
        "=" if start >= 3 && text.at(start - 3) == "using" => Some(text.at(start - 2)),
        _ => None,
    }
}
