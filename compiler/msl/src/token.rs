//! Tokens as the parser sees them: after preprocessing, keywords recognised, literals converted.
//!
//! Owns: [`Token`], [`TokenKind`] and their payloads, the identifier interner ([`Name`]), the keyword
//! table ([`Kw`]) and the punctuators ([`Punct`]). Invariant: every payload is `Copy`, so a token
//! stream is a flat `Vec<Token>`; a stream made by [`crate::pp::preprocess`] ends with exactly one
//! [`TokenKind::Eof`]. Start with [`TokenKind`].

mod keyword;
mod name;
mod punct;

pub use keyword::Kw;
pub use name::Name;
pub use punct::Punct;

use anymetal_diagnostics::Span;
use std::fmt;

/// One token and where it comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is spelled, and which macro expansion brought it here.
    pub span: Span,
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TokenKind {
    /// An identifier that is no keyword (type names such as `float4` are identifiers).
    Ident(Name),
    /// A keyword.
    Keyword(Kw),
    /// An operator or other punctuator.
    Punct(Punct),
    /// An integer literal.
    Int(IntLiteral),
    /// A floating-point literal.
    Float(FloatLiteral),
    /// A string literal with escapes resolved and neighbours joined. `\xNN` gives U+00NN.
    Str(Name),
    /// A character literal: its code.
    Char(u32),
    /// A pragma that means something to the parser.
    Pragma(Pragma),
    /// The end of the translation unit.
    Eof,
}

/// The value and suffix of an integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLiteral {
    /// The value (a literal that does not fit 64 bits was diagnosed).
    pub value: u64,
    /// Whether it has a `u` suffix.
    pub unsigned: bool,
    /// Whether it has an `l` or `ll` suffix (both mean 64 bits in MSL).
    pub long: bool,
    /// Whether it was written in decimal; others may become unsigned by their value alone.
    pub decimal: bool,
}

/// The value and suffix of a floating-point literal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatLiteral {
    /// The value in the greatest precision; rounding to `half`, `bfloat` or `float` is the user's.
    pub value: f64,
    /// The suffix.
    pub suffix: FloatSuffix,
}

/// The suffix of a floating-point literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatSuffix {
    /// None: `float` in MSL.
    None,
    /// `f`.
    Float,
    /// `h`.
    Half,
    /// `bf` or `bh`.
    Bfloat,
    /// `l`: `long double`, which MSL lacks; the parser diagnoses it.
    Long,
}

/// A pragma in the token stream. It stands where it was written, before the thing it governs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pragma {
    /// A loop hint without a count: `unroll`, `nounroll`, `clang loop vectorize(enable)`.
    Loop(LoopTransform, LoopSetting),
    /// `unroll(EXPR)`, `unroll N`, `clang loop unroll_count(EXPR)`: the (macro-expanded) tokens of the
    /// expression follow, then [`Pragma::End`].
    LoopCountBegin(LoopCount),
    /// Ends the tokens that belong to a pragma.
    End,
    /// `METAL fp math_mode(..)`.
    MathMode(MathMode),
    /// `METAL fp contract(..)`, `clang fp contract(..)`, `STDC FP_CONTRACT ..`.
    Contract(ContractMode),
    /// `unused(…)`, with one of its names.
    Unused(Name),
}

/// The floating-point pragmas in force somewhere in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FpPragmas {
    /// `None`: the compiler's option decides.
    pub math_mode: Option<MathMode>,
    /// The last of the pragmas about contraction.
    pub contract: ContractMode,
}

impl FpPragmas {
    /// Follows a pragma; returns whether it is about floating-point arithmetic.
    pub fn follow(&mut self, pragma: Pragma) -> bool {
        match pragma {
            Pragma::MathMode(mode) => self.math_mode = Some(mode),
            Pragma::Contract(mode) => self.contract = mode,
            Pragma::Loop(..) | Pragma::LoopCountBegin(_) | Pragma::End | Pragma::Unused(_) => {
                return false;
            }
        }
        true
    }
}

/// What a loop pragma is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the pragmas")]
pub enum LoopTransform {
    Unroll,
    UnrollAndJam,
    Vectorize,
    VectorizePredicate,
    Interleave,
    Distribute,
    Pipeline,
}

/// A number that a loop pragma sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopCount {
    /// What the number is about.
    pub transform: LoopTransform,
    /// Whether it may be zero, as in `#pragma unroll 0`.
    pub may_be_zero: bool,
}

/// How a loop should be transformed. Always a hint, never a demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopSetting {
    /// As much as the compiler likes.
    Enable,
    /// Without a check of dependences.
    AssumeSafety,
    /// Completely.
    Full,
    /// Not at all.
    Disable,
}

/// How freely floating-point arithmetic may be rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MathMode {
    /// IEEE semantics.
    Safe,
    /// Reassociation, but infinities and NaNs are honoured.
    Relaxed,
    /// Everything goes.
    Fast,
}

/// Whether a multiplication and an addition may be fused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContractMode {
    /// Never.
    Off,
    /// Within an expression. No target makes use of that.
    On,
    /// Across statements, in math modes that allow it.
    #[default]
    Fast,
}

impl Token {
    /// Whether this is the given punctuator.
    pub fn is_punct(&self, punct: Punct) -> bool {
        self.kind == TokenKind::Punct(punct)
    }

    /// Whether this is the given keyword.
    pub fn is_keyword(&self, keyword: Kw) -> bool {
        self.kind == TokenKind::Keyword(keyword)
    }

    /// The name, when this is an identifier.
    pub fn ident(&self) -> Option<Name> {
        if let TokenKind::Ident(name) = self.kind { Some(name) } else { None }
    }

    /// The word, when this is an identifier or a keyword (attribute names may be either).
    pub fn word(&self) -> Option<Name> {
        match self.kind {
            TokenKind::Ident(name) => Some(name),
            TokenKind::Keyword(keyword) => Some(keyword.name()),
            _ => None,
        }
    }
}

/// As a message would quote it: `` `foo` ``, "integer literal", "end of file".
impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ident(name) => write!(f, "`{name}`"),
            Self::Keyword(keyword) => write!(f, "`{}`", keyword.as_str()),
            Self::Punct(punct) => write!(f, "`{}`", punct.as_str()),
            Self::Int(literal) => write!(f, "`{}`", literal.value),
            Self::Float(_) => f.write_str("floating-point literal"),
            Self::Str(_) => f.write_str("string literal"),
            Self::Char(_) => f.write_str("character literal"),
            Self::Pragma(_) => f.write_str("#pragma"),
            Self::Eof => f.write_str("end of file"),
        }
    }
}
