//! Positions of a program as findings show them: with the function, the macros and the calls.

use std::sync::Arc;

use anymetal_interp::Program;
use anymetal_ir::{Loc, Origin};

use crate::finding::{SourcePlace, Through};

/// What a finding shows of a program's positions; it outlives the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    files: Vec<String>,
    origins: Arc<[Origin]>,
}

impl Places {
    pub(super) fn new(program: &Program) -> Self {
        Self { files: program.files().to_vec(), origins: program.origins() }
    }

    pub(super) fn place(&self, loc: Loc) -> SourcePlace {
        let origin = self.origin(loc);
        SourcePlace {
            file: self.file(loc),
            line: loc.line,
            column: loc.column,
            function: origin.map(|origin| origin.function.to_string()).unwrap_or_default(),
            through: origin.map(|origin| self.through(origin)).unwrap_or_default(),
        }
    }

    /// From a position outwards: the macros that it comes from, the call that leads to its function, and so
    /// on with that call.
    fn through<'a>(&'a self, mut origin: &'a Origin) -> Vec<Through> {
        let mut through = Vec::new();
        loop {
            for used in &*origin.macros {
                through.push(self.step(format!("in expansion of macro `{}`", used.name), used.used_at));
            }
            let Some((call, caller)) = origin.inlined_at.and_then(|call| Some((call, self.origin(call)?)))
            else {
                return through;
            };
            through.push(self.step(format!("called from `{}`", caller.function), call));
            origin = caller;
        }
    }

    fn step(&self, what: String, loc: Loc) -> Through {
        Through { what, file: self.file(loc), line: loc.line, column: loc.column }
    }

    fn file(&self, loc: Loc) -> String {
        self.files.get(loc.file as usize).filter(|_| loc.is_known()).cloned().unwrap_or_default()
    }

    fn origin(&self, loc: Loc) -> Option<&Origin> {
        self.origins.get((loc.origin as usize).checked_sub(1)?)
    }
}
