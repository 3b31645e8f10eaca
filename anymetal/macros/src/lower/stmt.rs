//! Statements.

use quote::ToTokens as _;
use syn::spanned::Spanned as _;

use super::{Lowering, refuse};
use crate::hir::{Expr, ExprKind, For, Stmt};
use crate::types::{Scalar, Space, Type};

/// What becomes of a value that a block, an `if` or a `match` has.
#[derive(Clone, Debug)]
pub(super) enum Dest {
    /// It has none that counts.
    Nothing,
    /// It goes to a variable that is declared.
    Assign(Expr),
    Return,
}

impl Lowering {
    pub(super) fn block(&mut self, block: &syn::Block, dest: &Dest) -> Vec<Stmt> {
        let mark = self.scopes.enter();
        let mut out = Vec::new();
        for (n, stmt) in block.stmts.iter().enumerate() {
            let is_last = n + 1 == block.stmts.len();
            let lowered = match stmt {
                syn::Stmt::Local(local) => {
                    self.local(local, &mut out).inspect_err(|_| self.forget(&local.pat))
                }
                syn::Stmt::Expr(expr, semicolon) => {
                    let dest = if is_last && semicolon.is_none() { dest } else { &Dest::Nothing };
                    self.statement(expr, dest, &mut out)
                }
                syn::Stmt::Item(item) => refuse(
                    item,
                    "items do not belong into a kernel: put functions, structures and constants beside it",
                ),
                syn::Stmt::Macro(call) => self.macro_call(&call.mac),
            };
            self.keep(lowered);
        }
        self.scopes.leave(mark);
        out
    }

