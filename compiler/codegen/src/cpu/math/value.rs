//! Values of the function being written, as formulas use them.
//!
//! Arithmetic operators on a [`Val`] append instructions to its [`Body`], so that formulas read as
//! formulas. Plain Rust numbers on the right of an operator become constants of the left side's
//! type. Instructions carry no fast-math flags.
//!
//! Invariant: the lanes of both sides of an operation have the same type; a mismatch is a bug in
//! this library and asserts. Every formula is exercised by the tests of `testing/math-ulp`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Sub};

use super::body::{Body, Lane};

#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Argument(u32),
    Temporary(u32),
    /// The same constant in every lane, as the bits of the lane's type.
    Constant(u64),
}

/// A value of the function being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Val<'b> {
    pub(super) body: &'b Body,
    pub(super) lane: Lane,
    pub(super) operand: Operand,
}

/// What may stand on the right of an operator: a value, or a number that becomes a constant.
pub(super) trait Right<'b> {
    fn value(self, like: Val<'b>) -> Val<'b>;
}

impl<'b> Right<'b> for Val<'b> {
    fn value(self, like: Val<'b>) -> Val<'b> {
        assert_eq!(self.lane, like.lane, "operands of different types");
        self
    }
}

impl<'b> Right<'b> for f32 {
    fn value(self, like: Val<'b>) -> Val<'b> {
        match like.lane {
            Lane::F32 => like.body.f32(self),
            Lane::F64 => like.body.f64(f64::from(self)),
            other => panic!("a float constant beside {other:?}"),
        }
    }
}

impl<'b> Right<'b> for f64 {
    fn value(self, like: Val<'b>) -> Val<'b> {
        if like.lane == Lane::F64 {
            return like.body.f64(self);
        }
        let single = self as f32;
        assert_eq!(f64::from(single), self, "a constant that is no float beside one");
        single.value(like)
    }
}

impl<'b> Right<'b> for i32 {
    fn value(self, like: Val<'b>) -> Val<'b> {
        i64::from(self).value(like)
    }
}

impl<'b> Right<'b> for i64 {
    fn value(self, like: Val<'b>) -> Val<'b> {
        assert!(!like.lane.is_float(), "an integer constant beside a float");
        like.body.integer(like.lane, self)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $float:expr, $integer:expr) => {
        impl<'b, R: Right<'b>> $trait<R> for Val<'b> {
            type Output = Val<'b>;

            fn $method(self, right: R) -> Val<'b> {
                self.binary(if self.lane.is_float() { $float } else { $integer }, right.value(self))
            }
        }
    };
}

operator!(Add, add, "fadd", "add");
operator!(Sub, sub, "fsub", "sub");
operator!(Mul, mul, "fmul", "mul");
operator!(Div, div, "fdiv", "udiv");
operator!(BitAnd, bitand, "and", "and");
operator!(BitOr, bitor, "or", "or");
operator!(BitXor, bitxor, "xor", "xor");
operator!(Shl, shl, "shl", "shl");

impl<'b> Neg for Val<'b> {
    type Output = Val<'b>;

    fn neg(self) -> Val<'b> {
        if self.lane.is_float() {
            let ty = self.body.type_name(self.lane);
            return self.body.push(self.lane, format_args!("fneg {ty} {}", self.text()));
        }
        self.body.integer(self.lane, 0) - self
    }
}

impl<'b> Not for Val<'b> {
    type Output = Val<'b>;

    fn not(self) -> Val<'b> {
        self ^ -1
    }
}

impl<'b> Val<'b> {
    pub(super) fn text(self) -> String {
        let bits = match self.operand {
            Operand::Argument(i) => return format!("%a{i}"),
            Operand::Temporary(i) => return format!("%t{i}"),
            Operand::Constant(bits) => bits,
        };
        let scalar = match self.lane {
            Lane::I1 => if bits & 1 == 1 { "true" } else { "false" }.to_owned(),
            Lane::F32 => format!("0x{:016X}", f64::from(f32::from_bits(bits as u32)).to_bits()),
            Lane::F64 => format!("0x{bits:016X}"),
            Lane::F16 => panic!("no constants of narrow floats"),
            _ => (bits as i64).to_string(),
        };
        match self.body.width() {
            1 => scalar,
            _ => format!("splat ({} {scalar})", self.lane.name()),
        }
    }

