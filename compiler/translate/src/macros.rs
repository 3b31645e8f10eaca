//! Uses of macros that the translation can read only when they are expanded.
//!
//! Owns [`expanded`]. Most macros remain, and their bodies are translated. Those that paste names, and those
//! that a language chooses because they mean something else in each use, are replaced in their uses by what
//! C's preprocessor makes of them [C99 6.10.3]. Invariant: a use is expanded completely, or
//! left to the compiler of the translation.
//!
//! `msl::pp` is not used here. It makes one stream of tokens of a whole file for one set of definitions; this
//! module edits single uses in a text that remains a source, with its comments, directives and unexpanded
//! macros, and it gives up a use where branches of unknown conditions define a macro differently.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::branches;
use crate::flatten::{Edit, Flattened};
use crate::token::{Kind, Text};

/// The most tokens that all uses may become.
const MAX_WORDS: usize = 1 << 20;
/// The most arguments inside of one another.
const MAX_DEPTH: usize = 200;

/// A token of a macro's body or of a use.
#[derive(Clone, Debug)]
struct Word {
    text: Rc<str>,
    kind: Kind,
    /// Whether spaces precede it.
    is_spaced: bool,
    /// Whether it names a macro that it came from, which is not expanded again.
    is_painted: bool,
}

#[derive(Debug)]
pub(crate) struct Macro {
    /// `None` without parentheses; the last is `__VA_ARGS__` where any number of arguments may follow.
    params: Option<Vec<String>>,
    is_variadic: bool,
    body: Vec<Word>,
}

/// What the names of macros stand for at some point of a source; `None` where branches of conditionals have
/// different definitions.
#[derive(Debug, Default)]
struct Table(BTreeMap<String, Option<Rc<Macro>>>);

/// The source with the uses of some macros replaced: of those that paste names or that `is_chosen` by name
/// and meaning, and of those that name one of these. `defined` are the macros that are defined before the
/// source, of which the program defines `macros`.
pub(crate) fn expanded(
    flat: Flattened,
    defined: &BTreeMap<String, String>,
    macros: &[(String, String)],
    is_chosen: &dyn Fn(&str, &Macro) -> bool,
) -> Flattened {
    let edits = edits(&Text::new(&flat.text), defined, macros, is_chosen);
    if edits.is_empty() { flat } else { flat.edited(&edits) }
}

fn edits(
    text: &Text<'_>,
    defined: &BTreeMap<String, String>,
    macros: &[(String, String)],
    is_chosen: &dyn Fn(&str, &Macro) -> bool,
) -> Vec<Edit> {
    let dead = branches::not_taken(text, defined, true);
    let mut table = Table::default();
    for (name, value) in macros {
        let value = Text::new(value);
        let body = (0..value.len()).map(|token| Word::of(&value, token)).collect();
        table.define(name.clone(), Macro { params: None, is_variadic: false, body });
    }
    let starts = |token: usize| branches::begins_directive(text, token) && !dead[token];
    let definitions: Vec<(String, Macro)> = (0..text.len())
        .filter(|&token| starts(token) && text.at(token + 1) == "define")
        .map(|token| definition(text, token))
        .collect();
    let names = names(&definitions, is_chosen);
    if names.is_empty() {
        return Vec::new();
    }
    let mut definitions = definitions.into_iter();
    let (mut edits, mut token, mut words_left) = (Vec::new(), 0, MAX_WORDS);
    while token < text.len() {
        if text.in_directive(token) {
            match text.at(token + 1) {
                "define" if starts(token) => {
                    let (name, definition) = definitions.next().expect("definitions are met in order");
                    table.define(name, definition);
                }
                "undef" if starts(token) => drop(table.0.remove(text.at(token + 2))),
                _ => {}
            }
            token = text.directive_end(token) + 1;
            continue;
        }
        let is_use = !dead[token] && names.contains(text.at(token));
        let expanded = is_use.then(|| table.expanded_use(text, token, &mut words_left)).flatten();
        let Some((words, end)) = expanded else {
            token += 1;
            continue;
        };
        let range = text.range(token).start..text.range(end - 1).end;
        // What follows remains on its line.
        let lines = "\n".repeat(text.source()[range.clone()].matches('\n').count());
        let joins = |left: &Word, right: &Word| !right.is_spaced && left.joins(right);
        let before = token > 0 && words.first().is_some_and(|first| joins(&Word::of(text, token - 1), first));
        let after = end < text.len() && words.last().is_some_and(|last| joins(last, &Word::of(text, end)));
        let space = |is_there: bool| if is_there { " " } else { "" };
        let text = format!("{}{}{}{lines}", space(before), written(&words), space(after));
        edits.push(Edit { range, text });
        token = end;
    }
    edits
}

