//! `blockIdx.x * blockDim.x + threadIdx.x`, which Metal has as one position.
//!
//! A compiler sees more in the position itself: that it counts on, and how far.

use std::collections::BTreeMap;

use crate::token::Text;

/// Metal's name, which the hidden parameter has.
pub(super) const NAME: &str = "thread_position_in_grid";

/// Where a source computes its position: the last token and the component, by the first token.
#[derive(Debug, Default)]
pub(super) struct Grid<'s>(BTreeMap<usize, (usize, &'s str)>);

impl<'s> Grid<'s> {
    pub(super) fn of(text: &Text<'s>) -> Self {
        let mut found = BTreeMap::new();
        let mut end = 0;
        for first in 0..text.len() {
            let begins = matches!(text.at(first), "blockIdx" | "blockDim" | "threadIdx" | "(");
            if first < end || !begins {
                continue;
            }
            if let Some((last, component)) =
                position(text, first).filter(|&(last, _)| stands_alone(text, first, last))
            {
                found.insert(first, (last, component));
                end = last + 1;
            }
        }
        Self(found)
    }

    /// The last token of the position that a token is part of.
    pub(super) fn last(&self, token: usize) -> Option<usize> {
        let (_, &(last, _)) = self.0.range(..=token).next_back()?;
        (token <= last).then_some(last)
    }

    /// All positions: first and last token, and component.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, usize, &'s str)> {
        self.0.iter().map(|(&first, &(last, component))| (first, last, component))
    }
}

/// `blockIdx.x`: its component.
fn part<'s>(text: &Text<'s>, token: usize, word: &str) -> Option<&'s str> {
    let is_it = text.at(token) == word && text.at(token + 1) == "." && text.is_word(token + 2);
    is_it.then_some(text.at(token + 2))
}

/// `blockIdx.x * blockDim.x` in any order and in parentheses or not: the last token and the component.
fn product<'s>(text: &Text<'s>, first: usize) -> Option<(usize, &'s str)> {
    if text.at(first) == "(" {
        let (last, component) = bare_product(text, first + 1)?;
        return (text.at(last + 1) == ")").then_some((last + 1, component));
    }
    bare_product(text, first)
}

fn bare_product<'s>(text: &Text<'s>, first: usize) -> Option<(usize, &'s str)> {
    (text.at(first + 3) == "*").then_some(())?;
    let one = part(text, first, "blockIdx").zip(part(text, first + 4, "blockDim"));
    let other = || part(text, first, "blockDim").zip(part(text, first + 4, "blockIdx"));
    let (component, same) = one.or_else(other)?;
    (component == same).then_some((first + 6, component))
}

/// A product and `threadIdx.x` in any order.
fn position<'s>(text: &Text<'s>, first: usize) -> Option<(usize, &'s str)> {
    if let Some(component) = part(text, first, "threadIdx") {
        let (last, same) = product(text, first + 4).filter(|_| text.at(first + 3) == "+")?;
        return (component == same).then_some((last, component));
    }
    let (last, component) = product(text, first)?;
    let same = part(text, last + 2, "threadIdx").filter(|_| text.at(last + 1) == "+")?;
    (component == same).then_some((last + 4, component))
}

/// Whether nothing around it binds tighter than the sum.
fn stands_alone(text: &Text<'_>, first: usize, last: usize) -> bool {
    let before = if first == 0 { "" } else { text.at(first - 1) };
    let is_call = text.at(first) == "(" && text.is_word(first.wrapping_sub(1)) && before != "return";
    !is_call
        && !matches!(before, "*" | "/" | "%" | "-" | "." | "->" | "~" | "!" | "&" | ")")
        && !matches!(text.at(last + 1), "*" | "/" | "%" | "." | "[")
}
