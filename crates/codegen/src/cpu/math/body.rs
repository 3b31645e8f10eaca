//! A small builder for the text of one function of lanes.
//!
//! [`Val`] is a value of the function being written; arithmetic operators on it append
//! instructions to its [`Body`], so that formulas read as formulas. Plain Rust numbers on the right
//! of an operator become constants of the left side's type. Instructions carry no fast-math flags.
//!
//! Invariant: the lanes of both sides of an operation have the same type; a mismatch is a bug in
//! this library and asserts. Every formula is exercised by the tests of `testing/math-ulp`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Sub};

use anymetal_ir::Scalar;

use super::MathDef;

/// Type of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    I1,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Lane {
    pub(super) fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool => Self::I1,
            Scalar::I8 => Self::I8,
            Scalar::I16 => Self::I16,
            Scalar::I32 => Self::I32,
            Scalar::I64 => Self::I64,
            Scalar::F16 => Self::F16,
            Scalar::Bf16 => Self::Bf16,
            Scalar::F32 => Self::F32,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "half",
            Self::Bf16 => "bfloat",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// The suffix of an overloaded intrinsic.
    fn suffix(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            integer => integer.name(),
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The integer type of the same size.
    fn bits(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 => Self::I16,
            Self::F32 => Self::I32,
            Self::F64 => Self::I64,
            integer => integer,
        }
    }
}

/// Whether LLVM must inline the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inline {
    Always,
    Compiler,
    /// For what rarely runs.
    Never,
}

/// The function being written.
#[derive(Debug)]
pub(super) struct Body {
    width: u32,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    next: u32,
    /// The label of the block being written, for phis.
    block: String,
    declares: BTreeSet<String>,
    depends: Vec<MathDef>,
}

#[derive(Clone, Copy, Debug)]
enum Operand {
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
    operand: Operand,
}

impl Body {
    pub(super) fn new(width: u32) -> Self {
        let state = State { block: "entry".to_owned(), ..State::default() };
        Self { width: width.max(1), state: RefCell::new(state) }
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn arguments(&self, lanes: &[Lane]) -> Vec<Val<'_>> {
        let argument = |(i, &lane)| Val { body: self, lane, operand: Operand::Argument(i as u32) };
        lanes.iter().enumerate().map(argument).collect()
    }

