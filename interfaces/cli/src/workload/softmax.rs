//! Softmax of rows, with SIMD-group reductions.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "softmax",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/softmax.metal"),
    kernels: &["softmax"],
    prepare,
};

const COLUMNS: usize = 1024;

struct Softmax {
    pipeline: Pipeline,
    values: Vec<f32>,
    scratch: Vec<f32>,
    source: Buffer<f32>,
    target: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let rows = scale.of(4, 4096, 16384);
    let values: Vec<f32> = Rng::new(4).floats(rows * COLUMNS).iter().map(|v| v * 16.0 - 8.0).collect();
    Ok(Box::new(Softmax {
        pipeline: library.pipeline("softmax")?,
        source: device.buffer(&values)?,
        target: device.buffer_zeroed(values.len())?,
        scratch: vec![0.0; values.len()],
        values,
    }))
}

#[multiversion(targets = "simd")]
fn row(values: &[f32], out: &mut [f32]) {
    let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (out, value) in out.iter_mut().zip(values) {
        *out = (value - greatest).exp();
        sum += *out;
    }
    let scale = 1.0 / sum;
    for out in out {
        *out *= scale;
    }
}

impl Prepared for Softmax {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let rows = self.values.len() / COLUMNS;
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target).arg(COLUMNS as u32);
        launch.groups(rows).group_size(256usize).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let rows = self.values.chunks(COLUMNS).flat_map(|row| {
            let greatest = f64::from(row.iter().copied().fold(f32::MIN, f32::max));
            let exps: Vec<f64> = row.iter().map(|&v| (f64::from(v) - greatest).exp()).collect();
            let sum: f64 = exps.iter().sum();
            exps.into_iter().map(move |e| e / sum)
        });
        compare(&values(results), rows, 1e-9, 1e-4)
    }

    fn job(&self) -> Option<Job<'_>> {
        let rows = self.values.len() / COLUMNS;
        Some(Job {
            cuda: Some(concat!(
                include_str!("../demo/kernels/collective.cu"),
                include_str!("../demo/kernels/softmax.cu")
            )),
            opencl: vec![concat!(
                include_str!("../demo/kernels/collective.cl"),
                include_str!("../demo/kernels/softmax.cl")
            )],
            buffers: vec![
                Contents::Bytes(bytemuck::cast_slice(&self.values)),
                Contents::Zeroed(4 * self.values.len()),
            ],
            steps: vec![JobStep {
                kernel: "softmax",
                arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::U32(COLUMNS as u32)],
                global: [rows * 256, 1, 1],
                local: Some([256, 1, 1]),
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.values.len() as f64;
        Work { flops: 8.0 * n, bytes: 8.0 * n }
    }

    fn size(&self) -> String {
        format!("{}×{COLUMNS} floats", self.values.len() / COLUMNS)
    }

    fn plain(&mut self) {
        for (values, out) in self.values.chunks(COLUMNS).zip(self.scratch.chunks_mut(COLUMNS)) {
            row(values, out);
        }
    }

    fn parallel(&mut self) {
        let rows = self.values.par_chunks(COLUMNS).zip(self.scratch.par_chunks_mut(COLUMNS));
        rows.for_each(|(values, out)| row(values, out));
    }
}
