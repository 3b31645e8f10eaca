//! `#[derive(DeviceStruct)]`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::types::{Space, Type};

pub(crate) fn derive(item: &syn::DeriveInput) -> syn::Result<TokenStream> {
    let syn::Data::Struct(data) = &item.data else {
        return Err(syn::Error::new_spanned(item, "kernels have structures, no enumerations: use a number"));
    };
    let syn::Fields::Named(fields) = &data.fields else {
        return Err(syn::Error::new_spanned(item, "the fields of a device structure have names"));
    };
    if let Some(first) = item.generics.params.first() {
        return Err(syn::Error::new_spanned(
            first,
            "a device structure is not generic: write one for each type",
        ));
    }
    let is_c = item.attrs.iter().any(|attribute| {
        let mut found = false;
        if attribute.path().is_ident("repr") {
            let _ = attribute.parse_nested_meta(|meta| {
                found |= meta.path.is_ident("C");
                Ok(())
            });
        }
        found
    });
    if !is_c {
        let what = "a device structure has the layout of C: add `#[repr(C)]`";
        return Err(syn::Error::new_spanned(&item.ident, what));
    }
    let (mut members, mut takes_arrays) = (Vec::new(), false);
    for field in &fields.named {
        let Some(name) = &field.ident else { continue };
        let ty = Type::from_syn(&field.ty, Space::Thread)?;
        if let (syn::Type::Reference(_), _) | (_, Type::Slice(..) | Type::Atomic(_)) = (&field.ty, &ty) {
            return Err(syn::Error::new_spanned(
                &field.ty,
                "the fields of a device structure are numbers, arrays and structures",
            ));
        }
        if matches!(ty, Type::Scalar(crate::types::Scalar::Bool)) {
            return Err(syn::Error::new_spanned(
                &field.ty,
                "a `bool` of a buffer may hold any byte: use `u8` or `u32`",
            ));
        }
        takes_arrays |= matches!(ty, Type::Array(..));
        members.push((name.to_string(), &field.ty));
    }
    let (ident, label) = (&item.ident, item.ident.to_string());
    let defines =
        members.iter().map(|(_, ty)| quote! { <#ty as ::anymetal::kernel::DeviceType>::define(source); });
    let declares = members.iter().map(|(name, ty)| {
        quote! { <#ty as ::anymetal::kernel::DeviceType>::declare(#name) }
    });
    let declares: Vec<TokenStream> = declares.collect();
    let literal = if takes_arrays {
        quote! {}
    } else {
        quote! {
            impl ::anymetal::kernel::DeviceLiteral for #ident {
                fn define_literal(source: &mut ::anymetal::kernel::Source) {
                    <Self as ::anymetal::kernel::DeviceType>::define(source);
                    source.literal(#label, &[#(#declares),*]);
                }
            }
        }
    };
    Ok(quote! {
        impl ::anymetal::kernel::DeviceType for #ident {
            fn declare(name: &str) -> ::std::string::String {
                ::std::format!("{} {name}", #label)
            }

            fn define(source: &mut ::anymetal::kernel::Source) {
                #(#defines)*
                source.structure(#label, &[#(#declares),*]);
            }
        }
        #literal
    })
}
