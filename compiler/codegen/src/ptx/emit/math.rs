//! Library functions: instructions where the GPU has one of the accuracy, else the shared math library's
//! functions for one value.

use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

use anymetal_ir::{FpMode, MathFn, Scalar, Type, Value};

use super::Emitter;
use crate::elementwise::{Width, arith};
use crate::llvm::{Binary, FLOAT, Opd, scalar_type};

/// Positive, and more than any multiple's rounding error.
const ERROR_OF_INFINITY: f64 = 1e-4;

/// The nearest `float`.
fn single(value: f64) -> Opd {
    Opd::float(f64::from(value as f32))
}

impl Emitter<'_> {
    pub(super) fn math(&mut self, function: MathFn, fp: FpMode, args: &[Value], to: Type) -> Vec<Opd> {
        let &first = args.first().expect("a function takes a number");
        let scalar = self.scalar(first);
        let operands: Vec<Vec<Opd>> = args.iter().map(|&arg| self.parts(arg)).collect();
        let result = to.scalar().expect("a function computes a number");
        (0..usize::from(to.lanes()))
            .map(|at| {
                let parts: Vec<Opd> = operands.iter().map(|operand| operand[at].clone()).collect();
                match self.instruction(function, fp, scalar, &parts) {
                    Some(value) => value,
                    None => self.library_call((function, fp, scalar), &parts, result),
                }
            })
            .collect()
    }

    fn library_call(
        &mut self,
        (function, fp, scalar): (MathFn, FpMode, Scalar),
        parts: &[Opd],
        result: Scalar,
    ) -> Opd {
        let name = self.library.require(function, scalar, fp, 1).to_owned();
        let parts: Vec<&Opd> = parts.iter().collect();
        self.t.call(scalar_type(result), &name, &parts)
    }

    /// The function as an instruction, if there is one that is accurate enough.
    fn instruction(&mut self, function: MathFn, fp: FpMode, scalar: Scalar, args: &[Opd]) -> Option<Opd> {
        let approximate = fp != FpMode::Safe && scalar == Scalar::F32;
        match function {
            MathFn::FMin if scalar.is_float() => Some(self.least(scalar, &args[0], &args[1])),
            MathFn::FMax if scalar.is_float() => Some(self.greatest(scalar, &args[0], &args[1])),
            MathFn::Fma if scalar == Scalar::F16 => {
                Some(self.t.intrinsic("fma", "", &[&args[0], &args[1], &args[2]]))
            }
            MathFn::Divide if approximate && !args[1].is_const() => {
                Some(self.approximate_quotient(&args[0], &args[1]))
            }
            MathFn::Rsqrt if approximate => Some(self.approximate("rsqrt.approx.f", &args[0])),
            MathFn::Sqrt if approximate => Some(self.approximate("sqrt.approx.f", &args[0])),
            _ if fp == FpMode::Fast && scalar == Scalar::F32 => self.fast_instruction(function, &args[0]),
            _ => None,
        }
    }

    /// Powers and logarithms by the instructions for base 2, which flush subnormal numbers. Their errors are
    /// those that Metal allows in fast math mode (MSL specification, section 8.4).
    fn fast_instruction(&mut self, function: MathFn, x: &Opd) -> Option<Opd> {
        Some(match function {
            MathFn::Exp2 => self.approximate("ex2.approx.ftz.f", x),
            MathFn::Exp => self.power_of_2_times(LOG2_E, x),
            MathFn::Exp10 => self.power_of_2_times(LOG2_10, x),
            MathFn::Log2 => self.approximate("lg2.approx.ftz.f", x),
            MathFn::Log => self.logarithm_times(LN_2, x),
            MathFn::Log10 => self.logarithm_times(LOG10_2, x),
            _ => return None,
        })
    }

    /// 2 to the power of a multiple. The multiple's rounding error, of many units in the last place of the
    /// result, is put right to first order.
    fn power_of_2_times(&mut self, factor: f64, x: &Opd) -> Opd {
        let high = f64::from(factor as f32);
        let [by, rest, ln_2] = [high, factor - high, LN_2].map(single);
        let exponent = self.t.binary(Binary::FMul, x, &by);
        let negative = self.t.fneg(&exponent);
        let error = self.t.intrinsic("fma", "", &[x, &by, &negative]);
        let error = self.t.intrinsic("fma", "", &[x, &rest, &error]);
        // Infinity has no error but a NaN, of which the minimum is the other.
        let error = self.t.intrinsic("minnum", "", &[&error, &single(ERROR_OF_INFINITY)]);
        let power = self.approximate("ex2.approx.ftz.f", &exponent);
        // A factor, not an addend, which an infinite power would turn into NaN. Of large exponents the
        // error is of any size; the power is infinite or zero then, and only the factor's sign matters.
        let factor = self.t.intrinsic("fma", "", &[&error, &ln_2, &single(1.0)]);
        let factor = self.t.intrinsic("fabs", "", &[&factor]);
        self.t.binary(Binary::FMul, &power, &factor)
    }

    fn logarithm_times(&mut self, factor: f64, x: &Opd) -> Opd {
        let logarithm = self.approximate("lg2.approx.ftz.f", x);
        self.t.binary(Binary::FMul, &logarithm, &single(factor))
    }

    fn approximate(&mut self, instruction: &str, x: &Opd) -> Opd {
        self.t.call_declared(FLOAT, &format!("llvm.nvvm.{instruction}"), &[x])
    }

    /// The smaller; of a number and a NaN, the number.
    pub(super) fn least(&mut self, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
        self.one_of_two("minnum", scalar, a, b)
    }

    /// The larger; of a number and a NaN, the number.
    pub(super) fn greatest(&mut self, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
        self.one_of_two("maxnum", scalar, a, b)
    }

    fn one_of_two(&mut self, name: &str, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
        let [x, y] = [a, b].map(|value| arith::to_f32(&mut self.t, Width::One, scalar, value));
        let result = self.t.intrinsic(name, "", &[&x, &y]);
        self.round(scalar, &result)
    }
}
