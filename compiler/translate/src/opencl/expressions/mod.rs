//! Expressions whose meaning depends on types: reads the code of functions and macros with the types of its
//! names, and rewrites what Metal reads differently.
//!
//! In OpenCL C comparisons and logical operators of vectors give -1 or 0 for each component, `?:` looks at
//! the sign of each component, a vector has literals, and components have hexadecimal names, which a member
//! of a structure may have as well.
//!
//! A source is read twice: first to learn with what types each macro is used, then to rewrite. A macro is
//! rewritten once, for all its uses. Code that cannot be read is left alone, up to the next token.

mod operators;
mod postfix;
mod statements;
mod type_names;

use std::collections::{BTreeMap, BTreeSet};

use super::declarations::{Declarations, vector};
use super::types::{self, Names, Type};
use super::{Options, Translator, wide};
use crate::token::Text;

/// Deeper expressions are an error.
const MAX_DEPTH: u32 = 400;

/// Tokens that are read at most, again and again for each use of a macro.
const MAX_STEPS: u32 = 2_000_000;

/// A change to a token.
#[derive(Debug)]
enum Change {
    /// Text before it, and before what is before it already.
    Before(usize, String),
    After(usize, String),
    Replace(usize, String),
    /// Takes it away, with the spaces after it.
    Remove(usize),
}

/// What reading a source found.
#[derive(Debug, Default)]
struct Findings {
    changes: Vec<Change>,
    /// Functions of the prelude.
    helpers: BTreeSet<&'static str>,
    /// What is used of vectors of 8 and 16.
    wide: wide::Wide,
    /// Macros whose uses need different translations.
    varied: BTreeSet<String>,
    /// What Metal does not have: a token, what it is, and what to do.
    refused: Vec<(usize, String, &'static str)>,
}

impl Translator<'_> {
    /// Rewrites expressions by their types.
    pub(super) fn expressions(&mut self) {
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if vector(word).is_some_and(|(_, width)| width > 4) {
                self.note_wide(word);
            }
        }
        let Findings { changes, helpers, wide, refused, .. } =
            read(&self.text, &self.declarations, self.options);
        for change in changes {
            match change {
                Change::Before(token, text) => self.text.insert_outside(token, &text),
                Change::After(token, text) => self.text.insert_after(token, &text),
                Change::Replace(token, text) => self.text.replace(token, text),
                Change::Remove(token) => self.text.remove(token),
            }
        }
        self.helpers.extend(helpers);
        wide.types.iter().for_each(|(width, scalar)| self.note_wide(&format!("{scalar}{width}")));
        self.wide.literals.extend(wide.literals);
        self.wide.picks.extend(wide.picks);
        for (token, message, hint) in refused {
            self.refuse(token, message, hint);
        }
    }
}

/// Part of an expression.
#[derive(Clone, Debug)]
struct Operand {
    first: usize,
    last: usize,
    /// Without `const`.
    ty: Type,
    /// Whether it is an object that is constant.
    is_const: bool,
}

impl Operand {
    fn value(first: usize, last: usize, ty: Type) -> Self {
        debug_assert!(!ty.is_const(), "a value is not constant");
        Self { first, last, ty, is_const: false }
    }

    /// The type of its value: an array in a constant structure has constant elements.
    fn decayed(&self) -> Type {
        if self.is_const { self.ty.to_constant() } else { self.ty.clone() }
    }

    /// An object of a type, which says whether it is constant. For pointers it does not matter: what is read
    /// from them may be changed.
    fn object(first: usize, last: usize, ty: &Type) -> Self {
        let is_const = ty.is_const() && !matches!(ty.unqualified(), Type::Pointer(_));
        Self { first, last, ty: ty.unqualified().clone(), is_const }
    }
}

/// The types of a function.
#[derive(Clone, Debug)]
struct Signature {
    result: Type,
    params: Vec<Type>,
}

#[derive(Debug)]
struct Macro {
    name: String,
    /// `None` without parentheses.
    params: Option<Vec<String>>,
    /// The tokens of its body.
    first: usize,
    end: usize,
}

/// A macro whose body is read, with the types of its parameters.
#[derive(Debug)]
struct Frame {
    definition: usize,
    types: BTreeMap<String, Type>,
}

/// See the module's documentation.
#[derive(Debug)]
struct Reader<'t, 's> {
    text: &'t Text<'s>,
    declarations: &'t Declarations,
    names: Names,
    functions: BTreeMap<String, Signature>,
    /// The result of the function that is read.
    result: Type,
    /// The types of what has been declared in the structure that is read, in order.
    declared: Vec<Type>,
    definitions: Vec<Macro>,
    macros: BTreeMap<String, Vec<usize>>,
    /// By definition: the types of its parameters, and of the other names in it, in all uses.
    uses: Vec<BTreeMap<String, Type>>,
    scopes: Vec<BTreeMap<String, Type>>,
    frames: Vec<Frame>,
    at: usize,
    end: usize,
    depth: u32,
    steps: u32,
    /// Where an expression is too deep.
    too_deep: Option<usize>,
    /// Whether uses of macros are noted.
    is_learning: bool,
    /// Whether changes are.
    is_rewriting: bool,
    found: Findings,
}

