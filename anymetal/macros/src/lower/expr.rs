//! Expressions.

use syn::spanned::Spanned as _;

use super::{Guard, Lowering, refuse, stmt};
use crate::hir::{Expr, ExprKind};
use crate::types::{Scalar, Space, Type};

const BOOL: Type = Type::Scalar(Scalar::Bool);

impl Lowering {
    pub(super) fn is_float(&self, ty: &Type) -> bool {
        self.inference.finish(ty).scalar().is_some_and(Scalar::is_float)
    }

    pub(super) fn expr(&mut self, expr: &syn::Expr) -> syn::Result<Expr> {
        match expr {
            syn::Expr::Lit(literal) => self.literal(literal),
            syn::Expr::Path(path) => self.path(path),
            syn::Expr::Paren(inner) => self.expr(&inner.expr),
            syn::Expr::Group(inner) => self.expr(&inner.expr),
            syn::Expr::Unary(unary) => self.unary(unary),
            syn::Expr::Binary(binary) => self.binary(binary),
            syn::Expr::Cast(cast) => {
                let value = self.expr(&cast.expr)?;
                let ty = Type::from_syn(&cast.ty, Space::Thread)?;
                self.note_type(&ty);
                Ok(Expr::new(ExprKind::Cast(Box::new(value)), ty))
            }
            syn::Expr::Index(index) => self.index(index),
            syn::Expr::Field(field) => {
                let base = self.expr(&field.base)?;
                match &field.member {
                    syn::Member::Named(name) => {
                        Ok(Expr::new(ExprKind::Field(Box::new(base), name.to_string()), Type::Unknown))
                    }
                    syn::Member::Unnamed(_) => {
                        refuse(field, "kernels have no tuples: give the field a name in a structure")
                    }
                }
            }
            syn::Expr::Call(call) => self.call(call),
            syn::Expr::MethodCall(call) => self.method(call),
            syn::Expr::If(_) | syn::Expr::Match(_) | syn::Expr::Block(_) => match self.as_select(expr)? {
                Some(select) => Ok(select),
                None => {
                    refuse(expr, "a value with statements inside of an expression: bind it by `let` before")
                }
            },
            syn::Expr::Array(array) => {
                let element = self.inference.open();
                let mut values = Vec::new();
                for value in &array.elems {
                    let value = self.expr(value)?;
                    self.inference.unify(&element, &value.ty);
                    values.push(value);
                }
                let ty = Type::Array(Box::new(element), values.len().to_string());
                Ok(Expr::new(ExprKind::List(values), ty))
            }
            syn::Expr::Repeat(repeat) => self.repeat(repeat),
            syn::Expr::Struct(structure) => self.structure(structure),
            syn::Expr::Reference(reference) => self.reference(reference),
            syn::Expr::Closure(_) => refuse(expr, "device code has no closures: write a `#[device_fn]`"),
            syn::Expr::Range(_) => refuse(expr, "a range stands only after `in` and between brackets"),
            syn::Expr::Try(_) => refuse(expr, "kernels return no errors: write a flag to a buffer"),
            syn::Expr::Await(_) | syn::Expr::Async(_) => {
                refuse(expr, "kernels do not wait: device code is not async")
            }
            syn::Expr::Unsafe(_) => refuse(expr, "device code is safe Rust: leave `unsafe` away"),
            syn::Expr::Tuple(_) => refuse(expr, "kernels have no tuples: use a structure or an array"),
            syn::Expr::Let(_) => {
                refuse(expr, "`let` in a condition: compare with `if` or `match` on a number")
            }
            syn::Expr::Macro(call) => {
                self.macro_call(&call.mac).and_then(|()| refuse(expr, "a macro has no value"))
            }
            syn::Expr::Loop(_) | syn::Expr::While(_) | syn::Expr::ForLoop(_) => {
                refuse(expr, "a loop has no value: assign to a variable in it")
            }
            syn::Expr::Assign(_) => refuse(expr, "an assignment is a statement of its own"),
            _ => refuse(expr, "this expression is not one of device code"),
        }
    }

