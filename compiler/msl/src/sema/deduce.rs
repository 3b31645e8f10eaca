//! Template argument deduction: matching patterns against types.

mod ordering;

use super::checker::{Checker, space_of};
use super::entities::TArg;
use super::pattern::{ArgPat, Pat, TemplatePat, ValuePat, quals_of, same_template};
use super::record::Records;
use super::template_template::Templates;
use super::{record, resolve_type};
use crate::ast::Qualifiers;
use crate::hir::{ConstValue, FunctionForm, MAX_METAL_VECTOR_LEN, QualTy, RecordId, Ty, TyKind, Types};
use anymetal_ir::Space;
use ordering::{PatternOrder, is_const_pattern};

/// The template arguments so far.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Deduced {
    /// By parameter.
    args: Vec<Option<TArg>>,
    /// The number of arguments that are given explicitly.
    explicit: usize,
    /// The pack whose first elements are given explicitly; deduction may add others.
    open_pack: Option<usize>,
    /// The types of the values that class arguments deduce, by parameter (C++14 [temp.deduct.type.17]).
    value_types: Vec<(usize, Ty)>,
    /// Whether `value_types` is recorded. It is not for classes of the library, whose parameters may have
    /// other types than Metal's.
    compares_types: bool,
}

impl Deduced {
    /// Nothing is known of `count` parameters.
    pub(super) fn none(count: usize) -> Self {
        Self {
            args: vec![None; count],
            explicit: 0,
            open_pack: None,
            value_types: Vec::new(),
            compares_types: false,
        }
    }

    /// The arguments of the first of `count` parameters are given explicitly. Of a pack at their end more
    /// elements may follow.
    pub(super) fn explicit(given: Vec<TArg>, count: usize, ends_in_pack: bool) -> Self {
        let explicit = given.len();
        let open_pack = explicit.checked_sub(1).filter(|_| ends_in_pack);
        let mut args: Vec<Option<TArg>> = given.into_iter().map(Some).collect();
        args.resize(count, None);
        Self { args, explicit, open_pack, ..Self::none(0) }
    }

    /// Sets whether the types of deduced values are recorded; returns the previous setting.
    pub(super) fn compare_types(&mut self, compares: bool) -> bool {
        std::mem::replace(&mut self.compares_types, compares)
    }

    /// Records the type of a deduced value; false if it conflicts with an earlier one.
    fn has_value_type(&mut self, n: usize, ty: Ty) -> bool {
        if !self.compares_types || self.is_explicit(n) {
            return true;
        }
        match self.value_types.iter().find(|(known, _)| *known == n) {
            Some(&(_, known)) => known == ty,
            None => {
                self.value_types.push((n, ty));
                true
            }
        }
    }

    /// The recorded types of deduced values, by parameter.
    pub(super) fn value_types(&self) -> Vec<(usize, Ty)> {
        self.value_types.clone()
    }

    /// Whether the argument is given explicitly as a whole.
    pub(super) fn is_explicit(&self, n: usize) -> bool {
        n < self.explicit && self.open_pack != Some(n)
    }

    /// The first parameter whose argument is not known.
    pub(super) fn missing(&self) -> Option<usize> {
        self.args.iter().position(Option::is_none)
    }

    pub(super) fn into_args(self) -> Vec<Option<TArg>> {
        self.args
    }

    /// The parameters among `holes` that an expansion of them deduces element by element.
    pub(super) fn elementwise(&self, holes: &mut Vec<usize>) {
        holes.retain(|&hole| matches!(self.args[hole], None | Some(TArg::Pack(_))));
    }

    /// These arguments where the parameters `holes` stand for their n-th elements as far as they are known.
    pub(super) fn element(&self, holes: &[usize], n: usize) -> Self {
        let mut one = self.clone();
        for &hole in holes {
            one.args[hole] = match &self.args[hole] {
                Some(TArg::Pack(known)) => known.get(n).cloned(),
                _ => None,
            };
            // The elements that are given explicitly are explicit arguments.
            if one.args[hole].is_some() && self.open_pack == Some(hole) {
                one.open_pack = None;
            }
        }
        one
    }

    /// Takes the argument of a parameter.
    pub(super) fn take(&mut self, n: usize) -> Option<TArg> {
        self.args[n].take()
    }

