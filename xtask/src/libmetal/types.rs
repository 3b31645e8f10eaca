//! Types of Rust as types of Objective-C.

use std::collections::BTreeSet;

use syn::{ReturnType, Type, TypeParamBound};

use super::declarations::generic_arguments;

/// The names that stand for objects.
pub(crate) struct Types {
    /// Classes, and aliases of classes.
    objects: BTreeSet<String>,
    /// Aliases of blocks and of classes, which hold the pointer already.
    pointers: BTreeSet<String>,
}

impl Types {
    pub(crate) fn new(objects: BTreeSet<String>, pointers: BTreeSet<String>) -> Types {
        Types { objects, pointers }
    }

    /// The type as a method's parameter or result; `None` for one that has no counterpart.
    pub(crate) fn c(&self, ty: &Type) -> Option<String> {
        match ty {
            Type::Reference(reference) => self.pointer_to(&reference.elem, reference.mutability.is_none()),
            Type::Ptr(pointer) => self.pointer_to(&pointer.elem, pointer.const_token.is_some()),
            Type::Path(path) => self.named(&path.path),
            Type::Tuple(tuple) if tuple.elems.is_empty() => Some("void".to_owned()),
            Type::Paren(inner) => self.c(&inner.elem),
            _ => None,
        }
    }

    /// A result; errors are an argument of the message.
    pub(crate) fn result(&self, ty: Option<&Type>) -> Option<String> {
        let Some(ty) = ty else { return Some("void".to_owned()) };
        if let Type::Path(path) = ty
            && path.path.segments.last().is_some_and(|last| last.ident == "Result")
        {
            let ok = generic_arguments(&path.path).into_iter().next()?;
            let is_nothing = matches!(&ok, Type::Tuple(tuple) if tuple.elems.is_empty());
            return if is_nothing { Some("BOOL".to_owned()) } else { self.c(&ok) };
        }
        self.c(ty)
    }

    fn named(&self, path: &syn::Path) -> Option<String> {
        let name = path.segments.last()?.ident.to_string();
        let argument = generic_arguments(path).into_iter().next();
        match (name.as_str(), argument) {
            ("Option", Some(inner)) => self.c(&inner),
            ("Retained", Some(inner)) => self.object(&inner),
            ("NonNull", Some(inner)) => self.pointer_to(&inner, false),
            _ => Some(self.plain(&name)),
        }
    }

    fn plain(&self, name: &str) -> String {
        let c = match name {
            "bool" => "BOOL",
            "f32" | "c_float" => "float",
            "f64" | "c_double" => "double",
            "u8" => "uint8_t",
            "u16" => "uint16_t",
            "u32" => "uint32_t",
            "u64" => "uint64_t",
            "i8" => "int8_t",
            "i16" => "int16_t",
            "i32" => "int32_t",
            "i64" => "int64_t",
            "usize" => "size_t",
            "isize" => "ptrdiff_t",
            "c_int" => "int",
            "c_uint" => "unsigned int",
            "c_char" => "char",
            "c_void" => "void",
            "Sel" => "SEL",
            other => other,
        };
        c.to_owned()
    }

    /// An object's type, with its pointer.
    fn object(&self, ty: &Type) -> Option<String> {
        let Type::Path(path) = ty else { return None };
        let last = path.path.segments.last()?;
        let name = last.ident.to_string();
        match name.as_str() {
            "Self" => Some("instancetype".to_owned()),
            "AnyObject" => Some("id".to_owned()),
            "ProtocolObject" => {
                let Type::TraitObject(object) = generic_arguments(&path.path).into_iter().next()? else {
                    return None;
                };
                let TypeParamBound::Trait(bound) = object.bounds.first()? else { return None };
                let protocol = bound.path.segments.last()?.ident.to_string();
                Some(if protocol == "NSObjectProtocol" { "id".to_owned() } else { format!("id<{protocol}>") })
            }
            "DispatchQueue" => Some("dispatch_queue_t".to_owned()),
            "DispatchData" => Some("dispatch_data_t".to_owned()),
            "IOSurfaceRef" => Some("IOSurfaceRef".to_owned()),
            name if self.pointers.contains(name) => Some(name.to_owned()),
            name if self.objects.contains(name) => Some(format!("{name} *")),
            _ => None,
        }
    }

    fn pointer_to(&self, inner: &Type, is_const: bool) -> Option<String> {
        if let Some(block) = self.block(inner) {
            return Some(block);
        }
        if let Type::Path(path) = inner
            && path.path.segments.last().is_some_and(|last| last.ident == "AnyClass")
        {
            return Some("Class".to_owned());
        }
        if let Some(object) = self.object(inner) {
            return Some(object);
        }
        if let Type::Array(array) = inner {
            return self.pointer_to(&array.elem, is_const);
        }
        let pointee = self.c(inner)?;
        let is_object = pointee.starts_with("id") || pointee.ends_with('*');
        Some(match is_const {
            true if !is_object => format!("const {pointee} *"),
            _ => format!("{pointee} *"),
        })
    }

    /// A block's type: `result (^)(arguments)`.
    pub(crate) fn block(&self, ty: &Type) -> Option<String> {
        let (result, arguments) = self.block_parts(ty)?;
        Some(format!("{result} (^)({arguments})"))
    }

    /// A block's result and arguments.
    pub(crate) fn block_parts(&self, ty: &Type) -> Option<(String, String)> {
        let Type::Path(path) = ty else { return None };
        let last = path.path.segments.last()?;
        if last.ident != "DynBlock" && last.ident != "Block" {
            return None;
        }
        let Type::TraitObject(object) = generic_arguments(&path.path).into_iter().next()? else {
            return None;
        };
        let TypeParamBound::Trait(bound) = object.bounds.first()? else { return None };
        let syn::PathArguments::Parenthesized(call) = &bound.path.segments.last()?.arguments else {
            return None;
        };
        let arguments: Option<Vec<String>> = call.inputs.iter().map(|argument| self.c(argument)).collect();
        let arguments = arguments?.join(", ");
        let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments };
        let result = match &call.output {
            ReturnType::Default => "void".to_owned(),
            ReturnType::Type(_, result) => self.c(result)?,
        };
        Some((result, arguments))
    }
}
