// The second iteration reads the texel that the first one wrote.
// launch: --threads 32 --group 32 --arg t=texture:r32uint:32x1 --arg out=zeros:u32:32
#include <metal_stdlib>
using namespace metal;

kernel void add(texture2d<uint, access::read_write> t [[texture(0)]], device uint *out [[buffer(0)]],
                uint i [[thread_position_in_grid]]) {
    uint last = 0;
    for (uint n = 0; n < 2; ++n) {
        last = t.read(uint2(i, 0)).x; //~ texture-fence 2
        t.write(uint4(last + 1), uint2(i, 0)); //~ texture-fence 1
    }
    out[i] = last;
}
