//! The kernels of `anymetal demo`, written in Rust, against references.

use std::sync::atomic::{AtomicU32, Ordering};

use anymetal::kernel::{
    DeviceStruct, LaunchGrid, MemFlags, device_fn, kernel, simd_max, simd_sum, threadgroup_barrier,
};
use anymetal::{Device, Queue};
use bytemuck::{Pod, Zeroable};
use half::f16;

fn queue() -> (Device, Queue) {
    let device = Device::system_default().expect("a device");
    let queue = device.queue().expect("a queue");
    (device, queue)
}

fn noise(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 1009.0 - 0.5).collect()
}

fn assert_close(actual: &[f32], expected: &[f32]) {
    assert_eq!(actual.len(), expected.len());
    for (n, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!((a - e).abs() <= 1e-4 * (1.0 + e.abs()), "{n}: {a} is not {e}");
    }
}

#[kernel]
fn saxpy(a: f32, x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    if (i as usize) < y.len() {
        y[i as usize] = a.mul_add(x[i as usize], y[i as usize]);
    }
}

#[test]
fn saxpy_is_its_own_reference() {
    let (device, queue) = queue();
    let (xs, ys) = (noise(1000), noise(1000));
    let (x, y) = (device.buffer(&xs).unwrap(), device.buffer(&ys).unwrap());
    saxpy::launch(&queue, 1024, 2.5, &x, &y).unwrap().wait().unwrap();
    let mut expected = ys;
    saxpy::host(1024, 2.5, &xs, &mut expected).unwrap();
    assert_close(&y.read().unwrap(), &expected);
}

