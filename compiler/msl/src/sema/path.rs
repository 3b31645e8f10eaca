//! Qualified names: `a::b<T>::template c<4>`, segment by segment.

use super::checker::Checker;
use super::diagnostics::{DEPENDENT, Diagnostics};
use super::entities::{Found, LocalDecl, TArg};
use super::record::Records;
use super::scopes::{ScopeId, Scopes};
use super::table::{NsId, operator_key};
use super::{access, ambiguity, declaration_order, lookup, record, spelling, template_args};
use crate::ast::{self, Path, PathSegment};
use crate::foreign_words;
use crate::hir::{QualTy, RecordId, TyKind};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// What a path leads to.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) found: Found<'a>,
    /// Template arguments of the last segment that are not applied yet: those of function and variable
    /// templates.
    pub(super) args: Option<&'a [ast::TemplateArg]>,
    /// Whether there was a `::`.
    pub(super) qualified: bool,
}

/// Why a path leads nowhere.
#[derive(Debug)]
pub(super) enum Miss {
    /// Already said.
    Reported,
    /// There is no such name; `within` is what it was looked for in.
    Unknown { name: Name, span: Span, within: Option<String> },
}

/// The part of Metal that a name belongs to, if it is one we do not have.
fn unsupported(name: &str) -> Option<&'static str> {
    name.starts_with("simdgroup_event").then_some("asynchronous copies")
}

/// What to say of a `using namespace` that leads nowhere.
pub(super) fn unknown_namespace(path: &Path, span: Span) -> Diagnostic {
    let shown = spelling::path(path);
    Diagnostic::error("unknown-namespace", span, format!("no namespace named `{shown}`"))
}

/// The name a segment is looked up by.
pub(super) fn segment_key(segment: &PathSegment) -> Name {
    segment.operator.as_ref().map_or(segment.name, operator_key)
}

/// Resolves a path; reports everything except that its last name is unknown.
pub(super) fn resolve<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Result<Target<'a>, Miss> {
    resolve_prefix(cx, path, path.segments.len())
}

/// Resolves the first `count` segments of a path.
pub(super) fn resolve_prefix<'a>(
    cx: &mut Checker<'a>,
    path: &'a Path,
    count: usize,
) -> Result<Target<'a>, Miss> {
    let Some((first, rest)) = path.segments[..count].split_first() else { return Err(Miss::Reported) };
    let key = segment_key(first);
    let found = if path.global {
        lookup::in_namespace(cx, NsId::GLOBAL, key).map(|found| (found, None))
    } else {
        lookup::unqualified_with_class(cx, key)
    };
    let Some((found, class)) = found else {
        let miss = Miss::Unknown { name: key, span: first.span, within: None };
        if rest.is_empty() {
            return Err(miss);
        }
        report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "namespace or type");
        return Err(Miss::Reported);
    };
    let declares_itself = path.span.lo < first.span.lo;
    if !path.global
        && !declares_itself
        && class.is_none()
        && declaration_order::is_too_early(cx, &found, key, first.span)
    {
        let miss = Miss::Unknown { name: key, span: first.span, within: None };
        if rest.is_empty() {
            return Err(miss);
        }
        report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "namespace or type");
        return Err(Miss::Reported);
    }
    let found = ambiguity::unambiguous(&mut cx.diagnostics, found, first.span)?;
    if class.is_some_and(|class| !access::check(cx, class, key, &found, true, first.span)) {
        return Err(Miss::Reported);
    }
    let parameter = if class.is_none() { cx.scopes.parameter_list(key) } else { None };
    let mut target = apply_segment_args(cx, found, first, parameter)?;
    target.qualified = path.global;
    for segment in rest {
        let found = lookup_member_of(cx, target, segment)?;
        target = apply_segment_args(cx, found, segment, None)?;
        target.qualified = true;
    }
    Ok(target)
}

