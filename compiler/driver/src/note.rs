//! Notes: what a user should know although nothing failed.
//!
//! Owns [`Note`] and the list that a compiler collects them in. Invariant: each kind of note is kept once per
//! compiler, and of one that is about a kernel, once per kernel, so a loop over kernels does not repeat it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anymetal_hal::artifact::ReducedEffort;
use anymetal_llvm::LlvmError;

use crate::bug::CompilerBug;

/// Something that went on in another way than wished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// Kernels run in the interpreter.
    #[error("{}: kernels run in the interpreter, which is much slower", why_no_llvm(.0))]
    NoLlvm(LlvmError),
    /// Compiled kernels are not kept.
    #[error("the cache folder {} is not used ({reason}); set ANYMETAL_CACHE to another, or to off", .folder.display())]
    CacheUnusable {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A kernel past a compile budget was compiled with less than the full effort.
    #[error("kernel `{kernel}` is large: {reduced}")]
    ReducedEffort {
        /// The kernel.
        kernel: String,
        /// The step that was taken, and why.
        reduced: ReducedEffort,
    },
    /// A kernel was compiled at level O0, as a bug of the compiler shows at the requested level.
    #[error("kernel `{kernel}` was compiled without optimisation: {bug}")]
    CompilerBug {
        /// The kernel.
        kernel: String,
        /// The bug, with its reproducer.
        bug: Box<CompilerBug>,
    },
}

impl Note {
    /// Why there is no LLVM, on one line, if that is what the note says.
    pub fn why_interpreted(&self) -> Option<String> {
        match self {
            Note::NoLlvm(error) => Some(why_no_llvm(error)),
            Note::CacheUnusable { .. } | Note::ReducedEffort { .. } | Note::CompilerBug { .. } => None,
        }
    }

    /// Whether a list that has one needs not have the other: they are of one kind and about one kernel.
    fn repeats(&self, other: &Note) -> bool {
        let kernel = |note: &Note| match note {
            Note::ReducedEffort { kernel, reduced } => Some((kernel.clone(), reduced.largest_line.clone())),
            Note::CompilerBug { kernel, bug } => Some((kernel.clone(), bug.message.clone())),
            Note::NoLlvm(_) | Note::CacheUnusable { .. } => None,
        };
        std::mem::discriminant(self) == std::mem::discriminant(other) && kernel(self) == kernel(other)
    }
}

/// The reason in one line; the error itself lists every place.
fn why_no_llvm(error: &LlvmError) -> String {
    match error {
        LlvmError::NotFound { minimum, tried } => format!(
            "no libLLVM {minimum} or newer found (looked in {} places; set ANYMETAL_LLVM to its path)",
            tried.len()
        ),
        LlvmError::Disabled { .. } | LlvmError::HostUnsupported { .. } | LlvmError::Level(_) => {
            error.to_string()
        }
    }
}

/// Maximum number of notes of one compiler: a service compiles any number of large kernels.
const MAX_NOTES: usize = 256;

/// The notes of a compiler.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Note>,
    taken: usize,
}

impl Notes {
    pub(crate) fn add(&self, note: Note) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.seen.len() < MAX_NOTES && !state.seen.iter().any(|known| known.repeats(&note)) {
            state.seen.push(note);
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Note> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).seen.clone()
    }

    /// Those that no earlier call returned.
    pub(crate) fn take(&self) -> Vec<Note> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let new = state.seen[state.taken..].to_vec();
        state.taken = state.seen.len();
        new
    }
}

#[cfg(test)]
mod tests {
    use anymetal_hal::artifact::Effort;

    use super::*;

    #[test]
    fn each_large_kernel_is_noted_once() {
        let notes = Notes::default();
        let note = |kernel: &str, effort| {
            let reduced = ReducedEffort::new(effort, String::new());
            Note::ReducedEffort { kernel: kernel.to_owned(), reduced }
        };
        notes.add(note("a", Effort::Baseline));
        notes.add(note("b", Effort::Baseline));
        notes.add(note("a", Effort::Unoptimised));
        assert_eq!(notes.all(), [note("a", Effort::Baseline), note("b", Effort::Baseline)]);
        (0..2 * MAX_NOTES).for_each(|number| notes.add(note(&number.to_string(), Effort::Baseline)));
        assert_eq!(notes.all().len(), MAX_NOTES);
    }

    #[test]
    fn each_kind_of_note_is_given_once() {
        let notes = Notes::default();
        let disabled = Note::NoLlvm(LlvmError::Disabled { value: "none".into() });
        notes.add(disabled.clone());
        notes.add(disabled.clone());
        assert_eq!(notes.take(), std::slice::from_ref(&disabled));
        notes.add(disabled);
        assert_eq!(notes.take(), []);
        assert_eq!(notes.all().len(), 1);
    }
}
