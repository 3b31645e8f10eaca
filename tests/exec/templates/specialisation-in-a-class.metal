// Full specialisations of member templates between the members of a class, deduced and written out.
//! covers: C++ temp.expl.spec
//! oracle: clang
//! kernel: fetched
//! arg 0: i32 5 7
//! arg 1: f32 0*4
//! expect 1: f32 5 7 7 12

#include <metal_stdlib>
using namespace metal;

class Context
{
public:
    device int* data;

    template <typename T> T fetch(int at);
    template <> inline float fetch(int at) { return float(data[at]); }
    template <> inline float2 fetch<float2>(int at) { return float2(data[at], data[1]); }
    template <typename T> float twice(T x) { return x + x; }
    template <> float twice(int x) { return fetch<float>(0) + x; }
};

kernel void fetched(device int* data [[buffer(0)]], device float* out [[buffer(1)]])
{
    Context context{data};
    out[0] = context.fetch<float>(0);
    out[1] = context.fetch<float2>(0).y;
    out[2] = context.twice(3.5f);
    out[3] = context.twice(7);
}
