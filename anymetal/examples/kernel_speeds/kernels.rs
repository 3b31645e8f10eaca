//! The ten kernels of `anymetal demo`, written in Rust; the MSL of each is beside the command line's demo.

use std::sync::atomic::{AtomicU32, Ordering};

use anymetal::kernel::{
    DeviceStruct, MemFlags, kernel, simd_max, simd_prefix_exclusive_sum, simd_prefix_inclusive_sum, simd_sum,
    threadgroup_barrier,
};
use bytemuck::{Pod, Zeroable};

#[kernel]
pub(super) fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: u32, #[thread_position_in_grid] i: u32) {
    if i < n {
        y[i as usize] = a.mul_add(x[i as usize], y[i as usize]);
    }
}

#[kernel]
pub(super) fn blur(
    source: &[f32],
    target: &mut [f32],
    width: u32,
    height: u32,
    #[thread_position_in_grid] at: [u32; 2],
) {
    if at[0] >= width || at[1] >= height {
        return;
    }
    let weights: [f32; 5] = [1.0 / 16.0, 4.0 / 16.0, 6.0 / 16.0, 4.0 / 16.0, 1.0 / 16.0];
    let mut sum: f32 = 0.0;
    for dy in 0..5 {
        let y = (at[1] as i32 + dy - 2).clamp(0, height as i32 - 1) as u32;
        for dx in 0..5 {
            let x = (at[0] as i32 + dx - 2).clamp(0, width as i32 - 1) as u32;
            sum += weights[dy as usize] * weights[dx as usize] * source[(y * width + x) as usize];
        }
    }
    target[(at[1] * width + at[0]) as usize] = sum;
}

#[kernel]
pub(super) fn reduce(
    values: &[f32],
    partial: &mut [f32],
    n: u32,
    #[threadgroup] shared: &mut [f32; 256],
    #[thread_index_in_threadgroup] tid: u32,
    #[threadgroup_position_in_grid] group: u32,
    #[threads_per_threadgroup] width: u32,
    #[thread_position_in_grid] i: u32,
) {
    shared[tid as usize] = if i < n { values[i as usize] } else { 0.0 };
    threadgroup_barrier(MemFlags::Threadgroup);
    let mut half = width / 2;
    while half > 0 {
        if tid < half {
            shared[tid as usize] += shared[(tid + half) as usize];
        }
        threadgroup_barrier(MemFlags::Threadgroup);
        half /= 2;
    }
    if tid == 0 {
        partial[group as usize] = shared[0];
    }
}

#[kernel]
pub(super) fn softmax(
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

#[kernel]
pub(super) fn scan_groups(
    source: &[u32],
    target: &mut [u32],
    totals: &mut [u32],
    n: u32,
    #[threadgroup] sums: &mut [u32; 32],
    #[thread_position_in_grid] i: u32,
    #[threadgroup_position_in_grid] group: u32,
    #[thread_index_in_threadgroup] tid: u32,
    #[threads_per_threadgroup] width: u32,
    #[thread_index_in_simdgroup] lane: u32,
    #[simdgroup_index_in_threadgroup] simdgroup: u32,
    #[simdgroups_per_threadgroup] simdgroups: u32,
) {
    let value: u32 = if i < n { source[i as usize] } else { 0 };
    let mut within: u32 = simd_prefix_inclusive_sum(value);
    if lane == 31 {
        sums[simdgroup as usize] = within;
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    if simdgroup == 0 {
        let sum: u32 = if lane < simdgroups { sums[lane as usize] } else { 0 };
        sums[lane as usize] = simd_prefix_exclusive_sum(sum);
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    within += sums[simdgroup as usize];
    if i < n {
        target[i as usize] = within;
    }
    if tid == width - 1 {
        totals[group as usize] = within;
    }
}

#[kernel]
pub(super) fn histogram(
    values: &[u8],
    bins: &[AtomicU32],
    n: u32,
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
    for at in (i..n).step_by(threads as usize) {
        local[values[at as usize] as usize].fetch_add(1, Ordering::Relaxed);
    }
    threadgroup_barrier(MemFlags::Threadgroup);
    for bin in (tid..256).step_by(width as usize) {
        let count = local[bin as usize].load(Ordering::Relaxed);
        bins[bin as usize].fetch_add(count, Ordering::Relaxed);
    }
}

#[kernel]
pub(super) fn bitonic_step(keys: &mut [u32], block: u32, stride: u32, #[thread_position_in_grid] i: u32) {
    let low = 2 * i - (i & (stride - 1));
    let high = low + stride;
    let ascending = (low & block) == 0;
    let a = keys[low as usize];
    let b = keys[high as usize];
    if (a > b) == ascending {
        keys[low as usize] = b;
        keys[high as usize] = a;
    }
}

#[kernel]
pub(super) fn matmul(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    n: u32,
    #[threadgroup] left: &mut [[f32; 16]; 16],
    #[threadgroup] right: &mut [[f32; 16]; 16],
    #[thread_position_in_threadgroup] at: [u32; 2],
    #[threadgroup_position_in_grid] tile: [u32; 2],
) {
    let row = tile[1] * 16 + at[1];
    let column = tile[0] * 16 + at[0];
    let mut sum: f32 = 0.0;
    for k in (0..n).step_by(16) {
        left[at[1] as usize][at[0] as usize] = a[(row * n + k + at[0]) as usize];
        right[at[1] as usize][at[0] as usize] = b[((k + at[1]) * n + column) as usize];
        threadgroup_barrier(MemFlags::Threadgroup);
        for j in 0..16 {
            sum = left[at[1] as usize][j as usize].mul_add(right[j as usize][at[0] as usize], sum);
        }
        threadgroup_barrier(MemFlags::Threadgroup);
    }
    c[(row * n + column) as usize] = sum;
}

/// A body, or an acceleration: Metal's `float4`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable, DeviceStruct)]
#[repr(C)]
pub(super) struct Body {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) z: f32,
    pub(super) w: f32,
}

#[kernel]
pub(super) fn nbody(bodies: &[Body], accelerations: &mut [Body], n: u32, #[thread_position_in_grid] i: u32) {
    if i >= n {
        return;
    }
    let here = bodies[i as usize];
    let mut x: f32 = 0.0;
    let mut y: f32 = 0.0;
    let mut z: f32 = 0.0;
    for j in 0..n {
        let other = bodies[j as usize];
        let dx: f32 = other.x - here.x;
        let dy: f32 = other.y - here.y;
        let dz: f32 = other.z - here.z;
        let inverse: f32 = 1.0 / (dx * dx + dy * dy + dz * dz + 0.01).sqrt();
        let scale: f32 = other.w * inverse * inverse * inverse;
        x += dx * scale;
        y += dy * scale;
        z += dz * scale;
    }
    accelerations[i as usize] = Body { x, y, z, w: 0.0 };
}

#[kernel]
pub(super) fn mandelbrot(
    counts: &mut [u32],
    width: u32,
    height: u32,
    limit: u32,
    #[thread_position_in_grid] at: [u32; 2],
) {
    if at[0] >= width || at[1] >= height {
        return;
    }
    let cx = -2.0 + at[0] as f32 * (3.0 / 1024.0);
    let cy = -1.0 + at[1] as f32 * (2.0 / 1024.0);
    let mut x: f32 = 0.0;
    let mut y: f32 = 0.0;
    let mut count = 0;
    while count < limit && x * x + y * y <= 4.0 {
        let next = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = next;
        count += 1;
    }
    counts[(at[1] * width + at[0]) as usize] = count;
}
