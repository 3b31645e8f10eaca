//! Origins of positions: the function, and the macros that the text comes from.

use super::Lowerer;
use anymetal_diagnostics::{ExpansionId, FileId, Span};
use anymetal_ir as ir;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The origins of one function's positions, each once.
pub(super) struct Origins {
    function: Arc<str>,
    /// Of text outside of macros there is one origin.
    known: FxHashMap<Option<(ExpansionId, FileId, u32)>, u32>,
}

impl Origins {
    /// None yet, of the function of that name.
    pub(super) fn new(function: &str) -> Self {
        Self { function: function.into(), known: FxHashMap::default() }
    }

    /// The number of a position's origin, as [`ir::Loc::origin`] has it; a new one is added to `all`.
    pub(super) fn number(&mut self, lowerer: &mut Lowerer<'_>, span: Span, all: &mut Vec<ir::Origin>) -> u32 {
        let in_macro = span.expansion != ExpansionId::NONE;
        let key = in_macro.then_some((span.expansion, span.file, span.lo));
        *self.known.entry(key).or_insert_with(|| {
            let function = Arc::clone(&self.function);
            all.push(ir::Origin { function, macros: macros(lowerer, span), inlined_at: None });
            all.len() as u32
        })
    }
}

/// The macros from whose expansions the text comes, the innermost first.
fn macros(lowerer: &mut Lowerer<'_>, span: Span) -> Arc<[ir::MacroUse]> {
    let map = lowerer.map;
    let (mut found, mut at) = (Vec::new(), span);
    while let Some(expansion) = map.expansion(at.expansion) {
        found.push(ir::MacroUse {
            name: Arc::clone(&expansion.macro_name),
            text: lowerer.spelled(at),
            used_at: lowerer.spelled(expansion.call_site),
        });
        at = expansion.call_site;
    }
    found.into()
}