    fn literal(&mut self, literal: &syn::ExprLit) -> syn::Result<Expr> {
        match &literal.lit {
            syn::Lit::Bool(value) => Ok(Expr::new(ExprKind::Bool(value.value), BOOL)),
            syn::Lit::Int(value) => {
                let ty = match value.suffix() {
                    "" => self.inference.integer(),
                    suffix => known(literal, suffix)?,
                };
                Ok(Expr::new(ExprKind::Number(value.base10_digits().to_owned()), ty))
            }
            syn::Lit::Float(value) => {
                let ty = match value.suffix() {
                    "" => self.inference.float(),
                    suffix => known(literal, suffix)?,
                };
                Ok(Expr::new(ExprKind::Number(value.base10_digits().to_owned()), ty))
            }
            syn::Lit::Byte(value) => {
                Ok(Expr::new(ExprKind::Number(value.value().to_string()), Type::Scalar(Scalar::U8)))
            }
            _ => refuse(literal, "kernels have no text"),
        }
    }

    fn path(&mut self, path: &syn::ExprPath) -> syn::Result<Expr> {
        if let Some(name) = path.path.get_ident() {
            let text = name.to_string();
            if let Some(variable) = self.scopes.find(&text) {
                return Ok(Expr::name(variable.msl.clone(), variable.ty.clone()));
            }
            if self.generics.contains(&text) || text.chars().all(|c| !c.is_lowercase()) {
                self.note_constant(&text);
                return Ok(Expr::name(text, Type::Unknown));
            }
            return refuse(
                path,
                format!("`{text}` is no variable of this function; a constant is in capitals"),
            );
        }
        self.constant(path)
    }

    fn unary(&mut self, unary: &syn::ExprUnary) -> syn::Result<Expr> {
        let value = self.expr(&unary.expr)?;
        let ty = value.ty.clone();
        match unary.op {
            syn::UnOp::Deref(_) => Ok(value),
            syn::UnOp::Neg(_) => {
                if let (ExprKind::Number(digits), false) = (&value.kind, matches!(ty, Type::Unknown)) {
                    let digits = format!("-{digits}");
                    return Ok(Expr::new(ExprKind::Number(digits), ty));
                }
                self.guard(std::ptr::from_ref(unary) as usize, &ty);
                Ok(Expr::new(ExprKind::Unary("-", Box::new(value)), ty))
            }
            syn::UnOp::Not(_) => {
                let op = match self.inference.resolve(&ty) {
                    Type::Scalar(Scalar::Bool) => "!",
                    Type::Scalar(_) => "~",
                    Type::Variable(_) => "~",
                    _ => {
                        let way =
                            "write the type of what `!` is applied to: `let x: bool = …` or `let x: u32 = …`";
                        return refuse(unary, way);
                    }
                };
                Ok(Expr::new(ExprKind::Unary(op, Box::new(value)), ty))
            }
            _ => refuse(unary, "this operator is not one of device code"),
        }
    }