/// Resolves `decltype(e)::a::b`: a path that starts inside a type.
pub(super) fn resolve_in_type<'a>(
    cx: &mut Checker<'a>,
    ty: QualTy,
    segments: &'a [PathSegment],
) -> Result<Target<'a>, Miss> {
    let ty = cx.types.referent(ty.ty).unwrap_or(ty);
    let mut target = Target { found: Found::Type(ty), args: None, qualified: true };
    for segment in segments {
        let found = lookup_member_of(cx, target, segment)?;
        target = apply_segment_args(cx, found, segment, None)?;
        target.qualified = true;
    }
    Ok(target)
}

/// Reports template arguments after a name in something that depends on template parameters: without
/// `template`, `<` means less-than there (C++14 [temp.names]).
pub(super) fn require_template_word(diagnostics: &mut Diagnostics, segment: &PathSegment) {
    if diagnostics.in_template() && segment.args.is_some() && !segment.has_template_word {
        let name =
            segment.operator.as_ref().map_or_else(|| segment.name.to_string(), |_| "operator".to_owned());
        let message = format!("write `template` before `{name}`, which is a member of a dependent type");
        diagnostics.error("missing-template", segment.span, message);
    }
}

/// Looks a segment up in what the segments before it mean.
fn lookup_member_of<'a>(
    cx: &mut Checker<'a>,
    outer: Target<'a>,
    segment: &'a PathSegment,
) -> Result<Found<'a>, Miss> {
    let key = segment_key(segment);
    let ty = match outer.found {
        Found::Namespace(ns) => {
            let found = lookup::in_namespace(cx, ns, key).ok_or_else(|| Miss::Unknown {
                name: key,
                span: segment.span,
                within: Some(format!("namespace `{}`", cx.table.prefix(ns).trim_end_matches("::"))),
            })?;
            return ambiguity::unambiguous(&mut cx.diagnostics, found, segment.span);
        }
        Found::Error => return Err(Miss::Reported),
        found => match type_of_found(&cx.records, &found) {
            Some(ty) => ty,
            None => {
                let message =
                    format!("what stands before `::{}` is neither a namespace nor a type", segment.name);
                cx.error("not-a-scope", segment.span, message);
                return Err(Miss::Reported);
            }
        },
    };
    if ty.ty.is_error() {
        require_template_word(&mut cx.diagnostics, segment);
    }
    let found = lookup_in_type(cx, ty, key, segment.span)?;
    // The object of `Base::x` is of a derived class, which has the rights of one.
    accessible(cx, ty, key, found, false, segment.span)
}

/// What a lookup in a type found, unless it may not be used here, which is reported.
pub(super) fn accessible<'a>(
    cx: &mut Checker<'a>,
    ty: QualTy,
    key: Name,
    found: Found<'a>,
    has_object: bool,
    span: Span,
) -> Result<Found<'a>, Miss> {
    match cx.types.as_record(ty.ty) {
        Some(class) if !access::check(cx, class, key, &found, has_object, span) => Err(Miss::Reported),
        _ => Ok(found),
    }
}

/// Looks a member up in a class or enumeration.
pub(super) fn lookup_in_type<'a>(
    cx: &mut Checker<'a>,
    ty: QualTy,
    key: Name,
    span: Span,
) -> Result<Found<'a>, Miss> {
    match *cx.types.kind(ty.ty) {
        TyKind::Error => Err(Miss::Reported),
        TyKind::Record(record) => {
            let Some(found) = record::lookup(cx, record, key) else {
                let shown = cx.show(ty.unqualified()).replace(DEPENDENT, "…");
                let within = Some(format!("`{shown}`"));
                return Err(match cx.is_dependent(ty.ty) {
                    true if cx.records.has_unknown_base(record) => Miss::Reported,
                    _ => Miss::Unknown { name: key, span, within },
                });
            };
            ambiguity::unambiguous(&mut cx.diagnostics, found, span)
        }
        TyKind::Enum(_) => cx.enums.enumerator_by_name(&cx.types, ty.ty, key).ok_or_else(|| Miss::Unknown {
            name: key,
            span,
            within: Some(format!("`{}`", cx.show(ty.unqualified()))),
        }),
        _ => {
            let message = format!("type `{}` has no members: it is not a class", cx.show(ty));
            cx.error("not-a-class", span, message);
            Err(Miss::Reported)
        }
    }
}

