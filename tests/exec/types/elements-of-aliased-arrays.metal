//! kernel: values
//! threads: 1
//! arg 0: i32 1 2 3 4 5 6 7 8
//! arg 1: i32 0*4
//! expect 0: i32 1 20 3 4 5 6 7 8
//! expect 1: i32 20 7 9 10
//! oracle: exact
#include <metal_stdlib>
using namespace metal;

using four = int[4];
template <typename T> using two_of = T[2];

struct row {
    four values;
    thread int& operator[](int i) thread { return values[i]; }
    device int& operator[](int i) device { return values[i]; }
    thread int* begin() thread { return values; }
    device int* begin() device { return values; }
};
struct rows {
    two_of<row> all;
    device row& operator[](int i) device { return all[i]; }
    thread row& operator[](int i) thread { return all[i]; }
};

kernel void values(device rows* in [[buffer(0)]], device int* out [[buffer(1)]]) {
    (*in)[0][1] = 20;
    out[0] = in->all[0].begin()[1];
    out[1] = in[0][1].begin()[2];
    rows mine;
    mine[1][3] = 9;
    out[2] = mine.all[1].values[3];
    auto other = mine;
    other[1].begin()[3] += 1;
    out[3] = other[1][3];
}
