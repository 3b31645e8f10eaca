// Tensors that the host binds: shapes of their own, strides, slices, products, an optional one.
//! covers: MSL 2.20
//! kernel: transpose
//! threads: 4,3
//! group: 4,3
//! arg 0: i32 0..12
//! shape 0: 4 3
//! arg 1: i32 0*15
//! shape 1: 3 4 strides 1 4
//! arg 2: i32 0*2
//! expect 1: i32 0 4 8 0 1 5 9 0 2 6 10 0 3 7 11
//! expect 2: i32 4 3
//! kernel: product
//! threads: 32
//! group: 32
//! arg 0: f16 1 2 3 4 5 6
//! shape 0: 3 2
//! arg 1: f16 1 0 2 1 0 1
//! shape 1: 2 3
//! arg 2: f32 0*4
//! shape 2: 2 2
//! expect 2: f32 5 5 14 11
//! kernel: optional
//! constant 0: false
//! arg 1: i32 0
//! expect 1: i32 -1
//! kernel: optional
//! constant 0: true
//! arg 0: i32 7 8 9
//! shape 0: 3
//! arg 1: i32 0
//! expect 1: i32 9
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void transpose(tensor<device const int, dextents<int, 2>> from [[buffer(0)]],
                      tensor<device int, dextents<ushort, 2>, tensor_handle> to [[buffer(1)]],
                      device int* lengths [[buffer(2)]], ushort2 at [[thread_position_in_grid]]) {
    to[at.y, at.x] = from[at.x, at.y];
    // Beyond an extent there is nothing.
    to.store(99, at.y + 3, at.x);
    if (all(at == 0)) {
        lengths[0] = from.get_extent(0) + from.load(at.x + 4, at.y);
        lengths[1] = from.slice(1, 0).get_extent(0);
    }
}

kernel void product(tensor<device half, dextents<int, 2>> a, tensor<device half, dextents<int, 2>> b,
                    tensor<device float, extents<int, 2, 2>> c) {
    constexpr auto descriptor = matmul2d_descriptor(16, 16, static_cast<int>(dynamic_extent));
    matmul2d<descriptor, execution_simdgroup> product;
    auto rows = a.slice(0, 0);
    tensor<device half, dextents<int, 2>, tensor_handle, tensor_offset> columns = b.slice(0, 0);
    product.run(rows, columns, c);
}

constant bool is_given [[function_constant(0)]];
kernel void optional(tensor<constant int, dextents<int, 1>> given [[buffer(0), function_constant(is_given)]],
                     device int* out [[buffer(1)]]) {
    *out = is_given ? given[given.get_extent(0) - 1] : -1;
}
