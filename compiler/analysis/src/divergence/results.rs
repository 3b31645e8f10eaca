//! The shapes of results: what each operation makes of the shapes of its operands.

use anymetal_ir::{BinOp, CastOp, Inst, Op, Scalar, SimdOp, Space, Type, Value};

use super::context::PointerForm;
use super::positions::query_shape;
use super::transfer::{self, addressed, all_uniform, encoded};
use super::{Affine, LANES, Shape, Solver};
use crate::ranges::{is_non_negative, upper_bound};

impl Solver<'_> {
    pub(super) fn result(&self, inst: Inst, result: Value) -> Vec<Shape> {
        let function = self.function;
        let data = function.inst(inst);
        let ty = function.ty(result);
        let count = usize::from(ty.lanes());
        let of = |value: Value| &self.divergence.values[value.index()];
        let scalar = |value: Value| function.ty(value).scalar().expect("arithmetic operands are numbers");
        let each = |f: &dyn Fn(usize) -> Shape| (0..count).map(f).collect::<Vec<_>>();
        match &data.op {
            Op::Const(bits) => match ty.scalar() {
                Some(scalar) if scalar.is_float() => vec![Shape::uniform(true)],
                scalar => {
                    // A null pointer is 64 zeros.
                    let value = transfer::lane_of(scalar.unwrap_or(Scalar::I64), *bits);
                    vec![Shape::Affine(Affine::known([value; LANES]))]
                }
            },
            Op::Undef => each(&|_| match ty.scalar() {
                Some(scalar) if scalar.is_float() => Shape::uniform(true),
                _ => Shape::Affine(Affine::known([0; LANES])),
            }),
            Op::Unary(op, a) => each(&|k| transfer::unary(*op, scalar(*a), &of(*a)[k])),
            Op::Binary(op, a, b) => each(&|k| self.binary(*op, *a, *b, k)),
            Op::Compare(op, a, b) if function.ty(*a).is_ptr() => {
                let _ = op;
                vec![all_uniform([&of(*a)[0], &of(*b)[0]])]
            }
            Op::Compare(op, a, b) => each(&|k| transfer::compare(*op, scalar(*a), &of(*a)[k], &of(*b)[k])),
            Op::Select(c, a, b) if ty.is_ptr() => {
                let own = |value: Value| Self::in_form(&of(value)[0], self.form(value), self.form(result));
                vec![transfer::select(&of(*c)[0], &own(*a), &own(*b))]
            }
            Op::Select(c, a, b) => each(&|k| {
                transfer::select(&of(*c)[if of(*c).len() == 1 { 0 } else { k }], &of(*a)[k], &of(*b)[k])
            }),
            Op::Cast(op, a) => self.cast(*op, *a, ty),
            Op::Math(_, args) => each(&|k| all_uniform(args.iter().map(|&arg| &of(arg)[k]))),
            Op::Splat(a) => vec![of(*a)[0].clone(); count],
            Op::Compose(parts) => parts.iter().flat_map(|&part| of(part).clone()).collect(),
            Op::Extract(a, k) => vec![of(*a)[usize::from(*k)].clone()],
            Op::Shuffle(a, b, picks) => {
                let both: Vec<&Shape> = of(*a).iter().chain(of(*b)).collect();
                picks.iter().map(|&pick| both[usize::from(pick)].clone()).collect()
            }
            Op::Insert(a, k, s) => {
                let mut shapes = of(*a).clone();
                shapes[usize::from(*k)] = of(*s)[0].clone();
                shapes
            }
            Op::ExtractDynamic(a, index) => vec![all_uniform(of(*a).iter().chain(of(*index)))],
            Op::InsertDynamic(a, index, s) => {
                each(&|k| all_uniform([&of(*a)[k], &of(*index)[0], &of(*s)[0]]))
            }
            Op::PtrAdd { base, index, scale, offset } => {
                let offsets = self.pointer_sum(*base, *index, *scale, *offset);
                vec![Self::in_form(&offsets, PointerForm::Offset, self.form(result))]
            }
            Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) => {
                vec![Shape::Affine(Affine::known([0; LANES]))]
            }
            Op::Load { ptr, .. } => self.load(*ptr, result),
            Op::AtomicLoad(ptr) => vec![self.loaded_atomically(*ptr)],
            Op::Query(query) => vec![query_shape(self.geometry, *query)],
            Op::Simd(op, args) => self.simd(*op, args, count),
            // A parameter or result of a construct is defined with it; calls, matrices and other atomic
            // operations have different results in each lane.
            _ => vec![Shape::Varying; count],
        }
    }

    fn binary(&self, op: BinOp, a: Value, b: Value, component: usize) -> Shape {
        let function = self.function;
        let scalar = function.ty(a).scalar().expect("arithmetic operands are numbers");
        let (x, y) =
            (&self.divergence.values[a.index()][component], &self.divergence.values[b.index()][component]);
        transfer::binary(op, scalar, x, y, is_non_negative(function, self.geometry, a))
    }

    fn cast(&self, op: CastOp, a: Value, to: Type) -> Vec<Shape> {
        let function = self.function;
        let shapes = &self.divergence.values[a.index()];
        let many = function.ty(a).is_ptr() && self.form(a) == PointerForm::Encoded;
        match (op, function.ty(a).scalar(), to.scalar()) {
            (CastOp::PtrToInt, ..) if !many => vec![self.address_shape(a, &shapes[0])],
            (CastOp::PtrToInt | CastOp::IntToPtr, ..) => {
                let pointer = if op == CastOp::PtrToInt { function.ty(a) } else { to };
                vec![match pointer {
                    // Neighbouring addresses may be of different buffers, far apart in numbers.
                    Type::Ptr(Space::Device | Space::Constant) => all_uniform([&shapes[0]]),
                    _ => shapes[0].clone(),
                }]
            }
            (CastOp::Bitcast, Some(from), Some(to_scalar)) => {
                if from == to_scalar || from.is_int() && to_scalar.is_int() && from.size() == to_scalar.size()
                {
                    return shapes.clone();
                }
                vec![all_uniform(shapes); usize::from(to.lanes())]
            }
            (_, Some(from), Some(to)) => {
                let bound =
                    if shapes.len() == 1 { upper_bound(function, self.geometry, a) } else { u64::MAX };
                shapes.iter().map(|shape| transfer::cast(op, from, to, shape, bound)).collect()
            }
            _ => vec![Shape::Varying; usize::from(to.lanes())],
        }
    }

    /// The shape of the bits of a pointer with a known allocation.
    fn address_shape(&self, pointer: Value, offsets: &Shape) -> Shape {
        match (self.form(pointer), self.function.ty(pointer)) {
            (PointerForm::ArgumentOffset, Type::Ptr(Space::Device | Space::Constant)) => addressed(offsets),
            _ => encoded(offsets),
        }
    }

    fn pointer_sum(&self, base: Value, index: Option<Value>, scale: u32, offset: i64) -> Shape {
        debug_assert!(self.function.ty(base).is_ptr(), "a pointer sum starts at a pointer");
        let known = |value: i64| Shape::Affine(Affine::known([value; LANES]));
        let of = |value: Value| self.divergence.shape(value);
        let add = |a: &Shape, b: &Shape| transfer::binary(BinOp::Add, Scalar::I64, a, b, false);
        let mut sum = of(base).clone();
        if let Some(index) = index {
            let scaled =
                transfer::binary(BinOp::Mul, Scalar::I64, of(index), &known(i64::from(scale)), false);
            sum = add(&sum, &scaled);
        }
        add(&sum, &known(offset))
    }

    fn simd(&self, op: SimdOp, args: &[Value], count: usize) -> Vec<Shape> {
        let uniform = op.is_simdgroup_reduction()
            || matches!(
                op,
                SimdOp::BroadcastFirst | SimdOp::Any | SimdOp::All | SimdOp::Ballot | SimdOp::ActiveMask
            )
            || op == SimdOp::Broadcast && self.divergence.is_uniform(args[1]);
        // A shuffle of a uniform value varies: it is zero where the source is off.
        vec![if uniform { Shape::uniform(false) } else { Shape::Varying }; count]
    }
}
