// The kernels of `sobel.metal` in OpenCL C.
constant sampler_t edges = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

float brightness(read_only image2d_t picture, int x, int y) {
    float4 color = read_imagef(picture, edges, (int2)(x, y));
    return dot(color.xyz, (float3)(0.2126f, 0.7152f, 0.0722f));
}

// How fast the brightness changes, by Sobel's filter.
kernel void sobel(read_only image2d_t in, write_only image2d_t out) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= get_image_width(out) || y >= get_image_height(out)) return;
    float2 gradient = (float2)(0);
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            gradient += brightness(in, x + dx, y + dy) * (float2)(dx * (2 - dy * dy), dy * (2 - dx * dx));
        }
    }
    write_imagef(out, (int2)(x, y), (float4)((float3)(length(gradient)), 1));
}

// Half a texel to the right.
__kernel void shift(__read_only image2d_t in, __write_only image2d_t out, sampler_t s) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 size = convert_float2(get_image_dim(out));
    write_imagef(out, at, read_imagef(in, s, (convert_float2(at) + (float2)(1, 0.5f)) / size));
}
