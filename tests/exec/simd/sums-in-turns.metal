// Sums over all lanes of a SIMD-group, whose lanes have neighbouring elements: quantised blocks of 8 and 4 bits with a
// scale, vectors of halves, rows of a matrix for each lane's sum, and sums that are not added up over all lanes. The
// last iteration has fewer lanes. Sums are small whole numbers, so their order does not matter. Each kernel writes
// how many sums differ from those of one thread.
//! covers: MSL 6.9.2
//! arg 0: u32 0*4
//! arg 2: f32 0*4096
//! expect 0: u32 0 0 0 0

//! kernel: bytes
//! threads: 64
//! group: 64
//! arg 1: u8 0*8192
//! arg 3: i32 45

//! kernel: nibbles
//! threads: 64
//! group: 64
//! arg 1: u8 0*8192
//! arg 3: i32 75

//! kernel: halves
//! threads: 64
//! group: 64
//! arg 1: f16 0*4096
//! arg 3: i32 93

//! kernel: each_lane
//! threads: 64
//! group: 64
//! arg 1: u8 0*8192
//! arg 3: i32 45

//! kernel: bytes
//! threads: 64
//! group: 64
//! arg 1: u8 0*8192
//! arg 3: i32 0

//! kernel: halves
//! threads: 64
//! group: 64
//! arg 1: f16 0*4096
//! arg 3: i32 31

#include <metal_stdlib>
using namespace metal;

struct block_of_bytes {
    half scale;
    char values[32];
};

struct block_of_nibbles {
    half scale;
    uchar values[16];
};

static void fill(device float* y, uint index) {
    for (int i = index; i < 4096; i += 64) y[i] = (i * 7) % 5 - 2;
}

kernel void bytes(device uint* differ [[buffer(0)]], device block_of_bytes* blocks [[buffer(1)]],
                  device float* y [[buffer(2)]], constant int& count [[buffer(3)]],
                  ushort lane [[thread_index_in_simdgroup]], ushort group [[simdgroup_index_in_threadgroup]],
                  uint index [[thread_position_in_threadgroup]]) {
    fill(y, index);
    for (int b = index; b < 128; b += 64) {
        blocks[b].scale = b % 3 + 1;
        for (int i = 0; i < 32; i++) blocks[b].values[i] = (b + i * 3) % 7 - 3;
    }
    threadgroup_barrier(mem_flags::mem_device);
    const short in_block = lane % 4;
    device const float* own = y + (group * 8 + lane / 4) * 32 + in_block * 8;
    float sums[2] = {0, 0};
    for (int b = group * 8 + lane / 4; b < count; b += 16) {
        float values[8];
        for (short i = 0; i < 8; i++) values[i] = own[i];
        for (short row = 0; row < 2; row++) {
            device const block_of_bytes& block = blocks[row * 64 + b];
            float sum = 0;
            for (short i = 0; i < 8; i++) sum += block.values[in_block * 8 + i] * values[i];
            sums[row] += sum * block.scale;
        }
        own += 16 * 32;
    }
    for (int row = 0; row < 2; row++) {
        float found = simd_sum(sums[row]), wanted = 0;
        for (int b = 0; b < count; b++) {
            for (int i = 0; i < 32 && b / 8 % 2 == group; i++)
                wanted += blocks[row * 64 + b].values[i] * y[b * 32 + i] * blocks[row * 64 + b].scale;
        }
        if (lane == 0) differ[group] += found != wanted;
    }
}