    /// Binds a pack to all its elements; false if it has others.
    pub(super) fn bind_pack(&mut self, n: usize, elements: Vec<TArg>) -> bool {
        let is_open = self.open_pack == Some(n);
        if let Some(TArg::Pack(known)) = &self.args[n]
            && (known.len() > elements.len() || (known.len() < elements.len() && !is_open))
        {
            return false;
        }
        if is_open {
            self.open_pack = None;
        }
        self.args[n] = Some(TArg::Pack(elements.into()));
        true
    }
}

/// Takes the pattern's qualifiers off a type: `None` when it is in another space.
fn strip_quals(mut ty: QualTy, quals: Qualifiers) -> Option<QualTy> {
    if let Some(space) = quals.space.map(space_of) {
        if ty.space != space {
            return None;
        }
        ty.space = Space::Thread;
        // Constant memory is const, said or not.
        ty.is_const &= space != Space::Constant;
    }
    // `const T*` accepts a pointer to non-const: a qualification conversion follows.
    ty.is_const &= !quals.is_const;
    ty.is_volatile &= !quals.is_volatile;
    Some(ty)
}

/// Compares patterns by their structure.
pub(super) fn pattern_order<'c, 'a>(
    types: &'c Types,
    records: &'c Records<'a>,
    templates: &'c mut Templates<'a>,
) -> PatternOrder<'c, 'a> {
    PatternOrder { types, records, templates }
}

/// Binds a parameter, or compares with what it is bound to.
fn bind(types: &Types, deduced: &mut Deduced, index: usize, arg: TArg) -> bool {
    let Some(slot) = deduced.args.get_mut(index) else { return false };
    match slot {
        None => {
            *slot = Some(arg);
            true
        }
        Some(TArg::Value(ty, value)) => match arg {
            TArg::Value(other_ty, other) => {
                *value == other || {
                    let a = super::evaluate::integer_of(types, *ty, value);
                    a.is_some() && a == super::evaluate::integer_of(types, other_ty, &other)
                }
            }
            _ => false,
        },
        Some(known) => *known == arg,
    }
}

fn value(types: &Types, pat: &ValuePat, value: i128, deduced: &mut Deduced) -> bool {
    match pat {
        ValuePat::Fixed(n) => *n == value,
        ValuePat::Param(n) => {
            bind(types, deduced, *n, TArg::Value(Ty::LONG, ConstValue::Scalar(value as u64)))
        }
        ValuePat::Opaque => true,
    }
}

/// Matches a pattern against a type exactly, except that pointers may gain `const`.
pub(super) fn from_type<'a>(cx: &mut Checker<'a>, pat: &Pat<'a>, ty: QualTy, deduced: &mut Deduced) -> bool {
    if ty.ty.is_error() {
        return false;
    }
    match pat {
        Pat::Opaque => true,
        Pat::Fixed(want) => {
            *want == ty || {
                let stripped = strip_quals(ty, quals_of(*want));
                stripped.is_some_and(|stripped| stripped == want.unqualified())
            }
        }
        Pat::Param(n, quals) => {
            strip_quals(ty, *quals).is_some_and(|ty| bind(&cx.types, deduced, *n, TArg::Type(ty)))
        }
        Pat::Pointer(inner) => match cx.types.pointee(ty.ty) {
            Some(pointee) => from_type(cx, inner, pointee, deduced),
            None => false,
        },
        Pat::Reference { to, .. } => match cx.types.referent(ty.ty) {
            Some(referent) => from_type(cx, to, referent, deduced),
            None => false,
        },
        Pat::Array(elem, len) => match cx.types.as_array(ty.ty) {
            Some((inner, count)) => {
                value(&cx.types, len, i128::from(count), deduced)
                    && from_type(cx, elem, ty.with_ty(inner), deduced)
            }
            None => false,
        },
        Pat::Vector { elem, len, packed, quals } => match *cx.types.kind(ty.ty) {
            // Packed vectors are Metal's own; others may have as many elements as `ext_vector_type`
            // gives.
            TyKind::Vector { elem: have, len: count, packed: is_packed }
                if is_packed == *packed && (!is_packed || count <= MAX_METAL_VECTOR_LEN) =>
            {
                strip_quals(ty, *quals).is_some_and(|rest| rest.is_plain())
                    && value(&cx.types, len, i128::from(count), deduced)
                    && from_type(cx, elem, QualTy::plain(Ty::scalar(have)), deduced)
            }
            _ => false,
        },
        Pat::Matrix { elem, cols, rows, quals } => match *cx.types.kind(ty.ty) {
            TyKind::Matrix { elem: have, cols: c, rows: r } => {
                strip_quals(ty, *quals).is_some_and(|rest| rest.is_plain())
                    && value(&cx.types, cols, i128::from(c), deduced)
                    && value(&cx.types, rows, i128::from(r), deduced)
                    && from_type(cx, elem, QualTy::plain(Ty::scalar(have)), deduced)
            }
            _ => false,
        },
        Pat::Class { template, args, quals } => {
            strip_quals(ty, *quals).is_some_and(|rest| rest.is_plain())
                && from_class(cx, template, args, ty.ty, deduced)
        }
        Pat::Applied { template, args, quals } => {
            strip_quals(ty, *quals).is_some_and(|rest| rest.is_plain())
                && applied(cx, *template, args, ty.ty, deduced)
        }
        Pat::Function { ret, params, form } => from_function(cx, ret, params, *form, ty.ty, deduced),
    }
}

