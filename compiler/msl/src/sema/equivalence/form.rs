//! The canonical form of types and names.

use crate::ast::{
    ExprKind, NodeId, Path, PathSegment, Qualifiers, TemplateArg, TemplateParamKind, TemplateParams, Type,
    TypeKind,
};
use crate::hir::{QualTy, RecordId};
use crate::sema::ast_names::{self, Visitor};
use crate::sema::checker::Checker;
use crate::sema::entities::{AliasTemplate, BuiltinTemplate, Found, TArg};
use crate::sema::path::segment_key;
use crate::sema::record::Member;
use crate::sema::scopes::ScopeId;
use crate::sema::table::NsId;
use crate::sema::{lookup, record, resolve_type};
use crate::token::Name;

/// The longest form; what is longer is unlike everything else.
pub(super) const MAX_TOKENS: usize = 4096;

/// A piece of a form.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::sema) enum Token {
    /// The kind of the type, expression or parameter that follows, or the begin or end of a list.
    Mark(&'static str),
    /// A type that depends on no parameter.
    Type(QualTy),
    /// A constant that depends on no parameter.
    Value(i128),
    Quals(Qualifiers),
    /// A parameter of a template: the number of lists around its list, and its position.
    Param(usize, usize),
    /// A parameter of the function.
    Argument(usize),
    /// A member of something that depends on parameters, or a parameter of a template around.
    Name(Name),
    Template(NodeId, ScopeId),
    Builtin(BuiltinTemplate),
    /// An operator or a literal as written.
    Text(String),
    /// Unlike everything else: the place of the syntax.
    Unlike(u32, u32),
}

/// Writes forms. See the parent's documentation.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// The meanings of names, the innermost last.
    pub(super) env: Vec<(Name, Vec<Token>)>,
    pub(super) tokens: Vec<Token>,
    /// The lists of template parameters around.
    depth: usize,
    /// Whether the arguments of the current class are being compared, which may name the class again.
    compares: bool,
}

/// The beginning of a path.
enum Start<'a> {
    /// Its form is written.
    Written,
    /// A class of which the code is a member: the rest is looked up in it.
    Current(RecordId),
    Found(Found<'a>, Option<RecordId>),
}

