//! Matrix multiplication by 16×16 tiles, by 64×64 tiles with registers, and with SIMD-group matrices, of
//! `float` and of `half`.

use super::{Bound, Job, Prepared, Rng, Scale, Verdict, Work, Workload, bytes, compare, values};
use anymetal::{Buffer, Device, Error, Library, Pipeline, Pod, Queue};
use anymetal_bench_peers::job::{Argument, Contents, JobProduct, JobStep};
use anymetal_bench_peers::matrix::{Threads, multiply};
use half::f16;

pub(super) const TILES_16: Workload = Workload {
    name: "matmul 16×16",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/matmul.metal"),
    kernels: &["matmul"],
    prepare: |device, library, scale| {
        let peer = Peer {
            opencl: &[include_str!("../demo/kernels/matmul.cl")],
            cuda: include_str!("../demo/kernels/matmul.cu"),
        };
        prepare(device, library, scale, "matmul", Grid { tile: 16, group: (16, 16) }, peer)
    },
};

pub(super) const TILES_64: Workload = Workload {
    name: "matmul 64×64",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/matmul64.metal"),
    kernels: &["matmul64"],
    prepare: |device, library, scale| {
        let peer = Peer {
            opencl: &[
                include_str!("../demo/kernels/matmul64.cl"),
                include_str!("../demo/kernels/matmul64_by_component.cl"),
            ],
            cuda: include_str!("../demo/kernels/matmul64.cu"),
        };
        prepare(device, library, scale, "matmul64", Grid { tile: 64, group: (16, 16) }, peer)
    },
};

/// No OpenCL peer: the language has no such matrices on CPUs. Its peer there is the `gemm` crate.
pub(super) const FRAGMENTS: Workload = Workload {
    name: "GEMM simdgroup_matrix",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/gemm.metal"),
    kernels: &["gemm"],
    prepare: |device, library, scale| {
        let peer = Peer { opencl: &[], cuda: include_str!("../demo/kernels/gemm.cu") };
        prepare(device, library, scale, "gemm", Grid { tile: 64, group: (128, 1) }, peer)
    },
};

/// The same in half, with sums in float. The plain alternatives multiply floats.
pub(super) const HALF_FRAGMENTS: Workload = Workload {
    name: "GEMM simdgroup_matrix f16",
    bound: Bound::Compute,
    source: include_str!("../demo/kernels/gemm_half.metal"),
    kernels: &["gemm_half"],
    prepare: |device, library, scale| {
        let peer = Peer { opencl: &[], cuda: include_str!("../demo/kernels/gemm_half.cu") };
        let grid = Grid { tile: 64, group: (128, 1) };
        prepare_of::<f16>(device, library, scale.of(64, 768, 1024), "gemm_half", grid, peer)
    },
};

/// The same of matrices that keep a large GPU busy.
pub(super) const LARGE_FRAGMENTS: Workload = Workload {
    name: "GEMM simdgroup_matrix 4096",
    prepare: |device, library, scale| {
        let peer = Peer { opencl: &[], cuda: include_str!("../demo/kernels/gemm.cu") };
        let grid = Grid { tile: 64, group: (128, 1) };
        prepare_of::<f32>(device, library, scale.of(64, 1024, 4096), "gemm", grid, peer)
    },
    ..FRAGMENTS
};

/// The same in half.
pub(super) const LARGE_HALF_FRAGMENTS: Workload = Workload {
    name: "GEMM simdgroup_matrix f16 4096",
    prepare: |device, library, scale| {
        let peer = Peer { opencl: &[], cuda: include_str!("../demo/kernels/gemm_half.cu") };
        let grid = Grid { tile: 64, group: (128, 1) };
        prepare_of::<f16>(device, library, scale.of(64, 1024, 4096), "gemm_half", grid, peer)
    },
    ..HALF_FRAGMENTS
};

/// The side of the square that a threadgroup computes, and its threads.
struct Grid {
    tile: usize,
    group: (usize, usize),
}

/// The same in other languages, with the same grid.
struct Peer {
    opencl: &'static [&'static str],
    cuda: &'static str,
}

/// An element of the factors.
trait Element: Pod {
    fn of(value: f32) -> Self;
    fn value(self) -> f32;
}

impl Element for f32 {
    fn of(value: f32) -> Self {
        value
    }

    fn value(self) -> f32 {
        self
    }
}

impl Element for f16 {
    fn of(value: f32) -> Self {
        f16::from_f32(value)
    }

    fn value(self) -> f32 {
        self.to_f32()
    }
}