    /// Notes an operation whose result C++ may compute in a wider type than Rust.
    fn guard(&mut self, expr: usize, operand: &Type) {
        self.guards.push(Guard { expr, operand: operand.clone() });
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> syn::Result<Expr> {
        use syn::BinOp as B;
        let (a, b) = (self.expr(&binary.left)?, self.expr(&binary.right)?);
        let (op, kind) = match binary.op {
            B::Add(_) => ("+", Kind::Sum),
            B::Sub(_) => ("-", Kind::Sum),
            B::Mul(_) => ("*", Kind::Sum),
            B::Div(_) => ("/", Kind::Same),
            B::Rem(_) => ("%", Kind::Same),
            B::BitAnd(_) => ("&", Kind::Same),
            B::BitOr(_) => ("|", Kind::Same),
            B::BitXor(_) => ("^", Kind::Same),
            B::Shl(_) => ("<<", Kind::Shift),
            B::Shr(_) => (">>", Kind::Shift),
            B::And(_) => ("&&", Kind::Logic),
            B::Or(_) => ("||", Kind::Logic),
            B::Eq(_) => ("==", Kind::Comparison),
            B::Ne(_) => ("!=", Kind::Comparison),
            B::Lt(_) => ("<", Kind::Comparison),
            B::Le(_) => ("<=", Kind::Comparison),
            B::Gt(_) => (">", Kind::Comparison),
            B::Ge(_) => (">=", Kind::Comparison),
            _ => return refuse(binary, "an assignment is a statement of its own"),
        };
        if !matches!(kind, Kind::Shift | Kind::Logic) {
            self.inference.unify(&a.ty, &b.ty);
        }
        // A literal beside what cannot be seen has its type.
        let unknown = |ty: &Type| matches!(self.inference.resolve(ty), Type::Unknown);
        let ty = match kind {
            Kind::Logic | Kind::Comparison => BOOL,
            Kind::Shift => a.ty.clone(),
            _ if unknown(&a.ty) || unknown(&b.ty) => {
                let other = if unknown(&a.ty) { &b.ty } else { &a.ty };
                match self.inference.resolve(other) {
                    Type::Variable(_) => Type::Unknown,
                    known => known,
                }
            }
            _ => a.ty.clone(),
        };
        if kind == Kind::Sum || op == "<<" {
            self.guard(std::ptr::from_ref(binary) as usize, &ty);
        }
        if op == "%" {
            match self.inference.resolve(&ty) {
                Type::Unknown => {
                    return refuse(
                        binary,
                        "write the types of the operands of `%`: integers and floats differ",
                    );
                }
                ty if self.is_float(&ty) => return Ok(Expr::call("fmod", vec![a, b], ty)),
                _ => {}
            }
        }
        Ok(Expr::binary(op, a, b, ty))
    }

    fn index(&mut self, index: &syn::ExprIndex) -> syn::Result<Expr> {
        if let syn::Expr::Range(_) = &*index.index {
            return refuse(index, "a part of a slice is passed to a function by `&x[start..]`");
        }
        let base = self.expr(&index.expr)?;
        let at = self.expr(&index.index)?;
        self.inference.unify(&at.ty, &Type::Scalar(Scalar::Usize));
        let ty = self.inference.resolve(&base.ty).element();
        Ok(Expr::new(ExprKind::Index(Box::new(base), Box::new(at)), ty))
    }

    fn repeat(&mut self, repeat: &syn::ExprRepeat) -> syn::Result<Expr> {
        let value = self.expr(&repeat.expr)?;
        let length = crate::types::length(&repeat.len)?;
        let is_zero = match &value.kind {
            ExprKind::Number(digits) => digits.chars().all(|c| matches!(c, '0' | '.')),
            ExprKind::Bool(value) => !value,
            _ => false,
        };
        let values = match (is_zero, length.parse::<usize>()) {
            (true, _) => Vec::new(),
            (false, Ok(count)) if count <= 64 => vec![value.clone(); count],
            _ => {
                return refuse(
                    repeat,
                    "an array of more than 64 elements starts with zeros; assign others in a loop",
                );
            }
        };
        let ty = Type::Array(Box::new(value.ty), length);
        self.note_type(&self.inference.resolve(&ty));
        Ok(Expr::new(ExprKind::List(values), ty))
    }

    fn structure(&mut self, structure: &syn::ExprStruct) -> syn::Result<Expr> {
        if let Some(rest) = &structure.rest {
            return refuse(rest, "name every field: device code has no `..` in structures");
        }
        let Some(name) = structure.path.get_ident() else {
            return refuse(&structure.path, "a structure is named by one word: `use` it");
        };
        let ty = Type::Named(name.to_string());
        self.note_type(&ty);
        self.literals.insert(name.to_string());
        let mut values = Vec::new();
        for field in &structure.fields {
            let syn::Member::Named(member) = &field.member else {
                return refuse(field, "the fields of a structure have names");
            };
            let value = self.expr(&field.expr)?;
            values.push(Expr::new(ExprKind::Field(Box::new(value), member.to_string()), Type::Unit));
        }
        // The order of MSL's list is that of the declaration, which only the assembly knows: a function that
        // it writes takes the fields by name order.
        values.sort_by(|a, b| field_name(a).cmp(field_name(b)));
        let args = values.into_iter().map(field_value).collect();
        Ok(Expr::call(format!("make_{name}"), args, ty))
    }

    /// References are those of arguments: to slices and their ends, and to elements.
    fn reference(&mut self, reference: &syn::ExprReference) -> syn::Result<Expr> {
        match &*reference.expr {
            syn::Expr::Index(index) => {
                let syn::Expr::Range(range) = &*index.index else {
                    let place = self.expr(&reference.expr)?;
                    let is_atomic = matches!(self.inference.resolve(&place.ty), Type::Atomic(_));
                    if reference.mutability.is_some() || is_atomic {
                        return refuse(
                            reference,
                            "give a device function the slice and the index, not `&mut x[i]`",
                        );
                    }
                    return Ok(place);
                };
                let base = self.expr(&index.expr)?;
                let ty = base.ty.clone();
                match &range.start {
                    None => Ok(base),
                    Some(start) => {
                        let start = self.expr(start)?;
                        self.inference.unify(&start.ty, &Type::Scalar(Scalar::Usize));
                        Ok(Expr::binary("+", base, strip_cast(start), ty))
                    }
                }
            }
            other => self.expr(other),
        }
    }

    /// An `if` whose branches are single values: `c ? a : b`; a block of one value.
    pub(super) fn as_select(&mut self, expr: &syn::Expr) -> syn::Result<Option<Expr>> {
        match expr {
            syn::Expr::Paren(inner) => self.as_select(&inner.expr),
            syn::Expr::Block(block) => {
                only_value(&block.block).map(|value| self.value_of(value)).unwrap_or(Ok(None))
            }
            syn::Expr::If(branch) => {
                let (Some(then), Some((_, otherwise))) =
                    (only_value(&branch.then_branch), &branch.else_branch)
                else {
                    return Ok(None);
                };
                let Some(a) = self.value_of(then)? else { return Ok(None) };
                let Some(b) = self.value_of(otherwise)? else { return Ok(None) };
                if let syn::Expr::Let(test) = &*branch.cond {
                    return refuse(test, "`if let` is not one of device code: compare with `if`");
                }
                let cond = self.expr(&branch.cond)?;
                self.inference.unify(&a.ty, &b.ty);
                let ty = a.ty.clone();
                Ok(Some(Expr::new(ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b)), ty)))
            }
            _ => Ok(None),
        }
    }

    fn value_of(&mut self, expr: &syn::Expr) -> syn::Result<Option<Expr>> {
        let is_jump = matches!(
            expr,
            syn::Expr::Return(_)
                | syn::Expr::Break(_)
                | syn::Expr::Continue(_)
                | syn::Expr::Assign(_)
                | syn::Expr::Macro(_)
                | syn::Expr::ForLoop(_)
                | syn::Expr::While(_)
                | syn::Expr::Loop(_)
        );
        let is_compound = matches!(expr, syn::Expr::Binary(binary) if binary.op.span().source_text().is_some_and(|text| text.ends_with('=') && text.len() > 1 && !matches!(text.as_str(), "==" | "!=" | "<=" | ">=")));
        if is_jump || is_compound {
            return Ok(None);
        }
        if stmt::is_statement(expr) {
            return self.as_select(expr);
        }
        self.expr(expr).map(Some)
    }
}

