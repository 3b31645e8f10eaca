//! Which words may stand before which declaration (C++14 [dcl.stc], [dcl.fct.spec], [dcl.constexpr]).
//!
//! The parser takes the words in any order and number; what they exclude is reported here, once the
//! declaration is known.

use super::Parser;
use super::scope::NameKind;
use crate::ast::{
    Function, FunctionName, Item, ItemKind, Path, TemplateParamKind, TemplateParams, Type, TypeKind,
};
use crate::token::{Kw, Name, TokenKind};
use anymetal_diagnostics::Span;

/// A word such as `static`, and where it stands.
pub(super) type Word = (Kw, Span);

/// The declarations that the words differ for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Declared {
    Alias,
    Field,
    Variable,
    StaticMember,
    Function,
    Method,
    /// A class or an enumeration alone.
    Tag,
}

impl Declared {
    fn name(self) -> &'static str {
        match self {
            Self::Alias => "a type alias",
            Self::Field => "a data member",
            Self::Variable => "a variable",
            Self::StaticMember => "a static data member",
            Self::Function => "a function",
            Self::Method => "a member function",
            Self::Tag => "a class or an enumeration without declarators",
        }
    }

    /// Whether the word may stand before it.
    fn takes(self, word: Kw) -> bool {
        match word {
            Kw::Typedef => true,
            Kw::Constexpr => !matches!(self, Self::Alias | Self::Field | Self::Tag),
            Kw::Inline => !matches!(self, Self::Alias | Self::Field | Self::Tag),
            Kw::Explicit => self == Self::Method,
            Kw::Mutable => self == Self::Field,
            Kw::Static | Kw::Extern => self != Self::Tag,
            _ => true,
        }
    }
}

/// What an item of the parser's is for these rules.
pub(super) fn declared(kind: &ItemKind, in_class: bool) -> Option<Declared> {
    Some(match kind {
        ItemKind::Alias(_) => Declared::Alias,
        ItemKind::Field(_) => Declared::Field,
        ItemKind::Variable(_) if in_class => Declared::StaticMember,
        ItemKind::Variable(_) => Declared::Variable,
        ItemKind::Function(_) if in_class => Declared::Method,
        ItemKind::Function(_) => Declared::Function,
        _ => return None,
    })
}

/// Reports the words that a declaration cannot have, and those that exclude each other.
pub(super) fn check(p: &mut Parser<'_>, words: &[Word], declared: Declared) {
    for &(word, span) in words {
        if !declared.takes(word) {
            let shown = TokenKind::Keyword(word);
            p.error("misplaced-specifier", span, format!("{shown} cannot stand before {}", declared.name()));
        }
    }
    let is_storage =
        |word: Kw| matches!(word, Kw::Static | Kw::Extern | Kw::Typedef | Kw::Mutable | Kw::Register);
    let mut storage = words.iter().filter(|(word, _)| is_storage(*word));
    if let Some(&(first, _)) = storage.next()
        && let Some(&(second, span)) = storage.find(|(word, _)| *word != first)
    {
        let (first, second) = (TokenKind::Keyword(first), TokenKind::Keyword(second));
        p.error("misplaced-specifier", span, format!("{second} cannot stand beside {first}"));
    }
    let friend = words.iter().any(|(word, _)| *word == Kw::Friend);
    if friend && declared == Declared::Function {
        let span = words.first().map_or(Span::NONE, |(_, span)| *span);
        p.error("misplaced-specifier", span, "`friend` outside of a class");
    }
    let storage = words.iter().find(|(word, _)| is_storage(*word));
    if let (true, Some(&(word, span))) = (friend, storage) {
        let shown = TokenKind::Keyword(word);
        p.error("misplaced-specifier", span, format!("{shown} cannot stand before a friend"));
    }
}

/// Reports qualifiers after the parameters of a function that has no object.
pub(super) fn check_qualifiers(p: &mut Parser<'_>, function: &Function, in_class: bool) {
    let method = function.method;
    let is_special = matches!(function.name, FunctionName::Constructor(_) | FunctionName::Destructor);
    // Objects are created in a space (MSL 4.1).
    let is_qualified = method.is_const
        || method.is_volatile
        || (method.space.is_some() && !is_special)
        || method.reference.is_some();
    let has_object = (in_class || function.scope.is_some()) && !is_special;
    let is_static = function.specifiers.is_static;
    if is_qualified && (!has_object || is_static) {
        let what = match () {
            () if is_special => "a constructor or destructor",
            () if is_static => "a static function",
            () => "a function that is not a member",
        };
        p.error("misplaced-specifier", function.span, format!("{what} cannot have qualifiers"));
    }
}

/// Reports `template` in a declared name, whose scope is always known.
pub(super) fn refuse_template_word(p: &mut Parser<'_>, span: Span) {
    p.error("misplaced-specifier", span, "`template` cannot stand in the name of what is declared");
}

/// Reports qualifiers of a type that is declared a friend, and `friend` after the type.
pub(super) fn check_friend_type(p: &mut Parser<'_>, ty: &Type, first: TokenKind) {
    if ty.quals.is_const || ty.quals.is_volatile {
        p.error("bad-friend", ty.span, "a friend that is a type has no qualifiers");
    }
    if first != TokenKind::Keyword(Kw::Friend) {
        p.error("bad-friend", ty.span, "`friend` must come first before a type");
    }
}

