// Accelerations of bodies under gravity, all pairs; position in xyz, mass in w.
extern "C" __global__ void nbody(const float4* __restrict__ bodies, float4* __restrict__ accelerations,
                                 unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float4 here = bodies[i];
    float x = 0;
    float y = 0;
    float z = 0;
    for (unsigned j = 0; j < n; j++) {
        float4 other = bodies[j];
        float dx = other.x - here.x;
        float dy = other.y - here.y;
        float dz = other.z - here.z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float weight = other.w * inverse * inverse * inverse;
        x += dx * weight;
        y += dy * weight;
        z += dz * weight;
    }
    accelerations[i] = make_float4(x, y, z, 0);
}
