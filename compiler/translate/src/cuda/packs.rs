//! Kernels with parameter packs.
//!
//! A kernel's parameters have bindings, which a pack cannot have. [`expanded`] gives such a kernel one
//! parameter for each element instead, if all its instantiations have the same number of elements: it edits
//! the text before it is read. Packs of functions remain, since MSL has them.

use super::items::{Function, Items};
use crate::flatten::{Edit, Flattened};
use crate::token::Text;

/// The most elements of a pack: a kernel has fewer bindings.
const MAX_ELEMENTS: usize = 31;

/// A kernel with a pack.
struct Pack<'s> {
    /// The template parameter's name.
    ty: &'s str,
    /// The name of the parameters.
    name: &'s str,
    count: usize,
}

/// The source with the packs of kernels expanded. `instantiate` lists kernels with template arguments.
pub(super) fn expanded(flat: Flattened, instantiate: &[String]) -> Flattened {
    let text = Text::new(&flat.text);
    if instantiate.is_empty() || !(0..text.len()).any(|token| text.at(token) == "...") {
        return flat;
    }
    let items = Items::of(&text);
    let mut edits: Vec<Edit> = Vec::new();
    for function in items.functions.iter().filter(|function| function.is_kernel) {
        if let Some(pack) = pack(&text, function, instantiate) {
            edits.extend(pack.edits(&text, function).unwrap_or_default());
        }
    }
    edits.sort_by_key(|edit| edit.range.start);
    if edits.is_empty() { flat } else { flat.edited(&edits) }
}

fn pack<'s>(text: &Text<'s>, function: &Function, instantiate: &[String]) -> Option<Pack<'s>> {
    let (open, close) = function.template?;
    let ty = (open..close).find(|&token| text.at(token) == "...")? + 1;
    let dots = (function.open..function.close).find(|&token| text.at(token) == "...")?;
    let is_named = text.is_word(ty) && text.is_word(dots + 1);
    let others = elements(text, open, close).checked_sub(1)?;
    let lists = instantiate.iter().filter_map(|kernel| {
        let (name, arguments) = kernel.strip_suffix('>')?.split_once('<')?;
        (name == function.name).then(|| format!("<{arguments}>"))
    });
    let mut counts = lists.map(|list| {
        let list = Text::new(&list);
        elements(&list, 0, list.len().saturating_sub(1)).checked_sub(others)
    });
    let count = counts.next()?.filter(|count| is_named && *count <= MAX_ELEMENTS)?;
    counts.all(|other| other == Some(count)).then_some(Pack {
        ty: text.at(ty),
        name: text.at(dots + 1),
        count,
    })
}

/// The number of elements between two angle brackets.
fn elements(text: &Text<'_>, open: usize, close: usize) -> usize {
    let (mut count, mut token) = (usize::from(open + 1 < close), open + 1);
    while token < close {
        match text.at(token) {
            "(" | "[" | "{" => token = text.closing(token).unwrap_or(close),
            "<" => token = text.angle_closing(token).unwrap_or(token),
            "," => count += 1,
            _ => {}
        }
        token += 1;
    }
    count
}

impl Pack<'_> {
    /// The edits of a kernel; `None` if an expansion is not understood.
    fn edits(&self, text: &Text<'_>, function: &Function) -> Option<Vec<Edit>> {
        let mut edits = Vec::new();
        let mut token = function.first;
        while token <= function.last {
            if text.at(token) != "..." {
                token += 1;
                continue;
            }
            let (first, last, with) = self.expansion(text, token)?;
            let begins_inside =
                edits.last().is_some_and(|edit: &Edit| edit.range.end > text.range(first).start);
            if begins_inside {
                return None; // An expansion in the pattern of another.
            }
            edits.push(Edit { range: text.range(first).start..text.range(last).end, text: with });
            token = last + 1;
        }
        Some(edits)
    }

    /// The tokens of the expansion at `...`, and their text.
    fn expansion(&self, text: &Text<'_>, dots: usize) -> Option<(usize, usize, String)> {
        let before = text.at(dots.checked_sub(1)?);
        // `typename... T`, `T... x`
        if matches!(before, "typename" | "class") {
            let of = |n: usize| format!("{before} {}{n}", self.ty);
            return Some(self.list(text, dots - 1, dots + 1, &of));
        }
        if text.at(dots + 1) == self.name && text.at(dots + 1) != before {
            let first = start_of_pattern(text, dots);
            let of = |n: usize| format!("{} {}{n}", self.element(text, first, dots - 1, n), self.name);
            return Some(self.list(text, first, dots + 1, &of));
        }
        // `sizeof...(x)`
        if before == "sizeof" {
            let close = text.closing(dots + 1)?;
            return Some((dots - 1, close, format!("size_t({})", self.count)));
        }
        let is_fold = |token: usize| !text.is_word(token) && !matches!(text.at(token), ")" | "]" | "}" | ",");
        let is_left_fold = before == "(";
        if is_left_fold || (is_fold(dots - 1) && text.at(dots + 1) == ")") {
            return self.fold(text, dots, is_left_fold);
        }
        let first = start_of_pattern(text, dots);
        Some(self.list(text, first, dots, &|n| self.element(text, first, dots - 1, n)))
    }

    /// `(x + ...)`, `(... + x)`
    fn fold(&self, text: &Text<'_>, dots: usize, is_left: bool) -> Option<(usize, usize, String)> {
        let (open, close) = match is_left {
            true => (dots - 1, text.closing(dots - 1)?),
            false => (text.opening(dots + 1)?, dots + 1),
        };
        let (operator, first, last) =
            if is_left { (dots + 1, dots + 2, close - 1) } else { (dots - 1, open + 1, dots - 2) };
        let operator = text.at(operator);
        let all: Vec<String> =
            (0..self.count).map(|n| format!("({})", self.element(text, first, last, n))).collect();
        let joined = match is_left {
            true => all.into_iter().reduce(|left, right| format!("({left} {operator} {right})")),
            false => all.into_iter().rev().reduce(|right, left| format!("({left} {operator} {right})")),
        };
        Some((open, close, joined?))
    }

    /// The elements with commas, in place of some tokens; without elements a comma before them goes away.
    fn list(
        &self,
        text: &Text<'_>,
        first: usize,
        last: usize,
        element: &dyn Fn(usize) -> String,
    ) -> (usize, usize, String) {
        let all: Vec<String> = (0..self.count).map(element).collect();
        let has_comma = text.at(first - 1) == ",";
        let first = if all.is_empty() && has_comma { first - 1 } else { first };
        (first, last, all.join(", "))
    }

    /// Some tokens for the element of a number.
    fn element(&self, text: &Text<'_>, first: usize, last: usize, number: usize) -> String {
        let mut out = String::new();
        for token in first..=last {
            let word = text.at(token);
            if token > first {
                out.push_str(&text.source()[text.range(token - 1).end..text.range(token).start]);
            }
            out.push_str(word);
            if word == self.ty || word == self.name {
                out.push_str(&number.to_string());
            }
        }
        out
    }
}

/// The first token of the pattern that ends before `...`: after the comma or bracket that precedes it.
fn start_of_pattern(text: &Text<'_>, dots: usize) -> usize {
    let mut token = dots;
    while token > 0 {
        match text.at(token - 1) {
            ")" | "]" | "}" => token = text.opening(token - 1).unwrap_or(token - 1),
            "(" | "[" | "{" | "," | "<" | ";" => return token,
            _ => token -= 1,
        }
    }
    token
}
