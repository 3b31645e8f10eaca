//! Templates as template arguments, and the templates that the language has.
//!
//! Invariant: a template has one number in a check, so that equal arguments are equal numbers.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::{BuiltinTemplate, ClassTemplate, Found, TArg, TemplateId};
use super::evaluate;
use super::record::Records;
use super::scopes::ScopeId;
use super::template_args::{self, ExplicitArg};
use crate::ast::{NodeId, TemplateParamKind, TemplateParams};
use crate::hir::{ConstValue, MAX_METAL_VECTOR_LEN, MAX_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind, Types};
use anymetal_diagnostics::Span;
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
            Found::BuiltinTemplate(BuiltinTemplate::MakeIntegerSeq) => {
                return "__make_integer_seq".to_owned();
            }
            Found::BuiltinTemplate(BuiltinTemplate::TypePackElement) => {
                return "__type_pack_element".to_owned();
            }
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
            Found::BuiltinTemplate(BuiltinTemplate::Vec | BuiltinTemplate::PackedVec) => {
                vec![(Shape::Type, false), (Shape::Value, false)]
            }
            Found::BuiltinTemplate(BuiltinTemplate::TypePackElement) => {
                vec![(Shape::Value, false), (Shape::Type, true)]
            }
            // No program declares the list of its first parameter.
            Found::BuiltinTemplate(BuiltinTemplate::MakeIntegerSeq) => return false,
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

/// A template of the language with these arguments.
pub(super) fn builtin_type<'a>(
    cx: &mut Checker<'a>,
    template: BuiltinTemplate,
    explicit: &[ExplicitArg<'a>],
    span: Span,
) -> Option<QualTy> {
    match template {
        BuiltinTemplate::MakeIntegerSeq => integer_sequence(cx, explicit, span),
        BuiltinTemplate::TypePackElement => pack_element(cx, explicit, span),
        BuiltinTemplate::Vec | BuiltinTemplate::PackedVec | BuiltinTemplate::Matrix => {
            builtin_from_args(cx, template, explicit, span).map(QualTy::plain)
        }
    }
}

/// `S<T, 0, 1, …>` for `__make_integer_seq<S, T, N>`.
fn integer_sequence<'a>(cx: &mut Checker<'a>, explicit: &[ExplicitArg<'a>], span: Span) -> Option<QualTy> {
    let (sequence, ty, length) = match explicit {
        [
            ExplicitArg::Template(sequence)
            | ExplicitArg::Injected(_, sequence)
            | ExplicitArg::Known(TArg::Template(sequence)),
            ExplicitArg::Type(ty) | ExplicitArg::Known(TArg::Type(ty)),
            length,
        ] => (*sequence, *ty, length),
        _ if cx.diagnostics.in_template() || explicit.iter().any(|arg| matches!(arg, ExplicitArg::Error)) => {
            return None;
        }
        _ => {
            cx.error("template-expected", span, "`__make_integer_seq` takes a template, a type and a length");
            return None;
        }
    };
    if cx.types.as_scalar(ty.ty).is_none_or(|scalar| !scalar.is_integral()) {
        if !cx.is_dependent(ty.ty) {
            cx.error("not-an-integer", span, "integer sequences must have integral element type");
        }
        return None;
    }
    let length = integer_argument(cx, length, ty)?;
    if length < 0 {
        cx.error("array-length", span, "integer sequences must have non-negative sequence length");
        return None;
    }
    let mut args = vec![ExplicitArg::Known(TArg::Type(ty.unqualified()))];
    for n in 0..length {
        cx.limits.count_pack_element(&mut cx.diagnostics);
        if cx.diagnostics.gave_up() {
            return None;
        }
        args.push(ExplicitArg::Known(TArg::Value(ty.ty, ConstValue::Scalar(n as u64))));
    }
    let template = cx.templates.get(sequence).clone();
    template_args::type_of_template(cx, &template, args, span)
}

