//! Operand lists, numbers with names, and constants.

use super::function::Body;
use super::lexer::Token;
use super::{Parsed, Parser};
use crate::eval::{mask, narrow};
use crate::{Scalar, Type, Value};

impl Parser<'_> {
    /// Values with commas between them; none if no value is next.
    pub(super) fn values(&mut self, body: &Body) -> Parsed<Vec<Value>> {
        let mut values = Vec::new();
        if self.peek_entity("v").is_none() {
            return Ok(values);
        }
        loop {
            values.push(self.value(body)?);
            if !self.eat(',')? {
                return Ok(values);
            }
        }
    }

    pub(super) fn two(&mut self, body: &Body) -> Parsed<(Value, Value)> {
        let a = self.value(body)?;
        self.expect(',')?;
        Ok((a, self.value(body)?))
    }

    pub(super) fn three(&mut self, body: &Body) -> Parsed<(Value, Value, Value)> {
        let (a, b) = self.two(body)?;
        self.expect(',')?;
        Ok((a, b, self.value(body)?))
    }

    /// `, align 4`
    pub(super) fn align(&mut self) -> Parsed<u32> {
        self.expect(',')?;
        self.expect_word("align")?;
        self.number()
    }

    /// `, volatile`, perhaps.
    pub(super) fn volatile(&mut self) -> Parsed<bool> {
        let found = self.eat(',')?;
        if found {
            self.expect_word("volatile")?;
        }
        Ok(found)
    }

    pub(super) fn picks(&mut self) -> Parsed<Vec<u8>> {
        self.expect('[')?;
        let mut picks = Vec::new();
        while !self.eat(']')? {
            if !picks.is_empty() {
                self.expect(',')?;
            }
            picks.push(self.number()?);
        }
        Ok(picks)
    }

    /// The spelling of a constant, whose meaning depends on the type that follows.
    pub(super) fn literal(&mut self) -> Parsed<String> {
        match self.token {
            Token::Word(text @ ("true" | "false" | "null")) | Token::Number(text) => {
                self.bump()?;
                Ok(text.to_owned())
            }
            _ => self.expected("a constant"),
        }
    }
}

/// The bits of a constant of the type; hexadecimal spells bits of any type.
pub(super) fn constant(spelling: &str, ty: Option<Type>) -> Option<u64> {
    let ty = ty?;
    if let Some(digits) = spelling.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    match (spelling, ty) {
        ("null", Type::Ptr(_)) => Some(0),
        ("true", Type::Scalar(Scalar::Bool)) => Some(1),
        ("false", Type::Scalar(Scalar::Bool)) => Some(0),
        (_, Type::Scalar(scalar)) if scalar.is_float() => float(spelling, scalar),
        (_, Type::Scalar(scalar)) if scalar.is_int() => integer(spelling, scalar),
        _ => None,
    }
}

fn float(spelling: &str, scalar: Scalar) -> Option<u64> {
    if scalar == Scalar::F32 {
        let x: f32 = spelling.parse().ok()?;
        return Some(u64::from(x.to_bits()));
    }
    let x: f64 = spelling.parse().ok()?;
    Some(narrow(scalar, x))
}

/// Signed or unsigned, as long as it fits the width.
fn integer(spelling: &str, scalar: Scalar) -> Option<u64> {
    let value: i128 = spelling.parse().ok()?;
    let limit = 1i128 << scalar.bits();
    ((-limit / 2..limit).contains(&value)).then_some(value as u64 & mask(scalar))
}
