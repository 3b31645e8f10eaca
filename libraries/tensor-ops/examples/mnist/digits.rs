//! A data set that the program makes: digits of a 5 by 7 font, moved, scaled in brightness, with
//! noise.
//!
//! Owns [`Digits`]. Invariant: the same seed gives the same images.

use anymetal_tensor_ops::{DType, Generator, OpError, Ops, Tensor};

/// Rows and columns of an image.
pub(crate) const SIZE: usize = 16;

/// Rows of five columns, the highest bit on the left.
const FONT: [[u8; 7]; 10] = [
    [0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E],
    [0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E],
    [0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F],
    [0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E],
    [0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02],
    [0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E],
    [0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E],
    [0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
    [0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E],
    [0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C],
];

/// Images of shape count, 1, rows, columns, and the digits on them.
#[derive(Debug)]
pub(crate) struct Digits {
    pub(crate) images: Tensor,
    pub(crate) labels: Tensor,
}

impl Digits {
    /// That many images: digits up to two pixels from the middle, strokes of brightness 0.5 to 1,
    /// noise of deviation 0.2.
    pub(crate) fn new(ops: &Ops, seed: u64, count: usize) -> Result<Digits, OpError> {
        let generator = Generator::new(ops, seed);
        let labels = generator.integers(&[count], 0, 10, DType::I32)?;
        let rows = generator.integers(&[count], 2, 7, DType::I32)?.to_vec::<i32>()?;
        let columns = generator.integers(&[count], 3, 8, DType::I32)?.to_vec::<i32>()?;
        let mut strokes = vec![0.0f32; count * SIZE * SIZE];
        for (i, &label) in labels.to_vec::<i32>()?.iter().enumerate() {
            for (y, bits) in FONT[label as usize].iter().enumerate() {
                for x in (0..5).filter(|x| bits >> (4 - x) & 1 == 1) {
                    strokes[(i * SIZE + rows[i] as usize + y) * SIZE + columns[i] as usize + x] = 1.0;
                }
            }
        }
        let strokes = ops.tensor(&strokes, &[count, 1, SIZE, SIZE])?;
        let brightness = generator.uniform(&[count, 1, 1, 1], 0.5, 1.0, DType::F32)?;
        let noise = generator.normal(strokes.shape(), 0.0, 0.2, DType::F32)?;
        Ok(Digits { images: ops.fma(&strokes, &brightness, &noise)?, labels })
    }

    /// A range of both.
    pub(crate) fn batch(&self, from: usize, to: usize) -> Result<(Tensor, Tensor), OpError> {
        Ok((self.images.narrow(0, from..to)?, self.labels.narrow(0, from..to)?))
    }
}
