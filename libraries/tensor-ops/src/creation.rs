//! Tensors made of nothing but numbers: constants, sequences, the identity, triangles of matrices.
//!
//! Owns the operations here. Invariant: a value that the type cannot hold exactly as an integer is
//! an error.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::{DType, Element};
use crate::elementwise::Comparison;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::shape::checked_count;
use crate::tensor::Tensor;
use crate::{bf16, f16};

impl Ops {
    /// A tensor of that value everywhere.
    pub fn full<T: Element>(&self, shape: &[usize], value: T) -> Result<Tensor, OpError> {
        checked_count("full", shape)?;
        self.copy(&self.scalar(value)?.broadcast_to(shape)?)
    }

    /// A tensor of zeros.
    pub fn zeros(&self, shape: &[usize], dtype: DType) -> Result<Tensor, OpError> {
        self.filled("zeros", shape, 0.0, dtype)
    }

    /// A tensor of ones.
    pub fn ones(&self, shape: &[usize], dtype: DType) -> Result<Tensor, OpError> {
        self.filled("ones", shape, 1.0, dtype)
    }

    /// A tensor of a number, as the type has it.
    pub(crate) fn filled(
        &self,
        operation: &'static str,
        shape: &[usize],
        value: f64,
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        checked_count(operation, shape)?;
        let scalar = self.scalar_as(operation, value, dtype)?;
        self.copy(&scalar.broadcast_to(shape)?)
    }

    /// A number as a tensor without dimensions, rounded if the type is a floating-point one.
    pub(crate) fn scalar_as(
        &self,
        operation: &'static str,
        value: f64,
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        macro_rules! exact {
            ($type:ty) => {
                if (value as $type) as f64 == value {
                    self.scalar(value as $type)
                } else {
                    Err(OpError::argument(operation, format!("{dtype} has no {value}")))
                }
            };
        }
        match dtype {
            DType::Bool => self.scalar(value != 0.0),
            DType::U8 => exact!(u8),
            DType::I8 => exact!(i8),
            DType::U32 => exact!(u32),
            DType::I32 => exact!(i32),
            DType::I64 => exact!(i64),
            DType::F16 => self.scalar(f16::from_f64(value)),
            DType::BF16 => self.scalar(bf16::from_f64(value)),
            DType::F32 => self.scalar(value as f32),
        }
    }

    /// `count` numbers from `first` on, `step` apart. Integer types take integers only.
    pub fn arange(&self, count: usize, first: f64, step: f64, dtype: DType) -> Result<Tensor, OpError> {
        let out = self.empty(&[count], dtype)?;
        let whole = first.fract() == 0.0 && step.fract() == 0.0;
        if dtype == DType::Bool || (!dtype.is_float() && !whole) {
            return Err(OpError::dtype(
                "arange",
                &[dtype],
                format!("it has no sequence from {first} by {step}"),
            ));
        }
        if count == 0 {
            return Ok(out);
        }
        let sequence = if dtype.is_float() { "float" } else { "long" };
        let defines = Defines::default().with("T0", dtype.msl()).with("SEQUENCE", sequence);
        let pipeline = self.pipeline(Source::Creation, "arange", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer());
        let launch = match dtype.is_float() {
            true => launch.arg(first as f32).arg(step as f32),
            false => launch.arg(first as i64).arg(step as i64),
        };
        self.submit(launch.threads(count))?;
        self.count("arange", Path::Own, count as u64, out.byte_len());
        Ok(out)
    }

    /// The identity matrix.
    pub fn eye(&self, size: usize, dtype: DType) -> Result<Tensor, OpError> {
        let columns = self.arange(size, 0.0, 1.0, DType::I32)?;
        let rows = columns.view(&[size, 1])?;
        self.cast(&self.compare(Comparison::Eq, &rows, &columns)?, dtype)
    }

    /// A new last dimension of that many elements: one at the index, zero elsewhere; zeros only for
    /// an index that names none.
    pub fn one_hot(&self, indices: &Tensor, classes: usize, dtype: DType) -> Result<Tensor, OpError> {
        if !indices.dtype().is_integer() {
            let rule = "indices are of integer types";
            return Err(OpError::dtype("one_hot", &[indices.dtype()], rule));
        }
        let all = self.arange(classes, 0.0, 1.0, DType::I64)?;
        self.cast(&self.compare(Comparison::Eq, &indices.unsqueeze(-1)?, &all)?, dtype)
    }

    /// Each matrix of the last two dimensions with zeros above that diagonal; 0 is the main one,
    /// those above it count up.
    pub fn tril(&self, x: &Tensor, diagonal: i32) -> Result<Tensor, OpError> {
        self.triangle("tril", "<=", x, diagonal)
    }

    /// Each matrix of the last two dimensions with zeros below that diagonal.
    pub fn triu(&self, x: &Tensor, diagonal: i32) -> Result<Tensor, OpError> {
        self.triangle("triu", ">=", x, diagonal)
    }

    fn triangle(
        &self,
        operation: &'static str,
        kept: &'static str,
        x: &Tensor,
        diagonal: i32,
    ) -> Result<Tensor, OpError> {
        let [.., rows, columns] = *x.shape() else {
            return Err(OpError::shape(operation, &[x.shape()], "two dimensions are needed"));
        };
        let (x, out) = (self.contiguous(x)?, self.empty(x.shape(), x.dtype())?);
        if out.is_empty() {
            return Ok(out);
        }
        let defines = Defines::default().with("T0", x.dtype().msl()).with("TRIANGLE", kept);
        let pipeline = self.pipeline(Source::Creation, "triangle", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(&x.part()?);
        let launch = launch.arg(rows as u32).arg(columns as u32).arg(diagonal);
        self.submit(launch.threads((columns, x.len() / columns)))?;
        self.count(operation, Path::Own, 0, x.byte_len() + out.byte_len());
        Ok(out)
    }
}