/// The N-th type of `__type_pack_element<N, T...>`.
fn pack_element<'a>(cx: &mut Checker<'a>, explicit: &[ExplicitArg<'a>], span: Span) -> Option<QualTy> {
    let (index, types) = explicit.split_first()?;
    let index = integer_argument(cx, index, QualTy::plain(Ty::scalar(ScalarTy::U64)))?;
    match usize::try_from(index).ok().and_then(|index| types.get(index)) {
        Some(ExplicitArg::Type(ty) | ExplicitArg::Known(TArg::Type(ty)) | ExplicitArg::Injected(ty, _)) => {
            Some(*ty)
        }
        Some(_) => None,
        None => {
            if !cx.diagnostics.in_template() {
                let message = "a parameter pack may not be accessed at an out of bounds index";
                cx.error("index-out-of-range", span, message);
            }
            None
        }
    }
}

/// The number that an argument of such a template is; none if it is unknown or in error.
fn integer_argument(cx: &mut Checker<'_>, arg: &ExplicitArg<'_>, ty: QualTy) -> Option<i128> {
    match arg {
        ExplicitArg::Value(value) => {
            let value = evaluate::constant_of_type(cx, value.clone(), ty)?;
            evaluate::integer_of(&cx.types, ty.ty, &value)
        }
        ExplicitArg::Known(TArg::Value(ty, value)) => evaluate::integer_of(&cx.types, *ty, value),
        _ => None,
    }
}

/// `vec<T, N>` and its kin.
fn builtin_from_args<'a>(
    cx: &mut Checker<'a>,
    template: BuiltinTemplate,
    explicit: &[ExplicitArg<'a>],
    span: Span,
) -> Option<Ty> {
    let elem = match explicit.first() {
        Some(ExplicitArg::Type(ty) | ExplicitArg::Known(TArg::Type(ty))) => cx.types.as_scalar(ty.ty),
        Some(ExplicitArg::Error) => return None,
        _ => None,
    };
    let Some(elem) = elem else {
        cx.error("vector-element", span, "the element of a vector or matrix must be an arithmetic type");
        return None;
    };
    let mut sizes = Vec::new();
    for arg in &explicit[1..] {
        let size = match arg {
            ExplicitArg::Value(value) => evaluate::constant_integer(cx, value.clone()),
            ExplicitArg::Known(TArg::Value(ty, value)) => evaluate::integer_of(&cx.types, *ty, value),
            _ => None,
        }?;
        sizes.push(size);
    }
    builtin_of(&mut cx.types, &mut cx.diagnostics, template, elem, &sizes, span)
}

fn builtin_of(
    types: &mut Types,
    diagnostics: &mut Diagnostics,
    template: BuiltinTemplate,
    elem: ScalarTy,
    sizes: &[i128],
    span: Span,
) -> Option<Ty> {
    let small = |n: i128, low: i128| (low..=i128::from(MAX_METAL_VECTOR_LEN)).contains(&n).then_some(n as u8);
    // Longer ones are what code around Metal 4's tensors holds a thread's elements in.
    let wide = |n: i128| (2..=i128::from(MAX_VECTOR_LEN)).contains(&n).then_some(n as u8);
    let kind = match (template, sizes) {
        // `vec<T, 1>` is what generic code writes for a scalar.
        (BuiltinTemplate::Vec, &[1]) => Some(TyKind::Scalar(elem)),
        (BuiltinTemplate::Vec, &[n]) => wide(n).map(|len| TyKind::Vector { elem, len, packed: false }),
        (BuiltinTemplate::PackedVec, &[n]) => {
            small(n, 2).map(|len| TyKind::Vector { elem, len, packed: true })
        }
        (BuiltinTemplate::Matrix, &[c, r]) => {
            small(c, 2).zip(small(r, 2)).map(|(cols, rows)| TyKind::Matrix { elem, cols, rows })
        }
        _ => None,
    };
    match kind {
        Some(kind) => Some(types.intern(kind)),
        None => {
            let message = "vectors have 2 to 16 elements, packed ones and matrices 2 to 4 in each direction";
            diagnostics.error("vector-size", span, message);
            None
        }
    }
}
