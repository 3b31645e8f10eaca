//! Numbers of the host code, as far as its text decides them.

use super::items::Items;
use crate::token::Text;

/// A number, or the text that computes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// The text decides it.
    Known(u64),
    /// What the host computes when it runs.
    Text(String),
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
        let value = self.sum(first, last, 0).and_then(|value| u64::try_from(value).ok());
        value.map_or_else(|| Amount::Text(self.text.between(first, last).to_owned()), Amount::Known)
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
        word == ")" || self.text.is_word(token) || word.starts_with(|c: char| c.is_ascii_digit())
    }

    fn sum(&self, first: usize, last: usize, depth: usize) -> Option<i128> {
        if first > last || depth > MAX_DEPTH {
            return None;
        }
        if let Some(token) = self.operator(first, last, &["<<", ">>"]) {
            let shift =
                u32::try_from(self.sum(token + 1, last, depth + 1)?).ok().filter(|shift| *shift < 64)?;
            let value = self.sum(first, token - 1, depth + 1)?;
            return Some(if self.text.at(token) == "<<" {
                value.checked_shl(shift)?
            } else {
                value >> shift
            });
        }
        for marks in [&["+", "-"][..], &["*", "/", "%"][..]] {
            let Some(token) = self.operator(first, last, marks) else { continue };
            let (one, other) =
                (self.sum(first, token - 1, depth + 1)?, self.sum(token + 1, last, depth + 1)?);
            return match self.text.at(token) {
                "+" => one.checked_add(other),
                "-" => one.checked_sub(other),
                "*" => one.checked_mul(other),
                "/" => one.checked_div(other),
                _ => one.checked_rem(other),
            };
        }
        self.operand(first, last, depth)
    }

    fn operand(&self, first: usize, last: usize, depth: usize) -> Option<i128> {
        let text = self.text;
        if text.at(first) == "(" && text.closing(first) == Some(last) {
            return self.sum(first + 1, last - 1, depth + 1);
        }
        if text.at(first) == "sizeof" && text.closing(first + 1) == Some(last) {
            return size_of(text.between(first + 2, last - 1));
        }
        if first != last {
            return None;
        }
        let word = text.at(first);
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
            return match digits.strip_prefix("0x") {
                Some(hex) => i128::from_str_radix(hex, 16).ok(),
                None => digits.parse().ok(),
            };
        }
        if let Some(body) = self.items.macros.get(word) {
            let (first, last) = (*body.first()?, *body.last()?);
            return (last - first + 1 == body.len()).then(|| self.sum(first, last, depth + 1))?;
        }
        self.constant(first, depth)
    }

    /// `const int name = 256;`
    fn constant(&self, name: usize, depth: usize) -> Option<i128> {
        let word = self.text.at(name);
        let is_it = |token: &usize| self.text.at(*token) == word && self.text.at(token + 1) == "=";
        let found = (1..name).rev().find(is_it)?;
        let is_const = (found.saturating_sub(5)..found).any(|token| {
            matches!(self.text.at(token), "const" | "constexpr" | "int" | "unsigned" | "size_t")
        });
        let end = (found..name).find(|&token| matches!(self.text.at(token), ";" | ","))?;
        // Of a variable that is assigned to again the text decides nothing.
        let again = (1..self.text.len()).filter(is_it).count() > 1;
        (is_const && !again).then(|| self.sum(found + 2, end - 1, depth + 1))?
    }
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
