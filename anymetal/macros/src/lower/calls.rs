//! Functions and constants by path: those of device code, and those that every device has.

use quote::ToTokens as _;
use syn::spanned::Spanned as _;

use super::{Lowering, refuse};
use crate::hir::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// Constants of Rust's core: the last words of the path, the type, MSL's spelling.
const CONSTANTS: &[(&str, Scalar, &str)] = &[
    ("f32::INFINITY", Scalar::F32, "INFINITY"),
    ("f32::NEG_INFINITY", Scalar::F32, "(-INFINITY)"),
    ("f32::NAN", Scalar::F32, "NAN"),
    ("f32::MAX", Scalar::F32, "FLT_MAX"),
    ("f32::MIN", Scalar::F32, "(-FLT_MAX)"),
    ("f32::MIN_POSITIVE", Scalar::F32, "FLT_MIN"),
    ("f32::EPSILON", Scalar::F32, "FLT_EPSILON"),
    ("u32::MAX", Scalar::U32, "UINT_MAX"),
    ("u32::MIN", Scalar::U32, "0u"),
    ("u32::BITS", Scalar::U32, "32u"),
    ("i32::MAX", Scalar::I32, "INT_MAX"),
    ("i32::MIN", Scalar::I32, "INT_MIN"),
    ("u64::MAX", Scalar::U64, "ULONG_MAX"),
    ("i64::MAX", Scalar::I64, "LONG_MAX"),
    ("i64::MIN", Scalar::I64, "LONG_MIN"),
    ("usize::MAX", Scalar::Usize, "ULONG_MAX"),
    ("u16::MAX", Scalar::U16, "ushort(USHRT_MAX)"),
    ("u8::MAX", Scalar::U8, "uchar(UCHAR_MAX)"),
    ("i16::MAX", Scalar::I16, "short(SHRT_MAX)"),
    ("i8::MAX", Scalar::I8, "char(CHAR_MAX)"),
    ("consts::PI", Scalar::F32, "M_PI_F"),
    ("consts::E", Scalar::F32, "M_E_F"),
    ("consts::LN_2", Scalar::F32, "M_LN2_F"),
    ("consts::LN_10", Scalar::F32, "M_LN10_F"),
    ("consts::LOG2_E", Scalar::F32, "M_LOG2E_F"),
    ("consts::LOG10_E", Scalar::F32, "M_LOG10E_F"),
    ("consts::SQRT_2", Scalar::F32, "M_SQRT2_F"),
    ("consts::FRAC_PI_2", Scalar::F32, "M_PI_2_F"),
    ("consts::FRAC_PI_4", Scalar::F32, "M_PI_4_F"),
    ("consts::FRAC_1_PI", Scalar::F32, "M_1_PI_F"),
    ("consts::FRAC_2_PI", Scalar::F32, "M_2_PI_F"),
    ("consts::FRAC_1_SQRT_2", Scalar::F32, "M_SQRT1_2_F"),
    ("consts::FRAC_2_SQRT_PI", Scalar::F32, "M_2_SQRTPI_F"),
];

/// What a function of `anymetal::kernel` gives back.
#[derive(Clone, Copy)]
enum Gives {
    Nothing,
    /// The type of the first argument.
    First,
    Scalar(Scalar),
}

/// The functions of `anymetal::kernel` that only devices have, with the number of their arguments.
const DEVICE: &[(&str, usize, Gives)] = &[
    ("simd_sum", 1, Gives::First),
    ("simd_product", 1, Gives::First),
    ("simd_min", 1, Gives::First),
    ("simd_max", 1, Gives::First),
    ("simd_and", 1, Gives::First),
    ("simd_or", 1, Gives::First),
    ("simd_xor", 1, Gives::First),
    ("simd_prefix_inclusive_sum", 1, Gives::First),
    ("simd_prefix_exclusive_sum", 1, Gives::First),
    ("simd_broadcast", 2, Gives::First),
    ("simd_broadcast_first", 1, Gives::First),
    ("simd_shuffle", 2, Gives::First),
    ("simd_shuffle_up", 2, Gives::First),
    ("simd_shuffle_down", 2, Gives::First),
    ("simd_shuffle_xor", 2, Gives::First),
    ("simd_all", 1, Gives::Scalar(Scalar::Bool)),
    ("simd_any", 1, Gives::Scalar(Scalar::Bool)),
    ("simd_is_first", 0, Gives::Scalar(Scalar::Bool)),
    ("quad_sum", 1, Gives::First),
    ("quad_max", 1, Gives::First),
    ("quad_min", 1, Gives::First),
    ("threadgroup_barrier", 1, Gives::Nothing),
    ("simdgroup_barrier", 1, Gives::Nothing),
];

/// The variants of `anymetal::kernel::MemFlags`.
const MEM_FLAGS: &[(&str, &str)] = &[
    ("MemFlags::None", "mem_flags::mem_none"),
    ("MemFlags::Device", "mem_flags::mem_device"),
    ("MemFlags::Threadgroup", "mem_flags::mem_threadgroup"),
    ("MemFlags::DeviceAndThreadgroup", "mem_flags::mem_device | mem_flags::mem_threadgroup"),
];

