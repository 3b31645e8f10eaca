//! Instructions that compute: arithmetic, comparisons, conversions, choices.

use super::{Binary, Builder, Cast, FloatPredicate, I1, IntPredicate, Like, Opd, Type, wrap_int};

impl Builder {
    /// `a + b`.
    #[track_caller]
    pub(crate) fn add(&mut self, a: &Opd, b: impl Like) -> Opd {
        let b = b.like(a.ty());
        match (a, &b) {
            (Opd::Int(ty, x), Opd::Int(_, y)) => Opd::int(*ty, wrap_int(*ty, x.wrapping_add(*y))),
            (Opd::Int(_, 0), x) | (x, Opd::Int(_, 0)) => x.clone(),
            _ => self.binary(Binary::Add, a, &b),
        }
    }

    /// `a - b`.
    #[track_caller]
    pub(crate) fn sub(&mut self, a: &Opd, b: impl Like) -> Opd {
        let b = b.like(a.ty());
        match (a, &b) {
            (Opd::Int(ty, x), Opd::Int(_, y)) => Opd::int(*ty, wrap_int(*ty, x.wrapping_sub(*y))),
            (x, Opd::Int(_, 0)) => x.clone(),
            _ => self.binary(Binary::Sub, a, &b),
        }
    }

    /// `a × b`.
    #[track_caller]
    pub(crate) fn mul(&mut self, a: &Opd, b: impl Like) -> Opd {
        let b = b.like(a.ty());
        match (a, &b) {
            (Opd::Int(ty, x), Opd::Int(_, y)) => Opd::int(*ty, wrap_int(*ty, x.wrapping_mul(*y))),
            (Opd::Int(ty, 0), _) | (_, Opd::Int(ty, 0)) => Opd::int(*ty, 0),
            (Opd::Int(_, 1), x) | (x, Opd::Int(_, 1)) => x.clone(),
            _ => self.binary(Binary::Mul, a, &b),
        }
    }

    /// The bits of both. Conditions that are constants fold.
    #[track_caller]
    pub(crate) fn and(&mut self, a: &Opd, b: impl Like) -> Opd {
        let b = b.like(a.ty());
        if a.is_true() || b.is_false() {
            return b;
        }
        if b.is_true() || a.is_false() {
            return a.clone();
        }
        self.binary(Binary::And, a, &b)
    }

