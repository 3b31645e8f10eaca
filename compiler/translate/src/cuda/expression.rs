//! What an expression points to and where it is, read off its tokens.
//!
//! Only what matters for address spaces is looked at: names, `&`, `*`, `[…]`, members, casts, sums, the
//! branches of `?:`, and calls. Work is bounded: an expression nests as deep as [`MAX_DEPTH`].

use super::declarator::template_arguments;
use super::space::{Space, Value};
use crate::token::Text;

/// Expressions that nest deeper count as unknown.
const MAX_DEPTH: usize = 40;

/// What names mean.
pub(super) trait Names {
    /// Whether there may be more work; called for each expression with its number of tokens.
    fn may_go_on(&self, _tokens: usize) -> bool {
        true
    }

    /// A word that is no member and no function that is called.
    fn name(&self, token: usize) -> Option<Value>;
    /// A member of something that lives in a space, or of what a pointer to it refers to.
    fn member(&self, token: usize, lives: Space) -> Value;
    /// An element of an object, by an operator `[]` of the source.
    fn element(&self, _object: Value) -> Option<Value> {
        None
    }
    /// A call: the function's name, and the parentheses of its arguments.
    fn call(&self, name: usize, open: usize, close: usize, depth: usize) -> Value;
}

/// Reads expressions of a text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a, 's, N> {
    pub(super) text: &'a Text<'s>,
    pub(super) names: &'a N,
}

fn is_assignment(mark: &str) -> bool {
    mark.ends_with('=') && !matches!(mark, "==" | "!=" | "<=" | ">=")
}

/// Whether an operator after this token has an operand on its left.
pub(super) fn ends_operand(text: &Text<'_>, token: usize) -> bool {
    let word = text.at(token);
    matches!(word, ")" | "]")
        || (text.is_word(token) && word != "return")
        || word.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || word.starts_with('"')
}

impl<N: Names> Reader<'_, '_, N> {
    /// The value of the tokens from `first` to `last`.
    pub(super) fn value(&self, first: usize, last: usize, depth: usize) -> Value {
        if first > last || depth > MAX_DEPTH || !self.names.may_go_on(last - first + 1) {
            return Value::default();
        }
        let marks = self.marks(first, last);
        let find = |mark: &str| marks.iter().copied().find(|&token| self.text.at(token) == mark);
        if let Some(&comma) = marks.iter().rev().find(|&&token| self.text.at(token) == ",") {
            return self.value(comma + 1, last, depth + 1);
        }
        if let Some(&assign) = marks.iter().find(|&&token| is_assignment(self.text.at(token))) {
            let assigned = self.value(first, assign.saturating_sub(1), depth + 1);
            return Value { lives: assigned.lives, ..self.value(assign + 1, last, depth + 1) };
        }
        if let Some(question) = find("?") {
            let colon = marks.iter().copied().rev().find(|&token| self.text.at(token) == ":");
            let Some(colon) = colon.filter(|&colon| colon > question) else { return Value::default() };
            let one = self.value(question + 1, colon - 1, depth + 1);
            let other = self.value(colon + 1, last, depth + 1);
            return Value {
                points: one.points.join(other.points),
                then: one.then.join(other.then),
                lives: one.lives.join(other.lives),
                arrays: one.arrays.min(other.arrays),
            };
        }
        let operators: Vec<usize> = marks.into_iter().filter(|&token| self.is_binary(first, token)).collect();
        if operators.is_empty() {
            return self.unary(first, last, depth);
        }
        self.sum(first, last, &operators, depth)
    }

