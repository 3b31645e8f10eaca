//! MSL text of device code.

use std::fmt::Write as _;

use crate::hir::{Expr, ExprKind, For, Stmt};
use crate::lower::strip_cast;
use crate::types::{Inference, Scalar, Type};

/// How tightly C++'s operators bind.
mod precedence {
    pub(super) const SELECT: u8 = 1;
    pub(super) const UNARY: u8 = 12;
    pub(super) const POSTFIX: u8 = 13;

    pub(super) fn of(op: &str) -> u8 {
        match op {
            "||" => 2,
            "&&" => 3,
            "|" => 4,
            "^" => 5,
            "&" => 6,
            "==" | "!=" => 7,
            "<" | "<=" | ">" | ">=" => 8,
            "<<" | ">>" => 9,
            "+" | "-" => 10,
            _ => 11,
        }
    }
}

/// Writes text of one function, whose types it knows.
#[derive(Debug)]
pub(crate) struct Printer<'a> {
    inference: &'a Inference,
    out: String,
    depth: usize,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(inference: &'a Inference) -> Self {
        Self { inference, out: String::new(), depth: 0 }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// One line at the current depth.
    pub(crate) fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        let _ = writeln!(self.out, "{indent}{text}");
    }

    /// The statements of a body, one step deeper.
    pub(crate) fn body(&mut self, stmts: &[Stmt]) {
        self.depth += 1;
        stmts.iter().for_each(|stmt| self.stmt(stmt));
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { name, ty, value } => {
                let declared = declaration(&self.inference.finish(ty), name);
                match value {
                    None => self.line(&format!("{declared};")),
                    Some(value) => {
                        let value = self.expr(value, 0, true);
                        self.line(&format!("{declared} = {value};"));
                    }
                }
            }
            Stmt::Assign { place, op, value } => {
                let (place, value) = (self.expr(place, 0, false), self.expr(value, 0, true));
                self.line(&format!("{place} {op}= {value};"));
            }
            Stmt::Expr(value) => {
                let value = self.expr(value, 0, false);
                self.line(&format!("{value};"));
            }
            Stmt::If { .. } => self.branch(stmt, ""),
            Stmt::For(each) => self.for_loop(each),
            Stmt::While { cond, body } => {
                let cond = self.expr(cond, 0, false);
                self.line(&format!("while ({cond}) {{"));
                self.body(body);
                self.line("}");
            }
            Stmt::Block(body) => {
                self.line("{");
                self.body(body);
                self.line("}");
            }
            Stmt::Break => self.line("break;"),
            Stmt::Continue => self.line("continue;"),
            Stmt::Return(None) => self.line("return;"),
            Stmt::Return(Some(value)) => {
                let value = self.expr(value, 0, true);
                self.line(&format!("return {value};"));
            }
        }
    }

    fn branch(&mut self, stmt: &Stmt, before: &str) {
        let Stmt::If { cond, then, otherwise } = stmt else { return };
        let cond = self.expr(cond, 0, false);
        self.line(&format!("{before}if ({cond}) {{"));
        self.body(then);
        match otherwise.as_slice() {
            [] => self.line("}"),
            [next @ Stmt::If { .. }] => self.branch(next, "} else "),
            other => {
                self.line("} else {");
                self.body(other);
                self.line("}");
            }
        }
    }

    fn for_loop(&mut self, each: &For) {
        let name = &each.name;
        let declared = declaration(&self.inference.finish(&each.ty), name);
        let (start, mut end) = (self.expr(&each.start, 9, true), self.expr(&each.end, 9, true));
        if each.reversed {
            if each.inclusive {
                end = format!("{end} + 1");
            }
            self.line(&format!("for ({declared} = {end}; {name}-- > {start};) {{"));
        } else {
            let step = match &each.step {
                None => format!("{name}++"),
                Some(step) => format!("{name} += {}", self.expr(&strip_cast(step.clone()), 0, true)),
            };
            let below = if each.inclusive { "<=" } else { "<" };
            let (kept, end) = match each.keeps_end {
                true => (format!(", {name}_end = {end}"), format!("{name}_end")),
                false => (String::new(), end),
            };
            self.line(&format!("for ({declared} = {start}{kept}; {name} {below} {end}; {step}) {{"));
        }
        self.body(&each.body);
        self.line("}");
    }

    /// An expression, in parentheses if it binds less tightly than `at_least`. A `bare` number takes its type
    /// from what is around it.
    fn expr(&self, expr: &Expr, at_least: u8, bare: bool) -> String {
        let ty = self.inference.finish(&expr.ty);
        let (text, precedence) = match &expr.kind {
            ExprKind::Number(digits) => {
                let text = number(digits, ty.scalar(), bare);
                let precedence = if text.starts_with('-') { precedence::UNARY } else { u8::MAX };
                (text, precedence)
            }
            ExprKind::Bool(value) => (value.to_string(), u8::MAX),
            ExprKind::Name(name) => (name.clone(), if name.contains(" | ") { 0 } else { u8::MAX }),
            ExprKind::Unary(op, value) => {
                let value = self.expr(value, precedence::UNARY, false);
                let space = if *op == "-" && value.starts_with('-') { " " } else { "" };
                self.narrowed(format!("{op}{space}{value}"), precedence::UNARY, ty.scalar(), *op != "!")
            }
            ExprKind::Binary(op, a, b) => {
                let is_number = |expr: &Expr| matches!(expr.kind, ExprKind::Number(_));
                let own = precedence::of(op);
                let is_shift = matches!(*op, "<<" | ">>");
                let left = self.expr(a, own, !is_number(b) && !is_shift);
                let right = self.expr(b, own + 1, is_shift || !is_number(a));
                let widens = matches!(*op, "+" | "-" | "*" | "<<");
                self.narrowed(format!("{left} {op} {right}"), own, ty.scalar(), widens)
            }
            ExprKind::Cast(value) => {
                let value = self.expr(value, 0, true);
                (format!("{}({value})", spell(&ty)), precedence::POSTFIX)
            }
            ExprKind::Index(base, at) => {
                let base = self.expr(base, precedence::POSTFIX, false);
                let at = Expr { kind: at.kind.clone(), ty: self.inference.finish(&at.ty) };
                let at = self.expr(&strip_cast(self.resolved(at)), 0, true);
                (format!("{base}[{at}]"), precedence::POSTFIX)
            }
            ExprKind::Field(base, name) => {
                (format!("{}.{name}", self.expr(base, precedence::POSTFIX, false)), precedence::POSTFIX)
            }
            ExprKind::Call(name, args) => {
                let args: Vec<String> = args.iter().map(|arg| self.expr(arg, 0, false)).collect();
                (format!("{name}({})", args.join(", ")), precedence::POSTFIX)
            }
            ExprKind::Select(cond, a, b) => {
                let cond = self.expr(cond, precedence::SELECT + 1, false);
                let (a, b) =
                    (self.expr(a, precedence::SELECT, false), self.expr(b, precedence::SELECT, false));
                (format!("{cond} ? {a} : {b}"), precedence::SELECT)
            }
            ExprKind::List(values) => {
                let values: Vec<String> = values.iter().map(|value| self.expr(value, 0, true)).collect();
                (format!("{{{}}}", values.join(", ")), u8::MAX)
            }
            ExprKind::Address(place) => {
                (format!("&{}", self.expr(place, precedence::POSTFIX, false)), precedence::UNARY)
            }
        };
        if precedence < at_least { format!("({text})") } else { text }
    }

    /// The same expression with the final type of what a cast converts.
    fn resolved(&self, mut expr: Expr) -> Expr {
        if let ExprKind::Cast(inner) = &mut expr.kind {
            inner.ty = self.inference.finish(&inner.ty);
        }
        expr
    }

    /// C++ computes with small integers as `int`: the result is brought back.
    fn narrowed(&self, text: String, precedence: u8, ty: Option<Scalar>, widens: bool) -> (String, u8) {
        match ty {
            Some(scalar) if widens && scalar.is_promoted() => {
                (format!("{}({text})", scalar.msl()), precedence::POSTFIX)
            }
            _ => (text, precedence),
        }
    }
}

