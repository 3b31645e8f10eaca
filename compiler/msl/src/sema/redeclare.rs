//! Names that are declared several times.
//!
//! A class or an enumeration may share its name with a function, a variable or an enumerator; nothing else
//! may share a name but functions, and declarations of one entity (C++14 [basic.scope.declarative]).
//! Reported at the later declaration.

pub(super) mod friends;
pub(super) mod templates;
mod variables;

pub(super) use variables::{check_aliases, check_extern, check_variables};

use super::checker::Checker;
use super::entities::FnDeclId;
use super::function::Functions;
use super::path::segment_key;
use super::table::{Decl, Layer, NsId, Tag, function_key};
use super::{default_arguments, equivalence, function, noexcept, record, spelling};
use crate::ast::{self, FunctionBody, FunctionName, Item, ItemKind, OperatorName};
use crate::hir::{FuncId, QualTy, RecordId};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Sink, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What a declaration makes of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Function,
    Namespace,
    Field,
    /// A member of an anonymous union or structure.
    AnonymousField,
    Variable,
    VariableTemplate,
    Enumerator,
    Enum,
    Record(ast::RecordKind),
    ClassTemplate(ast::RecordKind),
    Alias,
    MemberAlias,
    AliasTemplate,
}

impl Kind {
    fn is_tag(self) -> bool {
        matches!(self, Self::Record(_) | Self::Enum)
    }

    /// Whether a tag of that name may be hidden by it.
    fn may_hide_tags(self) -> bool {
        matches!(self, Self::Function | Self::Variable | Self::Enumerator | Self::Field)
    }
}

/// A declaration of a name.
struct Declared {
    kind: Kind,
    span: Span,
    is_definition: bool,
    /// Whether `alignas` is among its attributes.
    is_aligned: bool,
}

/// Reports the names of a layer that are declared twice.
pub(super) fn check(layer: &Layer, sink: &mut Sink) {
    for (name, decls) in layer.own_names() {
        let declared: Vec<Declared> = decls.iter().filter_map(|&decl| declared(layer, decl)).collect();
        report_conflicts(name, &declared, &mut |diagnostic| sink.push(diagnostic));
    }
}

fn report_conflicts(name: Name, declared: &[Declared], report: &mut dyn FnMut(Diagnostic)) {
    let is_unaligned = |declared: &&Declared| declared.is_definition && !declared.is_aligned;
    if let Some(aligned) = declared.iter().find(|declared| declared.is_aligned)
        && let Some(definition) = declared.iter().find(is_unaligned)
        && definition.kind == aligned.kind
    {
        let message = "`alignas` must be specified on definition if it is specified on any declaration";
        let diagnostic = Diagnostic::error("redefinition", definition.span, message);
        report(diagnostic.with_note(aligned.span, "the declaration with `alignas`"));
    }
    for (n, later) in declared.iter().enumerate().skip(1) {
        if let Some(problem) = declared[..n].iter().find_map(|earlier| conflict(earlier, later, name)) {
            let (earlier, message) = problem;
            let diagnostic = Diagnostic::error("redefinition", later.span, message);
            report(diagnostic.with_note(earlier, "previously declared here"));
        }
    }
}

/// Reports the names of a class that are declared twice, and members that have the name of the class.
pub(super) fn check_members<'a>(cx: &mut Checker<'a>, owner: RecordId) {
    let Some(ast) = cx.records.get(owner).ast else { return };
    let mut by_name: FxHashMap<Name, Vec<Declared>> = FxHashMap::default();
    let mut names = Vec::new();
    // Data members may have the name of a class without declared constructors (C++ [class.mem]).
    let has_constructor = ast.members.iter().flatten().any(|item| match &item.kind {
        ItemKind::Function(function) => matches!(function.name, ast::FunctionName::Constructor(_)),
        _ => false,
    });
    let mut usings: Vec<Vec<Name>> = Vec::new();
    for item in ast.members.iter().flatten() {
        if let ItemKind::UsingDeclaration(using) = &item.kind {
            check_member_using(cx, using, ast.name, &mut usings);
        }
        for (name, declared) in of_member(item) {
            let may_be_class = declared.kind == Kind::Field && !has_constructor;
            if Some(name) == ast.name && declared.kind == Kind::Function {
                cx.error("redefinition", declared.span, "a constructor has no result type");
            } else if Some(name) == ast.name && !may_be_class {
                let message = format!("member `{name}` has the same name as its class");
                cx.error("redefinition", declared.span, message);
            }
            names.push(name);
            by_name.entry(name).or_default().push(declared);
        }
    }
    for name in names {
        if let Some(declared) = by_name.remove(&name) {
            report_conflicts(name, &declared, &mut |diagnostic| cx.report(diagnostic));
        }
    }
}