/// A conversion to `usize`, which an index needs in Rust and not in MSL, is left away where it changes
/// nothing.
pub(crate) fn strip_cast(expr: Expr) -> Expr {
    let is_address = expr.ty == Type::Scalar(Scalar::Usize);
    match expr.kind {
        ExprKind::Cast(inner) if is_address && inner.ty.scalar().is_some_and(Scalar::is_unsigned) => *inner,
        kind => Expr::new(kind, expr.ty),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Wraps around, or is widened by C++.
    Sum,
    Same,
    Shift,
    Logic,
    Comparison,
}

fn known(literal: &syn::ExprLit, suffix: &str) -> syn::Result<Type> {
    match Scalar::from_rust(suffix) {
        Some(scalar) => Ok(Type::Scalar(scalar)),
        None => refuse(literal, format!("Metal has no `{suffix}`")),
    }
}

/// The value of a block without statements.
fn only_value(block: &syn::Block) -> Option<&syn::Expr> {
    match block.stmts.as_slice() {
        [syn::Stmt::Expr(value, None)] => Some(value),
        _ => None,
    }
}

fn field_name(expr: &Expr) -> &str {
    if let ExprKind::Field(_, name) = &expr.kind { name } else { "" }
}

fn field_value(expr: Expr) -> Expr {
    if let ExprKind::Field(value, _) = expr.kind { *value } else { expr }
}