/// The type, if it is one.
pub(super) fn type_of_found<'a>(records: &Records<'a>, found: &Found<'a>) -> Option<QualTy> {
    match found {
        Found::Type(ty) | Found::TArg(TArg::Type(ty)) | Found::Local(LocalDecl::Type(ty)) => Some(*ty),
        Found::Injected(record) => Some(QualTy::plain(records.get(*record).ty)),
        _ => None,
    }
}

fn apply_segment_args<'a>(
    cx: &mut Checker<'a>,
    found: Found<'a>,
    segment: &'a PathSegment,
    parameter: Option<(&'a ast::TemplateParams, ScopeId)>,
) -> Result<Target<'a>, Miss> {
    let Some(args) = &segment.args else {
        return Ok(Target { found, args: None, qualified: false });
    };
    let template = match found {
        Found::ClassTemplate(_) | Found::AliasTemplate(_) | Found::BuiltinTemplate(_) => found,
        Found::Injected(record) => match cx.records.get(record).template.clone() {
            Some(template) => Found::ClassTemplate(template),
            None => return Err(no_template(&mut cx.diagnostics, segment)),
        },
        Found::Functions(_) | Found::Variable(_) => {
            return Ok(Target { found, args: Some(args), qualified: false });
        }
        Found::Error => return Err(Miss::Reported),
        _ => return Err(no_template(&mut cx.diagnostics, segment)),
    };
    let span = segment.span;
    if let Found::AliasTemplate(template) = &template
        && template_args::expands_into_single(cx, template.params, args)
    {
        let message = "pack expansion used as argument for non-pack parameter of alias template";
        cx.error("pack-expansion", span, message);
        return Err(Miss::Reported);
    }
    let mut explicit = template_args::explicit(cx, args);
    if let Found::AliasTemplate(template) = template
        && let Some(ty) = template_args::alias_without_params(cx, template, &explicit)
    {
        return Ok(Target { found: Found::Type(ty), args: None, qualified: false });
    }
    if let Some((params, scope)) = parameter {
        explicit = template_args::with_defaults(cx, params, explicit, scope, span).ok_or(Miss::Reported)?;
    }
    let ty = template_args::type_of_template(cx, &template, explicit, span).ok_or(Miss::Reported)?;
    Ok(Target { found: Found::Type(ty), args: None, qualified: false })
}

fn no_template(diagnostics: &mut Diagnostics, segment: &PathSegment) -> Miss {
    if diagnostics.in_template() {
        return Miss::Reported;
    }
    diagnostics.error("not-a-template", segment.span, format!("`{}` is not a template", segment.name));
    Miss::Reported
}

/// Reports a miss.
pub(super) fn report_miss(
    scopes: &Scopes<'_>,
    records: &Records<'_>,
    diagnostics: &mut Diagnostics,
    miss: Miss,
    what: &str,
) {
    let Miss::Unknown { name, span, within } = miss else { return };
    if let Some(feature) = unsupported(name.as_str()) {
        let message = format!("`{name}`: {feature} are not supported");
        diagnostics.error("unsupported-feature", span, message);
        return;
    }
    let mut diagnostic = match within {
        Some(within) => {
            Diagnostic::error("unknown-member", span, format!("no {what} named `{name}` in {within}"))
        }
        None => Diagnostic::error("unknown-name", span, format!("unknown {what} `{name}`")),
    };
    if let Some(hint) = foreign_words::hint(name.as_str()) {
        diagnostic = diagnostic.with_hint(hint);
    } else if let Some(near) = lookup::suggestion(scopes, records, diagnostics, name) {
        diagnostic = diagnostic.with_other_name(span, &near);
    }
    diagnostics.report(diagnostic);
}

/// The class or enumeration that a function or variable of the same name and namespace hides. Only a type
/// can stand here, so that `struct` in front makes no difference.
fn hidden_tag<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<QualTy> {
    let last = path.segments.last()?;
    if last.args.is_some() || last.operator.is_some() {
        return None;
    }
    hidden_member(cx, path).or_else(|| lookup::tag_of_path(cx, path))
}