struct Matmul<T: Element> {
    pipeline: Pipeline,
    kernel: &'static str,
    grid: Grid,
    peer: Peer,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    scratch: Vec<f32>,
    /// The factors as the kernel takes them.
    factors: [Vec<T>; 2],
    sources: [Buffer<T>; 2],
    target: Buffer<f32>,
}

fn prepare(
    device: &Device,
    library: &Library,
    scale: Scale,
    kernel: &'static str,
    grid: Grid,
    peer: Peer,
) -> Result<Box<dyn Prepared>, Error> {
    prepare_of::<f32>(device, library, scale.of(64, 768, 1024), kernel, grid, peer)
}

fn prepare_of<T: Element>(
    device: &Device,
    library: &Library,
    n: usize,
    kernel: &'static str,
    grid: Grid,
    peer: Peer,
) -> Result<Box<dyn Prepared>, Error> {
    let mut rng = Rng::new(8);
    let factors: [Vec<T>; 2] = std::array::from_fn(|_| rng.floats(n * n).into_iter().map(T::of).collect());
    let [a, b] = factors.each_ref().map(|matrix| matrix.iter().map(|element| element.value()).collect());
    Ok(Box::new(Matmul {
        pipeline: library.pipeline(kernel)?,
        sources: [device.buffer(&factors[0])?, device.buffer(&factors[1])?],
        target: device.buffer_zeroed(n * n)?,
        scratch: vec![0.0; n * n],
        kernel,
        grid,
        peer,
        n,
        a,
        b,
        factors,
    }))
}

impl<T: Element> Prepared for Matmul<T> {
    fn run(&self, queue: &Queue) -> Result<(), Error> {
        let ([a, b], c) = (&self.sources, &self.target);
        let groups = self.n / self.grid.tile;
        let launch = queue.launch(&self.pipeline).arg(a).arg(b).arg(c).arg(self.n as u32);
        launch.groups((groups, groups)).group_size(self.grid.group).submit()?.wait()?;
        Ok(())
    }

    fn results(&self) -> Result<Vec<u8>, Error> {
        Ok(bytes(&self.target.read()?))
    }

    fn check(&self, results: &[u8]) -> Verdict {
        // Some thirty thousand elements of all rows and columns, in double precision.
        let n = self.n;
        let step = (37 * n * n / (1024 * 1024)).max(37) | 1;
        let got: Vec<f32> = values(results);
        let picks: Vec<usize> = (0..n * n).step_by(step).collect();
        let got: Vec<f32> = picks.iter().map(|&at| got[at]).collect();
        let dot = |at: usize| {
            (0..n).map(|k| f64::from(self.a[at / n * n + k]) * f64::from(self.b[k * n + at % n])).sum()
        };
        // Roundings of a sum in sequence add up.
        let tolerance = 1e-5 * (n as f64 / 1024.0).max(1.0);
        compare(&got, picks.iter().map(|&at| dot(at)), 1.0, tolerance)
    }

    fn job(&self) -> Option<Job<'_>> {
        let inputs = self.factors.each_ref().map(|matrix| Contents::Bytes(bytemuck::cast_slice(matrix)));
        let [a, b, c] = [0, 1, 2].map(Argument::Buffer);
        let (width, height) = self.grid.group;
        let groups = self.n / self.grid.tile;
        Some(Job {
            opencl: self.peer.opencl.to_vec(),
            cuda: Some(self.peer.cuda),
            buffers: vec![inputs[0], inputs[1], Contents::Zeroed(4 * self.n * self.n)],
            steps: vec![JobStep {
                kernel: self.kernel,
                arguments: vec![a, b, c, Argument::U32(self.n as u32)],
                global: [groups * width, groups * height, 1],
                local: Some([width, height, 1]),
            }],
            result: 2,
            product: Some(JobProduct {
                left: 0,
                right: 1,
                rows: self.n as u32,
                columns: self.n as u32,
                inner: self.n as u32,
                is_half: size_of::<T>() == size_of::<f16>(),
            }),
        })
    }

    fn work(&self) -> Work {
        let n = self.n as f64;
        Work { flops: 2.0 * n * n * n, bytes: (2 * size_of::<T>() + 4) as f64 * n * n }
    }

    fn size(&self) -> String {
        format!("{0}×{0}", self.n)
    }

    fn plain(&mut self) {
        multiply([self.n; 3], &self.a, &self.b, &mut self.scratch, Threads::One);
    }

    fn parallel(&mut self) {
        multiply([self.n; 3], &self.a, &self.b, &mut self.scratch, Threads::All);
    }
}
