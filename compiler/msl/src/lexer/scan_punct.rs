//! Scanning of punctuators: always the longest one.

use super::Scanner;
use crate::token::Punct;

impl Scanner<'_> {
    /// The punctuator here, if there is one.
    pub(super) fn punct(&mut self) -> Option<Punct> {
        let (first, after_first) = self.logical(self.pos);
        if let Some(punct) = single(first) {
            self.pos = after_first;
            return Some(punct);
        }
        let (second, after_second) = self.logical(after_first);
        if first == b'<' && second == b':' && !self.is_bracket_digraph(after_second) {
            self.pos = after_first;
            return Some(Punct::Less);
        }
        if let Some(base) = double(first, second) {
            let (third, after_third) = self.logical(after_second);
            let longer = triple(base, third);
            self.pos = if longer.is_some() { after_third } else { after_second };
            return Some(longer.unwrap_or(base));
        }
        if first == b'.' && second == b'.' {
            let (third, after_third) = self.logical(after_second);
            if third == b'.' {
                self.pos = after_third;
                return Some(Punct::Ellipsis);
            }
        }
        let punct = prefix(first)?;
        self.pos = after_first;
        Some(punct)
    }
}

impl Scanner<'_> {
    /// Whether `<:`, which ends here, stands for `[`: not in `<::`, unless `:` or `>` follows
    /// (C++14 [lex.pptoken]).
    fn is_bracket_digraph(&self, after: usize) -> bool {
        let (third, after_third) = self.logical(after);
        third != b':' || matches!(self.logical(after_third).0, b':' | b'>')
    }
}

/// Punctuators that begin no longer one.
fn single(byte: u8) -> Option<Punct> {
    Some(match byte {
        b'(' => Punct::LParen,
        b')' => Punct::RParen,
        b'[' => Punct::LBracket,
        b']' => Punct::RBracket,
        b'{' => Punct::LBrace,
        b'}' => Punct::RBrace,
        b';' => Punct::Semi,
        b',' => Punct::Comma,
        b'?' => Punct::Question,
        b'~' => Punct::Tilde,
        _ => return None,
    })
}

/// Punctuators of one character that may begin a longer one.
fn prefix(byte: u8) -> Option<Punct> {
    Some(match byte {
        b':' => Punct::Colon,
        b'.' => Punct::Dot,
        b'+' => Punct::Plus,
        b'-' => Punct::Minus,
        b'*' => Punct::Star,
        b'/' => Punct::Slash,
        b'%' => Punct::Percent,
        b'^' => Punct::Caret,
        b'&' => Punct::Amp,
        b'|' => Punct::Pipe,
        b'!' => Punct::Bang,
        b'=' => Punct::Assign,
        b'<' => Punct::Less,
        b'>' => Punct::Greater,
        b'#' => Punct::Hash,
        _ => return None,
    })
}

fn double(first: u8, second: u8) -> Option<Punct> {
    Some(match (first, second) {
        (b':', b':') => Punct::ColonColon,
        // Digraphs.
        (b'<', b':') => Punct::LBracket,
        (b':', b'>') => Punct::RBracket,
        (b'<', b'%') => Punct::LBrace,
        (b'%', b'>') => Punct::RBrace,
        (b'%', b':') => Punct::Hash,
        (b'.', b'*') => Punct::DotStar,
        (b'-', b'>') => Punct::Arrow,
        (b'+', b'=') => Punct::PlusEq,
        (b'-', b'=') => Punct::MinusEq,
        (b'*', b'=') => Punct::StarEq,
        (b'/', b'=') => Punct::SlashEq,
        (b'%', b'=') => Punct::PercentEq,
        (b'^', b'=') => Punct::CaretEq,
        (b'&', b'=') => Punct::AmpEq,
        (b'|', b'=') => Punct::PipeEq,
        (b'<', b'<') => Punct::Shl,
        (b'>', b'>') => Punct::Shr,
        (b'=', b'=') => Punct::EqEq,
        (b'!', b'=') => Punct::NotEq,
        (b'<', b'=') => Punct::LessEq,
        (b'>', b'=') => Punct::GreaterEq,
        (b'&', b'&') => Punct::AndAnd,
        (b'|', b'|') => Punct::OrOr,
        (b'+', b'+') => Punct::PlusPlus,
        (b'-', b'-') => Punct::MinusMinus,
        (b'#', b'#') => Punct::HashHash,
        _ => return None,
    })
}

fn triple(base: Punct, third: u8) -> Option<Punct> {
    match (base, third) {
        (Punct::Shl, b'=') => Some(Punct::ShlEq),
        (Punct::Shr, b'=') => Some(Punct::ShrEq),
        (Punct::Arrow, b'*') => Some(Punct::ArrowStar),
        _ => None,
    }
}
