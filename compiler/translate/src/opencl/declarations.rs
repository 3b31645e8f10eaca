//! Functions, macros and types of a source, found by the shape of the text.

use std::collections::{BTreeMap, BTreeSet};

use crate::token::Text;

/// A function, or a declaration of one.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) is_kernel: bool,
    /// The token of its name.
    pub(super) at: usize,
    /// The tokens of its parentheses.
    pub(super) open: usize,
    pub(super) close: usize,
    /// The tokens of its braces.
    pub(super) body: Option<(usize, usize)>,
}

/// See the module's documentation.
#[derive(Default, Debug)]
pub(super) struct Declarations {
    pub(super) functions: Vec<Function>,
    /// The tokens of each macro's body, by its name.
    pub(super) macros: BTreeMap<String, Vec<usize>>,
    /// Names of types that the source defines.
    pub(super) types: BTreeSet<String>,
    /// By token: whether it is in a branch of a conditional that is not taken, as far as that is known.
    dead: Vec<bool>,
}

pub(super) fn is_kernel_word(word: &str) -> bool {
    matches!(word, "kernel" | "__kernel")
}

impl Declarations {
    /// `defined` are the macros that are defined before the source.
    pub(super) fn of(text: &Text<'_>, defined: &BTreeMap<String, String>) -> Self {
        let mut found = Self { dead: crate::branches::not_taken(text, defined, true), ..Self::default() };
        found.macros(text);
        let (mut token, mut start) = (0, 0);
        while token < text.len() {
            // A declaration may go on behind a directive: a conditional may be around `kernel` only.
            if text.in_directive(token) {
                token += 1;
                continue;
            }
            match text.at(token) {
                "typedef" => {
                    token = found.typedef(text, token);
                    start = token;
                    continue;
                }
                "struct" | "union" | "enum" if text.is_word(token + 1) => {
                    found.types.insert(text.at(token + 1).to_owned());
                }
                "__attribute__" => {
                    token = text.closing(token + 1).unwrap_or(token);
                }
                "{" if token > 1 && text.at(token - 2) == "extern" && text.at(token - 1).starts_with('"') => {
                    start = token + 1;
                }
                "{" => {
                    token = text.closing(token).unwrap_or(text.len());
                    // A function's body ends a declaration; a structure's is followed by more.
                }
                ";" | "}" => start = token + 1,
                "(" if token > start && text.is_word(token - 1) => {
                    let Some(close) = text.closing(token) else { break };
                    let after = skip_attributes(text, close + 1);
                    let name = text.at(token - 1).to_owned();
                    let is_kernel = (start..token - 1)
                        .any(|word| !text.in_directive(word) && found.is_kernel(text.at(word)));
                    let (at, open) = (token - 1, token);
                    match text.at(after) {
                        "{" => {
                            let Some(end) = text.closing(after) else { break };
                            let body = Some((after, end));
                            found.functions.push(Function { name, is_kernel, at, open, close, body });
                            found.other_heads(text, after, end);
                            token = end;
                            start = end + 1;
                        }
                        ";" if at > start => {
                            found.functions.push(Function { name, is_kernel, at, open, close, body: None });
                            token = after;
                            start = after + 1;
                        }
                        _ => token = close,
                    }
                }
                _ => {}
            }
            token += 1;
        }
        found
    }

    /// The heads that other branches of a conditional have for a body that each of them opens.
    fn other_heads(&mut self, text: &Text<'_>, open: usize, end: usize) {
        let mut token = open + 1;
        while text.in_directive(token) && matches!(text.at(token + 1), "else" | "elif") {
            token = text.directive_end(token) + 1;
            let start = token;
            while token < end && !text.in_directive(token) {
                let close = text.closing(token).filter(|_| text.at(token) == "(" && token > start);
                if let Some(close) =
                    close.filter(|close| text.at(close + 1) == "{" && text.is_word(token - 1))
                {
                    let is_kernel = (start..token - 1).any(|word| self.is_kernel(text.at(word)));
                    let (name, at, body) = (text.at(token - 1).to_owned(), token - 1, Some((close + 1, end)));
                    self.functions.push(Function { name, is_kernel, at, open: token, close, body });
                }
                token += 1;
            }
        }
    }

