//! The keyword table: C++17's keywords and those of MSL.
//!
//! Invariant: keyword number `i` is interned as `Name` number `i` (see `name.rs`), followed by the
//! aliases, so that recognising a keyword is one comparison of indices.

use super::Name;

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
    Attribute "__attribute__", Restrict "__restrict",
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

/// Every reserved spelling in the order of their name indices.
pub(super) fn reserved_spellings() -> impl Iterator<Item = &'static str> {
    ALL.iter().chain(ALIASES).map(|&(_, text)| text)
}
