//! Tells declarations from expressions where both may stand.
//!
//! Invariant: whatever is tried here is taken back; nothing is consumed and nothing reported.

use super::Parser;
use super::scope::NameKind;
use crate::token::{Kw, Punct, TokenKind};

impl Parser<'_> {
    /// Does a declaration begin here (and not an expression)?
    pub(super) fn may_start_declaration(&mut self) -> bool {
        if self.at_attribute() {
            return true;
        }
        match self.peek() {
            TokenKind::Keyword(
                Kw::Static
                | Kw::Constexpr
                | Kw::Const
                | Kw::Volatile
                | Kw::Extern
                | Kw::Inline
                | Kw::Device
                | Kw::Constant
                | Kw::Threadgroup
                | Kw::ThreadgroupImageblock
                | Kw::Thread
                | Kw::Auto
                | Kw::Register,
            ) => true,
            TokenKind::Keyword(_) | TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) => {
                self.may_start_type() && self.type_then_name()
            }
            _ => false,
        }
    }

    /// A type followed by something that can only be a declarator.
    fn type_then_name(&mut self) -> bool {
        let unknown =
            matches!(self.peek(), TokenKind::Ident(name) if self.classify(name) == NameKind::Unknown);
        let start = self.checkpoint();
        let found = self.attempt(|p| {
            let specs = p.specifiers(false)?;
            specs.ty?;
            p.at_declarator(unknown).then_some(())
        });
        self.rewind(start);
        found.is_some()
    }

    /// What stands after array bounds, if there are any there: how many tokens ahead.
    fn after_bounds(&self, from: usize) -> usize {
        /// Longer bounds are taken for no bounds.
        const MAX_TOKENS: usize = 64;
        let (mut at, mut depth) = (from, 0usize);
        while at < from + MAX_TOKENS {
            match self.peek_at(at) {
                TokenKind::Punct(Punct::LBracket) => depth += 1,
                TokenKind::Punct(Punct::RBracket) if depth > 0 => depth -= 1,
                _ if depth == 0 => return at,
                _ => {}
            }
            at += 1;
        }
        from
    }

    /// After a type: a name, or `*name`, `&name`, `(&name)[…]`.
    fn at_declarator(&self, unknown_type: bool) -> bool {
        let mut ahead = 0;
        let nested = self.next_is(0, Punct::LParen);
        if nested {
            ahead = 1;
        }
        let mut operators = 0;
        loop {
            match self.peek_at(ahead) {
                TokenKind::Punct(Punct::Star | Punct::Amp | Punct::AndAnd) => operators += 1,
                TokenKind::Keyword(
                    Kw::Device
                    | Kw::Constant
                    | Kw::Threadgroup
                    | Kw::ThreadgroupImageblock
                    | Kw::Thread
                    | Kw::Const
                    | Kw::Volatile
                    | Kw::Restrict,
                ) => {}
                TokenKind::Ident(_) => break,
                _ => return false,
            }
            ahead += 1;
        }
        if nested {
            let after = self.after_bounds(ahead + 1);
            // `(*p[n])` is a value, `(*p[n])(int)` an array of pointers to functions.
            let is_array = after > ahead + 1;
            return operators > 0
                && self.next_is(after, Punct::RParen)
                && (!is_array || self.next_is(after + 1, Punct::LParen));
        }
        // `a * b;` with an unknown `a` is a product, `Unknown x` a declaration.
        if unknown_type && operators > 0 {
            return matches!(self.peek_at(ahead + 1), TokenKind::Punct(Punct::Assign));
        }
        true
    }
}
