//! Types of OpenCL C, as far as the translation depends on them: which values are vectors, of how many
//! components of which scalar, and what members structures have.

use std::collections::BTreeMap;

use super::declarations::vector;
use crate::token::Text;

/// A type, without address spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Nothing is known: treated as a number.
    Unknown,
    /// A number, or anything else that comparisons of are numbers. An enumeration is named with the word
    /// `enum`.
    Scalar(String),
    Vector(String, u32),
    /// Vectors of several types: those that a macro is used with.
    AnyVector,
    /// Numbers and vectors: what a macro is used with.
    Mixed,
    /// By its number in [`Names::records`].
    Record(usize),
    /// A pointer or an array.
    Pointer(Box<Type>),
    /// A constant object: the type of a variable, or of what a pointer refers to. Values are not constant.
    Const(Box<Type>),
}

/// The scalar of numbers of several types, with which a macro is used.
pub(super) const NUMBER: &str = "number";

/// Arithmetic types by rank: the unsigned type of each size follows the signed one.
const RANKS: &[&str] =
    &["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", NUMBER];

impl Type {
    /// The name of an arithmetic type; `None` of all others.
    pub(super) fn arithmetic(&self) -> Option<&'static str> {
        match self {
            Self::Scalar(name) if name.starts_with("enum ") => Some("int"),
            Self::Scalar(name) => RANKS.iter().copied().find(|ranked| ranked == name),
            _ => None,
        }
    }

    /// The type that both names are of, or that of the usual arithmetic conversions [C99 6.3.1.8].
    pub(super) fn arithmetic_of(left: &'static str, right: &'static str) -> &'static str {
        let rank = |name: &&str| RANKS.iter().position(|ranked| ranked == name);
        match left == right {
            true => left,
            false => [left, right, "int"].into_iter().max_by_key(rank).unwrap_or("int"),
        }
    }

    /// The type of an operand after the integer promotions [C99 6.3.1.1].
    pub(super) fn promoted(&self) -> Self {
        match self.arithmetic() {
            Some(name) => Self::scalar(if name == "int" { name } else { Self::arithmetic_of(name, "int") }),
            None => self.clone(),
        }
    }

    pub(super) fn scalar(name: &str) -> Self {
        Self::Scalar(name.to_owned())
    }

    pub(super) fn is_vector(&self) -> bool {
        matches!(self, Self::Vector(..) | Self::AnyVector)
    }

    pub(super) fn pointer(to: Self) -> Self {
        Self::Pointer(Box::new(to))
    }

    pub(super) fn constant(of: Self) -> Self {
        if of.is_const() { of } else { Self::Const(Box::new(of)) }
    }

    pub(super) fn is_const(&self) -> bool {
        matches!(self, Self::Const(_))
    }

    /// The type of the value of an object of this type.
    pub(super) fn unqualified(&self) -> &Self {
        if let Self::Const(of) = self { of } else { self }
    }

    /// This type, or for a pointer the pointer to constant objects.
    pub(super) fn to_constant(&self) -> Self {
        match self {
            Self::Pointer(to) => Self::pointer(Self::constant((**to).clone())),
            other => other.clone(),
        }
    }

    /// Whether a pointer to a `from` becomes a pointer to this type only by a conversion of C's, which Metal
    /// does not have: to another type, or to objects that are not constant.
    pub(super) fn is_pointee_converted_from(&self, from: &Self) -> bool {
        let (to, of) = (self.unqualified(), from.unqualified());
        let drops_const = from.is_const() && !self.is_const() && to.is_known();
        drops_const || (to != of && *to != Self::scalar("void") && to.is_known() && of.is_known())
    }

    fn is_known(&self) -> bool {
        match self {
            Self::Unknown | Self::AnyVector | Self::Mixed => false,
            Self::Pointer(to) | Self::Const(to) => to.is_known(),
            Self::Scalar(_) | Self::Vector(..) | Self::Record(_) => true,
        }
    }

    /// More than four components.
    pub(super) fn is_wide(&self) -> bool {
        matches!(self, Self::Vector(_, width) if *width > 4)
    }

    /// What describes values of both types.
    pub(super) fn join(self, other: Self) -> Self {
        use Type::{AnyVector, Mixed, Scalar, Unknown};
        match (self, other) {
            (a, b) if a == b => a,
            (Unknown, known) | (known, Unknown) => known,
            (Scalar(_), Scalar(_)) => Self::scalar(NUMBER),
            (Self::Pointer(a), Self::Pointer(b)) if a.unqualified() == b.unqualified() => {
                Self::pointer(Self::constant(*a))
            }
            (a, b) if a.is_vector() && b.is_vector() => AnyVector,
            _ => Mixed,
        }
    }

    /// The type of both, or of an arithmetic operation with them: a vector, if one operand is.
    pub(super) fn common(&self, other: &Self) -> Self {
        if let (Some(left), Some(right)) = (self.arithmetic(), other.arithmetic()) {
            return Self::scalar(Self::arithmetic_of(left, right));
        }
        match (self, other) {
            (Self::Vector(..), _) => self.clone(),
            (_, Self::Vector(..)) => other.clone(),
            (Self::AnyVector, _) | (_, Self::AnyVector) => Self::AnyVector,
            (Self::Mixed, _) | (_, Self::Mixed) => Self::Mixed,
            (Self::Pointer(_), _) => self.clone(),
            (_, Self::Pointer(_)) => other.clone(),
            (Self::Unknown, Self::Scalar(_)) | (Self::Scalar(_), Self::Unknown) => Self::Unknown,
            (Self::Unknown, _) => other.clone(),
            _ => self.clone(),
        }
    }

    /// The type of `abs`: integers without a sign.
    pub(super) fn magnitude(&self) -> Self {
        let unsigned = |scalar: &str| match scalar {
            "char" => Some("uchar"),
            "short" => Some("ushort"),
            "int" => Some("uint"),
            "long" => Some("ulong"),
            _ => None,
        };
        match self {
            Self::Scalar(scalar) => unsigned(scalar).map_or_else(|| self.clone(), Self::scalar),
            Self::Vector(scalar, width) => {
                unsigned(scalar).map_or_else(|| self.clone(), |of| Self::Vector(of.to_owned(), *width))
            }
            _ => self.clone(),
        }
    }

    /// The name of a scalar or vector.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.clone(),
            Self::Vector(scalar, width) => format!("{scalar}{width}"),
            _ => String::new(),
        }
    }

    /// The type of a comparison: a number for numbers, for vectors one of signed integers as wide as theirs.
    pub(super) fn flags(&self) -> Self {
        match self {
            Self::Vector(scalar, width) => Self::Vector(flag(scalar).to_owned(), *width),
            Self::AnyVector | Self::Mixed => self.clone(),
            _ => Self::scalar("int"),
        }
    }
}

