//! Prices of European options: transcendental functions, no sharing.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobStep};
use multiversion::multiversion;
use rayon::prelude::*;

pub(super) const WORKLOAD: Workload = Workload {
    name: "Black-Scholes",
    bound: Bound::Memory,
    source: include_str!("../demo/kernels/black_scholes.metal"),
    kernels: &["black_scholes"],
    prepare,
};

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;

struct BlackScholes {
    pipeline: Pipeline,
    /// Price, strike, years of each option, by component.
    inputs: [Vec<f32>; 3],
    scratch: [Vec<f32>; 2],
    sources: [Buffer<f32>; 3],
    targets: [Buffer<f32>; 2],
}

fn prepare(device: &Device, library: &Library, scale: Scale) -> Result<Box<dyn Prepared>, Error> {
    let n = scale.of(1 << 10, 1 << 21, 1 << 23);
    let mut rng = Rng::new(14);
    let inputs = [(5.0, 30.0), (1.0, 100.0), (0.25, 10.0)]
        .map(|(low, high)| rng.floats(n).iter().map(|v| low + (high - low) * v).collect::<Vec<f32>>());
    let [price, strike, years] = &inputs;
    Ok(Box::new(BlackScholes {
        pipeline: library.pipeline("black_scholes")?,
        sources: [device.buffer(price)?, device.buffer(strike)?, device.buffer(years)?],
        targets: [device.buffer_zeroed(n)?, device.buffer_zeroed(n)?],
        scratch: [vec![0.0; n], vec![0.0; n]],
        inputs,
    }))
}

#[inline(always)]
fn cumulative_normal(d: f32) -> f32 {
    let k = 1.0 / 0.231_641_9f32.mul_add(d.abs(), 1.0);
    let series = 1.330_274_4f32.mul_add(k, -1.821_255_9).mul_add(k, 1.781_477_9);
    let series = series.mul_add(k, -0.356_563_78).mul_add(k, 0.319_381_53);
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * series * k;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[multiversion(targets = "simd")]
fn prices([price, strike, years]: [&[f32]; 3], [calls, puts]: [&mut [f32]; 2]) {
    let inputs = price.iter().zip(strike).zip(years);
    for (((&price, &strike), &years), (call, put)) in inputs.zip(calls.iter_mut().zip(puts)) {
        let spread = VOLATILITY * years.sqrt();
        let drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years;
        let d1 = ((price / strike).ln() + drift) / spread;
        let (n1, n2) = (cumulative_normal(d1), cumulative_normal(d1 - spread));
        let discounted = strike * (-RATE * years).exp();
        *call = price * n1 - discounted * n2;
        *put = discounted * (1.0 - n2) - price * (1.0 - n1);
    }
}

/// The same in double precision, with the normal distribution integrated by Simpson's rule instead of a
/// polynomial.
fn reference(price: f64, strike: f64, years: f64) -> [f64; 2] {
    let (rate, volatility) = (f64::from(RATE), f64::from(VOLATILITY));
    let normal = |d: f64| {
        let (steps, end) = (200, d.abs().min(9.0));
        let h = end / f64::from(steps);
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        let area = (0..=steps).map(|i| weight(i) * density(f64::from(i) * h)).sum::<f64>() * h / 3.0;
        0.5 + area.copysign(d)
    };
    let spread = volatility * years.sqrt();
    let d1 = ((price / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / spread;
    let discounted = strike * (-rate * years).exp();
    let call = price * normal(d1) - discounted * normal(d1 - spread);
    [call, call + discounted - price]
}

impl Prepared for BlackScholes {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let n = self.inputs[0].len();
        let mut launch = queue.launch(&self.pipeline);
        for buffer in self.sources.iter().chain(&self.targets) {
            launch = launch.arg(buffer);
        }
        let launch = launch.arg(RATE).arg(VOLATILITY).arg(n as u32);
        launch.threads(n).group_size(256usize).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        // Calls only; puts follow from the same values.
        Ok(bytes(&self.targets[0].read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        let got: Vec<f32> = values(results);
        let picks: Vec<usize> = (0..got.len()).step_by(97).collect();
        let got: Vec<f32> = picks.iter().map(|&at| got[at]).collect();
        let [price, strike, years] = &self.inputs;
        let expected = picks
            .iter()
            .map(|&at| reference(f64::from(price[at]), f64::from(strike[at]), f64::from(years[at]))[0]);
        // The polynomial's own error is 7.5e-8 of prices up to 100.
        compare(&got, expected, 1.0, 5e-5)
    }

    fn job(&self) -> Option<Job<'_>> {
        let n = self.inputs[0].len();
        let mut buffers: Vec<_> =
            self.inputs.iter().map(|input| Contents::Bytes(bytemuck::cast_slice(input))).collect();
        buffers.extend([Contents::Zeroed(4 * n); 2]);
        let scalars = [Argument::F32(RATE), Argument::F32(VOLATILITY), Argument::U32(n as u32)];
        Some(Job {
            cuda: Some(include_str!("../demo/kernels/black_scholes.cu")),
            opencl: vec![include_str!("../demo/kernels/black_scholes.cl")],
            buffers,
            steps: vec![JobStep {
                kernel: "black_scholes",
                arguments: (0..5).map(Argument::Buffer).chain(scalars).collect(),
                global: [n, 1, 1],
                local: None,
            }],
            result: 3,
            product: None,
        })
    }

    fn work(&self) -> Work {
        let n = self.inputs[0].len() as f64;
        Work { flops: 60.0 * n, bytes: 20.0 * n }
    }

    fn size(&self) -> String {
        format!("{} options", self.inputs[0].len())
    }

    fn plain(&mut self) {
        let [calls, puts] = &mut self.scratch;
        prices(self.inputs.each_ref().map(|input| input.as_slice()), [calls, puts]);
    }

    fn parallel(&mut self) {
        const CHUNK: usize = 1 << 14;
        let [price, strike, years] = self.inputs.each_ref().map(|input| input.par_chunks(CHUNK));
        let [calls, puts] = self.scratch.each_mut().map(|out| out.par_chunks_mut(CHUNK));
        let parts = price.zip(strike).zip(years).zip(calls.zip(puts));
        parts.for_each(|(((price, strike), years), (calls, puts))| {
            prices([price, strike, years], [calls, puts]);
        });
    }
}
