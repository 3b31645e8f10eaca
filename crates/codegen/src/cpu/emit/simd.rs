//! tmp
use super::Emitter;
use anymetal_ir::*;
impl Emitter<'_, '_> {
    pub(super) fn simd(&mut self, _op: SimdOp, _args: &[Value], _result: Value, _fp: FpMode) {}
}
