// Rotary positions: pairs of elements are turned by the position times a frequency of the pair. T0
// is the stored type. x is the pair, y the position's row, z all that comes before; HALVES: a pair
// is an element of each half, else two neighbours.
kernel void rope(device T0* out [[buffer(0)]],
                 device const T0* in [[buffer(1)]],
                 constant uint& first [[buffer(2)]],
                 constant float& base [[buffer(3)]],
                 constant float& sign [[buffer(4)]],
                 constant uint& width [[buffer(5)]],
                 uint3 at [[thread_position_in_grid]],
                 uint3 grid [[threads_per_grid]]) {
    uint turned = 2 * grid.x;
    float frequency = exp2(-log2(base) * (2.0f * float(at.x) / float(turned)));
    float angle = float(first + at.y) * frequency;
    float c = cos(angle);
    float s = sin(angle) * sign;
    uint start = (at.z * grid.y + at.y) * width;
#ifdef HALVES
    uint low = start + at.x;
    uint high = low + grid.x;
#else
    uint low = start + 2 * at.x;
    uint high = low + 1;
#endif
    float a = float(in[low]);
    float b = float(in[high]);
    out[low] = T0(a * c - b * s);
    out[high] = T0(a * s + b * c);
}
