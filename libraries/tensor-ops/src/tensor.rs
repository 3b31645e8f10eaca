//! Tensors: a view of device memory with shape, strides and type.
//!
//! Owns [`Tensor`]. Invariant: every element that shape, strides and offset reach lies within the
//! buffer, and positions fit 31 bits. Views share the buffer; none of them copies.

use std::fmt;
use std::sync::Arc;

use anymetal::{Buffer, BufferView};

use crate::context::Ops;
use crate::dtype::{DType, Element};
use crate::error::OpError;
use crate::shape::{checked_count, contiguous_strides};

/// Elements of one type in a device's memory, with a shape. Clones share the memory.
///
/// Operations make new tensors; none changes its inputs. An operation returns when its work is
/// handed over; [`Tensor::to_vec`] waits.
#[derive(Clone)]
pub struct Tensor {
    ops: Ops,
    buffer: Buffer<u8>,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
    /// Tells a recording that something sees memory which it fills.
    _token: Option<Arc<()>>,
}

impl Tensor {
    /// A contiguous tensor of that shape at the start of the buffer, which holds it.
    pub(crate) fn over(ops: &Ops, buffer: Buffer<u8>, dtype: DType, shape: Vec<usize>) -> Tensor {
        let strides = contiguous_strides(&shape);
        Tensor { ops: ops.clone(), buffer, dtype, shape, strides, offset: 0, _token: None }
    }

    /// The same memory seen otherwise; the caller has checked that it lies within this tensor.
    pub(crate) fn seen_as(&self, shape: Vec<usize>, strides: Vec<isize>, offset: usize) -> Tensor {
        Tensor { shape, strides, offset, ..self.clone() }
    }

    /// The same tensor in another context.
    pub(crate) fn in_context(&self, ops: &Ops) -> Tensor {
        Tensor { ops: ops.clone(), ..self.clone() }
    }

    /// The same view of other memory, as long.
    pub(crate) fn in_memory(&self, buffer: &Buffer<u8>, token: &Arc<()>) -> Tensor {
        Tensor { buffer: buffer.clone(), _token: Some(Arc::clone(token)), ..self.clone() }
    }

    /// The context that its operations run in.
    pub fn ops(&self) -> &Ops {
        &self.ops
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents of its dimensions, the outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The distance between neighbours along each dimension, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Where its first element is in the buffer, in elements.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many dimensions it has.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Bytes of its elements.
    pub fn byte_len(&self) -> u64 {
        (self.len() * self.dtype.size()) as u64
    }

    /// The memory that it is a view of.
    pub fn buffer(&self) -> &Buffer<u8> {
        &self.buffer
    }

    /// The part of the buffer from its first element on, as an argument of kernels that take
    /// contiguous tensors.
    pub(crate) fn part(&self) -> Result<BufferView<u8>, OpError> {
        let first = self.offset * self.dtype.size();
        Ok(self.buffer.view(first..first + self.byte_len() as usize)?)
    }

    /// Whether its elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let expected = contiguous_strides(&self.shape);
        let pairs = self.shape.iter().zip(self.strides.iter().zip(&expected));
        self.is_empty()
            || pairs.into_iter().all(|(&extent, (stride, expected))| extent == 1 || stride == expected)
    }

    /// A copy of its elements in row-major order, once all work before is done. The type must be
    /// its own.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, OpError> {
        if T::DTYPE != self.dtype {
            let rule = format!("elements are read as their own type, not as {}", T::DTYPE);
            return Err(OpError::dtype("to_vec", &[self.dtype], rule));
        }
        if self.ops.recorder().is_some() || self.ops.is_unfinished(&self.buffer) {
            let problem = "there are no elements before a replay";
            return Err(OpError::recording("to_vec", problem));
        }
        let contiguous = self.ops.contiguous(self)?;
        self.ops.wait()?;
        let mut bytes = vec![0; contiguous.byte_len() as usize];
        if !bytes.is_empty() {
            contiguous.buffer.read_into(contiguous.offset * self.dtype.size(), &mut bytes)?;
        }
        Ok(T::from_bytes(&bytes))
    }

    /// Its one element, once all work before is done.
    pub fn item<T: Element>(&self) -> Result<T, OpError> {
        match self.to_vec()?[..] {
            [one] => Ok(one),
            _ => Err(OpError::shape("item", &[&self.shape], "the tensor must have one element")),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tensor({}, {:?}, strides {:?})", self.dtype, self.shape, self.strides)
    }
}

impl Ops {
    /// A tensor with a copy of those elements in row-major order; their number must be the shape's.
    pub fn tensor<T: Element>(&self, elements: &[T], shape: &[usize]) -> Result<Tensor, OpError> {
        self.check_elements("tensor", elements.len(), shape)?;
        let tensor = self.empty(shape, T::DTYPE)?;
        if !elements.is_empty() {
            tensor.buffer.write(&T::as_bytes(elements))?;
        }
        if let Some(recorder) = self.recorder() {
            recorder.note_constant(&tensor.buffer);
        }
        Ok(tensor)
    }

    /// A buffer's elements as a tensor, without a copy.
    pub fn from_buffer<T: Element + anymetal::Pod>(
        &self,
        buffer: &Buffer<T>,
        shape: &[usize],
    ) -> Result<Tensor, OpError> {
        self.check_elements("from_buffer", buffer.len(), shape)?;
        Ok(Tensor::over(self, buffer.bytes(), T::DTYPE, shape.to_vec()))
    }

    /// A buffer's bytes as a tensor of that type, without a copy; there are as many as the shape needs.
    pub fn from_bytes(&self, buffer: &Buffer<u8>, dtype: DType, shape: &[usize]) -> Result<Tensor, OpError> {
        let needed = checked_count("from_bytes", shape)?.saturating_mul(dtype.size());
        if buffer.len() < needed {
            let rule = format!("{} bytes were given, {dtype} of that shape needs {needed}", buffer.len());
            return Err(OpError::shape("from_bytes", &[shape], rule));
        }
        Ok(Tensor::over(self, buffer.clone(), dtype, shape.to_vec()))
    }

    /// A tensor without dimensions.
    pub fn scalar<T: Element>(&self, value: T) -> Result<Tensor, OpError> {
        self.tensor(&[value], &[])
    }

    /// A contiguous tensor with whatever its memory held before: for results of kernels.
    pub(crate) fn empty(&self, shape: &[usize], dtype: DType) -> Result<Tensor, OpError> {
        let count = checked_count("allocate", shape)?;
        let bytes = (count * dtype.size()).max(dtype.size());
        let buffer = self.device().acquire::<u8>(bytes)?;
        let token = self.recorder().and_then(|recorder| recorder.add_made(&buffer));
        Ok(Tensor { _token: token, ..Tensor::over(self, buffer, dtype, shape.to_vec()) })
    }

    fn check_elements(&self, operation: &'static str, given: usize, shape: &[usize]) -> Result<(), OpError> {
        let expected = checked_count(operation, shape)?;
        if given == expected {
            return Ok(());
        }
        let rule = format!("{given} elements were given, the shape has {expected}");
        Err(OpError::shape(operation, &[shape], rule))
    }
}
