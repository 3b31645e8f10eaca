// <metal_array> and <metal_uniform>.
#include <metal_stdlib>
using namespace metal;

#define IS(T, E) { static_assert(is_same_v<decltype(E), T>, #E); T r = E; (void)r; }

struct Number { array<uint, 4> limbs; };
constant array<int, 3> table = {1, 2, 3};
static_assert(sizeof(array<uint, 16>) == 64, "layout");

uint sum(array<uint, 4> values) {
  uint total = 0;
  for (auto value : values) total += value;
  for (size_t i = 0; i < values.size(); i++) total += values[i];
  return total;
}

kernel void spaces(device Number* d [[buffer(0)]], constant Number& c [[buffer(1)]], constant array<ulong2, 3>& strides [[buffer(2)]],
                   threadgroup Number* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
  array<uint, 4> local = {1, 2};
  local[2] = c.limbs[i];
  local.fill(3);
  d[0].limbs[i] = local[i] + c.limbs[0] + sum(local) + uint(strides[1].x) + uint(table[2]);
  shared[0].limbs = local;
  shared[0].limbs[1] += d[0].limbs.back() + local.front() + *c.limbs.data();
  d[1].limbs = shared[0].limbs;
  device uint* p = d[1].limbs.data();
  p[0] = local.at(1) + uint(c.limbs.size());
  const array<uint, 2> fixed = {5, 6};
  p[1] = fixed[1];
  array<array<float, 2>, 2> nested = {{{1.0f, 2.0f}, {3.0f, 4.0f}}};
  p[2] = uint(nested[1][0]);
  uniform<int> n = make_uniform(int(i)) / make_uniform(4);
  p[3] = n;
  IS(int, n + 1)
}
