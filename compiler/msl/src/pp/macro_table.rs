//! Macro definitions and the table of them.

use super::pp_token::PpToken;
use crate::token::{MathMode, Name};
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A macro's definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Macro {
    pub(super) name: Name,
    /// The name again, shared with the records of its expansions.
    pub(super) shared_name: Arc<str>,
    pub(super) kind: MacroKind,
    pub(super) body: Vec<BodyToken>,
    pub(super) definition: Span,
}

impl Macro {
    /// The name.
    pub fn name(&self) -> Name {
        self.name
    }

    /// Whether it takes arguments.
    pub fn is_function_like(&self) -> bool {
        matches!(self.kind, MacroKind::Function { .. })
    }

    /// Where it is defined; `Span::NONE` for those the preprocessor computes.
    pub fn definition(&self) -> Span {
        self.definition
    }

    /// Whether two definitions are the same as far as the standard cares: parameters, body, and
    /// where there is white space in it.
    pub(super) fn same_definition(&self, other: &Self) -> bool {
        let same_token = |(index, (a, b)): (usize, (&BodyToken, &BodyToken))| {
            a.role == b.role
                && a.token.kind == b.token.kind
                && a.token.name == b.token.name
                && (index == 0 || a.token.space == b.token.space)
        };
        self.kind == other.kind
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).enumerate().all(same_token)
    }
}

/// The kinds of macros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum MacroKind {
    Object,
    /// When variadic, the last parameter takes what is left.
    Function {
        parameters: Vec<Name>,
        variadic: bool,
    },
    Builtin(Builtin),
}

/// Macros whose value depends on where they are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Builtin {
    Line,
    File,
    FileName,
    BaseFile,
    Counter,
    IncludeLevel,
    Date,
    Time,
}

/// A token of a macro's body and what it does there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct BodyToken {
    pub(super) token: PpToken,
    pub(super) role: Role,
}

/// What a body token does when the macro is expanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Stands for itself.
    Plain,
    /// The parameter with this index. `raw` when it is an operand of `##`.
    Parameter { index: u32, raw: bool },
    /// `#` and the parameter with this index.
    Stringise(u32),
    /// `##`.
    Paste,
    /// GNU's `##` between a comma and the variadic parameter: drops the comma when that is empty.
    PasteComma,
    /// `__VA_OPT__(`; the matching end is at this index of the body.
    OptionalBegin(u32),
    /// The end of `__VA_OPT__(..)`.
    OptionalEnd,
}

/// The macros defined at some point. Cloning one that is frozen is cheap.
#[derive(Clone, Debug, Default)]
pub struct MacroTable {
    frozen: Arc<FxHashMap<Name, Arc<Macro>>>,
    /// What changed since; `None` is an `#undef`.
    changes: FxHashMap<Name, Option<Arc<Macro>>>,
    /// The options its predefined macros were made for.
    predefined_for: Option<(u32, MathMode)>,
}

impl MacroTable {
    /// The definition of a macro.
    pub fn get(&self, name: Name) -> Option<&Arc<Macro>> {
        match self.changes.get(&name) {
            Some(change) => change.as_ref(),
            None => self.frozen.get(&name),
        }
    }

    /// Whether a macro has this name.
    pub fn is_defined(&self, name: Name) -> bool {
        self.get(name).is_some()
    }

    /// The definition made in this run, as opposed to one found in the start table.
    pub(super) fn get_recent(&self, name: Name) -> Option<&Arc<Macro>> {
        self.changes.get(&name)?.as_ref()
    }

    pub(super) fn define(&mut self, definition: Macro) {
        self.changes.insert(definition.name, Some(Arc::new(definition)));
    }

    pub(super) fn undefine(&mut self, name: Name) {
        self.changes.insert(name, None);
    }

    /// Whether the predefined macros for these options are in the table. If not, they are from now on
    /// taken to be: the caller defines them.
    pub(super) fn claim_predefined(&mut self, metal_version: u32, math_mode: MathMode) -> bool {
        self.predefined_for.replace((metal_version, math_mode)) == Some((metal_version, math_mode))
    }

    /// Makes everything defined so far cheap to clone.
    pub(super) fn freeze(mut self) -> Self {
        if !self.changes.is_empty() {
            let mut all = FxHashMap::clone(&self.frozen);
            let changes = std::mem::take(&mut self.changes);
            all.retain(|name, _| !matches!(changes.get(name), Some(None)));
            all.extend(changes.into_iter().filter_map(|(name, change)| Some((name, change?))));
            self.frozen = Arc::new(all);
        }
        self
    }
}
