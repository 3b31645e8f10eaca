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
    simdgroup_event event; //~ unsupported-feature: asynchronous copies
}

kernel void scope(device float* x [[buffer(0)]])
{
    x[0] = nowhere::product(x[1]); //~ unknown-name
}

kernel void directives(device float* x [[buffer(0)]])
{
    using namespace elsewhere; //~ unknown-namespace
    x[0] = 0;
}

constant bool has_color [[function_constant(0)]];
struct Vertex
{
    float4 color [[attribute(0), function_constant(has_color)]]; //~ unsupported-feature
};

kernel void described(device float* x [[buffer(0)]], Vertex first [[stage_in]])
{
    x[0] = first.color.x;
}

uint3 everywhere [[grid_origin]]; //~ unsupported-feature

kernel void outside(device uint* x [[buffer(0)]])
{
    x[0] = everywhere.x;
}

struct Drawn
{
    command_buffer commands;
    render_pipeline_state state;
};

kernel void drawing(device Drawn* drawn [[buffer(0)]], device uint* x [[buffer(1)]])
{
    render_command command(drawn->commands, 0); //~ unsupported-feature
    x[0] = 1;
}

struct Fragments
{
    half4 color;
};

kernel void tile(imageblock<Fragments> block, //~ unsupported-feature
                 ushort2 place [[thread_position_in_threadgroup]])
{
    threadgroup_imageblock Fragments* values = block.data(place); //~ unsupported-feature
    values->color = half4(1);
}

kernel void foveated(constant rasterization_rate_map_data& rates [[buffer(0)]],
                     device float* x [[buffer(1)]])
{
    rasterization_rate_map_decoder decoder(rates); //~ unsupported-feature: can be checked, but not run
    x[0] = decoder.map_screen_to_physical_coordinates(float2(1)).x; //~ unsupported-feature
}

kernel void traced(raytracing::instance_acceleration_structure scene [[buffer(0)]], //~ unsupported-feature
                   device float* x [[buffer(1)]])
{
    x[0] = 0;
}

kernel void samples(texture2d_ms<float> t [[texture(0)]], device float* x [[buffer(0)]])
{
    x[0] = t.read(uint2(0), 1).x; //~ unsupported-feature
    x[1] = dfdx(x[0]); //~ unsupported-feature
}

kernel void tensors(array<tensor<device half, dextents<int, 2>>, 2> x [[buffer(0)]], device float* out [[buffer(2)]]) //~ unsupported-feature: arrays of tensors
{
    out[0] = x[0].load(0, 0);
}

struct Tensors
{
    tensor<device half, dextents<int, 2>> first;
};

kernel void tensors_in_memory(constant Tensors& x [[buffer(0)]], device float* out [[buffer(1)]]) //~ unsupported-feature: argument buffers
{
    out[0] = x.first.load(0, 0);
}

kernel void many_dimensions(tensor<device half, dextents<int, 17>> x [[buffer(0)]], device float* out [[buffer(1)]]) //~ unsupported-feature: at most 16 dimensions
{
    out[0] = x.get_extent(0);
}

kernel void tensor_of_thread(tensor<thread half, dextents<int, 1>> x [[buffer(0)]], device float* out [[buffer(1)]]) //~ unsupported-feature: device or constant memory
{
    out[0] = x.load(0);
}

kernel void leaves(device int* x [[buffer(0)]])
{
    for (int i = 0; i < 3; i++)
        x[2] = ({ if (x[1]) break; 1; }); //~ stray-break
}
