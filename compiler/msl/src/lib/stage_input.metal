// Stage-in data of kernels: an attribute's components, out of a buffer. The words that describe an attribute
// are documented in the crate launch-abi, module stage_input; formats are the words of <metal_texture_formats>.
#pragma METAL fp math_mode(safe)

namespace metal {

// The element of its buffer that a thread gets. An index buffer is read at the thread's step, and the region's
// origin counts from what is found there.
uint __lib_stage_in_element(const device uchar* indices, ulong steps, ulong index_place, uint3 at, uint3 origin) {
  uint function = uint(steps) & 15u;
  if (function == 0) return 0;
  bool is_y = (function & 1u) == 0;
  uint step = (is_y ? at.y : at.x) / uint(steps >> 32);
  if (function >= 3) {
    if ((index_place & 256ul) != 0) step = ((const device uint*)indices)[step];
    else step = ((const device ushort*)indices)[step];
  }
  return (is_y ? origin.y : origin.x) + step;
}

// Components of 8, 16 and 32 bits are loaded one by one: nothing beside the attribute is read.
uint __lib_component(const device uchar* from, uint width, uint position) {
  const device uchar* place = from + (position >> 3);
  if (width == 8) return *place;
  if (width == 16) return *(const device ushort*)place;
  if (width == 32) return *(const device uint*)place;
  return 0;
}
uint4 __lib_attribute_bits(const device uchar* from, ulong format) {
  uint4 widths = __lib_widths(format), at = __lib_positions(format);
  if ((widths.x & 7u) != 0) {
    uint word = *(const device uint*)from;
    if (__lib_kind(format) == __lib_shared_exponent) return uint4(word, 0, 0, 0);
    return __lib_bits(uint4(word, 0, 0, 0), format);
  }
  return uint4(__lib_component(from, widths.x, at.x), __lib_component(from, widths.y, at.y),
               __lib_component(from, widths.z, at.z), __lib_component(from, widths.w, at.w));
}

// Components that a format lacks are those of (0, 0, 0, 1). Integers become floats of the same value; those
// beyond what a float holds exactly are beyond the largest half, too.
float4 __lib_attribute(uint4 bits, ulong format, float) {
  uint kind = __lib_kind(format);
  uint4 widths = __lib_widths(format);
  if (kind == __lib_shared_exponent) return __lib_decode(bits, format, 0.0f);
  float4 value;
  if (kind == __lib_uint) value = float4(bits);
  else if (kind == __lib_sint) value = float4(__lib_sign_extended(bits, widths));
  else if (kind == __lib_float) value = __lib_floats(bits, format);
  else value = __lib_normalized(bits, format);
  return __am_select(value, float4(0, 0, 0, 1), widths == 0u);
}
uint4 __lib_attribute(uint4 bits, ulong format, uint) {
  uint4 widths = __lib_widths(format);
  if (__lib_kind(format) == __lib_sint) bits = uint4(__lib_sign_extended(bits, widths));
  return __am_select(bits, uint4(0, 0, 0, 1), widths == 0u);
}
half4 __lib_attribute(uint4 bits, ulong format, half) { return half4(__lib_attribute(bits, format, 0.0f)); }
int4 __lib_attribute(uint4 bits, ulong format, int) { return int4(__lib_attribute(bits, format, 0u)); }
ushort4 __lib_attribute(uint4 bits, ulong format, ushort) { return ushort4(__lib_attribute(bits, format, 0u)); }
short4 __lib_attribute(uint4 bits, ulong format, short) { return short4(__lib_attribute(bits, format, 0u)); }
uchar4 __lib_attribute(uint4 bits, ulong format, uchar) { return uchar4(__lib_attribute(bits, format, 0u)); }
char4 __lib_attribute(uint4 bits, ulong format, char) { return char4(__lib_attribute(bits, format, 0u)); }

// Threads outside of the region get zeros, and read nothing.
#define __AM_STAGE_IN(T) \
  T##4 __lib_stage_in_##T(const device uchar* buffer, const device uchar* indices, ulong format, ulong place, \
                          ulong steps, ulong index_place, uint3 at, uint3 origin, uint3 size) { \
    if (at.x >= size.x || at.y >= size.y || at.z >= size.z) return T##4(0); \
    ulong element = __lib_stage_in_element(indices, steps, index_place, at, origin); \
    const device uchar* from = buffer + (element * (place & 0xfffffffful) + (place >> 32)); \
    return __lib_attribute(__lib_attribute_bits(from, format), format, T(0)); \
  }
__AM_STAGE_IN(float)
__AM_STAGE_IN(half)
__AM_STAGE_IN(int)
__AM_STAGE_IN(uint)
__AM_STAGE_IN(short)
__AM_STAGE_IN(ushort)
__AM_STAGE_IN(char)
__AM_STAGE_IN(uchar)
#undef __AM_STAGE_IN

}
