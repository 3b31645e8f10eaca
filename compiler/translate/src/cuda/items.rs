//! The declarations of a source outside of functions, found by the shape of the text.
//!
//! Owns [`Items`]: functions with their parameters, records with their methods, aliases, variables,
//! directives and namespaces, in the order of the text. Nothing is looked up: host code need not be
//! understood.

use std::collections::{BTreeMap, BTreeSet};

use super::declarator::{Declarator, declarators, skip_type};
use super::shape::Shape;
use crate::token::Text;

/// Records nest as deep.
const MAX_DEPTH: usize = 32;

/// Before the names of namespaces that are used.
pub(super) const NAMESPACE: &str = "namespace ";

/// What stands at one place outside of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directive,
    /// `namespace x {`
    Open,
    /// `extern "C" {`
    OpenC,
    /// What closes the last one that is open.
    Close,
    /// The number of the function.
    Function(usize),
    /// The number of the record.
    Record(usize),
    /// `typedef`, `using` or `enum`.
    Alias,
    Variable,
    Other,
}

/// Tokens of a declaration.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) kind: Kind,
    /// What it declares.
    pub(super) names: Vec<String>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Param {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The end of its type and name, without a default.
    pub(super) end: usize,
    pub(super) declarator: Option<Declarator>,
}

/// A function, a declaration of one, or a method.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    /// All of it, with `template <…>`.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The first token after `template <…>`.
    pub(super) head: usize,
    /// The token of its name.
    pub(super) at: usize,
    /// Of its parameters' parentheses.
    pub(super) open: usize,
    pub(super) close: usize,
    pub(super) body: Option<(usize, usize)>,
    pub(super) params: Vec<Param>,
    pub(super) template: Option<(usize, usize)>,
    pub(super) is_kernel: bool,
    pub(super) is_device: bool,
    /// The number of the record of which it is a method.
    pub(super) record: Option<usize>,
    around: Around,
}

/// The records around a declaration, each with its braces and the brackets of its template.
#[derive(Debug, Clone, Default)]
struct Around {
    records: Vec<(usize, usize)>,
    templates: Vec<(usize, usize)>,
}

impl Function {
    /// Whether it is a method that is called for an object.
    pub(super) fn has_object(&self, text: &Text<'_>) -> bool {
        let is_free = (self.first..self.at).any(|token| matches!(text.at(token), "static" | "friend"));
        self.record.is_some() && !is_free
    }

    /// The type that it returns, without stars; of constructors and operators of conversion there is none.
    pub(super) fn returned_type(&self, text: &Text<'_>) -> Option<(usize, usize)> {
        skip_type(text, self.head).filter(|&(_, last)| last < self.at)
    }

    /// The tokens of a pointer to which it converts objects, after `operator`.
    pub(super) fn conversion_type(&self, text: &Text<'_>) -> Option<(usize, usize)> {
        let is_pointer = text.at(self.at) == "operator" && text.at(self.open - 1) == "*";
        skip_type(text, self.at + 1).filter(|_| is_pointer && self.record.is_some())
    }

    /// The stars of the type that it returns.
    pub(super) fn returned_stars(&self, text: &Text<'_>) -> usize {
        let after = self.returned_type(text).map_or(self.at, |(_, last)| last + 1);
        (after..self.at).filter(|&token| text.at(token) == "*").count()
    }

    /// The name of the type of whose objects it is a conversion to pointers.
    pub(super) fn converted<'i>(&self, text: &Text<'_>, items: &'i Items) -> Option<&'i str> {
        let is_conversion = text.at(self.at) == "operator"
            && text.at(self.open.saturating_sub(1)) == "*"
            && text.is_word(self.at + 1);
        let record = self.record.filter(|_| is_conversion)?;
        items.records[record].name.as_deref()
    }

    /// Whether some tokens name a parameter of its template, or of that of a record around it.
    pub(super) fn names_template(&self, text: &Text<'_>, first: usize, last: usize) -> bool {
        let is_parameter = |word: &str| {
            self.template.iter().chain(&self.around.templates).any(|&(open, close)| {
                (open + 1..close).any(|token| {
                    text.at(token) == word && matches!(text.at(token + 1), "," | ">" | "=" | ">>")
                })
            })
        };
        (first..=last).any(|token| text.is_word(token) && is_parameter(text.at(token)))
    }

