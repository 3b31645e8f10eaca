//! Functions on integers of any width.

use anymetal_ir::MathFn;

use super::body::Body;
use super::value::Val;

pub(super) fn emit<'b>(function: MathFn, _body: &'b Body, arguments: &[Val<'b>]) -> Val<'b> {
    let x = arguments[0];
    match function {
        MathFn::PopCount => x.unary("ctpop"),
        // Of zero: the number of bits.
        MathFn::Clz => x.count_zeros("ctlz"),
        MathFn::Ctz => x.count_zeros("cttz"),
        MathFn::ReverseBits => x.unary("bitreverse"),
        other => panic!("not a function on integers: {other:?}"),
    }
}
