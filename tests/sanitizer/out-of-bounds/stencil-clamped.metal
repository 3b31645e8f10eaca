// The stencil clamps its coordinates at the border.
// launch: --threads 8,8 --group 8,8 --arg data=iota:f32:64 --arg out=zeros:f32:64
// expect: none
#include <metal_stdlib>
using namespace metal;

kernel void blur(device const float *data [[buffer(0)]], device float *out [[buffer(1)]],
                 uint2 gid [[thread_position_in_grid]]) {
    int x = int(gid.x);
    int y = int(gid.y);
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            sum += data[clamp(y + dy, 0, 7) * 8 + clamp(x + dx, 0, 7)];
        }
    }
    out[y * 8 + x] = sum;
}
