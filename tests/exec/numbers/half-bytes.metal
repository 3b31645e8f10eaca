// The bytes of half and bfloat numbers, one by one.
//! kernel: bytes
//! threads: 2
//! group: 2
//! arg 0: u8 0*10
//! arg 1: f32 -2.328125 1.2373046875
//! expect 0: u8 168 192 21 192 168 243 60 158 63 243
#include <metal_stdlib>
using namespace metal;

kernel void bytes(device uchar* out [[buffer(0)]], device const float* in [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  device uchar* own = out + 5 * i;
  ushort bits = as_type<ushort>(half(in[i]));
  own[0] = uchar(bits);
  own[1] = uchar(bits >> 8);
  ushort brain = as_type<ushort>(bfloat(in[i]));
  own[2] = uchar(brain);
  own[3] = uchar(brain >> 8);
  own[4] = as_type<uchar2>(half(in[i])).x;
}