fn from_class<'a>(
    cx: &mut Checker<'a>,
    template: &super::entities::ClassTemplate<'a>,
    args: &[ArgPat<'a>],
    ty: Ty,
    deduced: &mut Deduced,
) -> bool {
    let Some(id) = cx.types.as_record(ty) else {
        // The pattern is a class, the argument is not.
        return false;
    };
    let inst = cx.records.get(id);
    if inst.template.as_ref().is_some_and(|own| same_template(own, template)) {
        return class_args(cx, template, args, id, deduced);
    }
    if inst.ast.is_none_or(|ast| ast.bases.is_empty()) {
        return false;
    }
    record::base_path(cx, id, id);
    let span = cx.records.get(id).ast.map_or(anymetal_diagnostics::Span::NONE, |ast| ast.span);
    let _ = cx.quietly(|cx| record::complete(cx, id, span));
    // Bases that lead to different arguments lead to none (C++14 [temp.deduct.call.5]).
    let mut found: Option<Deduced> = None;
    for base in cx.records.bases_of(id) {
        let mut attempt = deduced.clone();
        if class_args(cx, template, args, base, &mut attempt) {
            if found.is_some_and(|known| known != attempt) {
                return false;
            }
            found = Some(attempt);
        }
    }
    found.map(|found| *deduced = found).is_some()
}

/// Deduces from the arguments of a class, if it is made from the template.
fn class_args<'a>(
    cx: &mut Checker<'a>,
    template: &super::entities::ClassTemplate<'a>,
    args: &[ArgPat<'a>],
    id: RecordId,
    deduced: &mut Deduced,
) -> bool {
    let inst = cx.records.get(id);
    let have = inst.args.clone();
    let mut attempt = deduced.clone();
    let outer = attempt.compare_types(!cx.diagnostics.is_of_library(template.primary.span));
    let fits = inst.template.as_ref().is_some_and(|own| same_template(own, template))
        && from_args(cx, args, &have, &mut attempt);
    attempt.compare_types(outer);
    if fits {
        *deduced = attempt;
    }
    fits
}

fn applied<'a>(
    cx: &mut Checker<'a>,
    template: usize,
    args: &[ArgPat<'a>],
    ty: Ty,
    deduced: &mut Deduced,
) -> bool {
    let mut types = vec![ty];
    if let Some(record) = cx.types.as_record(ty) {
        let _ = cx.quietly(|cx| record::complete(cx, record, anymetal_diagnostics::Span::NONE));
        types.extend(cx.records.bases_of(record).into_iter().map(|base| cx.records.get(base).ty));
    }
    types.into_iter().any(|ty| {
        let Some((id, have)) = cx.templates.of_type(&cx.types, &cx.records, ty) else {
            return false;
        };
        let mut attempt = deduced.clone();
        let fits = bind(&cx.types, &mut attempt, template, TArg::Template(id))
            && from_args(cx, args, &have, &mut attempt);
        if fits {
            *deduced = attempt;
        }
        fits
    })
}

