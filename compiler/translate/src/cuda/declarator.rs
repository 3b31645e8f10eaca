//! Declarations of variables: a type, and names with their stars, references and extents.

use crate::token::Text;

/// One name of a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declarator {
    /// The tokens of the type, which all names of the declaration share.
    pub(super) ty: (usize, usize),
    pub(super) stars: Vec<usize>,
    pub(super) reference: Option<usize>,
    pub(super) name: usize,
    /// The number of extents after it.
    pub(super) arrays: usize,
    /// The last token of its type and extents.
    pub(super) end: usize,
    /// First and last token of what it begins with.
    pub(super) init: Option<(usize, usize)>,
}

/// A declaration.
#[derive(Debug, Clone)]
pub(super) struct Declaration {
    pub(super) all: Vec<Declarator>,
    /// Its last token.
    pub(super) last: usize,
}

/// Words that may stand before or after a type.
pub(super) fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "const"
            | "volatile"
            | "static"
            | "extern"
            | "register"
            | "constexpr"
            | "inline"
            | "mutable"
            | "typename"
            | "struct"
            | "class"
            | "union"
            | "enum"
            | "__shared__"
            | "__constant__"
            | "__device__"
            | "__managed__"
            | "__restrict__"
            | "__restrict"
            | "__host__"
            | "__global__"
            | "__forceinline__"
            | "__noinline__"
            | "__inline__"
            | "__inline"
            | "friend"
            | "__grid_constant__"
            | "virtual"
            | "explicit"
    )
}

/// Words of arithmetic types.
fn is_arithmetic(word: &str) -> bool {
    matches!(
        word,
        "unsigned" | "signed" | "int" | "long" | "short" | "char" | "float" | "double" | "bool" | "void"
    )
}

/// Words with which no declaration begins.
fn is_statement(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "else"
            | "case"
            | "goto"
            | "delete"
            | "new"
            | "throw"
            | "if"
            | "for"
            | "while"
            | "do"
            | "switch"
            | "break"
            | "continue"
            | "default"
            | "sizeof"
            | "using"
            | "typedef"
            | "template"
            | "operator"
            | "public"
            | "private"
            | "protected"
            | "asm"
            | "__asm__"
            | "this"
    )
}

/// The first and last token of the type that begins here with its qualifiers.
pub(super) fn skip_type(text: &Text<'_>, start: usize) -> Option<(usize, usize)> {
    let (mut token, mut first, mut has_type) = (start, None, false);
    let mut last = start;
    loop {
        let word = text.at(token);
        if matches!(word, "__align__" | "alignas" | "__attribute__" | "__launch_bounds__")
            && text.at(token + 1) == "("
        {
            token = text.closing(token + 1)?;
        } else if is_qualifier(word) {
            last = token;
        } else if is_arithmetic(word) {
            has_type = true;
            first.get_or_insert(token);
            last = token;
        } else if !has_type && text.is_word(token) && !is_statement(word) {
            has_type = true;
            first.get_or_insert(token);
            token = named_type(text, token)?;
            last = token;
        } else {
            break;
        }
        token += 1;
    }
    if has_type { Some((first?, last)) } else { None }
}

/// The last token of `a::b<c>::d`.
fn named_type(text: &Text<'_>, mut token: usize) -> Option<usize> {
    if text.at(token) == "decltype" && text.at(token + 1) == "(" {
        return text.closing(token + 1);
    }
    loop {
        if text.at(token + 1) == "<" {
            token = text.angle_closing(token + 1)?;
        }
        let is_qualified = text.at(token + 1) == ":" && text.at(token + 2) == ":" && text.is_word(token + 3);
        if !is_qualified {
            return Some(token);
        }
        token += 3;
    }
}

/// The declaration that begins at a token and ends with `;`, or at `end` at the latest.
pub(super) fn declarators(text: &Text<'_>, start: usize, end: usize) -> Option<Declaration> {
    let ty = skip_type(text, start)?;
    let mut all = Vec::new();
    let mut token = ty.1 + 1;
    loop {
        let declarator = declarator(text, token, end, ty)?;
        let next = declarator.init.map_or(declarator.end, |(_, last)| last) + 1;
        all.push(declarator);
        match text.at(next) {
            "," if next <= end => token = next + 1,
            ";" | ":" | ")" => return Some(Declaration { all, last: next }),
            _ if next > end => return Some(Declaration { all, last: end }),
            _ => return None,
        }
    }
}

fn declarator(text: &Text<'_>, start: usize, end: usize, ty: (usize, usize)) -> Option<Declarator> {
    let (mut token, mut stars, mut reference) = (start, Vec::new(), None);
    let mut wrapped = None;
    loop {
        match text.at(token) {
            "*" => stars.push(token),
            "&" | "&&" => reference = Some(token),
            "const" | "__restrict__" | "__restrict" | "restrict" | "volatile" => {}
            "(" if matches!(text.at(token + 1), "&" | "*") && wrapped.is_none() => wrapped = Some(token),
            _ => break,
        }
        token += 1;
    }
    if !text.is_word(token) || is_statement(text.at(token)) || token > end {
        return None;
    }
    let name = token;
    if let Some(open) = wrapped {
        token = text.closing(open).filter(|&close| close == token + 1)?;
    }
    let mut arrays = 0;
    while text.at(token + 1) == "[" {
        token = text.closing(token + 1)?;
        arrays += 1;
    }
    if token > end || (wrapped.is_some() && arrays == 0) {
        return None;
    }
    let init = match text.at(token + 1) {
        "=" => Some((token + 2, initialiser_end(text, token + 2, end))),
        "(" | "{" => Some((token + 1, text.closing(token + 1)?)),
        _ => None,
    };
    let init = init.filter(|(first, last)| first <= last && *last <= end);
    Some(Declarator { ty, stars, reference, name, arrays, end: token, init })
}

/// The last token before the comma or semicolon that ends an expression.
fn initialiser_end(text: &Text<'_>, start: usize, end: usize) -> usize {
    let mut token = start;
    while token <= end {
        match text.at(token) {
            ";" | "," | ")" | "}" => return token - 1,
            "(" | "[" | "{" => token = text.closing(token).unwrap_or(end),
            "<" => token = template_arguments(text, token).unwrap_or(token),
            _ => {}
        }
        token += 1;
    }
    end
}

/// The end of `<…>` if it is surely a list of template arguments: it is followed by a parenthesis.
pub(super) fn template_arguments(text: &Text<'_>, open: usize) -> Option<usize> {
    let close = text.angle_closing(open)?;
    let is_call = matches!(text.at(close + 1), "(" | "{") || text.at(close + 1) == ":";
    let is_type = |token: usize| {
        text.is_word(token)
            || matches!(text.at(token), "," | "*" | "&" | ":" | "<" | ">" | ">>" | "+" | "/")
            || text.at(token).starts_with(|c: char| c.is_ascii_digit())
    };
    (is_call && (open + 1..close).all(is_type)).then_some(close)
}
