//! Matrix multiplication by 16×16 tiles.

use super::{Bound, Prepared, Rng, Scale, Verdict, Work, Workload, compare};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "matmul 16×16",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/matmul.metal"),
    kernels: &["matmul"],
    prepare,
};

struct Matmul {
    pipeline: Pipeline,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    scratch: Vec<f32>,
    buffers: [Buffer<f32>; 3],
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = if scale == Scale::Bench { 1024 } else { 768 };
    let mut rng = Rng::new(8);
    let (a, b) = (rng.floats(n * n), rng.floats(n * n));
    Ok(Box::new(Matmul {
        pipeline: library.pipeline("matmul")?,
        buffers: [device.buffer(&a)?, device.buffer(&b)?, device.buffer_zeroed(n * n)?],
        scratch: vec![0.0; n * n],
        n,
        a,
        b,
    }))
}

/// Rows of the product in the order i, k, j, which vectorises without tiling.
#[multiversion(targets = "simd")]
fn rows(a: &[f32], b: &[f32], n: usize, out: &mut [f32]) {
    for (a, out) in a.chunks(n).zip(out.chunks_mut(n)) {
        out.fill(0.0);
        for (&a, b) in a.iter().zip(b.chunks(n)) {
            for (out, &b) in out.iter_mut().zip(b) {
                *out = a.mul_add(b, *out);
            }
        }
    }
}

impl Prepared for Matmul {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let [a, b, c] = &self.buffers;
        let launch = queue.launch(&self.pipeline).arg(a).arg(b).arg(c).arg(self.n as u32);
        launch.threads((self.n, self.n)).group_size((16usize, 16usize)).submit()?.wait()?;
        Ok(())
    }

    fn verify(&self) -> Result<Verdict, Error> {
        // Every 37th element, in double precision.
        let n = self.n;
        let got = self.buffers[2].read()?;
        let picks: Vec<usize> = (0..n * n).step_by(37).collect();
        let got: Vec<f32> = picks.iter().map(|&at| got[at]).collect();
        let dot = |at: usize| {
            (0..n).map(|k| f64::from(self.a[at / n * n + k]) * f64::from(self.b[k * n + at % n])).sum()
        };
        Ok(compare(&got, picks.iter().map(|&at| dot(at)), 1.0, 1e-5))
    }

    fn work(&self) -> Work {
        let n = self.n as f64;
        Work { flops: 2.0 * n * n * n, bytes: 12.0 * n * n }
    }

    fn size(&self) -> String {
        format!("{0}×{0}", self.n)
    }

    fn plain(&mut self) {
        rows(&self.a, &self.b, self.n, &mut self.scratch);
    }

    fn parallel(&mut self) {
        let (n, b) = (self.n, &self.b);
        let parts = self.a.par_chunks(8 * n).zip(self.scratch.par_chunks_mut(8 * n));
        parts.for_each(|(a, out)| rows(a, b, n, out));
    }
}
