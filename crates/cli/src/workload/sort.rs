//! A bitonic sort, one dispatch a step.

use super::{Bound, Prepared, Rng, Scale, Verdict, Work, Workload, exact};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
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
    let n = if scale == Scale::Bench { 1 << 22 } else { 1 << 20 };
    let mut rng = Rng::new(7);
    let keys: Vec<u32> = (0..n).map(|_| rng.bits() as u32).collect();
    let target = device.buffer(&keys)?;
    Ok(Box::new(Sort { pipeline: library.pipeline("bitonic_step")?, scratch: keys.clone(), keys, target }))
}

impl Sort {
    fn steps(&self) -> f64 {
        let k = f64::from(self.keys.len().ilog2());
        k * (k + 1.0) / 2.0
    }
}

impl Prepared for Sort {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.keys.len();
        let mut last = None;
        let mut block = 2;
        while block <= n {
            let mut stride = block / 2;
            while stride > 0 {
                let launch =
                    queue.launch(&self.pipeline).arg(&self.target).arg(block as u32).arg(stride as u32);
                last = Some(launch.threads(n / 2).group_size(256usize).submit()?);
                stride /= 2;
            }
            block *= 2;
        }
        // A queue runs in order, so the last step's end is the sort's.
        if let Some(last) = last {
            last.wait()?;
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), Error> {
        self.target.write(&self.keys)
    }

    fn verify(&self) -> Result<Verdict, Error> {
        let mut expected = self.keys.clone();
        expected.sort_unstable();
        Ok(exact(&self.target.read()?, &expected))
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
