// Pixels of formats in memory: loads, stores, copies, members, sizes.
//! covers: MSL 2.7
//! kernel: loads
//! arg 0: u8 255 0 128 127 255 51 102 255
//! arg 1: f32 0*12
//! expect 1: f32 1.0 0.0 0.5019608 0.49803922 1.0 0.2 0.4 1.0 -1.0 1.0 0.2 0.4
//! kernel: stores
//! arg 0: u8 9*24
//! expect 0: u8 255 0 128 51 255 0 129 127 0 0 255 255 255 7 0 32 255 3 0 191 9 9 9 9
//! kernel: sizes
//! arg 0: u32 0*8
//! expect 0: u32 1 2 2 4 4 8 4 1
#include <metal_stdlib>
using namespace metal;

struct Pair {
    rg8unorm<half2> first;
    rg8unorm<float2> second;
};

kernel void loads(device const uchar* bytes, device float* out) {
    device const rgba8unorm<half4>* pixels = reinterpret_cast<device const rgba8unorm<half4>*>(bytes);
    device const rgba8unorm<float4>* same = reinterpret_cast<device const rgba8unorm<float4>*>(bytes);
    float4 first = same[0];
    half4 second = pixels[1];
    for (int i = 0; i < 4; i++) {
        out[i] = first[i];
        out[4 + i] = round(float(second[i]) * 1000) / 1000;
    }
    r8snorm<float> lowest = *reinterpret_cast<device const r8snorm<float>*>(bytes + 2);
    out[8] = lowest;
    Pair pair = *reinterpret_cast<device const Pair*>(bytes + 4);
    float2 half_of_it = float2(pair.second);
    out[9] = float(half2(pair.first).x);
    out[10] = round(float(half2(pair.first).y) * 1000) / 1000;
    out[11] = half_of_it.x;
}

kernel void stores(device uchar* bytes) {
    threadgroup rgba8unorm<float4> shared[1];
    shared[0] = float4(2, -1, 0.5f, 0.2f);
    device rgba8unorm<float4>* pixels = reinterpret_cast<device rgba8unorm<float4>*>(bytes);
    pixels[0] = shared[0];
    reinterpret_cast<device rgba8snorm<half4>*>(bytes)[1] = half4(-0.0078125h, 0, -1, 1);
    reinterpret_cast<device rg16unorm<float2>*>(bytes)[2] = float2(0, 1);
    reinterpret_cast<device rgb10a2<float4>*>(bytes)[3] = float4(1, 1.0f / 1023, 0.5f, 0);
    srgba8unorm<float4> local = float4(1, 0.001f, 0, 0.75f);
    reinterpret_cast<device srgba8unorm<float4>*>(bytes)[4] = local;
}

kernel void sizes(device uint* out) {
    out[0] = sizeof(r8unorm<half>);
    out[1] = sizeof(r16snorm<float>);
    out[2] = sizeof(rg8unorm<half2>);
    out[3] = sizeof(rgba8snorm<half4>);
    out[4] = sizeof(rg11b10f<half3>);
    out[5] = sizeof(rgba16unorm<float4>);
    out[6] = alignof(rgb9e5<float3>);
    out[7] = alignof(rgba8unorm<half4>) == 1 && float3(rgb9e5<float3>(float3(1, 2, 4))).z == 4 && float3(rg11b10f<float3>(float3(0.5f, 3, 8))).y == 3;
}
