//! Copies of a permuted tensor into contiguous memory: what frameworks do before an operation that wants its
//! input contiguous. Tokens and heads of an attention layer change places; the innermost 64 elements stay
//! together.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, exact, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use rayon::prelude::*;

/// The position comes from a grid of three dimensions.
pub(super) const GRID: Workload = Workload {
    name: "strided copy",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/copy.metal"),
    kernels: &["copy_grid"],
    prepare: |device, library, scale| prepare(device, library, scale, Form::Grid),
};

/// The position is computed from a flat index by divisions.
pub(super) const FLAT: Workload = Workload {
    name: "strided copy, flat index",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/copy.metal"),
    kernels: &["copy_flat"],
    prepare: |device, library, scale| prepare(device, library, scale, Form::Flat),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Grid,
    Flat,
}

const HEADS: usize = 16;
const WIDTH: usize = 64;

struct Copy {
    pipeline: Pipeline,
    form: Form,
    /// Of the target: batch, heads, tokens, elements.
    shape: [u32; 4],
    /// Of the source, in the target's order.
    strides: [u32; 4],
    values: Vec<f32>,
    scratch: Vec<f32>,
    source: Buffer<f32>,
    target: Buffer<f32>,
    device_shape: Buffer<u32>,
    device_strides: Buffer<u32>,
}

fn prepare(device: &Device, library: &Library, scale: Scale, form: Form) -> Result<Box<dyn Prepared>, Error> {
    let (batch, tokens) = scale.of((1, 8), (4, 2048), (8, 4096));
    let shape = [batch, HEADS, tokens, WIDTH].map(|size| size as u32);
    let strides = [tokens * HEADS * WIDTH, WIDTH, HEADS * WIDTH, 1].map(|stride| stride as u32);
    let values = Rng::new(11).floats(batch * HEADS * tokens * WIDTH);
    Ok(Box::new(Copy {
        pipeline: library.pipeline(if form == Form::Grid { "copy_grid" } else { "copy_flat" })?,
        source: device.buffer(&values)?,
        target: device.buffer_zeroed(values.len())?,
        device_shape: device.buffer(&shape)?,
        device_strides: device.buffer(&strides)?,
        scratch: vec![0.0; values.len()],
        form,
        shape,
        strides,
        values,
    }))
}

/// The rows of one head: in the target they follow each other, in the source the other heads are between
/// them.
fn head(values: &[f32], [_, heads, tokens, width]: [usize; 4], index: usize, out: &mut [f32]) {
    let first = (index / heads * tokens * heads + index % heads) * width;
    for (token, out) in out.chunks_exact_mut(width).enumerate() {
        out.copy_from_slice(&values[first + token * heads * width..][..width]);
    }
}

impl Copy {
    fn sizes(&self) -> [usize; 4] {
        self.shape.map(|size| size as usize)
    }
}

impl Prepared for Copy {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let launch = queue.launch(&self.pipeline).arg(&self.source).arg(&self.target);
        let [batch, heads, tokens, width] = self.sizes();
        let running = match self.form {
            Form::Grid => {
                let launch = launch.arg(self.shape).arg(self.strides);
                launch.threads((width, tokens, batch * heads)).group_size((64usize, 4usize)).submit()?
            }
            Form::Flat => {
                let launch = launch.arg(self.values.len() as u32).arg(&self.device_shape);
                let launch = launch.arg(&self.device_strides).arg(4u32);
                launch.threads(self.values.len()).group_size(256usize).submit()?
            }
        };
        running.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let [_, heads, tokens, width] = self.sizes();
        let from = |at: usize| {
            let (element, row) = (at % width, at / width);
            let (token, batch_head) = (row % tokens, row / tokens);
            let (head, batch) = (batch_head % heads, batch_head / heads);
            self.values[((batch * tokens + token) * heads + head) * width + element]
        };
        let expected: Vec<f32> = (0..self.values.len()).map(from).collect();
        exact(&values::<f32>(results), &expected)
    }

    fn job(&self) -> Option<Job<'_>> {
        let [source, target, shape, strides] = [0, 1, 2, 3].map(Argument::Buffer);
        let [batch, heads, tokens, width] = self.sizes();
        let step = match self.form {
            Form::Grid => JobStep {
                kernel: "copy_grid",
                arguments: vec![source, target, Argument::U32x4(self.shape), Argument::U32x4(self.strides)],
                global: [width, tokens, batch * heads],
                local: None,
            },
            Form::Flat => {
                let (n, dimensions) = (Argument::U32(self.values.len() as u32), Argument::U32(4));
                JobStep {
                    kernel: "copy_flat",
                    arguments: vec![source, target, n, shape, strides, dimensions],
                    global: [self.values.len(), 1, 1],
                    local: None,
                }
            }
        };
        let small = [&self.shape, &self.strides].map(|four| Contents::Bytes(bytemuck::cast_slice(four)));
        let values = Contents::Bytes(bytemuck::cast_slice(&self.values));
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/copy.cu")),
            opencl: vec![include_str!("../demo/kernels/copy.cl")],
            buffers: vec![values, Contents::Zeroed(4 * self.values.len()), small[0], small[1]],
            steps: vec![step],
            result: 1,
            product: None,
        })
    }

    fn work(&self) -> Work {
        Work { flops: 0.0, bytes: 8.0 * self.values.len() as f64 }
    }

    fn size(&self) -> String {
        let [batch, heads, tokens, width] = self.shape;
        format!("{batch}×{tokens}×{heads}×{width}")
    }

    fn plain(&mut self) {
        let sizes = self.sizes();
        for (index, out) in self.scratch.chunks_mut(sizes[2] * WIDTH).enumerate() {
            head(&self.values, sizes, index, out);
        }
    }

    fn parallel(&mut self) {
        let (sizes, values) = (self.sizes(), &self.values);
        let heads = self.scratch.par_chunks_mut(sizes[2] * WIDTH).enumerate();
        heads.for_each(|(index, out)| head(values, sizes, index, out));
    }
}
