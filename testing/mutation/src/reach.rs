//! Which blocks of a kernel its launches run: mistakes elsewhere would show nothing.

use std::collections::BTreeSet;

use anymetal_interp::{Fault, Observer, Variable};
use anymetal_ir::{Block, FuncId, Loc, Module};

use crate::apply::trap;
use crate::sites::blocks_of;

/// A module that stores through the null pointer at the start of each block; the position of the store says
/// which block it is.
pub fn marked(module: &Module, function: FuncId) -> Module {
    let mut module = module.clone();
    let marked = &mut module.functions[function.index()];
    for block in blocks_of(marked) {
        trap(marked, block, Loc { file: 0, line: block.0 + 1, column: MARK, origin: 0 });
    }
    module
}

/// A column that no source has.
const MARK: u32 = u32::MAX;

/// Collects the blocks that a marked module runs.
#[derive(Clone, Default, Debug)]
pub struct Reached(BTreeSet<u32>);

impl Reached {
    /// Whether the block ran.
    pub fn contains(&self, block: Block) -> bool {
        self.0.contains(&block.0)
    }
}

impl Observer for Reached {
    fn on_fault(&mut self, fault: &Fault) {
        if fault.variable == Variable::Nothing && fault.loc.column == MARK {
            self.0.insert(fault.loc.line - 1);
        }
    }
}