/// Reports a using-declaration that a class repeats, or that gives a member the name of the class. `earlier`
/// has the names of those before it.
fn check_member_using(
    cx: &mut Checker<'_>,
    using: &ast::UsingDeclaration,
    class_name: Option<Name>,
    earlier: &mut Vec<Vec<Name>>,
) {
    let segments = &using.path.segments;
    if let [.., scope, last] = segments.as_slice()
        && Some(last.name) == class_name
        && scope.name != last.name
    {
        let message = format!("member `{}` has the same name as its class", last.name);
        cx.error("redefinition", using.path.span, message);
    }
    let names: Vec<Name> = segments.iter().map(segment_key).collect();
    let is_plain = segments.iter().all(|segment| segment.args.is_none());
    if is_plain && !using.is_pack && earlier.contains(&names) {
        cx.error("redefinition", using.path.span, "the class has this using-declaration twice");
    }
    earlier.push(names);
}

/// The names that a member declares. That two data members have one name is found with their types.
fn of_member(item: &ast::Item) -> Vec<(Name, Declared)> {
    let is_template = item.template.is_some();
    let one = |name: Option<Name>, declared| name.map(|name| (name, declared)).into_iter().collect();
    match &item.kind {
        ItemKind::Function(function) if !function.specifiers.is_friend && function.scope.is_none() => {
            let declared = Declared {
                kind: Kind::Function,
                span: function.span,
                is_definition: true,
                is_aligned: false,
            };
            one(function.name.ordinary(), declared)
        }
        ItemKind::Field(field) => {
            let declared =
                Declared { kind: Kind::Field, span: field.span, is_definition: true, is_aligned: false };
            match (field.name, &field.ty.kind) {
                (None, ast::TypeKind::Record(inner)) => anonymous_members(inner),
                (name, _) => one(name, declared),
            }
        }
        ItemKind::Variable(variable)
            if variable.declarator.scope.is_none() && variable.declarator.specialisation.is_none() =>
        {
            let kind = if is_template { Kind::VariableTemplate } else { Kind::Variable };
            let declared = Declared { kind, span: variable.span, is_definition: true, is_aligned: false };
            one(Some(variable.declarator.name), declared)
        }
        ItemKind::Alias(alias) => {
            let kind = if is_template { Kind::AliasTemplate } else { Kind::MemberAlias };
            one(
                Some(alias.name),
                Declared { kind, span: alias.ty.span, is_definition: true, is_aligned: false },
            )
        }
        ItemKind::Record(record) if record.specialisation.is_none() && record.scope.is_none() => {
            one(record.name, of_record(record, is_template))
        }
        ItemKind::Enum(enumeration) => {
            let mut all: Vec<_> = one(enumeration.name, of_enum(enumeration));
            if !enumeration.is_scoped {
                all.extend(enumeration.enumerators.iter().flatten().map(|enumerator| {
                    let kind = Kind::Enumerator;
                    (
                        enumerator.name,
                        Declared { kind, span: enumerator.span, is_definition: true, is_aligned: false },
                    )
                }));
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The members of an anonymous union or structure, which are members of the class around.
fn anonymous_members(record: &ast::Record) -> Vec<(Name, Declared)> {
    let fields = record.members.iter().flatten().filter(|item| matches!(item.kind, ItemKind::Field(_)));
    let members = fields.flat_map(of_member);
    members.map(|(name, declared)| (name, Declared { kind: Kind::AnonymousField, ..declared })).collect()
}

/// Why two declarations of a name exclude each other, and where the earlier one is.
fn conflict(earlier: &Declared, later: &Declared, name: Name) -> Option<(Span, String)> {
    let (a, b) = (earlier.kind, later.kind);
    let message = match (a, b) {
        (Kind::Function, Kind::Function) | (Kind::Namespace, Kind::Namespace) => return None,
        (_, Kind::Namespace) => return None,
        // Reported where the data member gets its type.
        (Kind::AnonymousField, Kind::Field) => return None,
        (_, Kind::AnonymousField) => format!("member of anonymous union redeclares `{name}`"),
        (Kind::AnonymousField, _) => format!("redefinition of `{name}` as different kind of symbol"),
        (Kind::Field, Kind::Variable) => format!("redefinition of `{name}` as different kind of symbol"),
        // Reported where the data member gets its type.
        (Kind::Field, other) | (other, Kind::Field) if !matches!(other, Kind::ClassTemplate(_)) => {
            return None;
        }
        // Whether two aliases name one type is for the analysis of types.
        (Kind::Alias, Kind::Alias) => return None,
        // So is what two templates of aliases have in common.
        (Kind::AliasTemplate, Kind::AliasTemplate) => return None,
        (Kind::Alias, tag) | (tag, Kind::Alias) if tag.is_tag() => return None,
        (Kind::Record(a), Kind::Record(b)) | (Kind::ClassTemplate(a), Kind::ClassTemplate(b)) if a != b => {
            format!("use of `{name}` with a tag type that does not match the previous declaration")
        }
        _ if a == b && a != Kind::Enumerator => {
            if !(earlier.is_definition && later.is_definition) {
                return None;
            }
            format!("redefinition of `{name}`")
        }
        (tag, other) | (other, tag) if tag.is_tag() && other.may_hide_tags() => return None,
        (Kind::Enumerator, Kind::Enumerator) => format!("redefinition of enumerator `{name}`"),
        _ => format!("redefinition of `{name}` as different kind of symbol"),
    };
    Some((earlier.span, message))
}

fn declared(layer: &Layer, decl: Decl) -> Option<Declared> {
    match decl {
        // Where a namespace is declared is not known; later declarations are reported.
        Decl::Namespace(_) => {
            Some(Declared { kind: Kind::Namespace, span: Span::NONE, is_definition: true, is_aligned: false })
        }
        Decl::Using(_) => None,
        Decl::Enumerator(id, n) => {
            let enumerators = layer.enum_of_item(id)?.enumerators.as_ref()?;
            let span = enumerators.get(n as usize)?.span;
            Some(Declared { kind: Kind::Enumerator, span, is_definition: true, is_aligned: false })
        }
        Decl::Tag(id) => match layer.tag_of_item(id)? {
            Tag::Record(record) => Some(of_record(record, false)),
            Tag::Enum(enumeration) => Some(of_enum(enumeration)),
        },
        Decl::Item(id) => {
            let item = &layer.entry(id).item;
            let is_template = item.template.is_some();
            match &item.kind {
                ItemKind::Record(record) => Some(of_record(record, is_template)),
                ItemKind::Enum(enumeration) => Some(of_enum(enumeration)),
                ItemKind::Alias(alias) => {
                    let kind = if is_template { Kind::AliasTemplate } else { Kind::Alias };
                    Some(Declared { kind, span: alias.ty.span, is_definition: true, is_aligned: false })
                }
                ItemKind::Variable(variable) => {
                    let kind = if is_template { Kind::VariableTemplate } else { Kind::Variable };
                    let is_definition = !variable.is_extern || variable.init.is_some();
                    Some(Declared { kind, span: variable.span, is_definition, is_aligned: false })
                }
                ItemKind::Function(function) => {
                    let is_definition = !matches!(function.body, FunctionBody::None);
                    Some(Declared {
                        kind: Kind::Function,
                        span: function.span,
                        is_definition,
                        is_aligned: false,
                    })
                }
                _ => None,
            }
        }
    }
}

fn of_record(record: &ast::Record, is_template: bool) -> Declared {
    let kind = if is_template { Kind::ClassTemplate(record.kind) } else { Kind::Record(record.kind) };
    Declared {
        kind,
        span: record.span,
        is_definition: record.members.is_some(),
        is_aligned: record.align.iter().any(|align| align.is_alignas),
    }
}

fn of_enum(enumeration: &ast::Enum) -> Declared {
    Declared {
        kind: Kind::Enum,
        span: enumeration.span,
        is_definition: enumeration.enumerators.is_some(),
        is_aligned: false,
    }
}

/// Whether a layer has two functions of one name, not templates, with bodies and the same number of
/// parameters.
pub(super) fn may_repeat_functions(layer: &Layer) -> bool {
    layer.own_names().any(|(_, decls)| {
        let mut counts: Vec<usize> = Vec::new();
        let of_body = |decl: &Decl| match *decl {
            Decl::Item(id) => match &layer.entry(id).item {
                Item { kind: ItemKind::Function(function), template: None, .. }
                    if matches!(function.body, FunctionBody::Block(_)) =>
                {
                    Some(function.params.len())
                }
                _ => None,
            },
            _ => None,
        };
        decls.iter().filter_map(of_body).any(|count| {
            let is_known = counts.contains(&count);
            counts.push(count);
            is_known
        })
    })
}

/// Reports functions that are defined twice or differ in their result type only: those of a namespace.
/// Templates are part of a check of everything.
pub(super) fn check_functions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut friends = friend_functions(cx, layer);
    for (name, decls) in layer.own_names() {
        let (mut overloads, mut templates) = (Vec::new(), Vec::new());
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let ItemKind::Function(function) = &item.kind else { continue };
            let scope = cx.scopes.of_item(id);
            match &item.template {
                None => overloads.push(cx.functions.declare(function, None, scope, None)),
                Some(template) if !template.params.is_empty() && cx.checks_everything => {
                    templates.push(cx.functions.declare(function, Some(template), scope, None));
                }
                Some(_) => {}
            }
        }
        if templates.len() > 1 {
            templates::check_overloads(cx, &templates);
        }
        let own = overloads.len();
        if let Some(&first) = overloads.first() {
            let ns = cx.scopes.enclosing_namespace(cx.functions.decl(first).scope);
            overloads.extend(friends.remove(&(ns, name)).into_iter().flatten());
        }
        if cx.checks_everything {
            default_arguments::check(cx, &overloads[..own]);
        }
        if overloads.len() > 1 {
            check_overloads(cx, &overloads);
        }
    }
    // Those that only friends declare.
    let mut rest: Vec<Vec<FnDeclId>> = friends.into_values().filter(|group| group.len() > 1).collect();
    rest.sort_by_key(|group| cx.functions.decl(group[0]).ast.span.lo);
    rest.iter().for_each(|group| check_overloads(cx, group));
}

/// The functions that classes declare as friends, which are functions of the namespace around.
fn friend_functions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) -> FxHashMap<(NsId, Name), Vec<FnDeclId>> {
    let mut found: FxHashMap<(NsId, Name), Vec<FnDeclId>> = FxHashMap::default();
    for (id, entry) in layer.own_items() {
        let ItemKind::Record(record) = &entry.item.kind else { continue };
        if entry.item.template.is_some() || record.scope.is_some() {
            continue;
        }
        for item in record.members.iter().flatten() {
            let ItemKind::Function(function) = &item.kind else { continue };
            let is_plain = item.template.is_none() && function.scope.is_none();
            if !function.specifiers.is_friend || !is_plain {
                continue;
            }
            let scope = cx.scopes.of_item(id);
            let ty = record::plain(&mut cx.types, &mut cx.records, record, scope);
            record::complete_type(cx, ty, record.span);
            let (Some(class), Some(key)) = (cx.types.as_record(ty), function_key(&function.name)) else {
                continue;
            };
            let scope = cx.records.get(class).scope;
            let decl = cx.functions.declare(function, None, scope, None);
            found.entry((entry.ns, key)).or_default().push(decl);
        }
    }
    found
}

/// The same for the functions of one name in a class, where no function may be declared twice.
pub(super) fn check_methods(cx: &mut Checker<'_>, owner: RecordId) {
    let Some(items) = cx.records.get(owner).ast.and_then(|ast| ast.members.as_ref()) else { return };
    let scope = cx.records.get(owner).scope;
    let mut by_name: FxHashMap<Name, Vec<FnDeclId>> = FxHashMap::default();
    let mut names = Vec::new();
    for item in items {
        let ItemKind::Function(function) = &item.kind else { continue };
        let is_specialisation = item.template.as_ref().is_some_and(|head| head.params.is_empty());
        if is_specialisation || function.specifiers.is_friend || function.scope.is_some() {
            continue;
        }
        let Some(key) = function_key(&function.name) else { continue };
        let decl = cx.functions.declare(function, item.template.as_ref(), scope, Some(owner));
        names.push(key);
        by_name.entry(key).or_default().push(decl);
    }
    names.dedup();
    for name in names {
        if let Some(overloads) = by_name.remove(&name)
            && overloads.len() > 1
        {
            let is_template = |decl: &FnDeclId| cx.functions.decl(*decl).template.is_some();
            let (templates, plain): (Vec<_>, Vec<_>) = overloads.into_iter().partition(is_template);
            check_overloads(cx, &plain);
            templates::check_overloads(cx, &templates);
        }
    }
}

fn check_overloads(cx: &mut Checker<'_>, decls: &[FnDeclId]) {
    let mut known: Vec<FuncId> = Vec::new();
    for &decl in decls {
        let span = cx.functions.decl(decl).ast.span;
        let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), span));
        let Ok(Some(func)) = func else { continue };
        let problem = known.iter().find_map(|&earlier| excludes(cx, earlier, func));
        let problem = problem.or_else(|| added_attribute(&cx.functions, &known, func));
        if let Some((earlier, message)) = problem {
            let diagnostic = Diagnostic::error("redefinition", span, message);
            cx.report(diagnostic.with_note(earlier, "previously declared here"));
        }
        known.push(func);
    }
}

