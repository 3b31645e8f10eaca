//! tmp
use super::Emitter;
use anymetal_ir::*;
impl Emitter<'_, '_> {
    pub(super) fn atomic(&mut self, _inst: Inst) {}
}
