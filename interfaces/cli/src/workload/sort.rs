//! A bitonic sort, one dispatch a step.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, exact, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "bitonic sort",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/sort.metal"),
    kernels: &["bitonic_step"],
    prepare,
};

struct Sort {
    pipeline: Pipeline,
    keys: Vec<u32>,
    scratch: Vec<u32>,
    target: Buffer<u32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(1 << 9, 1 << 20, 1 << 22);
    let mut rng = Rng::new(7);
    let keys: Vec<u32> = (0..n).map(|_| rng.bits() as u32).collect();
    let target = device.buffer(&keys)?;
    Ok(Box::new(Sort { pipeline: library.pipeline("bitonic_step")?, scratch: keys.clone(), keys, target }))
}

impl Sort {
    /// Block and stride of each step, in order.
    fn strides(&self) -> impl Iterator<Item = (u32, u32)> {
        let levels = self.keys.len().ilog2();
        (1..=levels).flat_map(|block| (0..block).rev().map(move |stride| (1 << block, 1 << stride)))
    }

    fn steps(&self) -> f64 {
        let k = f64::from(self.keys.len().ilog2());
        k * (k + 1.0) / 2.0
    }
}

impl Prepared for Sort {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&self.pipeline);
        encoder.set_buffer(0, &self.target, 0)?;
        for (block, stride) in self.strides() {
            encoder.set_argument(1, block);
            encoder.set_argument(2, stride);
            encoder.dispatch_threads(self.keys.len() / 2, 256usize)?;
        }
        encoder.end_encoding();
        commands.commit()?.wait().map(drop)
    }

    fn reset(&self) -> Result<(), Error> {
        self.target.write(&self.keys)
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let mut expected = self.keys.clone();
        expected.sort_unstable();
        exact(&values(results), &expected)
    }

    fn job(&self) -> Option<Job<'_>> {
        let steps = self.strides().map(|(block, stride)| JobStep {
            kernel: "bitonic_step",
            arguments: vec![Argument::Buffer(0), Argument::U32(block), Argument::U32(stride)],
            global: [self.keys.len() / 2, 1, 1],
            local: None,
        });
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/sort.cu")),
            opencl: vec![include_str!("../demo/kernels/sort.cl")],
            buffers: vec![Contents::Bytes(bytemuck::cast_slice(&self.keys))],
            steps: steps.collect(),
            result: 0,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.keys.len() as f64;
        Work { flops: 0.5 * n * self.steps(), bytes: 8.0 * n * self.steps() }
    }

    fn size(&self) -> String {
        format!("{} integers", self.keys.len())
    }

    fn plain(&mut self) {
        self.scratch.copy_from_slice(&self.keys);
        self.scratch.sort_unstable();
    }

    fn parallel(&mut self) {
        self.scratch.copy_from_slice(&self.keys);
        self.scratch.par_sort_unstable();
    }
}
