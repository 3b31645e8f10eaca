//! Warnings about syntax, by clang's names: what is suspicious whatever names and types mean.
//!
//! Runs once over a parsed program, so that a template is warned about once. Skips the expansions of macros.
//! Warnings that depend on types are in `sema::lint`.

mod indentation;
mod precedence;
mod statements;
mod unused;

use crate::ast::{
    Block, Expr, ExprKind, ForInit, Function, FunctionBody, InitClause, Initialiser, Item, ItemKind, Stmt,
    StmtKind, SwitchLabel, Variable,
};
use crate::token::FloatSuffix;
use anymetal_diagnostics::{Diagnostic, EnabledWarnings, ExpansionId, Sink, SourceMap, Span};

/// Reports the warnings that are enabled.
pub(crate) fn check(items: &[Item], map: &SourceMap, enabled: &EnabledWarnings, sink: &mut Sink) {
    let mut linter = Linter { map, enabled, sink };
    items.iter().for_each(|item| linter.item(item));
    unused::functions(&mut linter, items);
}

/// A run over a program.
struct Linter<'a> {
    map: &'a SourceMap,
    enabled: &'a EnabledWarnings,
    sink: &'a mut Sink,
}

impl Linter<'_> {
    fn wants(&self, id: &str) -> bool {
        self.enabled.contains(id)
    }

    /// Reports a warning about text that no macro made.
    fn warn(&mut self, id: &'static str, span: Span, message: impl Into<String>, hint: Option<&str>) {
        if span.expansion != ExpansionId::NONE || !self.wants(id) {
            return;
        }
        let warning = Diagnostic::warning(id, span, message);
        self.sink.push(match hint {
            Some(hint) => warning.with_hint(hint),
            None => warning,
        });
    }

    /// The text from an offset of a file on.
    fn text_from(&self, span: Span, offset: u32) -> &str {
        // Tokens that the preprocessor made are of no file: they have no layout.
        let file = self.map.file(span.file);
        file.and_then(|file| file.text.get(offset as usize..)).unwrap_or_default()
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Namespace(namespace) => namespace.items.iter().for_each(|item| self.item(item)),
            ItemKind::Variable(variable) => self.variable(variable),
            ItemKind::Bindings(bindings) => self.variable(&bindings.variable),
            ItemKind::Field(field) => self.initialiser(field.init.as_ref()),
            ItemKind::Function(function) => self.function(function),
            ItemKind::Record(record) => record.members.iter().flatten().for_each(|item| self.item(item)),
            ItemKind::StaticAssert(cond, _) => self.expr(cond),
            ItemKind::UsingNamespace(_)
            | ItemKind::UsingDeclaration(_)
            | ItemKind::Alias(_)
            | ItemKind::Enum(_)
            | ItemKind::DeductionGuide(_)
            | ItemKind::ExplicitInstantiation(_)
            | ItemKind::Friend(_)
            | ItemKind::Empty => {}
        }
    }

    fn function(&mut self, function: &Function) {
        function.mem_inits.iter().for_each(|init| self.clauses(&init.args));
        statements::ignored_qualifiers(self, function);
        let FunctionBody::Block(body) = &function.body else {
            // Without a body there is nothing else to check.
            return;
        };
        unused::in_function(self, function, body);
        self.block(body);
    }

    fn block(&mut self, block: &Block) {
        indentation::check(self, &block.stmts);
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn variable(&mut self, variable: &Variable) {
        self.initialiser(variable.init.as_ref());
    }

    fn initialiser(&mut self, init: Option<&Initialiser>) {
        match init {
            Some(Initialiser::Assign(expr)) => self.expr(expr),
            Some(Initialiser::Paren(args)) => args.iter().for_each(|arg| self.expr(arg)),
            Some(Initialiser::Brace(clauses)) => self.clauses(clauses),
            None => {}
        }
    }

    fn clauses(&mut self, clauses: &[InitClause]) {
        clauses.iter().for_each(|clause| self.expr(&clause.value));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        // A chain of `else if` is a loop here.
        let mut at = Some(stmt);
        while let Some(stmt) = at {
            statements::check(self, stmt);
            at = self.parts_of_stmt(stmt);
        }
    }

    /// Checks what is in a statement, except a last `else`, which is returned.
    fn parts_of_stmt<'s>(&mut self, stmt: &'s Stmt) -> Option<&'s Stmt> {
        match &stmt.kind {
            StmtKind::Block(block) => self.block(block),
            StmtKind::Expr(expr) | StmtKind::Return(Some(expr)) => self.expr(expr),
            StmtKind::Variables(variables) => variables.iter().for_each(|variable| self.variable(variable)),
            StmtKind::Item(item) => self.item(item),
            StmtKind::Items(items) => items.iter().for_each(|item| self.item(item)),
            StmtKind::If { init, cond, declared, then, otherwise, .. } => {
                init.iter().for_each(|init| self.stmt(init));
                declared.iter().for_each(|declared| self.variable(declared));
                self.expr(cond);
                self.stmt(then);
                return otherwise.as_deref();
            }
            StmtKind::Switch { init, declared, selector, body } => {
                init.iter().for_each(|init| self.stmt(init));
                declared.iter().for_each(|declared| self.variable(declared));
                self.expr(selector);
                self.stmt(body);
            }
            StmtKind::For { init, cond, step, body, .. } => {
                match &**init {
                    ForInit::Empty => {}
                    ForInit::Declaration(variables) => {
                        variables.iter().for_each(|variable| self.variable(variable));
                    }
                    ForInit::Expr(expr) => self.expr(expr),
                }
                cond.iter().chain(step).for_each(|expr| self.expr(expr));
                self.stmt(body);
            }
            StmtKind::RangeFor { range, body, .. } => {
                self.expr(range);
                self.stmt(body);
            }
            StmtKind::While { cond, body, .. } | StmtKind::DoWhile { cond, body, .. } => {
                self.expr(cond);
                self.stmt(body);
            }
            StmtKind::Label(SwitchLabel::Case(expr)) => self.expr(expr),
            StmtKind::Label(SwitchLabel::Range(first, last)) => {
                self.expr(first);
                self.expr(last);
            }
            StmtKind::Empty
            | StmtKind::Label(SwitchLabel::Default)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Fp(_)
            | StmtKind::Unused(_) => {}
        }
        None
    }

    /// Checks an expression and all in it, without recursion: chains of operators are long.
    fn expr(&mut self, expr: &Expr) {
        let mut work = vec![expr];
        while let Some(expr) = work.pop() {
            precedence::check(self, expr);
            literal_range(self, expr);
            if let ExprKind::Lambda(lambda) = &expr.kind {
                lambda.initialised.iter().for_each(|capture| work.push(&capture.init));
                self.block(&lambda.body);
            }
            operands(expr, &mut |operand| work.push(operand));
        }
    }
}

