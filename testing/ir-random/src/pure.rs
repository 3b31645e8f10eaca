//! Random pure operations.

use crate::Generator;
use crate::values::Entry;
use anymetal_ir::{BinOp, Builder, MathFn, Op, Scalar, Type, UnOp};
use anymetal_ir::{CastOp, CmpOp};

const FLOAT_BINARY: &[BinOp] = &[BinOp::FAdd, BinOp::FSub, BinOp::FMul, BinOp::FDiv, BinOp::FRem];
const LOGICAL: &[BinOp] = &[BinOp::And, BinOp::Or, BinOp::Xor];
const FLOAT_COMPARE: &[CmpOp] = &[CmpOp::FEq, CmpOp::FLt, CmpOp::FLe, CmpOp::FGt, CmpOp::FGe, CmpOp::FNe];
const EXACT_UNARY: &[MathFn] = &[
    MathFn::Sqrt,
    MathFn::FAbs,
    MathFn::Floor,
    MathFn::Ceil,
    MathFn::Trunc,
    MathFn::Rint,
    MathFn::Round,
    MathFn::FrexpMantissa,
    MathFn::FrexpExponent,
    MathFn::IsNan,
    MathFn::IsInf,
    MathFn::IsFinite,
    MathFn::IsNormal,
];
const INTEGER_UNARY: &[MathFn] = &[MathFn::PopCount, MathFn::Clz, MathFn::Ctz, MathFn::ReverseBits];

impl Generator {
    /// Adds one pure value.
    pub(crate) fn pure_statement(&mut self, b: &mut Builder<'_>) {
        match self.rng.below(10) {
            0..4 => self.binary(b),
            4 => self.unary(b),
            5 => self.compare(b),
            6 => self.select(b),
            7 => self.cast(b),
            8 => self.math(b),
            _ => self.vector(b),
        }
    }

    fn binary(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let op = match ty.scalar() {
            Some(scalar) if scalar.is_float() => self.rng.pick(FLOAT_BINARY),
            Some(Scalar::Bool) => self.rng.pick(LOGICAL),
            _ => {
                let integer: Vec<BinOp> = BinOp::ALL.iter().copied().filter(|op| !op.is_float()).collect();
                self.rng.pick(&integer)
            }
        };
        let (x, y) = (self.value_of(b, ty), self.value_of(b, ty));
        let value = b.binary(op, x.value, y.value);
        self.add(value, ty, x.uniform && y.uniform);
    }

    fn unary(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let op = match ty.scalar() {
            Some(scalar) if scalar.is_float() => UnOp::FNeg,
            Some(Scalar::Bool) => UnOp::Not,
            _ => self.rng.pick(&[UnOp::INeg, UnOp::Not]),
        };
        let x = self.value_of(b, ty);
        let value = b.unary(op, x.value);
        self.add(value, ty, x.uniform);
    }

    pub(crate) fn compare(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let op = match ty.scalar() {
            Some(scalar) if scalar.is_float() => self.rng.pick(FLOAT_COMPARE),
            Some(Scalar::Bool) => self.rng.pick(&[CmpOp::Eq, CmpOp::Ne]),
            _ => self.rng.pick(&CmpOp::ALL[..10]),
        };
        let (x, y) = (self.value_of(b, ty), self.value_of(b, ty));
        let value = b.compare(op, x.value, y.value);
        self.add(value, ty.with_scalar(Scalar::Bool), x.uniform && y.uniform);
    }

    fn select(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let elementwise = matches!(ty, Type::Vector(..)) && self.rng.one_in(2);
        let cond_ty = if elementwise { ty.with_scalar(Scalar::Bool) } else { Type::BOOL };
        let (cond, x, y) = (self.value_of(b, cond_ty), self.value_of(b, ty), self.value_of(b, ty));
        let value = b.infer(Op::Select(cond.value, x.value, y.value));
        self.add(value, ty, cond.uniform && x.uniform && y.uniform);
    }

    fn cast(&mut self, b: &mut Builder<'_>) {
        let from = self.any_type();
        let to = self.scalar_type();
        let Some(scalar) = from.scalar() else { return };
        let x = self.value_of(b, from);
        let signed = self.rng.one_in(2);
        let op = match (scalar, to) {
            (Scalar::Bool, Scalar::Bool) => return,
            (Scalar::Bool, to) if to.is_float() => CastOp::UToF,
            (Scalar::Bool, _) => CastOp::ZExt,
            (_, Scalar::Bool) => return,
            (from, to) if from.is_float() && to.is_float() => CastOp::FCast,
            (from, _) if from.is_float() => {
                if signed {
                    CastOp::FToS
                } else {
                    CastOp::FToU
                }
            }
            (_, to) if to.is_float() => {
                if signed {
                    CastOp::SToF
                } else {
                    CastOp::UToF
                }
            }
            (from, to) if to.bits() < from.bits() => CastOp::Trunc,
            (from, to) if to.bits() > from.bits() => {
                if signed {
                    CastOp::SExt
                } else {
                    CastOp::ZExt
                }
            }
            _ => return,
        };
        let to = from.with_scalar(to);
        let value = b.cast(op, x.value, to);
        self.add(value, to, x.uniform);
        if signed {
            self.bitcast(b, Entry { value, ty: to, uniform: x.uniform });
        }
    }

