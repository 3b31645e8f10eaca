// Arithmetic in #if, defined, #elif, macros of the compiler.
//! covers: C++ cpp.cond
//! kernel: check
//! arg 0: i32 0*4
//! expect 0: i32 1 2 1 4

#include <metal_stdlib>
using namespace metal;

#define LEVEL 3
#if (LEVEL << 1) == 6 && defined(LEVEL) && !defined(MISSING)
#define FIRST 1
#else
#define FIRST 0
#endif
#if LEVEL > 5
#define SECOND 1
#elif LEVEL > 2
#define SECOND 2
#else
#error "never"
#endif
#ifdef __METAL_VERSION__
#define THIRD 1
#endif
#undef LEVEL
#define LEVEL 4
kernel void check(device int* out) {
    out[0] = FIRST;
    out[1] = SECOND;
    out[2] = THIRD;
    out[3] = LEVEL;
}