/// The signed integer of the size of a scalar.
pub(super) fn flag(scalar: &str) -> &'static str {
    match scalar {
        "char" | "uchar" => "char",
        "short" | "ushort" | "half" => "short",
        "long" | "ulong" => "long",
        _ => "int",
    }
}

/// A structure or union.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) members: BTreeMap<String, Type>,
    /// The types of its members, in order.
    pub(super) order: Vec<Type>,
}

/// What the names of types in a source stand for.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Those of `typedef`, and of macros that are types.
    pub(super) types: BTreeMap<String, Type>,
    /// Structures and unions.
    pub(super) records: Vec<Record>,
    /// Structures by tag.
    pub(super) tags: BTreeMap<String, usize>,
}

/// The type of a constant that OpenCL C defines.
pub(super) fn constant(word: &str) -> Option<Type> {
    let name = match word {
        "MAXFLOAT" | "HUGE_VALF" | "HUGE_VAL" | "INFINITY" | "NAN" => "float",
        "FLT_MAX" | "FLT_MIN" | "FLT_EPSILON" | "DBL_MAX" | "DBL_MIN" | "DBL_EPSILON" => "float",
        "UINT_MAX" => "uint",
        "LONG_MAX" | "LONG_MIN" => "long",
        "ULONG_MAX" => "ulong",
        _ if word.starts_with("M_") => "float",
        _ if ["CHAR_", "SCHAR_", "UCHAR_", "SHRT_", "USHRT_", "INT_"]
            .iter()
            .any(|of| word.starts_with(of)) =>
        {
            "int"
        }
        _ => return None,
    };
    Some(Type::scalar(name))
}

