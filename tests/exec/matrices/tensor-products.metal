// Products of Metal 4's tensors: tiles in threadgroup memory and in threads, edges, transposed operands,
// integers. Each writes how many elements differ from sums of products.
//! covers: MSL 2.20
//! kernel: products
//! threads: 128
//! group: 128
//! arg 0: u32 0*8
//! arg 1: f32 0*4096
//! expect 0: u32 0 0 0 0 0 0 0 0

#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

// Small integers, whose sums are exact in every type.
static float left_at(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
static float right_at(int k, int column) { return (k * 5 + column * 2) % 9 - 4; }
static float expected(int row, int column, int length) {
    float sum = 0;
    for (int k = 0; k < length; k++) sum += left_at(row, k) * right_at(k, column);
    return sum;
}

// Into memory: 40x24 of a length of 37, in tiles of 32x16, the last ones partial.
template <typename T, typename To>
static void into_memory(device float* room, device uint* differ, uint t) {
    constexpr int M = 40, N = 24, K = 37;
    device T* a = reinterpret_cast<device T*>(room);
    device T* b = a + M * K;
    device To* c = reinterpret_cast<device To*>(room + 2600);
    for (int i = t; i < M * K; i += 128) a[i] = T(left_at(i / K, i % K));
    for (int i = t; i < K * N; i += 128) b[i] = T(right_at(i / N, i % N));
    for (int i = t; i < M * N; i += 128) c[i] = To(i % 3);
    threadgroup_barrier(mem_flags::mem_device);
    auto A = tensor(a, dextents<int, 2>(K, M));
    auto B = tensor<device T, dextents<int, 2>, tensor_inline>(b, dextents<int, 2>(N, K));
    auto C = tensor(c, dextents<int, 2>(N, M), array<int, 2>{{1, N}});
    constexpr auto descriptor = matmul2d_descriptor(32, 16, static_cast<int>(dynamic_extent), false, false, false,
                                                    matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroups<4>> product;
    for (int row = 0; row < M; row += 32) {
        for (int column = 0; column < N; column += 16) {
            auto rows = A.slice(0, row);
            auto columns = B.slice(column, 0);
            auto to = C.slice(column, row);
            product.run(rows, columns, to);
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        for (int i = 0; i < M * N; i++) *differ += float(c[i]) != expected(i / N, i % N, K) + i % 3;
    }
    threadgroup_barrier(mem_flags::mem_device);
}

// As llama.cpp does it: tiles in threadgroup memory, the left one stored transposed, sums in threads.
static void in_tiles(threadgroup half* tiles, device float* room, device uint* differ, uint t) {
    constexpr int M = 64, N = 32, K = 32, length = 96;
    threadgroup half* sa = tiles;
    threadgroup half* sb = tiles + K * M;
    auto A = tensor<threadgroup half, dextents<int32_t, 2>, tensor_inline>(sa, dextents<int32_t, 2>(K, M));
    auto B = tensor<threadgroup half, dextents<int32_t, 2>, tensor_inline>(sb, dextents<int32_t, 2>(K, N));
    matmul2d<matmul2d_descriptor(M, N, K, false, true, false, matmul2d_descriptor::mode::multiply_accumulate),
             execution_simdgroups<4>> product;
    auto sums = product.get_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    for (ushort i = 0; i < sums.get_capacity(); i++) {
        if (sums.is_valid_element(i)) sums[i] = 0;
    }
    for (int from = 0; from < length; from += K) {
        for (int i = t; i < M * K; i += 128) sa[i] = half(left_at(i / K, from + i % K));
        for (int i = t; i < N * K; i += 128) sb[i] = half(right_at(from + i % K, i / K));
        threadgroup_barrier(mem_flags::mem_threadgroup);
        auto rows = A.slice(0, 0);
        auto columns = B.slice(0, 0);
        product.run(rows, columns, sums);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (auto it = sums.begin(); it != sums.end(); ++it) *it *= 2;
    auto C = tensor<device float, dextents<int32_t, 2>, tensor_inline>(room, dextents<int32_t, 2>(N + 8, M));
    sums.store(C.slice(8, 0));
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        for (int i = 0; i < M * N; i++) *differ += room[i / N * (N + 8) + 8 + i % N] != 2 * expected(i / N, i % N, length);
    }
    threadgroup_barrier(mem_flags::mem_device);
}

// All operands in the threads of one SIMD-group, stored transposed or not.
template <bool LeftTransposed, bool RightTransposed> static void in_threads(device float* room, device uint* differ, uint t) {
    constexpr int M = 16, N = 32, K = 16;
    constexpr auto descriptor = matmul2d_descriptor(M, N, K, LeftTransposed, RightTransposed, true,
                                                    matmul2d_descriptor::mode::multiply_accumulate);
    if (t < 32) {
        matmul2d<descriptor, execution_simdgroup> product;
        auto a = product.template get_left_input_cooperative_tensor<half, half, float>();
        auto b = product.template get_right_input_cooperative_tensor<half, half, float>();
        auto c = product.template get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
        for (ushort i = 0; i < a.get_capacity(); i++) {
            auto at = a.get_multidimensional_index(i);
            a[i] = half(LeftTransposed ? left_at(at[0], at[1]) : left_at(at[1], at[0]));
        }
        for (ushort i = 0; i < b.get_capacity(); i++) {
            auto at = b.get_multidimensional_index(i);
            b[i] = half(RightTransposed ? right_at(at[0], at[1]) : right_at(at[1], at[0]));
        }
        for (ushort i = 0; i < c.get_capacity(); i++) c[i] = 1;
        product.run(a, b, c);
        c.store(tensor(room, dextents<int, 2>(N, M)));
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (t == 0) {
        for (int i = 0; i < M * N; i++) *differ += room[i] != expected(i / N, i % N, K) + 1;
    }
    threadgroup_barrier(mem_flags::mem_device);
}

// One thread by itself.
static void in_one_thread(device float* room, device uint* differ, uint t) {
    if (t != 5) return;
    float a[3 * 4], b[4 * 5];
    for (int i = 0; i < 12; i++) a[i] = left_at(i / 4, i % 4);
    for (int i = 0; i < 20; i++) b[i] = right_at(i / 5, i % 5);
    auto A = tensor(a, extents<int, 4, 3>());
    auto B = tensor(b, extents<int, 5, 4>());
    matmul2d<matmul2d_descriptor(3, 5, 4), execution_thread> product;
    auto c = product.get_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    product.run(A, B, c);
    for (ushort i = 0; i < c.get_capacity(); i++) {
        auto at = c.get_multidimensional_index(i);
        *differ += c[i] != expected(at[1], at[0], 4);
    }
}

kernel void products(device uint* differ [[buffer(0)]], device float* room [[buffer(1)]],
                     uint t [[thread_index_in_threadgroup]]) {
    threadgroup half tiles[64 * 32 + 32 * 32];
    into_memory<half, float>(room, differ, t);
    into_memory<bfloat, float>(room, differ + 1, t);
    into_memory<char, int>(room, differ + 2, t);
    in_tiles(tiles, room, differ + 3, t);
    in_threads<false, false>(room, differ + 4, t);
    in_threads<true, true>(room, differ + 5, t);
    in_threads<false, true>(room, differ + 6, t);
    in_one_thread(room, differ + 7, t);
}
