//! Layer normalisation of rows, with SIMD-group sums.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "layer norm",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/layer_norm.metal"),
    kernels: &["layer_norm"],
    prepare,
};

const COLUMNS: usize = 1024;
const GROUP: usize = COLUMNS / 4;
const EPSILON: f32 = 1e-5;

struct LayerNorm {
    pipeline: Pipeline,
    values: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    scratch: Vec<f32>,
    source: Buffer<f32>,
    target: Buffer<f32>,
    device_weight: Buffer<f32>,
    device_bias: Buffer<f32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let rows = scale.of(4, 4096, 16384);
    let mut rng = Rng::new(13);
    let values: Vec<f32> = rng.floats(rows * COLUMNS).iter().map(|v| v * 4.0 - 1.0).collect();
    let (weight, bias) = (rng.floats(COLUMNS), rng.floats(COLUMNS));
    Ok(Box::new(LayerNorm {
        pipeline: library.pipeline("layer_norm")?,
        source: device.buffer(&values)?,
        target: device.buffer_zeroed(values.len())?,
        device_weight: device.buffer(&weight)?,
        device_bias: device.buffer(&bias)?,
        scratch: vec![0.0; values.len()],
        values,
        weight,
        bias,
    }))
}

/// Sixteen running sums, so that rustc vectorises.
#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0f32; 16];
    for chunk in values.as_chunks::<16>().0 {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += of(*value);
        }
    }
    sums.iter().sum()
}

#[multiversion(targets = "simd")]
fn row(values: &[f32], weight: &[f32], bias: &[f32], out: &mut [f32]) {
    let mean = sum(values, |value| value) / COLUMNS as f32;
    let variance = sum(values, |value| (value - mean) * (value - mean)) / COLUMNS as f32;
    let scale = 1.0 / (variance + EPSILON).sqrt();
    let parameters = weight.iter().zip(bias);
    for ((out, value), (weight, bias)) in out.iter_mut().zip(values).zip(parameters) {
        *out = ((value - mean) * scale).mul_add(*weight, *bias);
    }
}

impl Prepared for LayerNorm {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let rows = self.values.len() / COLUMNS;
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target);
        let launch = launch.arg(&self.device_weight).arg(&self.device_bias).arg(COLUMNS as u32).arg(EPSILON);
        launch.groups(rows).group_size(GROUP).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let expected = self.values.chunks(COLUMNS).flat_map(|row| {
            let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / COLUMNS as f64;
            let squares = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>();
            let scale = 1.0 / (squares / COLUMNS as f64 + f64::from(EPSILON)).sqrt();
            let parameters = self.weight.iter().zip(&self.bias);
            row.iter().zip(parameters).map(move |(&value, (&weight, &bias))| {
                (f64::from(value) - mean) * scale * f64::from(weight) + f64::from(bias)
            })
        });
        compare(&values(results), expected, 0.1, 1e-5)
    }

    fn job(&self) -> Option<Job<'_>> {
        let inputs = [&self.weight, &self.bias, &self.values];
        let [weight, bias, source] = inputs.map(|input| Contents::Bytes(bytemuck::cast_slice(input)));
        let [a, b, c, d] = [0, 1, 2, 3].map(Argument::Buffer);
        Some(Job {
            cuda: Some(concat!(
                include_str!("../demo/kernels/collective.cu"),
                include_str!("../demo/kernels/layer_norm.cu")
            )),
            opencl: vec![concat!(
                include_str!("../demo/kernels/collective.cl"),
                include_str!("../demo/kernels/layer_norm.cl")
            )],
            buffers: vec![source, Contents::Zeroed(4 * self.values.len()), weight, bias],
            steps: vec![JobStep {
                kernel: "layer_norm",
                arguments: vec![a, b, c, d, Argument::U32(COLUMNS as u32), Argument::F32(EPSILON)],
                global: [self.values.len() / COLUMNS * GROUP, 1, 1],
                local: Some([GROUP, 1, 1]),
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
            row(values, &self.weight, &self.bias, out);
        }
    }

    fn parallel(&mut self) {
        let (weight, bias) = (&self.weight, &self.bias);
        let rows = self.values.par_chunks(COLUMNS).zip(self.scratch.par_chunks_mut(COLUMNS));
        rows.for_each(|(values, out)| row(values, weight, bias, out));
    }
}
