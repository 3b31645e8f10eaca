//! Operators and other punctuators.

macro_rules! puncts {
    ($($variant:ident $text:literal,)*) => {
        /// A punctuator. `[[` is two [`Punct::LBracket`]; `>>` is one token that a parser of template
        /// argument lists splits.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Punct {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        const ALL: &[&str] = &[$($text,)*];
    };
}

puncts! {
    LParen "(", RParen ")", LBracket "[", RBracket "]", LBrace "{", RBrace "}",
    Semi ";", Comma ",", Colon ":", ColonColon "::", Question "?", Dot ".", DotStar ".*", Ellipsis "...",
    Arrow "->", ArrowStar "->*",
    Plus "+", Minus "-", Star "*", Slash "/", Percent "%", Caret "^", Amp "&", Pipe "|", Tilde "~",
    Bang "!", Assign "=", Less "<", Greater ">",
    PlusEq "+=", MinusEq "-=", StarEq "*=", SlashEq "/=", PercentEq "%=", CaretEq "^=", AmpEq "&=",
    PipeEq "|=", Shl "<<", Shr ">>", ShlEq "<<=", ShrEq ">>=", EqEq "==", NotEq "!=", LessEq "<=",
    GreaterEq ">=", Spaceship "<=>", AndAnd "&&", OrOr "||", PlusPlus "++", MinusMinus "--",
    Hash "#", HashHash "##",
}

impl Punct {
    /// The spelling.
    pub fn as_str(self) -> &'static str {
        ALL[self as usize]
    }

    /// What an alternative operator name such as `and` stands for.
    pub(crate) fn from_alternative(word: &str) -> Option<Self> {
        Some(match word {
            "and" => Self::AndAnd,
            "and_eq" => Self::AmpEq,
            "bitand" => Self::Amp,
            "bitor" => Self::Pipe,
            "compl" => Self::Tilde,
            "not" => Self::Bang,
            "not_eq" => Self::NotEq,
            "or" => Self::OrOr,
            "or_eq" => Self::PipeEq,
            "xor" => Self::Caret,
            "xor_eq" => Self::CaretEq,
            _ => return None,
        })
    }
}
