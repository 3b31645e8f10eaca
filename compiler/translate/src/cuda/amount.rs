//! Numbers of the host code, as far as its text decides them.

use super::items::Items;
use crate::token::Text;

/// A number, or the text that computes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// The text decides it: an integer, a boolean or a character.
    Integer(i128),
    /// The text decides it: a floating-point number.
    Real(f64),
    /// What the host computes when it runs.
    Text(String),
}

impl Amount {
    /// Of a number in C; one without a value, such as infinity, is not decided.
    fn known(number: Number) -> Option<Amount> {
        match number {
            Number::Integer(value) => Some(Amount::Integer(value)),
            Number::Real(value) => value.is_finite().then_some(Amount::Real(value)),
        }
    }
}

/// A value of an arithmetic type of C, converted as C converts its operands.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Real(f64),
}

impl Number {
    fn integer(self) -> Option<i128> {
        match self {
            Number::Integer(value) => Some(value),
            Number::Real(_) => None,
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    fn negated(self) -> Option<Number> {
        Some(match self {
            Number::Integer(value) => Number::Integer(value.checked_neg()?),
            Number::Real(value) => Number::Real(-value),
        })
    }

    /// The value converted to a type, by the type's name.
    fn converted(self, ty: &str) -> Option<Number> {
        match ty {
            "float" => Some(Number::Real(f64::from(self.real() as f32))),
            "double" => Some(Number::Real(self.real())),
            // The value changes where it does not fit, and nothing here needs that.
            _ => (size_of(ty).is_some() && !ty.ends_with(['2', '4'])).then_some(match self {
                Number::Integer(value) => Number::Integer(value),
                Number::Real(value) => Number::Integer(value as i128),
            }),
        }
    }

    fn binary(self, operator: &str, other: Number) -> Option<Number> {
        if let (Number::Integer(one), Number::Integer(other)) = (self, other) {
            return match operator {
                "+" => one.checked_add(other),
                "-" => one.checked_sub(other),
                "*" => one.checked_mul(other),
                "/" => one.checked_div(other),
                _ => one.checked_rem(other),
            }
            .map(Number::Integer);
        }
        let (one, other) = (self.real(), other.real());
        Some(Number::Real(match operator {
            "+" => one + other,
            "-" => one - other,
            "*" => one * other,
            "/" => one / other,
            // C has no remainder of real numbers.
            _ => return None,
        }))
    }
}

/// Names and brackets nest as deep.
const MAX_DEPTH: usize = 24;

/// Evaluates expressions of the host.
#[derive(Clone, Copy)]
pub(super) struct Evaluator<'a, 's> {
    pub(super) text: &'a Text<'s>,
    pub(super) items: &'a Items,
}

impl Evaluator<'_, '_> {
    pub(super) fn amount(&self, (first, last): (usize, usize)) -> Amount {
        let known = self.sum(first, last, 0).and_then(Amount::known);
        known.unwrap_or_else(|| Amount::Text(self.text.between(first, last).to_owned()))
    }

    /// The three parts of a `dim3`, or of a number of one dimension.
    pub(super) fn extent(&self, (first, last): (usize, usize)) -> Vec<Amount> {
        if self.text.at(first) == "dim3"
            && matches!(self.text.at(first + 1), "(" | "{")
            && self.text.closing(first + 1) == Some(last)
        {
            return self.text.parts(first + 1, last).into_iter().map(|part| self.amount(part)).collect();
        }
        if first == last
            && let Some(found) = self.declared(first)
        {
            return found;
        }
        vec![self.amount((first, last))]
    }

    /// What the last `dim3 name(…)` or `dim3 name = …` before a use says.
    fn declared(&self, name: usize) -> Option<Vec<Amount>> {
        let word = self.text.at(name);
        let is_it = |token: &usize| self.text.at(*token) == word && self.text.at(token - 1) == "dim3";
        let found = (1..name).rev().find(is_it)?;
        match self.text.at(found + 1) {
            "(" | "{" => {
                let close = self.text.closing(found + 1)?;
                Some(self.text.parts(found + 1, close).into_iter().map(|part| self.amount(part)).collect())
            }
            "=" if self.text.at(found + 2) == "dim3" => {
                let close = self.text.closing(found + 3)?;
                Some(self.text.parts(found + 3, close).into_iter().map(|part| self.amount(part)).collect())
            }
            _ => None,
        }
    }

    /// The last operator of the lowest level outside of brackets.
    fn operator(&self, first: usize, last: usize, marks: &[&str]) -> Option<usize> {
        let (mut token, mut found) = (first, None);
        while token <= last {
            match self.text.at(token) {
                "(" => token = self.text.closing(token)?,
                word if token > first && marks.contains(&word) && self.ends_operand(token - 1) => {
                    found = Some(token)
                }
                _ => {}
            }
            token += 1;
        }
        found
    }

    fn ends_operand(&self, token: usize) -> bool {
        let word = self.text.at(token);
        word == ")" || self.text.is_word(token) || is_number(word)
    }

    fn sum(&self, first: usize, last: usize, depth: usize) -> Option<Number> {
        if first > last || depth > MAX_DEPTH {
            return None;
        }
        if let Some(token) = self.operator(first, last, &["<<", ">>"]) {
            let integer = |first, last| self.sum(first, last, depth + 1)?.integer();
            let shift = u32::try_from(integer(token + 1, last)?).ok().filter(|shift| *shift < 64)?;
            let value = integer(first, token - 1)?;
            let shifted = match self.text.at(token) {
                "<<" => value.checked_shl(shift)?,
                _ => value >> shift,
            };
            return Some(Number::Integer(shifted));
        }
        for marks in [&["+", "-"][..], &["*", "/", "%"][..]] {
            let Some(token) = self.operator(first, last, marks) else { continue };
            let (one, other) =
                (self.sum(first, token - 1, depth + 1)?, self.sum(token + 1, last, depth + 1)?);
            return one.binary(self.text.at(token), other);
        }
        self.operand(first, last, depth)
    }

    fn operand(&self, first: usize, last: usize, depth: usize) -> Option<Number> {
        let text = self.text;
        match text.at(first) {
            "-" => return self.sum(first + 1, last, depth + 1)?.negated(),
            "+" => return self.sum(first + 1, last, depth + 1),
            "(" => {
                let close = text.closing(first)?;
                if close == last {
                    return self.sum(first + 1, last - 1, depth + 1);
                }
                return self.sum(close + 1, last, depth + 1)?.converted(text.between(first + 1, close - 1));
            }
            "sizeof" if text.closing(first + 1) == Some(last) => {
                return size_of(text.between(first + 2, last - 1)).map(Number::Integer);
            }
            "static_cast" => {
                let close = text.angle_closing(first + 1)?;
                let is_whole = text.at(close + 1) == "(" && text.closing(close + 1) == Some(last);
                let value = is_whole.then(|| self.sum(close + 2, last - 1, depth + 1))??;
                return value.converted(text.between(first + 2, close - 1));
            }
            ty if first < last && text.at(first + 1) == "(" && text.closing(first + 1) == Some(last) => {
                return self.sum(first + 2, last - 1, depth + 1)?.converted(ty);
            }
            _ => {}
        }
        if first != last {
            return None;
        }
        let word = text.at(first);
        if is_number(word) {
            return literal(word);
        }
        if let "true" | "false" = word {
            return Some(Number::Integer(i128::from(word == "true")));
        }
        if let Some(body) = self.items.macros.get(word) {
            let (first, last) = (*body.first()?, *body.last()?);
            return (last - first + 1 == body.len()).then(|| self.sum(first, last, depth + 1))?;
        }
        self.constant(first, depth)
    }

    /// `const int name = 256;`
    fn constant(&self, name: usize, depth: usize) -> Option<Number> {
        let word = self.text.at(name);
        let is_it = |token: &usize| self.text.at(*token) == word && self.text.at(token + 1) == "=";
        let found = (1..name).rev().find(is_it)?;
        let is_const = (found.saturating_sub(5)..found).any(|token| {
            matches!(
                self.text.at(token),
                "const" | "constexpr" | "int" | "unsigned" | "size_t" | "float" | "double" | "bool"
            )
        });
        let end = (found..name).find(|&token| matches!(self.text.at(token), ";" | ","))?;
        // Of a variable that is assigned to again the text decides nothing.
        let again = (1..self.text.len()).filter(is_it).count() > 1;
        (is_const && !again).then(|| self.sum(found + 2, end - 1, depth + 1))?
    }
}

fn is_number(word: &str) -> bool {
    word.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit())
}

/// A number as C writes it, with its suffix.
fn literal(word: &str) -> Option<Number> {
    let word = word.replace('\'', "");
    let lower = word.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        let digits = digits.trim_end_matches(['u', 'l']);
        return i128::from_str_radix(digits, 16).ok().map(Number::Integer);
    }
    if lower.contains(['.', 'e']) {
        let is_float = lower.ends_with('f');
        let value: f64 = lower.trim_end_matches(['f', 'l']).parse().ok()?;
        return Some(Number::Real(if is_float { f64::from(value as f32) } else { value }));
    }
    let digits = lower.trim_end_matches(['u', 'l']);
    let (digits, radix) = match digits {
        "0" => ("0", 10),
        _ => match (digits.strip_prefix("0b"), digits.strip_prefix('0')) {
            (Some(binary), _) => (binary, 2),
            (None, Some(octal)) => (octal, 8),
            (None, None) => (digits, 10),
        },
    };
    i128::from_str_radix(digits, radix).ok().map(Number::Integer)
}

fn size_of(ty: &str) -> Option<i128> {
    Some(match ty.trim() {
        "char" | "unsigned char" | "uint8_t" | "int8_t" | "bool" => 1,
        "short" | "unsigned short" | "half" | "__half" => 2,
        "float" | "int" | "unsigned" | "unsigned int" | "uint" | "int32_t" | "uint32_t" => 4,
        "double" | "long" | "size_t" | "float2" | "int2" | "uint64_t" | "int64_t" | "long long" => 8,
        "float4" | "int4" | "uint4" => 16,
        _ => return None,
    })
}
