//! Kernels written in Rust.
//!
//! Use them through `anymetal::kernel`, whose documentation shows how. A function with [`macro@kernel`] stays
//! what it is, for the host, and becomes MSL text with a typed launch. The way: syntax ([`syn`]) → `lower`
//! refuses what device code cannot do → `hir`, typed → `print`.
//!
//! | file | owns |
//! |---|---|
//! | `types` | types, and the inference of those that are left open |
//! | `names` | names that MSL takes, scopes |
//! | `params` | parameters of kernels and their attributes |
//! | `lower` | syntax to `hir` |
//! | `print` | MSL text |
//! | `function` | `#[kernel]` and `#[device_fn]` as a whole |
//! | `generate` | the Rust code of launches |
//! | `structure` | `#[derive(DeviceStruct)]` |

#![forbid(unsafe_code)]

mod function;
mod generate;
mod hir;
mod lower;
mod names;
mod params;
mod print;
mod structure;
mod types;

use proc_macro::TokenStream;

/// A function that each thread of a grid executes.
///
/// Parameters: numbers and structures by value, `&[T]`, `&mut [T]`, `&[AtomicU32]`; threadgroup memory as
/// `#[threadgroup] x: &mut [T; N]`; positions with Metal's attributes, such as
/// `#[thread_position_in_grid] i: u32`. Beside the function there is a module of its name with `source()`,
/// `pipeline(&device)`, `launch(&queue, grid, …)` and, if one thread can run by itself, `host(grid, …)`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(attribute, item, function::kernel)
}

/// A function that kernels call.
#[proc_macro_attribute]
pub fn device_fn(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(attribute, item, function::device_fn)
}

/// A structure with `#[repr(C)]` that kernels read and write.
#[proc_macro_derive(DeviceStruct)]
pub fn device_struct(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    structure::derive(&item).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(
    attribute: TokenStream,
    item: TokenStream,
    expand: fn(syn::ItemFn) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let attribute = proc_macro2::TokenStream::from(attribute);
    if !attribute.is_empty() {
        return syn::Error::new_spanned(attribute, "it takes no options").into_compile_error().into();
    }
    let item = syn::parse_macro_input!(item as syn::ItemFn);
    expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}