    pub(super) fn typed(self) -> String {
        format!("{} {}", self.body.type_name(self.lane), self.text())
    }

    fn binary(self, op: &str, right: Val<'b>) -> Val<'b> {
        assert_eq!(self.lane, right.lane, "{op} takes operands of one type");
        assert!(self.lane.is_float() == op.starts_with('f'), "{op} does not compute in {:?}", self.lane);
        self.body.push(self.lane, format_args!("{op} {}, {}", self.typed(), right.text()))
    }

    fn compare(self, op: &str, right: impl Right<'b>) -> Val<'b> {
        let right = right.value(self);
        self.body.push(Lane::I1, format_args!("{op} {}, {}", self.typed(), right.text()))
    }

    fn cast(self, op: &str, to: Lane) -> Val<'b> {
        self.body.push(to, format_args!("{op} {} to {}", self.typed(), self.body.type_name(to)))
    }

    /// A constant of this value's type.
    pub(super) fn like(self, constant: impl Right<'b>) -> Val<'b> {
        constant.value(self)
    }

    // --- float arithmetic

    /// `self × factor + addend`, rounded once.
    pub(super) fn fma(self, factor: impl Right<'b>, addend: impl Right<'b>) -> Val<'b> {
        let (factor, addend) = (factor.value(self), addend.value(self));
        self.body.intrinsic("fma", &[self, factor, addend], "")
    }

    /// An intrinsic of one argument, such as `fabs` or `sqrt`.
    pub(super) fn unary(self, name: &str) -> Val<'b> {
        self.body.intrinsic(name, &[self], "")
    }

