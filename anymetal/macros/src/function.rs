//! `#[kernel]` and `#[device_fn]` as a whole: signature, body, text, generated module.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::visit_mut::VisitMut;

use crate::generate;
use crate::lower::{Lowering, Needs};
use crate::params::{self, Param, Role};
use crate::print::{Printer, declaration, spell};
use crate::types::{Space, Type};

/// A type or constant parameter of a function.
#[derive(Clone, Debug)]
pub(crate) enum Generic {
    Type(syn::Ident),
    Const(syn::Ident, Box<syn::Type>),
}

/// A function that is lowered, with all that its module needs.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// MSL text of the function itself.
    pub(crate) text: String,
    pub(crate) needs: Needs,
    pub(crate) literals: BTreeSet<String>,
    pub(crate) generics: Vec<Generic>,
}

/// The code for a kernel.
pub(crate) fn kernel(mut item: syn::ItemFn) -> syn::Result<TokenStream> {
    plain_signature(&item.sig)?;
    if !matches!(item.sig.output, syn::ReturnType::Default) {
        return Err(syn::Error::new_spanned(
            &item.sig.output,
            "a kernel returns nothing: write its results to a `&mut [T]`",
        ));
    }
    let generics = generics(&item.sig)?;
    let params = params::take(&mut item.sig.inputs)?;
    let mut lowering = Lowering { generics: names(&generics), ..Lowering::default() };
    let named: Vec<String> = params
        .iter()
        .map(|param| {
            lowering.note_type(&param.ty);
            lowering.scopes.declare(&param.rust.to_string(), param.ty.clone())
        })
        .collect();
    let body = lowering.body(&item.block);
    check(&mut lowering)?;
    let mut printer = Printer::new(&lowering.inference);
    let mut slots = Slots::default();
    let declared: Vec<String> =
        params.iter().zip(&named).filter_map(|(param, name)| slots.declare(param, name)).collect();
    let lengths = lowering.needs.lengths.iter().map(|name| slots.length(name));
    let declared: Vec<String> = declared.into_iter().chain(lengths).collect();
    let head = format!("kernel void {}(", item.sig.ident);
    let between = format!(",\n{}", " ".repeat(head.len()));
    printer.line(&format!("{head}{}) {{", declared.join(&between)));
    let shared: Vec<String> = params
        .iter()
        .zip(&named)
        .filter(|(param, _)| param.role == Role::Shared)
        .map(|(param, name)| format!("    threadgroup {};", declaration(&param.ty, name)))
        .collect();
    shared.iter().for_each(|line| printer.line(line));
    printer.body(&body);
    printer.line("}");
    let text = printer.finish();
    add_guards(&mut item, &lowering);
    let Lowering { needs, literals, .. } = lowering;
    let lowered = Lowered { text, needs, literals, generics };
    let module = generate::kernel_module(&item, &params, &named, &lowered);
    Ok(quote! {
        #[allow(
            dead_code, clippy::too_many_arguments, clippy::needless_range_loop, clippy::ptr_arg,
            reason = "device code: the host may never call it"
        )]
        #item
        #module
    })
}

