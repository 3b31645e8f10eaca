// A declaration and a definition that differ in qualifiers of a parameter itself are of one function.
//! covers: C++ expr.call
//! kernel: sums
//! arg 0: i32 0*3
//! expect 0: i32 7 9 12

#include <metal_stdlib>
using namespace metal;

int sum(const int2 of, const int more);
struct Scale {
    int by;
    int times(const int n) const;
};
template <typename T> T twice(const T of);

kernel void sums(device int* out) {
    out[0] = sum(int2(1, 2), 4);
    Scale scale = {3};
    out[1] = scale.times(3);
    out[2] = twice(6);
}

inline int sum(int2 of, int more) { return of.x + of.y + more; }
int Scale::times(int n) const {
    n *= by;
    return n;
}
template <typename T> T twice(T of) {
    of += of;
    return of;
}
