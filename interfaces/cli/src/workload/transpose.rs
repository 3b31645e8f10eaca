//! A matrix transposed through tiles in threadgroup memory.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, exact, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "transpose",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/transpose.metal"),
    kernels: &["transpose"],
    prepare,
};

const TILE: usize = 32;

struct Transpose {
    pipeline: Pipeline,
    n: usize,
    values: Vec<f32>,
    scratch: Vec<f32>,
    source: Buffer<f32>,
    target: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(64, 2048, 4096);
    let values = Rng::new(12).floats(n * n);
    Ok(Box::new(Transpose {
        pipeline: library.pipeline("transpose")?,
        source: device.buffer(&values)?,
        target: device.buffer_zeroed(n * n)?,
        scratch: vec![0.0; n * n],
        values,
        n,
    }))
}

/// A band of `TILE` rows of the transpose, tile by tile, through a small array that stays in the cache.
#[multiversion(targets = "simd")]
fn band(values: &[f32], n: usize, first: usize, out: &mut [f32]) {
    let mut tile = [[0.0f32; TILE]; TILE];
    for column in (0..n).step_by(TILE) {
        for (row, tile) in tile.iter_mut().enumerate() {
            tile.copy_from_slice(&values[(column + row) * n + first..][..TILE]);
        }
        for (y, out) in out.chunks_exact_mut(n).enumerate() {
            for (x, out) in out[column..][..TILE].iter_mut().enumerate() {
                *out = tile[x][y];
            }
        }
    }
}

impl Prepared for Transpose {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let groups = self.n / TILE;
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target).arg(self.n as u32);
        launch.groups((groups, groups)).group_size((TILE, 8usize)).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let n = self.n;
        let expected: Vec<f32> = (0..n * n).map(|at| self.values[at % n * n + at / n]).collect();
        exact(&values::<f32>(results), &expected)
    }

    fn job(&self) -> Option<Job<'_>> {
        let n = self.n;
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/transpose.cu")),
            opencl: vec![include_str!("../demo/kernels/transpose.cl")],
            buffers: vec![Contents::Bytes(bytemuck::cast_slice(&self.values)), Contents::Zeroed(4 * n * n)],
            steps: vec![JobStep {
                kernel: "transpose",
                arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::U32(n as u32)],
                global: [n, n / 4, 1],
                local: Some([TILE, 8, 1]),
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        Work { flops: 0.0, bytes: 8.0 * self.values.len() as f64 }
    }

    fn size(&self) -> String {
        format!("{0}×{0}", self.n)
    }

    fn plain(&mut self) {
        for (index, out) in self.scratch.chunks_mut(TILE * self.n).enumerate() {
            band(&self.values, self.n, index * TILE, out);
        }
    }

    fn parallel(&mut self) {
        let (values, n) = (&self.values, self.n);
        let bands = self.scratch.par_chunks_mut(TILE * n).enumerate();
        bands.for_each(|(index, out)| band(values, n, index * TILE, out));
    }
}
