//! Attention without the matrix of scores ("flash attention"), in half precision.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use anymetal_bench_peers::matrix::{Threads, multiply};
use half::f16;
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "flash attention f16",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/attention.metal"),
    kernels: &["attention"],
    prepare,
};

const WIDTH: usize = 64;
const GROUP: usize = 64;
const SCALE: f32 = 0.125;

struct Attention {
    pipeline: Pipeline,
    heads: usize,
    tokens: usize,
    /// Queries, keys, values: heads, then tokens, then elements.
    inputs: [Vec<f16>; 3],
    scratch: Vec<f32>,
    sources: [Buffer<f16>; 3],
    target: Buffer<f16>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let (heads, tokens) = scale.of((1, 64), (4, 512), (8, 1024));
    let n = heads * tokens * WIDTH;
    let mut rng = Rng::new(16);
    let inputs: [Vec<f16>; 3] =
        std::array::from_fn(|_| rng.floats(n).iter().map(|v| f16::from_f32(v * 4.0 - 2.0)).collect());
    let [queries, keys, elements] = &inputs;
    Ok(Box::new(Attention {
        pipeline: library.pipeline("attention")?,
        sources: [device.buffer(queries)?, device.buffer(keys)?, device.buffer(elements)?],
        target: device.buffer_zeroed(n)?,
        scratch: vec![0.0; n],
        heads,
        tokens,
        inputs,
    }))
}

/// A row of scores becomes weights; returns their sum.
#[multiversion(targets = "simd")]
fn weigh(scores: &mut [f32]) -> f32 {
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores {
        *score = (SCALE * (*score - greatest)).exp();
        sum += *score;
    }
    sum
}

/// One head, as a plain program does it: the scores by a matrix product, softmax, another product.
fn head([queries, keys, elements]: [&[f16]; 3], tokens: usize, out: &mut [f32]) {
    let floats = |from: &[f16]| from.iter().map(|v| v.to_f32()).collect::<Vec<f32>>();
    let (queries, keys, elements) = (floats(queries), floats(keys), floats(elements));
    let mut turned = vec![0.0; WIDTH * tokens];
    for (token, key) in keys.as_chunks::<WIDTH>().0.iter().enumerate() {
        for (at, value) in key.iter().enumerate() {
            turned[at * tokens + token] = *value;
        }
    }
    let mut scores = vec![0.0; tokens * tokens];
    multiply([tokens, WIDTH, tokens], &queries, &turned, &mut scores, Threads::One);
    let sums: Vec<f32> = scores.chunks_exact_mut(tokens).map(weigh).collect();
    multiply([tokens, tokens, WIDTH], &scores, &elements, out, Threads::One);
    for (out, sum) in out.as_chunks_mut::<WIDTH>().0.iter_mut().zip(sums) {
        out.iter_mut().for_each(|out| *out /= sum);
    }
}

impl Attention {
    /// The inputs of head `index`.
    fn of_head(inputs: &[Vec<f16>; 3], tokens: usize, index: usize) -> [&[f16]; 3] {
        inputs.each_ref().map(|input| &input[index * tokens * WIDTH..][..tokens * WIDTH])
    }

    /// The output of one query in double precision, all scores at once.
    fn reference(&self, row: usize) -> Vec<f64> {
        let [queries, keys, elements] = Self::of_head(&self.inputs, self.tokens, row / self.tokens);
        let query = &queries[row % self.tokens * WIDTH..][..WIDTH];
        let dot = |key: &[f16]| query.iter().zip(key).map(|(q, k)| q.to_f64() * k.to_f64()).sum::<f64>();
        let scores: Vec<f64> = keys.chunks(WIDTH).map(|key| dot(key) * f64::from(SCALE)).collect();
        let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let column = |at: usize| {
            let terms = weights.iter().zip(elements.chunks(WIDTH));
            terms.map(|(weight, element)| weight * element[at].to_f64()).sum::<f64>() / sum
        };
        (0..WIDTH).map(column).collect()
    }
}

impl Prepared for Attention {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let [queries, keys, elements] = &self.sources;
        let launch = queue.launch(&self.pipeline).arg(queries).arg(keys).arg(elements).arg(&self.target);
        let launch = launch.arg(self.tokens as u32).arg(SCALE);
        launch.groups((self.tokens / GROUP, self.heads)).group_size(GROUP).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let got: Vec<f16> = values(results);
        let error = |row: usize| {
            let got = got[row * WIDTH..][..WIDTH].iter();
            let errors = got.zip(self.reference(row)).map(|(got, expected)| (got.to_f64() - expected).abs());
            errors.fold(0.0, |worst, error| if error.is_nan() { f64::INFINITY } else { error.max(worst) })
        };
        let worst = (0..self.heads * self.tokens).step_by(7).map(error).fold(0.0, f64::max);
        // Values are within ±2; a half there is exact to 0.0005.
        let detail = format!("greatest error {worst:.1e}, allowed 1e-3");
        Verdict { correct: worst <= 1e-3, detail }
    }

    fn job(&self) -> Option<Job<'_>> {
        let mut buffers: Vec<_> =
            self.inputs.iter().map(|input| Contents::Bytes(bytemuck::cast_slice(input))).collect();
        buffers.push(Contents::Zeroed(2 * self.scratch.len()));
        let scalars = [Argument::U32(self.tokens as u32), Argument::F32(SCALE)];
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/attention.cu")),
            opencl: vec![include_str!("../demo/kernels/attention.cl")],
            buffers,
            steps: vec![JobStep {
                kernel: "attention",
                arguments: (0..4).map(Argument::Buffer).chain(scalars).collect(),
                global: [self.tokens, self.heads, 1],
                local: Some([GROUP, 1, 1]),
            }],
            result: 3,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = (self.heads * self.tokens * self.tokens) as f64;
        Work { flops: 4.0 * n * WIDTH as f64, bytes: 8.0 * self.scratch.len() as f64 }
    }

    fn size(&self) -> String {
        format!("{} heads, {} tokens", self.heads, self.tokens)
    }

    fn plain(&mut self) {
        let tokens = self.tokens;
        for (index, out) in self.scratch.chunks_mut(tokens * WIDTH).enumerate() {
            head(Self::of_head(&self.inputs, tokens, index), tokens, out);
        }
    }

    fn parallel(&mut self) {
        let (tokens, inputs) = (self.tokens, &self.inputs);
        let heads = self.scratch.par_chunks_mut(tokens * WIDTH).enumerate();
        heads.for_each(|(index, out)| head(Self::of_head(inputs, tokens, index), tokens, out));
    }
}
