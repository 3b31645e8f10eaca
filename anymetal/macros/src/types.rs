//! Types of device code, and the inference of those that the source leaves open.
//!
//! rustc checks the types of a kernel: what is inferred here only decides how MSL is spelled. So nothing is
//! refused; two types that do not fit are left as they are, and rustc tells of them.

use proc_macro2::TokenStream;
use quote::ToTokens as _;

/// Rust's scalars that MSL has. Not the runtime's `ScalarType`: a procedural macro is a program for the host
/// that depends on no other crate of the workspace, and `isize` and `usize` are types of their own in Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Isize,
    Usize,
    F16,
    Bf16,
    F32,
}

impl Scalar {
    const NAMES: [(&'static str, Self, &'static str); 14] = [
        ("bool", Self::Bool, "bool"),
        ("i8", Self::I8, "char"),
        ("u8", Self::U8, "uchar"),
        ("i16", Self::I16, "short"),
        ("u16", Self::U16, "ushort"),
        ("i32", Self::I32, "int"),
        ("u32", Self::U32, "uint"),
        ("i64", Self::I64, "long"),
        ("u64", Self::U64, "ulong"),
        ("isize", Self::Isize, "long"),
        ("usize", Self::Usize, "ulong"),
        ("f16", Self::F16, "half"),
        ("bf16", Self::Bf16, "bfloat"),
        ("f32", Self::F32, "float"),
    ];

    pub(crate) fn from_rust(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(rust, ..)| *rust == name).map(|&(_, scalar, _)| scalar)
    }

    pub(crate) fn msl(self) -> &'static str {
        Self::NAMES.iter().find(|(_, scalar, _)| *scalar == self).map_or("", |(.., msl)| msl)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32)
    }

    pub(crate) fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::Usize)
    }

    pub(crate) fn is_wide_integer(self) -> bool {
        matches!(self, Self::I64 | Self::U64 | Self::Isize | Self::Usize)
    }

    /// C++ computes with `int` instead.
    pub(crate) fn is_promoted(self) -> bool {
        matches!(self, Self::I8 | Self::U8 | Self::I16 | Self::U16)
    }
}

/// Where what a reference points to is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Device,
    Constant,
    Threadgroup,
    Thread,
    /// A parameter of a device function: any.
    Deduced,
}

/// A type of device code.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Type {
    Unit,
    Scalar(Scalar),
    /// `AtomicU32` or `AtomicI32`.
    Atomic(Scalar),
    /// The length as it is written.
    Array(Box<Type>, String),
    Slice(Box<Type>, Space),
    /// A structure or a type parameter.
    Named(String),
    /// To be inferred.
    Variable(usize),
    /// Of what this macro cannot see: results of functions and fields of structures.
    Unknown,
}

impl Type {
    pub(crate) fn element(&self) -> Self {
        match self {
            Self::Array(element, _) | Self::Slice(element, _) => (**element).clone(),
            _ => Self::Unknown,
        }
    }

    pub(crate) fn scalar(&self) -> Option<Scalar> {
        if let Self::Scalar(scalar) = self { Some(*scalar) } else { None }
    }

    /// A type as Rust writes it; references count as what they point to.
    pub(crate) fn from_syn(ty: &syn::Type, space: Space) -> syn::Result<Self> {
        let refused = |what: &str| Err(syn::Error::new_spanned(ty, what));
        match ty {
            syn::Type::Paren(inner) => Self::from_syn(&inner.elem, space),
            syn::Type::Group(inner) => Self::from_syn(&inner.elem, space),
            syn::Type::Reference(inner) => Self::from_syn(&inner.elem, space),
            syn::Type::Slice(inner) => Ok(Self::Slice(Box::new(Self::from_syn(&inner.elem, space)?), space)),
            syn::Type::Array(inner) => {
                let element = Self::from_syn(&inner.elem, space)?;
                Ok(Self::Array(Box::new(element), length(&inner.len)?))
            }
            syn::Type::Tuple(inner) if inner.elems.is_empty() => Ok(Self::Unit),
            syn::Type::Tuple(_) => {
                refused("kernels have no tuples: use a structure with `#[derive(DeviceStruct)]`, or an array")
            }
            syn::Type::Infer(_) => Ok(Self::Unknown),
            syn::Type::Path(path) => Self::from_path(path),
            syn::Type::Ptr(_) => refused("kernels have no raw pointers: use a slice `&[T]` or `&mut [T]`"),
            syn::Type::BareFn(_) | syn::Type::ImplTrait(_) | syn::Type::TraitObject(_) => {
                refused("kernels call functions directly: write a `#[device_fn]` and call it by its name")
            }
            _ => refused("this type is not one of device code"),
        }
    }

