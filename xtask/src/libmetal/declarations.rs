//! What `objc2-metal` declares, read from its source, which is generated and so of a regular form.

use std::collections::BTreeMap;

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, FnArg, Ident, Item, Pat, Signature, Token, Type, TypeParamBound, Visibility};

/// Everything, by kind, in the source's order or by name.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) enumerations: Vec<Enumeration>,
    pub(crate) structures: Vec<Structure>,
    pub(crate) aliases: Vec<(String, Type)>,
    pub(crate) numbers: Vec<(String, Expr)>,
    pub(crate) variables: Vec<(String, Type)>,
    pub(crate) makers: Vec<Maker>,
    pub(crate) protocols: BTreeMap<String, Interface>,
    pub(crate) classes: BTreeMap<String, Interface>,
}

/// An enumeration or a set of options: its type in Rust, and its constants.
pub(crate) struct Enumeration {
    pub(crate) name: String,
    pub(crate) underlying: Type,
    pub(crate) constants: Vec<Constant>,
}

/// A constant: its name in Rust, in C, and its value.
pub(crate) struct Constant {
    pub(crate) rust_name: String,
    pub(crate) name: String,
    pub(crate) value: Expr,
}

pub(crate) struct Structure {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, Type)>,
}

/// A function that makes a structure of its fields: its name, parameters and the structure.
pub(crate) struct Maker {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, Type)>,
    pub(crate) made: String,
}

/// A protocol or class.
#[derive(Default)]
pub(crate) struct Interface {
    /// The superclass; of a protocol none.
    pub(crate) superclass: Option<String>,
    pub(crate) protocols: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

pub(crate) struct Method {
    /// As `objc2` writes it: an error that becomes the result is `error:_`.
    pub(crate) selector: String,
    pub(crate) is_optional: bool,
    pub(crate) of_class: bool,
    pub(crate) parameters: Vec<(String, Type)>,
    pub(crate) result: Option<Type>,
}

impl Method {
    /// The selector.
    pub(crate) fn name(&self) -> &str {
        self.selector.strip_suffix('_').filter(|_| self.has_error()).unwrap_or(&self.selector)
    }

