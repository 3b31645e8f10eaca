//! Template parameter types as patterns that arguments are matched against.
//!
//! A pattern is a type with holes: [`Pat::Param`] is a template parameter, [`Pat::Opaque`] a part that
//! takes no part in deduction (`typename X<T>::type`, `decltype(…)`) and is checked by substitution. `build`
//! makes them from syntax, `open` from types, one level at a time.

mod build;
mod open;

pub(super) use build::{of_arg, of_type};
pub(super) use open::open_pattern;

use super::checker::space_of;
use super::entities::{ClassTemplate, TemplateId};
use crate::ast::{self, Qualifiers};
use crate::hir::{FunctionForm, QualTy};
use anymetal_ir::Space;

/// A type with holes.
#[derive(Clone, Debug)]
pub(super) enum Pat<'a> {
    /// No hole.
    Fixed(QualTy),
    /// The n-th template parameter with further qualifiers.
    Param(usize, Qualifiers),
    Pointer(Box<Pat<'a>>),
    Reference {
        to: Box<Pat<'a>>,
        rvalue: bool,
    },
    Array(Box<Pat<'a>>, ValuePat),
    Vector {
        elem: Box<Pat<'a>>,
        len: ValuePat,
        packed: bool,
        quals: Qualifiers,
    },
    Matrix {
        elem: Box<Pat<'a>>,
        cols: ValuePat,
        rows: ValuePat,
        quals: Qualifiers,
    },
    Class {
        template: ClassTemplate<'a>,
        args: Vec<ArgPat<'a>>,
        quals: Qualifiers,
    },
    /// The template that is the n-th parameter, with arguments.
    Applied {
        template: usize,
        args: Vec<ArgPat<'a>>,
        quals: Qualifiers,
    },
    Function {
        ret: Box<Pat<'a>>,
        params: Vec<ArgPat<'a>>,
        form: FunctionForm,
    },
    Opaque,
}

/// A template argument with holes.
#[derive(Clone, Debug)]
pub(super) enum ArgPat<'a> {
    Type(Pat<'a>),
    Value(ValuePat),
    Template(TemplatePat),
    /// The rest, each like this.
    Pack(Box<ArgPat<'a>>),
}

/// A template, or a hole for one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TemplatePat {
    Fixed(TemplateId),
    Param(usize),
}

/// A constant with holes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ValuePat {
    Fixed(i128),
    Param(usize),
    Opaque,
}

impl ArgPat<'_> {
    /// Whether it contains a part that is not a pattern, such as `typename T::type`.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Type(pat) => pat.is_open(),
            Self::Value(value) => *value == ValuePat::Opaque,
            Self::Template(_) => false,
            Self::Pack(inner) => inner.is_open(),
        }
    }
}

impl Pat<'_> {
    fn is_open(&self) -> bool {
        let is_open = |value: &ValuePat| *value == ValuePat::Opaque;
        match self {
            Self::Opaque => true,
            Self::Fixed(_) | Self::Param(..) => false,
            Self::Pointer(inner) | Self::Reference { to: inner, .. } => inner.is_open(),
            Self::Array(elem, len) | Self::Vector { elem, len, .. } => elem.is_open() || is_open(len),
            Self::Matrix { elem, cols, rows, .. } => elem.is_open() || is_open(cols) || is_open(rows),
            Self::Class { args, .. } | Self::Applied { args, .. } => args.iter().any(ArgPat::is_open),
            Self::Function { ret, params, .. } => ret.is_open() || params.iter().any(ArgPat::is_open),
        }
    }
}

impl PartialEq for Pat<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(a), Self::Fixed(b)) => a == b,
            (Self::Param(a, p), Self::Param(b, q)) => a == b && p == q,
            (Self::Pointer(a), Self::Pointer(b)) => a == b,
            (Self::Reference { to: a, rvalue: p }, Self::Reference { to: b, rvalue: q }) => a == b && p == q,
            (Self::Array(a, p), Self::Array(b, q)) => a == b && p == q,
            (
                Self::Vector { elem, len, packed, quals },
                Self::Vector { elem: elem2, len: len2, packed: packed2, quals: quals2 },
            ) => elem == elem2 && len == len2 && packed == packed2 && quals == quals2,
            (
                Self::Matrix { elem, cols, rows, quals },
                Self::Matrix { elem: elem2, cols: cols2, rows: rows2, quals: quals2 },
            ) => elem == elem2 && cols == cols2 && rows == rows2 && quals == quals2,
            (
                Self::Class { template, args, quals },
                Self::Class { template: template2, args: args2, quals: quals2 },
            ) => same_template(template, template2) && args == args2 && quals == quals2,
            (
                Self::Applied { template, args, quals },
                Self::Applied { template: template2, args: args2, quals: quals2 },
            ) => template == template2 && args == args2 && quals == quals2,
            (
                Self::Function { ret, params, form },
                Self::Function { ret: ret2, params: params2, form: form2 },
            ) => ret == ret2 && params == params2 && form == form2,
            _ => false,
        }
    }
}

impl PartialEq for ArgPat<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Value(a), Self::Value(b)) => *a != ValuePat::Opaque && a == b,
            (Self::Template(a), Self::Template(b)) => a == b,
            (Self::Pack(a), Self::Pack(b)) => a == b,
            _ => false,
        }
    }
}

/// Whether two references to class templates mean the same one.
pub(super) fn same_template(a: &ClassTemplate<'_>, b: &ClassTemplate<'_>) -> bool {
    a.primary.id == b.primary.id && a.scope == b.scope
}

/// Merges qualifiers written around a pattern into it.
pub(super) fn add_quals(pat: Pat<'_>, more: Qualifiers) -> Pat<'_> {
    if more == Qualifiers::default() {
        return pat;
    }
    let merge = |quals: Qualifiers| Qualifiers {
        is_const: quals.is_const | more.is_const,
        is_volatile: quals.is_volatile | more.is_volatile,
        is_coherent: quals.is_coherent | more.is_coherent,
        space: more.space.or(quals.space),
    };
    match pat {
        Pat::Fixed(mut ty) => {
            ty.is_const |= more.is_const;
            ty.is_volatile |= more.is_volatile;
            if let Some(space) = more.space {
                ty.space = space_of(space);
            }
            Pat::Fixed(ty)
        }
        Pat::Param(n, quals) => Pat::Param(n, merge(quals)),
        Pat::Vector { elem, len, packed, quals } => Pat::Vector { elem, len, packed, quals: merge(quals) },
        Pat::Matrix { elem, cols, rows, quals } => Pat::Matrix { elem, cols, rows, quals: merge(quals) },
        Pat::Class { template, args, quals } => Pat::Class { template, args, quals: merge(quals) },
        Pat::Applied { template, args, quals } => Pat::Applied { template, args, quals: merge(quals) },
        Pat::Array(elem, len) => Pat::Array(Box::new(add_quals(*elem, more)), len),
        other @ (Pat::Pointer(_) | Pat::Reference { .. } | Pat::Function { .. } | Pat::Opaque) => other,
    }
}

/// A type's qualifiers in the form syntax has them.
pub(super) fn quals_of(ty: QualTy) -> Qualifiers {
    Qualifiers {
        is_const: ty.is_const,
        is_volatile: ty.is_volatile,
        is_coherent: false,
        space: match ty.space {
            Space::Device => Some(ast::AddressSpace::Device),
            Space::Constant => Some(ast::AddressSpace::Constant),
            Space::Threadgroup => Some(ast::AddressSpace::Threadgroup),
            Space::Thread => None,
        },
    }
}