    /// Whether some tokens name a type that its body declares, or a record around it.
    pub(super) fn names_own_type(&self, text: &Text<'_>, first: usize, last: usize) -> bool {
        let is_declared = |word: &str| {
            self.body.iter().chain(&self.around.records).any(|&(open, close)| {
                (open..close).any(|token| match text.at(token) {
                    "using" => text.at(token + 1) == word && text.at(token + 2) == "=",
                    "struct" | "class" | "union" | "enum" => text.at(token + 1) == word,
                    "typedef" => {
                        let end = (token..close).find(|&end| text.at(end) == ";");
                        end.is_some_and(|end| text.at(end - 1) == word)
                    }
                    _ => false,
                })
            })
        };
        (first..=last).any(|token| text.is_word(token) && is_declared(text.at(token)))
    }

    /// Whether it returns a reference.
    pub(super) fn returns_reference(&self, text: &Text<'_>) -> bool {
        let after = self.returned_type(text).map_or(self.at, |(_, last)| last + 1);
        (after..self.at).any(|token| text.at(token) == "&")
    }
}

/// A structure, class or union.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) name: Option<String>,
    pub(super) open: usize,
    pub(super) close: usize,
    pub(super) methods: Vec<usize>,
    /// Its data: first and last token of each declaration.
    pub(super) members: Vec<(usize, usize)>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) items: Vec<Item>,
    pub(super) functions: Vec<Function>,
    pub(super) records: Vec<Record>,
    /// The data of records that only a `typedef` names.
    pub(super) alias_members: Vec<(usize, usize)>,
    /// The tokens of each macro's body, by its name.
    pub(super) macros: BTreeMap<String, Vec<usize>>,
    /// The records around the current declaration.
    around: Around,
}

impl Items {
    pub(super) fn of(text: &Text<'_>) -> Self {
        let mut items = Self::default();
        items.find_macros(text);
        let mut closes = Vec::new();
        let mut token = 0;
        while token < text.len() {
            let item = items.item(text, token, text.len(), &mut closes);
            token = item.last.max(token) + 1;
            items.items.push(item);
        }
        items.mark_declared();
        items
    }

    /// What a declaration says of a function holds for its definition.
    fn mark_declared(&mut self) {
        let is_declared = |function: &&Function| function.is_device && function.body.is_none();
        let names: BTreeSet<String> =
            self.functions.iter().filter(is_declared).map(|function| function.name.clone()).collect();
        for function in self.functions.iter_mut().filter(|function| function.record.is_none()) {
            function.is_device |= names.contains(&function.name);
        }
    }

    fn find_macros(&mut self, text: &Text<'_>) {
        for token in 0..text.len() {
            let defines = text.at(token) == "#" && text.in_directive(token) && text.at(token + 1) == "define";
            if !defines {
                continue;
            }
            let end = text.directive_end(token);
            let mut start = token + 3;
            // Parameters follow without a space.
            if text.at(start) == "(" && text.range(start).start == text.range(token + 2).end {
                start = text.closing(start).map_or(start, |close| close + 1);
            }
            self.macros.entry(text.at(token + 2).to_owned()).or_default().extend(start..=end);
        }
    }

    /// Whether one of the tokens is the word, itself or by a macro.
    pub(super) fn says(&self, text: &Text<'_>, mut tokens: std::ops::Range<usize>, word: &str) -> bool {
        tokens.any(|token| {
            text.at(token) == word || {
                let body = self.macros.get(text.at(token)).map(Vec::as_slice).unwrap_or_default();
                body.len() <= 8 && body.iter().any(|&token| text.at(token) == word)
            }
        })
    }

