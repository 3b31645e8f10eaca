//! The parts of a declaration outside of functions: where its name, parameters and braces are.

use crate::token::Text;

/// The parts of a declaration.
pub(super) struct Shape {
    pub(super) head: usize,
    pub(super) last: usize,
    pub(super) template: Option<(usize, usize)>,
    /// The word `struct`, `class`, `union` or `enum`, if there is one before all brackets.
    pub(super) word: &'static str,
    pub(super) record: Option<(usize, usize)>,
    pub(super) name: Option<usize>,
    pub(super) parens: Option<(usize, usize)>,
    pub(super) body: Option<(usize, usize)>,
    pub(super) has_equals: bool,
}

impl Shape {
    /// Of the declaration that begins at a token, and ends before another at the latest.
    pub(super) fn of(text: &Text<'_>, first: usize, end: usize) -> Self {
        let mut shape = Self {
            head: first,
            last: first,
            template: None,
            word: "",
            record: None,
            name: None,
            parens: None,
            body: None,
            has_equals: false,
        };
        while text.at(shape.head) == "template"
            && let Some(close) = text.angle_closing(shape.head + 1)
        {
            shape.template = Some((shape.head + 1, close));
            shape.head = close + 1;
        }
        let mut token = shape.head;
        while token < end {
            shape.last = token;
            if text.in_directive(token) {
                token = text.directive_end(token) + 1;
                continue;
            }
            match shape.step(text, token) {
                Some(next) => token = next,
                None => break,
            }
        }
        shape
    }

    /// Takes in one token; gives the next, or `None` at the end.
    fn step(&mut self, text: &Text<'_>, token: usize) -> Option<usize> {
        match text.at(token) {
            ";" => return None,
            "struct" | "class" | "union" if self.parens.is_none() => self.word = "struct",
            "enum" if self.parens.is_none() => self.word = "enum",
            "=" => self.has_equals = true,
            "operator" if self.parens.is_none() => {
                let open = if text.at(token + 1) == "(" { token + 3 } else { token + 1 };
                let open = (open..open + 5).find(|&token| text.at(token) == "(")?;
                self.name = Some(token);
                return self.take_parens(text, open);
            }
            "(" if self.parens.is_none() && !self.has_equals => {
                let before = text.at(token.wrapping_sub(1));
                let is_name = token > self.head && text.is_word(token - 1) && !takes_arguments(before);
                // A specialisation: `name<arguments>(…)`.
                let opens = |open: &usize| text.angle_closing(*open) == Some(token - 1);
                let angle = match before {
                    ">" | ">>" => (self.head..token).rev().take(64).find(opens),
                    _ => None,
                };
                if let Some(name) =
                    angle.and_then(|angle| angle.checked_sub(1)).filter(|&name| text.is_word(name))
                {
                    self.name = Some(name);
                    return self.take_parens(text, token);
                }
                if is_name {
                    self.name = Some(token - 1);
                    return self.take_parens(text, token);
                }
                return Some(text.closing(token)? + 1);
            }
            "(" | "[" => return Some(text.closing(token)? + 1),
            "{" => return self.block(text, token),
            "<" => {
                if let Some(close) = text.angle_closing(token) {
                    return Some(close + 1);
                }
            }
            _ => {}
        }
        Some(token + 1)
    }

    fn take_parens(&mut self, text: &Text<'_>, open: usize) -> Option<usize> {
        let close = text.closing(open)?;
        self.parens = Some((open, close));
        self.last = close;
        Some(close + 1)
    }

    fn block(&mut self, text: &Text<'_>, open: usize) -> Option<usize> {
        let close = text.closing(open)?;
        self.last = close;
        let before = text.at(open - 1);
        let is_member_of_constructor = self.parens.is_some_and(|(_, end)| end + 1 < open)
            && (text.is_word(open - 1) || before == ">")
            && !matches!(before, "const" | "override" | "final" | "noexcept" | "volatile" | "try")
            && self.parens.is_some_and(|(_, end)| text.at(end + 1) == ":");
        if is_member_of_constructor {
            return Some(close + 1);
        }
        if self.parens.is_some() && !self.has_equals {
            self.body = Some((open, close));
            // What else branches of a conditional have of the body.
            return None;
        }
        if self.word == "struct" && self.record.is_none() && !self.has_equals {
            self.record = Some((open, close));
        }
        Some(close + 1)
    }
}

/// Words of the language that parentheses follow in the head of a declaration.
fn takes_arguments(word: &str) -> bool {
    matches!(
        word,
        "alignas"
            | "decltype"
            | "noexcept"
            | "explicit"
            | "__align__"
            | "__builtin_align__"
            | "__attribute__"
            | "__attribute"
            | "__declspec"
            | "__launch_bounds__"
            | "__cluster_dims__"
            | "__block_size__"
            | "__maxnreg__"
            | "__typeof__"
            | "__typeof"
    )
}
