//! Gravity between all pairs.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "n-body",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/nbody.metal"),
    kernels: &["nbody"],
    prepare,
};

struct NBody {
    pipeline: Pipeline,
    bodies: Vec<[f32; 4]>,
    /// The same by component, as a plain program would keep it.
    columns: [Vec<f32>; 4],
    scratch: Vec<[f32; 4]>,
    source: Buffer<[f32; 4]>,
    target: Buffer<[f32; 4]>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(256, 8192, 16384);
    let mut rng = Rng::new(9);
    let bodies: Vec<[f32; 4]> =
        (0..n).map(|_| [rng.unit() - 0.5, rng.unit() - 0.5, rng.unit() - 0.5, rng.unit()]).collect();
    Ok(Box::new(NBody {
        pipeline: library.pipeline("nbody")?,
        source: device.buffer(&bodies)?,
        target: device.buffer_zeroed(n)?,
        columns: std::array::from_fn(|c| bodies.iter().map(|body| body[c]).collect()),
        scratch: vec![[0.0; 4]; n],
        bodies,
    }))
}

#[multiversion(targets = "simd")]
fn acceleration(columns: &[Vec<f32>; 4], here: [f32; 4]) -> [f32; 4] {
    const LANES: usize = 16;
    let mut sums = [[0.0f32; LANES]; 3];
    let [xs, ys, zs, ms] = columns.each_ref().map(|column| column.as_chunks::<LANES>().0);
    let chunks = xs.iter().zip(ys).zip(zs.iter().zip(ms));
    for ((xs, ys), (zs, ms)) in chunks {
        for lane in 0..LANES {
            let (dx, dy, dz) = (xs[lane] - here[0], ys[lane] - here[1], zs[lane] - here[2]);
            let squared = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, 0.01)));
            let inverse = 1.0 / squared.sqrt();
            let weight = ms[lane] * inverse * inverse * inverse;
            sums[0][lane] = dx.mul_add(weight, sums[0][lane]);
            sums[1][lane] = dy.mul_add(weight, sums[1][lane]);
            sums[2][lane] = dz.mul_add(weight, sums[2][lane]);
        }
    }
    [sums[0].iter().sum(), sums[1].iter().sum(), sums[2].iter().sum(), 0.0]
}

impl Prepared for NBody {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.bodies.len();
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target).arg(n as u32);
        launch.threads(n).group_size(256usize).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let got: Vec<[f32; 4]> = values(results);
        let picks: Vec<usize> = (0..self.bodies.len()).step_by(61).collect();
        let flat: Vec<f32> = picks.iter().flat_map(|&i| got[i][..3].to_vec()).collect();
        let expected = picks.iter().flat_map(|&i| {
            let here = self.bodies[i].map(f64::from);
            let mut sum = [0.0; 3];
            for body in &self.bodies {
                let other = body.map(f64::from);
                let d: [f64; 3] = std::array::from_fn(|c| other[c] - here[c]);
                let squared = d.iter().map(|d| d * d).sum::<f64>() + f64::from(0.01f32);
                let weight = other[3] / (squared * squared.sqrt());
                sum.iter_mut().zip(d).for_each(|(sum, d)| *sum += d * weight);
            }
            sum
        });
        compare(&flat, expected, 10.0, 1e-4)
    }

    fn job(&self) -> Option<Job<'_>> {
        let n = self.bodies.len();
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/nbody.cu")),
            opencl: vec![include_str!("../demo/kernels/nbody.cl")],
            buffers: vec![Contents::Bytes(bytemuck::cast_slice(&self.bodies)), Contents::Zeroed(16 * n)],
            steps: vec![JobStep {
                kernel: "nbody",
                arguments: vec![Argument::Buffer(0), Argument::Buffer(1), Argument::U32(n as u32)],
                global: [n, 1, 1],
                local: None,
            }],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.bodies.len() as f64;
        Work { flops: 20.0 * n * n, bytes: 32.0 * n }
    }

    fn size(&self) -> String {
        format!("{} bodies", self.bodies.len())
    }

    fn plain(&mut self) {
        for (out, &here) in self.scratch.iter_mut().zip(&self.bodies) {
            *out = acceleration(&self.columns, here);
        }
    }

    fn parallel(&mut self) {
        let columns = &self.columns;
        let bodies = self.scratch.par_iter_mut().zip(&self.bodies);
        bodies.for_each(|(out, &here)| *out = acceleration(columns, here));
    }
}
