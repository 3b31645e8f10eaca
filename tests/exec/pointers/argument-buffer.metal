// An argument buffer of Metal 3: a structure of pointers, one of them written through, one to a pointer.
//! covers: MSL 2.13
//! kernel: add
//! threads: 5
//! group: 4
//! arg 0: u64 0*4
//! arg 1: f32 1 2 3 4 5
//! arg 2: f32 10 20 30 40 50
//! arg 3: u32 3
//! arg 4: u64 0
//! pointer 0: 0 to 1
//! pointer 0: 8 to 2
//! pointer 0: 16 to 3
//! pointer 0: 24 to 4
//! pointer 4: 0 to 1+4
//! expect 2: f32 13 25 37 40 50
#include <metal_stdlib>
using namespace metal;

struct Args {
  device const float* x [[id(0)]];
  device float* y [[id(1)]];
  constant uint& n [[id(2)]];
  device float* device* more [[id(3)]];
};

kernel void add(device const Args& args [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i < args.n) args.y[i] += args.x[i] + (*args.more)[i];
}
