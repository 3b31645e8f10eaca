//! The Rust code beside a kernel: its source, its pipeline, its launch, its form for the host.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::function::{Generic, Lowered};
use crate::params::{Param, Role};
use crate::types::{Scalar, Type, pointee};

/// Statements that put everything into `source` that the text needs.
fn needs(lowered: &Lowered) -> TokenStream {
    let constants =
        lowered.needs.constants.iter().map(|(name, path)| quote! { source.constant(#name, #path); });
    let types = lowered.needs.types.values().map(|path| {
        quote! { <#path as ::anymetal::kernel::DeviceType>::define(source); }
    });
    let literals = lowered.literals.iter().map(|name| {
        let name = format_ident!("{name}");
        quote! { <#name as ::anymetal::kernel::DeviceLiteral>::define_literal(source); }
    });
    let functions =
        lowered.needs.functions.values().map(|path| quote! { source.function(&#path::DEVICE_FUNCTION); });
    quote! { #(#constants)* #(#types)* #(#literals)* #(#functions)* }
}

/// The module of a device function.
pub(crate) fn function_module(item: &syn::ItemFn, lowered: &Lowered) -> TokenStream {
    let (visibility, name, text) = (&item.vis, &item.sig.ident, &lowered.text);
    let (needs, label) = (needs(lowered), name.to_string());
    quote! {
        #[doc(hidden)]
        #[allow(unused_imports, reason = "what the function needs is found where it is")]
        #visibility mod #name {
            use super::*;
            /// The function for devices.
            pub const DEVICE_FUNCTION: ::anymetal::kernel::DeviceFunction =
                ::anymetal::kernel::DeviceFunction::new(#label, #text, |source| { #needs });
        }
    }
}

/// One parameter of `launch`, and how it is bound.
struct Bound {
    declared: TokenStream,
    bind: TokenStream,
}

fn bound(param: &Param) -> Option<Bound> {
    let (name, element) = (&param.rust, pointee(&param.syntax));
    Some(match &param.role {
        Role::Position(_) | Role::Shared => return None,
        Role::SharedDynamic => Bound { declared: quote! { #name: usize }, bind: TokenStream::new() },
        Role::Slice => {
            let element = match param.ty.element() {
                Type::Atomic(Scalar::I32) => quote! { i32 },
                Type::Atomic(_) => quote! { u32 },
                _ => element,
            };
            Bound {
                declared: quote! { #name: &impl ::anymetal::kernel::DeviceSlice<#element> },
                bind: quote! { .arg(#name) },
            }
        }
        Role::Value => {
            let bind = match param.ty {
                Type::Scalar(Scalar::Usize) => quote! { .arg(#name as u64) },
                Type::Scalar(Scalar::Isize) => quote! { .arg(#name as i64) },
                _ => quote! { .arg(::anymetal::kernel::Inline(&#name)) },
            };
            Bound { declared: quote! { #name: #element }, bind }
        }
    })
}

/// The module of a kernel.
pub(crate) fn kernel_module(
    item: &syn::ItemFn,
    params: &[Param],
    named: &[String],
    lowered: &Lowered,
) -> TokenStream {
    let (visibility, name, text) = (&item.vis, &item.sig.ident, &lowered.text);
    let label = name.to_string();
    let (impl_generics, _, where_clause) = item.sig.generics.split_for_impl();
    let arguments = lowered.generics.iter().map(|generic| match generic {
        Generic::Type(name) | Generic::Const(name, _) => name,
    });
    let turbofish = if lowered.generics.is_empty() {
        quote! {}
    } else {
        quote! { ::<#(#arguments),*> }
    };
    let aliases = lowered.generics.iter().map(|generic| match generic {
        Generic::Type(name) => {
            let label = name.to_string();
            quote! { source.alias::<#name>(#label); }
        }
        Generic::Const(name, _) => {
            let label = name.to_string();
            quote! { source.constant(#label, #name); }
        }
    });
    let needs = needs(lowered);
    let bound: Vec<Bound> = params.iter().filter_map(bound).collect();
    let (declared, binds): (Vec<_>, Vec<_>) =
        bound.into_iter().map(|bound| (bound.declared, bound.bind)).unzip();
    let lengths = lowered.needs.lengths.iter().filter_map(|msl| {
        let param = params.iter().zip(named).find(|(_, name)| *name == msl)?.0;
        let (name, element) = (&param.rust, slice_element(param));
        Some(quote! { .arg(::anymetal::kernel::DeviceSlice::<#element>::elements(#name) as u64) })
    });
    let memory =
        params.iter().filter(|param| param.role == Role::SharedDynamic).enumerate().map(|(n, param)| {
            let (name, element, n) = (&param.rust, pointee(&param.syntax), n as u32);
            quote! { .threadgroup_memory(#n, (#name * ::core::mem::size_of::<#element>()) as u64) }
        });
    let host = host(item, params, lowered, &turbofish);
    let doc = format!("The kernel `{label}` for devices.");
    quote! {
        #[doc = #doc]
        #[allow(
            unused_imports, clippy::too_many_arguments, clippy::unnecessary_cast,
            reason = "what the kernel needs is found where it is"
        )]
        #visibility mod #name {
            use super::*;

            /// The text in MSL.
            pub fn source #impl_generics () -> ::std::string::String #where_clause {
                let mut text = ::anymetal::kernel::Source::default();
                let source = &mut text;
                #(#aliases)*
                #needs
                text.finish(#text)
            }

            /// The pipeline on a device; made once for each.
            pub fn pipeline #impl_generics (device: &::anymetal::Device)
                -> ::core::result::Result<::anymetal::Pipeline, ::anymetal::Error> #where_clause {
                static PIPELINES: ::anymetal::kernel::Pipelines = ::anymetal::kernel::Pipelines::new();
                let instance = ::core::any::type_name_of_val(&source #turbofish);
                PIPELINES.get(device, instance, #label, source #turbofish)
            }

            /// Hands a launch to the queue.
            pub fn launch #impl_generics (
                queue: &::anymetal::Queue,
                grid: impl ::core::convert::Into<::anymetal::kernel::LaunchGrid>,
                #(#declared),*
            ) -> ::core::result::Result<::anymetal::Submission, ::anymetal::Error> #where_clause {
                let pipeline = pipeline #turbofish (queue.device())?;
                let launch = queue.launch(&pipeline) #(#binds)* #(#lengths)* #(#memory)*;
                grid.into().of(launch).submit()
            }

            #host
        }
    }
}

fn slice_element(param: &Param) -> TokenStream {
    match param.ty.element() {
        Type::Atomic(Scalar::I32) => quote! { i32 },
        Type::Atomic(_) => quote! { u32 },
        _ => pointee(&param.syntax),
    }
}

/// The function for all threads of a grid, one after the other, if one thread can run by itself.
fn host(item: &syn::ItemFn, params: &[Param], lowered: &Lowered, turbofish: &TokenStream) -> TokenStream {
    let alone = params.iter().all(|param| match &param.role {
        Role::Position(attribute) => matches!(*attribute, "thread_position_in_grid" | "threads_per_grid"),
        Role::Shared | Role::SharedDynamic => false,
        Role::Slice | Role::Value => true,
    });
    if !alone || lowered.needs.device_only.is_some() {
        return TokenStream::new();
    }
    let name = &item.sig.ident;
    let (impl_generics, _, where_clause) = item.sig.generics.split_for_impl();
    let declared = params.iter().filter(|param| !matches!(param.role, Role::Position(_))).map(|param| {
        let (name, ty) = (&param.rust, &param.syntax);
        quote! { #name: #ty }
    });
    let given = params.iter().map(|param| {
        let name = &param.rust;
        match &param.role {
            Role::Position(attribute) => {
                let all = if *attribute == "threads_per_grid" {
                    quote! { size }
                } else {
                    quote! { at }
                };
                match &param.ty {
                    Type::Array(_, length) if length == "2" => quote! { [#all[0], #all[1]] },
                    Type::Array(..) => quote! { #all },
                    _ => quote! { #all[0] },
                }
            }
            Role::Slice if param.is_mutable => quote! { &mut *#name },
            _ => quote! { #name },
        }
    });
    let given: Vec<TokenStream> = given.collect();
    quote! {
        /// Runs all threads of the grid on the host, one after the other.
        pub fn host #impl_generics (
            grid: impl ::core::convert::Into<::anymetal::Extent>,
            #(#declared),*
        ) -> ::core::result::Result<(), ::anymetal::Error> #where_clause {
            let size = grid.into().to_array()?;
            ::anymetal::kernel::for_each_thread(size, |at| super::#name #turbofish (#(#given),*));
            Ok(())
        }
    }
}
