//! The values in scope, and new ones of a given type.

use crate::Generator;
use anymetal_ir::CastOp;
use anymetal_ir::eval::{mask, narrow};
use anymetal_ir::{BinOp, Builder, MathFn, Op, Scalar, Type, Value};

/// A value that may be used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) ty: Type,
    /// Whether it is uniform over the threadgroup.
    pub(crate) uniform: bool,
}

impl Generator {
    pub(crate) fn scalar_type(&mut self) -> Scalar {
        let mut types =
            vec![Scalar::I32, Scalar::I32, Scalar::I32, Scalar::I64, Scalar::I16, Scalar::I8, Scalar::Bool];
        if self.options.floats {
            types.extend([Scalar::F32; 4]);
        }
        if self.options.floats && self.options.small_floats {
            types.extend([Scalar::F16, Scalar::Bf16]);
        }
        self.rng.pick(&types)
    }

    pub(crate) fn any_type(&mut self) -> Type {
        let scalar = self.scalar_type();
        if self.rng.one_in(4) {
            Type::Vector(scalar, 2 + self.rng.below(3) as u8)
        } else {
            Type::Scalar(scalar)
        }
    }

    pub(crate) fn add(&mut self, value: Value, ty: Type, uniform: bool) {
        self.pool.push(Entry { value, ty, uniform });
    }

    /// A value of the type: one in scope if there is, preferably a late one, or a constant.
    pub(crate) fn value_of(&mut self, b: &mut Builder<'_>, ty: Type) -> Entry {
        let fitting: Vec<Entry> = self.pool.iter().copied().filter(|entry| entry.ty == ty).collect();
        if fitting.is_empty() || self.rng.one_in(8) {
            return self.constant_of(b, ty);
        }
        let late = fitting.len().min(4);
        if self.rng.one_in(2) {
            self.rng.pick(&fitting[fitting.len() - late..])
        } else {
            self.rng.pick(&fitting)
        }
    }

    /// A value that is uniform over the threadgroup.
    pub(crate) fn uniform_of(&mut self, b: &mut Builder<'_>, ty: Type) -> Entry {
        let fitting: Vec<Entry> =
            self.pool.iter().copied().filter(|entry| entry.ty == ty && entry.uniform).collect();
        if fitting.is_empty() { self.constant_of(b, ty) } else { self.rng.pick(&fitting) }
    }

    pub(crate) fn constant_of(&mut self, b: &mut Builder<'_>, ty: Type) -> Entry {
        let value = match ty {
            Type::Vector(scalar, n) => {
                let parts: Vec<Value> = (0..n).map(|_| self.scalar_constant(b, scalar)).collect();
                if self.rng.one_in(2) {
                    b.value(Op::Splat(parts[0]), ty)
                } else {
                    b.value(Op::Compose(parts), ty)
                }
            }
            Type::Scalar(scalar) => self.scalar_constant(b, scalar),
            Type::Ptr(_) => b.value(Op::Const(0), ty),
        };
        Entry { value, ty, uniform: true }
    }

    fn scalar_constant(&mut self, b: &mut Builder<'_>, scalar: Scalar) -> Value {
        let bits = if scalar.is_float() {
            let ordinary = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -7.25, 100.0, 1e-3];
            let extreme = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, 3e38, 65504.0, 1e-7];
            let all = if self.rng.one_in(6) { &extreme[..] } else { &ordinary[..] };
            narrow(scalar, self.rng.pick(all))
        } else {
            let top = 1u64 << (scalar.bits() - 1);
            let ordinary = [0, 1, 2, 3, 5, 7, 8, 31, 32, 100, u64::MAX];
            let extreme = [top, top.wrapping_sub(1), self.rng.next(), self.rng.next()];
            let all = if self.rng.one_in(5) { &extreme[..] } else { &ordinary[..] };
            self.rng.pick(all)
        };
        b.const_bits(scalar, bits & mask(scalar))
    }

    /// An `i32` below `limit`, from any `i32`.
    pub(crate) fn index_below(&mut self, b: &mut Builder<'_>, limit: u32) -> Entry {
        let entry = self.value_of(b, Type::I32);
        let limit = b.i32(limit as i32);
        let value = b.binary(BinOp::URem, entry.value, limit);
        Entry { value, ..entry }
    }

    /// The float with every NaN made canonical, so that its bits may be seen. Other types as they
    /// are.
    pub(crate) fn clean(&mut self, b: &mut Builder<'_>, entry: Entry) -> Value {
        let Some(scalar) = entry.ty.scalar().filter(|scalar| scalar.is_float()) else { return entry.value };
        let nan = b.const_bits(scalar, narrow(scalar, f64::NAN));
        let nan = match entry.ty {
            Type::Vector(..) => b.value(Op::Splat(nan), entry.ty),
            _ => nan,
        };
        let is_nan = b.math(MathFn::IsNan, vec![entry.value]);
        b.infer(Op::Select(is_nan, nan, entry.value))
    }

    /// The float plus zero: the same, but never negative zero.
    pub(crate) fn without_negative_zero(&mut self, b: &mut Builder<'_>, entry: Entry) -> Value {
        let Some(scalar) = entry.ty.scalar() else { return entry.value };
        let zero = b.const_bits(scalar, 0);
        let zero = match entry.ty {
            Type::Vector(..) => b.value(Op::Splat(zero), entry.ty),
            _ => zero,
        };
        b.binary(BinOp::FAdd, entry.value, zero)
    }

    pub(crate) fn widened(&mut self, b: &mut Builder<'_>, index: Value) -> Value {
        b.cast(CastOp::ZExt, index, Type::I64)
    }
}
