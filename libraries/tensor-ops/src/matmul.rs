//! Matrix products: batched, of any strides and types, with bias and activation.
//!
//! Owns [`MatmulOptions`] and the launches of `kernels/matmul.metal`. Invariant: products of
//! floating-point numbers are summed in `f32` and rounded once, after bias and activation; those of
//! integers wrap in the result's type.

use anymetal::argument::Plain;
use bytemuck::{Pod, Zeroable};

use crate::activation::Activation;
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::elementwise::Computed;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::layout::{Layout, Operand};
use crate::shape::{broadcast, contiguous_strides};
use crate::tensor::Tensor;

/// Rows and columns of a threadgroup's tile.
const TILE: usize = 64;

/// Threads of a threadgroup that makes a tile.
const TILE_THREADS: u32 = 128;

/// Fewer rows than this are not worth tiles.
pub(crate) const MIN_TILED_ROWS: usize = 8;

/// What is done with a product before it is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatmulOptions<'a> {
    /// Added; broadcasts to the product.
    pub bias: Option<&'a Tensor>,
    /// Applied after the bias.
    pub activation: Option<Activation>,
    /// The product's type; `None`: the common type of the factors, for `u8` and `i8` `i32`.
    pub out: Option<DType>,
}

/// The structure `Product` of the kernels.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Product {
    rows: u32,
    columns: u32,
    inner: u32,
    a_row: i32,
    a_inner: i32,
    b_inner: i32,
    b_column: i32,
    bias_row: i32,
    bias_column: i32,
}

/// Factors and bias as matrices of the same batches.
pub(crate) struct Factors {
    pub(crate) a: Tensor,
    pub(crate) b: Tensor,
    bias: Option<Tensor>,
    /// The batches' extents, without rows and columns.
    pub(crate) batches: Vec<usize>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) inner: usize,
}

impl Factors {
    fn of(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Result<Factors, OpError> {
        let shapes = [a.shape(), b.shape()];
        let ([a_batches @ .., rows, inner], [b_batches @ .., b_inner, columns]) = (a.shape(), b.shape())
        else {
            return Err(OpError::shape("matmul", &shapes, "both need at least one dimension"));
        };
        if inner != b_inner {
            let rule = "columns of the first and rows of the second must be as many";
            return Err(OpError::shape("matmul", &shapes, rule));
        }
        let batches = match broadcast("matmul", &[a_batches, b_batches]) {
            Ok(batches) => batches,
            Err(_) => return Err(OpError::shape("matmul", &shapes, "the batches must broadcast")),
        };
        let full = |matrix: [usize; 2]| [&batches[..], &matrix].concat();
        let bias = bias.map(|bias| bias.broadcast_to(&full([*rows, *columns]))).transpose()?;
        let (a_full, b_full) = (full([*rows, *inner]), full([*inner, *columns]));
        Ok(Factors {
            a: a.broadcast_to(&a_full)?,
            b: b.broadcast_to(&b_full)?,
            bias,
            rows: *rows,
            columns: *columns,
            inner: *inner,
            batches,
        })
    }

    /// The shape of the product.
    pub(crate) fn shape(&self) -> Vec<usize> {
        [&self.batches[..], &[self.rows, self.columns]].concat()
    }

    fn product(&self) -> Product {
        let last_two = |tensor: &Tensor| match tensor.strides() {
            [.., row, column] => [*row as i32, *column as i32],
            _ => [0, 0],
        };
        let ([a_row, a_inner], [b_inner, b_column]) = (last_two(&self.a), last_two(&self.b));
        let [bias_row, bias_column] = self.bias.as_ref().map_or([0, 0], last_two);
        Product {
            rows: self.rows as u32,
            columns: self.columns as u32,
            inner: self.inner as u32,
            a_row,
            a_inner,
            b_inner,
            b_column,
            bias_row,
            bias_column,
        }
    }

    /// The layout of the batches: product, factors, bias.
    fn batch_layout(&self) -> Layout {
        let rank = self.batches.len();
        let matrix = (self.rows * self.columns) as isize;
        let to: Vec<isize> = contiguous_strides(&self.batches).iter().map(|stride| stride * matrix).collect();
        let bias = self.bias.as_ref().unwrap_or(&self.b);
        let operand = |tensor: &'_ Tensor| (tensor.strides()[..rank].to_vec(), tensor.offset());
        let ((a, a_offset), (b, b_offset), (bias, bias_offset)) =
            (operand(&self.a), operand(&self.b), operand(bias));
        Layout::rows(
            &self.batches,
            &[
                Operand { strides: &to, offset: 0 },
                Operand { strides: &a, offset: a_offset },
                Operand { strides: &b, offset: b_offset },
                Operand { strides: &bias, offset: bias_offset },
            ],
        )
    }
}

impl Ops {
    /// The product of matrices, which are the last two dimensions; those before broadcast. A tensor
    /// of one dimension is a row on the left and a column on the right, and that dimension goes.
    pub fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, OpError> {
        self.matmul_with(a, b, &MatmulOptions::default())
    }