    /// A sum of a pointer and numbers is a pointer; all else is a number.
    fn sum(&self, first: usize, last: usize, operators: &[usize], depth: usize) -> Value {
        let is_product = |token: &usize| matches!(self.text.at(*token), "*" | "/" | "%" | "<<" | ">>");
        if operators.iter().any(|token| !is_product(token) && !matches!(self.text.at(*token), "+" | "-")) {
            return Value::rvalue(Space::Any, Space::Unknown);
        }
        let sums = operators.iter().copied().filter(|token| !is_product(token));
        let (mut start, mut all) = (first, Value::rvalue(Space::Unknown, Space::Unknown));
        for end in sums.chain([last + 1]) {
            let has_product = operators.iter().any(|token| is_product(token) && (start..end).contains(token));
            if !has_product && end > start {
                let one = self.value(start, end - 1, depth + 1);
                if one.points != Space::Any {
                    all.points = all.points.join(one.points);
                    all.then = all.then.join(one.then);
                }
            }
            start = end + 1;
        }
        all
    }

    /// The marks outside of brackets and of template arguments.
    fn marks(&self, first: usize, last: usize) -> Vec<usize> {
        let mut marks = Vec::new();
        let mut token = first;
        while token <= last {
            match self.text.at(token) {
                "(" | "[" | "{" => token = self.text.closing(token).unwrap_or(last),
                "<" if self.text.is_word(token.wrapping_sub(1)) => {
                    match template_arguments(self.text, token) {
                        Some(close) => token = close,
                        None => marks.push(token),
                    }
                }
                ":" if self.text.at(token + 1) == ":" => token += 1,
                word if !self.text.is_word(token) && !word.is_empty() => marks.push(token),
                _ => {}
            }
            token += 1;
        }
        marks
    }

    fn is_binary(&self, first: usize, token: usize) -> bool {
        let word = self.text.at(token);
        if token == first || !ends_operand(self.text, token - 1) {
            return false;
        }
        // `(float*) &x`
        if matches!(word, "*" | "&" | "-" | "+")
            && self.text.at(token - 1) == ")"
            && self.text.opening(token - 1).is_some_and(|open| self.cast(open).is_some())
        {
            return false;
        }
        matches!(
            word,
            "+" | "-"
                | "*"
                | "/"
                | "%"
                | "&"
                | "|"
                | "^"
                | "<"
                | ">"
                | "<<"
                | ">>"
                | "<="
                | ">="
                | "=="
                | "!="
                | "&&"
                | "||"
        )
    }

