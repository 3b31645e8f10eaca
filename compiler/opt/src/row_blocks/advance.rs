//! Addresses of later iterations, as functions of the counter.

use anymetal_analysis::CountedLoops;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::eval::sign_extend;
use anymetal_ir::{BinOp, CastOp, FpMode, Function, Inst, Loc, Op, Scalar, Type, Value};

/// How a value depends on the counter of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stride {
    /// What one iteration adds, if no sum wraps before it is extended.
    pub(super) by: i64,
    /// Whether that holds also where sums wrap, modulo the value's own width.
    is_exact: bool,
}

impl Stride {
    fn zero() -> Self {
        Self { by: 0, is_exact: true }
    }

    fn combined(self, other: Self, by: Option<i64>) -> Option<Self> {
        Some(Self { by: by?, is_exact: self.is_exact && other.is_exact })
    }
}

/// The stride of a value in the loop; `None` if it has none. All its definitions in the loop are pure then.
pub(super) fn stride(loops: &CountedLoops<'_>, inst: Inst, counter: Value, value: Value) -> Option<Stride> {
    stride_to(loops, inst, counter, value, MAX_DEPTH)
}

fn stride_to(
    loops: &CountedLoops<'_>,
    inst: Inst,
    counter: Value,
    value: Value,
    depth: u32,
) -> Option<Stride> {
    if value == counter {
        return Some(Stride { by: 1, is_exact: true });
    }
    if !loops.is_inside(value, inst) {
        return Some(Stride::zero());
    }
    let depth = depth.checked_sub(1)?;
    let function = loops.function();
    if function.inst(inst).op.params().contains(&value) {
        return Some(Stride { by: step(loops, value)?, is_exact: true });
    }
    let of = |value| stride_to(loops, inst, counter, value, depth);
    let factor = |value: Value| {
        let bits = function.as_const(value)?;
        Some(sign_extend(function.ty(value).scalar()?, bits))
    };
    let op = function.def(value)?;
    let found = match *op {
        Op::Cast(CastOp::Trunc, a) => of(a),
        Op::Cast(CastOp::ZExt | CastOp::SExt, a) => {
            of(a).map(|stride| Stride { is_exact: stride.by == 0, ..stride })
        }
        Op::Binary(BinOp::Add, a, b) => {
            of(a).zip(of(b)).and_then(|(a, b)| a.combined(b, a.by.checked_add(b.by)))
        }
        Op::Binary(BinOp::Sub, a, b) => {
            of(a).zip(of(b)).and_then(|(a, b)| a.combined(b, a.by.checked_sub(b.by)))
        }
        Op::Binary(BinOp::Mul, a, b) => match factor(b) {
            Some(by) => of(a).and_then(|a| a.combined(Stride::zero(), a.by.checked_mul(by))),
            None => None,
        },
        Op::Binary(BinOp::Shl, a, b) => match factor(b) {
            Some(by @ 0..32) => of(a).and_then(|a| a.combined(Stride::zero(), a.by.checked_mul(1 << by))),
            _ => None,
        },
        Op::PtrAdd { base, index, scale, .. } => {
            let index = index.map_or(Some(Stride::zero()), of);
            of(base).zip(index).and_then(|(base, index)| {
                base.combined(index, index.by.checked_mul(scale.into())?.checked_add(base.by))
            })
        }
        _ => None,
    };
    found.or_else(|| {
        // What is computed from invariant values is invariant.
        let mut is_invariant = op.is_pure();
        op.for_each_operand(|operand| is_invariant &= of(operand) == Some(Stride::zero()));
        is_invariant.then(Stride::zero)
    })
}

/// The constant that each iteration adds to a parameter of the loop.
fn step(loops: &CountedLoops<'_>, param: Value) -> Option<i64> {
    let function = loops.function();
    match *function.def(loops.next(param)?)? {
        Op::PtrAdd { base, index: None, offset, .. } if base == param => Some(offset),
        Op::Binary(BinOp::Add, a, b) if a == param => {
            Some(sign_extend(function.ty(b).scalar()?, function.as_const(b)?))
        }
        // The parameter changes in another way.
        _ => None,
    }
}

/// Writes the values that later iterations compute.
pub(super) struct Advance<'a> {
    pub(super) function: &'a mut Function,
    /// For each value of the address, the value in the first iteration of the block and its stride.
    pub(super) values: &'a dyn Fn(Value) -> Option<(Value, Stride)>,
    pub(super) iterations: i64,
    pub(super) insts: &'a mut Vec<Inst>,
    pub(super) fp: FpMode,
    pub(super) loc: Loc,
}

impl Advance<'_> {
    /// The value after the iterations. Constants are added as late as possible, so that the distance between
    /// the addresses of a block is plain.
    pub(super) fn value(&mut self, value: Value) -> Value {
        let Some((first, stride)) = (self.values)(value) else {
            // Defined before the loop.
            return value;
        };
        if stride.by == 0 || self.iterations == 0 {
            return first;
        }
        let ty = self.function.ty(value);
        let by = stride.by.wrapping_mul(self.iterations);
        let op = match (stride.is_exact, ty) {
            (true, Type::Ptr(_)) => Op::PtrAdd { base: first, index: None, scale: 1, offset: by },
            (true, _) => {
                let scalar = ty.scalar().expect("what is no pointer is an integer");
                let by = self.constant(by, scalar);
                Op::Binary(BinOp::Add, first, by)
            }
            (false, _) => match self.function.def(value).expect("a sum has a definition").clone() {
                Op::Cast(cast, a) => Op::Cast(cast, self.value(a)),
                Op::Binary(op, a, b) => Op::Binary(op, self.value(a), self.value(b)),
                Op::PtrAdd { base, index, scale, offset } => {
                    let index = index.map(|index| self.value(index));
                    Op::PtrAdd { base: self.value(base), index, scale, offset }
                }
                op => unreachable!("{op:?} has no stride"),
            },
        };
        self.push(op, ty)
    }

    fn constant(&mut self, value: i64, scalar: Scalar) -> Value {
        let bits = value as u64 & anymetal_ir::eval::mask(scalar);
        self.push(Op::Const(bits), Type::Scalar(scalar))
    }

    fn push(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.function.add_inst(op, Some(ty), self.fp, self.loc);
        self.insts.push(inst);
        self.function.result(inst)
    }
}
