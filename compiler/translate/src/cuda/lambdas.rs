//! Lambdas of the host that are arguments of kernels.
//!
//! The type of a lambda has no name that a kernel's parameter could have, and the text of its captures is
//! the host's: they are refused, where they are written. [`arguments`] follows them from there, through the
//! variable that holds them and the parameters of host functions, to a launch.

use std::collections::BTreeSet;

use super::items::Items;
use super::launches::Found;
use crate::token::Text;

/// The most tokens before an argument in its list, brackets counted once.
const MAX_ARGUMENTS: usize = 1024;

/// The most uses of a variable or a parameter that are followed.
const MAX_USES: usize = 64;

/// The most lambdas that are reported.
const MAX_LAMBDAS: usize = 64;

/// A lambda that a launch passes.
pub(super) struct Lambda {
    /// The bracket of its captures.
    pub(super) open: usize,
    /// The name of the variable that holds it.
    pub(super) variable: Option<usize>,
    /// The name of the kernel in the launch.
    pub(super) kernel: usize,
}

/// The lambdas for the device that are arguments of launches.
pub(super) fn arguments(text: &Text<'_>, items: &Items, launches: &[Found]) -> Vec<Lambda> {
    let flow = Flow { text, items, launches };
    let found = |open: usize| {
        let last = flow.last_of_lambda(open)?;
        let is_named = text.at(open.wrapping_sub(1)) == "=" && text.is_word(open.wrapping_sub(2));
        let variable = is_named.then(|| open - 2);
        let mut seen = BTreeSet::new();
        let kernel = match variable {
            Some(name) => flow.reached_by(name, last + 1..flow.end_of_block(open), &mut seen),
            None => flow.reached((open, last), &mut seen),
        };
        Some(Lambda { open, variable, kernel: kernel? })
    };
    (1..text.len()).filter_map(found).take(MAX_LAMBDAS).collect()
}

struct Flow<'a, 's> {
    text: &'a Text<'s>,
    items: &'a Items,
    launches: &'a [Found],
}

impl Flow<'_, '_> {
    /// The last token of the lambda for the device that begins at a token, if one does.
    fn last_of_lambda(&self, open: usize) -> Option<usize> {
        let text = self.text;
        (text.at(open) == "[").then_some(())?;
        let mut token = text.closing(open)? + 1;
        let is_word = |token: usize| matches!(text.at(token), "__host__" | "__device__");
        is_word(token).then_some(())?;
        while !matches!(text.at(token), "{" | ";" | "") {
            token = if text.at(token) == "(" { text.closing(token)? } else { token } + 1;
        }
        (text.at(token) == "{").then(|| text.closing(token))?
    }

    fn end_of_block(&self, token: usize) -> usize {
        let around = |open: &usize| {
            self.text.at(*open) == "{" && self.text.closing(*open).is_some_and(|close| close > token)
        };
        let open = (0..token).rev().find(around);
        open.and_then(|open| self.text.closing(open)).unwrap_or(self.text.len())
    }

    /// The kernel that gets a variable as an argument, which is named within some tokens.
    fn reached_by(
        &self,
        name: usize,
        within: std::ops::Range<usize>,
        seen: &mut BTreeSet<usize>,
    ) -> Option<usize> {
        if !seen.insert(name) {
            return None;
        }
        let word = self.text.at(name);
        let mut uses = within.filter(|&token| self.text.at(token) == word).take(MAX_USES);
        uses.find_map(|token| self.reached((token, token), seen))
    }

    /// The kernel that gets an expression as an argument.
    fn reached(&self, expression: (usize, usize), seen: &mut BTreeSet<usize>) -> Option<usize> {
        let text = self.text;
        if let Some(launch) = self.launches.iter().find(|launch| launch.args.contains(&expression)) {
            return Some(launch.name);
        }
        let open = self.parenthesis_around(expression.0)?;
        let position = text.parts(open, text.closing(open)?).iter().position(|part| *part == expression)?;
        let callee = match text.at(open - 1) {
            ">" | ">>" => {
                let opens = |angle: &usize| text.angle_closing(*angle) == Some(open - 1);
                (0..open).rev().take(64).find(opens)?.checked_sub(1)?
            }
            _ => open - 1,
        };
        let is_it = |function: &&super::items::Function| function.name == text.at(callee);
        self.items.functions.iter().filter(is_it).find_map(|function| {
            let (open, close) = function.body?;
            let name = function.params.get(position)?.declarator.as_ref()?.name;
            self.reached_by(name, open..close, seen)
        })
    }

    fn parenthesis_around(&self, token: usize) -> Option<usize> {
        let mut token = token.checked_sub(1)?;
        for _ in 0..MAX_ARGUMENTS {
            match self.text.at(token) {
                "(" => return (token > 0).then_some(token),
                ";" | "{" | "[" => return None,
                ")" | "}" | "]" => token = self.text.opening(token)?,
                _ => {}
            }
            token = token.checked_sub(1)?;
        }
        None
    }
}
