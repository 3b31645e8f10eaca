//! The keyword table: C++17's keywords and those of MSL, and the operators that are words.
//!
//! Invariant: keyword number `i` is interned as `Name` number `i` (see `name.rs`), followed by the
//! aliases and the operators, so that recognising a keyword is one comparison of indices.

use super::{Name, Punct};

macro_rules! keywords {
    ($($variant:ident $text:literal,)*) => {
        /// A keyword.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Kw {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        const ALL: &[(Kw, &str)] = &[$((Kw::$variant, $text),)*];
    };
}

keywords! {
    Alignas "alignas", Alignof "alignof", Asm "asm", Auto "auto", Bfloat "bfloat", Bool "bool",
    Break "break", Case "case", Catch "catch", Char "char", Char16T "char16_t", Char32T "char32_t",
    Class "class", Const "const", ConstCast "const_cast", Constexpr "constexpr", Constant "constant",
    Continue "continue", Decltype "decltype", Default "default", Delete "delete", Device "device",
    Do "do", Double "double", DynamicCast "dynamic_cast", Else "else", Enum "enum",
    Explicit "explicit", Export "export", Extern "extern", False "false", Float "float", For "for",
    Fragment "fragment", Friend "friend", Goto "goto", Half "half", If "if", Inline "inline", Int "int",
    Kernel "kernel", Long "long", Mutable "mutable", Namespace "namespace", New "new",
    Noexcept "noexcept", Nullptr "nullptr", ObjectData "object_data", Operator "operator",
    Private "private", Protected "protected", Public "public", RayData "ray_data", Register "register",
    ReinterpretCast "reinterpret_cast", Return "return", Short "short", Signed "signed",
    Sizeof "sizeof", Static "static", StaticAssert "static_assert", StaticCast "static_cast",
    Struct "struct", Switch "switch", Template "template", This "this", Thread "thread",
    ThreadLocal "thread_local", Threadgroup "threadgroup",
    ThreadgroupImageblock "threadgroup_imageblock", Throw "throw", True "true", Try "try",
    Typedef "typedef", Typeid "typeid", Typename "typename", Union "union", Unsigned "unsigned",
    Using "using", Vertex "vertex", Virtual "virtual", Void "void", Volatile "volatile",
    WcharT "wchar_t", While "while",
    Attribute "__attribute__", Restrict "__restrict", Typeof "__typeof__",
}

/// Other spellings of the same keyword.
const ALIASES: &[(Kw, &str)] = &[
    (Kw::Restrict, "__restrict__"),
    (Kw::Attribute, "__attribute"),
    (Kw::Inline, "__inline"),
    (Kw::Inline, "__inline__"),
    (Kw::Const, "__const"),
    (Kw::Const, "__const__"),
    (Kw::Volatile, "__volatile"),
    (Kw::Volatile, "__volatile__"),
    (Kw::Signed, "__signed"),
    (Kw::Signed, "__signed__"),
    (Kw::Alignof, "__alignof"),
    (Kw::Alignof, "__alignof__"),
    (Kw::Alignof, "_Alignof"),
    (Kw::Decltype, "__decltype"),
    (Kw::Typeof, "__typeof"),
    (Kw::Auto, "__auto_type"),
    (Kw::StaticAssert, "_Static_assert"),
    (Kw::Asm, "__asm"),
    (Kw::Asm, "__asm__"),
];

impl Kw {
    /// The keyword a word is, if it is one.
    pub fn from_name(name: Name) -> Option<Self> {
        let index = name.index() as usize;
        match ALL.get(index) {
            Some(&(keyword, _)) => Some(keyword),
            None => ALIASES.get(index - ALL.len()).map(|&(keyword, _)| keyword),
        }
    }

    /// The usual spelling.
    pub fn as_str(self) -> &'static str {
        ALL[self as usize].1
    }

    /// The usual spelling as a name.
    pub fn name(self) -> Name {
        Name::from_reserved_index(self as u32)
    }
}

/// Alternative spellings of operators.
const OPERATORS: &[(Punct, &str)] = &[
    (Punct::AndAnd, "and"),
    (Punct::AmpEq, "and_eq"),
    (Punct::Amp, "bitand"),
    (Punct::Pipe, "bitor"),
    (Punct::Tilde, "compl"),
    (Punct::Bang, "not"),
    (Punct::NotEq, "not_eq"),
    (Punct::OrOr, "or"),
    (Punct::PipeEq, "or_eq"),
    (Punct::Caret, "xor"),
    (Punct::CaretEq, "xor_eq"),
];

impl Punct {
    /// What an alternative operator name such as `and` stands for.
    pub(crate) fn from_name(name: Name) -> Option<Self> {
        let index = (name.index() as usize).checked_sub(ALL.len() + ALIASES.len())?;
        OPERATORS.get(index).map(|&(punct, _)| punct)
    }
}

/// Every reserved spelling in the order of their name indices.
pub(super) fn reserved_spellings() -> impl Iterator<Item = &'static str> {
    let words = ALL.iter().chain(ALIASES).map(|&(_, text)| text);
    words.chain(OPERATORS.iter().map(|&(_, text)| text))
}

/// How many spellings are reserved.
pub(super) const RESERVED_COUNT: usize = ALL.len() + ALIASES.len() + OPERATORS.len();
