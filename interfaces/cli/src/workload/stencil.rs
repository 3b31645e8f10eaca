//! A 5×5 blur of a picture that is drawn here.

use super::{Bound, Job, Picture, Prepared, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "stencil 5×5",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/stencil.metal"),
    kernels: &["blur"],
    prepare,
};

const WEIGHTS: [f32; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];

struct Stencil {
    pipeline: Pipeline,
    side: usize,
    image: Vec<f32>,
    scratch: Vec<f32>,
    source: Buffer<f32>,
    target: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let side = scale.of(48, 2048, 4096);
    let image = draw(side);
    Ok(Box::new(Stencil {
        pipeline: library.pipeline("blur")?,
        source: device.buffer(&image)?,
        target: device.buffer_zeroed(side * side)?,
        scratch: vec![0.0; side * side],
        image,
        side,
    }))
}

/// Rings over a checkerboard: sharp edges at every angle, so that blurring shows.
fn draw(side: usize) -> Vec<f32> {
    let pixel = |at: usize| {
        let (x, y) = ((at % side) as f32 / side as f32 - 0.5, (at / side) as f32 / side as f32 - 0.5);
        let ring = ((x * x + y * y) * 900.0) as i32 % 2;
        let check = ((x * 24.0).floor() + (y * 24.0).floor()) as i32 & 1;
        (0.7 * ring as f32 + 0.3 * check as f32).clamp(0.0, 1.0)
    };
    (0..side * side).map(pixel).collect()
}

#[multiversion(targets = "simd")]
fn blur_row(image: &[f32], side: usize, y: usize, out: &mut [f32]) {
    let row = |dy: isize| {
        let at = (y as isize + dy).clamp(0, side as isize - 1) as usize;
        &image[at * side..][..side]
    };
    let rows = [row(-2), row(-1), row(0), row(1), row(2)];
    for x in (0..2.min(side)).chain(side.saturating_sub(2)..side) {
        out[x] = weigh(&rows, |dx| (x as isize + dx).clamp(0, side as isize - 1) as usize);
    }
    for x in 2..side.saturating_sub(2) {
        let mut sum = 0.0;
        for (row, wy) in rows.iter().zip(WEIGHTS) {
            let window = &row[x - 2..x + 3];
            for (value, wx) in window.iter().zip(WEIGHTS) {
                sum += wy * wx * value;
            }
        }
        out[x] = sum;
    }
}

fn weigh(rows: &[&[f32]; 5], column: impl Fn(isize) -> usize) -> f32 {
    let mut sum = 0.0;
    for (row, wy) in rows.iter().zip(WEIGHTS) {
        for (dx, wx) in (-2..).zip(WEIGHTS) {
            sum += wy * wx * row[column(dx)];
        }
    }
    sum
}

impl Prepared for Stencil {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let side = self.side as u32;
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target).arg([side, side]);
        launch.threads((self.side, self.side)).group_size((32usize, 8usize)).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        // The reference separates the kernel into rows and columns, in double precision.
        let side = self.side;
        let clamp = |at: usize, d: isize| (at as isize + d).clamp(0, side as isize - 1) as usize;
        let along = |get: &dyn Fn(isize) -> f64| -> f64 {
            (-2..).zip(WEIGHTS).map(|(d, w)| f64::from(w) * get(d)).sum()
        };
        let mut rows = vec![0.0f64; side * side];
        for (at, value) in rows.iter_mut().enumerate() {
            let (x, y) = (at % side, at / side);
            *value = along(&|d| f64::from(self.image[y * side + clamp(x, d)]));
        }
        let expected = (0..side * side).map(|at| along(&|d| rows[clamp(at / side, d) * side + at % side]));
        compare(&values(results), expected, 1e-2, 1e-5)
    }

    fn job(&self) -> Option<Job<'_>> {
        let side = self.side;
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/stencil.cu")),
            opencl: vec![include_str!("../demo/kernels/stencil.cl")],
            buffers: vec![
                Contents::Bytes(bytemuck::cast_slice(&self.image)),
                Contents::Zeroed(4 * side * side),
            ],
            steps: vec![JobStep {
                kernel: "blur",
                arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::U32x2([side as u32; 2])],
                global: [side, side, 1],
                local: None,
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = (self.side * self.side) as f64;
        Work { flops: 50.0 * n, bytes: 8.0 * n }
    }

    fn size(&self) -> String {
        format!("{0}×{0} pixels", self.side)
    }

    fn plain(&mut self) {
        for (y, out) in self.scratch.chunks_mut(self.side).enumerate() {
            blur_row(&self.image, self.side, y, out);
        }
    }

    fn parallel(&mut self) {
        let (image, side) = (&self.image, self.side);
        self.scratch.par_chunks_mut(side).enumerate().for_each(|(y, out)| blur_row(image, side, y, out));
    }

    fn picture(&self) -> Result<Option<Picture>, Error> {
        // A corner, before on the left and after on the right.
        let side = 512.min(self.side);
        let after = self.target.read()?;
        let mut rgb = Vec::with_capacity(side * side * 3);
        for at in 0..side * side {
            let (x, y) = (at % side, at / side);
            let from = if x < side / 2 { &self.image } else { &after };
            let grey = (from[y * self.side + x].clamp(0.0, 1.0) * 255.0) as u8;
            rgb.extend([grey; 3]);
        }
        Ok(Some(Picture { name: "stencil", width: side as u32, height: side as u32, rgb }))
    }
}