#[kernel]
fn transpose(
    source: &[f32],
    target: &mut [f32],
    width: u32,
    height: u32,
    #[threadgroup] tile: &mut [f32; 1056],
    #[thread_position_in_threadgroup] at: [u32; 2],
    #[threadgroup_position_in_grid] group: [u32; 2],
) {
    let x = group[0] * 32 + at[0];
    let y = group[1] * 32 + at[1];
    if x < width && y < height {
        tile[(at[1] * 33 + at[0]) as usize] = source[(y * width + x) as usize];
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    let x = group[1] * 32 + at[0];
    let y = group[0] * 32 + at[1];
    if x < height && y < width {
        target[(y * height + x) as usize] = tile[(at[0] * 33 + at[1]) as usize];
    }
}

#[test]
fn transpose_goes_through_threadgroup_memory() {
    let (device, queue) = queue();
    let (width, height) = (70, 45);
    let values = noise(width * height);
    let source = device.buffer(&values).unwrap();
    let target = device.buffer_zeroed::<f32>(width * height).unwrap();
    let grid = LaunchGrid::groups((3, 2), (32, 32));
    transpose::launch(&queue, grid, &source, &target, width as u32, height as u32).unwrap().wait().unwrap();
    let expected: Vec<f32> = (0..width * height).map(|n| values[n % height * width + n / height]).collect();
    assert_eq!(target.read().unwrap(), expected);
}

#[kernel]
fn reduce(
    values: &[f32],
    partial: &mut [f32],
    #[threadgroup] shared: &mut [f32],
    #[thread_index_in_threadgroup] tid: u32,
    #[threadgroup_position_in_grid] group: u32,
    #[threads_per_threadgroup] width: u32,
    #[thread_position_in_grid] i: u32,
) {
    let tid = tid as usize;
    shared[tid] = if (i as usize) < values.len() { values[i as usize] } else { 0.0 };
    threadgroup_barrier(MemFlags::Threadgroup);
    let mut half = width as usize / 2;
    while half > 0 {
        if tid < half {
            shared[tid] += shared[tid + half];
        }
        threadgroup_barrier(MemFlags::Threadgroup);
        half /= 2;
    }
    if tid == 0 {
        partial[group as usize] = shared[0];
    }
}

#[test]
fn reductions_take_the_length_of_threadgroup_memory_from_the_launch() {
    let (device, queue) = queue();
    let values = noise(1000);
    let source = device.buffer(&values).unwrap();
    let partial = device.buffer_zeroed::<f32>(4).unwrap();
    let grid = LaunchGrid::groups(4, 256);
    reduce::launch(&queue, grid, &source, &partial, 256).unwrap().wait().unwrap();
    let expected: Vec<f32> = values.chunks(256).map(|part| part.iter().sum()).collect();
    assert_close(&partial.read().unwrap(), &expected);
}

#[kernel]
fn softmax(
    source: &[f32],
    target: &mut [f32],
    columns: u32,
    #[threadgroup] partial: &mut [f32; 32],
    #[threadgroup_position_in_grid] row: u32,
    #[thread_index_in_threadgroup] tid: u32,
    #[threads_per_threadgroup] width: u32,
    #[thread_index_in_simdgroup] lane: u32,
    #[simdgroup_index_in_threadgroup] simdgroup: u32,
    #[simdgroups_per_threadgroup] simdgroups: u32,
) {
    let start = row as usize * columns as usize;
    let mut greatest = f32::NEG_INFINITY;
    for c in (tid..columns).step_by(width as usize) {
        greatest = greatest.max(source[start + c as usize]);
    }
    greatest = simd_max(greatest);
    if lane == 0 {
        partial[simdgroup as usize] = greatest;
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    greatest = simd_max(if lane < simdgroups { partial[lane as usize] } else { f32::NEG_INFINITY });
    threadgroup_barrier(MemFlags::Threadgroup);
    let mut sum = 0.0;
    for c in (tid..columns).step_by(width as usize) {
        let e = (source[start + c as usize] - greatest).exp();
        target[start + c as usize] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if lane == 0 {
        partial[simdgroup as usize] = sum;
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    sum = simd_sum(if lane < simdgroups { partial[lane as usize] } else { 0.0 });
    let scale = 1.0 / sum;
    for c in (tid..columns).step_by(width as usize) {
        target[start + c as usize] *= scale;
    }
}

#[test]
fn softmax_uses_the_functions_of_simdgroups() {
    let (device, queue) = queue();
    let (rows, columns) = (3, 500);
    let values = noise(rows * columns);
    let source = device.buffer(&values).unwrap();
    let target = device.buffer_zeroed::<f32>(rows * columns).unwrap();
    let grid = LaunchGrid::groups(rows, 256);
    softmax::launch(&queue, grid, &source, &target, columns as u32).unwrap().wait().unwrap();
    let mut expected = Vec::new();
    for row in values.chunks(columns) {
        let sum: f32 = row.iter().map(|x| x.exp()).sum();
        expected.extend(row.iter().map(|x| x.exp() / sum));
    }
    assert_close(&target.read().unwrap(), &expected);
}

#[kernel]
fn histogram(
    values: &[u8],
    bins: &[AtomicU32],
    #[threadgroup] local: &mut [AtomicU32; 256],
    #[thread_index_in_threadgroup] tid: u32,
    #[thread_position_in_grid] i: u32,
    #[threads_per_grid] threads: u32,
    #[threads_per_threadgroup] width: u32,
) {
    for bin in (tid..256).step_by(width as usize) {
        local[bin as usize].store(0, Ordering::Relaxed);
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    for at in (i as usize..values.len()).step_by(threads as usize) {
        local[values[at] as usize].fetch_add(1, Ordering::Relaxed);
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    for bin in (tid as usize..local.len()).step_by(width as usize) {
        let count = local[bin].load(Ordering::Relaxed);
        bins[bin].fetch_add(count, Ordering::Relaxed);
    }
}

#[test]
fn histograms_count_with_atomics() {
    let (device, queue) = queue();
    let values: Vec<u8> = (0..10_000u32).map(|i| (i * i % 251) as u8).collect();
    let source = device.buffer(&values).unwrap();
    let bins = device.buffer_zeroed::<u32>(256).unwrap();
    let grid = LaunchGrid::threads(1024).group_size(128);
    histogram::launch(&queue, grid, &source, &bins).unwrap().wait().unwrap();
    let mut expected = [0u32; 256];
    values.iter().for_each(|&value| expected[usize::from(value)] += 1);
    assert_eq!(bins.read().unwrap(), expected);
}

#[derive(Debug, Clone, Copy, Pod, Zeroable, DeviceStruct)]
#[repr(C)]
struct Block {
    scale: f16,
    weights: [u8; 16],
}

/// A weight of 4 bits.
#[device_fn]
fn weight(both: u8, is_high: bool) -> f32 {
    let bits = if is_high { both >> 4 } else { both & 15 };
    (bits as f32) - 8.0
}

#[kernel]
fn q4_0(blocks: &[Block], target: &mut [f32], #[thread_position_in_grid] i: u32) {
    let block = (i / 32) as usize;
    let part = (i % 32) as usize;
    let scale = f32::from(blocks[block].scale);
    let both: u8 = blocks[block].weights[part % 16];
    target[i as usize] = scale * weight(both, part >= 16);
}

#[test]
fn structures_of_bytes_and_halves_are_read() {
    let (device, queue) = queue();
    let block = |n: u8| Block {
        scale: f16::from_f32(0.25 * f32::from(n + 1)),
        weights: std::array::from_fn(|j| (j as u8) << 4 | (15 - j as u8)),
    };
    let blocks: Vec<Block> = (0..4).map(block).collect();
    let source = device.buffer(&blocks).unwrap();
    let target = device.buffer_zeroed::<f32>(128).unwrap();
    q4_0::launch(&queue, 128, &source, &target).unwrap().wait().unwrap();
    let mut expected = vec![0.0; 128];
    q4_0::host(128, &blocks, &mut expected).unwrap();
    assert_close(&target.read().unwrap(), &expected);
    assert_eq!(expected[0], 0.25 * 7.0);
}

const LIMIT: u32 = 200;

#[kernel]
fn mandelbrot(out: &mut [u32], #[thread_position_in_grid] at: [u32; 2], #[threads_per_grid] size: [u32; 2]) {
    let x0 = at[0] as f32 / size[0] as f32 * 3.0 - 2.0;
    let y0 = at[1] as f32 / size[1] as f32 * 2.0 - 1.0;
    let mut x = 0.0;
    let mut y = 0.0;
    let mut count = 0;
    while x * x + y * y <= 4.0 && count < LIMIT {
        let next = x * x - y * y + x0;
        y = 2.0 * x * y + y0;
        x = next;
        count += 1;
    }
    out[(at[1] * size[0] + at[0]) as usize] = count;
}

#[test]
fn mandelbrot_counts_as_the_host_does() {
    let (device, queue) = queue();
    let (width, height) = (96, 64);
    let out = device.buffer_zeroed::<u32>(width * height).unwrap();
    mandelbrot::launch(&queue, (width, height), &out).unwrap().wait().unwrap();
    let mut expected = vec![0; width * height];
    mandelbrot::host((width, height), &mut expected).unwrap();
    let actual = out.read().unwrap();
    let other = actual.iter().zip(&expected).filter(|(a, b)| a != b).count();
    // A point at the edge may count otherwise where products and sums are fused.
    assert!(other * 100 <= width * height, "{other} of {}", width * height);
}

/// The normal distribution's function, by Abramowitz and Stegun, 26.2.17.
#[device_fn]
fn normal(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let sum =
        k * (0.319_381_53 + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_5))));
    let density = 0.398_942_3 * (-0.5 * d * d).exp() * sum;
    if d > 0.0 { 1.0 - density } else { density }
}

#[kernel]
fn black_scholes(
    prices: &[f32],
    strikes: &[f32],
    years: &[f32],
    calls: &mut [f32],
    rate: f32,
    volatility: f32,
    #[thread_position_in_grid] i: u32,
) {
    let i = i as usize;
    let root = years[i].sqrt();
    let d1 = ((prices[i] / strikes[i]).ln() + (rate + 0.5 * volatility * volatility) * years[i])
        / (volatility * root);
    let d2 = d1 - volatility * root;
    let discount = (-rate * years[i]).exp();
    let first: f32 = normal(d1);
    let second: f32 = normal(d2);
    calls[i] = prices[i] * first - strikes[i] * discount * second;
}

#[test]
fn device_functions_are_called() {
    let (device, queue) = queue();
    let n = 300;
    let column = |from: f32, to: f32| -> Vec<f32> {
        noise(n).iter().map(|x| from + (x + 0.5) * (to - from)).collect()
    };
    let (prices, strikes, years) = (column(5.0, 30.0), column(1.0, 100.0), column(0.25, 10.0));
    let bound: Vec<_> = [&prices, &strikes, &years].map(|values| device.buffer(values).unwrap()).into();
    let calls = device.buffer_zeroed::<f32>(n).unwrap();
    black_scholes::launch(&queue, n, &bound[0], &bound[1], &bound[2], &calls, 0.02, 0.3)
        .unwrap()
        .wait()
        .unwrap();
    let mut expected = vec![0.0; n];
    black_scholes::host(n, &prices, &strikes, &years, &mut expected, 0.02, 0.3).unwrap();
    assert_close(&calls.read().unwrap(), &expected);
}

#[kernel]
fn matmul(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    n: u32,
    #[threadgroup] left: &mut [f32; 256],
    #[threadgroup] right: &mut [f32; 256],
    #[thread_position_in_threadgroup] at: [u32; 2],
    #[thread_position_in_grid] to: [u32; 2],
) {
    let mut sum = 0.0;
    for tile in 0..n.div_ceil(16) {
        let column = tile * 16 + at[0];
        let row = tile * 16 + at[1];
        let here = (at[1] * 16 + at[0]) as usize;
        left[here] = if to[1] < n && column < n { a[(to[1] * n + column) as usize] } else { 0.0 };
        right[here] = if row < n && to[0] < n { b[(row * n + to[0]) as usize] } else { 0.0 };
        threadgroup_barrier(MemFlags::Threadgroup);
        for k in 0..16 {
            sum += left[(at[1] * 16 + k) as usize] * right[(k * 16 + at[0]) as usize];
        }
        threadgroup_barrier(MemFlags::Threadgroup);
    }
    if to[0] < n && to[1] < n {
        c[(to[1] * n + to[0]) as usize] = sum;
    }
}

#[test]
fn matrices_are_multiplied_in_tiles() {
    let (device, queue) = queue();
    let n = 50;
    let (a, b) = (noise(n * n), noise(n * n + 7)[7..].to_vec());
    let (left, right) = (device.buffer(&a).unwrap(), device.buffer(&b).unwrap());
    let c = device.buffer_zeroed::<f32>(n * n).unwrap();
    let grid = LaunchGrid::groups((4, 4), (16, 16));
    matmul::launch(&queue, grid, &left, &right, &c, n as u32).unwrap().wait().unwrap();
    let at = |row: usize, column: usize| (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum();
    let expected: Vec<f32> = (0..n * n).map(|i| at(i / n, i % n)).collect();
    assert_close(&c.read().unwrap(), &expected);
}

#[derive(Debug, Clone, Copy, Pod, Zeroable, DeviceStruct)]
#[repr(C)]
struct Body {
    x: f32,
    y: f32,
    z: f32,
    mass: f32,
}

#[kernel]
fn accelerations(bodies: &[Body], out: &mut [Body], softening: f32, #[thread_position_in_grid] i: u32) {
    let own = bodies[i as usize];
    let mut x = 0.0;
    let mut y = 0.0;
    let mut z = 0.0;
    for j in 0..bodies.len() {
        let dx: f32 = bodies[j].x - own.x;
        let dy: f32 = bodies[j].y - own.y;
        let dz: f32 = bodies[j].z - own.z;
        let distance = dx * dx + dy * dy + dz * dz + softening;
        let scale = bodies[j].mass / (distance * distance.sqrt());
        x += dx * scale;
        y += dy * scale;
        z += dz * scale;
    }
    out[i as usize] = Body { x, y, z, mass: own.mass };
}

#[test]
fn structures_are_written_as_literals() {
    let (device, queue) = queue();
    let values = noise(400);
    let bodies: Vec<Body> = bytemuck::cast_slice(&values).to_vec();
    let source = device.buffer(&bodies).unwrap();
    let target = device.buffer_zeroed::<Body>(100).unwrap();
    accelerations::launch(&queue, 100, &source, &target, 0.01).unwrap().wait().unwrap();
    let mut expected = vec![Body::zeroed(); 100];
    accelerations::host(100, &bodies, &mut expected, 0.01).unwrap();
    let actual = target.read().unwrap();
    assert_close(bytemuck::cast_slice(&actual), bytemuck::cast_slice(&expected));
}