/// The code for a device function.
pub(crate) fn device_fn(mut item: syn::ItemFn) -> syn::Result<TokenStream> {
    plain_signature(&item.sig)?;
    let generics = generics(&item.sig)?;
    let mut lowering = Lowering { generics: names(&generics), ..Lowering::default() };
    let result = match &item.sig.output {
        syn::ReturnType::Default => Type::Unit,
        syn::ReturnType::Type(_, ty) => Type::from_syn(ty, Space::Thread)?,
    };
    if let Type::Array(..) | Type::Slice(..) = result {
        return Err(syn::Error::new_spanned(
            &item.sig.output,
            "a device function returns a number or a structure: write arrays through a `&mut [T]`",
        ));
    }
    lowering.note_type(&result);
    lowering.result = (result != Type::Unit).then(|| result.clone());
    let mut templates: Vec<String> = Vec::new();
    for generic in &generics {
        match generic {
            Generic::Type(name) => templates.push(format!("typename {name}")),
            Generic::Const(name, ty) => {
                let ty = Type::from_syn(ty, Space::Thread)?;
                templates.push(format!("{} {name}", spell(&ty)));
            }
        }
    }
    let mut declared = Vec::new();
    for input in &item.sig.inputs {
        let (name, ty, is_mutable) = function_param(input)?;
        lowering.note_type(&ty);
        let msl = lowering.scopes.declare(&name.to_string(), ty.clone());
        declared.push(match &ty {
            Type::Slice(..) | Type::Array(..) => {
                // In whatever memory it is.
                let pointer = format!("{}_pointer", name.to_string().to_uppercase());
                templates.push(format!("typename {pointer}"));
                format!("{pointer} {msl}")
            }
            _ if is_mutable => format!("thread {}& {msl}", spell(&ty)),
            _ => format!("{} {msl}", spell(&ty)),
        });
    }
    let body = lowering.body(&item.block);
    check(&mut lowering)?;
    let mut printer = Printer::new(&lowering.inference);
    if !templates.is_empty() {
        printer.line(&format!("template <{}>", templates.join(", ")));
    }
    let name = item.sig.ident.clone();
    printer.line(&format!("{} {name}({}) {{", spell(&result), declared.join(", ")));
    printer.body(&body);
    printer.line("}");
    let text = printer.finish();
    add_guards(&mut item, &lowering);
    let Lowering { needs, literals, .. } = lowering;
    let lowered = Lowered { text, needs, literals, generics };
    let module = generate::function_module(&item, &lowered);
    Ok(quote! {
        #[allow(
            dead_code, clippy::too_many_arguments, clippy::needless_range_loop, clippy::ptr_arg,
            reason = "device code: the host may never call it"
        )]
        #item
        #module
    })
}

fn function_param(input: &syn::FnArg) -> syn::Result<(syn::Ident, Type, bool)> {
    let syn::FnArg::Typed(param) = input else {
        return Err(syn::Error::new_spanned(input, "a device function is a function, not a method"));
    };
    let syn::Pat::Ident(name) = &*param.pat else {
        return Err(syn::Error::new_spanned(&param.pat, "a parameter of a device function has a name"));
    };
    if let Some(mutable) = &name.mutability {
        return Err(syn::Error::new_spanned(mutable, "bind it again in the body: `let mut x = x;`"));
    }
    let ty = Type::from_syn(&param.ty, Space::Deduced)?;
    let is_reference = matches!(&*param.ty, syn::Type::Reference(_));
    match &ty {
        Type::Array(..) if !is_reference => Err(syn::Error::new_spanned(
            &param.ty,
            "an array is given by reference: `&[T; N]` or `&mut [T; N]`",
        )),
        Type::Atomic(_) => {
            Err(syn::Error::new_spanned(&param.ty, "atomics come in slices: `&[AtomicU32]` and an index"))
        }
        _ => {
            let is_mutable =
                matches!(&*param.ty, syn::Type::Reference(reference) if reference.mutability.is_some());
            Ok((name.ident.clone(), ty, is_mutable))
        }
    }
}

/// Metal's indices in the order of the parameters.
#[derive(Default)]
struct Slots {
    buffers: u32,
    threadgroup: u32,
}

impl Slots {
    /// The parameter in MSL; none for static threadgroup memory.
    fn declare(&mut self, param: &Param, name: &str) -> Option<String> {
        let mut buffer = |text: String| {
            self.buffers += 1;
            Some(format!("{text} [[buffer({})]]", self.buffers - 1))
        };
        let element = spell(&param.ty);
        match &param.role {
            Role::Shared => None,
            Role::SharedDynamic => {
                self.threadgroup += 1;
                Some(format!("threadgroup {element}* {name} [[threadgroup({})]]", self.threadgroup - 1))
            }
            Role::Value => buffer(format!("constant {element}& {name}")),
            Role::Slice => {
                let is_atomic = matches!(param.ty.element(), Type::Atomic(_));
                let space = match &param.ty {
                    Type::Slice(_, Space::Constant) => "constant ",
                    _ if param.is_mutable || is_atomic => "device ",
                    _ => "device const ",
                };
                buffer(format!("{space}{element}* {name}"))
            }
            Role::Position(attribute) => {
                let count = match &param.ty {
                    Type::Array(_, length) => length.as_str(),
                    _ => "",
                };
                Some(format!("uint{count} {name} [[{attribute}]]"))
            }
        }
    }

