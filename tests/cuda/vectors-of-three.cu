//! arg r=zeros:f32:40
//! arg p=iota:f32:36
//! arg b=iota:u8:24
//! arg s=iota:i16:24
//! arg w=iota:i64:24
//! arg at=u32:7,8,9
//! expect r: 3 12 12 4 8 11 10 5 7 6 126 12 3 16 24 4 7 11 7 8 9 16 2 3 8 10 13 11 13 11 48 32 9 8 9 3 20 8 5 168842
// Vectors of three take three times the size of their scalar and have its alignment, as values and in memory:
// in structures, arrays, shared memory, template arguments, casts, `sizeof` and through references. Vectors of
// two and four have CUDA's alignment.
#define V3 float3
typedef float3 Place;
struct Body {
    float3 at;
    float mass;
};
struct Bytes {
    uchar3 first;
    unsigned char last;
    uchar3 rest[2];
};
struct Shorts {
    char c;
    short3 s;
};
struct Wide {
    int i;
    longlong4 w;
};
struct Narrow {
    int i;
    longlong2 w;
};
template <typename T> struct Pair {
    T one, two;
};
template <typename T> struct is_three {
    static constexpr int value = 0;
};
template <> struct is_three<float3> {
    static constexpr int value = 3;
};
inline __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __device__ float dot(const float3& a, const float3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ void move_by(float3& a, float3 b) { a = a + b; }
template <typename T> __device__ T element(const T* p, int i) { return p[i]; }
template <typename T> __device__ void store(T* p, T v) { *p = v; }
template <typename T> __device__ int size_of(const T&) { return sizeof(T); }
template <typename T> __device__ T last(const T* p, int n) {
    const T* end = p + n;
    return *--end;
}
__device__ float3 scaled(float3 v, float by) {
    v.x *= by;
    v.y *= by;
    v.z *= by;
    return v;
}
__constant__ float3 table[2] = {{1, 2, 3}, {4, 5, 6}};
__global__ void k(float* r, float* p, unsigned char* b, short* s, long long* w, uint3 at) {
    __shared__ float3 shared[4];
    float3* v = (float3*)p;
    r[0] = v[1].x;
    r[1] = sizeof(float3);
    r[2] = sizeof(*v);
    r[3] = element(v, 1).y;
    Body* bodies = reinterpret_cast<Body*>(p);
    r[4] = bodies[2].at.x;
    r[5] = bodies[2].mass;
    Place place = bodies[2].at;
    r[6] = place.z;
    shared[1] = v[1];
    shared[2] = make_float3(5, 6, 7);
    float* flat = (float*)shared;
    r[7] = flat[6];
    r[8] = flat[8];
    move_by(shared[1], make_float3(1, 1, 1));
    r[9] = shared[1].z;
    float3 own[2] = {{1, 2, 3}, {4, 5, 6}};
    move_by(own[1], own[0] + own[0]);
    r[10] = dot(own[0], scaled(own[1] + make_float3(0, 0, 1), 2));
    r[11] = size_of(own[1]);
    r[12] = is_three<float3>::value + is_three<float4>::value;
    Pair<float3> pair = {v[2], v[3]};
    r[13] = pair.one.x + pair.two.y;
    r[14] = sizeof(pair);
    V3 named = table[1];
    r[15] = named.x;
    store((V3*)(r + 16), own[0] + own[1]);
    float3* third = (float3*)r + 6;
    store(third + 1, *third + make_float3(1, 2, 3));
    store(third, make_float3(7, 8, 9));
    const Bytes* bytes = (const Bytes*)b;
    r[24] = bytes->rest[1].y;
    r[25] = sizeof(Bytes);
    r[26] = ((uchar3*)b)[4].y;
    const Shorts* shorts = (const Shorts*)s;
    r[27] = shorts[2].s.z;
    r[28] = ((const short3*)s)[4].y;
    const Wide* wide = (const Wide*)w;
    r[29] = wide[1].w.w;
    r[30] = sizeof(Wide);
    r[31] = sizeof(Narrow);
    r[32] = last((const longlong3*)w, 4).x;
    r[33] = at.y;
    dim3 copy = dim3(at.z, 1, 1);
    r[34] = copy.x;
    float3 picked = p[0] > 1 ? own[0] : own[0] + make_float3(0, 1, 2);
    r[35] = picked.y;
    uint3 t = threadIdx;
    r[36] = t.x + t.y + 20;
    float* component = &v[2].y;
    r[37] = component[1];
    float& x = own[0].y;
    x += 3;
    r[38] = own[0].y;
    r[39] = sizeof(char2) + sizeof(uchar4) * 10 + sizeof(short4) * 100 + sizeof(float2) * 1000 + sizeof(longlong2) * 10000;
}
