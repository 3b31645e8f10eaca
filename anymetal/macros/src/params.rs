//! Parameters of kernels: what the launch gives, what a thread is told, what a threadgroup shares.

use quote::ToTokens as _;

use crate::types::{Scalar, Space, Type};

/// Metal's attributes of a thread's position, as parameters have them.
const POSITIONS: &[&str] = &[
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "threads_per_simdgroup",
];

/// What a parameter is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// With Metal's attribute.
    Position(&'static str),
    /// `threadgroup` memory of a length that is known.
    Shared,
    /// `threadgroup` memory of the launch's length.
    SharedDynamic,
    /// `&[T]` and `&mut [T]`.
    Slice,
    /// A number or a structure.
    Value,
}

/// One parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) rust: syn::Ident,
    pub(crate) role: Role,
    pub(crate) ty: Type,
    /// The type as Rust writes it.
    pub(crate) syntax: syn::Type,
    pub(crate) is_mutable: bool,
}

/// Reads the parameters and takes the attributes away that rustc does not know.
pub(crate) fn take(
    inputs: &mut syn::punctuated::Punctuated<syn::FnArg, syn::Token![,]>,
) -> syn::Result<Vec<Param>> {
    let mut params = Vec::new();
    let mut errors: Option<syn::Error> = None;
    for input in inputs.iter_mut() {
        match one(input) {
            Ok(param) => params.push(param),
            Err(error) => match &mut errors {
                Some(all) => all.combine(error),
                None => errors = Some(error),
            },
        }
    }
    errors.map_or(Ok(params), Err)
}

fn one(input: &mut syn::FnArg) -> syn::Result<Param> {
    let syn::FnArg::Typed(param) = input else {
        return Err(syn::Error::new_spanned(input, "a kernel is a function, not a method"));
    };
    let syn::Pat::Ident(name) = &*param.pat else {
        return Err(syn::Error::new_spanned(&param.pat, "a parameter of a kernel has a name"));
    };
    if let Some(mutable) = &name.mutability {
        return Err(syn::Error::new_spanned(mutable, "bind it again in the body: `let mut x = x;`"));
    }
    let rust = name.ident.clone();
    let mut marks = Vec::new();
    param.attrs.retain(|attribute| match attribute.path().get_ident().map(ToString::to_string) {
        Some(word) if word == "threadgroup" || word == "constant" || POSITIONS.contains(&word.as_str()) => {
            marks.push((word, attribute.to_token_stream()));
            false
        }
        _ => true,
    });
    if let Some(attribute) = param.attrs.first() {
        let close = POSITIONS.join("`, `");
        let what = format!("no attribute of a parameter; known are `threadgroup`, `constant`, `{close}`");
        return Err(syn::Error::new_spanned(attribute, what));
    }
    if let Some((_, second)) = marks.get(1) {
        return Err(syn::Error::new_spanned(second, "a parameter has one of these attributes"));
    }
    let mark = marks.first().map(|(word, _)| word.as_str());
    let syntax = (*param.ty).clone();
    let (is_reference, is_mutable) = match &syntax {
        syn::Type::Reference(reference) => (true, reference.mutability.is_some()),
        _ => (false, false),
    };
    let space = match mark {
        Some("threadgroup") => Space::Threadgroup,
        Some("constant") => Space::Constant,
        _ => Space::Device,
    };
    let ty = Type::from_syn(&syntax, space)?;
    let refused = |what: &str| Err(syn::Error::new_spanned(&syntax, what));
    let role = match (mark, &ty) {
        (Some("threadgroup"), Type::Array(..)) if is_reference => Role::Shared,
        (Some("threadgroup"), Type::Slice(..)) if is_reference => Role::SharedDynamic,
        (Some("threadgroup"), _) => {
            return refused("threadgroup memory is `&mut [T; N]`, or `&mut [T]` with a length at the launch");
        }
        (Some("constant"), Type::Slice(..)) if is_mutable => {
            return refused("constant memory is not written");
        }
        (Some("constant"), Type::Slice(..)) => Role::Slice,
        (Some("constant"), _) => {
            return refused("`constant` is for slices; values are in constant memory anyway");
        }
        (Some(word), _) => {
            let is_position = match &ty {
                Type::Scalar(Scalar::U32) => true,
                Type::Array(element, length) => {
                    **element == Type::Scalar(Scalar::U32) && matches!(length.as_str(), "2" | "3")
                }
                _ => false,
            };
            if !is_position || is_reference {
                return refused("a position is `u32`, `[u32; 2]` or `[u32; 3]`");
            }
            Role::Position(POSITIONS.iter().find(|known| **known == word).copied().unwrap_or_default())
        }
        (None, Type::Slice(..)) if is_reference => Role::Slice,
        (None, Type::Scalar(_) | Type::Named(_)) if is_mutable => {
            return refused("a result is a slice: `&mut [T]`, with one element if it is one value");
        }
        (None, Type::Scalar(_) | Type::Named(_)) => Role::Value,
        (None, Type::Array(..)) => {
            return refused("an array as a parameter: take a slice, or mark it `#[threadgroup]`");
        }
        (None, Type::Atomic(_)) => return refused("atomics come in slices: `&[AtomicU32]`"),
        (None, _) => return refused("a parameter is a number, a structure, `&[T]` or `&mut [T]`"),
    };
    Ok(Param { rust, role, ty, syntax, is_mutable })
}
