//! Parameters of kernels: their bindings, and those that are copied because the kernel changes them.

use super::items::Function;
use crate::token::Text;

/// Whether a function assigns to a parameter, steps it, or takes its address.
pub(super) fn is_changed(text: &Text<'_>, function: &Function, param: usize) -> bool {
    let Some((open, close)) = function.body else { return false };
    let Some(declarator) = &function.params[param].declarator else { return false };
    let name = text.at(declarator.name);
    (open..close).filter(|&token| text.at(token) == name).any(|token| {
        let before = text.at(token - 1);
        if matches!(before, "." | "->") {
            return false;
        }
        let mut next = token + 1;
        loop {
            match text.at(next) {
                "." if text.at(next + 2) == "(" => return true,
                "." => next += 2,
                "[" => next = text.closing(next).unwrap_or(close) + 1,
                _ => break,
            }
        }
        let after = text.at(next);
        let is_assigned = after == "="
            || (after.len() >= 2 && after.ends_with('=') && !matches!(after, "==" | "!=" | "<=" | ">="));
        let two = token.wrapping_sub(2);
        let is_address = before == "&" && !text.is_word(two) && !matches!(text.at(two), ")" | "]");
        is_assigned || matches!(after, "++" | "--") || matches!(before, "++" | "--") || is_address
    })
}
