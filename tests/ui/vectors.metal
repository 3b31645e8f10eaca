// Vectors that cannot be made, elements that they do not have, and bits seen as other types.
#include <metal_stdlib>
using namespace metal;

typedef float float8 __attribute__((ext_vector_type(8)));

kernel void lengths(device float* out [[buffer(0)]])
{
    typedef float3 twice __attribute__((ext_vector_type(4))); //~ vector-element
    typedef float many __attribute__((ext_vector_type(17))); //~ vector-size
    typedef float none __attribute__((ext_vector_type(0))); //~ vector-size
    float8 v = 1;
    out[0] = v.s8; //~ bad-swizzle
    out[1] = v.xyzwx; //~ bad-swizzle
    out[2] = v.s; //~ bad-swizzle
    v.s00 = float2(1); //~ not-assignable
    out[3] = max(v, v).s0; //~ no-matching-function
    float4 four = v; //~ no-conversion
}

kernel void bits(device int* out [[buffer(0)]], device float4* in [[buffer(1)]])
{
    int words[4];
    out[0] = as_type<int>(words); //~ bad-bit-cast
    int4 all = as_type<int4>(in); //~ bad-bit-cast
    out[1] = as_type<half>(out[0]); //~ bad-bit-cast
    float2x2 m = as_type<float2x2>(in[0]); //~ bad-bit-cast
}

kernel void longer(device vec<float, 17>* out [[buffer(0)]]) {} //~ vector-size
kernel void packed(device packed_vec<float, 8>* out [[buffer(0)]]) {} //~ vector-size
