//! `y = a·x + y`: pure bandwidth.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "saxpy",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/saxpy.metal"),
    kernels: &["saxpy"],
    prepare,
};

const A: f32 = 2.5;

struct Saxpy {
    pipeline: Pipeline,
    x: Vec<f32>,
    y: Vec<f32>,
    scratch: Vec<f32>,
    device_x: Buffer<f32>,
    device_y: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    // 128 MiB an array for measuring: far beyond any cache.
    let n = scale.of(1 << 12, 1 << 24, 1 << 25);
    let mut rng = Rng::new(1);
    let (x, y) = (rng.floats(n), rng.floats(n));
    Ok(Box::new(Saxpy {
        pipeline: library.pipeline("saxpy")?,
        device_x: device.buffer(&x)?,
        device_y: device.buffer(&y)?,
        scratch: y.clone(),
        x,
        y,
    }))
}

#[multiversion(targets = "simd")]
fn axpy(x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = x.mul_add(A, *y);
    }
}

impl Prepared for Saxpy {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.x.len();
        let launch =
            queue.launch(&self.pipeline).arg(&self.device_x).arg(&self.device_y).arg(A).arg(n as u32);
        launch.threads(n).group_size(256usize).submit()?.wait()?;
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        self.device_y.write(&self.y)
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.device_y.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let expected = self.x.iter().zip(&self.y).map(|(&x, &y)| f64::from(x) * f64::from(A) + f64::from(y));
        compare(&values(results), expected, 1e-3, 1e-6)
    }

    fn job(&self) -> Option<Job<'_>> {
        let n = self.x.len();
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/saxpy.cu")),
            opencl: vec![include_str!("../demo/kernels/saxpy.cl")],
            buffers: vec![
                Contents::Bytes(bytemuck::cast_slice(&self.x)),
                Contents::Bytes(bytemuck::cast_slice(&self.y)),
            ],
            steps: vec![JobStep {
                kernel: "saxpy",
                arguments: vec![
                    Argument::Buffer(0),
                    Argument::Buffer(1),
                    Argument::F32(A),
                    Argument::U32(n as u32),
                ],
                global: [n, 1, 1],
                local: None,
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.x.len() as f64;
        Work { flops: 2.0 * n, bytes: 12.0 * n }
    }

    fn size(&self) -> String {
        format!("{} floats", self.x.len())
    }

    fn plain(&mut self) {
        axpy(&self.x, &mut self.scratch);
    }

    fn parallel(&mut self) {
        let chunk = 1 << 16;
        let pairs = self.scratch.par_chunks_mut(chunk).zip(self.x.par_chunks(chunk));
        pairs.for_each(|(y, x)| axpy(x, y));
    }
}