fn number(digits: &str, ty: Option<Scalar>, bare: bool) -> String {
    let is_small = digits.parse::<i64>().is_ok_and(|value| i32::try_from(value).is_ok());
    match ty {
        Some(scalar) if scalar.is_float() => {
            let point = if digits.contains(['.', 'e', 'E']) { "" } else { ".0" };
            match scalar {
                Scalar::F16 => format!("{digits}{point}h"),
                Scalar::Bf16 => format!("bfloat({digits}{point}f)"),
                _ => format!("{digits}{point}f"),
            }
        }
        Some(Scalar::U32) if !bare || !is_small => format!("{digits}u"),
        Some(scalar) if scalar.is_wide_integer() && (!bare || !is_small) => {
            format!("{digits}{}", if scalar.is_unsigned() { "ul" } else { "l" })
        }
        Some(scalar) if scalar.is_promoted() && !bare => format!("{}({digits})", scalar.msl()),
        _ => digits.to_owned(),
    }
}

/// The name of a type that is no array.
pub(crate) fn spell(ty: &Type) -> String {
    match ty {
        Type::Unit => "void".to_owned(),
        Type::Scalar(scalar) => scalar.msl().to_owned(),
        Type::Atomic(scalar) => format!("atomic_{}", scalar.msl()),
        Type::Named(name) => name.clone(),
        Type::Array(element, _) | Type::Slice(element, _) => spell(element),
        Type::Variable(_) | Type::Unknown => "auto".to_owned(),
    }
}

/// A variable of a type.
pub(crate) fn declaration(ty: &Type, name: &str) -> String {
    match ty {
        Type::Array(element, length) => declaration(element, &format!("{name}[{length}]")),
        _ => format!("{} {name}", spell(ty)),
    }
}