    pub(super) fn f32(&self, value: f32) -> Val<'_> {
        Val { body: self, lane: Lane::F32, operand: Operand::Constant(u64::from(value.to_bits())) }
    }

    pub(super) fn f64(&self, value: f64) -> Val<'_> {
        Val { body: self, lane: Lane::F64, operand: Operand::Constant(value.to_bits()) }
    }

    pub(super) fn i32(&self, value: i32) -> Val<'_> {
        Val { body: self, lane: Lane::I32, operand: Operand::Constant(value as u64) }
    }

    fn integer(&self, lane: Lane, value: i64) -> Val<'_> {
        Val { body: self, lane, operand: Operand::Constant(value as u64) }
    }

    fn type_name(&self, lane: Lane) -> String {
        if self.width == 1 { lane.name().to_owned() } else { format!("<{} x {}>", self.width, lane.name()) }
    }

    /// Appends `%t = …` and gives `%t`.
    fn push(&self, lane: Lane, instruction: std::fmt::Arguments<'_>) -> Val<'_> {
        let mut state = self.state.borrow_mut();
        let id = state.next;
        state.next += 1;
        writeln!(state.text, "  %t{id} = {instruction}").expect("writing to a string");
        Val { body: self, lane, operand: Operand::Temporary(id) }
    }

    /// Calls the intrinsic `llvm.{name}.{type of the first argument}`.
    fn intrinsic(&self, name: &str, arguments: &[Val<'_>], tail: &str) -> Val<'_> {
        let lane = arguments[0].lane;
        let call = self.intrinsic_call(name, arguments, tail);
        self.push(lane, format_args!("call {call}"))
    }

    /// The same as text after `call`, for a call with flags.
    fn intrinsic_call(&self, name: &str, arguments: &[Val<'_>], tail: &str) -> String {
        let lane = arguments[0].lane;
        let ty = self.type_name(lane);
        let suffix = match self.width {
            1 => lane.suffix().to_owned(),
            width => format!("v{width}{}", lane.suffix()),
        };
        let mut types = vec![ty.as_str(); arguments.len()];
        if !tail.is_empty() {
            types.push("i1");
        }
        self.declare(format!("declare {ty} @llvm.{name}.{suffix}({})", types.join(", ")));
        let mut actual: Vec<String> = arguments.iter().map(|a| format!("{ty} {}", a.text())).collect();
        actual.extend((!tail.is_empty()).then(|| tail.to_owned()));
        format!("{ty} @llvm.{name}.{suffix}({})", actual.join(", "))
    }

    fn declare(&self, line: String) {
        self.state.borrow_mut().declares.insert(line);
    }

    fn fresh(&self) -> u32 {
        let mut state = self.state.borrow_mut();
        state.next += 1;
        state.next - 1
    }

    /// Writes a terminator and starts the block `next`.
    fn start_block(&self, terminator: std::fmt::Arguments<'_>, next: &str) {
        let mut state = self.state.borrow_mut();
        writeln!(state.text, "  {terminator}\n{next}:").expect("writing to a string");
        next.clone_into(&mut state.block);
    }

    fn current_block(&self) -> String {
        self.state.borrow().block.clone()
    }

    /// Where `mask` holds in any lane, `rare()`; else `usual`. `rare` computes all lanes.
    pub(super) fn if_any<'b>(
        &'b self,
        mask: Val<'b>,
        usual: Val<'b>,
        rare: impl FnOnce() -> Val<'b>,
    ) -> Val<'b> {
        let any = mask.any();
        let id = self.fresh();
        let (rare_label, done) = (format!("rare{id}"), format!("done{id}"));
        let before = self.current_block();
        let branch = format!("br i1 {}, label %{rare_label}, label %{done}", any.text());
        self.start_block(format_args!("{branch}"), &rare_label);
        let value = rare();
        let after = self.current_block();
        self.start_block(format_args!("br label %{done}"), &done);
        let ty = self.type_name(usual.lane);
        self.push(
            usual.lane,
            format_args!("phi {ty} [ {}, %{before} ], [ {}, %{after} ]", usual.text(), value.text()),
        )
    }

    /// Repeats `step` from `start`, at least once, while its mask holds in any lane.
    pub(super) fn repeat_while_any<'b>(
        &'b self,
        start: Val<'b>,
        step: impl FnOnce(Val<'b>) -> (Val<'b>, Val<'b>),
    ) -> Val<'b> {
        let id = self.fresh();
        let (head, done) = (format!("again{id}"), format!("done{id}"));
        let before = self.current_block();
        self.start_block(format_args!("br label %{head}"), &head);
        let ty = self.type_name(start.lane);
        // The phi names the value of the next round, which is known only after the body: its text
        // is put in afterwards.
        let place = self.state.borrow().text.len();
        let phi = self.fresh();
        let (value, mask) = step(Val { body: self, lane: start.lane, operand: Operand::Temporary(phi) });
        let any = mask.any();
        let after = self.current_block();
        let line =
            format!("  %t{phi} = phi {ty} [ {}, %{before} ], [ {}, %{after} ]\n", start.text(), value.text());
        self.state.borrow_mut().text.insert_str(place, &line);
        self.start_block(format_args!("br i1 {}, label %{head}, label %{done}", any.text()), &done);
        value
    }

    /// Calls another function of the library, whose result has the type of `result`.
    pub(super) fn call<'b>(&'b self, callee: MathDef, arguments: &[Val<'b>], result: Lane) -> Val<'b> {
        let actual: Vec<String> = arguments.iter().map(|a| a.typed()).collect();
        let call = format!("call {} @{}({})", self.type_name(result), callee.name, actual.join(", "));
        {
            let mut state = self.state.borrow_mut();
            if !state.depends.contains(&callee) {
                state.depends.push(callee);
            }
        }
        self.push(result, format_args!("{call}"))
    }

    /// The finished function.
    pub(super) fn finish(
        &self,
        name: &str,
        arguments: &[Val<'_>],
        result: Val<'_>,
        inline: Inline,
    ) -> MathDef {
        let inline = match inline {
            Inline::Always => "alwaysinline ",
            Inline::Compiler => "",
            Inline::Never => "noinline cold ",
        };
        let parameters: Vec<String> = arguments.iter().map(|a| a.typed()).collect();
        let ret = result.typed();
        let ty = self.type_name(result.lane);
        let state = self.state.borrow();
        MathDef {
            name: name.to_owned(),
            ir_text: format!(
                "define internal {ty} @{name}({}) {inline}nounwind willreturn memory(none) {{\nentry:\n{}  ret {ret}\n}}\n",
                parameters.join(", "),
                state.text
            ),
            declares: state.declares.iter().cloned().collect(),
            depends: state.depends.clone(),
        }
    }
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
    fn text(self) -> String {
        let bits = match self.operand {
            Operand::Argument(i) => return format!("%a{i}"),
            Operand::Temporary(i) => return format!("%t{i}"),
            Operand::Constant(bits) => bits,
        };
        let scalar = match self.lane {
            Lane::I1 => if bits & 1 == 1 { "true" } else { "false" }.to_owned(),
            Lane::F32 => format!("0x{:016X}", f64::from(f32::from_bits(bits as u32)).to_bits()),
            Lane::F64 => format!("0x{bits:016X}"),
            Lane::F16 | Lane::Bf16 => panic!("no constants of narrow floats"),
            _ => (bits as i64).to_string(),
        };
        match self.body.width {
            1 => scalar,
            _ => format!("splat ({} {scalar})", self.lane.name()),
        }
    }

    fn typed(self) -> String {
        format!("{} {}", self.body.type_name(self.lane), self.text())
    }

    fn binary(self, op: &str, right: Val<'b>) -> Val<'b> {
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
        self.unary("fabs")
    }

    pub(super) fn sqrt(self) -> Val<'b> {
        self.unary("sqrt")
    }

    /// This magnitude with that sign.
    pub(super) fn with_sign_of(self, sign: Val<'b>) -> Val<'b> {
        self.intrinsic2("copysign", sign)
    }

    /// 1 / √x within 2 ulp: the flags let LLVM take the machine's estimate and refine it. Zero and
    /// infinity may give NaN.
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
    fn any(self) -> Val<'b> {
        let body = self.body;
        let width = body.width;
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
        self.binary("lshr", amount.value(self))
    }

    /// Arithmetic shift right.
    pub(super) fn ashr(self, amount: impl Right<'b>) -> Val<'b> {
        self.binary("ashr", amount.value(self))
    }

    /// The bits of a float.
    pub(super) fn bits(self) -> Val<'b> {
        self.cast("bitcast", self.lane.bits())
    }

    /// The float of these bits.
    pub(super) fn as_float(self, lane: Lane) -> Val<'b> {
        assert_eq!(lane.bits(), self.lane, "bits of another size");
        self.cast("bitcast", lane)
    }

    pub(super) fn extend(self, to: Lane) -> Val<'b> {
        self.cast("fpext", to)
    }

    pub(super) fn round_to(self, to: Lane) -> Val<'b> {
        self.cast("fptrunc", to)
    }

    pub(super) fn truncate(self, to: Lane) -> Val<'b> {
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
        self.cast("sitofp", to)
    }
}
