//! The Mandelbrot set: divergent loops.

use super::{Bound, Job, Picture, Prepared, Scale, Verdict, Work, Workload, bytes, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "Mandelbrot",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/mandelbrot.metal"),
    kernels: &["mandelbrot"],
    prepare,
};

const LIMIT: u32 = 1000;

struct Mandelbrot {
    pipeline: Pipeline,
    side: usize,
    window: [f32; 4],
    scratch: Vec<u32>,
    counts: Buffer<u32>,
    /// All iterations of all points, from the reference: the work done.
    iterations: f64,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let side = scale.of(24, 768, 1024);
    let step = 3.0 / side as f32;
    let window = [-2.25, -1.5, step, step];
    let mut scratch = vec![0; side * side];
    rows(&mut scratch, 0, side, window);
    let iterations = scratch.iter().map(|&count| f64::from(count)).sum();
    let pipeline = library.pipeline("mandelbrot")?;
    let counts = device.buffer_zeroed(side * side)?;
    Ok(Box::new(Mandelbrot { pipeline, side, window, scratch, counts, iterations }))
}

/// One point after the other: no compiler vectorises over points that stop at different times.
fn rows(out: &mut [u32], first: usize, side: usize, window: [f32; 4]) {
    for (at, out) in out.iter_mut().enumerate() {
        let (px, py) = (at % side, first + at / side);
        let (cx, cy) = (window[0] + px as f32 * window[2], window[1] + py as f32 * window[3]);
        let (mut x, mut y, mut count) = (0.0f32, 0.0f32, 0);
        while count < LIMIT && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            count += 1;
        }
        *out = count;
    }
}

impl Prepared for Mandelbrot {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let side = self.side as u32;
        let launch =
            queue.launch(&self.pipeline).arg(&self.counts).arg([side, side]).arg(self.window).arg(LIMIT);
        launch.threads((self.side, self.side)).group_size((32usize, 4usize)).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.counts.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        // Chaos near the boundary turns a rounding difference into another count: in fast math a few
        // points may differ, as they do on GPUs; inside and outside none may.
        let got: Vec<u32> = values(results);
        let differ = got.iter().zip(&self.scratch).filter(|(a, b)| a != b).count();
        let share = differ as f64 / got.len() as f64;
        let inside = |counts: &[u32]| counts.iter().filter(|&&count| count == LIMIT).count() as f64;
        let area = inside(&got) / inside(&self.scratch);
        let correct = share < 0.02 && (area - 1.0).abs() < 1e-3;
        let detail =
            format!("{:.2} % of points differ (boundary), area {area:.5} of the reference's", share * 100.0);
        Verdict { correct, detail }
    }

    fn job(&self) -> Option<Job<'_>> {
        let side = self.side;
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/mandelbrot.cu")),
            opencl: vec![include_str!("../demo/kernels/mandelbrot.cl")],
            buffers: vec![Contents::Zeroed(4 * side * side)],
            steps: vec![JobStep {
                kernel: "mandelbrot",
                arguments: vec![
                    Argument::Buffer(0),
                    Argument::U32x2([side as u32; 2]),
                    Argument::F32x4(self.window),
                    Argument::U32(LIMIT),
                ],
                global: [side, side, 1],
                local: None,
            }],
            result: 0,
            product: None,
        })
    }

    fn work(&self) -> Work {
        // Seven operations an iteration: three products, three sums, one comparison.
        Work { flops: 7.0 * self.iterations, bytes: 4.0 * (self.side * self.side) as f64 }
    }

    fn size(&self) -> String {
        format!("{0}×{0}, {LIMIT} iterations", self.side)
    }

    fn plain(&mut self) {
        rows(&mut self.scratch, 0, self.side, self.window);
    }

    fn parallel(&mut self) {
        let (side, window) = (self.side, self.window);
        self.scratch.par_chunks_mut(side).enumerate().for_each(|(y, out)| rows(out, y, side, window));
    }

    fn picture(&self) -> Result<Option<Picture>, Error> {
        let colour = |count: u32| {
            if count >= LIMIT {
                return [8, 8, 24];
            }
            let t = (f64::from(count + 1).ln() / f64::from(LIMIT).ln()).clamp(0.0, 1.0);
            let wave =
                |phase: f64| ((0.5 - 0.5 * ((t * 2.2 + phase) * std::f64::consts::TAU).cos()) * 255.0) as u8;
            [wave(0.0), wave(0.08), wave(0.2)]
        };
        let rgb = self.counts.read()?.into_iter().flat_map(colour).collect();
        let side = self.side as u32;
        Ok(Some(Picture { name: "mandelbrot", width: side, height: side, rgb }))
    }
}
