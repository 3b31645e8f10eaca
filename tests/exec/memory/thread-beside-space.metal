// `thread` may stand beside the address space that counts.
//! covers: MSL 4.3
//! oracle: clang
//! kernel: rows
//! arg 0: u32 0*4
//! arg 1: u32 1 2 3 4
//! expect 0: u32 1 2 3 4
#include <metal_stdlib>
using namespace metal;
kernel void rows(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]]) {
  thread const device uint* at[2];
  const device thread uint* other = in;
  for (int i = 0; i < 2; i++) at[i] = in + 2 * i;
  for (int i = 0; i < 4; i++) out[i] = i < 3 ? at[i / 2][i % 2] : other[i];
}