    fn item(&mut self, text: &Text<'_>, first: usize, end: usize, closes: &mut Vec<usize>) -> Item {
        let item = |last: usize, kind: Kind| Item { first, last, kind, names: Vec::new() };
        if text.in_directive(first) {
            let mut found = item(text.directive_end(first), Kind::Directive);
            if text.at(first + 1) == "define" {
                found.names.push(text.at(first + 2).to_owned());
            }
            return found;
        }
        if closes.last() == Some(&first) {
            closes.pop();
            return item(first, Kind::Close);
        }
        let opens = (first..first + 24).find(|&token| matches!(text.at(token), "{" | ";" | "=" | "("));
        let opens = opens.filter(|&token| text.at(token) == "{");
        if let (true, Some(open)) = (matches!(text.at(first), "namespace" | "inline" | "extern"), opens) {
            let is_namespace = (first..open).any(|token| text.at(token) == "namespace");
            let is_c = text.at(first) == "extern" && text.at(first + 1).starts_with('"') && open == first + 2;
            if (is_namespace || is_c)
                && let Some(close) = text.closing(open)
            {
                closes.push(close);
                return item(open, if is_c { Kind::OpenC } else { Kind::Open });
            }
        }
        self.declaration(text, first, end, None)
    }

    /// A declaration, in a record or outside.
    fn declaration(&mut self, text: &Text<'_>, first: usize, end: usize, record: Option<usize>) -> Item {
        let mut shape = Shape::of(text, first, end);
        let mut item = Item { first, last: shape.last, kind: Kind::Other, names: Vec::new() };
        if text.at(shape.head) == "using" || text.at(shape.head) == "typedef" || shape.word == "enum" {
            item.kind = Kind::Alias;
            item.names = alias_names(text, shape.head, shape.last);
            self.alias_members.extend(alias_members(text, shape.head, shape.last));
            return item;
        }
        if let Some((open, close)) = shape.record {
            let number = self.records.len();
            let name = (shape.head..open).take_while(|&token| !matches!(text.at(token), ":" | "<"));
            let name = name.filter(|&token| {
                text.is_word(token) && !matches!(text.at(token), "struct" | "class" | "union" | "final")
            });
            let name = name.last().map(|token| text.at(token).to_owned());
            item.kind = Kind::Record(number);
            item.names.extend(name.clone());
            self.records.push(Record { name, open, close, methods: Vec::new(), members: Vec::new() });
            item.names
                .extend((close..=shape.last).filter(|&t| text.is_word(t)).map(|t| text.at(t).to_owned()));
            if self.around.records.len() < MAX_DEPTH {
                let outer = self.around.clone();
                self.around.records.push((open, close));
                self.around.templates.extend(shape.template);
                self.members(text, number);
                self.around = outer;
            }
            return item;
        }
        if record.is_none() && self.is_constructed(text, &shape) {
            item.kind = Kind::Variable;
            item.names.extend(shape.name.map(|name| text.at(name).to_owned()));
            return item;
        }
        if let Some(function) = self.function(text, &mut shape, first, record) {
            item.names.push(function.name.clone());
            item.kind = Kind::Function(self.functions.len());
            self.functions.push(function);
            return item;
        }
        if let Some(found) = declarators(text, shape.head, shape.last) {
            item.kind = Kind::Variable;
            item.names = found.all.iter().map(|declarator| text.at(declarator.name).to_owned()).collect();
        }
        item
    }

    /// `const int x(y * z);` is a variable: no parameter begins with a number or the name of a variable.
    fn is_constructed(&self, text: &Text<'_>, shape: &Shape) -> bool {
        let Some((open, close)) = shape.parens.filter(|_| shape.body.is_none() && !shape.has_equals) else {
            return false;
        };
        let first = text.at(open + 1);
        let is_variable =
            |item: &Item| item.kind == Kind::Variable && item.names.iter().any(|name| name == first);
        let begins_expression = first == "(" || first.starts_with(|c: char| c.is_ascii_digit());
        close > open + 1 && (begins_expression || self.items.iter().any(is_variable))
    }

