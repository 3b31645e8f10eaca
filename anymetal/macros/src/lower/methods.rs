//! Methods of numbers, of slices and of atomics.

use super::{Lowering, refuse};
use crate::hir::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// Methods that are a function of the same meaning in MSL: Rust's name, MSL's, arguments besides the
/// receiver.
const FUNCTIONS: &[(&str, &str, usize)] = &[
    ("sqrt", "sqrt", 0),
    ("exp", "exp", 0),
    ("exp2", "exp2", 0),
    ("ln", "log", 0),
    ("log2", "log2", 0),
    ("log10", "log10", 0),
    ("sin", "sin", 0),
    ("cos", "cos", 0),
    ("tan", "tan", 0),
    ("asin", "asin", 0),
    ("acos", "acos", 0),
    ("atan", "atan", 0),
    ("sinh", "sinh", 0),
    ("cosh", "cosh", 0),
    ("tanh", "tanh", 0),
    ("asinh", "asinh", 0),
    ("acosh", "acosh", 0),
    ("atanh", "atanh", 0),
    ("floor", "floor", 0),
    ("ceil", "ceil", 0),
    ("round", "round", 0),
    ("round_ties_even", "rint", 0),
    ("trunc", "trunc", 0),
    ("abs", "abs", 0),
    ("atan2", "atan2", 1),
    ("powf", "pow", 1),
    ("copysign", "copysign", 1),
    ("mul_add", "fma", 2),
    ("clamp", "clamp", 2),
    ("saturating_add", "addsat", 1),
    ("saturating_sub", "subsat", 1),
    ("reverse_bits", "reverse_bits", 0),
    ("abs_diff", "absdiff", 1),
];

/// Methods that are an operator: integers wrap around in MSL.
const OPERATORS: &[(&str, &str)] = &[
    ("wrapping_add", "+"),
    ("wrapping_sub", "-"),
    ("wrapping_mul", "*"),
    ("wrapping_shl", "<<"),
    ("wrapping_shr", ">>"),
];

/// Methods of atomics: Rust's name, MSL's, arguments besides the order.
const ATOMICS: &[(&str, &str, usize)] = &[
    ("load", "atomic_load_explicit", 0),
    ("store", "atomic_store_explicit", 1),
    ("swap", "atomic_exchange_explicit", 1),
    ("fetch_add", "atomic_fetch_add_explicit", 1),
    ("fetch_sub", "atomic_fetch_sub_explicit", 1),
    ("fetch_and", "atomic_fetch_and_explicit", 1),
    ("fetch_or", "atomic_fetch_or_explicit", 1),
    ("fetch_xor", "atomic_fetch_xor_explicit", 1),
    ("fetch_max", "atomic_fetch_max_explicit", 1),
    ("fetch_min", "atomic_fetch_min_explicit", 1),
];

impl Lowering {
    pub(super) fn method(&mut self, call: &syn::ExprMethodCall) -> syn::Result<Expr> {
        let name = call.method.to_string();
        if name == "len" {
            return self.len(call);
        }
        let receiver = self.expr(&call.receiver)?;
        if ATOMICS.iter().any(|(method, ..)| *method == name)
            || matches!(self.inference.resolve(&receiver.ty), Type::Atomic(_))
        {
            return self.atomic(call, receiver);
        }
        let args = call.args.iter().map(|arg| self.expr(arg)).collect::<syn::Result<Vec<_>>>()?;
        if let Some(&(_, msl, count)) = FUNCTIONS.iter().find(|(method, ..)| *method == name)
            && count == args.len()
        {
            args.iter().for_each(|arg| self.inference.unify(&receiver.ty, &arg.ty));
            let ty = receiver.ty.clone();
            return Ok(Expr::call(msl, [vec![receiver], args].concat(), ty));
        }
        if let (Some((_, op)), [arg]) = (OPERATORS.iter().find(|(method, _)| *method == name), &args[..]) {
            if !op.starts_with(['<', '>']) {
                self.inference.unify(&receiver.ty, &arg.ty);
            }
            let ty = receiver.ty.clone();
            return Ok(Expr::binary(op, receiver, arg.clone(), ty));
        }
        match self.other_method(&name, receiver, args) {
            Some(lowered) => Ok(lowered),
            None => Err(syn::Error::new(call.method.span(), advice(&name))),
        }
    }

