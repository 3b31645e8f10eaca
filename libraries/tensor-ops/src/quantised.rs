//! Products with quantised numbers: `i8` with scales, and blocks as llama.cpp has them.
//!
//! Owns [`BlockFormat`], [`Blocks`] and the launches of `kernels/quantised.metal`. Invariant: rows
//! of blocks hold whole blocks of 32 numbers; sums are in `f32`, of `i8` factors in `i32`.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::matmul::MatmulOptions;
use crate::reduce::Reduction;
use crate::tensor::Tensor;

/// Numbers of a block.
const BLOCK: usize = 32;

/// Rows from which on blocks are made numbers first.
const MIN_DENSE_ROWS: usize = 8;

/// A format of blocks of 32 numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockFormat {
    /// A scale and four bits less 8: 18 bytes.
    Q4_0,
    /// A scale, a least number and four bits: 20 bytes.
    Q4_1,
    /// A scale and eight bits: 34 bytes.
    Q8_0,
}

impl BlockFormat {
    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        match self {
            BlockFormat::Q4_0 => 18,
            BlockFormat::Q4_1 => 20,
            BlockFormat::Q8_0 => 34,
        }
    }

    fn defines(self, dtype: DType) -> Defines {
        let number = match self {
            BlockFormat::Q4_0 => 40,
            BlockFormat::Q4_1 => 41,
            BlockFormat::Q8_0 => 80,
        };
        Defines::default().with("FORMAT", number).with("T0", dtype.msl())
    }
}

/// A matrix in blocks along its rows.
#[derive(Debug, Clone)]
pub struct Blocks {
    format: BlockFormat,
    bytes: Tensor,
    shape: [usize; 2],
}

impl Blocks {
    /// The bytes of rows of blocks, of type `u8` and shape rows, bytes of a row.
    pub fn new(format: BlockFormat, bytes: &Tensor) -> Result<Blocks, OpError> {
        if bytes.dtype() != DType::U8 {
            return Err(OpError::dtype("blocks", &[bytes.dtype()], "blocks are bytes"));
        }
        match *bytes.shape() {
            [rows, length] if length.is_multiple_of(format.bytes()) => {
                let shape = [rows, length / format.bytes() * BLOCK];
                Ok(Blocks { format, bytes: bytes.ops().contiguous(bytes)?, shape })
            }
            _ => {
                let rule = format!("rows must be of whole blocks of {} bytes", format.bytes());
                Err(OpError::shape("blocks", &[bytes.shape()], rule))
            }
        }
    }

    /// The format.
    pub fn format(&self) -> BlockFormat {
        self.format
    }

    /// Rows, and numbers of a row.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// The blocks' bytes.
    pub fn bytes(&self) -> &Tensor {
        &self.bytes
    }
}

impl Ops {
    /// A matrix, whose rows are of whole blocks of 32 numbers, in blocks.
    pub fn quantise(&self, x: &Tensor, format: BlockFormat) -> Result<Blocks, OpError> {
        let &[rows, columns] = x.shape() else {
            return Err(OpError::shape("quantise", &[x.shape()], "two dimensions are needed"));
        };
        if !columns.is_multiple_of(BLOCK) || !x.dtype().is_float() {
            let rule = format!("rows must be of whole blocks of {BLOCK} floating-point numbers");
            return Err(OpError::shape("quantise", &[x.shape()], rule));
        }
        let x = self.contiguous(x)?;
        let bytes = self.empty(&[rows, columns / BLOCK * format.bytes()], DType::U8)?;
        if !bytes.is_empty() {
            let pipeline = self.pipeline(Source::Quantised, "quantise", format.defines(x.dtype()))?;
            let launch = self.call(&pipeline).arg(bytes.buffer()).arg(&x.part()?);
            self.submit(launch.threads(x.len() / BLOCK))?;
        }
        self.count("quantise", Path::Own, 4 * x.len() as u64, x.byte_len() + bytes.byte_len());
        Ok(Blocks { format, bytes, shape: [rows, columns] })
    }

