// Accelerations of bodies under gravity, all pairs; position in xyz, mass in w. By component: vector types keep
// the CPU runtimes from vectorising over work-items.
kernel void nbody(global const float4* restrict bodies, global float4* restrict accelerations, uint n) {
    size_t i = get_global_id(0);
    if (i >= n) {
        return;
    }
    float4 here = bodies[i];
    float x = 0;
    float y = 0;
    float z = 0;
    for (uint j = 0; j < n; j++) {
        float4 other = bodies[j];
        float dx = other.x - here.x;
        float dy = other.y - here.y;
        float dz = other.z - here.z;
        float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
        float weight = other.w * inverse * inverse * inverse;
        x += dx * weight;
        y += dy * weight;
        z += dz * weight;
    }
    accelerations[i] = (float4)(x, y, z, 0);
}
