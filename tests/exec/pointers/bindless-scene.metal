// Structures with pointers in a buffer: each thread sums a table that only its address leads to.
//! covers: MSL 2.13
//! kernel: sum
//! threads: 4
//! group: 32
//! arg 0: u64 0 3 0 1 0 4 0 2
//! arg 1: f32 0*4
//! arg 2: f32 1 2 3
//! arg 3: f32 10
//! arg 4: f32 100 200 300 400
//! pointer 0: 0 to 2
//! pointer 0: 16 to 3
//! pointer 0: 32 to 4
//! pointer 0: 48 to 4+8
//! expect 1: f32 6 10 1000 700
#include <metal_stdlib>
using namespace metal;

struct Mesh {
  device const float* values;
  uint count;
};

kernel void sum(constant Mesh* meshes [[buffer(0)]], device float* out [[buffer(1)]],
                uint i [[thread_position_in_grid]]) {
  Mesh mesh = meshes[i];
  float total = 0;
  for (uint k = 0; k < mesh.count; k++) total += mesh.values[k];
  out[i] = total;
}
