// Signatures and attributes that a kernel cannot have.
#include <metal_stdlib>
using namespace metal;

kernel int result(device int* x [[buffer(0)]]) { return x[0]; } //~ kernel-result

kernel void neither_buffer_nor_attribute(device int* x [[buffer(0)]], int n) //~ kernel-parameter: neither a buffer
{
    x[0] = n;
}

kernel void thread_pointer(thread int* x) { x[0] = 1; } //~ kernel-parameter: device, constant or threadgroup

kernel void type_of_attribute(device int* x [[buffer(0)]], float i [[thread_position_in_grid]]) //~ kernel-parameter
{
    x[0] = i;
}

kernel void index_too_large(device int* x [[buffer(31)]]) { x[0] = 1; } //~ attribute-argument: between 0 and 30, not 31

kernel void without_index(device int* x [[buffer]]) { x[0] = 1; } //~ attribute-argument: takes an index

kernel void same_index(device int* x [[buffer(1)]],
                       device int* y [[buffer(1)]]) //~ duplicate-index
{
    x[0] = y[0];
}

[[max_total_threads_per_threadgroup(4096)]] //~ attribute-argument: between 1 and 1024
kernel void too_many_threads(device int* x [[buffer(0)]])
{
    x[0] = 1;
}

[[required_threads_per_threadgroup(64, 32)]] //~ attribute-argument: 2048 threads, and a threadgroup has at most 1024
kernel void required_too_many(device int* x [[buffer(0)]])
{
    x[0] = 1;
}

[[required_threads_per_threadgroup]] //~ attribute-argument: takes the threads along x, y and z
kernel void required_without_size(device int* x [[buffer(0)]])
{
    x[0] = 1;
}

[[max_total_threads_per_threadgroup(32), required_threads_per_threadgroup(8, 8)]] //~ attribute-argument: at most 32
kernel void required_beyond_most(device int* x [[buffer(0)]])
{
    x[0] = 1;
}

template <typename T>
kernel void scale(device T* x [[buffer(0)]]) { x[0] *= 2; }

template [[host_name("scale_int")]] kernel void scale<int>(device float*); //~ no-matching-template

template <typename T> struct Pair { T a, b; };
template [[host_name("pair_int")]] kernel void Pair<int>(device int*); //~ not-a-template

kernel void variadic(device int* x [[buffer(0)]], ...) { x[0] = 1; } //~ variadic-function