    /// If a cast begins here, its closing parenthesis, and whether it is one to a pointer.
    pub(super) fn cast(&self, open: usize) -> Option<(usize, bool)> {
        if self.text.at(open) != "(" || (open > 0 && ends_operand(self.text, open - 1)) {
            return None;
        }
        let close = self.text.closing(open)?;
        let ty = super::declarator::skip_type(self.text, open + 1)?;
        let mut rest = ty.1 + 1;
        while matches!(self.text.at(rest), "*" | "const" | "__restrict__" | "&" | "volatile") {
            rest += 1;
        }
        let is_pointer = (ty.1 + 1..close).any(|token| self.text.at(token) == "*");
        let is_arithmetic = super::words::is_builtin_type(self.text.at(ty.0));
        let has_operand = self.text.is_word(close + 1)
            || matches!(self.text.at(close + 1), "(" | "&" | "*" | "-" | "~" | "!" | "{")
            || self.text.at(close + 1).starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '"'));
        (rest == close && has_operand && (is_pointer || is_arithmetic)).then_some((close, is_pointer))
    }

    fn unary(&self, first: usize, last: usize, depth: usize) -> Value {
        match self.text.at(first) {
            "&" => self.value(first + 1, last, depth + 1).address(),
            "*" => self.value(first + 1, last, depth + 1).element(),
            "++" | "--" => self.value(first + 1, last, depth + 1),
            "-" | "!" | "~" | "+" => Value::rvalue(Space::Unknown, Space::Unknown),
            "sizeof" => Value::rvalue(Space::Any, Space::Unknown),
            "(" if let Some((close, is_pointer)) = self.cast(first)
                && close < last =>
            {
                let inner = self.value(close + 1, last, depth + 1);
                let points = if is_pointer || inner.points.is_known() { inner.points } else { Space::Any };
                Value { lives: Space::Any, arrays: 0, points, ..inner }
            }
            _ => self.postfix(first, last, depth),
        }
    }

    fn postfix(&self, first: usize, last: usize, depth: usize) -> Value {
        let (mut value, mut token) = self.primary(first, depth);
        while token <= last {
            match self.text.at(token) {
                "[" => {
                    let is_object = value.arrays == 0 && value.points == Space::Any;
                    let element = if is_object { self.names.element(value) } else { None };
                    value = element.unwrap_or(value.element());
                    token = self.text.closing(token).unwrap_or(last) + 1;
                }
                mark @ ("." | "->") => {
                    let lives = if mark == "." { value.lives } else { value.points };
                    let name = token + 1;
                    if self.text.at(name + 1) == "(" {
                        let close = self.text.closing(name + 1).unwrap_or(last);
                        value = self.names.call(name, name + 1, close, depth + 1);
                        token = close + 1;
                    } else {
                        value = self.names.member(name, lives);
                        token = name + 1;
                    }
                }
                _ => token += 1,
            }
        }
        value
    }

    /// The value of what stands before all `[…]` and members, and the token after it.
    fn primary(&self, first: usize, depth: usize) -> (Value, usize) {
        let text = self.text;
        if text.at(first) == "("
            && let Some(close) = text.closing(first)
        {
            return (self.value(first + 1, close.saturating_sub(1), depth + 1), close + 1);
        }
        if text.at(first).starts_with('"') {
            return (Value::rvalue(Space::Constant, Space::Unknown), first + 1);
        }
        if !text.is_word(first) {
            return (Value::rvalue(Space::Any, Space::Unknown), first + 1);
        }
        if matches!(text.at(first), "NULL" | "nullptr") {
            return (Value::rvalue(Space::Any, Space::Any), first + 1);
        }
        let mut name = first;
        while text.at(name + 1) == ":" && text.at(name + 2) == ":" {
            name += 3;
        }
        let open = match text.at(name + 1) {
            "<" => template_arguments(text, name + 1).map_or(name + 1, |close| close + 1),
            _ => name + 1,
        };
        if text.at(open) == "("
            && let Some(close) = text.closing(open)
        {
            let is_cast =
                matches!(text.at(name), "reinterpret_cast" | "static_cast" | "const_cast" | "dynamic_cast");
            let value = match is_cast {
                _ if text.at(name) == "__ldg" => Value::rvalue(Space::Any, Space::Unknown),
                true => {
                    let inner = self.value(open + 1, close.saturating_sub(1), depth + 1);
                    Value { lives: Space::Any, arrays: 0, ..inner }
                }
                false => self.names.call(name, open, close, depth + 1),
            };
            return (value, close + 1);
        }
        let value = self.names.name(name);
        (value.unwrap_or(Value::rvalue(Space::Unknown, Space::Unknown)), name + 1)
    }

    /// The last token of the operand of a cast that closes at `close`.
    pub(super) fn operand_end(&self, close: usize) -> usize {
        let text = self.text;
        let mut token = close + 1;
        while matches!(text.at(token), "&" | "*" | "-" | "~" | "!" | "++" | "--") {
            token += 1;
        }
        while let Some((inner, _)) = self.cast(token) {
            token = inner + 1;
            while matches!(text.at(token), "&" | "*" | "-") {
                token += 1;
            }
        }
        if matches!(text.at(token), "(" | "{") {
            token = text.closing(token).unwrap_or(token);
        }
        loop {
            match text.at(token + 1) {
                "[" | "(" => match text.closing(token + 1) {
                    Some(close) => token = close,
                    None => return token,
                },
                "." | "->" => token += 2,
                ":" if text.at(token + 2) == ":" => token += 3,
                "<" => match template_arguments(text, token + 1) {
                    Some(close) => token = close,
                    None => return token,
                },
                "++" | "--" => token += 1,
                _ => return token,
            }
        }
    }
}