impl Form {
    pub(super) fn take(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.tokens)
    }

    pub(super) fn mark(&mut self, mark: &'static str) {
        self.tokens.push(Token::Mark(mark));
    }

    pub(super) fn unlike(&mut self, span: anymetal_diagnostics::Span) {
        self.tokens.push(Token::Unlike(span.lo, span.hi));
    }

    fn quals(&mut self, quals: Qualifiers) {
        if quals != Qualifiers::default() {
            self.tokens.push(Token::Quals(quals));
        }
    }

    pub(super) fn text(&mut self, text: String) {
        self.tokens.push(Token::Text(text));
    }

    /// Writes the class that a definition is a member of.
    pub(super) fn scope<'a>(&mut self, cx: &mut Checker<'a>, path: &'a Path) {
        self.path(cx, path, Qualifiers::default());
    }

    /// Writes a list of template parameters, which names mean from now on.
    pub(super) fn head<'a>(&mut self, cx: &mut Checker<'a>, head: &'a TemplateParams) {
        let depth = self.depth;
        self.depth += 1;
        self.mark("<");
        for (n, param) in head.params.iter().enumerate() {
            match &param.kind {
                TemplateParamKind::Type(_) => self.mark("typename"),
                TemplateParamKind::Value(ty, _) => {
                    self.mark("value");
                    self.parameter(cx, ty);
                }
                TemplateParamKind::Template(inner, _) => {
                    self.mark("template");
                    let known = self.env.len();
                    self.head(cx, inner);
                    self.env.truncate(known);
                    self.depth -= 1;
                }
            }
            if param.is_pack {
                self.mark("...");
            }
            self.env.extend(param.name.map(|name| (name, vec![Token::Param(depth, n)])));
        }
        self.mark(">");
    }

    /// Binds a name to a parameter of the function.
    pub(super) fn bind_parameter(&mut self, name: Option<Name>, n: usize) {
        self.env.extend(name.map(|name| (name, vec![Token::Argument(n)])));
    }

    /// Writes the adjusted type of a function's parameter, without top-level qualifiers.
    pub(super) fn parameter<'a>(&mut self, cx: &mut Checker<'a>, ty: &'a Type) {
        match &ty.kind {
            TypeKind::Array(element, _) => {
                self.mark("*");
                self.ty(cx, element);
            }
            TypeKind::Function { .. } => {
                self.mark("*");
                self.ty(cx, ty);
            }
            _ => {
                let space = Qualifiers { space: ty.quals.space, ..Qualifiers::default() };
                self.kind(cx, ty, space, true);
            }
        }
    }

    pub(super) fn ty<'a>(&mut self, cx: &mut Checker<'a>, ty: &'a Type) {
        self.kind(cx, ty, ty.quals, false);
    }

    /// Whether syntax mentions a bound name.
    pub(super) fn is_known(&self, walk: impl FnOnce(&mut Visitor<'_>)) -> bool {
        let mut found = false;
        let mut look = |name| found |= self.env.iter().any(|(known, _)| *known == name);
        walk(&mut Visitor::all(&mut look));
        found
    }

    fn kind<'a>(&mut self, cx: &mut Checker<'a>, ty: &'a Type, quals: Qualifiers, is_parameter: bool) {
        if self.tokens.len() > MAX_TOKENS {
            return self.unlike(ty.span);
        }
        let done = cx.deeper(ty.span, |cx| self.kind_within(cx, ty, quals, is_parameter));
        if done.is_none() {
            self.unlike(ty.span);
        }
    }

    fn kind_within<'a>(&mut self, cx: &mut Checker<'a>, ty: &'a Type, quals: Qualifiers, is_parameter: bool) {
        if !self.is_known(|visitor| ast_names::in_type(ty, visitor)) && !has_auto(ty) {
            let resolved = cx.quietly(|cx| resolve_type::resolve(cx, ty)).ok();
            if let Some(resolved) = resolved.filter(|resolved| !cx.is_dependent(resolved.ty)) {
                let resolved = match is_parameter {
                    true => resolve_type::decayed_param(&mut cx.types, resolved.unqualified()),
                    false => add(resolved, quals),
                };
                return self.tokens.push(Token::Type(resolved));
            }
        }
        match &ty.kind {
            TypeKind::Path(path) => self.path(cx, path, quals),
            TypeKind::Array(element, len) => {
                self.mark("[]");
                match len {
                    Some(len) => self.expr(cx, len),
                    None => self.mark("-"),
                }
                self.kind(cx, element, merged(element.quals, quals), false);
            }
            kind => {
                self.quals(quals);
                self.compound(cx, kind, ty);
            }
        }
    }

    fn compound<'a>(&mut self, cx: &mut Checker<'a>, kind: &'a TypeKind, ty: &'a Type) {
        match kind {
            TypeKind::Pointer(inner) => {
                self.mark("*");
                self.ty(cx, inner);
            }
            TypeKind::Reference { referent, rvalue } => {
                self.mark(if *rvalue { "&&" } else { "&" });
                self.ty(cx, referent);
            }
            TypeKind::ExtVector(element, len) => {
                self.mark("vector");
                self.expr(cx, len);
                self.ty(cx, element);
            }
            TypeKind::Function { ret, params, is_variadic, method } => {
                self.mark("(");
                params.iter().for_each(|param| self.parameter(cx, param));
                self.tokens.push(Token::Text(format!("{is_variadic} {method:?}")));
                self.mark(")");
                self.ty(cx, ret);
            }
            TypeKind::Pack(inner) => {
                self.mark("...");
                self.ty(cx, inner);
            }
            TypeKind::Decltype(inner) => {
                self.mark("decltype");
                self.expr(cx, inner);
            }
            TypeKind::DecltypePath(inner, rest) => {
                self.mark("decltype");
                self.expr(cx, inner);
                self.names(cx, &rest.segments);
            }
            TypeKind::Typeof(inner) => {
                self.mark("typeof");
                self.expr(cx, inner);
            }
            TypeKind::Underlying(inner) => {
                self.mark("underlying");
                self.ty(cx, inner);
            }
            TypeKind::Auto => self.mark("auto"),
            TypeKind::DecltypeAuto => self.mark("decltype(auto)"),
            TypeKind::Builtin(builtin) => self.tokens.push(Token::Text(format!("{builtin:?}"))),
            TypeKind::Record(_) | TypeKind::Enum(_) | TypeKind::Error => self.unlike(ty.span),
            TypeKind::Path(_) | TypeKind::Array(..) => unreachable!("written by the caller"),
        }
    }

    pub(super) fn arguments<'a>(&mut self, cx: &mut Checker<'a>, args: &'a [TemplateArg]) {
        self.mark("<");
        for arg in args {
            match arg {
                TemplateArg::Type(ty) => self.ty(cx, ty),
                TemplateArg::Expr(expr) => self.expr(cx, expr),
            }
        }
        self.mark(">");
    }

    /// Writes the names after something whose members are not known.
    pub(super) fn names<'a>(&mut self, cx: &mut Checker<'a>, segments: &'a [PathSegment]) {
        for segment in segments {
            self.mark("::");
            self.tokens.push(Token::Name(segment_key(segment)));
            if let Some(args) = &segment.args {
                self.arguments(cx, args);
            }
        }
    }

    pub(super) fn path<'a>(&mut self, cx: &mut Checker<'a>, path: &'a Path, quals: Qualifiers) {
        self.quals(quals);
        let at = self.tokens.len() - usize::from(quals != Qualifiers::default());
        let (mut n, mut start) = self.start(cx, path);
        loop {
            let (segment, rest) = (&path.segments[n], &path.segments[n + 1..]);
            start = match start {
                Start::Written => return self.names(cx, rest),
                Start::Current(class) if rest.is_empty() => {
                    let ast = cx.records.get(class).ast;
                    let ast = ast.expect("a class of a program has a declaration");
                    return self.tokens.push(Token::Template(ast.id, cx.records.get(class).decl_scope));
                }
                Start::Current(class) => {
                    n += 1;
                    match record::lookup_in_class(cx, class, segment_key(&rest[0])) {
                        Some(found) => Start::Found(found, Some(class)),
                        None => return self.names(cx, rest),
                    }
                }
                Start::Found(Found::Namespace(ns), _) if !rest.is_empty() => {
                    n += 1;
                    match lookup::in_namespace(cx, ns, segment_key(&rest[0])) {
                        Some(found) => Start::Found(found, None),
                        None => return self.unlike(path.span),
                    }
                }
                Start::Found(found, class) => {
                    if let Some(alias) = member_alias(cx, &found, class, segment) {
                        self.tokens.truncate(at);
                        self.within_class(cx, class, |form, cx| {
                            form.kind(cx, alias, merged(alias.quals, quals), false);
                        });
                        return self.names(cx, rest);
                    }
                    self.entity(cx, found, class, segment)
                }
            };
        }
    }

    /// The first name of a path.
    fn start<'a>(&mut self, cx: &mut Checker<'a>, path: &'a Path) -> (usize, Start<'a>) {
        let first = &path.segments[0];
        let key = segment_key(first);
        if path.global {
            let found = lookup::in_namespace(cx, NsId::GLOBAL, key);
            return (0, found.map_or(Start::Written, |found| Start::Found(found, None)));
        }
        let known = self.env.iter().rev().find(|(name, _)| *name == first.name && first.operator.is_none());
        if let Some((_, tokens)) = known {
            let tokens = tokens.clone();
            self.tokens.extend(tokens);
            if let Some(args) = &first.args {
                self.arguments(cx, args);
            }
            return (0, Start::Written);
        }
        match lookup::unqualified_with_class(cx, key) {
            Some((found, class)) => (0, Start::Found(found, class)),
            None => {
                self.names(cx, std::slice::from_ref(first));
                (0, Start::Written)
            }
        }
    }

    /// Writes what a name of a path means, with the arguments after it.
    fn entity<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        found: Found<'a>,
        class: Option<RecordId>,
        segment: &'a PathSegment,
    ) -> Start<'a> {
        let token = match found {
            Found::Injected(class) if self.is_current(cx, class, segment.args.as_deref()) => {
                return Start::Current(class);
            }
            Found::Injected(class) => match &cx.records.get(class).template {
                Some(template) => Token::Template(template.primary.id, template.scope),
                None => Token::Type(QualTy::plain(cx.records.get(class).ty)),
            },
            Found::ClassTemplate(template) => {
                let around = cx.scopes.classes_around();
                let own = around.into_iter().find(|&class| {
                    let record = cx.records.get(class);
                    match &record.template {
                        Some(known) => crate::sema::pattern::same_template(known, &template),
                        // A partial specialisation without arguments.
                        None => {
                            record.name == template.primary.name
                                && record.ast.is_some_and(|ast| ast.specialisation.is_some())
                        }
                    }
                });
                if let Some(own) = own
                    && segment.args.is_some()
                    && self.is_current(cx, own, segment.args.as_deref())
                {
                    return Start::Current(own);
                }
                Token::Template(template.primary.id, template.scope)
            }
            Found::AliasTemplate(alias) => match &segment.args {
                Some(args) if self.expand(cx, alias, args) => return Start::Written,
                _ => Token::Template(alias.alias.id, alias.scope),
            },
            Found::BuiltinTemplate(template) => Token::Builtin(template),
            Found::TArg(TArg::Type(ty)) if !cx.is_dependent(ty.ty) => Token::Type(ty),
            Found::Type(ty) => match (class, cx.types.as_record(ty.ty)) {
                // A class in the current one, which depends on its parameters.
                (Some(_), Some(member)) => return Start::Current(member),
                _ if !cx.is_dependent(ty.ty) => Token::Type(ty),
                _ => Token::Name(segment_key(segment)),
            },
            _ => Token::Name(segment_key(segment)),
        };
        self.tokens.push(token);
        if let Some(args) = &segment.args {
            self.arguments(cx, args);
        }
        Start::Written
    }

    /// Whether a class is one around the code, named without arguments or with its own parameters.
    fn is_current<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        class: RecordId,
        args: Option<&'a [TemplateArg]>,
    ) -> bool {
        if !cx.scopes.classes_around().contains(&class) {
            return false;
        }
        let Some(args) = args else { return true };
        if self.compares {
            return false;
        }
        let Some(template) = cx.records.get(class).template.clone() else {
            let written = cx.records.get(class).ast.and_then(|ast| ast.specialisation.as_deref());
            return written.is_some_and(|written| self.are_same_args(cx, written, args));
        };
        let outer = std::mem::take(&mut self.tokens);
        let is_own = args.len() == template.params.params.len()
            && args.iter().zip(&template.params.params).all(|(arg, param)| {
                self.arguments(cx, std::slice::from_ref(arg));
                let written = self.take();
                let name = param.name.map(Token::Name);
                match written.as_slice() {
                    [_, only, _] => !param.is_pack && Some(only) == name.as_ref(),
                    [_, Token::Mark("..."), only, _] => param.is_pack && Some(only) == name.as_ref(),
                    _ => false,
                }
            });
        self.tokens = outer;
        is_own
    }

    /// Whether two lists of arguments mean the same here.
    fn are_same_args<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        a: &'a [TemplateArg],
        b: &'a [TemplateArg],
    ) -> bool {
        let outer = std::mem::take(&mut self.tokens);
        self.compares = true;
        self.arguments(cx, a);
        let a = self.take();
        self.arguments(cx, b);
        let b = std::mem::replace(&mut self.tokens, outer);
        self.compares = false;
        a == b
    }

    /// Writes the type that a template of aliases has with these arguments; false where the parameters and
    /// arguments do not correspond.
    fn expand<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        alias: AliasTemplate<'a>,
        args: &'a [TemplateArg],
    ) -> bool {
        let params = &alias.params.params;
        let is_pack = |arg: &TemplateArg| match arg {
            TemplateArg::Type(ty) => matches!(ty.kind, TypeKind::Pack(_)),
            TemplateArg::Expr(expr) => matches!(expr.kind, ExprKind::PackExpansion(_)),
        };
        if params.len() != args.len() || params.iter().any(|param| param.is_pack) || args.iter().any(is_pack)
        {
            return false;
        }
        let outer = std::mem::take(&mut self.tokens);
        let mut env = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            self.arguments(cx, std::slice::from_ref(arg));
            let mut written = self.take();
            written.pop();
            written.remove(0);
            env.extend(param.name.map(|name| (name, written)));
        }
        self.tokens = outer;
        let outer = std::mem::replace(&mut self.env, env);
        cx.in_scope(alias.scope, |cx| self.ty(cx, &alias.alias.ty));
        self.env = outer;
        true
    }

    /// Runs `f` where names mean what they mean in a class.
    fn within_class<'a>(
        &mut self,
        cx: &mut Checker<'a>,
        class: Option<RecordId>,
        f: impl FnOnce(&mut Self, &mut Checker<'a>),
    ) {
        let env = std::mem::take(&mut self.env);
        let scope = class.map_or(cx.scopes.current(), |class| cx.records.get(class).scope);
        cx.in_scope(scope, |cx| f(self, cx));
        self.env = env;
    }
}