/// The macros that are expanded. One that names itself is not: the compiler of the translation would expand
/// it once more.
fn names(definitions: &[(String, Macro)], is_chosen: &dyn Fn(&str, &Macro) -> bool) -> BTreeSet<String> {
    let all = definitions.iter();
    let chosen = all.filter(|(name, definition)| definition.pastes() || is_chosen(name, definition));
    let mut names: BTreeSet<String> = chosen.map(|(name, _)| name.clone()).collect();
    loop {
        let before = names.len();
        for (name, definition) in definitions {
            let mut body = definition.body.iter();
            if body.any(|word| names.contains(&*word.text)) {
                names.insert(name.clone());
            }
        }
        if names.len() == before {
            break;
        }
    }
    for (name, definition) in definitions {
        if definition.body.iter().any(|word| *word.text == **name) {
            names.remove(name);
        }
    }
    names
}

/// The name and meaning of the `#define` that begins at a token.
fn definition(text: &Text<'_>, hash: usize) -> (String, Macro) {
    let (name, end) = (hash + 2, text.directive_end(hash) + 1);
    let mut first = end.min(name + 1);
    let follows = first < end && text.at(first) == "(" && text.range(first).start == text.range(name).end;
    let close = text.closing(first).filter(|&close| follows && close < end);
    let mut is_variadic = false;
    let params = close.map(|close| {
        let mut params = Vec::new();
        for (param, last) in text.parts(first, close) {
            is_variadic |= text.at(last) == "...";
            let name = if text.at(param) == "..." { "__VA_ARGS__" } else { text.at(param) };
            params.push(name.to_owned());
        }
        first = close + 1;
        params
    });
    let body = (first..end).map(|token| Word::of(text, token)).collect();
    (text.at(name).to_owned(), Macro { params, is_variadic, body })
}

impl Word {
    fn of(text: &Text<'_>, token: usize) -> Self {
        let is_spaced = token > 0 && text.range(token - 1).end < text.range(token).start;
        Self { text: text.at(token).into(), kind: text.kind(token), is_spaced, is_painted: false }
    }

    /// An operand of `##` that an empty argument stands for.
    fn placemarker() -> Self {
        Self { text: "".into(), kind: Kind::Mark, is_spaced: false, is_painted: false }
    }

    /// Whether the two would be read as one token without a space.
    fn joins(&self, right: &Self) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '"' | '\'');
        let is_sign = |c: char| "+-*/%&|^<>=!#:".contains(c);
        self.text.chars().last().zip(right.text.chars().next()).is_some_and(|(last, first)| {
            let follows_number = self.kind == Kind::Number && matches!(first, '+' | '-');
            (is_part(last) && is_part(first)) || (is_sign(last) && is_sign(first)) || follows_number
        })
    }

    fn pasted(&self, right: &Self) -> Self {
        let kind = if self.text.is_empty() { right.kind } else { self.kind };
        let text = format!("{}{}", self.text, right.text).into();
        Self { text, kind, is_spaced: self.is_spaced, is_painted: false }
    }
}

impl Macro {
    fn param(&self, word: &Word) -> Option<usize> {
        self.params.as_ref()?.iter().position(|param| **param == *word.text)
    }

    fn is_rest(&self, param: usize) -> bool {
        self.is_variadic && self.params.as_ref().is_some_and(|params| param + 1 == params.len())
    }

    pub(crate) fn has_parameters(&self) -> bool {
        self.params.is_some()
    }

