//! Prefix sums in three steps, with SIMD-group scans.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, exact, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "prefix sum",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/scan.metal"),
    kernels: &["scan_groups", "scan_add"],
    prepare,
};

const GROUP: usize = 256;

/// One level of the hierarchy: sums within groups, and the groups' totals.
struct Level {
    count: usize,
    source: Buffer<u32>,
    target: Buffer<u32>,
    totals: Buffer<u32>,
}

struct Scan {
    groups: Pipeline,
    add: Pipeline,
    values: Vec<u32>,
    scratch: Vec<u32>,
    levels: Vec<Level>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(1 << 12, 1 << 22, 1 << 24);
    let mut rng = Rng::new(5);
    let values: Vec<u32> = (0..n).map(|_| (rng.bits() & 0xff) as u32).collect();
    let mut levels = Vec::new();
    let mut source = device.buffer(&values)?;
    let mut count: usize = n;
    loop {
        let totals = device.buffer_zeroed(count.div_ceil(GROUP))?;
        let target = device.buffer_zeroed(count)?;
        levels.push(Level { count, source, target, totals: totals.clone() });
        if count <= GROUP {
            break;
        }
        count = count.div_ceil(GROUP);
        source = totals;
    }
    let (groups, add) = (library.pipeline("scan_groups")?, library.pipeline("scan_add")?);
    Ok(Box::new(Scan { groups, add, scratch: vec![0; n], values, levels }))
}

impl Prepared for Scan {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&self.groups);
        for level in &self.levels {
            for (index, buffer) in [&level.source, &level.target, &level.totals].into_iter().enumerate() {
                encoder.set_buffer(index as u32, buffer, 0)?;
            }
            encoder.set_argument(3, level.count as u32);
            encoder.dispatch_threads(level.count.next_multiple_of(GROUP), GROUP)?;
        }
        encoder.set_pipeline(&self.add);
        for pair in self.levels.windows(2).rev() {
            encoder.set_buffer(0, &pair[0].target, 0)?;
            encoder.set_buffer(1, &pair[1].target, 0)?;
            encoder.set_argument(2, pair[0].count as u32);
            encoder.dispatch_threads(pair[0].count, GROUP)?;
        }
        encoder.end_encoding();
        commands.commit()?.wait().map(drop)
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.levels[0].target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let mut sum = 0u32;
        let expected: Vec<u32> = self
            .values
            .iter()
            .map(|&value| {
                sum = sum.wrapping_add(value);
                sum
            })
            .collect();
        exact(&values(results), &expected)
    }

    fn job(&self) -> Option<Job<'_>> {
        // Buffer 0 is the source; level l has its sums in 1 + 2·l and its groups' totals in 2 + 2·l, which
        // are the next level's source.
        let mut buffers = vec![Contents::Bytes(bytemuck::cast_slice(&self.values))];
        let mut steps = Vec::new();
        for (at, level) in self.levels.iter().enumerate() {
            let groups = level.count.div_ceil(GROUP);
            buffers.extend([Contents::Zeroed(4 * level.count), Contents::Zeroed(4 * groups)]);
            let which = [2 * at, 2 * at + 1, 2 * at + 2].map(Argument::Buffer);
            steps.push(JobStep {
                kernel: "scan_groups",
                arguments: which.into_iter().chain([Argument::U32(level.count as u32)]).collect(),
                global: [groups * GROUP, 1, 1],
                local: Some([GROUP, 1, 1]),
            });
        }
        for (at, level) in self.levels.iter().enumerate().rev().skip(1) {
            let count = Argument::U32(level.count as u32);
            steps.push(JobStep {
                kernel: "scan_add",
                arguments: vec![Argument::Buffer(2 * at + 1), Argument::Buffer(2 * at + 3), count],
                global: [level.count.next_multiple_of(GROUP), 1, 1],
                local: Some([GROUP, 1, 1]),
            });
        }
        let source =
            concat!(include_str!("../demo/kernels/collective.cl"), include_str!("../demo/kernels/scan.cl"));
        let cuda = Some(concat!(
            include_str!("../demo/kernels/collective.cu"),
            include_str!("../demo/kernels/scan.cu")
        ));
        Some(Job { opencl: vec![source], cuda, buffers, steps, result: 1, product: None })
    }

    fn work(&self) -> Work {
        let n = self.values.len() as f64;
        // Three steps read and write the array twice.
        Work { flops: 2.0 * n, bytes: 16.0 * n }
    }

    fn size(&self) -> String {
        format!("{} integers", self.values.len())
    }

    fn plain(&mut self) {
        let mut sum = 0u32;
        for (out, value) in self.scratch.iter_mut().zip(&self.values) {
            sum = sum.wrapping_add(*value);
            *out = sum;
        }
    }

    fn parallel(&mut self) {
        let chunk = 1 << 16;
        let mut totals: Vec<u32> = self
            .values
            .par_chunks(chunk)
            .map(|part| part.iter().fold(0u32, |a, b| a.wrapping_add(*b)))
            .collect();
        let mut sum = 0u32;
        for total in &mut totals {
            let here = *total;
            *total = sum;
            sum = sum.wrapping_add(here);
        }
        let parts = self.scratch.par_chunks_mut(chunk).zip(self.values.par_chunks(chunk)).zip(totals);
        parts.for_each(|((out, values), mut sum)| {
            for (out, value) in out.iter_mut().zip(values) {
                sum = sum.wrapping_add(*value);
                *out = sum;
            }
        });
    }
}
