// Where variables and members are, which syntax alone decides.
#include <metal_stdlib>
using namespace metal;

int global = 1; //~ program-scope-space: must be in the `constant` address space
const float table[2] = {1, 2}; //~ program-scope-space
constant float allowed[2] = {1, 2};
constexpr constant int length = 2;
constexpr sampler nearest(filter::nearest);

namespace inner {
static int counter = 0; //~ program-scope-space
}

struct Members {
    device int* pointer;
    device int in_device; //~ member-space: in an address space of its own, here `device`
    threadgroup float shared[4]; //~ member-space
    static constant int count = 3;
};

kernel void k(device float* out [[buffer(0)]])
{
    out[0] = allowed[0] + length;
}
