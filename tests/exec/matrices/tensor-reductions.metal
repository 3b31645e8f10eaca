// Reductions of Metal 4's cooperative tensors, and what stands beside an element of another one. Each writes how many
// elements differ.
//! covers: MSL 2.20
//! kernel: reductions
//! threads: 32
//! group: 32
//! arg 0: u32 0*6
//! arg 1: f32 0*1216
//! expect 0: u32 0 0 0 0 0 0

#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

constant constexpr int M = 24, N = 40, K = 3;

static float left_at(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
static float right_at(int k, int column) { return (k * 5 + column * 2) % 9 - 4; }
static float product_at(int row, int column) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += left_at(row, k) * right_at(k, column);
    return sum;
}

kernel void reductions(device uint* differ [[buffer(0)]], device float* room [[buffer(1)]],
                       uint lane [[thread_index_in_simdgroup]]) {
    device float* a = room;
    device float* b = a + M * K;
    device float* rows = b + K * N;
    device float* columns = rows + M;
    device float* all = columns + N;
    for (int i = lane; i < M * K; i += 32) a[i] = left_at(i / K, i % K);
    for (int i = lane; i < K * N; i += 32) b[i] = right_at(i / N, i % N);
    threadgroup_barrier(mem_flags::mem_device);
    auto A = tensor(a, extents<int, K, M>());
    auto B = tensor(b, extents<int, N, K>());
    matmul2d<matmul2d_descriptor(M, N, K), execution_simdgroup> product;
    auto c = product.get_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    product.run(A, B, c);

    // Maxima of rows, with the lowest number as their start.
    auto highest = product.get_row_reduction_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    reduce_rows(c, highest, reduction_operation::max, -INFINITY);
    highest.store(tensor(rows, extents<int, M>()));
    // Sums of columns.
    auto sums = product.get_column_reduction_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    reduce_columns(c, sums);
    sums.store(tensor(columns, extents<int, N>()));
    threadgroup_barrier(mem_flags::mem_device);
    if (lane == 0) {
        for (int row = 0; row < M; row++) {
            float wanted = -INFINITY;
            for (int column = 0; column < N; column++) wanted = max(wanted, product_at(row, column));
            differ[0] += rows[row] != wanted;
        }
        for (int column = 0; column < N; column++) {
            float wanted = 0;
            for (int row = 0; row < M; row++) wanted += product_at(row, column);
            differ[1] += columns[column] != wanted;
        }
    }

    // What an identity above all elements leaves; it counts once in a sum.
    auto limited = product.get_row_reduction_destination_cooperative_tensor<decltype(A), decltype(B), float>();
    reduce_rows(c, limited, reduction_operation::max, 1000.0f);
    uint wrong = 0;
    for (ushort i = 0; i < limited.get_capacity(); i++) wrong += limited.is_valid_element(i) && limited[i] != 1000;
    reduce_columns(c, sums, reduction_operation::sum, 1.0f);
    for (ushort i = 0; i < sums.get_capacity(); i++) {
        if (sums.is_valid_element(i)) wrong += sums[i] != columns[sums.get_multidimensional_index(i)[0]] + 1;
    }
    wrong = simd_sum(wrong);
    if (lane == 0) differ[2] = wrong;

    // Each element less the maximum of its row.
    wrong = !is_iterator_compatible(c, highest) || is_iterator_compatible(highest, c);
    for (auto it = c.begin(); it != c.end(); it++) {
        if (!it.is_valid_element()) continue;
        auto at = it.get_multidimensional_index();
        auto beside = highest.map_iterator(it);
        wrong += beside.get_multidimensional_index()[0] != at[1];
        *it -= *beside;
    }
    wrong = simd_sum(wrong);
    if (lane == 0) differ[3] = wrong;
    c.store(tensor(all, extents<int, N, M>()));
    threadgroup_barrier(mem_flags::mem_device);
    if (lane == 0) {
        for (int i = 0; i < M * N; i++) differ[4] += all[i] != product_at(i / N, i % N) - rows[i / N];
    }

    // Results as an operand of the next product, and a row that is added to each row.
    matmul2d<matmul2d_descriptor(M, N, N, false, false, false, matmul2d_descriptor::mode::multiply_accumulate), execution_simdgroup> next;
    wrong = !next.is_compatible_as_left_input<half, float, float>(c);
    auto left = next.get_left_input_cooperative_tensor<half, float, float>(c);
    for (ushort i = 0; i < left.get_capacity(); i++) wrong += left[i] != half(c[i]);
    auto d = next.get_destination_cooperative_tensor<decltype(left), decltype(B), float>();
    d.load(tensor(columns, extents<int, N>()));
    for (ushort i = 0; i < d.get_capacity(); i++) {
        if (d.get_mask(i)) wrong += d[i] != columns[d.get_multidimensional_index(i)[0]];
    }
    wrong = simd_sum(wrong);
    if (lane == 0) differ[5] = wrong;
}
