//! Constant expressions of Rust as those of C.

use std::collections::BTreeMap;

use syn::{BinOp, Expr, Lit, UnOp};

/// The C names of constants by their type and their name in Rust.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<(String, String), String>);

impl Names {
    pub(crate) fn add(&mut self, owner: &str, rust_name: &str, name: &str) {
        self.0.insert((owner.to_owned(), rust_name.to_owned()), name.to_owned());
    }

    /// The expression in C; `Self` is the type that owns the constant.
    pub(crate) fn c(&self, owner: &str, value: &Expr) -> Option<String> {
        match value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => {
                    let digits = number.base10_digits();
                    Some(if digits.len() > 9 { format!("{digits}u") } else { digits.to_owned() })
                }
                _ => None,
            },
            Expr::Binary(binary) => {
                let operator = match binary.op {
                    BinOp::Shl(_) => "<<",
                    BinOp::Shr(_) => ">>",
                    BinOp::BitOr(_) => "|",
                    BinOp::BitAnd(_) => "&",
                    BinOp::Add(_) => "+",
                    BinOp::Sub(_) => "-",
                    BinOp::Mul(_) => "*",
                    _ => return None,
                };
                Some(format!(
                    "({} {operator} {})",
                    self.c(owner, &binary.left)?,
                    self.c(owner, &binary.right)?
                ))
            }
            Expr::Unary(unary) => {
                let operator = if matches!(unary.op, UnOp::Neg(_)) { "-" } else { "~" };
                Some(format!("{operator}{}", self.c(owner, &unary.expr)?))
            }
            Expr::Paren(inner) => self.c(owner, &inner.expr),
            Expr::Cast(cast) => self.c(owner, &cast.expr),
            Expr::Field(field) => self.c(owner, &field.base),
            Expr::MethodCall(call) if call.method == "bits" => self.c(owner, &call.receiver),
            Expr::Call(call) => self.c(owner, call.args.first()?),
            Expr::Path(path) => self.named(owner, &path.path),
            _ => None,
        }
    }

    fn named(&self, owner: &str, path: &syn::Path) -> Option<String> {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match names.as_slice() {
            [name] => Some(name.clone()),
            [of, name] => {
                let of = if of == "Self" { owner } else { of };
                self.0.get(&(of.to_owned(), name.clone())).cloned()
            }
            _ => None,
        }
    }
}
