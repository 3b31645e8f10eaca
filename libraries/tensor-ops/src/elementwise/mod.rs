//! Elementwise functions of one, two and three tensors, with broadcasting and any strides.
//!
//! Owns the operations; which functions there are is in [`functions`], how they run in [`map`].
//! Invariant: inputs are converted to the type that is computed in where they are read; nothing is
//! cast beforehand.

mod functions;
mod map;

use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::shape::broadcast;
use crate::tensor::Tensor;
use functions::Typing;
pub use functions::{BinaryOp, Comparison, UnaryOp};
pub(crate) use map::{MapCall, MapForm, MapFunction};

/// The types of a function's one result and its computation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Computed {
    pub(crate) out: DType,
    pub(crate) compute: DType,
}

impl Ops {
    /// A function of one tensor.
    pub fn unary(&self, op: UnaryOp, x: &Tensor) -> Result<Tensor, OpError> {
        if (op, x.dtype()) == (UnaryOp::BitNot, DType::Bool) {
            return self.logical_not(x);
        }
        let computed = op.typing().check(op.name(), &[x.dtype()], x.dtype())?;
        self.map(op.name(), op.kernel(), computed, x, [0.0; 4])
    }

    /// A function of two tensors.
    pub fn binary(&self, op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor, OpError> {
        let common = a.dtype().promote(b.dtype());
        let computed = op.typing().check(op.name(), &[a.dtype(), b.dtype()], common)?;
        self.map2(op.name(), op.kernel(), computed, [a, b], None)
    }

    /// Compares two tensors in their common type.
    pub fn compare(&self, comparison: Comparison, a: &Tensor, b: &Tensor) -> Result<Tensor, OpError> {
        let computed = Computed { out: DType::Bool, compute: a.dtype().promote(b.dtype()) };
        self.map2("compare", comparison.kernel(), computed, [a, b], None)
    }

    /// Whether an element is zero.
    pub fn logical_not(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.map("logical_not", "op_not", Computed { out: DType::Bool, compute: x.dtype() }, x, [0.0; 4])
    }

    /// Whether an element is NaN; no integer is.
    pub fn isnan(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.classify("isnan", "op_isnan", x)
    }

    /// Whether an element is infinite; no integer is.
    pub fn isinf(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.classify("isinf", "op_isinf", x)
    }

    /// Whether an element is neither NaN nor infinite.
    pub fn isfinite(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.classify("isfinite", "op_isfinite", x)
    }

    fn classify(&self, operation: &'static str, kernel: &'static str, x: &Tensor) -> Result<Tensor, OpError> {
        let computed = Computed { out: DType::Bool, compute: x.dtype().to_float() };
        self.map(operation, kernel, computed, x, [0.0; 4])
    }

    /// The elements as another type. Floating-point numbers are rounded to the nearest, of two the
    /// even one; to integers towards zero, saturated, NaN as 0. Integers keep their low bits.
    /// `bool` is what is not 0.
    pub fn cast(&self, x: &Tensor, dtype: DType) -> Result<Tensor, OpError> {
        if x.dtype() == dtype {
            return Ok(x.clone());
        }
        self.map("cast", "op_copy", Computed { out: dtype, compute: x.dtype() }, x, [0.0; 4])
    }

    /// `x * factor + summand`, rounded once, of floating-point tensors.
    pub fn affine(&self, x: &Tensor, factor: f32, summand: f32) -> Result<Tensor, OpError> {
        let computed = Typing::Float.check("affine", &[x.dtype()], x.dtype())?;
        self.map("affine", "op_affine", computed, x, [factor, summand, 0.0, 0.0])
    }

    /// Elements below `low` become `low`, elements above `high` become `high`; NaN stays. Bounds of
    /// integers are rounded inwards and cut to what the type has.
    pub fn clamp(&self, x: &Tensor, low: f64, high: f64) -> Result<Tensor, OpError> {
        if low.is_nan() || high.is_nan() || low > high {
            return Err(OpError::argument("clamp", format!("{low} is not at most {high}")));
        }
        let dtype = x.dtype();
        let computed = Typing::Number.check("clamp", &[dtype], dtype)?;
        if dtype.is_float() {
            return self.map("clamp", "op_clamp", computed, x, [low as f32, high as f32, 0.0, 0.0]);
        }
        let (low, high) = (low.ceil(), high.floor());
        if low > high {
            let problem = format!("there is no integer from {low} to {high}");
            return Err(OpError::argument("clamp", problem));
        }
        // The conversions saturate.
        let (low, high) = (low as i64, high as i64);
        let bound = |bound: i64| match dtype {
            DType::U8 => self.scalar(bound.clamp(0, u8::MAX.into()) as u8),
            DType::I8 => self.scalar(bound.clamp(i8::MIN.into(), i8::MAX.into()) as i8),
            DType::U32 => self.scalar(bound.clamp(0, u32::MAX.into()) as u32),
            DType::I32 => self.scalar(bound.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
            _ => self.scalar(bound),
        };
        self.map3("clamp", "op_clamp_between", [x, &bound(low)?, &bound(high)?])
    }

    /// As [`Ops::clamp`], with bounds for each element, which broadcast.
    pub fn clamp_between(&self, x: &Tensor, low: &Tensor, high: &Tensor) -> Result<Tensor, OpError> {
        self.map3("clamp_between", "op_clamp_between", [x, low, high])
    }

    /// `a * b + c`; floating-point results are rounded once.
    pub fn fma(&self, a: &Tensor, b: &Tensor, c: &Tensor) -> Result<Tensor, OpError> {
        self.map3("fma", "op_fma", [a, b, c])
    }

    /// `a + t * (b - a)` of floating-point tensors.
    pub fn lerp(&self, a: &Tensor, b: &Tensor, t: &Tensor) -> Result<Tensor, OpError> {
        let types = [a.dtype(), b.dtype(), t.dtype()];
        if !types.iter().all(|dtype| dtype.is_float()) {
            return Err(OpError::dtype("lerp", &types, "floating-point types are needed"));
        }
        self.map3("lerp", "op_lerp", [a, b, t])
    }

    /// Elements of `yes` where the first tensor, a `bool` one, is true, and of `no` elsewhere. All
    /// broadcast.
    pub fn where_(&self, condition: &Tensor, yes: &Tensor, no: &Tensor) -> Result<Tensor, OpError> {
        let types = [condition.dtype(), yes.dtype(), no.dtype()];
        if condition.dtype() != DType::Bool {
            return Err(OpError::dtype("where", &types, "the condition must be bool"));
        }
        let common = yes.dtype().promote(no.dtype());
        let stored = [common, DType::Bool, yes.dtype(), no.dtype()];
        let function = MapFunction::new(MapForm::Choose, "", common, &stored);
        self.broadcast_map("where", function, common, &[condition, yes, no])
    }

    /// One input. `parameters` are the function's.
    pub(crate) fn map(
        &self,
        operation: &'static str,
        name: &'static str,
        computed: Computed,
        x: &Tensor,
        parameters: [f32; 4],
    ) -> Result<Tensor, OpError> {
        let out = self.empty(x.shape(), computed.out)?;
        let types = [out.dtype(), x.dtype()];
        let function = MapFunction::new(MapForm::One, name, computed.compute, &types).with(parameters);
        // Casts compute nothing.
        let flop = if operation == "cast" { 0 } else { out.len() as u64 };
        let bytes = x.byte_len() + out.byte_len();
        self.run_map(MapCall { operation, function, out: &out, inputs: &[x], flop, bytes })?;
        Ok(out)
    }

    /// Two inputs, which broadcast; with parameters the function takes them.
    pub(crate) fn map2(
        &self,
        operation: &'static str,
        name: &'static str,
        computed: Computed,
        inputs: [&Tensor; 2],
        parameters: Option<[f32; 4]>,
    ) -> Result<Tensor, OpError> {
        let form = if parameters.is_some() { MapForm::TwoWith } else { MapForm::Two };
        let types = [computed.out, inputs[0].dtype(), inputs[1].dtype()];
        let function = MapFunction::new(form, name, computed.compute, &types);
        self.broadcast_map(operation, function.with(parameters.unwrap_or_default()), computed.out, &inputs)
    }

    /// Three inputs of numbers, which broadcast, in their common type.
    fn map3(
        &self,
        operation: &'static str,
        name: &'static str,
        inputs: [&Tensor; 3],
    ) -> Result<Tensor, OpError> {
        let types = inputs.map(Tensor::dtype);
        let common = types[0].promote(types[1]).promote(types[2]);
        let Computed { out, compute } = Typing::Number.check(operation, &types, common)?;
        let [a, b, c] = types;
        let function = MapFunction::new(MapForm::Three, name, compute, &[out, a, b, c]);
        self.broadcast_map(operation, function, out, &inputs)
    }

    fn broadcast_map(
        &self,
        operation: &'static str,
        function: MapFunction,
        dtype: DType,
        inputs: &[&Tensor],
    ) -> Result<Tensor, OpError> {
        let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
        let shape = broadcast(operation, &shapes)?;
        let out = self.empty(&shape, dtype)?;
        let views = inputs.iter().map(|input| input.broadcast_to(&shape)).collect::<Result<Vec<_>, _>>()?;
        let (flop, read) = (out.len() as u64, inputs.iter().map(|input| input.byte_len()).sum::<u64>());
        let (views, bytes) = (views.iter().collect::<Vec<_>>(), read + out.byte_len());
        self.run_map(MapCall { operation, function, out: &out, inputs: &views, flop, bytes })?;
        Ok(out)
    }
}