/// Whether a declaration, or a parameter of it, has an attribute that the first one must have
/// (C++14 [dcl.attr.depend.2]).
fn added_attribute(functions: &Functions<'_>, known: &[FuncId], later: FuncId) -> Option<(Span, String)> {
    let has = |attributes: &[ast::Attribute]| {
        attributes.iter().any(|attribute| attribute.name.as_str() == "carries_dependency")
    };
    let declared = |func: FuncId| Some(functions.decl(functions.inst(func).origin.decl()?).ast);
    let new = declared(later)?;
    let in_params = new.params.iter().any(|param| has(&param.attributes));
    if !in_params && !has(&new.attributes) {
        return None;
    }
    let params = &functions.inst(later).params;
    let first = known
        .iter()
        .copied()
        .find(|&known| function::are_same_params(&functions.inst(known).params, params))?;
    let old = declared(first)?;
    let mut pairs = new.params.iter().zip(&old.params);
    let what = if has(&new.attributes) && !has(&old.attributes) {
        "function"
    } else if pairs.any(|(new, old)| has(&new.attributes) && !has(&old.attributes)) {
        "parameter"
    } else {
        return None;
    };
    let message = format!("{what} declared `[[carries_dependency]]` after its first declaration");
    Some((functions.inst(first).span, message))
}

