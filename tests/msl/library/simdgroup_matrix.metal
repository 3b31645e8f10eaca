// <metal_simdgroup_matrix>.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

template <typename T> void one_type(device T* d, constant T* c, threadgroup T* t, uint stride) {
  simdgroup_matrix<T, 8, 8> a, b, sum = make_filled_simdgroup_matrix<T, 8>(T(0));
  simdgroup_load(a, d);
  simdgroup_load(a, d + 8, stride);
  simdgroup_load(b, t, 8, 0, false);
  simdgroup_load(b, t, 8, ulong2(1, 2), true);
  simdgroup_load(b, c, ushort(stride), 0, true);
  simdgroup_multiply(sum, a, b);
  simdgroup_multiply_accumulate(sum, a, b, sum);
  sum = a * b;
  sum.thread_elements()[0] += a.thread_elements()[1];
  vec<T, 2> elements = sum.thread_elements();
  reinterpret_cast<thread vec<T, 2>&>(a.thread_elements()) = elements;
  simdgroup_store(sum, d);
  simdgroup_store(sum, d, stride, ulong2(0, 8), true);
  simdgroup_store(sum, t, 8, 0, false);
  simdgroup_matrix<T, 8, 8> diagonal(T(2)), filled = make_filled_simdgroup_matrix<T, 8, 8>(T(3));
  simdgroup_store(diagonal, d);
  simdgroup_store(filled, d);
}

#define TYPE(T) \
  kernel void matrices_of_##T(device T* d [[buffer(0)]], constant T* c [[buffer(1)]], threadgroup T* t [[threadgroup(0)]], \
                              constant uint& stride [[buffer(2)]]) { \
    one_type(d, c, t, stride); \
  }
TYPE(float)
TYPE(half)
TYPE(bfloat)

kernel void mixed(device const half* h [[buffer(0)]], device const bfloat* b [[buffer(1)]], device float* f [[buffer(2)]]) {
  simdgroup_half8x8 x;
  simdgroup_bfloat8x8 y;
  simdgroup_float8x8 z, sums[2][2];
  simdgroup_load(x, h);
  simdgroup_load(y, b);
  simdgroup_load(z, f);
  for (int i = 0; i < 2; i++) sums[i][0] = make_filled_simdgroup_matrix<float, 8>(0.f);
  simdgroup_multiply_accumulate(sums[0][0], x, x, sums[0][0]);
  simdgroup_multiply_accumulate(sums[0][0], y, y, sums[0][0]);
  simdgroup_multiply_accumulate(sums[1][0], x, z, sums[1][0]);
  simdgroup_multiply_accumulate(sums[1][0], z, x, sums[1][0]);
  simdgroup_multiply(z, x, x);
  simdgroup_store(sums[0][0], f);
  simdgroup_store(sums[1][0], f + 64);
}
