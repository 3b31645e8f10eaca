//! The arithmetic of `#if`: 64-bit integers, as the standard has it.

use super::pp_token::{PpKind, PpToken};
use crate::lexer::{decode_char, parse_number};
use crate::token::{Punct, TokenKind};
use anymetal_diagnostics::Span;

/// Parentheses, unary operators and `?:` within one another; bounds the recursion.
const DEEPEST: usize = 128;

/// What is wrong with a condition; without a span it is the condition as a whole.
#[derive(Debug)]
pub(super) struct ConditionError {
    pub(super) span: Option<Span>,
    pub(super) message: String,
}

/// Whether the expression, whose macros were expanded, is true.
pub(super) fn evaluate(tokens: &[PpToken]) -> Result<bool, ConditionError> {
    let mut evaluator = Evaluator { tokens, position: 0, depth: 0 };
    if tokens.is_empty() {
        return Err(ConditionError { span: None, message: "condition without an expression".to_owned() });
    }
    let value = evaluator.conditional(true)?;
    match evaluator.peek() {
        None => Ok(value.bits != 0),
        Some(token) => {
            let called = token.is_punct(Punct::LParen) && evaluator.position > 0;
            let before = called.then(|| tokens[evaluator.position - 1]);
            match before.filter(|before| before.kind == PpKind::Ident) {
                Some(name) => error(name.span, format!("function-like macro `{}` is not defined", name.name)),
                None => error(token.span, "operator expected in the condition"),
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    fn from_bool(value: bool) -> Self {
        Self { bits: u64::from(value), unsigned: false }
    }

    fn is_true(self) -> bool {
        self.bits != 0
    }
}

struct Evaluator<'t> {
    tokens: &'t [PpToken],
    position: usize,
    depth: usize,
}

type Evaluated = Result<Value, ConditionError>;

fn error<T>(span: Span, message: impl Into<String>) -> Result<T, ConditionError> {
    Err(ConditionError { span: Some(span), message: message.into() })
}

impl Evaluator<'_> {
    fn peek(&self) -> Option<PpToken> {
        self.tokens.get(self.position).copied()
    }

    fn punct(&self) -> Option<Punct> {
        match self.peek()? {
            PpToken { kind: PpKind::Punct(punct), .. } => Some(punct),
            PpToken { kind: PpKind::Ident, name, .. } => Punct::from_name(name),
            _ => None,
        }
    }

    /// The place to blame when something is missing.
    fn here(&self) -> Option<Span> {
        self.peek().or(self.tokens.last().copied()).map(|token| token.span)
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Evaluated) -> Evaluated {
        if self.depth >= DEEPEST {
            return Err(ConditionError {
                span: self.here(),
                message: "condition is nested too deeply".to_owned(),
            });
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    /// `live` is false in operands that are not evaluated: there a division by zero is no mistake.
    fn conditional(&mut self, live: bool) -> Evaluated {
        let condition = self.binary(1, live)?;
        if self.punct() != Some(Punct::Question) {
            return Ok(condition);
        }
        self.position += 1;
        let yes = self.nested(|this| this.conditional(live && condition.is_true()))?;
        self.expect(Punct::Colon)?;
        let no = self.nested(|this| this.conditional(live && !condition.is_true()))?;
        let chosen = if condition.is_true() { yes } else { no };
        Ok(Value { unsigned: yes.unsigned || no.unsigned, ..chosen })
    }

    fn expect(&mut self, punct: Punct) -> Result<(), ConditionError> {
        if self.punct() == Some(punct) {
            self.position += 1;
            return Ok(());
        }
        Err(ConditionError {
            span: self.here(),
            message: format!("expected `{}` in the condition", punct.as_str()),
        })
    }

    /// A chain of binary operators of at least this precedence.
    fn binary(&mut self, least: u32, live: bool) -> Evaluated {
        let mut left = self.unary(live)?;
        while let Some(operator) = self.punct() {
            let Some(precedence) = precedence(operator).filter(|&precedence| precedence >= least) else {
                break;
            };
            let place = self.here();
            self.position += 1;
            let live = match operator {
                Punct::AndAnd => live && left.is_true(),
                Punct::OrOr => live && !left.is_true(),
                _ => live,
            };
            let right = self.binary(precedence + 1, live)?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if !live => Value { bits: 0, unsigned: false },
                None => {
                    return Err(ConditionError {
                        span: place,
                        message: "division by zero in the condition".to_owned(),
                    });
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Evaluated {
        let Some(operator) = self.punct() else { return self.primary() };
        let convert: fn(Value) -> Value = match operator {
            Punct::LParen => {
                self.position += 1;
                let value = self.nested(|this| this.conditional(live))?;
                self.expect(Punct::RParen)?;
                return Ok(value);
            }
            Punct::Plus => |value| value,
            Punct::Minus => |value| Value { bits: value.bits.wrapping_neg(), ..value },
            Punct::Tilde => |value| Value { bits: !value.bits, ..value },
            Punct::Bang => |value| Value::from_bool(!value.is_true()),
            _ => return self.primary(),
        };
        self.position += 1;
        self.nested(|this| this.unary(live)).map(convert)
    }

    fn primary(&mut self) -> Evaluated {
        let Some(token) = self.peek() else {
            return Err(ConditionError {
                span: self.here(),
                message: "operand expected in the condition".to_owned(),
            });
        };
        self.position += 1;
        match token.kind {
            // Every name that is no macro is 0, except this one.
            PpKind::Ident if Punct::from_name(token.name).is_some() => {
                error(token.span, "invalid token at start of a preprocessor expression")
            }
            PpKind::Ident => Ok(Value::from_bool(token.name == "true")),
            PpKind::Number => match parse_number(token.name.as_str()) {
                Ok(TokenKind::Int(literal)) => {
                    let unsigned = literal.unsigned || literal.value > i64::MAX as u64;
                    Ok(Value { bits: literal.value, unsigned })
                }
                Ok(_) => error(token.span, "floating-point literal in the condition"),
                Err(message) => error(token.span, message),
            },
            PpKind::Char => {
                Ok(Value { bits: u64::from(decode_char(token.name.as_str()).value), unsigned: false })
            }
            PpKind::Str => error(token.span, "string literal in the condition"),
            _ => error(token.span, "operand expected in the condition"),
        }
    }
}

fn precedence(operator: Punct) -> Option<u32> {
    Some(match operator {
        Punct::OrOr => 1,
        Punct::AndAnd => 2,
        Punct::Pipe => 3,
        Punct::Caret => 4,
        Punct::Amp => 5,
        Punct::EqEq | Punct::NotEq => 6,
        Punct::Less | Punct::Greater | Punct::LessEq | Punct::GreaterEq => 7,
        Punct::Shl | Punct::Shr => 8,
        Punct::Plus | Punct::Minus => 9,
        Punct::Star | Punct::Slash | Punct::Percent => 10,
        _ => return None,
    })
}

/// `None` is a division by zero.
fn apply(operator: Punct, left: Value, right: Value) -> Option<Value> {
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.bits, right.bits);
    let less = if unsigned { a < b } else { (a as i64) < b as i64 };
    let bits = match operator {
        Punct::OrOr => return Some(Value::from_bool(left.is_true() || right.is_true())),
        Punct::AndAnd => return Some(Value::from_bool(left.is_true() && right.is_true())),
        Punct::EqEq => return Some(Value::from_bool(a == b)),
        Punct::NotEq => return Some(Value::from_bool(a != b)),
        Punct::Less => return Some(Value::from_bool(less)),
        Punct::GreaterEq => return Some(Value::from_bool(!less)),
        Punct::LessEq => return Some(Value::from_bool(less || a == b)),
        Punct::Greater => return Some(Value::from_bool(!less && a != b)),
        Punct::Shl | Punct::Shr => return Some(shift(operator == Punct::Shl, left, right)),
        Punct::Pipe => a | b,
        Punct::Caret => a ^ b,
        Punct::Amp => a & b,
        Punct::Plus => a.wrapping_add(b),
        Punct::Minus => a.wrapping_sub(b),
        Punct::Star => a.wrapping_mul(b),
        Punct::Slash if unsigned => a.checked_div(b)?,
        Punct::Percent if unsigned => a.checked_rem(b)?,
        Punct::Slash if b != 0 => (a as i64).wrapping_div(b as i64) as u64,
        Punct::Percent if b != 0 => (a as i64).wrapping_rem(b as i64) as u64,
        _ => return None,
    };
    Some(Value { bits, unsigned })
}

/// A negative count shifts the other way, and too large a one shifts everything out.
fn shift(to_left: bool, value: Value, count: Value) -> Value {
    let negative = !count.unsigned && (count.bits as i64) < 0;
    let distance = if negative { count.bits.wrapping_neg() } else { count.bits };
    let distance = u32::try_from(distance).unwrap_or(u32::MAX);
    let bits = if to_left != negative {
        value.bits.checked_shl(distance).unwrap_or(0)
    } else if value.unsigned {
        value.bits.checked_shr(distance).unwrap_or(0)
    } else {
        ((value.bits as i64) >> distance.min(63)) as u64
    };
    Value { bits, ..value }
}