/// Reads a source.
fn read(text: &Text<'_>, declarations: &Declarations, options: &Options) -> Findings {
    let mut reader = Reader::new(text, declarations, options);
    reader.learn();
    reader.rewrite();
    reader.found
}

/// The macros whose uses need different translations.
pub(super) fn varied_macros(
    text: &Text<'_>,
    declarations: &Declarations,
    options: &Options,
) -> BTreeSet<String> {
    let mut reader = Reader::new(text, declarations, options);
    reader.learn();
    reader.is_learning = false;
    reader.bodies();
    reader.found.varied
}

impl<'t, 's> Reader<'t, 's> {
    fn new(text: &'t Text<'s>, declarations: &'t Declarations, options: &Options) -> Self {
        let mut reader = Self {
            text,
            declarations,
            names: Names::default(),
            functions: BTreeMap::new(),
            result: Type::Unknown,
            declared: Vec::new(),
            definitions: Vec::new(),
            macros: BTreeMap::new(),
            uses: Vec::new(),
            scopes: Vec::new(),
            frames: Vec::new(),
            at: 0,
            end: 0,
            depth: 0,
            steps: 0,
            too_deep: None,
            is_learning: true,
            is_rewriting: false,
            found: Findings::default(),
        };
        reader.definitions();
        for (name, value) in &options.macros {
            if let Some(ty) = reader.names.named(value.trim()) {
                reader.names.types.insert(name.clone(), ty);
            }
        }
        reader
    }

    /// Reads the source once, for the types with which macros are used.
    fn learn(&mut self) {
        (self.is_learning, self.is_rewriting) = (true, false);
        self.source();
    }

    /// Reads the source, and then the bodies of macros, for changes.
    fn rewrite(&mut self) {
        (self.is_learning, self.is_rewriting) = (false, true);
        self.source();
        self.bodies();
        self.check_steps();
    }

    /// Reads the bodies of macros, with the types of all their uses.
    fn bodies(&mut self) {
        for definition in 0..self.definitions.len() {
            let types = self.uses[definition].clone();
            self.frames.push(Frame { definition, types });
            let Macro { first, end, .. } = self.definitions[definition];
            (self.at, self.end) = (first, end);
            self.scopes = vec![BTreeMap::new()];
            self.statements();
            self.frames.pop();
        }
    }

    fn source(&mut self) {
        self.scopes = vec![BTreeMap::new()];
        (self.at, self.end) = (0, self.text.len());
        self.skip_directives();
        self.statements();
        self.check_steps();
    }
}

impl Reader<'_, '_> {
    /// Notes the macros that are defined.
    fn definitions(&mut self) {
        for token in 0..self.text.len() {
            if !self.declarations.defines(self.text, token) {
                continue;
            }
            let (name, end) = (token + 2, self.text.directive_end(token) + 1);
            let mut first = end.min(name + 1);
            let follows = first < end && self.text.range(first).start == self.text.range(name).end;
            let close = self.text.closing(first).filter(|&close| follows && close < end);
            let close = close.filter(|_| self.text.at(first) == "(");
            let params = close.map(|close| {
                let params = self.text.parts(first, close);
                first = close + 1;
                params.into_iter().map(|(param, _)| self.text.at(param).to_owned()).collect()
            });
            let name = self.text.at(name).to_owned();
            self.macros.entry(name.clone()).or_default().push(self.definitions.len());
            self.definitions.push(Macro { name, params, first, end });
            self.uses.push(BTreeMap::new());
        }
    }

    // --- changes

    fn before(&mut self, token: usize, text: &str) {
        self.change(Change::Before(token, text.to_owned()));
    }

    fn after(&mut self, token: usize, text: &str) {
        self.change(Change::After(token, text.to_owned()));
    }

    fn replace(&mut self, token: usize, text: &str) {
        self.change(Change::Replace(token, text.to_owned()));
    }

    fn change(&mut self, change: Change) {
        if self.is_rewriting {
            self.found.changes.push(change);
        }
    }

    fn help(&mut self, helper: &'static str) {
        if self.is_rewriting {
            self.found.helpers.insert(helper);
        }
    }

    fn refuse(&mut self, token: usize, message: String, hint: &'static str) {
        if self.is_rewriting {
            self.found.refused.push((token, message, hint));
        }
    }

    /// Converts a pointer where it becomes one to another type, which C allows without a cast.
    fn convert_pointer(&mut self, to: &Type, value: &Operand) {
        if let (Type::Pointer(to), Type::Pointer(from)) = (to.unqualified(), &value.decayed())
            && to.is_pointee_converted_from(from)
        {
            self.help("cl_pointer");
            self.before(value.first, "cl_pointer(");
            self.after(value.last, ")");
        }
    }