    pub(crate) fn words(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.body.iter().map(|word| &*word.text)
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        written(&self.body)
    }

    fn pastes(&self) -> bool {
        (1..self.body.len()).any(|at| {
            // `, ## __VA_ARGS__` pastes nothing.
            let is_rest = |word| self.param(word).is_some_and(|param| self.is_rest(param));
            &*self.body[at].text == "##"
                && !(&*self.body[at - 1].text == "," && self.body.get(at + 1).is_some_and(is_rest))
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        let texts = |one: &Self| one.body.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        self.params == other.params && self.is_variadic == other.is_variadic && texts(self) == texts(other)
    }
}

impl Table {
    fn define(&mut self, name: String, definition: Macro) {
        match self.0.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(Some(Rc::new(definition)))),
            Entry::Occupied(mut entry) => {
                if !entry.get().as_ref().is_some_and(|known| known.is_same(&definition)) {
                    entry.insert(None);
                }
            }
        }
    }

    /// What the use of a macro at a token becomes, and the token after it. `None` if it is not a use, or if
    /// it cannot be expanded completely.
    fn expanded_use(
        &self,
        text: &Text<'_>,
        first: usize,
        words_left: &mut usize,
    ) -> Option<(Vec<Word>, usize)> {
        let takes_arguments = |name: &str| {
            let definition = self.0.get(name).and_then(Option::as_ref);
            definition.is_some_and(|definition| definition.params.is_some())
        };
        let mut end = first + 1;
        let mut last: Rc<str> = text.at(first).into();
        loop {
            if takes_arguments(&last) {
                end = text.closing(end).filter(|_| text.at(end) == "(")? + 1;
            }
            if (first..end).any(|token| text.in_directive(token)) {
                return None;
            }
            let words = (first..end).map(|token| Word::of(text, token)).collect();
            let mut expander = Expander { table: self, active: Vec::new(), words_left, depth: 0 };
            let words = expander.expanded(words)?;
            if words.iter().any(|word| word.is_painted) {
                return None;
            }
            match words.last() {
                // The result ends in the name of a macro whose arguments follow.
                Some(word) if takes_arguments(&word.text) && text.at(end) == "(" => last = word.text.clone(),
                _ => return Some((words, end)),
            }
        }
    }
}

/// Expands tokens.
struct Expander<'t, 'l> {
    table: &'t Table,
    /// The macros of which the results are scanned.
    active: Vec<Rc<str>>,
    /// What is left of [`MAX_WORDS`].
    words_left: &'l mut usize,
    depth: usize,
}

/// What is scanned.
enum Item {
    Word(Word),
    /// The end of the result of the innermost active macro.
    End,
}