/// The type of an alias in a class, where that depends on parameters.
fn member_alias<'a>(
    cx: &Checker<'a>,
    found: &Found<'a>,
    class: Option<RecordId>,
    segment: &PathSegment,
) -> Option<&'a Type> {
    let (Found::Type(ty), None) = (found, &segment.args) else { return None };
    if !cx.is_dependent(ty.ty) {
        return None;
    }
    let members = cx.records.get(class?).members.get(&segment.name)?;
    members.iter().find_map(|member| match *member {
        Member::Alias(alias, None) => Some(&alias.ty),
        _ => None,
    })
}

fn has_auto(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Auto | TypeKind::DecltypeAuto => true,
        TypeKind::Pointer(inner)
        | TypeKind::Array(inner, _)
        | TypeKind::Reference { referent: inner, .. } => has_auto(inner),
        _ => false,
    }
}

fn merged(a: Qualifiers, b: Qualifiers) -> Qualifiers {
    Qualifiers {
        is_const: a.is_const | b.is_const,
        is_volatile: a.is_volatile | b.is_volatile,
        is_coherent: a.is_coherent | b.is_coherent,
        space: a.space.or(b.space),
    }
}

fn add(mut ty: QualTy, quals: Qualifiers) -> QualTy {
    ty.is_const |= quals.is_const;
    ty.is_volatile |= quals.is_volatile;
    ty
}