    /// Declares the names of a `let` that was refused, so that their uses are not refused as well.
    fn forget(&mut self, pattern: &syn::Pat) {
        match pattern {
            syn::Pat::Ident(name) => drop(self.declare(&name.ident.to_string(), &Type::Unknown, false)),
            syn::Pat::Type(typed) => self.forget(&typed.pat),
            syn::Pat::Tuple(tuple) => tuple.elems.iter().for_each(|each| self.forget(each)),
            syn::Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|each| self.forget(each)),
            _ => {}
        }
    }

    pub(super) fn macro_call(&mut self, call: &syn::Macro) -> syn::Result<()> {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "println" | "print" | "eprintln" | "dbg" => {
                refuse(call, format!("kernels do not print: `{name}!` belongs to the host"))
            }
            "assert" | "debug_assert" | "assert_eq" | "panic" | "unreachable" | "todo" => refuse(
                call,
                format!("kernels do not panic: instead of `{name}!` return, or write a flag to a buffer"),
            ),
            "vec" => refuse(call, "kernels do not allocate: use an array `[value; N]`"),
            _ => refuse(call, format!("`{name}!` cannot be looked into: write a `#[device_fn]`")),
        }
    }

    fn local(&mut self, local: &syn::Local, out: &mut Vec<Stmt>) -> syn::Result<()> {
        let (pattern, declared) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some(Type::from_syn(&typed.ty, Space::Thread)?)),
            other => (other, None),
        };
        let syn::Pat::Ident(name) = pattern else {
            return refuse(pattern, "kernels bind one name at a time: `let name = …;`");
        };
        if let Some(by_ref) = &name.by_ref {
            return refuse(by_ref, "kernels have no references to locals: use the variable itself");
        }
        let ty = match declared {
            Some(Type::Unknown) | None => self.inference.open(),
            Some(known) => {
                self.note_type(&known);
                known
            }
        };
        if let Some(init) = &local.init
            && let Some((_, diverging)) = &init.diverge
        {
            return refuse(diverging, "`let … else` is not one of device code: test with `if`");
        }
        let rust = name.ident.to_string();
        let is_mutable = name.mutability.is_some();
        match &local.init {
            None => {
                let name = self.declare(&rust, &ty, is_mutable);
                self.untyped.push((ty.clone(), local.pat.span()));
                out.push(Stmt::Let { name, ty, value: None });
            }
            Some(init) if is_statement(&init.expr) && self.as_select(&init.expr)?.is_none() => {
                // Declared after its value is lowered, which may use another variable of the name.
                let at = out.len();
                let place = Expr::name(format!("\u{0}{at}"), ty.clone());
                self.statement(&init.expr, &Dest::Assign(place), out)?;
                let name = self.declare(&rust, &ty, is_mutable);
                self.untyped.push((ty.clone(), local.pat.span()));
                rename(&mut out[at..], &format!("\u{0}{at}"), &name);
                out.insert(at, Stmt::Let { name, ty, value: None });
            }
            Some(init) => {
                let value = self.expr(&init.expr)?;
                self.inference.unify(&ty, &value.ty);
                // What the macro cannot see stays so.
                let ty = if matches!(self.inference.resolve(&value.ty), Type::Unknown)
                    && matches!(self.inference.resolve(&ty), Type::Variable(_))
                {
                    Type::Unknown
                } else {
                    ty
                };
                let name = self.declare(&rust, &ty, is_mutable);
                out.push(Stmt::Let { name, ty, value: Some(value) });
            }
        }
        Ok(())
    }

    fn declare(&mut self, rust: &str, ty: &Type, is_mutable: bool) -> String {
        let name = self.scopes.declare(rust, ty.clone());
        if is_mutable {
            self.mutable.insert(name.clone());
        }
        name
    }

    /// An expression as a statement, or one whose value goes to `dest`.
    pub(super) fn statement(
        &mut self,
        expr: &syn::Expr,
        dest: &Dest,
        out: &mut Vec<Stmt>,
    ) -> syn::Result<()> {
        match expr {
            syn::Expr::If(branch) => self.branch(branch, dest, out),
            syn::Expr::Match(switch) => self.switch(switch, dest, out),
            syn::Expr::Block(block) => {
                no_label(block.label.as_ref())?;
                let inner = self.block(&block.block, dest);
                out.push(Stmt::Block(inner));
                Ok(())
            }
            syn::Expr::ForLoop(each) => self.for_loop(each, out),
            syn::Expr::While(each) => {
                no_label(each.label.as_ref())?;
                let cond = self.expr(&each.cond)?;
                let body = self.loop_body(&each.body);
                out.push(Stmt::While { cond, body });
                Ok(())
            }
            syn::Expr::Loop(each) => {
                no_label(each.label.as_ref())?;
                let body = self.loop_body(&each.body);
                let cond = Expr::new(ExprKind::Bool(true), Type::Scalar(Scalar::Bool));
                out.push(Stmt::While { cond, body });
                Ok(())
            }
            syn::Expr::Break(exit) => {
                if let Some(label) = &exit.label {
                    return refuse(label, LABELS);
                }
                if let Some(value) = &exit.expr {
                    return refuse(value, "`break` with a value: assign to a variable before the `break`");
                }
                out.push(Stmt::Break);
                Ok(())
            }
            syn::Expr::Continue(next) => {
                if let Some(label) = &next.label {
                    return refuse(label, LABELS);
                }
                out.push(Stmt::Continue);
                Ok(())
            }
            syn::Expr::Return(exit) => {
                let value = exit.expr.as_ref().map(|value| self.expr(value)).transpose()?;
                if let (Some(value), Some(result)) = (&value, self.result.clone()) {
                    self.inference.unify(&value.ty, &result);
                }
                out.push(Stmt::Return(value));
                Ok(())
            }
            syn::Expr::Assign(assign) => self.assign(assign, out),
            syn::Expr::Binary(binary) if compound(&binary.op).is_some() => self.compound(binary, out),
            syn::Expr::Macro(call) => self.macro_call(&call.mac),
            syn::Expr::Paren(inner) => self.statement(&inner.expr, dest, out),
            _ => {
                let value = self.expr(expr)?;
                self.deliver(value, dest, out);
                Ok(())
            }
        }
    }

    fn deliver(&mut self, value: Expr, dest: &Dest, out: &mut Vec<Stmt>) {
        match dest {
            Dest::Nothing => out.push(Stmt::Expr(value)),
            Dest::Assign(place) => {
                self.inference.unify(&place.ty, &value.ty);
                out.push(Stmt::Assign { place: place.clone(), op: "", value });
            }
            Dest::Return => {
                if let Some(result) = self.result.clone() {
                    self.inference.unify(&value.ty, &result);
                }
                out.push(Stmt::Return(Some(value)));
            }
        }
    }

    fn loop_body(&mut self, body: &syn::Block) -> Vec<Stmt> {
        self.block(body, &Dest::Nothing)
    }

    fn branch(&mut self, branch: &syn::ExprIf, dest: &Dest, out: &mut Vec<Stmt>) -> syn::Result<()> {
        if let syn::Expr::Let(test) = &*branch.cond {
            return refuse(
                test,
                "`if let` is not one of device code: compare with `if` or `match` on a number",
            );
        }
        let cond = self.expr(&branch.cond)?;
        let then = self.block(&branch.then_branch, dest);
        let mut otherwise = Vec::new();
        match &branch.else_branch {
            None => {}
            Some((_, next)) => match &**next {
                syn::Expr::Block(block) => otherwise = self.block(&block.block, dest),
                other => self.statement(other, dest, &mut otherwise)?,
            },
        }
        out.push(Stmt::If { cond, then, otherwise });
        Ok(())
    }

    fn assign(&mut self, assign: &syn::ExprAssign, out: &mut Vec<Stmt>) -> syn::Result<()> {
        if let syn::Expr::Infer(_) = &*assign.left {
            let value = self.expr(&assign.right)?;
            out.push(Stmt::Expr(value));
            return Ok(());
        }
        let place = self.place(&assign.left)?;
        if is_statement(&assign.right) && self.as_select(&assign.right)?.is_none() {
            return self.statement(&assign.right, &Dest::Assign(place), out);
        }
        let value = self.expr(&assign.right)?;
        self.inference.unify(&place.ty, &value.ty);
        if let Type::Array(..) = self.inference.resolve(&place.ty) {
            return refuse(assign, "arrays are not assigned in device code: assign each element");
        }
        out.push(Stmt::Assign { place, op: "", value });
        Ok(())
    }

    fn compound(&mut self, binary: &syn::ExprBinary, out: &mut Vec<Stmt>) -> syn::Result<()> {
        let place = self.place(&binary.left)?;
        let value = self.expr(&binary.right)?;
        let (op, is_shift) = compound(&binary.op).unwrap_or(("", false));
        if !is_shift {
            self.inference.unify(&place.ty, &value.ty);
        }
        if op == "%" && self.is_float(&place.ty) {
            let value = Expr::call("fmod", vec![place.clone(), value], place.ty.clone());
            out.push(Stmt::Assign { place, op: "", value });
            return Ok(());
        }
        out.push(Stmt::Assign { place, op, value });
        Ok(())
    }

    fn place(&mut self, expr: &syn::Expr) -> syn::Result<Expr> {
        match expr {
            syn::Expr::Path(_) | syn::Expr::Index(_) | syn::Expr::Field(_) => self.expr(expr),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => self.expr(expr),
            syn::Expr::Paren(inner) => self.place(&inner.expr),
            _ => refuse(expr, "only variables, elements and fields are assigned to"),
        }
    }

    fn for_loop(&mut self, each: &syn::ExprForLoop, out: &mut Vec<Stmt>) -> syn::Result<()> {
        no_label(each.label.as_ref())?;
        let rust = match &*each.pat {
            syn::Pat::Ident(name) if name.by_ref.is_none() => name.ident.to_string(),
            syn::Pat::Wild(_) => "unused".to_owned(),
            other => return refuse(other, "the variable of a loop is one name"),
        };
        let Range { range, step, reversed } = Range::of(&each.expr)?;
        let (Some(from), Some(to)) = (&range.start, &range.end) else {
            return refuse(range, "the range of a loop has both ends; `loop` and `break` do the rest");
        };
        let (start, end) = (self.expr(from)?, self.expr(to)?);
        self.inference.unify(&start.ty, &end.ty);
        let step = match step {
            None => None,
            Some(step) => {
                let step = self.expr(step)?;
                self.inference.unify(&step.ty, &Type::Scalar(Scalar::Usize));
                Some(step)
            }
        };
        let ty = start.ty.clone();
        let mark = self.scopes.enter();
        let name = self.scopes.declare(&rust, ty.clone());
        let body = self.loop_body(&each.body);
        self.scopes.leave(mark);
        let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        let keeps_end = match &end.kind {
            ExprKind::Name(name) => self.mutable.contains(name),
            _ => !end.is_simple(),
        };
        out.push(Stmt::For(Box::new(For {
            name,
            ty,
            start,
            end,
            keeps_end,
            inclusive,
            step,
            reversed,
            body,
        })));
        Ok(())
    }

    /// A `match` on a number becomes tests in order.
    fn switch(&mut self, switch: &syn::ExprMatch, dest: &Dest, out: &mut Vec<Stmt>) -> syn::Result<()> {
        let mut value = self.expr(&switch.expr)?;
        let mark = self.scopes.enter();
        let mut block = Vec::new();
        if !value.is_simple() {
            let ty = value.ty.clone();
            let name = self.scopes.declare("selector", ty.clone());
            block.push(Stmt::Let { name: name.clone(), ty: ty.clone(), value: Some(value) });
            value = Expr::name(name, ty);
        }
        let mut tests = Vec::new();
        for arm in &switch.arms {
            let mark = self.scopes.enter();
            let test = self.pattern(&arm.pat, &value)?;
            let guard = arm.guard.as_ref().map(|(_, guard)| self.expr(guard)).transpose()?;
            let bool_type = Type::Scalar(Scalar::Bool);
            let test = match (test, guard) {
                (Some(test), Some(guard)) => Some(Expr::binary("&&", test, guard, bool_type)),
                (test, guard) => test.or(guard),
            };
            let mut body = Vec::new();
            match &*arm.body {
                syn::Expr::Block(inner) if inner.label.is_none() => body = self.block(&inner.block, dest),
                other => self.statement(other, dest, &mut body)?,
            }
            self.scopes.leave(mark);
            tests.push((test, body));
        }
        self.scopes.leave(mark);
        let chain = tests.into_iter().rev().fold(Vec::new(), |otherwise, (test, then)| match test {
            None => then,
            Some(cond) => vec![Stmt::If { cond, then, otherwise }],
        });
        block.extend(chain);
        if block.len() == 1 {
            out.extend(block)
        } else {
            out.push(Stmt::Block(block))
        }
        Ok(())
    }

    /// The test for a pattern; `None`: it always fits.
    fn pattern(&mut self, pattern: &syn::Pat, value: &Expr) -> syn::Result<Option<Expr>> {
        let bool_type = Type::Scalar(Scalar::Bool);
        let compare = |lowering: &mut Self, op: &'static str, to: &syn::Expr| {
            let to = lowering.expr(to)?;
            lowering.inference.unify(&value.ty, &to.ty);
            Ok::<Expr, syn::Error>(Expr::binary(op, value.clone(), to, Type::Scalar(Scalar::Bool)))
        };
        match pattern {
            syn::Pat::Wild(_) => Ok(None),
            syn::Pat::Lit(literal) => {
                let literal = syn::Expr::Lit(literal.clone());
                compare(self, "==", &literal).map(Some)
            }
            syn::Pat::Path(path) => compare(self, "==", &syn::Expr::Path(path.clone())).map(Some),
            syn::Pat::Ident(name) if name.subpat.is_none() && name.by_ref.is_none() => {
                let text = name.ident.to_string();
                if text.chars().all(|c| !c.is_lowercase()) {
                    let path =
                        syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                    return compare(self, "==", &syn::Expr::Path(path)).map(Some);
                }
                refuse(name, "a `match` in device code binds no names: use the value that it tests, and `_`")
            }
            syn::Pat::Or(any) => {
                let mut tests = None;
                for case in &any.cases {
                    let Some(test) = self.pattern(case, value)? else { return Ok(None) };
                    tests = Some(match tests {
                        None => test,
                        Some(before) => Expr::binary("||", before, test, bool_type.clone()),
                    });
                }
                Ok(tests)
            }
            syn::Pat::Range(range) => {
                let from = range.start.as_ref().map(|from| compare(self, ">=", from)).transpose()?;
                let below = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "<=" } else { "<" };
                let to = range.end.as_ref().map(|to| compare(self, below, to)).transpose()?;
                Ok(match (from, to) {
                    (Some(from), Some(to)) => Some(Expr::binary("&&", from, to, bool_type)),
                    (from, to) => from.or(to),
                })
            }
            syn::Pat::Paren(inner) => self.pattern(&inner.pat, value),
            _ => refuse(pattern, "a `match` in device code compares numbers: literals, ranges, `|` and `_`"),
        }
    }
}

