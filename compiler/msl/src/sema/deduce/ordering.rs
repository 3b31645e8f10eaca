//! Partial ordering of templates: whether one pattern covers another.

use crate::ast::Qualifiers;
use crate::hir::Types;
use crate::sema::entities::Found;
use crate::sema::pattern::{
    ArgPat, Pat, TemplatePat, ValuePat, add_quals, open_pattern, quals_of, same_template,
};
use crate::sema::record::Records;
use crate::sema::template_template::Templates;
use anymetal_ir::Space;

/// Compares patterns by their structure.
pub(in crate::sema) struct PatternOrder<'c, 'a> {
    pub(super) types: &'c Types,
    pub(super) records: &'c Records<'a>,
    pub(super) templates: &'c mut Templates<'a>,
}

impl<'a> PatternOrder<'_, 'a> {
    /// Whether everything the pattern `special` accepts is accepted by `general`, so far as their
    /// structure tells.
    pub(in crate::sema) fn covers(
        &mut self,
        general: &Pat<'a>,
        special: &Pat<'a>,
        bound: &mut Vec<Option<ArgPat<'a>>>,
    ) -> bool {
        match general {
            Pat::Opaque => return true,
            Pat::Fixed(_) => return general == special,
            Pat::Param(n, quals) => {
                let Some(rest) = without_quals(special, *quals) else { return false };
                return bind_pattern(bound, *n, ArgPat::Type(rest));
            }
            _ => {}
        }
        let special = open_pattern(self.types, self.records, special);
        match (general, &special) {
            (Pat::Pointer(a), Pat::Pointer(b)) => self.covers(a, b, bound),
            (Pat::Reference { to: a, .. }, Pat::Reference { to: b, .. }) => self.covers(a, b, bound),
            (Pat::Array(a, p), Pat::Array(b, q)) => covers_value(p, q, bound) && self.covers(a, b, bound),
            (
                Pat::Vector { elem: a, len: p, packed: x, .. },
                Pat::Vector { elem: b, len: q, packed: y, .. },
            ) => x == y && covers_value(p, q, bound) && self.covers(a, b, bound),
            (
                Pat::Matrix { elem: a, cols: c, rows: r, .. },
                Pat::Matrix { elem: b, cols: c2, rows: r2, .. },
            ) => covers_value(c, c2, bound) && covers_value(r, r2, bound) && self.covers(a, b, bound),
            (Pat::Class { template: t, args: a, .. }, Pat::Class { template: u, args: b, .. }) => {
                same_template(t, u) && self.covers_args(a, b, bound)
            }
            (Pat::Applied { template, args: a, .. }, Pat::Applied { template: other, args: b, .. }) => {
                let other = ArgPat::Template(TemplatePat::Param(*other));
                bind_pattern(bound, *template, other) && self.covers_args(a, b, bound)
            }
            (Pat::Applied { template, args: a, .. }, Pat::Class { template: class, args: b, .. }) => {
                let id = self.templates.id(&Found::ClassTemplate(class.clone()));
                let id = id.expect("a class template is a template");
                bind_pattern(bound, *template, ArgPat::Template(TemplatePat::Fixed(id)))
                    && self.covers_args(a, b, bound)
            }
            (Pat::Function { ret: a, params: p, form: f }, Pat::Function { ret: b, params: q, form: g }) => {
                f == g && self.covers(a, b, bound) && self.covers_args(p, q, bound)
            }
            _ => false,
        }
    }

    pub(in crate::sema) fn covers_args(
        &mut self,
        general: &[ArgPat<'a>],
        special: &[ArgPat<'a>],
        bound: &mut Vec<Option<ArgPat<'a>>>,
    ) -> bool {
        for (n, general) in general.iter().enumerate() {
            if let ArgPat::Pack(element) = general {
                let mut rest = special.get(n..).unwrap_or(&[]).iter();
                return rest.all(|special| self.covers_element(element, special, bound));
            }
            let ok = match special.get(n) {
                // What a template computes, such as `typename T::type`, is never just any type.
                special if matches!(general, ArgPat::Type(Pat::Opaque)) => {
                    !matches!(special, Some(ArgPat::Type(Pat::Param(..))))
                }
                Some(special) => self.covers_arg(general, special, bound),
                None => false,
            };
            if !ok {
                return false;
            }
        }
        general.len() == special.len()
    }

    fn covers_arg(
        &mut self,
        general: &ArgPat<'a>,
        special: &ArgPat<'a>,
        bound: &mut Vec<Option<ArgPat<'a>>>,
    ) -> bool {
        match (general, special) {
            (ArgPat::Type(a), ArgPat::Type(b)) => self.covers(a, b, bound),
            (ArgPat::Value(a), ArgPat::Value(b)) => covers_value(a, b, bound),
            (ArgPat::Template(TemplatePat::Param(n)), b @ ArgPat::Template(_)) => {
                bind_pattern(bound, *n, b.clone())
            }
            (ArgPat::Template(a), ArgPat::Template(b)) => a == b,
            _ => false,
        }
    }

    /// Whether the elements of a pack, all like `element`, may be this argument, or those of this pack.
    /// Each element binds the pack's parameters anew.
    fn covers_element(
        &mut self,
        element: &ArgPat<'a>,
        special: &ArgPat<'a>,
        bound: &[Option<ArgPat<'a>>],
    ) -> bool {
        let special = match special {
            ArgPat::Pack(special) => special,
            single => single,
        };
        matches!(element, ArgPat::Type(Pat::Opaque)) || self.covers_arg(element, special, &mut bound.to_vec())
    }
}

pub(super) fn is_const_pattern(pat: &Pat<'_>) -> bool {
    match pat {
        Pat::Param(_, quals)
        | Pat::Vector { quals, .. }
        | Pat::Matrix { quals, .. }
        | Pat::Class { quals, .. }
        | Pat::Applied { quals, .. } => {
            quals.is_const && quals.space.is_none_or(|s| s == crate::ast::AddressSpace::Thread)
        }
        Pat::Fixed(ty) => ty.is_const && ty.space == Space::Thread,
        _ => false,
    }
}

/// The pattern without these qualifiers; `None` if it lacks one of them.
fn without_quals<'a>(pat: &Pat<'a>, quals: Qualifiers) -> Option<Pat<'a>> {
    if quals == Qualifiers::default() {
        return Some(pat.clone());
    }
    let take = |have: Qualifiers| {
        let enough = (have.is_const || !quals.is_const)
            && (have.is_volatile || !quals.is_volatile)
            && (quals.space.is_none() || have.space == quals.space);
        enough.then_some(Qualifiers {
            is_const: have.is_const && !quals.is_const,
            is_volatile: have.is_volatile && !quals.is_volatile,
            is_coherent: have.is_coherent,
            space: if quals.space.is_some() { None } else { have.space },
        })
    };
    Some(match pat {
        Pat::Fixed(ty) => {
            let rest = take(quals_of(*ty))?;
            add_quals(Pat::Fixed(ty.unqualified()), rest)
        }
        Pat::Param(n, have) => Pat::Param(*n, take(*have)?),
        Pat::Vector { elem, len, packed, quals: have } => {
            Pat::Vector { elem: elem.clone(), len: len.clone(), packed: *packed, quals: take(*have)? }
        }
        Pat::Matrix { elem, cols, rows, quals: have } => {
            Pat::Matrix { elem: elem.clone(), cols: cols.clone(), rows: rows.clone(), quals: take(*have)? }
        }
        Pat::Class { template, args, quals: have } => {
            Pat::Class { template: template.clone(), args: args.clone(), quals: take(*have)? }
        }
        Pat::Applied { template, args, quals: have } => {
            Pat::Applied { template: *template, args: args.clone(), quals: take(*have)? }
        }
        // An array is as qualified as its elements.
        Pat::Array(element, len) => Pat::Array(Box::new(without_quals(element, quals)?), len.clone()),
        _ => return None,
    })
}

fn bind_pattern<'a>(bound: &mut Vec<Option<ArgPat<'a>>>, index: usize, arg: ArgPat<'a>) -> bool {
    if bound.len() <= index {
        bound.resize(index + 1, None);
    }
    match &bound[index] {
        None => {
            bound[index] = Some(arg);
            true
        }
        Some(known) => *known == arg,
    }
}

fn covers_value<'a>(general: &ValuePat, special: &ValuePat, bound: &mut Vec<Option<ArgPat<'a>>>) -> bool {
    match general {
        ValuePat::Opaque => true,
        ValuePat::Fixed(_) => general == special,
        ValuePat::Param(n) => bind_pattern(bound, *n, ArgPat::Value(special.clone())),
    }
}