    fn note_wide(&mut self, ty: &Type) {
        if let Type::Vector(scalar, width) = ty
            && *width > 4
        {
            self.found.wide.types.insert((*width, scalar.clone()));
        }
    }

    /// Begins to count steps again. A source that takes too many is read in part only, which is an error.
    fn check_steps(&mut self) {
        if std::mem::take(&mut self.steps) > MAX_STEPS {
            let message = "macros in macros, too many to find types".to_owned();
            self.found.refused.push((0, message, "expand some by hand"));
        }
        if let Some(token) = self.too_deep.take() {
            let message = "expressions in expressions, too many to find types".to_owned();
            self.found.refused.push((token, message, "give parts of it names"));
        }
    }

    /// Whether expressions nest too deep here, which is an error.
    fn is_too_deep(&mut self) -> bool {
        let is_too_deep = self.depth >= MAX_DEPTH;
        if is_too_deep {
            self.too_deep.get_or_insert(self.at);
        }
        is_too_deep
    }

    // --- tokens

    fn word(&self) -> &str {
        if self.at < self.end { self.text.at(self.at) } else { "" }
    }

    fn next_is(&self, word: &str) -> bool {
        self.word() == word
    }

    fn advance(&mut self) {
        self.at += 1;
        self.steps += 1;
        self.skip_directives();
    }

    fn skip_directives(&mut self) {
        if self.frames.is_empty() {
            while self.at < self.end && (self.text.in_directive(self.at) || self.is_alternative(self.at)) {
                self.at += 1;
            }
        }
    }

    /// Whether a token is in a branch that is not taken, of a declaration outside of functions.
    fn is_alternative(&self, token: usize) -> bool {
        self.scopes.len() == 1 && self.declarations.is_dead(token)
    }

    /// The token after a closing bracket, or the end.
    fn go_behind(&mut self, close: Option<usize>) {
        self.at = close.unwrap_or(self.end).min(self.end);
        if self.at < self.end {
            self.advance();
        }
    }

    // --- names

    fn lookup(&mut self, name: &str) -> Type {
        if let Some(frame) = self.frames.last()
            && let Some(ty) = frame.types.get(name)
        {
            return ty.clone();
        }
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned();
        let Some(ty) = found else {
            let value = self.macro_value(name, None).or_else(|| types::constant(name));
            return value.unwrap_or(Type::Unknown);
        };
        if let Some(frame) = self.frames.last() {
            self.join_use(frame.definition, name, ty.unqualified().clone());
        }
        ty
    }

    fn join_use(&mut self, definition: usize, name: &str, ty: Type) {
        if !self.is_learning {
            return;
        }
        let known = self.uses[definition].entry(name.to_owned()).or_insert(Type::Unknown);
        let has_wide = ty.is_wide() || known.is_wide();
        *known = std::mem::replace(known, Type::Unknown).join(ty);
        if has_wide && !known.is_wide() {
            // The functions that serve numbers and vectors in macros have no form for 8 and 16 components.
            self.found.varied.insert(self.definitions[definition].name.clone());
        }
    }

    fn declare(&mut self, name: &str, ty: Type) {
        self.declared.push(ty.clone());
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), ty);
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains_key(name))
            || self.frames.last().is_some_and(|frame| frame.types.contains_key(name))
    }

    /// The type of what a macro stands for; `None` if there is none of the name, with or without arguments.
    fn macro_value(&mut self, name: &str, args: Option<&[Type]>) -> Option<Type> {
        let definitions = self.macros.get(name)?.clone();
        let mut value = Type::Unknown;
        let mut is_known = false;
        for definition in definitions {
            let params = self.definitions[definition].params.clone();
            if params.is_some() != args.is_some() {
                continue;
            }
            is_known = true;
            let is_open = self.frames.iter().any(|frame| frame.definition == definition);
            if is_open || self.frames.len() > 16 || self.steps > MAX_STEPS {
                continue;
            }
            let types: BTreeMap<String, Type> = params
                .unwrap_or_default()
                .into_iter()
                .zip(args.unwrap_or_default().iter().cloned())
                .collect();
            for (param, ty) in &types {
                self.join_use(definition, param, ty.clone());
            }
            let Macro { first, end, .. } = self.definitions[definition];
            let outer = (self.at, self.end, self.is_rewriting);
            (self.at, self.end, self.is_rewriting) = (first, end, false);
            self.frames.push(Frame { definition, types });
            let body = self.statements();
            self.frames.pop();
            (self.at, self.end, self.is_rewriting) = outer;
            value = value.join(body);
        }
        is_known.then_some(value)
    }
}

/// The type of the object that a pointer, or an index into an array or a vector, refers to.
fn pointee(ty: &Type) -> Type {
    match ty {
        Type::Pointer(to) => (**to).clone(),
        Type::Vector(scalar, _) => Type::Scalar(scalar.clone()),
        _ => Type::Unknown,
    }
}

fn is_assignment(word: &str) -> bool {
    word == "=" || (word.len() >= 2 && word.ends_with('=') && !matches!(word, "==" | "!=" | "<=" | ">="))
}
