// One kernel that compiles and one that does not.
#include <metal_stdlib>
using namespace metal;

kernel void right(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = 1.0f;
}

template <typename T>
[[kernel]] void wrong(device T* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = missing_function(out[i]);
}

template [[host_name("wrong_float")]] [[kernel]] void wrong<float>(device float*, uint);
