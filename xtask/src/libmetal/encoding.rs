//! Types of Rust as type encodings of Objective-C, without the offsets in frames.

use std::collections::BTreeMap;

use syn::Type;

use super::declarations::{Declarations, Method, generic_arguments};

/// `BOOL`, which is `unsigned char` in the runtime's interface.
const BOOL: &str = "C";

/// Structures of Metal with tags.
const TAGGED: [(&str, &str); 5] = [
    ("MTL4BufferRange", "MTL4BufferRange"),
    ("MTLAxisAlignedBoundingBox", "_MTLAxisAlignedBoundingBox"),
    ("MTLPackedFloat4x3", "_MTLPackedFloat4x3"),
    ("MTLPackedFloatQuaternion", "MTLPackedFloatQuaternion"),
    ("MTLResourceID", "MTLResourceID"),
];

/// The types that encodings name.
pub(crate) struct Encodings<'a> {
    structures: BTreeMap<&'a str, &'a [(String, Type)]>,
    /// The underlying types of enumerations and aliases.
    underlying: BTreeMap<&'a str, &'a Type>,
}

impl<'a> Encodings<'a> {
    pub(crate) fn new(declared: &'a Declarations) -> Self {
        let structures = declared.structures.iter().map(|of| (of.name.as_str(), of.fields.as_slice()));
        let enumerations = declared.enumerations.iter().map(|of| (of.name.as_str(), &of.underlying));
        let aliases = declared.aliases.iter().map(|(name, ty)| (name.as_str(), ty));
        Encodings { structures: structures.collect(), underlying: enumerations.chain(aliases).collect() }
    }

    /// The encoding of a method: its result, the receiver, the selector and the arguments.
    pub(crate) fn method(&self, method: &Method) -> String {
        let result = method.result.as_ref().map_or_else(|| "v".to_owned(), |result| self.result(result));
        let arguments: String = method.parameters.iter().map(|(_, ty)| self.ty(ty)).collect();
        let error = if method.has_error() { "^@" } else { "" };
        format!("{result}@:{arguments}{error}")
    }

    fn result(&self, ty: &Type) -> String {
        match (last_name(ty).as_deref(), first_argument(ty)) {
            (Some("Result"), Some(Type::Tuple(_))) => BOOL.to_owned(),
            (Some("Result"), Some(ok)) => self.ty(&ok),
            _ => self.ty(ty),
        }
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Reference(reference) => self.pointer(&reference.elem),
            Type::Ptr(pointer) => self.pointer(&pointer.elem),
            Type::Array(array) => {
                use quote::ToTokens;
                format!("[{}{}]", array.len.to_token_stream(), self.ty(&array.elem))
            }
            Type::Tuple(_) => "v".to_owned(),
            Type::Paren(inner) => self.ty(&inner.elem),
            _ => match (last_name(ty).as_deref(), first_argument(ty)) {
                (Some("Option"), Some(inner)) => self.ty(&inner),
                (Some("Retained"), Some(_)) => "@".to_owned(),
                (Some("NonNull"), Some(inner)) => self.pointer(&inner),
                (Some(name), _) => self.named(name),
                (None, _) => unreachable!("a type of Objective-C has a name"),
            },
        }
    }

    fn named(&self, name: &str) -> String {
        let primitive = match name {
            "bool" | "Bool" => BOOL,
            "u8" => "C",
            "i8" | "c_char" => "c",
            "u16" => "S",
            "i16" => "s",
            "u32" | "c_uint" => "I",
            "i32" | "c_int" => "i",
            "u64" | "usize" | "NSUInteger" => "Q",
            "i64" | "isize" | "NSInteger" => "q",
            "f32" | "c_float" => "f",
            "f64" | "c_double" | "CGFloat" | "NSTimeInterval" | "CFTimeInterval" => "d",
            "c_void" => "v",
            "Sel" => ":",
            "NSRange" => "{_NSRange=QQ}",
            _ => "",
        };
        if !primitive.is_empty() {
            return primitive.to_owned();
        }
        if let Some(fields) = self.structures.get(name) {
            let fields: String = fields.iter().map(|(_, ty)| self.ty(ty)).collect();
            // All other structures of Metal's headers have no tag, only the name of a type.
            let tag = TAGGED.iter().find(|(alias, _)| *alias == name).map_or("?", |(_, tag)| tag);
            return format!("{{{tag}={fields}}}");
        }
        // Every other name is a class.
        self.underlying.get(name).map_or_else(|| "@".to_owned(), |underlying| self.ty(underlying))
    }

    fn pointer(&self, inner: &Type) -> String {
        match last_name(inner).as_deref() {
            Some("Block" | "DynBlock") => "@?".to_owned(),
            Some("AnyClass") => "#".to_owned(),
            Some("c_char") => "*".to_owned(),
            Some("ProtocolObject" | "AnyObject" | "Self") => "@".to_owned(),
            _ => match self.ty(inner).as_str() {
                "@" if !is_pointer(inner) => "@".to_owned(),
                pointee => format!("^{pointee}"),
            },
        }
    }
}

/// Whether the type is a pointer already, such as an object in a place for a result.
fn is_pointer(ty: &Type) -> bool {
    matches!(ty, Type::Reference(_) | Type::Ptr(_))
        || matches!(last_name(ty).as_deref(), Some("Option" | "Retained" | "NonNull"))
}

fn last_name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

fn first_argument(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    generic_arguments(&path.path).into_iter().next()
}