const LABELS: &str =
    "device code has no labels: leave the outer loop by a flag, or make the inner one a function";

fn no_label(label: Option<&syn::Label>) -> syn::Result<()> {
    label.map_or(Ok(()), |label| refuse(label, LABELS))
}

/// Expressions that MSL has as statements only.
pub(super) fn is_statement(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::If(_) | syn::Expr::Match(_) | syn::Expr::Block(_) => true,
        syn::Expr::Paren(inner) => is_statement(&inner.expr),
        _ => false,
    }
}

/// The operator of `a += b`, and whether it shifts.
fn compound(op: &syn::BinOp) -> Option<(&'static str, bool)> {
    use syn::BinOp as B;
    Some(match op {
        B::AddAssign(_) => ("+", false),
        B::SubAssign(_) => ("-", false),
        B::MulAssign(_) => ("*", false),
        B::DivAssign(_) => ("/", false),
        B::RemAssign(_) => ("%", false),
        B::BitAndAssign(_) => ("&", false),
        B::BitOrAssign(_) => ("|", false),
        B::BitXorAssign(_) => ("^", false),
        B::ShlAssign(_) => ("<<", true),
        B::ShrAssign(_) => (">>", true),
        _ => return None,
    })
}

/// What a `for` goes over.
struct Range<'a> {
    range: &'a syn::ExprRange,
    step: Option<&'a syn::Expr>,
    reversed: bool,
}