    fn function(
        &self,
        text: &Text<'_>,
        shape: &mut Shape,
        first: usize,
        record: Option<usize>,
    ) -> Option<Function> {
        let (open, close) = shape.parens?;
        let at = shape.name?;
        let is_declared = text.at(shape.last) == ";";
        // `int x(3);` is a variable, but not one of kernels' sources.
        if shape.body.is_none() && (!is_declared || shape.has_equals) {
            return None;
        }
        let mut name = match text.at(at) {
            "operator" => (at..open).map(|token| text.at(token)).collect(),
            word => word.to_owned(),
        };
        if text.at(at.wrapping_sub(1)) == "~" {
            name.insert(0, '~');
        }
        let params = params(text, open, close).into_iter().filter_map(|part| param(text, part)).collect();
        let head = shape.head..at;
        let is_kernel = self.says(text, head.clone(), "__global__");
        let is_device = self.says(text, head.clone(), "__device__")
            || self.says(text, head, "constexpr")
            || (record.is_some() && (close..shape.last).any(|token| text.at(token) == "default"));
        let (head, last, body, template) = (shape.head, shape.last, shape.body, shape.template);
        Some(Function {
            name,
            first,
            last,
            head,
            at,
            open,
            close,
            body,
            params,
            template,
            is_kernel,
            is_device,
            record,
            around: self.around.clone(),
        })
    }

    fn members(&mut self, text: &Text<'_>, record: usize) {
        let Record { open, close, .. } = self.records[record];
        let mut token = open + 1;
        while token < close {
            if text.in_directive(token) || matches!(text.at(token + 1), ":") && text.at(token + 2) != ":" {
                token = if text.in_directive(token) { text.directive_end(token) + 1 } else { token + 2 };
                continue;
            }
            let item = self.declaration(text, token, close, Some(record));
            match item.kind {
                Kind::Function(function) => self.records[record].methods.push(function),
                Kind::Variable => self.records[record].members.push((item.first, item.last)),
                _ => {}
            }
            token = item.last.max(token) + 1;
        }
    }
}

/// First and last token of each parameter, without directives around it.
fn params(text: &Text<'_>, open: usize, close: usize) -> Vec<(usize, usize)> {
    let (mut parts, mut first, mut token) = (Vec::new(), open + 1, open + 1);
    while token <= close {
        match text.at(token) {
            "(" | "[" | "{" => token = text.closing(token).unwrap_or(close),
            "<" => token = text.angle_closing(token).unwrap_or(token),
            _ => {}
        }
        if token >= close || text.at(token) == "," {
            let mut end = token.min(close);
            while first < end && text.in_directive(first) {
                first = text.directive_end(first) + 1;
            }
            while end > first && text.in_directive(end - 1) {
                end -= 1;
            }
            if first < end {
                parts.push((first, end - 1));
            }
            first = token + 1;
        }
        token += 1;
    }
    parts
}

fn param(text: &Text<'_>, (first, last): (usize, usize)) -> Option<Param> {
    if first == last && text.at(first) == "void" {
        return None;
    }
    let equals = (first..=last).find(|&token| text.at(token) == "=");
    let end = equals.map_or(last, |equals| equals.saturating_sub(1));
    let declarator = declarators(text, first, end).and_then(|found| found.all.into_iter().next());
    Some(Param { first, last, end, declarator })
}

/// The data of `typedef struct { … } name;`, each as first and last token.
fn alias_members(text: &Text<'_>, first: usize, last: usize) -> Vec<(usize, usize)> {
    let open = (first..last).find(|&token| text.at(token) == "{");
    let is_record = (first..last).take(3).any(|token| matches!(text.at(token), "struct" | "union"));
    let Some((open, close)) = open.and_then(|open| Some((open, text.closing(open)?))).filter(|_| is_record)
    else {
        return Vec::new();
    };
    let (mut members, mut start, mut token) = (Vec::new(), open + 1, open + 1);
    while token < close {
        match text.at(token) {
            ";" => {
                members.push((start, token));
                start = token + 1;
            }
            "(" | "[" | "{" => token = text.closing(token).unwrap_or(close),
            _ => {}
        }
        token += 1;
    }
    members
}

fn alias_names(text: &Text<'_>, first: usize, last: usize) -> Vec<String> {
    if text.at(first) == "using" {
        return match text.at(first + 1) {
            // Stays if the namespace does.
            "namespace" => vec![NAMESPACE.to_owned() + text.at(last.saturating_sub(1))],
            _ if text.at(first + 2) == "=" => vec![text.at(first + 1).to_owned()],
            _ => vec![text.at(last.saturating_sub(1)).to_owned()],
        };
    }
    // The words outside of types: of an `enum` those in braces, too.
    (first..=last).filter(|&token| text.is_word(token)).map(|token| text.at(token).to_owned()).collect()
}
