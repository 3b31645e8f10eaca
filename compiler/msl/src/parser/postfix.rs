//! Operands and postfix operators: literals, names, calls, members, named casts.

use super::Parser;
use super::qualified_name::Expected;
use super::scope::NameKind;
use crate::ast::{CastKind, Expr, ExprKind, PostfixOp, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};

impl Parser<'_> {
    pub(super) fn postfix_expr(&mut self) -> Expr {
        let start = self.span();
        let mut expr = self.primary_expr();
        loop {
            let height = self.height;
            match self.peek() {
                TokenKind::Punct(Punct::LParen) => {
                    let args = self.call_args();
                    let height = height.max(self.height);
                    expr = self.node(ExprKind::Call(Box::new(expr), args), start, height);
                }
                TokenKind::Punct(Punct::LBracket) => {
                    self.advance();
                    let index = self.parenthesised_expr();
                    let height = height.max(self.height);
                    self.expect(Punct::RBracket, "to end the subscript");
                    expr = self.node(ExprKind::Index(Box::new(expr), Box::new(index)), start, height);
                }
                TokenKind::Punct(punct @ (Punct::Dot | Punct::Arrow)) => {
                    self.advance();
                    let Some(member) = self.member_path() else { return self.error_expr() };
                    let kind =
                        ExprKind::Member { base: Box::new(expr), arrow: punct == Punct::Arrow, member };
                    expr = self.node(kind, start, height);
                }
                TokenKind::Punct(punct @ (Punct::PlusPlus | Punct::MinusMinus)) => {
                    self.advance();
                    let op =
                        if punct == Punct::PlusPlus { PostfixOp::Increment } else { PostfixOp::Decrement };
                    expr = self.node(ExprKind::Postfix(op, Box::new(expr)), start, height);
                }
                _ => return expr,
            }
        }
    }

    /// `name`, `template name<…>`, `operator()`, `Base::name` after `.` or `->`.
    fn member_path(&mut self) -> Option<crate::ast::Path> {
        let start = self.span();
        let template_kw = self.eat_kw(Kw::Template);
        if self.is_kw(Kw::Operator) {
            return Some(self.path(Expected::Value)?.path);
        }
        let (name, span) = self.ident("a member's name")?;
        let args = if !self.is(Punct::Less) {
            None
        } else if template_kw {
            Some(self.template_args()?)
        } else {
            // A member's kind is unknown here; a template call is the only reading with `(` after it.
            self.attempt(|p| p.template_args().filter(|_| p.is(Punct::LParen)))
        };
        let segment = crate::ast::PathSegment { name, operator: None, args, span: self.since(span) };
        if self.is(Punct::ColonColon) {
            self.advance();
            let mut rest = self.path(Expected::Value)?.path;
            rest.segments.insert(0, segment);
            rest.span = self.since(start);
            return Some(rest);
        }
        Some(crate::ast::Path { global: false, segments: vec![segment], span: self.since(start) })
    }

    /// `(a, b...)`; the height is the greatest argument's.
    fn call_args(&mut self) -> Vec<Expr> {
        self.advance();
        let angle = std::mem::replace(&mut self.angle, false);
        let mut args = Vec::new();
        let mut height = 0;
        while !self.is(Punct::RParen) && !self.at_end() {
            let arg = if self.is(Punct::LBrace) { self.init_list() } else { self.assignment_expr() };
            height = height.max(self.height);
            args.push(self.pack_expansion(arg));
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.angle = angle;
        self.expect(Punct::RParen, "to end the arguments");
        self.height = height;
        args
    }

    /// Wraps an expression followed by `...`.
    pub(super) fn pack_expansion(&mut self, expr: Expr) -> Expr {
        if !self.eat(Punct::Ellipsis) {
            return expr;
        }
        let height = self.height;
        let start = expr.span;
        self.node(ExprKind::PackExpansion(Box::new(expr)), start, height)
    }

    fn primary_expr(&mut self) -> Expr {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::Int(literal) => ExprKind::Int {
                value: literal.value,
                unsigned: literal.unsigned,
                long: literal.long,
                decimal: literal.decimal,
            },
            TokenKind::Float(literal) => ExprKind::Float { value: literal.value, suffix: literal.suffix },
            TokenKind::Str(text) => ExprKind::Str(text),
            TokenKind::Char(code) => ExprKind::Char(code),
            TokenKind::Keyword(Kw::True) => ExprKind::Bool(true),
            TokenKind::Keyword(Kw::False) => ExprKind::Bool(false),
            TokenKind::Keyword(Kw::Nullptr) => ExprKind::Nullptr,
            TokenKind::Keyword(Kw::This) => ExprKind::This,
            TokenKind::Punct(Punct::LParen) => return self.paren_expr(),
            TokenKind::Punct(Punct::LBracket) => return self.lambda(),
            TokenKind::Punct(Punct::LBrace) => return self.init_list(),
            TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) | TokenKind::Keyword(Kw::Operator) => {
                return self.name_expr();
            }
            TokenKind::Keyword(keyword) => return self.keyword_expr(keyword),
            found => {
                self.error("expected-expression", start, format!("expected an expression, found {found}"));
                return self.error_expr();
            }
        };
        self.advance();
        self.node(kind, start, 0)
    }

    fn paren_expr(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        match self.peek() {
            TokenKind::Punct(Punct::Ellipsis) => return self.left_fold(start),
            TokenKind::Punct(Punct::LBrace) => return self.statement_expr(start),
            _ => {}
        }
        let inner = self.parenthesised_expr();
        if self.at_fold() {
            return self.right_fold(inner, start);
        }
        let height = self.height;
        self.expect(Punct::RParen, "to end the parenthesised expression");
        self.node(ExprKind::Paren(Box::new(inner)), start, height)
    }

    fn keyword_expr(&mut self, keyword: Kw) -> Expr {
        let start = self.span();
        let cast = match keyword {
            Kw::StaticCast => Some(CastKind::Static),
            Kw::ReinterpretCast => Some(CastKind::Reinterpret),
            Kw::ConstCast => Some(CastKind::Const),
            _ => None,
        };
        if let Some(cast) = cast {
            return self.named_cast(cast);
        }
        if keyword == Kw::Decltype
            && let Some(expr) = self.attempt(Self::decltype_path)
        {
            return expr;
        }
        // `float(x)`, `unsigned int(x)`, `typename T::type{…}`, `decltype(x)(y)`.
        if self.may_start_type()
            && let Some(ty) = self.attempt(|p| p.specifiers(false)).and_then(|specs| specs.ty)
        {
            return self.construction(ty);
        }
        match keyword {
            Kw::New | Kw::Delete | Kw::Throw | Kw::Typeid | Kw::DynamicCast => {
                self.error("unsupported-feature", start, format!("MSL has no `{}`", keyword.as_str()));
                self.skip_until(&[Punct::Semi, Punct::Comma, Punct::RParen, Punct::LBrace, Punct::RBrace]);
                return self.error_expr();
            }
            _ => {
                self.error(
                    "expected-expression",
                    start,
                    format!("expected an expression, found `{}`", keyword.as_str()),
                );
            }
        }
        self.advance();
        self.error_expr()
    }

    /// `decltype(e)::name`, not followed by a construction.
    fn decltype_path(&mut self) -> Option<Expr> {
        let start = self.span();
        let operand = self.decltype_operand();
        let height = self.height;
        self.eat(Punct::ColonColon).then_some(())?;
        let path = self.path(Expected::Value)?.path;
        Some(self.node(ExprKind::DecltypePath(Box::new(operand), path), start, height))
    }

    /// `T(…)` or `T{…}` after a type.
    fn construction(&mut self, ty: Type) -> Expr {
        let start = ty.span;
        let (args, braced) = match self.peek() {
            TokenKind::Punct(Punct::LParen) => {
                let args = self.call_args();
                (self.plain_clauses(args), false)
            }
            TokenKind::Punct(Punct::LBrace) => (self.brace_clauses(), true),
            found => {
                self.error(
                    "expected-token",
                    self.span(),
                    format!("expected `(` or `{{` after the type, found {found}"),
                );
                return self.error_expr();
            }
        };
        let height = self.height;
        self.node(ExprKind::Construct { ty: Box::new(ty), args, braced }, start, height)
    }

    fn named_cast(&mut self, cast: CastKind) -> Expr {
        let start = self.span();
        self.advance();
        self.expect(Punct::Less, "after the cast's name");
        let angle = std::mem::replace(&mut self.angle, true);
        let ty = self.type_id();
        self.angle = angle;
        let closed = self.expect_greater();
        let Some(ty) = ty.filter(|_| closed) else {
            if closed {
                self.error("expected-type", start, "expected a type in the cast");
            }
            return self.error_expr();
        };
        self.expect(Punct::LParen, "after the cast's type");
        let operand = self.parenthesised_expr();
        let height = self.height;
        self.expect(Punct::RParen, "to end the cast");
        self.node(ExprKind::Cast(cast, Box::new(ty), Box::new(operand)), start, height)
    }

    fn name_expr(&mut self) -> Expr {
        let start = self.span();
        if let TokenKind::Ident(name) = self.peek() {
            let text = name.as_str();
            if text == "__builtin_bit_cast" && self.next_is(1, Punct::LParen) {
                return self.bit_cast();
            }
            let may_be_trait = text.starts_with("__is_") && self.next_is(1, Punct::LParen);
            if may_be_trait
                && self.classify(name) == NameKind::Unknown
                && let Some(trait_expr) = self.attempt(|p| p.type_trait(name))
            {
                return trait_expr;
            }
        }
        let Some(parsed) = self.path(Expected::Value) else { return self.error_expr() };
        let is_type = parsed.kind == NameKind::Type || parsed.kind == NameKind::TypeTemplate;
        let braces = self.is(Punct::LBrace) && (is_type || self.unknown_braces(&parsed));
        if (is_type && self.is(Punct::LParen)) || braces {
            let span = parsed.path.span;
            let ty = Type { kind: TypeKind::Path(parsed.path), quals: Default::default(), span };
            return self.construction(ty);
        }
        self.node(ExprKind::Path(parsed.path), start, 0)
    }

    /// `T::type{…}` and `unknown<…>{…}`: braces after a dependent path can only construct.
    fn unknown_braces(&self, parsed: &super::qualified_name::ParsedPath) -> bool {
        parsed.kind == NameKind::Unknown
            && parsed
                .path
                .segments
                .last()
                .is_some_and(|last| last.args.is_some() || parsed.path.segments.len() > 1)
    }

    /// `__builtin_bit_cast(T, e)`
    fn bit_cast(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        self.advance();
        let angle = std::mem::replace(&mut self.angle, false);
        let ty = self.type_id();
        let expr = if ty.is_some() && self.expect(Punct::Comma, "after the type") {
            Some(self.assignment_expr())
        } else {
            None
        };
        self.angle = angle;
        let (Some(ty), Some(expr)) = (ty, expr) else {
            self.error("expected-type", start, "`__builtin_bit_cast` takes a type and a value");
            return self.error_expr();
        };
        let height = self.height;
        self.expect(Punct::RParen, "to end the cast");
        self.node(ExprKind::BitCast(Box::new(ty), Box::new(expr)), start, height)
    }

    fn type_trait(&mut self, name: Name) -> Option<Expr> {
        let start = self.span();
        self.advance();
        self.advance();
        let mut types = Vec::new();
        loop {
            types.push(self.type_id()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.eat(Punct::RParen).then_some(())?;
        Some(self.node(ExprKind::TypeTrait(name, types), start, 0))
    }
}
