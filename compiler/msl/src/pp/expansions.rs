//! The macro expansions being rescanned.
//!
//! Invariants: expansions below `floor` are out of reach while a list of tokens is expanded in isolation;
//! a macro is disabled exactly while one of its expansions is on the stack.

use super::pp_token::PpToken;
use crate::token::Name;
use rustc_hash::FxHashSet;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Expansions {
    stack: Vec<Expansion>,
    floor: usize,
    /// The number of lists being expanded in isolation, each within the previous one.
    isolation: usize,
    disabled: FxHashSet<Name>,
}

/// A macro's expansion, or a list in isolation.
struct Expansion {
    tokens: Vec<PpToken>,
    position: usize,
    /// The macro to enable again at the end.
    name: Option<Name>,
}

/// The state to restore after a list in isolation.
pub(super) struct Outer {
    floor: usize,
}

impl Expansions {
    /// Starts to rescan the expansion of a macro.
    pub(super) fn push(&mut self, name: Name, tokens: Vec<PpToken>) {
        self.disabled.insert(name);
        self.stack.push(Expansion { tokens, position: 0, name: Some(name) });
    }

    /// The next token of the innermost expansion that has any left.
    pub(super) fn next(&mut self) -> Option<PpToken> {
        while self.stack.len() > self.floor {
            let innermost = self.stack.last_mut()?;
            if let Some(&token) = innermost.tokens.get(innermost.position) {
                innermost.position += 1;
                return Some(token);
            }
            self.pop();
        }
        None
    }

    /// The token that [`Self::next`] would return, without leaving an expansion.
    pub(super) fn peek(&self) -> Option<PpToken> {
        let reachable = self.stack[self.floor..].iter().rev();
        reachable.filter_map(|expansion| expansion.tokens.get(expansion.position)).next().copied()
    }

    pub(super) fn is_disabled(&self, name: Name) -> bool {
        self.disabled.contains(&name)
    }

    /// The number of lists being expanded in isolation.
    pub(super) fn isolation(&self) -> usize {
        self.isolation
    }

    /// Starts to expand a list on its own, as if it were the whole file.
    pub(super) fn isolate(&mut self, tokens: Vec<PpToken>) -> Outer {
        let floor = std::mem::replace(&mut self.floor, self.stack.len());
        self.isolation += 1;
        self.stack.push(Expansion { tokens, position: 0, name: None });
        Outer { floor }
    }

    /// Ends the innermost isolation. A stopped run leaves expansions above the floor.
    pub(super) fn end_isolation(&mut self, outer: Outer) {
        while self.stack.len() > self.floor {
            self.pop();
        }
        self.isolation -= 1;
        self.floor = outer.floor;
    }

    fn pop(&mut self) {
        if let Some(name) = self.stack.pop().and_then(|expansion| expansion.name) {
            self.disabled.remove(&name);
        }
    }
}