    fn bitcast(&mut self, b: &mut Builder<'_>, x: Entry) {
        let to = match x.ty {
            Type::Scalar(Scalar::F32) => Type::I32,
            Type::Scalar(Scalar::I32) => self.rng.pick(&[Type::F32, Type::Vector(Scalar::I16, 2)]),
            Type::Scalar(Scalar::I64) => Type::Vector(Scalar::I32, 2),
            Type::Vector(Scalar::I16, 4) => Type::I64,
            Type::Scalar(Scalar::F16 | Scalar::Bf16) => Type::Scalar(Scalar::I16),
            Type::Vector(Scalar::F32, n) => Type::Vector(Scalar::I32, n),
            _ => return,
        };
        if to.scalar().is_some_and(Scalar::is_float) && !self.options.floats {
            return;
        }
        let clean = self.clean(b, x);
        let value = b.cast(CastOp::Bitcast, clean, to);
        self.add(value, to, x.uniform);
    }

    fn math(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        match ty.scalar() {
            Some(scalar) if scalar.is_float() => self.float_math(b, ty),
            Some(Scalar::Bool) | None => {}
            _ => {
                let function = self.rng.pick(INTEGER_UNARY);
                let x = self.value_of(b, ty);
                let value = b.math(function, vec![x.value]);
                self.add(value, ty, x.uniform);
            }
        }
    }

    fn float_math(&mut self, b: &mut Builder<'_>, ty: Type) {
        let (x, y, z) = (self.value_of(b, ty), self.value_of(b, ty), self.value_of(b, ty));
        let both = x.uniform && y.uniform;
        match self.rng.below(8) {
            0 => {
                let value = b.math(MathFn::Fma, vec![x.value, y.value, z.value]);
                self.add(value, ty, both && z.uniform);
            }
            1 => {
                let function = self.rng.pick(&[MathFn::FMin, MathFn::FMax]);
                let args = vec![self.without_negative_zero(b, x), self.without_negative_zero(b, y)];
                let value = b.math(function, args);
                self.add(value, ty, both);
            }
            2 => {
                let args = vec![x.value, self.clean(b, y)];
                let value = b.math(MathFn::CopySign, args);
                self.add(value, ty, both);
            }
            3 => {
                let exponent = self.value_of(b, ty.with_scalar(Scalar::I32));
                let value = b.math(MathFn::Ldexp, vec![x.value, exponent.value]);
                self.add(value, ty, x.uniform && exponent.uniform);
            }
            4 => {
                let clean = self.clean(b, x);
                let value = b.math(MathFn::SignBit, vec![clean]);
                self.add(value, ty.with_scalar(Scalar::Bool), x.uniform);
            }
            _ => {
                let function = self.rng.pick(EXACT_UNARY);
                let value = b.math(function, vec![x.value]);
                self.add(value, function.result_type(ty), x.uniform);
            }
        }
    }

    fn vector(&mut self, b: &mut Builder<'_>) {
        let scalar = self.scalar_type();
        let n = 2 + self.rng.below(3) as u8;
        let ty = Type::Vector(scalar, n);
        let (x, y) = (self.value_of(b, ty), self.value_of(b, ty));
        let element = self.value_of(b, Type::Scalar(scalar));
        let index = self.value_of(b, Type::I32);
        let at = self.rng.below(usize::from(n)) as u8;
        let (op, ty, uniform) = match self.rng.below(6) {
            0 => (Op::Extract(x.value, at), Type::Scalar(scalar), x.uniform),
            1 => {
                let op = Op::ExtractDynamic(x.value, index.value);
                (op, Type::Scalar(scalar), x.uniform && index.uniform)
            }
            2 => (Op::Insert(x.value, at, element.value), ty, x.uniform && element.uniform),
            3 => {
                let op = Op::InsertDynamic(x.value, index.value, element.value);
                (op, ty, x.uniform && element.uniform && index.uniform)
            }
            4 => {
                let picks: Vec<u8> =
                    (0..1 + self.rng.below(4)).map(|_| self.rng.below(2 * usize::from(n)) as u8).collect();
                let to = match picks.len() {
                    1 => Type::Scalar(scalar),
                    count => Type::Vector(scalar, count as u8),
                };
                (Op::Shuffle(x.value, y.value, picks), to, x.uniform && y.uniform)
            }
            _ => {
                let mut parts = vec![element.value];
                let mut uniform = element.uniform;
                for _ in 1..n {
                    let part = self.value_of(b, Type::Scalar(scalar));
                    uniform &= part.uniform;
                    parts.push(part.value);
                }
                (Op::Compose(parts), ty, uniform)
            }
        };
        let value = b.value(op, ty);
        self.add(value, ty, uniform);
    }
}