/// Words that say nothing about which values a type has.
pub(super) fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "volatile"
            | "restrict"
            | "__restrict"
            | "__restrict__"
            | "static"
            | "inline"
            | "__inline"
            | "__inline__"
            | "extern"
            | "register"
            | "global"
            | "__global"
            | "local"
            | "__local"
            | "constant"
            | "__constant"
            | "private"
            | "__private"
            | "kernel"
            | "__kernel"
            | "read_only"
            | "__read_only"
            | "write_only"
            | "__write_only"
    )
}

impl Names {
    /// What one word stands for: a scalar, a vector, or a name that was given to a type.
    pub(super) fn named(&self, word: &str) -> Option<Type> {
        if let Some(ty) = self.types.get(word) {
            return Some(ty.clone());
        }
        let word = &*word.replace("double", "float");
        if let Some((scalar, width)) = vector(word) {
            return Some(Type::Vector(scalar.to_owned(), width));
        }
        let scalar = match word {
            "size_t" | "uintptr_t" => "ulong",
            "ptrdiff_t" | "intptr_t" => "long",
            "bool" | "char" | "uchar" | "short" | "ushort" | "int" | "uint" | "long" | "ulong" | "half"
            | "float" | "void" => word,
            "sampler_t" | "event_t" | "image2d_t" | "image3d_t" | "image1d_t" => "int",
            _ => return None,
        };
        Some(Type::scalar(scalar))
    }

    /// The type that begins at a token, stars included, and the token after it.
    /// `is_const` if `const` precedes it.
    pub(super) fn type_at(&self, text: &Text<'_>, first: usize, mut is_const: bool) -> Option<(Type, usize)> {
        let (mut token, mut found, mut words) = (first, None, Vec::new());
        loop {
            let word = text.at(token);
            if is_qualifier(word) {
                is_const |= word == "const";
            } else if matches!(word, "struct" | "union" | "enum") && found.is_none() && words.is_empty() {
                token += 1;
                let tag = self.tags.get(text.at(token)).filter(|_| word != "enum");
                found = Some(tag.map_or_else(|| enumeration(text, token), |&tag| Type::Record(tag)));
            } else if matches!(word, "unsigned" | "signed" | "long" | "short" | "char" | "int")
                && found.is_none()
            {
                words.push(word);
            } else if found.is_none() && words.is_empty() && text.is_word(token) {
                found = Some(self.named(word)?);
            } else {
                break;
            }
            token += 1;
        }
        let ty = match found {
            Some(ty) => ty,
            None if words.is_empty() => return None,
            None => Type::scalar(integer(&words)),
        };
        Some(stars(text, token, if is_const { Type::constant(ty) } else { ty }))
    }
}

/// The type with the stars, and the qualifiers before and after them, that stand at a token; and the token
/// after them.
pub(super) fn stars(text: &Text<'_>, mut token: usize, mut ty: Type) -> (Type, usize) {
    while is_qualifier(text.at(token)) || text.at(token) == "*" {
        match text.at(token) {
            "*" => ty = Type::pointer(ty),
            // `float const *`, `float * const`
            "const" => ty = Type::constant(ty),
            _ => {}
        }
        token += 1;
    }
    (ty, token)
}

/// The type of an enumeration, by its tag or by the token of its braces.
pub(super) fn enumeration(text: &Text<'_>, token: usize) -> Type {
    match text.is_word(token) {
        true => Type::Scalar(format!("enum {}", text.at(token))),
        false => Type::Scalar(format!("enum {token}")),
    }
}

/// The integer that several words name: `unsigned long int`.
fn integer(words: &[&str]) -> &'static str {
    let is_unsigned = words.contains(&"unsigned");
    let size = words.iter().find(|word| matches!(**word, "char" | "short" | "long"));
    match (size.copied(), is_unsigned) {
        (Some("char"), false) => "char",
        (Some("char"), true) => "uchar",
        (Some("short"), false) => "short",
        (Some("short"), true) => "ushort",
        (Some("long"), false) => "long",
        (Some("long"), true) => "ulong",
        (_, false) => "int",
        (_, true) => "uint",
    }
}