    /// As [`Ops::matmul`], with bias, activation, type of the product.
    pub fn matmul_with(
        &self,
        a: &Tensor,
        b: &Tensor,
        options: &MatmulOptions<'_>,
    ) -> Result<Tensor, OpError> {
        let (row, column) = (a.rank() == 1, b.rank() == 1);
        let left = if row { a.unsqueeze(0)? } else { a.clone() };
        let right = if column { b.unsqueeze(1)? } else { b.clone() };
        let mut out = self.matrices(&left, &right, options)?;
        if column {
            out = out.squeeze(-1)?;
        }
        if row {
            out = out.squeeze(if column { -1 } else { -2 })?;
        }
        Ok(out)
    }

    fn matrices(&self, a: &Tensor, b: &Tensor, options: &MatmulOptions<'_>) -> Result<Tensor, OpError> {
        let (out, path) = self.matrices_uncounted(a, b, options)?;
        let inner = a.shape()[a.rank() - 1];
        let bias_bytes = options.bias.map_or(0, Tensor::byte_len);
        let bytes = a.byte_len() + b.byte_len() + out.byte_len() + bias_bytes;
        self.count("matmul", path, 2 * (out.len() * inner) as u64, bytes);
        Ok(out)
    }

    /// As a part of another operation, which counts the work.
    pub(crate) fn matrices_uncounted(
        &self,
        a: &Tensor,
        b: &Tensor,
        options: &MatmulOptions<'_>,
    ) -> Result<(Tensor, Path), OpError> {
        let dtype = out_type(a.dtype(), b.dtype(), options)?;
        let factors = Factors::of(a, b, options.bias)?;
        let is_empty = factors.shape().contains(&0);
        // What is still to be done with a product is done before it is rounded.
        let is_finished = options.bias.is_none() && options.activation.is_none();
        let made = if is_finished { dtype } else { dtype.promote(DType::F32) };
        if !is_empty && let Some(product) = self.product_by_vendor(&factors, made)? {
            // What follows counts itself.
            let made = self.call_times().take();
            let finished = self.finished(product, options, dtype)?;
            self.call_times().give_back(made);
            return Ok((finished, Path::Vendor));
        }
        let out = self.empty(&factors.shape(), dtype)?;
        if is_empty {
            return Ok((out, Path::Own));
        }
        self.product_by_kernels(&factors, options, &out)?;
        Ok((out, Path::Own))
    }

    /// Bias, activation and type of a product that was made without.
    fn finished(
        &self,
        product: Tensor,
        options: &MatmulOptions<'_>,
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        let mut result = product;
        if let Some(bias) = options.bias {
            let out = if options.activation.is_some() { result.dtype() } else { dtype };
            let computed = Computed { out, compute: DType::F32 };
            result = self.map2("add", "op_add", computed, [&result, bias], None)?;
        }
        match options.activation {
            Some(activation) => self.cast(&self.activation(activation, &result)?, dtype),
            None => Ok(result),
        }
    }

