//! arg x=iota:f32:8
//! arg r=zeros:f32:8
//! arg pairs=iota:f32:8
//! arg bytes=iota:u8:8
//! expect r: 3 9 5 6 4 7 2 3
// Textures over linear memory, read by the numbers of their elements: references in kernels, functions and macros.
texture<float2, 1, cudaReadModeElementType> pairs;
texture<unsigned char> bytes;
#define FETCH(t, i) tex1Dfetch(t, i)
__device__ float sum(int i) {
    float2 pair = tex1Dfetch(pairs, i);
    return pair.x + pair.y;
}
__global__ void k(float* x, float* r) {
    r[0] = tex1Dfetch(pairs, 1).y;
    r[1] = sum(2);
    r[2] = FETCH(bytes, 5);
    r[3] = FETCH(pairs, 3).x;
    r[4] = x[4];
    r[5] = FETCH(bytes, 3 + 4);
    r[6] = tex1Dfetch(pairs, 1).x;
    r[7] = FETCH(bytes, 3);
}