    /// The numbers of blocks.
    pub fn dequantise(&self, blocks: &Blocks, dtype: DType) -> Result<Tensor, OpError> {
        if !dtype.is_float() {
            return Err(OpError::dtype("dequantise", &[dtype], "a floating-point type is needed"));
        }
        let out = self.empty(&blocks.shape, dtype)?;
        if !out.is_empty() {
            let pipeline = self.pipeline(Source::Quantised, "dequantise", blocks.format.defines(dtype))?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(&blocks.bytes.part()?);
            self.submit(launch.threads(out.len()))?;
        }
        self.count("dequantise", Path::Own, out.len() as u64, blocks.bytes.byte_len() + out.byte_len());
        Ok(out)
    }

    /// The product of a matrix with the transpose of one in blocks, in `f32`.
    pub fn matmul_blocks(&self, x: &Tensor, blocks: &Blocks) -> Result<Tensor, OpError> {
        let [columns, inner] = blocks.shape;
        let rows = match *x.shape() {
            [rows, width] if width == inner && x.dtype().is_float() => rows,
            _ => {
                let rule = "rows of floating-point numbers as long as those of the blocks are needed";
                return Err(OpError::shape("matmul_blocks", &[x.shape(), &blocks.shape], rule));
            }
        };
        let flop = 2 * (rows * columns * inner) as u64;
        if rows >= MIN_DENSE_ROWS {
            let dense = self.dequantise(blocks, DType::F32)?;
            let options = MatmulOptions { out: Some(DType::F32), ..MatmulOptions::default() };
            return self.matmul_with(x, &dense.t()?, &options);
        }
        let (x, out) = (self.contiguous(x)?, self.empty(&[rows, columns], DType::F32)?);
        if !out.is_empty() {
            let pipeline = self.pipeline(Source::Quantised, "matvec", blocks.format.defines(x.dtype()))?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(&x.part()?);
            let launch = launch.arg(&blocks.bytes.part()?).arg(inner as u32);
            self.submit(launch.threads((columns, rows)).group_size((64, 1)))?;
        }
        let bytes = x.byte_len() + blocks.bytes.byte_len() + out.byte_len();
        self.count("matmul_blocks", Path::Own, flop, bytes);
        Ok(out)
    }

    /// A matrix as `i8` with a scale for each row, in `f32`: the number of the greatest size of a
    /// row becomes 127 or -127.
    pub fn quantise_rows(&self, x: &Tensor) -> Result<(Tensor, Tensor), OpError> {
        if x.rank() != 2 || !x.dtype().is_float() {
            let rule = "two dimensions of floating-point numbers are needed";
            return Err(OpError::shape("quantise_rows", &[x.shape()], rule));
        }
        let wide = self.cast(x, DType::F32)?;
        let greatest = self.reduce(Reduction::Max, &self.abs(&wide)?, &[1], true)?;
        let scale = self.affine(&greatest, 1.0 / 127.0, 0.0)?;
        // A row of zeros is divided by one.
        let one = self.scalar(1.0f32)?;
        let divisor = self.where_(&self.cast(&scale, DType::Bool)?, &scale, &one)?;
        let scaled = self.round(&self.div(&wide, &divisor)?)?;
        Ok((self.cast(&scaled, DType::I8)?, scale.squeeze(1)?))
    }

    /// The product of an `i8` matrix with the transpose of another, both with scales of their rows,
    /// in `f32`.
    pub fn matmul_i8(
        &self,
        (a, a_scale): (&Tensor, &Tensor),
        (b, b_scale): (&Tensor, &Tensor),
    ) -> Result<Tensor, OpError> {
        let types = [a.dtype(), a_scale.dtype(), b.dtype(), b_scale.dtype()];
        if [types[0], types[2]] != [DType::I8; 2] || !(types[1].is_float() && types[3].is_float()) {
            return Err(OpError::dtype("matmul_i8", &types, "factors are i8, scales floating-point numbers"));
        }
        let shapes = [a.shape(), a_scale.shape(), b.shape(), b_scale.shape()];
        if a.rank() != 2 || b.rank() != 2 || shapes[1] != [shapes[0][0]] || shapes[3] != [shapes[2][0]] {
            return Err(OpError::shape(
                "matmul_i8",
                &shapes,
                "matrices with a scale for each row are needed",
            ));
        }
        let options = MatmulOptions { out: Some(DType::I32), ..MatmulOptions::default() };
        let sums = self.cast(&self.matmul_with(a, &b.t()?, &options)?, DType::F32)?;
        self.mul(&self.mul(&sums, &a_scale.unsqueeze(1)?)?, b_scale)
    }
}
