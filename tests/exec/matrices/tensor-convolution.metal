// Convolutions of Metal 4's tensors: windows over edges, strides, spacing, tiles, sums that go on. Each writes how many
// elements differ from sums of products.
//! covers: MSL 2.20
//! kernel: convolutions
//! threads: 64
//! group: 64
//! arg 0: u32 0*4
//! arg 1: f32 0*3000
//! expect 0: u32 0 0 0 0

#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

constant constexpr int C = 5, W = 9, H = 7, IMAGES = 2, O = 6;

static float activation_at(int c, int x, int y, int n) {
    if (x < 0 || x >= W || y < 0 || y >= H) return 0;
    return (c * 3 + x * 5 + y * 7 + n) % 11 - 5;
}
static float weight_at(int o, int c, int x, int y) { return (o * 2 + c * 5 + x * 3 + y) % 7 - 3; }

// The pixel of a convolution whose window has its middle on it, the later of two middles.
template <int KW, int KH> static float expected(int o, int2 middle, int n, int2 spacing) {
    float sum = 0;
    const int2 half_way = ((int2(KW, KH) - 1) * spacing + 1) / 2;
    for (int y = 0; y < KH; y++) {
        for (int x = 0; x < KW; x++) {
            const int2 at = middle + int2(x, y) * spacing - half_way;
            for (int c = 0; c < C; c++) sum += activation_at(c, at.x, at.y, n) * weight_at(o, c, x, y);
        }
    }
    return sum;
}

// All images at once, into memory, without an offset: as many pixels as there are, divided by the stride.
template <typename T, int KW, int KH, int STRIDE, int SPACING>
static void whole(device float* room, device uint* differ, uint t) {
    constexpr int OW = (W + STRIDE - 1) / STRIDE, OH = (H + STRIDE - 1) / STRIDE;
    device T* a = reinterpret_cast<device T*>(room);
    device T* w = a + C * W * H * IMAGES;
    device float* out = room + 1600;
    for (int i = t; i < C * W * H * IMAGES; i += 64) a[i] = T(activation_at(i % C, i / C % W, i / C / W % H, i / C / W / H));
    for (int i = t; i < O * C * KW * KH; i += 64) w[i] = T(weight_at(i % O, i / O % C, i / O / C % KW, i / O / C / KW));
    threadgroup_barrier(mem_flags::mem_device);
    auto A = tensor(a, dextents<int, 4>(C, W, H, IMAGES));
    auto Weights = tensor(w, dextents<int, 4>(O, C, KW, KH));
    auto To = tensor(out, dextents<int, 4>(O, OW, OH, IMAGES));
    constexpr auto descriptor = convolution2d_descriptor(
        int4(O, OW, OH, IMAGES), int4(C, W, H, IMAGES), int2(KW, KH), convolution2d_activation_layout::nhwc,
        convolution2d_weights_layout::hwio, int2(STRIDE), int2(SPACING));
    convolution2d<descriptor, execution_simdgroups<2>> convolution;
    convolution.run(A, Weights, To);
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        for (int i = 0; i < O * OW * OH * IMAGES; i++) {
            const int2 pixel = int2(i / O % OW, i / O / OW % OH);
            *differ += out[i] != expected<KW, KH>(i % O, pixel * STRIDE, i / O / OW / OH, int2(SPACING));
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
}

// Tiles of 4x4 pixels in threads, twice into the same sums, the last ones partial.
static void in_tiles(device float* room, device uint* differ, uint t) {
    device float* a = room;
    device float* w = a + C * W * H;
    device float* out = room + 1600;
    for (int i = t; i < C * W * H; i += 64) a[i] = activation_at(i % C, i / C % W, i / C / W, 0);
    for (int i = t; i < O * C * 9; i += 64) w[i] = weight_at(i % O, i / O % C, i / O / C % 3, i / O / C / 3);
    threadgroup_barrier(mem_flags::mem_device);
    auto A = tensor(a, dextents<int, 4>(C, W, H, 1));
    auto Weights = tensor(w, dextents<int, 4>(O, C, 3, 3));
    auto To = tensor(out, dextents<int, 4>(O, W, H, 1));
    constexpr auto descriptor = convolution2d_descriptor(
        int4(O, 4, 4, 1), int4(C, 6, 6, 1), int2(3, 3), convolution2d_activation_layout::nhwc,
        convolution2d_weights_layout::hwio, int2(1), int2(1), 1, false, convolution2d_descriptor::mode::multiply_accumulate);
    for (int y = 0; y < H; y += 4) {
        for (int x = 0; x < W; x += 4) {
            convolution2d<descriptor, execution_simdgroups<2>> convolution;
            convolution.set_offsets(int2(x, y));
            auto sums = convolution.get_destination_cooperative_tensor<decltype(A), decltype(Weights), float>();
            for (ushort i = 0; i < sums.get_capacity(); i++) sums[i] = 1;
            convolution.run(A, Weights, sums);
            convolution.run(A, Weights, sums);
            auto tile = To.slice(0, x, y, 0);
            sums.store(tile);
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        for (int i = 0; i < O * W * H; i++) {
            *differ += out[i] != 1 + 2 * expected<3, 3>(i % O, int2(i / O % W, i / O / W), 0, int2(1));
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
}

kernel void convolutions(device uint* differ [[buffer(0)]], device float* room [[buffer(1)]],
                         uint t [[thread_index_in_threadgroup]]) {
    whole<float, 3, 3, 1, 1>(room, differ, t);
    whole<half, 3, 2, 2, 1>(room, differ + 1, t);
    whole<float, 2, 3, 1, 2>(room, differ + 2, t);
    in_tiles(room, differ + 3, t);
}
