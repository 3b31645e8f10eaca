//! Statements, save loops (`loops`). What may be a declaration or an expression `ambiguity` tells.

use super::declarator::Place;
use super::{Parser, ambiguity, attribute, decl, declarator, expr, init_list, loops, specifier, variable};
use crate::ast::{
    Block, Expr, ExprKind, Item, ItemKind, LoopHint, Stmt, StmtKind, SwitchLabel, TypeKind, Variable,
};
use crate::token::{Kw, Pragma, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// `{ … }` in a scope of its own.
pub(super) fn block(p: &mut Parser<'_>) -> Block {
    let entered = p.enter();
    let block = block_in_scope(p);
    p.leave(entered);
    block
}

/// `{ … }` in the current scope (a function's body sees its parameters).
pub(super) fn block_in_scope(p: &mut Parser<'_>) -> Block {
    let start = p.span();
    let mut stmts = Vec::new();
    let outer = p.fp;
    if p.expect(Punct::LBrace, "to begin the block") {
        leading_pragmas(p, &mut stmts);
        while !p.is(Punct::RBrace) && !p.at_end() {
            let before = p.at;
            let (first, implied) = (stmts.len(), p.implied_records.len());
            parse_into(p, &mut stmts);
            declare_implied(p, implied, &mut stmts, first);
            if p.at == before && !p.split_greater {
                p.advance();
            }
        }
        if !p.eat(Punct::RBrace) {
            let diagnostic = anymetal_diagnostics::Diagnostic::error(
                "unclosed-brace",
                p.span(),
                "expected `}` to end the block",
            )
            .with_secondary(start, "the block begins here");
            p.report(diagnostic);
        }
    }
    p.fp = outer;
    Block { stmts, span: p.since(start) }
}

/// Inserts declarations of classes that the statements from `first` on introduce by a first mention: the
/// implied records from `implied` on (C++14 [basic.scope.pdecl.7]).
fn declare_implied(p: &mut Parser<'_>, implied: usize, stmts: &mut Vec<Stmt>, first: usize) {
    for record in p.implied_records.split_off(implied) {
        let span = record.span;
        let kind = ItemKind::Record(std::sync::Arc::new(record));
        let item = Item { kind, template: None, access: crate::ast::Access::Public, span };
        stmts.insert(first, Stmt { kind: StmtKind::Item(Box::new(item)), span });
    }
}

/// The floating-point pragmas at the start of a block.
fn leading_pragmas(p: &mut Parser<'_>, stmts: &mut Vec<Stmt>) {
    let start = p.span();
    let outer = p.fp;
    while let TokenKind::Pragma(pragma) = p.peek()
        && p.fp.follow(pragma)
    {
        p.advance();
    }
    if p.fp != outer {
        stmts.push(Stmt { kind: StmtKind::Fp(p.fp), span: p.since(start) });
    }
}

/// Parses one statement; a declaration may give several.
fn parse_into(p: &mut Parser<'_>, stmts: &mut Vec<Stmt>) {
    let start = p.span();
    attributes(p);
    match p.peek() {
        TokenKind::Keyword(Kw::Case) => {
            let label = case_label(p);
            stmts.push(Stmt { kind: StmtKind::Label(label), span: p.since(start) });
        }
        TokenKind::Keyword(Kw::Default) if p.next_is(1, Punct::Colon) => {
            p.advance();
            p.advance();
            let kind = StmtKind::Label(SwitchLabel::Default);
            stmts.push(Stmt { kind, span: p.since(start) });
        }
        TokenKind::Pragma(Pragma::Unused(name)) => {
            p.advance();
            stmts.push(Stmt { kind: StmtKind::Unused(name), span: p.since(start) });
        }
        _ => {
            let stmt = parse(p);
            stmts.push(stmt);
        }
    }
}

/// Takes the attributes of a statement (`[[likely]]`, `[[function_groups("…")]]`); those of a declaration
/// stay.
fn attributes(p: &mut Parser<'_>) {
    if attribute::at(p) {
        p.attempt(|p| {
            attribute::attributes(p, &mut Default::default());
            (at_statement_word(p) || at_expression_statement(p)).then_some(())
        });
    }
}

fn at_expression_statement(p: &mut Parser<'_>) -> bool {
    // Declarations of classes, which begin with keywords, may lack a declarator.
    let is_word = matches!(p.peek(), TokenKind::Keyword(word) if word != Kw::This);
    !is_word && !ambiguity::may_start_declaration(p)
}

fn at_statement_word(p: &Parser<'_>) -> bool {
    matches!(
        p.peek(),
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
pub(super) fn parse(p: &mut Parser<'_>) -> Stmt {
    let start = p.span();
    attributes(p);
    let kind = p.nested(kind, |_| StmtKind::Empty);
    Stmt { kind, span: p.since(start) }
}

fn kind(p: &mut Parser<'_>) -> StmtKind {
    let hint = loops::loop_hint(p).map(Box::new);
    match p.peek() {
        TokenKind::Punct(Punct::LBrace) => StmtKind::Block(block(p)),
        TokenKind::Punct(Punct::Semi) => {
            p.advance();
            StmtKind::Empty
        }
        TokenKind::Pragma(pragma) => {
            if matches!(pragma, Pragma::MathMode(_) | Pragma::Contract(_)) {
                let message = "a floating-point pragma must be at file scope or at the start of a block";
                p.error("misplaced-pragma", p.span(), message);
            }
            if let Pragma::Unused(_) = pragma {
                // It would be the whole body of an `if` or a loop.
                let message = "`#pragma unused` must be at file scope or in a block";
                p.error("misplaced-pragma", p.span(), message);
            }
            p.advance();
            StmtKind::Empty
        }
        TokenKind::Keyword(keyword) => keyword_statement(p, keyword, hint),
        _ => simple_statement(p),
    }
}

fn keyword_statement(p: &mut Parser<'_>, keyword: Kw, hint: Option<Box<LoopHint>>) -> StmtKind {
    let span = p.span();
    match keyword {
        Kw::If => if_statement(p),
        Kw::Switch => switch_statement(p),
        Kw::For => loops::for_statement(p, hint),
        Kw::While => loops::while_statement(p, hint),
        Kw::Do => loops::do_statement(p, hint),
        Kw::Break => word_statement(p, StmtKind::Break),
        Kw::Continue => word_statement(p, StmtKind::Continue),
        Kw::Return => return_statement(p),
        Kw::Case | Kw::Default => {
            p.error("misplaced-label", span, "a case label must stand directly in a switch's block");
            p.skip_statement();
            StmtKind::Empty
        }
        Kw::Goto | Kw::Try | Kw::Asm | Kw::Throw => {
            p.error("unsupported-feature", span, format!("MSL has no `{}`", keyword.as_str()));
            p.skip_statement();
            StmtKind::Empty
        }
        _ => simple_statement(p),
    }
}

fn return_statement(p: &mut Parser<'_>) -> StmtKind {
    if p.in_statement_expr {
        let message = "`return` inside of a statement expression is not supported";
        p.error("unsupported-feature", p.span(), message);
    }
    p.advance();
    let value = match p.peek() {
        TokenKind::Punct(Punct::Semi) => None,
        TokenKind::Punct(Punct::LBrace) => Some(init_list::parse(p)),
        _ => Some(expr::parse(p)),
    };
    p.end_at_semicolon("this");
    StmtKind::Return(value)
}

/// `case value:` or GNU's `case first ... last:`.
fn case_label(p: &mut Parser<'_>) -> SwitchLabel {
    p.advance();
    let first = expr::conditional(p);
    let last = p.eat(Punct::Ellipsis).then(|| expr::conditional(p));
    p.expect(Punct::Colon, "after the case's value");
    match last {
        Some(last) => SwitchLabel::Range(first, last),
        None => SwitchLabel::Case(first),
    }
}

fn word_statement(p: &mut Parser<'_>, kind: StmtKind) -> StmtKind {
    p.advance();
    p.end_at_semicolon("this");
    kind
}

/// A declaration or an expression.
fn simple_statement(p: &mut Parser<'_>) -> StmtKind {
    if let TokenKind::Ident(_) = p.peek()
        && p.next_is(1, Punct::Colon)
    {
        return label(p);
    }
    if let Some(kind) = declaration_statement(p) {
        return kind;
    }
    let expr = expr::parse(p);
    if p.in_switch && p.is(Punct::Colon) {
        p.error("expected-token", expr.span, "expected `case` before the expression");
        p.advance();
        return StmtKind::Empty;
    }
    if matches!(expr.kind, ExprKind::Error) {
        p.skip_statement();
    } else {
        p.end_at_semicolon("this");
    }
    StmtKind::Expr(expr)
}

/// A label, which nothing jumps to: MSL has no `goto` (1.5.4).
fn label(p: &mut Parser<'_>) -> StmtKind {
    p.advance();
    p.advance();
    match p.is(Punct::RBrace) {
        true => StmtKind::Empty,
        false => parse(p).kind,
    }
}

fn declaration_statement(p: &mut Parser<'_>) -> Option<StmtKind> {
    match p.peek() {
        TokenKind::Keyword(Kw::Using | Kw::Typedef | Kw::StaticAssert | Kw::Namespace | Kw::Template) => {
            let items = decl::item(p);
            return Some(items_statement(items));
        }
        TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union | Kw::Enum) => {
            return Some(items_statement(decl::item_at(p, Place::Block)));
        }
        _ => {}
    }
    if declares_nothing(p) {
        return Some(items_statement(Vec::new()));
    }
    if !ambiguity::may_start_declaration(p) {
        return None;
    }
    Some(items_statement(decl::item_at(p, Place::Block)))
}

/// Passes a type without declarators (`int;`), which compilers accept although C++ has no such statement.
fn declares_nothing(p: &mut Parser<'_>) -> bool {
    let passed = |p: &mut Parser<'_>| {
        specifier::parse(p, false)?.ty?;
        p.eat(Punct::Semi).then_some(())
    };
    matches!(p.peek(), TokenKind::Keyword(_)) && p.attempt(passed).is_some()
}

pub(super) fn condition(p: &mut Parser<'_>) -> (Expr, Option<Box<Variable>>) {
    if ambiguity::may_start_declaration(p) {
        let declared = p.attempt(|p| {
            let specs = specifier::parse(p, true)?;
            let base = specs.ty?;
            let begin = base.span;
            let defines = decl::defines_type(&base.kind);
            let declarator = declarator::parse(p, base, Place::Block, true)?;
            let name = declarator.name.as_ref()?.simple()?;
            check_condition_variable(p, &declarator, begin, defines)?;
            let variable = variable::rest(p, declarator, &specs.function, specs.attributes, false);
            Some((name, variable))
        });
        if let Some((name, variable)) = declared {
            let span = variable.span;
            let segment =
                crate::ast::PathSegment { name, operator: None, args: None, has_template_word: false, span };
            let path = crate::ast::Path {
                global: false,
                segments: vec![segment],
                tag: None,
                is_typename: false,
                span,
            };
            return (Expr { kind: ExprKind::Path(path), span }, Some(Box::new(variable)));
        }
    }
    (expr::parenthesised(p), None)
}

/// Reports what no variable of a condition is (C++14 [stmt.stmt.2]); `None` where none is declared.
fn check_condition_variable(
    p: &mut Parser<'_>,
    declarator: &declarator::ParsedDeclarator,
    begin: Span,
    defines: bool,
) -> Option<()> {
    let is_initialised = p.is(Punct::Assign) || p.is(Punct::LBrace);
    if !is_initialised {
        let (is_end, is_plain) = (p.is(Punct::RParen), matches!(declarator.ty.kind, TypeKind::Builtin(_)));
        (is_end && is_plain && declarator.params.is_none()).then_some(())?;
        let message = "variable declaration in condition must have an initializer";
        p.rule_error("bad-variable", declarator.span, message);
    }
    if defines {
        p.rule_error("bad-variable", begin, "a type cannot be defined in a condition");
    }
    if declarator.params.is_some() {
        p.rule_error("bad-variable", declarator.span, "a function type is not allowed here");
    }
    Some(())
}

fn if_statement(p: &mut Parser<'_>) -> StmtKind {
    p.advance();
    let is_constexpr = p.eat_kw(Kw::Constexpr);
    p.expect(Punct::LParen, "after `if`");
    let entered = p.enter();
    let init = condition_init(p);
    let (cond, declared) = condition(p);
    p.expect(Punct::RParen, "to end the condition");
    let then = Box::new(parse(p));
    let otherwise = if p.eat_kw(Kw::Else) { Some(Box::new(parse(p))) } else { None };
    p.leave(entered);
    StmtKind::If { is_constexpr, init, cond, declared, then, otherwise }
}

/// `init;` of `if (init; cond)` and `switch (init; selector)`.
fn condition_init(p: &mut Parser<'_>) -> Option<Box<Stmt>> {
    let mut ahead = 0;
    let mut open = 0u32;
    loop {
        match p.peek_at(ahead) {
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
    Some(Box::new(parse(p)))
}

fn switch_statement(p: &mut Parser<'_>) -> StmtKind {
    p.advance();
    p.expect(Punct::LParen, "after `switch`");
    let entered = p.enter();
    let init = condition_init(p);
    let (selector, declared) = condition(p);
    p.expect(Punct::RParen, "to end the selector");
    let outer = std::mem::replace(&mut p.in_switch, true);
    let body = if p.is(Punct::LBrace) { parse(p) } else { labelled_statement(p) };
    p.in_switch = outer;
    p.leave(entered);
    StmtKind::Switch { init, declared, selector, body: Box::new(body) }
}

/// One statement with its labels, as a block: the body of a switch without braces.
fn labelled_statement(p: &mut Parser<'_>) -> Stmt {
    let start = p.span();
    let mut stmts: Vec<Stmt> = Vec::new();
    while !p.at_end() && stmts.last().is_none_or(|last| matches!(last.kind, StmtKind::Label(_))) {
        parse_into(p, &mut stmts);
    }
    let span = p.since(start);
    Stmt { kind: StmtKind::Block(Block { stmts, span }), span }
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
