// Nested namespaces, aliases, using declarations, names that shadow library functions.
//! covers: C++ basic.namespace, C++ basic.lookup
//! oracle: clang
//! kernel: names
//! arg 0: i32 0*3
//! expect 0: i32 1 2 8

#include <metal_stdlib>
using namespace metal;

namespace outer { namespace inner { static int value() { return 1; } } static int value() { return 2; } }
namespace short_name = outer::inner;
kernel void names(device int* out) {
    using outer::value;
    int max = 5, sign = 3;
    out[0] = short_name::value();
    out[1] = value();
    out[2] = max + sign;
}