/// The last two words of a path.
pub(super) fn tail(path: &syn::Path) -> String {
    let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    words[words.len().saturating_sub(2)..].join("::")
}

impl Lowering {
    /// A path of several words that is no function.
    pub(super) fn constant(&mut self, path: &syn::ExprPath) -> syn::Result<Expr> {
        let name = tail(&path.path);
        if let Some((.., scalar, msl)) = CONSTANTS.iter().find(|(known, ..)| *known == name) {
            return Ok(Expr::name(*msl, Type::Scalar(*scalar)));
        }
        if let Some((_, msl)) = MEM_FLAGS.iter().find(|(known, _)| *known == name) {
            return Ok(Expr::name(*msl, Type::Unknown));
        }
        let last = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if last.chars().all(|c| !c.is_lowercase()) && path.qself.is_none() {
            self.needs.constants.insert(last.clone(), path.path.clone());
            return Ok(Expr::name(last, Type::Unknown));
        }
        refuse(path, format!("`{}` is not one of device code", spelled(path)))
    }

    pub(super) fn call(&mut self, call: &syn::ExprCall) -> syn::Result<Expr> {
        let syn::Expr::Path(function) = &*call.func else {
            return refuse(&call.func, "functions are called by their names");
        };
        let Some(last) = function.path.segments.last() else { return refuse(function, "no function") };
        let name = last.ident.to_string();
        let args = call.args.iter().map(|arg| self.expr(arg)).collect::<syn::Result<Vec<_>>>()?;
        if let Some(&(_, count, gives)) = DEVICE.iter().find(|(known, ..)| *known == name) {
            if args.len() != count {
                return refuse(call, format!("`{name}` takes {count} arguments"));
            }
            self.device_only(call.span());
            let ty = match gives {
                Gives::Nothing => Type::Unit,
                Gives::First => args[0].ty.clone(),
                Gives::Scalar(scalar) => Type::Scalar(scalar),
            };
            return Ok(Expr::call(name, args, ty));
        }
        if function.path.segments.len() > 1
            && let Some(known) = self.associated(&function.path, &args)
        {
            return Ok(known);
        }
        if name.chars().next().is_some_and(char::is_uppercase) {
            return refuse(call, format!("`{name}(…)`: device code has structures with named fields only"));
        }
        if self.scopes.find(&name).is_some() {
            return refuse(call, "functions are called by their names, not through variables");
        }
        let template = match &last.arguments {
            syn::PathArguments::AngleBracketed(given) => {
                let mut types = Vec::new();
                for argument in &given.args {
                    types.push(self.template_argument(argument)?);
                }
                format!("<{}>", types.join(", "))
            }
            _ => String::new(),
        };
        let mut path = function.path.clone();
        if let Some(last) = path.segments.last_mut() {
            last.arguments = syn::PathArguments::None;
        }
        self.needs.functions.insert(name.clone(), path);
        Ok(Expr::call(format!("{name}{template}"), args, Type::Unknown))
    }

    fn template_argument(&mut self, argument: &syn::GenericArgument) -> syn::Result<String> {
        match argument {
            syn::GenericArgument::Type(ty) => match Type::from_syn(ty, crate::types::Space::Thread)? {
                Type::Scalar(scalar) => Ok(scalar.msl().to_owned()),
                Type::Named(name) => {
                    self.note_type(&Type::Named(name.clone()));
                    Ok(name)
                }
                _ => refuse(ty, "the arguments of generic device functions are numbers and structures"),
            },
            syn::GenericArgument::Const(value) => crate::types::length(value),
            other => refuse(other, "the arguments of generic device functions are types and numbers"),
        }
    }

    /// Functions of Rust's types, such as `f32::from_bits`.
    fn associated(&mut self, path: &syn::Path, args: &[Expr]) -> Option<Expr> {
        let name = tail(path);
        let first = args.first().cloned();
        let scalar = |scalar| Type::Scalar(scalar);
        Some(match (name.as_str(), first) {
            ("f32::from_bits", Some(bits)) => Expr::call("as_type<float>", vec![bits], scalar(Scalar::F32)),
            ("f32::from", Some(value)) => Expr::new(ExprKind::Cast(Box::new(value)), scalar(Scalar::F32)),
            ("f16::from_f32", Some(value)) => Expr::new(ExprKind::Cast(Box::new(value)), scalar(Scalar::F16)),
            ("bf16::from_f32", Some(value)) => {
                Expr::new(ExprKind::Cast(Box::new(value)), scalar(Scalar::Bf16))
            }
            ("f16::from_bits", Some(bits)) => Expr::call("as_type<half>", vec![bits], scalar(Scalar::F16)),
            (
                "u32::from" | "u64::from" | "i32::from" | "i64::from" | "u16::from" | "i16::from",
                Some(value),
            ) => {
                let to = Scalar::from_rust(name.split("::").next().unwrap_or_default())?;
                Expr::new(ExprKind::Cast(Box::new(value)), scalar(to))
            }
            _ => return None,
        })
    }
}

fn spelled(path: &syn::ExprPath) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