/// Warns about a floating-point literal that its type has no value near to.
fn literal_range(linter: &mut Linter<'_>, expr: &Expr) {
    let ExprKind::Float { value, suffix } = expr.kind else {
        // Integers out of range are errors of the lexer.
        return;
    };
    // The largest and the smallest value of the type, as clang writes them.
    let (name, most, least, near) = match suffix {
        FloatSuffix::None | FloatSuffix::Float | FloatSuffix::Long => {
            ("float", "3.40282347E+38", "1.40129846E-45", f64::from(value as f32))
        }
        FloatSuffix::Half => ("half", "65504", "5.96E-8", half::f16::from_f64(value).to_f64()),
        FloatSuffix::Bfloat => {
            ("bfloat", "3.38953139E+38", "9.18354962E-41", half::bf16::from_f64(value).to_f64())
        }
    };
    let message = if near.is_infinite() {
        format!("magnitude of floating-point constant too large for type '{name}'; maximum is {most}")
    } else if near == 0.0 && (value != 0.0 || has_digits(linter.map, expr.span)) {
        format!("magnitude of floating-point constant too small for type '{name}'; minimum is {least}")
    } else {
        return;
    };
    linter.warn("literal-range", expr.span, message, None);
}

/// Whether a literal has other digits than 0 before its exponent: its value was rounded when it was read.
fn has_digits(map: &SourceMap, literal: Span) -> bool {
    let text =
        map.file(literal.file).and_then(|file| file.text.get(literal.lo as usize..literal.hi as usize));
    // A hexadecimal literal of 64 bits of mantissa is read exactly.
    let mantissa = text.into_iter().flat_map(str::chars).take_while(|c| !matches!(c, 'e' | 'E' | 'x' | 'X'));
    mantissa.into_iter().any(|c| matches!(c, '1'..='9'))
}

/// Calls `f` for the direct operands of an expression.
fn operands<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Paren(a)
        | ExprKind::Unary(_, a)
        | ExprKind::Postfix(_, a)
        | ExprKind::SizeofExpr(a)
        | ExprKind::Noexcept(a)
        | ExprKind::PackExpansion(a)
        | ExprKind::DecltypePath(a, _)
        | ExprKind::Member { base: a, .. }
        | ExprKind::Cast(_, _, a)
        | ExprKind::BitCast(_, a) => f(a),
        ExprKind::PackElement(a, _) => f(a),
        ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Index(a, b) => {
            f(a);
            f(b);
        }
        ExprKind::Conditional(a, b, c) => {
            f(a);
            f(b);
            f(c);
        }
        ExprKind::Call(callee, args) => {
            f(callee);
            args.iter().for_each(f);
        }
        ExprKind::Fold(fold) => fold.left.iter().chain(&fold.right).for_each(f),
        ExprKind::Construct { args: clauses, .. } | ExprKind::InitList(clauses) => {
            clauses.iter().for_each(|clause| f(&clause.value));
        }
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::Str(_)
        | ExprKind::Nullptr
        | ExprKind::This
        | ExprKind::Path(_)
        | ExprKind::SizeofType(_)
        | ExprKind::SizeofPack(_)
        | ExprKind::AlignofType(_)
        | ExprKind::TypeTrait(..)
        | ExprKind::Lambda(_)
        | ExprKind::Error => {}
    }
}
