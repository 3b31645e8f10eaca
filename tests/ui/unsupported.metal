// Parts of Metal that there are not, by the names of their namespaces; operators of another address space.
#include <metal_stdlib>
using namespace metal;

struct Sum
{
    int parts[2];
    Sum operator+(Sum other) const { return other; }
    Sum operator+=(Sum other) { return other; }
};

kernel void compound(device Sum* sums [[buffer(0)]])
{
    Sum sum = sums[0] + sums[1];
    sum += sum;
    sums[0] += sum; //~ invalid-operands
}

kernel void product(device float* x [[buffer(0)]])
{
    x[0] = mpp::tensor_ops::reduce_rows(x[1]); //~ unsupported-feature
}

kernel void scope(device float* x [[buffer(0)]])
{
    x[0] = nowhere::product(x[1]); //~ unknown-name
}

kernel void directives(device float* x [[buffer(0)]])
{
    using namespace metal::raytracing; //~ unsupported-feature
    using namespace elsewhere; //~ unknown-namespace
    x[0] = 0;
}

kernel void described(device uint* x [[buffer(0)]], uint first [[stage_in]]) //~ unsupported-feature
{
    x[0] = first;
}

uint everywhere [[thread_position_in_grid]]; //~ unsupported-feature

kernel void outside(device uint* x [[buffer(0)]])
{
    x[0] = everywhere;
}

kernel void host_tensor(tensor<device half, dextents<int, 2>, tensor_handle> x [[buffer(0)]], device float* out [[buffer(1)]]) //~ unsupported-feature
{
    out[0] = x.load(0, 0);
}
