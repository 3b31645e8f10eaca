//! A matrix of 4-bit weights in llama.cpp's q4_0 format times a vector.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use half::f16;
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "q4_0 mat-vec",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/q4_0.metal"),
    kernels: &["q4_0_vector"],
    prepare,
};

/// Bytes of a block: a half and sixteen bytes of two weights each.
const BLOCK: usize = 18;
/// Weights of a block.
const WEIGHTS: usize = 32;
/// Threads of a threadgroup, and the rows it computes.
const GROUP: usize = 64;
const GROUP_ROWS: usize = 8;

struct MatVec {
    pipeline: Pipeline,
    rows: usize,
    columns: usize,
    matrix: Vec<u8>,
    vector: Vec<f32>,
    scratch: Vec<f32>,
    device_matrix: Buffer<u8>,
    device_vector: Buffer<f32>,
    target: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let (rows, columns) = scale.of((16, 512), (4096, 4096), (16384, 4096));
    let mut rng = Rng::new(15);
    let mut matrix = Vec::with_capacity(rows * columns / WEIGHTS * BLOCK);
    for _ in 0..rows * columns / WEIGHTS {
        matrix.extend(f16::from_f32(0.01 + 0.05 * rng.unit()).to_le_bytes());
        matrix.extend((rng.bits() as u128 | (rng.bits() as u128) << 64).to_le_bytes());
    }
    let vector: Vec<f32> = rng.floats(columns).iter().map(|v| v * 2.0 - 1.0).collect();
    Ok(Box::new(MatVec {
        pipeline: library.pipeline("q4_0_vector")?,
        device_matrix: device.buffer(&matrix)?,
        device_vector: device.buffer(&vector)?,
        target: device.buffer_zeroed(rows)?,
        scratch: vec![0.0; rows],
        matrix,
        vector,
        rows,
        columns,
    }))
}

#[multiversion(targets = "simd")]
fn dot(row: &[u8], vector: &[f32]) -> f32 {
    let mut sums = [0.0f32; WEIGHTS / 2];
    for (block, vector) in row.as_chunks::<BLOCK>().0.iter().zip(vector.as_chunks::<WEIGHTS>().0) {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        let (low, high) = vector.split_at(WEIGHTS / 2);
        for (j, (sum, byte)) in sums.iter_mut().zip(&block[2..]).enumerate() {
            let (a, b) = (f32::from((byte & 15) as i8 - 8), f32::from((byte >> 4) as i8 - 8));
            *sum = scale.mul_add(a.mul_add(low[j], b * high[j]), *sum);
        }
    }
    sums.iter().sum()
}

impl MatVec {
    fn row_bytes(&self) -> usize {
        self.columns / WEIGHTS * BLOCK
    }
}

impl Prepared for MatVec {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let launch = queue.launch(&self.pipeline).arg(&self.device_matrix).arg(&self.device_vector);
        let launch = launch.arg(&self.target).arg(self.columns as u32).arg(self.rows as u32);
        launch.groups(self.rows / GROUP_ROWS).group_size(GROUP).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        // Weight by weight in double precision, as the format's description has it.
        let expected = self.matrix.chunks(self.row_bytes()).map(|row| {
            let weight = |at: usize| {
                let block = &row[at / WEIGHTS * BLOCK..][..BLOCK];
                let (j, high) = (at % WEIGHTS % 16, at % WEIGHTS >= 16);
                let bits = if high { block[2 + j] >> 4 } else { block[2 + j] & 15 };
                f16::from_le_bytes([block[0], block[1]]).to_f64() * (f64::from(bits) - 8.0)
            };
            (0..self.columns).map(|at| weight(at) * f64::from(self.vector[at])).sum()
        });
        compare(&values(results), expected, 1.0, 1e-4)
    }

    fn job(&self) -> Option<Job<'_>> {
        let [matrix, vector, target] = [0, 1, 2].map(Argument::Buffer);
        let sizes = [self.columns, self.rows].map(|size| Argument::U32(size as u32));
        Some(Job {
            cuda: Some(concat!(
                include_str!("../demo/kernels/collective.cu"),
                include_str!("../demo/kernels/q4_0.cu")
            )),
            opencl: vec![include_str!("../demo/kernels/q4_0.cl")],
            buffers: vec![
                Contents::Bytes(&self.matrix),
                Contents::Bytes(bytemuck::cast_slice(&self.vector)),
                Contents::Zeroed(4 * self.rows),
            ],
            steps: vec![JobStep {
                kernel: "q4_0_vector",
                arguments: vec![matrix, vector, target, sizes[0], sizes[1]],
                global: [self.rows / GROUP_ROWS * GROUP, 1, 1],
                local: Some([GROUP, 1, 1]),
            }],
            result: 2,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let weights = (self.rows * self.columns) as f64;
        Work { flops: 2.0 * weights, bytes: self.matrix.len() as f64 }
    }

    fn size(&self) -> String {
        format!("{}×{}", self.rows, self.columns)
    }

    fn plain(&mut self) {
        for (row, out) in self.matrix.chunks(self.row_bytes()).zip(&mut self.scratch) {
            *out = dot(row, &self.vector);
        }
    }

    fn parallel(&mut self) {
        let (row_bytes, vector) = (self.row_bytes(), &self.vector);
        let rows = self.matrix.par_chunks(row_bytes).zip(&mut self.scratch).with_min_len(64);
        rows.for_each(|(row, out)| *out = dot(row, vector));
    }
}