    /// Methods that MSL spells in another way.
    fn other_method(&mut self, name: &str, receiver: Expr, args: Vec<Expr>) -> Option<Expr> {
        let ty = receiver.ty.clone();
        let is_float = self.is_float(&ty);
        let scalar = |scalar| Type::Scalar(scalar);
        let one = |text: &str| Expr::new(ExprKind::Number(text.to_owned()), ty.clone());
        let mut args = args.into_iter();
        Some(match (name, args.next(), args.next()) {
            ("min" | "max", Some(other), None) => {
                self.inference.unify(&ty, &other.ty);
                // Of a NaN and a number Rust gives the number, as `fmin` does.
                let name = if is_float { format!("f{name}") } else { name.to_owned() };
                Expr::call(name, vec![receiver, other], ty)
            }
            ("powi", Some(exponent), None) => {
                let exponent = Expr::new(ExprKind::Cast(Box::new(exponent)), ty.clone());
                Expr::call("pow", vec![receiver, exponent], ty)
            }
            ("recip", None, None) => Expr::binary("/", one("1.0"), receiver, ty.clone()),
            ("fract", None, None) => {
                let whole = Expr::call("trunc", vec![receiver.clone()], ty.clone());
                Expr::binary("-", receiver, whole, ty)
            }
            ("signum", None, None) if is_float => {
                let one = one("1.0");
                Expr::call("copysign", vec![one, receiver], ty)
            }
            ("to_radians", None, None) => {
                Expr::binary("*", receiver, Expr::name("(M_PI_F / 180.0f)", scalar(Scalar::F32)), ty)
            }
            ("to_bits", None, None) => match self.inference.finish(&ty).scalar()? {
                Scalar::F32 => Expr::call("as_type<uint>", vec![receiver], scalar(Scalar::U32)),
                Scalar::F16 | Scalar::Bf16 => {
                    Expr::call("as_type<ushort>", vec![receiver], scalar(Scalar::U16))
                }
                _ => return None,
            },
            ("to_f32", None, None) => Expr::new(ExprKind::Cast(Box::new(receiver)), scalar(Scalar::F32)),
            ("is_nan", None, None) => Expr::call("isnan", vec![receiver], scalar(Scalar::Bool)),
            ("is_finite", None, None) => Expr::call("isfinite", vec![receiver], scalar(Scalar::Bool)),
            ("is_infinite", None, None) => Expr::call("isinf", vec![receiver], scalar(Scalar::Bool)),
            ("count_ones", None, None) => self.bits("popcount", receiver),
            ("leading_zeros", None, None) => self.bits("clz", receiver),
            ("trailing_zeros", None, None) => self.bits("ctz", receiver),
            ("rotate_left", Some(distance), None) => {
                let distance = Expr::new(ExprKind::Cast(Box::new(distance)), ty.clone());
                Expr::call("rotate", vec![receiver, distance], ty)
            }
            ("wrapping_neg", None, None) => Expr::new(ExprKind::Unary("-", Box::new(receiver)), ty),
            ("div_ceil", Some(divisor), None) => {
                self.inference.unify(&ty, &divisor.ty);
                let above = Expr::binary("-", divisor.clone(), one("1"), ty.clone());
                let sum = Expr::binary("+", receiver, above, ty.clone());
                Expr::binary("/", sum, divisor, ty)
            }
            ("is_multiple_of", Some(divisor), None) => {
                self.inference.unify(&ty, &divisor.ty);
                let rest = Expr::binary("%", receiver, divisor, ty.clone());
                Expr::binary("==", rest, one("0"), scalar(Scalar::Bool))
            }
            ("clone", None, None) => receiver,
            _ => return None,
        })
    }

    /// A count of bits, which Rust gives as `u32`.
    fn bits(&self, function: &str, receiver: Expr) -> Expr {
        let ty = receiver.ty.clone();
        let count = Expr::call(function, vec![receiver], ty.clone());
        match self.inference.finish(&ty) {
            Type::Scalar(Scalar::U32) => count,
            _ => Expr::new(ExprKind::Cast(Box::new(count)), Type::Scalar(Scalar::U32)),
        }
    }

