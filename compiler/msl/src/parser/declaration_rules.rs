//! Which words may stand before which declaration (C++14 [dcl.stc], [dcl.fct.spec], [dcl.constexpr]).
//!
//! The parser takes the words in any order and number; what they exclude is reported here, once the
//! declaration is known.

use super::Parser;
use crate::ast::{Function, ItemKind, TemplateParamKind, TemplateParams, TypeKind};
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
    let is_qualified =
        method.is_const || method.is_volatile || method.space.is_some() || method.reference.is_some();
    let has_object = in_class || function.scope.is_some();
    let is_static = function.specifiers.is_static;
    if is_qualified && (!has_object || is_static) {
        let what = if is_static { "a static function" } else { "a function that is not a member" };
        p.error("misplaced-specifier", function.span, format!("{what} cannot have qualifiers"));
    }
}

/// Reports `template` in the name of what is declared: there, the names before it are known.
pub(super) fn refuse_template_word(p: &mut Parser<'_>, span: Span) {
    p.error("misplaced-specifier", span, "`template` cannot stand in the name of what is declared");
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
    let is_declaration_only = matches!(declared, ItemKind::Record(record) if record.members.is_none());
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
        // A later declaration may have the defaults of the other parameters.
        if has_default && !own && !param.is_pack && !is_declaration_only {
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