/// Reports a function of a block that excludes one of the others, or that one of them excludes: at the later
/// declaration.
pub(super) fn check_another(cx: &mut Checker<'_>, others: &[FnDeclId], decl: FnDeclId) {
    let instance = |cx: &mut Checker<'_>, decl| {
        let span = cx.functions.decl(decl).ast.span;
        cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), span)).ok().flatten()
    };
    // A declaration in error is reported where it is.
    let Some(own) = instance(cx, decl) else { return };
    for &other in others {
        let data = cx.functions.decl(other);
        if other == decl || data.template.is_some() || data.owner.is_some() {
            continue;
        }
        let Some(other) = instance(cx, other) else { continue };
        let is_later = cx.functions.inst(other).span.lo > cx.functions.inst(own).span.lo;
        let (earlier, later) = if is_later { (own, other) } else { (other, own) };
        if let Some((at, message)) = excludes(cx, earlier, later) {
            let diagnostic = Diagnostic::error("redefinition", cx.functions.inst(later).span, message);
            return cx.report(diagnostic.with_note(at, "previously declared here"));
        }
    }
}

/// Why two functions of one name in one scope exclude each other.
fn excludes(cx: &mut Checker<'_>, earlier: FuncId, later: FuncId) -> Option<(Span, String)> {
    let (a, b) = (cx.functions.inst(earlier), cx.functions.inst(later));
    // Types that depend on parameters of a template around are compared as they are written.
    let is_same = if a.params.iter().chain(b.params.iter()).any(|param| cx.is_dependent(param.ty)) {
        let (a, b) = (a.origin.decl()?, b.origin.decl()?);
        let (a, b) = (equivalence::signature(cx, a), equivalence::signature(cx, b));
        a.has_same_params(&b)
    } else {
        function::are_same_params(&a.params, &b.params)
    };
    let (a, b) = (cx.functions.inst(earlier), cx.functions.inst(later));
    let [first, second] = [a, b].map(|inst| inst.origin.decl().map(|decl| cx.functions.decl(decl)));
    let (first, second) = (first?, second?);
    if !is_same {
        // C++14 [dcl.link.6]
        let is_free = first.owner.is_none() && second.owner.is_none();
        let is_one = first.ast.specifiers.has_c_linkage && second.ast.specifiers.has_c_linkage && is_free;
        return is_one.then(|| (a.span, format!("conflicting types for `{}`, which has C linkage", b.name)));
    }
    if first.ast.specifiers.names_unmodelled_space || second.ast.specifiers.names_unmodelled_space {
        return None;
    }
    // The name of a class without arguments says nothing.
    let is_in_template = first.owner.is_some_and(|owner| cx.is_dependent(cx.records.get(owner).ty));
    let name = if is_in_template { spelling::function(&second.ast.name) } else { b.name.clone() };
    let is_member = first.owner.is_some();
    let is_static = |decl: &function::FnDecl<'_>| decl.ast.specifiers.is_static;
    if is_member && is_static(first) != is_static(second) {
        return Some((a.span, format!("static and non-static `{name}` cannot be overloaded")));
    }
    if first.ast.method != second.ast.method {
        return None;
    }
    let is_open = |ret: Option<QualTy>| ret.is_some_and(|ret| cx.is_dependent(ret.ty));
    if is_open(a.ret) || is_open(b.ret) {
        return None;
    }
    if a.ret != b.ret && a.ret.is_some() && b.ret.is_some() {
        let conversion = matches!(first.ast.name, FunctionName::Operator(OperatorName::Conversion(_)));
        let message = || format!("`{name}` differs from another function in its return type only");
        return (!conversion).then(|| (a.span, message()));
    }
    let is_definition = |decl: &function::FnDecl<'_>| !matches!(decl.ast.body, FunctionBody::None);
    if is_member {
        return Some((a.span, format!("class member `{name}` cannot be redeclared")));
    }
    if is_definition(first) && is_definition(second) {
        return Some((a.span, format!("redefinition of `{name}`")));
    }
    let [before, after] = [first, second].map(|decl| decl.ast.specifiers);
    let has_default =
        |decl: &function::FnDecl<'_>| decl.ast.params.iter().any(|param| param.default.is_some());
    let is_alone = |decl: &function::FnDecl<'_>| decl.ast.specifiers.is_friend && has_default(decl);
    if is_alone(first) || is_alone(second) {
        let message = "a friend declaration that specifies a default argument must be the only declaration";
        return Some((a.span, message.to_owned()));
    }
    if matches!(second.ast.body, FunctionBody::Delete) {
        return Some((a.span, format!("the deleted definition of `{name}` must be its first declaration")));
    }
    if before.is_constexpr != after.is_constexpr {
        return Some((a.span, format!("`{name}` is declared with and without `constexpr`")));
    }
    if after.is_inline && !before.is_inline && !before.is_constexpr && is_definition(first) {
        return Some((a.span, format!("`{name}` is declared `inline` after its definition")));
    }
    let (at, old, new) = (a.span, a.origin.decl()?, b.origin.decl()?);
    if cx.diagnostics.in_template() {
        return None;
    }
    let [before, after] =
        [(old, earlier), (new, later)].map(|(decl, func)| noexcept::declares_noexcept(cx, decl, func));
    (before != after).then(|| (at, noexcept::mismatch(&name, after)))
}
