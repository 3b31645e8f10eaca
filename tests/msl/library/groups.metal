// <anymetal_groups>: every group with every operation, for the types that programs use.
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;
using namespace anymetal;

template <typename T, typename G> T of_lanes(G group, T value) {
    T result = group.shuffle(value, 0u);
    result = plus()(result, group.reduce(value, plus()));
    result = multiplies()(result, group.reduce(value, multiplies()));
    result = minimum()(result, group.reduce(value, minimum()));
    result = maximum()(result, group.reduce(value, maximum()));
    result = plus()(result, group.inclusive_scan(value, plus()));
    result = plus()(result, group.exclusive_scan(value, maximum()));
    group.sync();
    if (group.any(value > T(0)) && group.all(value > T(1)) && group.ballot(value > T(2)) != 0) result += T(1);
    return result + T(group.rank()) + T(group.size());
}

template <typename T> T of_bits(T value) {
    simd_group group = this_simdgroup();
    return group.reduce(value, bit_and()) ^ group.reduce(value, bit_or()) ^ group.reduce(value, bit_xor());
}

kernel void lanes(device float* f [[buffer(0)]], device int* i [[buffer(1)]], device uint* u [[buffer(2)]],
                  device half* h [[buffer(3)]], device ushort* s [[buffer(4)]]) {
    f[0] = of_lanes(this_thread(), f[1]) + of_lanes(this_simdgroup(), f[2]) + of_lanes(this_tile<1>(), f[3]);
    i[0] = of_lanes(this_tile<2>(), i[1]) + of_lanes(this_tile<4>(), i[2]);
    u[0] = of_lanes(this_tile<8>(), u[1]) + of_lanes(this_tile<16>(), u[2]) + of_bits(u[3]);
    h[0] = of_lanes(this_tile<32>(), h[1]);
    s[0] = of_bits(s[1]);
    tile_group<8> tile = this_tile<8>();
    u[4] = tile.shuffle_up(u[5], 1) + tile.shuffle_down(u[5], 1) + tile.shuffle_xor(u[5], 3) + tile.broadcast(u[5], 2);
}

kernel void threadgroups(device float* f [[buffer(0)]], device uint* u [[buffer(1)]]) {
    threadgroup float floats[1024];
    threadgroup uint flags[32];
    threadgroup_group group = this_threadgroup();
    group.sync();
    f[0] = group.shuffle(f[1], group.size() - 1 - group.rank(), floats) + group.broadcast(f[1], 3, floats);
    f[2] = group.reduce(f[3], plus(), floats) + group.inclusive_scan(f[3], minimum(), floats)
        + group.exclusive_scan(f[3], maximum(), floats);
    u[0] = uint(group.any(u[1] > 0, flags)) + uint(group.all(u[1] > 0, flags));
}

kernel void grids(device float* f [[buffer(0)]], device uint* u [[buffer(1)]], device float* parts [[buffer(2)]],
                  device uint* counts [[buffer(3)]]) {
    threadgroup float floats[32];
    threadgroup uint flags[32];
    grid_group grid = this_grid();
    grid.sync();
    grid_sync();
    f[grid.rank()] = grid.reduce(f[1], plus(), parts, floats) + grid.inclusive_scan(f[2], plus(), parts, floats);
    u[0] = uint(grid.size()) + grid.threadgroups() + grid.threadgroup_rank()
        + uint(grid.any(u[1] > 0, counts, flags)) + uint(grid.all(u[1] > 0, counts, flags));
}