    /// The bits of either.
    #[track_caller]
    pub(crate) fn or(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::Or, a, b)
    }

    /// The bits of one but not of both.
    #[track_caller]
    pub(crate) fn xor(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::Xor, a, b)
    }

    /// The opposite conditions, of one or of each lane.
    #[track_caller]
    pub(crate) fn not(&mut self, a: &Opd) -> Opd {
        assert!(a.ty().element() == I1, "{a} is a {}, not a condition", a.ty());
        let all = match a.ty() {
            Type::Vector(n, _) => Opd::bool(true).splat(n),
            _ => Opd::bool(true),
        };
        self.binary(Binary::Xor, a, &all)
    }

    /// `a << b`.
    #[track_caller]
    pub(crate) fn shl(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::Shl, a, b)
    }

    /// `a >> b` of unsigned numbers.
    #[track_caller]
    pub(crate) fn lshr(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::LShr, a, b)
    }

    /// `a >> b` of signed numbers.
    #[track_caller]
    pub(crate) fn ashr(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::AShr, a, b)
    }

    /// The quotient of unsigned numbers.
    #[track_caller]
    pub(crate) fn udiv(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::UDiv, a, b)
    }

    /// The remainder of unsigned numbers.
    #[track_caller]
    pub(crate) fn urem(&mut self, a: &Opd, b: impl Like) -> Opd {
        self.binary(Binary::URem, a, b)
    }

    /// `a op b`, as it is.
    #[track_caller]
    pub(crate) fn binary(&mut self, op: Binary, a: &Opd, b: impl Like) -> Opd {
        self.binary_with(op, "", a, b)
    }

    /// `a op b` with these flags, each followed by a space.
    #[track_caller]
    pub(crate) fn binary_with(&mut self, op: Binary, flags: &str, a: &Opd, b: impl Like) -> Opd {
        let ty = a.ty();
        let b = b.like(ty);
        let suits = if op.is_float() { ty.is_float() } else { ty.is_int() };
        assert!(suits, "{op} does not compute in {ty}");
        self.result(ty, format_args!("{op} {flags}{ty} {a}, {b}"))
    }

    /// `-a` of floating-point numbers.
    pub(crate) fn fneg(&mut self, a: &Opd) -> Opd {
        assert!(a.ty().is_float(), "fneg does not compute in {}", a.ty());
        self.result(a.ty(), format_args!("fneg {}", a.typed()))
    }

    /// `icmp`, which folds some comparisons of constants.
    #[track_caller]
    pub(crate) fn icmp(&mut self, predicate: IntPredicate, a: &Opd, b: impl Like) -> Opd {
        let ty = a.ty();
        let b = b.like(ty);
        assert!(ty.is_int() || ty.is_pointer(), "icmp does not compare {ty}");
        if let (Opd::Int(_, x), Opd::Int(_, y)) = (a, &b) {
            let result = match predicate {
                IntPredicate::Eq => Some(x == y),
                IntPredicate::Ne => Some(x != y),
                IntPredicate::SLt => Some(x < y),
                IntPredicate::SLe => Some(x <= y),
                IntPredicate::SGt => Some(x > y),
                IntPredicate::SGe => Some(x >= y),
                // A constant may be written as signed or as unsigned.
                IntPredicate::ULt | IntPredicate::ULe | IntPredicate::UGt | IntPredicate::UGe => None,
            };
            if let Some(result) = result {
                return Opd::bool(result);
            }
        }
        self.result(ty.condition(), format_args!("icmp {predicate} {ty} {a}, {b}"))
    }

    /// `fcmp`.
    #[track_caller]
    pub(crate) fn fcmp(&mut self, predicate: FloatPredicate, a: &Opd, b: &Opd) -> Opd {
        let ty = a.ty();
        self.expect(b, ty);
        assert!(ty.is_float(), "fcmp does not compare {ty}");
        self.result(ty.condition(), format_args!("fcmp {predicate} {ty} {a}, {b}"))
    }

    /// The bits as another type of the same size.
    #[track_caller]
    pub(crate) fn bitcast(&mut self, a: &Opd, to: Type) -> Opd {
        self.cast(Cast::Bitcast, a, to)
    }

    /// The bits as elements of another type of the same size, if it is another.
    #[track_caller]
    pub(crate) fn reinterpret(&mut self, a: &Opd, element: Type) -> Opd {
        let to = a.ty().with_element(element);
        if a.ty() == to { a.clone() } else { self.bitcast(a, to) }
    }

    /// The low bits of integers.
    #[track_caller]
    pub(crate) fn trunc(&mut self, a: &Opd, to: Type) -> Opd {
        self.cast(Cast::Trunc, a, to)
    }

    /// Unsigned integers in more bits.
    #[track_caller]
    pub(crate) fn zext(&mut self, a: &Opd, to: Type) -> Opd {
        self.cast(Cast::ZExt, a, to)
    }

    /// Signed integers in more bits.
    #[track_caller]
    pub(crate) fn sext(&mut self, a: &Opd, to: Type) -> Opd {
        self.cast(Cast::SExt, a, to)
    }

    /// A pointer's address.
    #[track_caller]
    pub(crate) fn address_of(&mut self, pointer: &Opd) -> Opd {
        self.cast(Cast::PtrToInt, pointer, super::I64)
    }

    /// A conversion.
    #[track_caller]
    pub(crate) fn cast(&mut self, op: Cast, a: &Opd, to: Type) -> Opd {
        let from = a.ty();
        let same_count = from.count() == to.count();
        let suits = match op {
            Cast::Bitcast => from.bits() == to.bits(),
            Cast::Trunc => same_count && from.is_int() && to.is_int() && from.bits() > to.bits(),
            Cast::ZExt | Cast::SExt => same_count && from.is_int() && to.is_int() && from.bits() < to.bits(),
            Cast::FpTrunc => same_count && from.is_float() && to.is_float() && from.bits() > to.bits(),
            Cast::FpExt => same_count && from.is_float() && to.is_float() && from.bits() < to.bits(),
            Cast::UiToFp | Cast::SiToFp => same_count && from.is_int() && to.is_float(),
            Cast::FpToUi | Cast::FpToSi => same_count && from.is_float() && to.is_int(),
            Cast::PtrToInt => same_count && from.is_pointer() && to.is_int(),
        };
        assert!(suits, "{op} does not convert {from} to {to}");
        self.result(to, format_args!("{op} {} to {to}", a.typed()))
    }

    /// Some value instead of poison.
    pub(crate) fn freeze(&mut self, a: &Opd) -> Opd {
        self.result(a.ty(), format_args!("freeze {}", a.typed()))
    }

    /// `a` where the condition holds, else `b`; the condition is one `i1` or a mask.
    #[track_caller]
    pub(crate) fn select(&mut self, condition: &Opd, a: &Opd, b: impl Like) -> Opd {
        let b = b.like(a.ty());
        if *a == b || condition.is_true() {
            return a.clone();
        }
        if condition.is_false() {
            return b;
        }
        self.select_always(condition, a, &b)
    }

    /// [`Self::select`], which is written even where the result is known.
    #[track_caller]
    pub(crate) fn select_always(&mut self, condition: &Opd, a: &Opd, b: impl Like) -> Opd {
        let (chooses, ty) = (condition.ty(), a.ty());
        let b = b.like(ty);
        assert!(
            chooses == I1 || chooses == ty.condition(),
            "a {chooses} does not choose between values of type {ty}"
        );
        self.result(ty, format_args!("select {}, {ty} {a}, {ty} {b}", condition.typed()))
    }
}