    /// Whether the last argument is a place for an error.
    pub(crate) fn has_error(&self) -> bool {
        self.selector.ends_with(":_")
    }
}

impl Declarations {
    /// Adds what a file declares.
    pub(crate) fn read(&mut self, source: &str) -> syn::Result<()> {
        self.read_makers(source);
        for item in syn::parse_file(source)?.items {
            match item {
                Item::Macro(item) => self.read_macro(&item.mac)?,
                Item::Struct(item) => self.read_structure(&item),
                Item::Impl(item) => self.read_implementation(item)?,
                Item::Type(item) => self.aliases.push((item.ident.to_string(), *item.ty)),
                Item::Const(item) => self.numbers.push((item.ident.to_string(), *item.expr)),
                Item::Static(item) => self.numbers.push((item.ident.to_string(), *item.expr)),
                Item::ForeignMod(item) => self.read_variables(item.items),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_macro(&mut self, found: &syn::Macro) -> syn::Result<()> {
        let name = found.path.segments.last().map(|segment| segment.ident.to_string());
        match name.as_deref() {
            Some("extern_protocol") => {
                let item: syn::ItemTrait = syn::parse2(found.tokens.clone())?;
                let interface = self.protocols.entry(item.ident.to_string()).or_default();
                interface.protocols = item.supertraits.iter().filter_map(protocol_name).collect();
                for method in item.items {
                    if let syn::TraitItem::Fn(method) = method {
                        interface.methods.extend(self::method(&method.attrs, &method.sig));
                    }
                }
            }
            Some("extern_class") => {
                let item: syn::ItemStruct = syn::parse2(found.tokens.clone())?;
                self.classes.entry(item.ident.to_string()).or_default().superclass = superclass(&item.attrs);
            }
            Some("extern_conformance") => {
                let item: syn::ItemImpl = syn::parse2(found.tokens.clone())?;
                if let (Some((_, path, _)), Some(class)) = (&item.trait_, type_name(&item.self_ty)) {
                    let protocol = path.segments.last().map(|segment| segment.ident.to_string());
                    let protocols = &mut self.classes.entry(class).or_default().protocols;
                    protocols.extend(protocol.filter(|name| name != "NSObjectProtocol"));
                }
            }
            Some("bitflags") => {
                let Options(options) = syn::parse2(found.tokens.clone())?;
                // Its type was declared before.
                let declared = self.enumerations.iter_mut().find(|known| known.name == options.name);
                match declared {
                    Some(declared) => declared.constants.extend(options.constants),
                    None => self.enumerations.push(options),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read_structure(&mut self, item: &syn::ItemStruct) {
        let name = item.ident.to_string();
        match &item.fields {
            syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let underlying = fields.unnamed[0].ty.clone();
                self.enumerations.push(Enumeration { name, underlying, constants: Vec::new() });
            }
            syn::Fields::Named(fields) => {
                let field = |field: &syn::Field| Some((field.ident.as_ref()?.to_string(), field.ty.clone()));
                let fields = fields.named.iter().filter_map(field).collect();
                self.structures.push(Structure { name, fields });
            }
            _ => {}
        }
    }

    fn read_implementation(&mut self, item: syn::ItemImpl) -> syn::Result<()> {
        let (None, Some(name)) = (&item.trait_, type_name(&item.self_ty)) else { return Ok(()) };
        for member in item.items {
            match member {
                syn::ImplItem::Macro(found) if found.mac.path.is_ident("extern_methods") => {
                    let Methods(methods) = syn::parse2(found.mac.tokens)?;
                    self.classes.entry(name.clone()).or_default().methods.extend(methods);
                }
                syn::ImplItem::Const(constant) => {
                    let Some(alias) = documented_alias(&constant.attrs) else { continue };
                    let rust_name = constant.ident.to_string();
                    let owner = self.enumerations.iter_mut().find(|known| known.name == name);
                    if let Some(owner) = owner {
                        owner.constants.push(Constant { rust_name, name: alias, value: constant.expr });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_variables(&mut self, items: Vec<syn::ForeignItem>) {
        for item in items {
            if let syn::ForeignItem::Static(item) = item {
                self.variables.push((item.ident.to_string(), *item.ty));
            }
        }
    }

    /// Functions that are inline in C stand in the source as remarks.
    fn read_makers(&mut self, source: &str) {
        let marked = source.lines().filter_map(|line| line.trim().strip_prefix("// TODO: pub fn "));
        for line in marked {
            let function = format!("fn {}", line.trim_end_matches(';'));
            let Ok(signature) = syn::parse_str::<Signature>(&function) else { continue };
            let syn::ReturnType::Type(_, made) = &signature.output else { continue };
            if let Some(made) = type_name(made) {
                let name = signature.ident.to_string();
                self.makers.push(Maker { name, parameters: parameters(&signature), made });
            }
        }
    }
}

/// The body of `bitflags!`.
struct Options(Enumeration);

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        input.parse::<Token![impl]>()?;
        let name = input.parse::<Ident>()?.to_string();
        input.parse::<Token![:]>()?;
        let underlying = input.parse()?;
        let body;
        syn::braced!(body in input);
        let mut constants = Vec::new();
        while !body.is_empty() {
            let attributes = body.call(Attribute::parse_outer)?;
            body.parse::<Token![const]>()?;
            let rust_name = body.parse::<Ident>()?.to_string();
            body.parse::<Token![=]>()?;
            let value = body.parse()?;
            body.parse::<Token![;]>()?;
            if let Some(name) = documented_alias(&attributes) {
                constants.push(Constant { rust_name, name, value });
            }
        }
        Ok(Options(Enumeration { name, underlying, constants }))
    }
}

/// The body of `extern_methods!`.
struct Methods(Vec<Method>);

impl Parse for Methods {
    fn parse(input: ParseStream<'_>) -> syn::Result<Methods> {
        let mut methods = Vec::new();
        while !input.is_empty() {
            let attributes = input.call(Attribute::parse_outer)?;
            input.parse::<Visibility>()?;
            let signature: Signature = input.parse()?;
            input.parse::<Token![;]>()?;
            methods.extend(method(&attributes, &signature));
        }
        Ok(Methods(methods))
    }
}

/// The method, if the attributes name its selector.
fn method(attributes: &[Attribute], signature: &Signature) -> Option<Method> {
    let texts = attributes.iter().map(tokens);
    let selector =
        texts.filter_map(|text| Some(text.strip_prefix("unsafe(method(")?.split(')').next()?.to_owned()));
    let selector = selector.into_iter().next()?;
    let has_receiver = signature.inputs.first().is_some_and(|first| match first {
        FnArg::Receiver(_) => true,
        FnArg::Typed(typed) => matches!(&*typed.pat, Pat::Ident(name) if name.ident == "this"),
    });
    let mut parameters = parameters(signature);
    parameters.retain(|(name, _)| name != "this");
    let result = match &signature.output {
        syn::ReturnType::Default => None,
        syn::ReturnType::Type(_, result) => Some((**result).clone()),
    };
    let is_optional = attributes.iter().any(|attribute| attribute.path().is_ident("optional"));
    Some(Method { selector, is_optional, of_class: !has_receiver, parameters, result })
}

fn parameters(signature: &Signature) -> Vec<(String, Type)> {
    let named = |argument: &FnArg| match argument {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => {
                let name = name.ident.to_string();
                Some((name.trim_start_matches("r#").to_owned(), (*typed.ty).clone()))
            }
            _ => None,
        },
        FnArg::Receiver(_) => None,
    };
    signature.inputs.iter().filter_map(named).collect()
}

/// The tokens of an attribute without spaces.
fn tokens(attribute: &Attribute) -> String {
    use quote::ToTokens;
    attribute.meta.to_token_stream().to_string().replace(' ', "")
}

/// The name that `#[doc(alias = "…")]` gives.
fn documented_alias(attributes: &[Attribute]) -> Option<String> {
    let texts = attributes.iter().map(tokens);
    let mut aliases =
        texts.filter_map(|text| Some(text.strip_prefix("doc(alias=\"")?.strip_suffix("\")")?.to_owned()));
    aliases.next()
}

/// The first of `#[unsafe(super(A, B))]`.
fn superclass(attributes: &[Attribute]) -> Option<String> {
    let list = attributes
        .iter()
        .map(tokens)
        .find_map(|text| Some(text.strip_prefix("unsafe(super(")?.to_owned()))?;
    list.split([',', ')']).next().map(str::to_owned)
}

fn protocol_name(bound: &TypeParamBound) -> Option<String> {
    let TypeParamBound::Trait(bound) = bound else { return None };
    let name = bound.path.segments.last()?.ident.to_string();
    match name.as_str() {
        "NSObjectProtocol" => Some("NSObject".to_owned()),
        "Send" | "Sync" => None,
        _ => Some(name),
    }
}

fn type_name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

/// The types between the brackets of a path's last segment.
pub(crate) fn generic_arguments(path: &syn::Path) -> Vec<Type> {
    let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments)
    else {
        return Vec::new();
    };
    let list: &Punctuated<_, _> = &list.args;
    list.iter()
        .filter_map(|argument| match argument {
            syn::GenericArgument::Type(ty) => Some(ty.clone()),
            _ => None,
        })
        .collect()
}