impl<'a> Range<'a> {
    fn of(expr: &'a syn::Expr) -> syn::Result<Self> {
        match expr {
            syn::Expr::Range(range) => Ok(Self { range, step: None, reversed: false }),
            syn::Expr::Paren(inner) => Self::of(&inner.expr),
            syn::Expr::MethodCall(call) => {
                let inner = Self::of(&call.receiver);
                match (call.method.to_string().as_str(), call.args.first()) {
                    ("rev", None) => {
                        let inner = inner?;
                        if inner.step.is_some() {
                            return refuse(
                                call,
                                "`.step_by(…).rev()`: count up, and compute the index from the end",
                            );
                        }
                        Ok(Self { reversed: true, ..inner })
                    }
                    ("step_by", Some(step)) => {
                        let inner = inner?;
                        Ok(Self { step: Some(step), ..inner })
                    }
                    (method, _) => {
                        let at = syn::Error::new(
                            call.method.span(),
                            format!(
                                "`.{method}()`: device code loops over ranges: `for i in 0..n` and an index"
                            ),
                        );
                        Err(at)
                    }
                }
            }
            other => refuse(
                other,
                format!(
                    "device code loops over ranges: `for i in 0..n`, not over `{}`",
                    other.to_token_stream().to_string().replace(' ', "")
                ),
            ),
        }
    }
}

/// Gives the variable of the name in these statements its final name.
fn rename(stmts: &mut [Stmt], from: &str, to: &str) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { place, .. } => {
                if let ExprKind::Name(name) = &mut place.kind
                    && name == from
                {
                    to.clone_into(name);
                }
            }
            Stmt::If { then, otherwise, .. } => {
                rename(then, from, to);
                rename(otherwise, from, to);
            }
            Stmt::Block(body) => rename(body, from, to),
            Stmt::While { body, .. } => rename(body, from, to),
            Stmt::For(each) => rename(&mut each.body, from, to),
            _ => {}
        }
    }
}
