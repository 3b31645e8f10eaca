//! tmp
use super::Emitter;
use anymetal_ir::*;
impl Emitter<'_, '_> {
    pub(super) fn matrix(&mut self, _inst: Inst, _op: MatrixOp, _args: &[Value], _result: Option<Value>) {}
}
