//! The variables of a function, and where each can be named.

use super::declarator::{Declarator, declarators};
use super::items::Function;
use crate::token::Text;

/// A declaration of pointers, references or arrays; its names share the address spaces.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) declarators: Vec<Declarator>,
    pub(super) is_shared: bool,
    pub(super) is_extern: bool,
    /// The number of the parameter.
    pub(super) param: Option<usize>,
    /// Whether the function changes the parameter, or takes its address.
    pub(super) is_changed: bool,
    /// Its first token with qualifiers, and its last.
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Slot {
    pub(super) fn levels(&self) -> usize {
        self.declarators.iter().map(|declarator| declarator.stars.len()).max().unwrap_or(0)
    }

    pub(super) fn is_reference(&self) -> bool {
        self.declarators.iter().any(|declarator| declarator.reference.is_some())
    }

    /// A parameter `T x[]` is a pointer.
    pub(super) fn is_array_parameter(&self) -> bool {
        self.param.is_some() && !self.is_reference() && self.declarators.iter().any(|one| one.arrays > 0)
    }
}

/// A name of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub(super) slot: usize,
    /// The number of the declarator.
    pub(super) index: usize,
    /// The last token at which it may be named.
    until: usize,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) slots: Vec<Slot>,
    locals: Vec<Local>,
}

impl Body {
    /// One without variables.
    pub(super) const EMPTY: Self = Self { slots: Vec::new(), locals: Vec::new() };

    pub(super) fn of(text: &Text<'_>, function: &Function) -> Self {
        let mut body = Self::default();
        for (number, param) in function.params.iter().enumerate() {
            let declarators = param.declarator.iter().cloned().collect();
            let until = function.last;
            body.add(
                Slot {
                    declarators,
                    is_shared: false,
                    is_extern: false,
                    param: Some(number),
                    is_changed: function.is_kernel && super::kernel::is_changed(text, function, number),
                    first: param.first,
                    last: param.end,
                },
                until,
            );
        }
        if let Some((open, close)) = function.body {
            body.statements(text, open, close);
        }
        body
    }

    fn add(&mut self, slot: Slot, until: usize) {
        let number = self.slots.len();
        self.locals.extend((0..slot.declarators.len()).map(|index| Local { slot: number, index, until }));
        self.slots.push(slot);
    }

    fn statements(&mut self, text: &Text<'_>, open: usize, close: usize) {
        let mut blocks = vec![close];
        let mut token = open + 1;
        while token < close {
            if text.in_directive(token) {
                token = text.directive_end(token) + 1;
                continue;
            }
            match text.at(token) {
                "{" => blocks.push(text.closing(token).unwrap_or(close)),
                "}" if blocks.len() > 1 => drop(blocks.pop()),
                _ => {}
            }
            let before = text.at(token - 1);
            let begins = matches!(before, ";" | "{" | "}")
                || (before == ":" && is_label(text, token - 1))
                || (before == "(" && text.at(token.wrapping_sub(2)) == "for")
                || text.in_directive(token - 1);
            let is_condition = before == "(" && matches!(text.at(token.wrapping_sub(2)), "if" | "while");
            let found = match text.is_word(token) && (begins || is_condition) {
                true => declarators(text, token, close),
                false => None,
            };
            let found = found.filter(|found| !is_condition || found.all.iter().all(|one| one.init.is_some()));
            let Some(declaration) = found else {
                token += 1;
                continue;
            };
            let first_of_type = declaration.all.first().map_or(token, |declarator| declarator.ty.0);
            let says = |word: &str| (token..first_of_type).any(|token| text.at(token) == word);
            // `__shared__` may follow the type.
            let is_shared = says("__shared__") || self.follows(text, &declaration.all, "__shared__");
            let slot = Slot {
                is_shared,
                is_extern: says("extern"),
                param: None,
                is_changed: false,
                first: token,
                last: declaration.last,
                declarators: declaration.all,
            };
            // What it begins with may hold declarations of lambdas, which do not matter.
            token = slot.declarators.first().map_or(token, |declarator| declarator.name) + 1;
            self.add(slot, blocks.last().copied().unwrap_or(close));
        }
    }

    /// The declaration of a variable that is made by a constructor: the type's name and the parentheses.
    pub(super) fn constructions<'t>(
        &'t self,
        text: &'t Text<'_>,
    ) -> impl Iterator<Item = (usize, usize, usize)> + 't {
        self.slots.iter().flat_map(|slot| &slot.declarators).filter_map(|one| {
            let (first, last) = one.init.filter(|(first, _)| matches!(text.at(*first), "(" | "{"))?;
            let name = (one.ty.0..=one.ty.1).find(|&token| text.is_word(token))?;
            Some((name, first, last))
        })
    }

    /// The tokens that call a variable, of some tokens; a lambda captures what it needs.
    pub(super) fn called<'t>(
        &'t self,
        text: &'t Text<'_>,
        tokens: std::ops::Range<usize>,
    ) -> impl Iterator<Item = usize> + 't {
        tokens.filter(move |&token| {
            let is_call = text.is_word(token)
                && text.at(token + 1) == "("
                && !matches!(text.at(token - 1), "." | "->" | ":");
            is_call
                && self.find(text, token).map(|local| self.declarator(local)).is_some_and(|one| {
                    one.name != token && one.init.is_none_or(|(first, _)| text.at(first) != "[")
                })
        })
    }

    /// The names of all variables.
    pub(super) fn names<'t, 's>(&'t self, text: &'t Text<'s>) -> impl Iterator<Item = &'s str> + 't {
        self.slots.iter().flat_map(|slot| &slot.declarators).map(|one| text.at(one.name))
    }

    fn follows(&self, text: &Text<'_>, all: &[Declarator], word: &str) -> bool {
        all.first().is_some_and(|one| (one.ty.0..=one.ty.1).any(|token| text.at(token) == word))
    }

    /// The variable that a word means at a token.
    pub(super) fn find(&self, text: &Text<'_>, token: usize) -> Option<Local> {
        let word = text.at(token);
        let is_it = |local: &&Local| {
            let name = self.declarator(**local).name;
            name <= token && token <= local.until && text.at(name) == word
        };
        self.locals.iter().rev().find(is_it).copied()
    }

    pub(super) fn declarator(&self, local: Local) -> &Declarator {
        &self.slots[local.slot].declarators[local.index]
    }
}

/// Whether the colon ends a label.
fn is_label(text: &Text<'_>, colon: usize) -> bool {
    let start = (0..colon).rev().find(|&token| matches!(text.at(token), ";" | "{" | "}" | "?"));
    start.is_some_and(|start| {
        text.at(start) != "?" && (matches!(text.at(start + 1), "case" | "default") || start + 2 == colon)
    })
}
