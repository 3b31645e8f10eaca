// <metal_relational>.

namespace metal {

#define __AM_CLASSIFY(T, B) \
  B isfinite(T x) { return __am_isfinite(x); } \
  B isinf(T x) { return __am_isinf(x); } \
  B isnan(T x) { return __am_isnan(x); } \
  B isnormal(T x) { return __am_isnormal(x); } \
  B isordered(T x, T y) { return !(__am_isnan(x) | __am_isnan(y)); } \
  B isunordered(T x, T y) { return __am_isnan(x) | __am_isnan(y); } \
  B signbit(T x) { return __am_signbit(x); }
#define __AM_SELECT(T, B) \
  T select(T a, T b, B c) { return __am_select(a, b, c); }
#define __AM_SELECT4(T) \
  __AM_SELECT(T, bool) __AM_SELECT(T##2, bool2) __AM_SELECT(T##3, bool3) __AM_SELECT(T##4, bool4)
#define __AM_CLASSIFY4(T) \
  __AM_CLASSIFY(T, bool) __AM_CLASSIFY(T##2, bool2) __AM_CLASSIFY(T##3, bool3) __AM_CLASSIFY(T##4, bool4)

__AM_CLASSIFY4(float)
__AM_CLASSIFY4(half)
__AM_CLASSIFY4(bfloat)

__AM_SELECT4(bool)
__AM_SELECT4(char)
__AM_SELECT4(uchar)
__AM_SELECT4(short)
__AM_SELECT4(ushort)
__AM_SELECT4(int)
__AM_SELECT4(uint)
__AM_SELECT4(long)
__AM_SELECT4(ulong)
__AM_SELECT4(half)
__AM_SELECT4(bfloat)
__AM_SELECT4(float)

bool any(bool x) { return x; }
bool any(bool2 x) { return __am_any(x); }
bool any(bool3 x) { return __am_any(x); }
bool any(bool4 x) { return __am_any(x); }
bool all(bool x) { return x; }
bool all(bool2 x) { return __am_all(x); }
bool all(bool3 x) { return __am_all(x); }
bool all(bool4 x) { return __am_all(x); }

#undef __AM_CLASSIFY
#undef __AM_CLASSIFY4
#undef __AM_SELECT
#undef __AM_SELECT4

}