/// As [`hidden_tag`], for members of a class.
fn hidden_member<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<QualTy> {
    let (last, front) = path.segments.split_last()?;
    let classes = match front.is_empty() {
        true => cx.scopes.classes_around(),
        false => {
            let found = cx.quietly(|cx| resolve_prefix(cx, path, front.len())).ok()?.ok()?.found;
            let ty = type_of_found(&cx.records, &found)?;
            Vec::from_iter(cx.types.as_record(ty.ty))
        }
    };
    classes.into_iter().find_map(|class| record::member_tag(cx, class, last.name))
}

/// Reports `struct`, `union` or `enum` before a type of another kind.
pub(super) fn check_tag<'a>(cx: &mut Checker<'a>, path: &'a Path, ty: QualTy) {
    let Some(tag) = path.tag else { return };
    let is = match *cx.types.kind(ty.ty) {
        TyKind::Record(record) if cx.types.record(record).is_union => ast::TagWord::Union,
        TyKind::Record(_) => ast::TagWord::Struct,
        TyKind::Enum(_) => ast::TagWord::Enum,
        // What depends on template arguments is not known.
        TyKind::Error => return,
        _ => {
            let message = format!("`{}` is not a class or an enumeration", spelling::path(path));
            return cx.error("tag-mismatch", path.span, message);
        }
    };
    if is != tag {
        let message = format!("`{}` is declared as another kind of type than here", spelling::path(path));
        cx.error("tag-mismatch", path.span, message);
    }
}

/// Resolves a path that must name a type, where `A::A` names the constructor (C++14 [class.qual]).
pub(super) fn resolve_type<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<QualTy> {
    if let [.., class, last] = path.segments.as_slice()
        && class.name == last.name
        && path.tag.is_none()
        && last.operator.is_none()
    {
        let found = cx.quietly(|cx| cx.without_access(|cx| resolve(cx, path)));
        let is_constructor = matches!(found, Ok(Ok(Target { found: Found::Injected(_), .. })))
            || (last.args.is_some() && names_own_class(cx, path));
        if is_constructor {
            let message = format!("`{}` names the constructor, not a type", spelling::path(path));
            cx.error("not-a-type", path.span, message);
            return None;
        }
    }
    resolve_class_or_type(cx, path)
}

/// The class that a path names in a scope, such as that of a member's definition. Reports nothing.
pub(super) fn class_of_path<'a>(cx: &mut Checker<'a>, path: &'a Path, scope: ScopeId) -> Option<RecordId> {
    let class = cx.quietly(|cx| cx.without_access(|cx| cx.in_scope(scope, |cx| resolve_type(cx, path))));
    cx.types.as_record(class.ok().flatten()?.ty)
}

/// Whether the path without its last arguments names a class by its own name.
fn names_own_class<'a>(cx: &mut Checker<'a>, path: &'a Path) -> bool {
    let count = path.segments.len() - 1;
    let found = cx.quietly(|cx| cx.without_access(|cx| resolve_prefix(cx, path, count)));
    let Ok(Ok(target)) = found else { return false };
    let class = type_of_found(&cx.records, &target.found).and_then(|ty| cx.types.as_record(ty.ty));
    let name = path.segments[count].name;
    class.is_some_and(|class| cx.records.get(class).name == Some(name))
}

/// The same where only types are looked for: a base class.
pub(super) fn resolve_class_or_type<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<QualTy> {
    let target = match resolve(cx, path) {
        Ok(target) => target,
        Err(miss) => {
            report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "type");
            return None;
        }
    };
    if let Some(ty) = type_of_found(&cx.records, &target.found) {
        check_tag(cx, path, ty);
        return Some(ty);
    }
    if let Found::Functions(_) | Found::Variable(_) | Found::Field(..) = target.found
        && let Some(ty) = hidden_tag(cx, path)
    {
        check_tag(cx, path, ty);
        return Some(ty);
    }
    let message = match target.found {
        Found::Error => return None,
        Found::ClassTemplate(_) | Found::AliasTemplate(_) | Found::BuiltinTemplate(_) => {
            format!("template `{}` needs template arguments here", spelling::path(path))
        }
        _ => format!("`{}` is not a type", spelling::path(path)),
    };
    cx.error("not-a-type", path.span, message);
    None
}