/// Matches template argument patterns against template arguments.
pub(super) fn from_args<'a>(
    cx: &mut Checker<'a>,
    pats: &[ArgPat<'a>],
    args: &[TArg],
    deduced: &mut Deduced,
) -> bool {
    // Arguments for a pack parameter are one `TArg::Pack`; flatten both sides.
    let mut flat = Vec::new();
    for arg in args {
        match arg {
            TArg::Pack(elements) => flat.extend(elements.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    let mut at = 0;
    for pat in pats {
        if let ArgPat::Pack(inner) = pat {
            return pack(cx, inner, &flat[at..], deduced);
        }
        let Some(arg) = flat.get(at) else {
            // The pattern has more arguments.
            return false;
        };
        if !from_arg(cx, pat, arg, deduced) {
            return false;
        }
        at += 1;
    }
    // Patterns may stop early: the remaining parameters have defaults.
    at == flat.len() || pats.len() < args.len()
}

fn from_arg<'a>(cx: &mut Checker<'a>, pat: &ArgPat<'a>, arg: &TArg, deduced: &mut Deduced) -> bool {
    match (pat, arg) {
        (ArgPat::Type(Pat::Opaque), _) => true,
        (ArgPat::Type(Pat::Fixed(want)), TArg::Type(ty)) => want == ty,
        (ArgPat::Type(pat), TArg::Type(ty)) => exact(cx, pat, *ty, deduced),
        (ArgPat::Value(ValuePat::Param(n)), TArg::Value(ty, _)) if !deduced.has_value_type(*n, *ty) => false,
        (ArgPat::Value(ValuePat::Param(n)), arg @ (TArg::Value(..) | TArg::Function(_))) => {
            bind(&cx.types, deduced, *n, arg.clone())
        }
        (ArgPat::Template(TemplatePat::Param(n)), arg @ TArg::Template(_)) => {
            bind(&cx.types, deduced, *n, arg.clone())
        }
        (ArgPat::Template(TemplatePat::Fixed(want)), TArg::Template(have)) => want == have,
        (ArgPat::Value(ValuePat::Opaque), _) => true,
        (ArgPat::Value(ValuePat::Fixed(want)), TArg::Value(ty, value)) => {
            super::evaluate::integer_of(&cx.types, *ty, value) == Some(*want)
        }
        _ => false,
    }
}

/// As [`from_type`], but the pattern's own `const` must be in the type.
fn exact<'a>(cx: &mut Checker<'a>, pat: &Pat<'a>, ty: QualTy, deduced: &mut Deduced) -> bool {
    let quals = match pat {
        Pat::Param(_, quals)
        | Pat::Vector { quals, .. }
        | Pat::Matrix { quals, .. }
        | Pat::Class { quals, .. }
        | Pat::Applied { quals, .. } => *quals,
        Pat::Pointer(inner) => {
            return match cx.types.pointee(ty.ty) {
                Some(pointee) => ty.is_plain() && exact(cx, inner, pointee, deduced),
                None => false,
            };
        }
        _ => Qualifiers::default(),
    };
    (!quals.is_const || ty.is_const)
        && (!quals.is_volatile || ty.is_volatile)
        && from_type(cx, pat, ty, deduced)
}

fn pack<'a>(cx: &mut Checker<'a>, pat: &ArgPat<'a>, args: &[TArg], deduced: &mut Deduced) -> bool {
    let mut holes = holes_of(pat);
    deduced.elementwise(&mut holes);
    let mut collected: Vec<Vec<TArg>> = vec![Vec::new(); holes.len()];
    for (n, arg) in args.iter().enumerate() {
        let mut one = deduced.element(&holes, n);
        if !from_arg(cx, pat, arg, &mut one) {
            return false;
        }
        for (&hole, collected) in holes.iter().zip(&mut collected) {
            collected.extend(one.take(hole));
        }
    }
    holes.into_iter().zip(collected).all(|(hole, elements)| deduced.bind_pack(hole, elements))
}

fn from_function<'a>(
    cx: &mut Checker<'a>,
    ret: &Pat<'a>,
    params: &[ArgPat<'a>],
    form: FunctionForm,
    ty: Ty,
    deduced: &mut Deduced,
) -> bool {
    let function = match *cx.types.kind(ty) {
        TyKind::Pointer(pointee) => pointee.ty,
        TyKind::Reference { to, .. } => to.ty,
        _ => ty,
    };
    let TyKind::Function { ret: have_ret, params: have, form: have_form } = cx.types.kind(function).clone()
    else {
        return false;
    };
    if have_form != form {
        return false;
    }
    let has_pack = matches!(params.last(), Some(ArgPat::Pack(_)));
    let have: Vec<TArg> = have.iter().map(|&ty| TArg::Type(ty)).collect();
    (has_pack || have.len() == params.len())
        && from_type(cx, ret, have_ret, deduced)
        && from_args(cx, params, &have, deduced)
}

