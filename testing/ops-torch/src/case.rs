//! One case: inputs, PyTorch's expression, results; as a line of JSON.
//!
//! Owns [`Cases`]: random inputs from one seed, and the writer.

use std::io::Write;

use anymetal_hal::split_mix::SplitMix64;
use anymetal_tensor_ops::{DType, Element, OpError, Ops, Tensor, bf16, f16};
use serde_json::{Value, json};

/// Makes inputs and writes cases.
pub(crate) struct Cases<W> {
    ops: Ops,
    numbers: SplitMix64,
    out: W,
}

impl<W: Write> Cases<W> {
    pub(crate) fn new(ops: &Ops, out: W) -> Self {
        Cases { ops: ops.clone(), numbers: SplitMix64::new(27), out }
    }

    pub(crate) fn ops(&self) -> Ops {
        self.ops.clone()
    }

    /// A number between bounds.
    fn number(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.numbers.next_up_to((1 << 24) - 1) as f32 / (1 << 24) as f32)
    }

    /// Random numbers of a floating-point type.
    pub(crate) fn floats(
        &mut self,
        shape: &[usize],
        dtype: DType,
        low: f32,
        high: f32,
    ) -> Result<Tensor, OpError> {
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| self.number(low, high)).collect();
        let x = self.ops.tensor(&values, shape)?;
        self.ops.cast(&x, dtype)
    }

    /// Random integers from 0 to below `end`.
    pub(crate) fn indices(&mut self, shape: &[usize], end: u64) -> Result<Tensor, OpError> {
        let values: Vec<i64> =
            (0..shape.iter().product()).map(|_| self.numbers.next_up_to(end - 1) as i64).collect();
        self.ops.tensor(&values, shape)
    }

    /// Writes a case: what PyTorch's expression of `x0`, `x1` and so on must give.
    pub(crate) fn forward(
        &mut self,
        name: &str,
        expr: impl Into<String>,
        inputs: &[&Tensor],
        outputs: &[&Tensor],
    ) -> Result<(), OpError> {
        let case = json!({
            "name": name, "expr": expr.into(), "inputs": all(inputs)?, "outputs": all(outputs)?,
        });
        self.write(&case)
    }

    /// Writes a case of gradients: those of the first inputs, as many as there are outputs.
    pub(crate) fn backward(
        &mut self,
        name: &str,
        expr: impl Into<String>,
        inputs: &[&Tensor],
        gradient: &Tensor,
        outputs: &[&Tensor],
    ) -> Result<(), OpError> {
        let case = json!({
            "name": format!("{name} backward"), "expr": expr.into(), "inputs": all(inputs)?,
            "gradient": to_json(gradient)?, "wrt": (0..outputs.len()).collect::<Vec<_>>(),
            "outputs": all(outputs)?,
        });
        self.write(&case)
    }

    fn write(&mut self, case: &Value) -> Result<(), OpError> {
        writeln!(self.out, "{case}")
            .map_err(|error| OpError::Argument { operation: "write", problem: error.to_string() })
    }
}

fn all(tensors: &[&Tensor]) -> Result<Vec<Value>, OpError> {
    tensors.iter().map(|tensor| to_json(tensor)).collect()
}

fn to_json(tensor: &Tensor) -> Result<Value, OpError> {
    fn values<T: Element>(tensor: &Tensor, value: impl Fn(T) -> Value) -> Result<Vec<Value>, OpError> {
        Ok(tensor.to_vec()?.into_iter().map(value).collect())
    }
    // JSON has no NaN and no infinity: those are strings.
    let float = |x: f32| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    let data = match tensor.dtype() {
        DType::Bool => values(tensor, |x: bool| json!(x)),
        DType::U8 => values(tensor, |x: u8| json!(x)),
        DType::I8 => values(tensor, |x: i8| json!(x)),
        DType::U32 => values(tensor, |x: u32| json!(x)),
        DType::I32 => values(tensor, |x: i32| json!(x)),
        DType::I64 => values(tensor, |x: i64| json!(x)),
        DType::F16 => values(tensor, |x: f16| float(x.to_f32())),
        DType::BF16 => values(tensor, |x: bf16| float(x.to_f32())),
        DType::F32 => values(tensor, float),
    }?;
    Ok(json!({ "dtype": tensor.dtype().to_string(), "shape": tensor.shape(), "data": data }))
}