impl Expander<'_, '_> {
    fn expanded(&mut self, words: Vec<Word>) -> Option<Vec<Word>> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let mut input: VecDeque<Item> = words.into_iter().map(Item::Word).collect();
        let mut out = Vec::new();
        while let Some(item) = input.pop_front() {
            let Item::Word(mut word) = item else {
                self.active.pop();
                continue;
            };
            *self.words_left = self.words_left.checked_sub(1)?;
            let is_name = word.kind == Kind::Word && !word.is_painted;
            let Some(definition) = is_name.then(|| self.table.0.get(&*word.text)).flatten() else {
                out.push(word);
                continue;
            };
            let definition = Rc::clone(definition.as_ref()?);
            if self.active.contains(&word.text) {
                word.is_painted = true;
                out.push(word);
                continue;
            }
            let arguments = match &definition.params {
                None => Vec::new(),
                Some(params) => match self.arguments(&mut input, params.len(), definition.is_variadic)? {
                    Some(arguments) => arguments,
                    None => {
                        out.push(word);
                        continue;
                    }
                },
            };
            let mut result = self.substituted(&definition, &arguments)?;
            if let Some(first) = result.first_mut() {
                first.is_spaced = word.is_spaced;
            }
            self.active.push(word.text);
            input.push_front(Item::End);
            result.into_iter().rev().for_each(|word| input.push_front(Item::Word(word)));
        }
        self.depth -= 1;
        Some(out)
    }

    /// Takes the arguments of a macro from the input: `Some(None)` if no parenthesis follows, `None` if they
    /// do not fit.
    fn arguments(
        &mut self,
        input: &mut VecDeque<Item>,
        count: usize,
        is_variadic: bool,
    ) -> Option<Option<Vec<Vec<Word>>>> {
        let next = input.iter().find_map(|item| match item {
            Item::Word(word) => Some(&*word.text),
            Item::End => None,
        });
        if next != Some("(") {
            return Some(None);
        }
        let (mut arguments, mut depth) = (vec![Vec::new()], 0u32);
        loop {
            let Item::Word(word) = input.pop_front()? else {
                self.active.pop();
                continue;
            };
            match &*word.text {
                ")" if depth == 1 => break,
                "(" if depth == 0 => {
                    depth = 1;
                    continue;
                }
                "(" => depth += 1,
                ")" => depth -= 1,
                "," if depth == 1 && !(is_variadic && arguments.len() == count) => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            arguments.last_mut()?.push(word);
        }
        if count == 0 && arguments[0].is_empty() {
            arguments.clear();
        }
        if is_variadic && arguments.len() + 1 == count {
            arguments.push(Vec::new());
        }
        (arguments.len() == count).then_some(Some(arguments))
    }

    /// A macro's body with its arguments.
    fn substituted(&mut self, definition: &Macro, arguments: &[Vec<Word>]) -> Option<Vec<Word>> {
        let body = &definition.body;
        let mut expanded: Vec<Option<Vec<Word>>> = vec![None; arguments.len()];
        let (mut out, mut pastes, mut at): (Vec<Word>, bool, usize) = (Vec::new(), false, 0);
        while at < body.len() {
            let word = &body[at];
            if &*word.text == "##" && at > 0 {
                pastes = true;
                at += 1;
                continue;
            }
            let is_pasted = pastes || body.get(at + 1).is_some_and(|next| &*next.text == "##");
            let quoted = (&*word.text == "#").then(|| definition.param(body.get(at + 1)?)).flatten();
            let param = definition.param(word);
            let mut words = if let Some(param) = quoted {
                at += 1;
                vec![quote(&arguments[param])]
            } else if let Some(param) = param {
                let argument = &arguments[param];
                if is_pasted && argument.is_empty() {
                    vec![Word::placemarker()]
                } else if is_pasted {
                    argument.clone()
                } else {
                    if expanded[param].is_none() {
                        expanded[param] = Some(self.expanded(argument.clone())?);
                    }
                    expanded[param].clone()?
                }
            } else {
                vec![word.clone()]
            };
            if let Some(first) = words.first_mut() {
                first.is_spaced = word.is_spaced;
            }
            if pastes && let Some(left) = out.pop() {
                let is_rest = param.is_some_and(|param| definition.is_rest(param));
                if &*left.text == "," && is_rest {
                    // `, ## __VA_ARGS__`: without arguments there is no comma.
                    words.retain(|word| !word.text.is_empty());
                    out.extend((!words.is_empty()).then_some(left));
                } else {
                    words[0] = left.pasted(&words[0]);
                }
            }
            out.append(&mut words);
            pastes = false;
            at += 1;
        }
        out.retain(|word| !word.text.is_empty());
        Some(out)
    }
}

/// `#argument`
fn quote(words: &[Word]) -> Word {
    let mut text = String::from("\"");
    for (number, word) in words.iter().enumerate() {
        if number > 0 && word.is_spaced {
            text.push(' ');
        }
        match word.kind {
            Kind::Quoted => text.push_str(&word.text.replace('\\', "\\\\").replace('"', "\\\"")),
            _ => text.push_str(&word.text),
        }
    }
    text.push('"');
    Word { text: text.into(), kind: Kind::Quoted, is_spaced: false, is_painted: false }
}

/// Tokens as text, with spaces where the source has them or where two would become one.
fn written(words: &[Word]) -> String {
    let mut text = String::new();
    for (number, word) in words.iter().enumerate() {
        if number > 0 && (word.is_spaced || words[number - 1].joins(word)) {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}