    fn from_path(path: &syn::TypePath) -> syn::Result<Self> {
        let refused = |what: String| Err(syn::Error::new_spanned(path, what));
        let Some(last) = path.path.segments.last() else { return refused("no type".to_owned()) };
        let name = last.ident.to_string();
        match name.as_str() {
            "f64" => refused("Metal has no `f64`: use `f32`".to_owned()),
            "i128" | "u128" => refused(format!("Metal has no `{name}`: use two `u64`")),
            "char" | "str" | "String" => {
                refused(format!("kernels have no text: `{name}` is not a device type"))
            }
            "Vec" | "Box" | "Rc" | "Arc" | "HashMap" => refused(format!(
                "kernels do not allocate: instead of `{name}` use an array or a slice parameter"
            )),
            "Option" | "Result" => {
                refused(format!("kernels have no `{name}`: return the value and a flag, or use a sentinel"))
            }
            "AtomicU32" => Ok(Self::Atomic(Scalar::U32)),
            "AtomicI32" => Ok(Self::Atomic(Scalar::I32)),
            _ if name.starts_with("Atomic") => {
                refused(format!("Metal's atomics are `AtomicU32` and `AtomicI32`, not `{name}`"))
            }
            _ if !last.arguments.is_empty() => {
                refused("generic structures are not supported: write one structure for each type".to_owned())
            }
            _ => Ok(Scalar::from_rust(&name).map_or(Self::Named(name), Self::Scalar)),
        }
    }
}

/// The length of an array, as MSL text.
pub(crate) fn length(expr: &syn::Expr) -> syn::Result<String> {
    match expr {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(value), .. }) => {
            Ok(value.base10_digits().to_owned())
        }
        syn::Expr::Path(path) if path.path.get_ident().is_some() => Ok(path.to_token_stream().to_string()),
        syn::Expr::Block(block) if block.block.stmts.len() == 1 => match &block.block.stmts[0] {
            syn::Stmt::Expr(inner, None) => length(inner),
            _ => Err(syn::Error::new_spanned(expr, LENGTH)),
        },
        _ => Err(syn::Error::new_spanned(expr, LENGTH)),
    }
}

const LENGTH: &str = "the length of an array in device code is a number or the name of a constant";

/// What is known of a type that is to be inferred.
#[derive(Clone, Debug)]
enum Slot {
    Open,
    Integer,
    Float,
    Known(Type),
    Same(usize),
}

/// The types that are to be inferred.
#[derive(Default, Debug)]
pub(crate) struct Inference {
    slots: Vec<Slot>,
}

impl Inference {
    fn add(&mut self, slot: Slot) -> Type {
        self.slots.push(slot);
        Type::Variable(self.slots.len() - 1)
    }

    pub(crate) fn open(&mut self) -> Type {
        self.add(Slot::Open)
    }

    /// Of a literal without a suffix.
    pub(crate) fn integer(&mut self) -> Type {
        self.add(Slot::Integer)
    }

    pub(crate) fn float(&mut self) -> Type {
        self.add(Slot::Float)
    }

    fn root(&self, mut variable: usize) -> usize {
        while let Slot::Same(next) = self.slots[variable] {
            variable = next;
        }
        variable
    }

    /// What is known so far; a variable if nothing is.
    pub(crate) fn resolve(&self, ty: &Type) -> Type {
        match ty {
            Type::Variable(variable) => {
                let root = self.root(*variable);
                match &self.slots[root] {
                    Slot::Known(known) => self.resolve(known),
                    _ => Type::Variable(root),
                }
            }
            Type::Array(element, length) => Type::Array(Box::new(self.resolve(element)), length.clone()),
            Type::Slice(element, space) => Type::Slice(Box::new(self.resolve(element)), *space),
            other => other.clone(),
        }
    }

    /// The final type: literals that nothing decides are `i32` and `f32`, as in Rust.
    pub(crate) fn finish(&self, ty: &Type) -> Type {
        match self.resolve(ty) {
            Type::Variable(root) => match self.slots[root] {
                Slot::Integer => Type::Scalar(Scalar::I32),
                Slot::Float => Type::Scalar(Scalar::F32),
                _ => Type::Unknown,
            },
            Type::Array(element, length) => Type::Array(Box::new(self.finish(&element)), length),
            Type::Slice(element, space) => Type::Slice(Box::new(self.finish(&element)), space),
            other => other,
        }
    }

    /// The two are one type.
    pub(crate) fn unify(&mut self, a: &Type, b: &Type) {
        match (self.resolve(a), self.resolve(b)) {
            (Type::Unknown, _) | (_, Type::Unknown) => {}
            (Type::Variable(a), Type::Variable(b)) if a == b => {}
            (Type::Variable(a), Type::Variable(b)) => {
                let keeps_a = !matches!(self.slots[a], Slot::Open);
                let (from, to) = if keeps_a { (b, a) } else { (a, b) };
                self.slots[from] = Slot::Same(to);
            }
            (Type::Variable(variable), known) | (known, Type::Variable(variable)) => {
                self.slots[variable] = Slot::Known(known);
            }
            (Type::Array(a, _) | Type::Slice(a, _), Type::Array(b, _) | Type::Slice(b, _)) => {
                self.unify(&a, &b);
            }
            _ => {}
        }
    }
}

/// The Rust tokens of a type without its references.
pub(crate) fn pointee(ty: &syn::Type) -> TokenStream {
    match ty {
        syn::Type::Reference(inner) => pointee(&inner.elem),
        syn::Type::Paren(inner) => pointee(&inner.elem),
        syn::Type::Group(inner) => pointee(&inner.elem),
        syn::Type::Slice(inner) => inner.elem.to_token_stream(),
        other => other.to_token_stream(),
    }
}
