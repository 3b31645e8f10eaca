//! Library functions: instructions where the GPU has one of the accuracy, else the shared math library's
//! functions for one value.

use anymetal_ir::{FpMode, MathFn, Scalar, Type, Value};

use super::Emitter;
use crate::elementwise::{Width, arith};
use crate::llvm_text::{Opd, scalar_type};

impl Emitter<'_> {
    pub(super) fn math(&mut self, function: MathFn, fp: FpMode, args: &[Value], to: Type) -> Vec<Opd> {
        let Some(&first) = args.first() else { return Vec::new() };
        let scalar = self.scalar(first);
        let types: Vec<Scalar> = args.iter().map(|&arg| self.scalar(arg)).collect();
        let operands: Vec<Vec<Opd>> = args.iter().map(|&arg| self.parts(arg)).collect();
        let result = to.scalar().unwrap_or(scalar);
        (0..usize::from(to.lanes()))
            .map(|at| {
                let parts: Vec<Opd> = operands.iter().map(|operand| operand[at].clone()).collect();
                match self.instruction(function, fp, scalar, &parts) {
                    Some(value) => value,
                    None => self.library_call((function, fp, scalar), &types, &parts, result),
                }
            })
            .collect()
    }

    fn library_call(
        &mut self,
        (function, fp, scalar): (MathFn, FpMode, Scalar),
        types: &[Scalar],
        parts: &[Opd],
        result: Scalar,
    ) -> Opd {
        let name = self.library.require(function, scalar, fp, 1).to_owned();
        let typed = types.iter().zip(parts).map(|(&ty, part)| format!("{} {part}", scalar_type(ty)));
        let list = typed.collect::<Vec<_>>().join(", ");
        self.t.value(format_args!("call {} @{name}({list})", scalar_type(result)))
    }

    /// The function as an instruction, if there is one that is accurate enough.
    fn instruction(&mut self, function: MathFn, fp: FpMode, scalar: Scalar, args: &[Opd]) -> Option<Opd> {
        let approximate = fp != FpMode::Safe && scalar == Scalar::F32;
        match function {
            MathFn::FMin if scalar.is_float() => Some(self.least(scalar, &args[0], &args[1])),
            MathFn::FMax if scalar.is_float() => Some(self.greatest(scalar, &args[0], &args[1])),
            MathFn::Fma if scalar == Scalar::F16 => {
                Some(self.t.intrinsic("fma", "half", "", &[&args[0], &args[1], &args[2]]))
            }
            MathFn::Divide if approximate && !args[1].is_const() => {
                Some(self.approximate_quotient(&args[0], &args[1]))
            }
            MathFn::Rsqrt if approximate => {
                Some(self.call("float", "llvm.nvvm.rsqrt.approx.f", &[("float", &args[0])]))
            }
            MathFn::Sqrt if approximate => {
                Some(self.call("float", "llvm.nvvm.sqrt.approx.f", &[("float", &args[0])]))
            }
            _ => None,
        }
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
        let result = self.t.intrinsic(name, "float", "", &[&x, &y]);
        self.round(scalar, &result)
    }
}