/// Deduces from the type of a function's parameter, as a declaration or an address names it: `T&&` is also
/// the type of references to places (C++14 [temp.deduct.type.10]).
pub(super) fn from_param_type<'a>(
    cx: &mut Checker<'a>,
    pat: &Pat<'a>,
    ty: QualTy,
    deduced: &mut Deduced,
) -> bool {
    if let Pat::Reference { to, rvalue: true } = pat
        && let Pat::Param(n, quals) = **to
        && quals == Qualifiers::default()
        && matches!(cx.types.kind(ty.ty), TyKind::Reference { rvalue: false, .. })
    {
        return bind(&cx.types, deduced, n, TArg::Type(ty));
    }
    from_type(cx, pat, ty, deduced)
}

/// Deduces from one argument of a call.
pub(super) fn from_call_arg<'a>(
    cx: &mut Checker<'a>,
    pat: &Pat<'a>,
    arg: QualTy,
    is_lvalue: bool,
    deduced: &mut Deduced,
) -> bool {
    match pat {
        Pat::Fixed(_) | Pat::Opaque => true,
        Pat::Reference { to, rvalue } => {
            if *rvalue
                && is_lvalue
                && let Pat::Param(n, quals) = **to
                && quals == Qualifiers::default()
            {
                // A forwarding reference to an lvalue.
                let reference = QualTy::plain(cx.types.reference(arg, false));
                return bind(&cx.types, deduced, n, TArg::Type(reference));
            }
            if from_type(cx, to, arg, deduced) {
                return true;
            }
            // `const thread T&` can bind a copy of an object in another space.
            is_const_pattern(to) && from_type(cx, to, arg.unqualified(), deduced)
        }
        _ => {
            let decayed = decayed_value(&mut cx.types, arg);
            from_type(cx, pat, decayed, deduced)
        }
    }
}

/// The type a value of this type is passed as.
pub(super) fn decayed_value(types: &mut Types, ty: QualTy) -> QualTy {
    match *types.kind(ty.ty) {
        TyKind::Array(..) | TyKind::Function { .. } => resolve_type::decayed_param(types, ty),
        TyKind::Reference { to, .. } => decayed_value(types, to),
        _ => ty.unqualified(),
    }
}

/// The parameters that occur in a pattern.
fn holes_of(pat: &ArgPat<'_>) -> Vec<usize> {
    let mut holes = Vec::new();
    holes_in_arg(pat, &mut holes);
    holes
}

/// Adds the parameters that occur in the pattern of an argument.
pub(super) fn holes_in_arg(pat: &ArgPat<'_>, out: &mut Vec<usize>) {
    match pat {
        ArgPat::Type(pat) => holes_in(pat, out),
        ArgPat::Value(value) => holes_in_value(value, out),
        ArgPat::Template(TemplatePat::Fixed(_)) => {}
        ArgPat::Template(TemplatePat::Param(n)) => holes_in_value(&ValuePat::Param(*n), out),
        ArgPat::Pack(inner) => holes_in_arg(inner, out),
    }
}

fn holes_in_value(value: &ValuePat, out: &mut Vec<usize>) {
    if let ValuePat::Param(n) = value
        && !out.contains(n)
    {
        out.push(*n);
    }
}

/// Adds the parameters that occur in a type pattern.
pub(super) fn holes_in(pat: &Pat<'_>, out: &mut Vec<usize>) {
    match pat {
        Pat::Fixed(_) | Pat::Opaque => {}
        Pat::Param(n, _) => holes_in_value(&ValuePat::Param(*n), out),
        Pat::Pointer(inner) | Pat::Reference { to: inner, .. } => holes_in(inner, out),
        Pat::Array(elem, len) => {
            holes_in(elem, out);
            holes_in_value(len, out);
        }
        Pat::Vector { elem, len, .. } => {
            holes_in(elem, out);
            holes_in_value(len, out);
        }
        Pat::Matrix { elem, cols, rows, .. } => {
            holes_in(elem, out);
            holes_in_value(cols, out);
            holes_in_value(rows, out);
        }
        Pat::Class { args, .. } => args.iter().for_each(|arg| holes_in_arg(arg, out)),
        Pat::Applied { template, args, .. } => {
            holes_in_value(&ValuePat::Param(*template), out);
            args.iter().for_each(|arg| holes_in_arg(arg, out));
        }
        Pat::Function { ret, params, .. } => {
            holes_in(ret, out);
            params.iter().for_each(|param| holes_in_arg(param, out));
        }
    }
}