    fn product_by_kernels(
        &self,
        factors: &Factors,
        options: &MatmulOptions<'_>,
        out: &Tensor,
    ) -> Result<(), OpError> {
        let dtype = out.dtype();
        let bias = factors.bias.as_ref().unwrap_or(&factors.b);
        let mut defines = Defines::default().with("A", dtype.msl_compute()).with("W", dtype.msl_wrapping());
        let types = [dtype, factors.a.dtype(), factors.b.dtype(), bias.dtype()];
        for (name, dtype) in ["T0", "T1", "T2", "T3"].into_iter().zip(types) {
            defines = defines.with(name, dtype.msl());
        }
        if factors.bias.is_some() {
            defines = defines.with("BIAS", 1);
        }
        let mut parameters = [0.0; 4];
        if let Some(activation) = options.activation {
            defines = defines.with("ACTIVATION", activation.function());
            parameters = activation.parameters();
        }
        let (product, layout) = (factors.product(), factors.batch_layout());
        let stride = |value: i32, name: &str| if value == 1 { "1".to_owned() } else { format!("m.{name}") };
        defines = defines.with("B_COLUMN", stride(product.b_column, "b_column"));
        let tiled = dtype.is_float() && factors.rows >= MIN_TILED_ROWS;
        let kernel = if tiled { "matmul_tiles" } else { "matmul_columns" };
        if tiled {
            defines = defines.with("A_ROW", stride(product.a_row, "a_row"));
            defines = defines.with("A_INNER", stride(product.a_inner, "a_inner"));
            defines = defines.with("B_INNER", stride(product.b_inner, "b_inner"));
            // Neighbouring threads read neighbouring elements.
            if product.a_row == 1 {
                defines = defines.with("A_BY_COLUMNS", 1);
            }
            if product.b_inner == 1 && product.b_column != 1 {
                defines = defines.with("B_BY_ROWS", 1);
            }
        } else {
            defines = defines.with("COLUMNS", 1);
        }
        let pipeline = self.pipeline(Source::Matmul, kernel, defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(factors.a.buffer());
        let launch = launch.arg(factors.b.buffer()).arg(bias.buffer());
        let launch = launch.arg(Plain(product)).arg(Plain(layout)).arg(parameters);
        let (rows, columns, batches) = (factors.rows, factors.columns, layout.outer as usize);
        self.submit(match tiled {
            true => {
                let tiles = (columns.div_ceil(TILE), rows.div_ceil(TILE), batches);
                launch.groups(tiles).group_size(TILE_THREADS)
            }
            false => launch.threads((columns, rows, batches)).group_size((64, 1, 1)),
        })
    }
}

fn out_type(a: DType, b: DType, options: &MatmulOptions<'_>) -> Result<DType, OpError> {
    let common = a.promote(b);
    let narrow = matches!(common, DType::U8 | DType::I8);
    let out = options.out.unwrap_or(if narrow { DType::I32 } else { common });
    let refuse = |rule: &str| Err(OpError::dtype("matmul", &[a, b, out], rule));
    if common == DType::Bool || out == DType::Bool {
        return refuse("numbers are needed, not bool");
    }
    if common.is_float() != out.is_float() {
        return refuse("factors and product must both be of floating-point types, or both of integer ones");
    }
    if options.activation.is_some() && !out.is_float() {
        return refuse("activations are of floating-point types");
    }
    match options.bias {
        Some(bias) if bias.dtype().is_float() != out.is_float() || bias.dtype() == DType::Bool => {
            refuse("the bias must be of the same kind of type as the product")
        }
        Some(_) | None => Ok(out),
    }
}
