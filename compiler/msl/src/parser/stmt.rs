//! Statements, save loops (`loops`). What may be a declaration or an expression `ambiguity` tells.

use super::Parser;
use super::declarator::Place;
use crate::ast::{Block, Expr, ExprKind, Item, ItemKind, LoopHint, Stmt, StmtKind, SwitchLabel, Variable};
use crate::token::{Kw, Pragma, Punct, TokenKind};

impl Parser<'_> {
    /// `{ … }` in a scope of its own.
    pub(super) fn block(&mut self) -> Block {
        let entered = self.enter();
        let block = self.block_in_scope();
        self.leave(entered);
        block
    }

    /// `{ … }` in the current scope (a function's body sees its parameters).
    pub(super) fn block_in_scope(&mut self) -> Block {
        let start = self.span();
        let mut stmts = Vec::new();
        let outer = self.fp;
        if self.expect(Punct::LBrace, "to begin the block") {
            self.leading_pragmas(&mut stmts);
            while !self.is(Punct::RBrace) && !self.at_end() {
                let before = self.at;
                self.statement_into(&mut stmts);
                if self.at == before && !self.split_greater {
                    self.advance();
                }
            }
            if !self.eat(Punct::RBrace) {
                let diagnostic = anymetal_diagnostics::Diagnostic::error(
                    "unclosed-brace",
                    self.span(),
                    "expected `}` to end the block",
                )
                .with_secondary(start, "the block begins here");
                self.report(diagnostic);
            }
        }
        self.fp = outer;
        Block { stmts, span: self.since(start) }
    }

    /// The floating-point pragmas at the start of a block.
    fn leading_pragmas(&mut self, stmts: &mut Vec<Stmt>) {
        let start = self.span();
        let outer = self.fp;
        while let TokenKind::Pragma(pragma) = self.peek()
            && self.fp.follow(pragma)
        {
            self.advance();
        }
        if self.fp != outer {
            stmts.push(Stmt { kind: StmtKind::Fp(self.fp), span: self.since(start) });
        }
    }

    /// Parses one statement; a declaration may give several.
    fn statement_into(&mut self, stmts: &mut Vec<Stmt>) {
        let start = self.span();
        self.statement_attributes();
        match self.peek() {
            TokenKind::Keyword(Kw::Case) => {
                let label = self.case_label();
                stmts.push(Stmt { kind: StmtKind::Label(label), span: self.since(start) });
            }
            TokenKind::Keyword(Kw::Default) if self.next_is(1, Punct::Colon) => {
                self.advance();
                self.advance();
                let kind = StmtKind::Label(SwitchLabel::Default);
                stmts.push(Stmt { kind, span: self.since(start) });
            }
            _ => {
                let stmt = self.statement();
                stmts.push(stmt);
            }
        }
    }

    /// Takes the attributes of a statement (`[[likely]]`, `[[function_groups("…")]]`); those of a declaration
    /// stay.
    fn statement_attributes(&mut self) {
        if self.at_attribute() {
            self.attempt(|p| {
                p.attributes(&mut Default::default());
                (p.at_statement_word() || p.at_expression_statement()).then_some(())
            });
        }
    }

    fn at_expression_statement(&mut self) -> bool {
        // Declarations of classes, which begin with keywords, may lack a declarator.
        let is_word = matches!(self.peek(), TokenKind::Keyword(word) if word != Kw::This);
        !is_word && !self.may_start_declaration()
    }

    fn at_statement_word(&self) -> bool {
        matches!(
            self.peek(),
            TokenKind::Punct(Punct::LBrace | Punct::Semi)
                | TokenKind::Keyword(
                    Kw::If
                        | Kw::For
                        | Kw::While
                        | Kw::Do
                        | Kw::Switch
                        | Kw::Case
                        | Kw::Default
                        | Kw::Return
                        | Kw::Break
                        | Kw::Continue
                )
        )
    }

    /// Parses one statement.
    pub(super) fn statement(&mut self) -> Stmt {
        let start = self.span();
        self.statement_attributes();
        let kind = self.nested(Self::statement_kind, |_| StmtKind::Empty);
        Stmt { kind, span: self.since(start) }
    }

    fn statement_kind(&mut self) -> StmtKind {
        let hint = self.loop_hint().map(Box::new);
        match self.peek() {
            TokenKind::Punct(Punct::LBrace) => StmtKind::Block(self.block()),
            TokenKind::Punct(Punct::Semi) => {
                self.advance();
                StmtKind::Empty
            }
            TokenKind::Pragma(pragma) => {
                if matches!(pragma, Pragma::MathMode(_) | Pragma::Contract(_)) {
                    let message = "a floating-point pragma must be at file scope or at the start of a block";
                    self.error("misplaced-pragma", self.span(), message);
                }
                self.advance();
                StmtKind::Empty
            }
            TokenKind::Keyword(keyword) => self.keyword_statement(keyword, hint),
            _ => self.simple_statement(),
        }
    }

    fn keyword_statement(&mut self, keyword: Kw, hint: Option<Box<LoopHint>>) -> StmtKind {
        let span = self.span();
        match keyword {
            Kw::If => self.if_statement(),
            Kw::Switch => self.switch_statement(),
            Kw::For => self.for_statement(hint),
            Kw::While => self.while_statement(hint),
            Kw::Do => self.do_statement(hint),
            Kw::Break => self.word_statement(StmtKind::Break),
            Kw::Continue => self.word_statement(StmtKind::Continue),
            Kw::Return => self.return_statement(),
            Kw::Case | Kw::Default => {
                self.error("misplaced-label", span, "a case label must stand directly in a switch's block");
                self.skip_statement();
                StmtKind::Empty
            }
            Kw::Goto | Kw::Try | Kw::Asm | Kw::Throw => {
                self.error("unsupported-feature", span, format!("MSL has no `{}`", keyword.as_str()));
                self.skip_statement();
                StmtKind::Empty
            }
            _ => self.simple_statement(),
        }
    }

    fn return_statement(&mut self) -> StmtKind {
        if self.in_statement_expr {
            let message = "`return` inside of a statement expression is not supported";
            self.error("unsupported-feature", self.span(), message);
        }
        self.advance();
        let value = match self.peek() {
            TokenKind::Punct(Punct::Semi) => None,
            TokenKind::Punct(Punct::LBrace) => Some(self.init_list()),
            _ => Some(self.expr()),
        };
        self.end_at_semicolon("this");
        StmtKind::Return(value)
    }

    /// `case value:` or GNU's `case first ... last:`.
    fn case_label(&mut self) -> SwitchLabel {
        self.advance();
        let first = self.conditional_expr();
        let last = self.eat(Punct::Ellipsis).then(|| self.conditional_expr());
        self.expect(Punct::Colon, "after the case's value");
        match last {
            Some(last) => SwitchLabel::Range(first, last),
            None => SwitchLabel::Case(first),
        }
    }

    fn word_statement(&mut self, kind: StmtKind) -> StmtKind {
        self.advance();
        self.end_at_semicolon("this");
        kind
    }

    /// A declaration or an expression.
    fn simple_statement(&mut self) -> StmtKind {
        if let Some(kind) = self.declaration_statement() {
            return kind;
        }
        let expr = self.expr();
        if matches!(expr.kind, ExprKind::Error) {
            self.skip_statement();
        } else {
            self.end_at_semicolon("this");
        }
        StmtKind::Expr(expr)
    }

    fn declaration_statement(&mut self) -> Option<StmtKind> {
        match self.peek() {
            TokenKind::Keyword(Kw::Using | Kw::Typedef | Kw::StaticAssert | Kw::Namespace | Kw::Template) => {
                let items = self.item();
                return Some(items_statement(items));
            }
            TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union | Kw::Enum) => {
                return Some(items_statement(self.item_at(Place::Block)));
            }
            _ => {}
        }
        if self.declares_nothing() {
            return Some(items_statement(Vec::new()));
        }
        if !self.may_start_declaration() {
            return None;
        }
        Some(items_statement(self.item_at(Place::Block)))
    }

    /// Passes a type without declarators (`int;`), which compilers accept although C++ has no such statement.
    fn declares_nothing(&mut self) -> bool {
        let passed = |p: &mut Self| {
            p.specifiers(false)?.ty?;
            p.eat(Punct::Semi).then_some(())
        };
        matches!(self.peek(), TokenKind::Keyword(_)) && self.attempt(passed).is_some()
    }

    pub(super) fn condition(&mut self) -> (Expr, Option<Box<Variable>>) {
        if self.may_start_declaration() {
            let declared = self.attempt(|p| {
                let specs = p.specifiers(true)?;
                let base = specs.ty?;
                let declarator = p.declarator(base, Place::Block, true)?;
                let name = declarator.name.as_ref()?.simple()?;
                (p.is(Punct::Assign) || p.is(Punct::LBrace)).then_some(())?;
                let variable = p.variable_rest(declarator, &specs.function, specs.attributes.list, false);
                Some((name, variable))
            });
            if let Some((name, variable)) = declared {
                let span = variable.span;
                let segment = crate::ast::PathSegment { name, operator: None, args: None, span };
                let path = crate::ast::Path { global: false, segments: vec![segment], span };
                return (Expr { kind: ExprKind::Path(path), span }, Some(Box::new(variable)));
            }
        }
        (self.parenthesised_expr(), None)
    }

    fn if_statement(&mut self) -> StmtKind {
        self.advance();
        let is_constexpr = self.eat_kw(Kw::Constexpr);
        self.expect(Punct::LParen, "after `if`");
        let entered = self.enter();
        let init = self.condition_init();
        let (cond, declared) = self.condition();
        self.expect(Punct::RParen, "to end the condition");
        let then = Box::new(self.statement());
        let otherwise = if self.eat_kw(Kw::Else) { Some(Box::new(self.statement())) } else { None };
        self.leave(entered);
        StmtKind::If { is_constexpr, init, cond, declared, then, otherwise }
    }

    /// `init;` of `if (init; cond)` and `switch (init; selector)`.
    fn condition_init(&mut self) -> Option<Box<Stmt>> {
        let mut ahead = 0;
        let mut open = 0u32;
        loop {
            match self.peek_at(ahead) {
                TokenKind::Punct(Punct::LParen) => open += 1,
                TokenKind::Punct(Punct::RParen) if open == 0 => return None,
                TokenKind::Punct(Punct::RParen) => open -= 1,
                TokenKind::Punct(Punct::Semi) if open == 0 => break,
                TokenKind::Punct(Punct::LBrace | Punct::LBracket) => open += 1,
                TokenKind::Punct(Punct::RBrace | Punct::RBracket) if open > 0 => open -= 1,
                TokenKind::Eof | TokenKind::Punct(Punct::RBrace) => return None,
                _ => {}
            }
            ahead += 1;
        }
        Some(Box::new(self.statement()))
    }

    fn switch_statement(&mut self) -> StmtKind {
        self.advance();
        self.expect(Punct::LParen, "after `switch`");
        let entered = self.enter();
        let init = self.condition_init();
        let (selector, declared) = self.condition();
        self.expect(Punct::RParen, "to end the selector");
        let body = if self.is(Punct::LBrace) { self.statement() } else { self.labelled_statement() };
        self.leave(entered);
        StmtKind::Switch { init, declared, selector, body: Box::new(body) }
    }

    /// One statement with its labels, as a block: the body of a switch without braces.
    fn labelled_statement(&mut self) -> Stmt {
        let start = self.span();
        let mut stmts: Vec<Stmt> = Vec::new();
        while !self.at_end() && stmts.last().is_none_or(|last| matches!(last.kind, StmtKind::Label(_))) {
            self.statement_into(&mut stmts);
        }
        let span = self.since(start);
        Stmt { kind: StmtKind::Block(Block { stmts, span }), span }
    }
}

/// The items of one declaration as one statement.
fn items_statement(items: Vec<Item>) -> StmtKind {
    let all_variables = items.iter().all(|item| matches!(item.kind, ItemKind::Variable(_)));
    if all_variables && !items.is_empty() {
        let variables = items.into_iter().filter_map(|item| match item.kind {
            ItemKind::Variable(variable) => Some(*variable),
            _ => None,
        });
        return StmtKind::Variables(variables.collect());
    }
    let mut items = items;
    if items.len() == 1
        && let Some(item) = items.pop()
    {
        return StmtKind::Item(Box::new(item));
    }
    if items.is_empty() {
        return StmtKind::Empty;
    }
    StmtKind::Items(items)
}
