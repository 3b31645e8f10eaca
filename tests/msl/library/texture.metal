#include <metal_stdlib>
#include <metal_texture>
using namespace metal;

constexpr sampler at_scope(coord::pixel, address::clamp_to_zero, filter::linear);
constant sampler in_constant(address::repeat, mag_filter::linear, min_filter::nearest, mip_filter::linear, lod_clamp(0.0f, 4.0f));

constant bool has_extra [[function_constant(0)]];

static half4 through(texture2d<half, access::sample> t, sampler s, float2 at) { return t.sample(s, at); }
template <typename T> float total(T t, uint2 at) { return float(t.read(at).x); }

kernel void flat(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                 texture2d<half> sampled [[texture(2)]], sampler given [[sampler(0)]],
                 texture2d<uint, access::read_write> counts, texture2d<int, access::read> i,
                 texture2d<short, access::read> s16, texture2d<ushort, access::write> u16,
                 texture2d<float> extra [[texture(9), function_constant(has_extra)]],
                 uint2 gid [[thread_position_in_grid]], ushort2 small [[thread_position_in_threadgroup]]) {
  if (gid.x >= out.get_width() || gid.y >= out.get_height(0)) return;
  constexpr sampler nearest;
  constexpr sampler bordered(address::clamp_to_border, border_color::opaque_white, s_address::mirrored_repeat, max_anisotropy(4));
  float2 uv = (float2(gid) + 0.5f) / float2(out.get_width(), out.get_height());
  float4 color = in.read(gid) + in.read(small, 0) + float4(sampled.sample(nearest, uv)) + float4(sampled.sample(given, uv, level(1)));
  color += float4(sampled.sample(bordered, uv, int2(1, -1))) + float4(sampled.sample(at_scope, float2(gid), bias(0.5f), int2(2)));
  color += float4(sampled.sample(in_constant, uv, gradient2d(float2(0.1f), float2(0.2f)))) + float4(through(sampled, nearest, uv));
  color += float4(sampled.gather(nearest, uv)) + float4(sampled.gather(nearest, uv, int2(0), component::w));
  color += float4(i.read(gid)) + float4(s16.read(gid)) + total(in, gid);
  color += sampled.get_num_mip_levels();
  if (has_extra) color += extra.sample(nearest, uv);
  if (is_null_texture(extra)) color.w = 1.0f;
  out.write(color, gid);
  out.write(0.5f, small);
  u16.write(ushort4(1, 2, 3, 4), gid);
  counts.write(counts.read(gid) + 1, gid);
  counts.fence();
}

kernel void others(texture1d<float, access::read_write> line, texture1d_array<float> lines, texture2d_array<float, access::sample> layers,
                   texture2d_array<half, access::write> out_layers, texture3d<float> volume, texture3d<uint, access::write> out_volume,
                   texturecube<float> cube, texturecube_array<float> cubes, texturecube<half, access::write> out_cube,
                   texture_buffer<float, access::read_write> texels, uint3 gid [[thread_position_in_grid]]) {
  constexpr sampler s(filter::linear, r_address::repeat);
  float4 color = line.read(gid.x) + lines.sample(s, 0.5f, 1) + lines.read(gid.x, 1);
  color += layers.sample(s, float2(0.5f), gid.z) + layers.read(gid.xy, gid.z) + layers.sample(s, float2(0.1f), 2, level(0.5f), int2(1));
  color += layers.gather(s, float2(0.5f), 1) + volume.sample(s, float3(0.5f)) + volume.read(gid) + volume.sample(s, float3(0.5f), level(2.0f), int3(1));
  color += cube.sample(s, float3(gid)) + cubes.sample(s, float3(gid), 1, level(0)) + cube.read(gid.xy, 3) + cubes.read(gid.xy, 3, 1);
  color += texels.read(gid.x) + layers.get_array_size() + volume.get_depth() + cubes.get_array_size() + line.get_width() + texels.get_width();
  line.write(color, gid.x);
  out_layers.write(half4(color), gid.xy, gid.z);
  out_volume.write(uint4(1), gid);
  out_cube.write(half4(color), gid.xy, 5);
  texels.write(color, gid.x);
}

kernel void arrays(array<texture2d<float>, 3> all [[texture(1)]], array<texture2d<half, access::write>, 2> outs, array<sampler, 2> ways [[sampler(2)]],
                   uint2 gid [[thread_position_in_grid]]) {
  float4 color = 0;
  for (uint n = 0; n < all.size(); n++) color += all[n].sample(ways[n & 1], float2(gid));
  outs[gid.x & 1].write(half4(color), gid);
  array<texture2d<float>, 2> copy = {all[0], all[2]};
  outs[0].write(half4(copy[1].read(gid)), gid);
}

kernel void depths(depth2d<float> d, depth2d_array<float> ds, depthcube<float> c, device float* out, uint2 gid [[thread_position_in_grid]]) {
  constexpr sampler s(compare_func::less, filter::linear);
  out[gid.x] = d.read(gid) + d.sample(s, float2(0.5f)) + d.sample_compare(s, float2(0.5f), 0.25f) + ds.sample(s, float2(0.5f), 1) +
               c.sample(s, float3(1.0f)) + d.gather(s, float2(0.5f)).x + d.gather_compare(s, float2(0.5f), 0.5f).y;
}

kernel void atomics(texture2d<uint, access::read_write> t, texture1d<int, access::read_write> l, uint2 gid [[thread_position_in_grid]]) {
  uint4 expected = t.atomic_load(gid);
  t.atomic_fetch_add(gid, 1);
  t.atomic_store(uint4(3), gid);
  t.atomic_compare_exchange_weak(gid, &expected, uint4(7));
  l.atomic_fetch_max(gid.x, int4(-1));
}
