//! Templates as template arguments.
//!
//! Invariant: a template has one number in a check, so that equal arguments are equal numbers.

use super::entities::{BuiltinTemplate, ClassTemplate, Found, TArg, TemplateId};
use super::record::Records;
use super::scopes::ScopeId;
use crate::ast::{NodeId, TemplateParamKind, TemplateParams};
use crate::hir::{ConstValue, QualTy, Ty, TyKind, Types};
use rustc_hash::FxHashMap;

/// The identity of a template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum TemplateKey {
    Declared(NodeId, ScopeId),
    Builtin(BuiltinTemplate),
}

/// The kinds of template arguments.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Type,
    Value,
    Template(&'a TemplateParams),
}

/// The templates that are template arguments in one check.
#[derive(Debug, Default)]
pub(super) struct Templates<'a> {
    found: Vec<Found<'a>>,
    ids: FxHashMap<TemplateKey, TemplateId>,
}

impl<'a> Templates<'a> {
    /// The number of a template; `None` for other declarations.
    pub(super) fn id(&mut self, found: &Found<'a>) -> Option<TemplateId> {
        let key = match found {
            Found::ClassTemplate(template) => TemplateKey::Declared(template.primary.id, template.scope),
            Found::AliasTemplate(template) => TemplateKey::Declared(template.alias.id, template.scope),
            Found::BuiltinTemplate(template) => TemplateKey::Builtin(*template),
            _ => return None,
        };
        if let Some(&known) = self.ids.get(&key) {
            return Some(known);
        }
        let id = TemplateId(self.found.len() as u32);
        self.found.push(found.clone());
        self.ids.insert(key, id);
        Some(id)
    }

    pub(super) fn get(&self, id: TemplateId) -> &Found<'a> {
        &self.found[id.0 as usize]
    }

    pub(super) fn name(&self, id: TemplateId) -> String {
        let name = match self.get(id) {
            Found::ClassTemplate(template) => template.primary.name,
            Found::AliasTemplate(template) => Some(template.alias.name),
            Found::BuiltinTemplate(BuiltinTemplate::Vec) => return "vec".to_owned(),
            Found::BuiltinTemplate(BuiltinTemplate::PackedVec) => return "packed_vec".to_owned(),
            Found::BuiltinTemplate(BuiltinTemplate::Matrix) => return "matrix".to_owned(),
            other => panic!("{other:?} is not a template"),
        };
        name.map_or_else(String::new, |name| name.to_string())
    }

    /// Whether a template matches a template parameter with this list: the lists are alike, except that a
    /// pack of the parameter matches any number of parameters (C++14 [temp.arg.template]).
    pub(super) fn fits(&self, wanted: &TemplateParams, id: TemplateId) -> bool {
        let given = match self.get(id) {
            Found::ClassTemplate(template) => shapes(template.params),
            Found::AliasTemplate(template) => shapes(template.params),
            Found::BuiltinTemplate(BuiltinTemplate::Matrix) => {
                vec![(Shape::Type, false), (Shape::Value, false), (Shape::Value, false)]
            }
            Found::BuiltinTemplate(_) => vec![(Shape::Type, false), (Shape::Value, false)],
            other => panic!("{other:?} is not a template"),
        };
        fits(&shapes(wanted), &given)
    }

    /// The template and the arguments that a type was made with.
    pub(super) fn of_type(
        &mut self,
        types: &Types,
        records: &Records<'a>,
        ty: Ty,
    ) -> Option<(TemplateId, Vec<TArg>)> {
        let count = |n: u8| TArg::Value(Ty::INT, ConstValue::Scalar(u64::from(n)));
        let of = |elem| TArg::Type(QualTy::plain(Ty::scalar(elem)));
        let (found, args) = match *types.kind(ty) {
            TyKind::Record(id) => {
                let inst = records.get(id);
                let template: ClassTemplate<'a> = inst.template.clone()?;
                (Found::ClassTemplate(template), inst.args.to_vec())
            }
            TyKind::Vector { elem, len, packed } => {
                let template = if packed { BuiltinTemplate::PackedVec } else { BuiltinTemplate::Vec };
                (Found::BuiltinTemplate(template), vec![of(elem), count(len)])
            }
            TyKind::Matrix { elem, cols, rows } => {
                (Found::BuiltinTemplate(BuiltinTemplate::Matrix), vec![of(elem), count(cols), count(rows)])
            }
            _ => return None,
        };
        self.id(&found).map(|id| (id, args))
    }
}

/// The kind of each parameter, and whether it is a pack.
fn shapes(params: &TemplateParams) -> Vec<(Shape<'_>, bool)> {
    let mut out = Vec::with_capacity(params.params.len());
    for param in &params.params {
        let kind = match &param.kind {
            TemplateParamKind::Type(_) => Shape::Type,
            TemplateParamKind::Value(..) => Shape::Value,
            TemplateParamKind::Template(params, _) => Shape::Template(params),
        };
        out.push((kind, param.is_pack));
    }
    out
}

fn fits(wanted: &[(Shape<'_>, bool)], given: &[(Shape<'_>, bool)]) -> bool {
    let mut given = given.iter();
    for (kind, is_pack) in wanted {
        if *is_pack {
            return given.all(|(other, _)| are_alike(*kind, *other));
        }
        match given.next() {
            Some((other, false)) if are_alike(*kind, *other) => {}
            _ => return false,
        }
    }
    given.next().is_none()
}

fn are_alike(a: Shape<'_>, b: Shape<'_>) -> bool {
    match (a, b) {
        (Shape::Type, Shape::Type) | (Shape::Value, Shape::Value) => true,
        (Shape::Template(a), Shape::Template(b)) => fits(&shapes(a), &shapes(b)),
        _ => false,
    }
}