    fn length(&mut self, name: &str) -> String {
        self.buffers += 1;
        format!("constant ulong& {name}_length [[buffer({})]]", self.buffers - 1)
    }
}

fn plain_signature(signature: &syn::Signature) -> syn::Result<()> {
    let refused = |at: &dyn quote::ToTokens, what: &str| {
        let mut tokens = TokenStream::new();
        at.to_tokens(&mut tokens);
        Err(syn::Error::new_spanned(tokens, what))
    };
    if let Some(asyncness) = &signature.asyncness {
        return refused(asyncness, "kernels do not wait: device code is not async");
    }
    if let Some(unsafety) = &signature.unsafety {
        return refused(unsafety, "device code is safe Rust: leave `unsafe` away");
    }
    if let Some(abi) = &signature.abi {
        return refused(abi, "device code has no ABI of its own");
    }
    if let Some(variadic) = &signature.variadic {
        return refused(variadic, "device code has no variadic functions");
    }
    Ok(())
}

fn generics(signature: &syn::Signature) -> syn::Result<Vec<Generic>> {
    let one = |param: &syn::GenericParam| match param {
        syn::GenericParam::Type(param) => Ok(Generic::Type(param.ident.clone())),
        syn::GenericParam::Const(param) => {
            Ok(Generic::Const(param.ident.clone(), Box::new(param.ty.clone())))
        }
        syn::GenericParam::Lifetime(param) => {
            Err(syn::Error::new_spanned(param, "device code needs no lifetimes: leave them away"))
        }
    };
    signature.generics.params.iter().map(one).collect()
}

fn names(generics: &[Generic]) -> BTreeSet<String> {
    let name = |generic: &Generic| match generic {
        Generic::Type(name) | Generic::Const(name, _) => name.to_string(),
    };
    generics.iter().map(name).collect()
}

/// All that was refused, as one error.
fn check(lowering: &mut Lowering) -> syn::Result<()> {
    let open: Vec<Span> = lowering
        .untyped
        .iter()
        .filter(|(ty, _)| has_unknown(&lowering.inference.finish(ty)))
        .map(|(_, span)| *span)
        .collect();
    let open = open.into_iter().map(|span| {
        syn::Error::new(
            span,
            "write its type: it comes from what this macro cannot see, and has no value here",
        )
    });
    let mut errors = std::mem::take(&mut lowering.errors).into_iter().chain(open);
    let Some(mut first) = errors.next() else { return Ok(()) };
    errors.for_each(|error| first.combine(error));
    Err(first)
}

fn has_unknown(ty: &Type) -> bool {
    match ty {
        Type::Unknown => true,
        Type::Array(element, _) => has_unknown(element),
        _ => false,
    }
}

/// Lets rustc refuse sums and products of small integers that the macro could not see.
fn add_guards(item: &mut syn::ItemFn, lowering: &Lowering) {
    let is_open = |guard: &&crate::lower::Guard| {
        matches!(lowering.inference.finish(&guard.operand), Type::Unknown | Type::Named(_))
    };
    let open: BTreeSet<usize> = lowering.guards.iter().filter(is_open).map(|guard| guard.expr).collect();
    if !open.is_empty() {
        Guards { open }.visit_block_mut(&mut item.block);
    }
}

struct Guards {
    /// Addresses of expressions.
    open: BTreeSet<usize>,
}

impl VisitMut for Guards {
    fn visit_expr_binary_mut(&mut self, binary: &mut syn::ExprBinary) {
        let is_open = self.open.contains(&(std::ptr::from_ref(binary) as usize));
        syn::visit_mut::visit_expr_binary_mut(self, binary);
        if is_open {
            guard(&mut binary.left);
        }
    }

    fn visit_expr_unary_mut(&mut self, unary: &mut syn::ExprUnary) {
        let is_open = self.open.contains(&(std::ptr::from_ref(unary) as usize));
        syn::visit_mut::visit_expr_unary_mut(self, unary);
        if is_open {
            guard(&mut unary.expr);
        }
    }
}

fn guard(operand: &mut syn::Expr) {
    let wide = format_ident!("wide", span = operand.span());
    let inner = operand.clone();
    *operand = syn::parse_quote_spanned!(operand.span() => ::anymetal::kernel::#wide(#inner));
}