kernel void nibbles(device uint* differ [[buffer(0)]], device block_of_nibbles* blocks [[buffer(1)]],
                    device float* y [[buffer(2)]], constant int& count [[buffer(3)]],
                    ushort lane [[thread_index_in_simdgroup]], ushort group [[simdgroup_index_in_threadgroup]],
                    uint index [[thread_position_in_threadgroup]]) {
    fill(y, index);
    for (int b = index; b < 256; b += 64) {
        blocks[b].scale = b % 3 + 1;
        for (int i = 0; i < 16; i++) blocks[b].values[i] = (b * 5 + i * 29) % 256;
    }
    threadgroup_barrier(mem_flags::mem_device);
    const short in_block = lane % 2 * 8;
    device const float* own = y + lane / 2 * 32 + in_block;
    float sum = 0;
    for (int b = lane / 2; b < count; b += 16) {
        float low = 0, high = 0, all = 0;
        device const ushort* pairs = (device const ushort*)(blocks + group * 128 + b) + 1 + in_block / 2;
        for (short i = 0; i < 8; i += 2) {
            all += own[i] + own[i + 1] + own[i + 16] + own[i + 17];
            low += own[i] * (pairs[i / 2] & 0xF) + own[i + 1] / 256 * (pairs[i / 2] & 0xF00);
            high += own[i + 16] / 16 * (pairs[i / 2] & 0xF0) + own[i + 17] / 4096 * (pairs[i / 2] & 0xF000);
        }
        sum += blocks[group * 128 + b].scale * (all * -8.0f + low + high);
        own += 16 * 32;
    }
    float found = simd_sum(sum), wanted = 0;
    for (int b = 0; b < count; b++) {
        device const block_of_nibbles& block = blocks[group * 128 + b];
        for (int i = 0; i < 16; i++) {
            wanted += block.scale * ((block.values[i] & 15) - 8) * y[b * 32 + i];
            wanted += block.scale * ((block.values[i] >> 4) - 8) * y[b * 32 + i + 16];
        }
    }
    if (lane == 0) differ[group] += found != wanted;
}

kernel void halves(device uint* differ [[buffer(0)]], device half* x [[buffer(1)]], device float* y [[buffer(2)]],
                   constant int& count [[buffer(3)]], ushort lane [[thread_index_in_simdgroup]],
                   ushort group [[simdgroup_index_in_threadgroup]], uint index [[thread_position_in_threadgroup]]) {
    fill(y, index);
    for (int i = index; i < 4096; i += 64) x[i] = i % 11 - 5;
    threadgroup_barrier(mem_flags::mem_device);
    float sum = 0;
    // 16 elements of each lane, in two halves of 32: the index is divided again.
    for (int b = group * 16 + lane / 2; b < count; b += 32) {
        device const half4* halves = (device const half4*)x + (b * 32 + lane % 2 * 16) / 4;
        device const float4* floats = (device const float4*)y + (b * 32 + lane % 2 * 16) / 4;
        for (short i = 0; i < 4; i++) sum += dot(float4(halves[i]), floats[i]);
    }
    float found = simd_sum(sum), wanted = 0;
    for (int i = 0; i < count * 32; i++) wanted += i / 512 % 2 == group ? x[i] * y[i] : 0;
    if (lane == 0) differ[group] += found != wanted;
}

// The sum of lane 5 is used by itself.
kernel void each_lane(device uint* differ [[buffer(0)]], device block_of_bytes* blocks [[buffer(1)]],
                      device float* y [[buffer(2)]], constant int& count [[buffer(3)]],
                      ushort lane [[thread_index_in_simdgroup]],
                      ushort group [[simdgroup_index_in_threadgroup]],
                      uint index [[thread_position_in_threadgroup]]) {
    fill(y, index);
    threadgroup_barrier(mem_flags::mem_device);
    float sum = 0;
    for (int i = lane * 4; i < count; i += 128) sum += y[i] + y[i + 1] + y[i + 2] + y[i + 3];
    float found = simd_sum(sum), wanted = 0, of_lane = 0;
    for (int first = 0; first < count; first += 4) {
        for (int i = first; i < first + 4; i++) {
            wanted += y[i];
            of_lane += first / 4 % 32 == lane ? y[i] : 0;
        }
    }
    if (lane == 0) differ[group] += found != wanted;
    if (lane == 5) differ[group] += sum != of_lane;
}
