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
    GreaterEq ">=", AndAnd "&&", OrOr "||", PlusPlus "++", MinusMinus "--",
    Hash "#", HashHash "##",
}

impl Punct {
    /// The spelling.
    pub fn as_str(self) -> &'static str {
        ALL[self as usize]
    }
}