    /// The length of an array is a constant; that of a slice comes with the launch.
    fn len(&mut self, call: &syn::ExprMethodCall) -> syn::Result<Expr> {
        let receiver = self.expr(&call.receiver)?;
        let usize_type = Type::Scalar(Scalar::Usize);
        match (self.inference.resolve(&receiver.ty), &receiver.kind) {
            (Type::Array(_, length), _) => match length.parse::<u64>() {
                Ok(_) => Ok(Expr::new(ExprKind::Number(length), usize_type)),
                Err(_) => Ok(Expr::name(length, usize_type)),
            },
            (Type::Slice(_, space), ExprKind::Name(name)) if space != crate::types::Space::Deduced => {
                self.needs.lengths.insert(name.clone());
                Ok(Expr::name(format!("{name}_length"), usize_type))
            }
            _ => {
                refuse(call, "a device function does not know the length of a slice: give it as a parameter")
            }
        }
    }

    fn atomic(&mut self, call: &syn::ExprMethodCall, receiver: Expr) -> syn::Result<Expr> {
        let name = call.method.to_string();
        let Some(&(_, msl, count)) = ATOMICS.iter().find(|(method, ..)| *method == name) else {
            let way = format!(
                "`{name}` is not one of Metal's atomic functions: `fetch_add` and its kin, `load`, `store`, `swap`"
            );
            return Err(syn::Error::new(call.method.span(), way));
        };
        let Type::Atomic(scalar) = self.inference.resolve(&receiver.ty) else {
            return refuse(&call.receiver, format!("`{name}` is a method of `AtomicU32` and `AtomicI32`"));
        };
        if call.args.len() != count + 1 {
            return refuse(call, format!("`{name}` takes {} arguments", count + 1));
        }
        let mut args = vec![Expr::new(ExprKind::Address(Box::new(receiver)), Type::Unknown)];
        for arg in call.args.iter().take(count) {
            let value = self.expr(arg)?;
            self.inference.unify(&value.ty, &Type::Scalar(scalar));
            args.push(value);
        }
        let order = call.args.last();
        let is_relaxed = matches!(
            order,
            Some(syn::Expr::Path(path)) if path.path.segments.last().is_some_and(|last| last.ident == "Relaxed")
        );
        if !is_relaxed {
            return refuse(order, "Metal's atomics are `Ordering::Relaxed`");
        }
        args.push(Expr::name("memory_order_relaxed", Type::Unknown));
        let ty = if name == "store" { Type::Unit } else { Type::Scalar(scalar) };
        Ok(Expr::call(msl, args, ty))
    }
}

/// Why there is no such method, and what to do.
fn advice(name: &str) -> String {
    let way = match name {
        "iter" | "iter_mut" | "into_iter" | "chunks" | "windows" | "enumerate" | "zip" => {
            "device code loops over indices: `for i in 0..n`"
        }
        "sum" | "map" | "fold" | "filter" | "collect" => "write a loop: device code has no iterators",
        "checked_add" | "checked_sub" | "checked_mul" | "overflowing_add" | "checked_div" => {
            "device code has no `Option` and no tuples: compare before, or use `wrapping_` and `saturating_` forms"
        }
        "rem_euclid" | "div_euclid" => "write it out: `((a % b) + b) % b`",
        "hypot" => "write `(x * x + y * y).sqrt()`",
        "sin_cos" => "call `sin` and `cos`",
        "unwrap" | "expect" | "ok" | "is_some" => "device code has no `Option` and no `Result`",
        "push" | "pop" | "to_vec" => "kernels do not allocate",
        "swap" | "sort" | "reverse" | "copy_from_slice" | "fill" => "write a loop over indices",
        "get" | "get_mut" | "first" | "last" => {
            "index the slice: an access out of bounds is an error of the launch"
        }
        "pow" => "write a loop, or convert to `f32` and use `powf`",
        _ => "call a `#[device_fn]` instead",
    };
    format!("device code has no method `{name}`: {way}")
}
