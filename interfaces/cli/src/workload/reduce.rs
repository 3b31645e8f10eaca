//! A sum by trees in threadgroup memory.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "tree reduction",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/reduce.metal"),
    kernels: &["reduce"],
    prepare,
};

const GROUP: usize = 256;

struct Reduce {
    pipeline: Pipeline,
    values: Vec<f32>,
    source: Buffer<f32>,
    partial: Buffer<f32>,
    sink: f32,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(1 << 12, 1 << 24, 1 << 25);
    let values = Rng::new(3).floats(n);
    Ok(Box::new(Reduce {
        pipeline: library.pipeline("reduce")?,
        source: device.buffer(&values)?,
        partial: device.buffer_zeroed(n.div_ceil(GROUP))?,
        values,
        sink: 0.0,
    }))
}

#[multiversion(targets = "simd")]
fn sum(values: &[f32]) -> f32 {
    // Sixty-four running sums: what it takes for rustc to vectorise a float sum and hide latency.
    let mut sums = [0.0f32; 64];
    let (chunks, rest) = values.as_chunks::<64>();
    let rest: f32 = rest.iter().sum();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum::<f32>() + rest
}

impl Prepared for Reduce {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.values.len();
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.partial).arg(n as u32);
        launch.threads(n).group_size(GROUP).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.partial.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let got: f64 = values::<f32>(results).iter().map(|&v| f64::from(v)).sum();
        let expected: f64 = self.values.iter().map(|&v| f64::from(v)).sum();
        let error = (got - expected).abs() / expected;
        Verdict { correct: error < 1e-6, detail: format!("relative error {error:.1e}, allowed 1e-6") }
    }

    fn job(&self) -> Option<Job<'_>> {
        let n = self.values.len();
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/reduce.cu")),
            opencl: vec![include_str!("../demo/kernels/reduce.cl")],
            buffers: vec![
                Contents::Bytes(bytemuck::cast_slice(&self.values)),
                Contents::Zeroed(4 * n.div_ceil(GROUP)),
            ],
            steps: vec![JobStep {
                kernel: "reduce",
                arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::U32(n as u32)],
                global: [n, 1, 1],
                local: Some([GROUP, 1, 1]),
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.values.len() as f64;
        Work { flops: n, bytes: 4.0 * n }
    }

    fn size(&self) -> String {
        format!("{} floats", self.values.len())
    }

    fn plain(&mut self) {
        self.sink = std::hint::black_box(sum(&self.values));
    }

    fn parallel(&mut self) {
        self.sink = std::hint::black_box(self.values.par_chunks(1 << 16).map(sum).sum());
    }
}
