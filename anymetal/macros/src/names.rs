//! Names in MSL: which are taken, and the scopes of those that a function declares.

use crate::types::Type;

/// Words that cannot be a variable's name in MSL: keywords, types, and functions that the output calls.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "array",
    "asm",
    "atomic_int",
    "atomic_uint",
    "auto",
    "bfloat",
    "bool",
    "case",
    "catch",
    "char",
    "class",
    "constant",
    "constexpr",
    "decltype",
    "default",
    "delete",
    "device",
    "do",
    "double",
    "explicit",
    "export",
    "float",
    "fragment",
    "friend",
    "goto",
    "half",
    "inline",
    "int",
    "kernel",
    "long",
    "metal",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "object",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "ray_data",
    "register",
    "sampler",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "switch",
    "template",
    "texture2d",
    "this",
    "thread",
    "threadgroup",
    "threadgroup_imageblock",
    "throw",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uchar",
    "uint",
    "ulong",
    "union",
    "unsigned",
    "using",
    "ushort",
    "vec",
    "vertex",
    "virtual",
    "void",
    "volatile",
    "xor",
    "abs",
    "absdiff",
    "acos",
    "acosh",
    "addsat",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clamp",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "ctz",
    "exp",
    "exp2",
    "fabs",
    "fma",
    "fmax",
    "fmin",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log2",
    "max",
    "min",
    "mulhi",
    "popcount",
    "pow",
    "powr",
    "reverse_bits",
    "rotate",
    "round",
    "rsqrt",
    "select",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "subsat",
    "tan",
    "tanh",
    "trunc",
    "INFINITY",
    "NAN",
    "simd_sum",
    "simd_max",
    "simd_min",
];

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    rust: String,
    /// Its name in MSL.
    pub(crate) msl: String,
    pub(crate) ty: Type,
}

/// The scopes of a function.
#[derive(Default, Debug)]
pub(crate) struct Scopes {
    /// Innermost last.
    visible: Vec<Variable>,
}

impl Scopes {
    /// To be given to [`Self::leave`].
    pub(crate) fn enter(&self) -> usize {
        self.visible.len()
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        self.visible.truncate(mark);
    }

    /// Declares a variable and gives its name in MSL, which is another one where the name is taken or visible
    /// already: `let x = x + 1` reads the old `x`, which C++ would not.
    pub(crate) fn declare(&mut self, rust: &str, ty: Type) -> String {
        let base = rust.trim_start_matches("r#").to_owned();
        let base = if TAKEN.contains(&base.as_str()) { format!("{base}_") } else { base };
        let is_free = |name: &str| self.visible.iter().all(|variable| variable.msl != name);
        let mut name = base.clone();
        let mut number = 2;
        while !is_free(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.visible.push(Variable { rust: rust.to_owned(), msl: name.clone(), ty });
        name
    }

    /// The variable that a name in Rust stands for.
    pub(crate) fn find(&self, rust: &str) -> Option<&Variable> {
        self.visible.iter().rev().find(|variable| variable.rust == rust)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_while_they_are_visible() {
        let mut scopes = Scopes::default();
        let found = |scopes: &Scopes, name: &str| scopes.find(name).map(|variable| variable.msl.clone());
        assert_eq!(scopes.declare("x", Type::Unit), "x");
        let mark = scopes.enter();
        assert_eq!(scopes.declare("x", Type::Unit), "x_2");
        assert_eq!(scopes.declare("half", Type::Unit), "half_");
        assert_eq!(found(&scopes, "x").as_deref(), Some("x_2"));
        scopes.leave(mark);
        assert_eq!(found(&scopes, "x").as_deref(), Some("x"));
        assert_eq!(found(&scopes, "half"), None);
        assert_eq!(scopes.declare("x", Type::Unit), "x_2");
    }
}