    /// Whether the word, or a macro of the name, says that a function is a kernel.
    fn is_kernel(&self, word: &str) -> bool {
        is_kernel_word(word) || self.macros.contains_key(&format!("\u{0}kernel {word}"))
    }

    /// Whether a `#define` begins at the token, in a branch that may be taken.
    pub(super) fn defines(&self, text: &Text<'_>, token: usize) -> bool {
        let is_define = text.in_directive(token) && text.at(token) == "#" && text.at(token + 1) == "define";
        is_define && !self.is_dead(token)
    }

    /// Whether a token is in a branch that is not taken.
    pub(super) fn is_dead(&self, token: usize) -> bool {
        self.dead.get(token).is_some_and(|dead| *dead)
    }

    fn macros(&mut self, text: &Text<'_>) {
        let mut token = 0;
        while token < text.len() {
            if !self.defines(text, token) {
                token += 1;
                continue;
            }
            let name = text.at(token + 2).to_owned();
            let end = text.directive_end(token) + 1;
            let mut start = token + 3;
            // Parameters follow without a space.
            if text.at(start) == "(" && text.range(start).start == text.range(token + 2).end {
                start = text.closing(start).map_or(start, |close| close + 1).min(end);
            }
            let body: Vec<usize> = (start..end).collect();
            if body.iter().any(|&word| is_kernel_word(text.at(word))) {
                self.macros.insert(format!("\u{0}kernel {name}"), Vec::new());
            }
            let is_type = |word: &&usize| is_builtin_type(text.at(**word));
            if !body.is_empty() && body.last().iter().any(is_type) && body.len() <= 3 {
                self.types.insert(name.clone());
            }
            self.macros.entry(name).or_default().extend(body);
            token = end;
        }
    }

    /// Notes the name of a `typedef`; gives the token behind it.
    fn typedef(&mut self, text: &Text<'_>, start: usize) -> usize {
        let mut token = start + 1;
        let mut name = None;
        while token < text.len() {
            match text.at(token) {
                "struct" | "union" | "enum" if text.is_word(token + 1) => {
                    self.types.insert(text.at(token + 1).to_owned());
                }
                "{" | "[" => token = text.closing(token).unwrap_or(text.len()),
                "(" | "__attribute__" => {
                    token =
                        text.closing(if text.at(token) == "(" { token } else { token + 1 }).unwrap_or(token);
                }
                ";" => break,
                _ if text.is_word(token) => name = Some(text.at(token).to_owned()),
                _ => {}
            }
            token += 1;
        }
        self.types.extend(name);
        token + 1
    }

    pub(super) fn is_type(&self, word: &str) -> bool {
        is_builtin_type(word) || self.types.contains(word)
    }
}

pub(super) fn skip_attributes(text: &Text<'_>, mut token: usize) -> usize {
    while text.at(token) == "__attribute__" {
        token = text.closing(token + 1).map_or(text.len(), |close| close + 1);
    }
    token
}

const SCALARS: &[&str] =
    &["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"];

/// The scalar and the width of a vector type.
pub(super) fn vector(word: &str) -> Option<(&str, u32)> {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let scalar = &word[..word.len() - digits.len()];
    let width: u32 = digits.parse().ok()?;
    (SCALARS.contains(&scalar) && matches!(width, 2 | 3 | 4 | 8 | 16)).then_some((scalar, width))
}

pub(super) fn is_builtin_type(word: &str) -> bool {
    SCALARS.contains(&word)
        || vector(word).is_some()
        || matches!(word, "void" | "unsigned" | "signed" | "size_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t")
}