/// Reports what no template can be: a using-declaration, an enumeration, several variables.
pub(super) fn check_templated(p: &mut Parser<'_>, params: &TemplateParams, items: &[Item]) {
    let Some(first) = items.first() else { return };
    let problem = match &first.kind {
        _ if items.len() > 1
            && items.iter().all(|item| !matches!(item.kind, ItemKind::UsingDeclaration(_))) =>
        {
            "a template declares one thing only"
        }
        ItemKind::UsingDeclaration(_) => "a using-declaration cannot be a template",
        ItemKind::Enum(_) if !params.params.is_empty() => "an enumeration cannot be a template",
        ItemKind::Function(function)
            if matches!(function.name, FunctionName::Destructor) && function.scope.is_none() =>
        {
            "a destructor cannot be a template"
        }
        _ => return,
    };
    p.error("bad-template", first.span, problem);
}

/// Reports heads of templates that the declared name has no use for: each class around it with arguments
/// takes one, and the declared thing itself takes one.
pub(super) fn check_heads(p: &mut Parser<'_>, item: &Item) {
    let scope = match &item.kind {
        ItemKind::Record(record) => &record.scope,
        ItemKind::Variable(variable) => &variable.declarator.scope,
        ItemKind::Function(function) => &function.scope,
        _ => return,
    };
    let is_template = match &item.kind {
        ItemKind::Record(record) => record.specialisation.is_some(),
        ItemKind::Variable(variable) => variable.declarator.specialisation.is_some(),
        _ => true,
    };
    let has_params = item.template.as_ref().is_some_and(|template| !template.params.is_empty());
    let segments = scope.iter().flat_map(|scope| &scope.segments);
    // A name without arguments may be an alias of a class with some.
    let may_have_args = |name| p.classify(name) != NameKind::Namespace;
    if segments.clone().any(|segment| segment.args.is_none() && may_have_args(segment.name)) {
        return;
    }
    let of_scope = segments.filter(|segment| segment.args.is_some()).count();
    let most = of_scope + usize::from(is_template || (has_params && p.template_heads.len() > of_scope));
    if p.template_heads.len() > most.max(1)
        && let Some(&extra) = p.template_heads.get(of_scope)
    {
        p.error("bad-template", extra, "this `template<>` belongs to nothing that is declared");
    }
}

/// Reports a specialisation that is declared without `template<>`.
pub(super) fn require_template_head(p: &mut Parser<'_>, span: Span) {
    if p.template_heads.is_empty() {
        p.error("bad-template", span, "a specialisation is declared with `template<>`");
    }
}

/// Reports a member with a qualified name in its class.
pub(super) fn refuse_qualified_member(p: &mut Parser<'_>, span: Span) {
    p.error("misplaced-qualification", span, "a member cannot have a qualified name in its class");
}

/// Reports a using-declaration with template arguments.
pub(super) fn check_using(p: &mut Parser<'_>, path: &Path) {
    if path.segments.last().is_some_and(|last| last.args.is_some()) {
        let message = "a using-declaration cannot name a specialisation of a template";
        p.error("using-declaration", path.span, message);
    }
}

/// Reports the words that no parameter can have.
pub(super) fn check_parameter(p: &mut Parser<'_>, words: &[Word]) {
    for &(word, span) in words {
        if word != Kw::Register {
            let shown = TokenKind::Keyword(word);
            p.error("misplaced-specifier", span, format!("{shown} cannot stand before a parameter"));
        }
    }
}

/// The name of a class, alias or variable template.
pub(super) fn template_name(declared: &ItemKind) -> Option<Name> {
    match declared {
        ItemKind::Record(record) => record.name,
        ItemKind::Alias(alias) => Some(alias.name),
        ItemKind::Variable(variable) => Some(variable.declarator.name),
        _ => None,
    }
}

/// Reports parameters of a class, alias or variable template that no argument can be given for: those after a
/// default argument or a pack.
pub(super) fn check_template_params(p: &mut Parser<'_>, params: &TemplateParams, declared: &ItemKind) {
    let is_primary = match declared {
        ItemKind::Record(record) => record.specialisation.is_none() && record.scope.is_none(),
        ItemKind::Alias(_) => true,
        ItemKind::Variable(variable) => {
            variable.declarator.specialisation.is_none() && variable.declarator.scope.is_none()
        }
        _ => false,
    };
    if !is_primary {
        return;
    }
    let mut has_default = false;
    for (n, param) in params.params.iter().enumerate() {
        if param.is_pack && n + 1 < params.params.len() {
            let message = "a template parameter pack must be the last template parameter";
            p.error("template-parameter", param.span, message);
        }
        let own = match &param.kind {
            TemplateParamKind::Type(default) => default.is_some(),
            TemplateParamKind::Value(_, default) => default.is_some(),
            TemplateParamKind::Template(_, default) => default.is_some(),
        };
        if has_default && !own && !param.is_pack {
            let message = "a template parameter after one with a default argument needs one too";
            p.error("template-parameter", param.span, message);
        }
        has_default |= own;
    }
}

/// Whether a declaration without declarators declares something.
pub(super) fn is_tag(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Record(_) | TypeKind::Enum(_))
}
