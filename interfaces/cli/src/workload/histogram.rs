//! Counting bytes with atomics in threadgroup memory.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, exact, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "histogram",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/histogram.metal"),
    kernels: &["histogram"],
    prepare,
};

struct Histogram {
    pipeline: Pipeline,
    values: Vec<u8>,
    bins: Vec<u32>,
    source: Buffer<u8>,
    target: Buffer<u32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(1 << 13, 1 << 24, 1 << 26);
    let mut rng = Rng::new(6);
    // The sum of two uniform values: a triangle, so that bins differ.
    let values: Vec<u8> = (0..n)
        .map(|_| {
            let bits = rng.bits();
            ((bits & 0x7f) + ((bits >> 8) & 0x7f)) as u8
        })
        .collect();
    Ok(Box::new(Histogram {
        pipeline: library.pipeline("histogram")?,
        source: device.buffer(&values)?,
        target: device.buffer_zeroed(256)?,
        bins: vec![0; 256],
        values,
    }))
}

fn count(values: &[u8]) -> [u32; 256] {
    let mut bins = [0; 256];
    for &value in values {
        bins[usize::from(value)] += 1;
    }
    bins
}

impl Prepared for Histogram {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.values.len();
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target).arg(n as u32);
        launch.groups(64usize).group_size(256usize).submit()?.wait()?;
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        self.target.write(&[0; 256])
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        exact(&values(results), &count(&self.values))
    }

    fn job(&self) -> Option<Job<'_>> {
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/histogram.cu")),
            opencl: vec![include_str!("../demo/kernels/histogram.cl")],
            buffers: vec![Contents::Bytes(&self.values), Contents::Zeroed(4 * 256)],
            steps: vec![JobStep {
                kernel: "histogram",
                arguments: vec![
                    Argument::Buffer(0),
                    Argument::Buffer(1),
                    Argument::U32(self.values.len() as u32),
                ],
                global: [64 * 256, 1, 1],
                local: Some([256, 1, 1]),
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.values.len() as f64;
        Work { flops: n, bytes: n }
    }

    fn size(&self) -> String {
        format!("{} bytes", self.values.len())
    }

    fn plain(&mut self) {
        self.bins = std::hint::black_box(count(&self.values)).to_vec();
    }

    fn parallel(&mut self) {
        let add = |mut a: [u32; 256], b: [u32; 256]| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        self.bins = self.values.par_chunks(1 << 20).map(count).reduce(|| [0; 256], add).to_vec();
    }
}