    /// `ctlz` or `cttz`, defined for zero.
    pub(super) fn count_zeros(self, name: &str) -> Val<'b> {
        assert!(!self.lane.is_float(), "{name} counts bits of integers");
        self.body.intrinsic(name, &[self], "i1 false")
    }

    /// An intrinsic of two arguments, such as `maxnum`.
    pub(super) fn intrinsic2(self, name: &str, other: impl Right<'b>) -> Val<'b> {
        let other = other.value(self);
        self.body.intrinsic(name, &[self, other], "")
    }

    /// Funnel shift left: the high half of `self:low << amount`.
    pub(super) fn funnel_left(self, low: Val<'b>, amount: Val<'b>) -> Val<'b> {
        self.body.intrinsic("fshl", &[self, low, amount], "")
    }

    pub(super) fn abs(self) -> Val<'b> {
        assert!(self.lane.is_float(), "fabs takes floats");
        self.unary("fabs")
    }

    pub(super) fn sqrt(self) -> Val<'b> {
        self.unary("sqrt")
    }

    /// This magnitude with that sign.
    pub(super) fn with_sign_of(self, sign: Val<'b>) -> Val<'b> {
        self.intrinsic2("copysign", sign)
    }

    /// 1 / √x within 2 ulp: the flags let LLVM take the machine's estimate and refine it, as often as
    /// [`caller_attributes`](super::caller_attributes) say. Zero and infinity may give NaN.
    pub(super) fn approximate_rsqrt(self) -> Val<'b> {
        let root = self.body.intrinsic_call("sqrt", &[self], "");
        let root = self.body.push(self.lane, format_args!("call reassoc arcp contract afn {root}"));
        let one = self.like(1.0_f32);
        self.body
            .push(self.lane, format_args!("fdiv reassoc arcp contract afn {}, {}", one.typed(), root.text()))
    }

    /// The larger; NaN stays.
    pub(super) fn at_least(self, low: impl Right<'b>) -> Val<'b> {
        let low = low.value(self);
        low.gt(self).select(low, self)
    }

    /// The smaller; NaN stays.
    pub(super) fn at_most(self, high: impl Right<'b>) -> Val<'b> {
        let high = high.value(self);
        high.lt(self).select(high, self)
    }

    // --- comparisons; ordered on floats (false with NaN), signed on integers

    pub(super) fn lt(self, right: impl Right<'b>) -> Val<'b> {
        self.compare(if self.lane.is_float() { "fcmp olt" } else { "icmp slt" }, right)
    }

    pub(super) fn gt(self, right: impl Right<'b>) -> Val<'b> {
        self.compare(if self.lane.is_float() { "fcmp ogt" } else { "icmp sgt" }, right)
    }

    /// Greater, or either is NaN.
    pub(super) fn unless_le(self, right: impl Right<'b>) -> Val<'b> {
        assert!(self.lane.is_float(), "integers are not unordered");
        self.compare("fcmp ugt", right)
    }

    pub(super) fn ge(self, right: impl Right<'b>) -> Val<'b> {
        self.compare(if self.lane.is_float() { "fcmp oge" } else { "icmp sge" }, right)
    }

    pub(super) fn eq(self, right: impl Right<'b>) -> Val<'b> {
        self.compare(if self.lane.is_float() { "fcmp oeq" } else { "icmp eq" }, right)
    }

    /// Not equal; true with NaN.
    pub(super) fn ne(self, right: impl Right<'b>) -> Val<'b> {
        self.compare(if self.lane.is_float() { "fcmp une" } else { "icmp ne" }, right)
    }

    /// Unsigned less.
    pub(super) fn ult(self, right: impl Right<'b>) -> Val<'b> {
        assert!(!self.lane.is_float(), "floats are not compared as integers");
        self.compare("icmp ult", right)
    }

    /// Either is NaN.
    pub(super) fn unordered(self, right: impl Right<'b>) -> Val<'b> {
        self.compare("fcmp uno", right)
    }

    pub(super) fn is_nan(self) -> Val<'b> {
        self.unordered(self)
    }

    // --- masks

    /// `self ? yes : no`.
    pub(super) fn select(self, yes: Val<'b>, no: impl Right<'b>) -> Val<'b> {
        assert_eq!(self.lane, Lane::I1, "select by something else than a mask");
        let no = no.value(yes);
        self.body.push(yes.lane, format_args!("select {}, {}, {}", self.typed(), yes.typed(), no.typed()))
    }

    /// Whether any lane holds, as `i1` (kept in a [`Val`] only for its name). A lane may be poison
    /// (an inactive one), so the bits are frozen before they decide a branch.
    pub(super) fn any(self) -> Val<'b> {
        let body = self.body;
        let width = body.width();
        if width == 1 {
            return body.push(Lane::I1, format_args!("freeze i1 {}", self.text()));
        }
        let frozen = body.push(Lane::I1, format_args!("freeze {}", self.typed()));
        let bits = body.push(Lane::I1, format_args!("bitcast {} to i{width}", frozen.typed()));
        body.push(Lane::I1, format_args!("icmp ne i{width} {}, 0", bits.text()))
    }

    // --- bits and conversions

    /// Logical shift right.
    pub(super) fn lshr(self, amount: impl Right<'b>) -> Val<'b> {
        assert!(!self.lane.is_float(), "floats are not shifted");
        self.binary("lshr", amount.value(self))
    }

    /// Arithmetic shift right.
    pub(super) fn ashr(self, amount: impl Right<'b>) -> Val<'b> {
        self.binary("ashr", amount.value(self))
    }

    /// The bits of a float; integers stay.
    pub(super) fn bits(self) -> Val<'b> {
        if self.lane.is_float() { self.cast("bitcast", self.lane.bits()) } else { self }
    }

    /// The value of these bits.
    pub(super) fn as_float(self, lane: Lane) -> Val<'b> {
        assert_eq!(lane.bits(), self.lane, "bits of another size");
        if lane.is_float() { self.cast("bitcast", lane) } else { self }
    }

    pub(super) fn extend(self, to: Lane) -> Val<'b> {
        assert!(self.lane.is_float() && to.is_float(), "{:?} does not extend to {to:?}", self.lane);
        self.cast("fpext", to)
    }

    pub(super) fn round_to(self, to: Lane) -> Val<'b> {
        self.cast("fptrunc", to)
    }

    pub(super) fn truncate(self, to: Lane) -> Val<'b> {
        assert!(!self.lane.is_float() && !to.is_float(), "{:?} does not truncate to {to:?}", self.lane);
        self.cast("trunc", to)
    }

    pub(super) fn zero_extend(self, to: Lane) -> Val<'b> {
        self.cast("zext", to)
    }

    pub(super) fn sign_extend(self, to: Lane) -> Val<'b> {
        self.cast("sext", to)
    }

    /// Signed integer to float.
    pub(super) fn to_float(self, to: Lane) -> Val<'b> {
        assert!(!self.lane.is_float() && to.is_float(), "{:?} does not become {to:?}", self.lane);
        self.cast("sitofp", to)
    }
}
