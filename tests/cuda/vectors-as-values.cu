//! arg r=zeros:f32:12
//! arg p=iota:f32:36
//! arg g=zeros:f32:12
//! expect r: 1 3 5 7 2 6 1 9 6 3 2 8
// Vectors of three and of one as values: members, results, operators, captures, and arguments of templates.
struct Ray { float3 o, d; __device__ Ray(float3 o, const float3& d) : o(o), d(d) {} __device__ float3 at(float t) const { return make_float3(o.x + t * d.x, o.y + t * d.y, o.z + t * d.z); } };
template <typename T, int N> struct Arr { T v[N]; __device__ T& operator[](int i) { return v[i]; } };
__device__ float3 g[4];
__device__ float3 braces(float x) { return {x, x + 1, x + 2}; }
__device__ float3 dflt(float3 v = {1, 2, 3}) { return v; }
inline __device__ float3 operator*(float s, const float3& v) { return make_float3(s*v.x, s*v.y, s*v.z); }
inline __device__ void operator+=(float3& a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
template <typename T> __device__ T twice(T a) { T s = a; s += a; return s; }
__global__ void k(float* r, float3* p) {
    Ray ray(p[0], make_float3(1, 1, 1));
    r[0] = ray.at(1).x;
    Arr<float3, 2> a;
    a[0] = braces(3);
    a[1] = p[1];
    r[1] = a[0].x;
    p[1] += make_float3(2, 0, 0);
    r[2] = p[1].x;
    g[1] = p[2]; r[3] = g[1].y;
    float1 f = make_float1(2); r[4] = f.x;
    float3 s = 2.0f * dflt(); r[5] = s.z;
    const float3 c{1, 2, 3}; r[6] = c.x;
    float3 acc = make_float3(0, 0, 0);
    for (int i = 0; i < 3; i++) { acc += c; }
    r[7] = acc.z;
    r[8] = twice(c).z;
    auto l = [&](float3 v) { return v.x + acc.x - 1; }; r[9] = l(c);
    int3 i3 = make_int3(1, 2, 3); i3.y = i3.z - i3.x; r[10] = i3.y % 5;
    volatile float3* vp = p; r[11] = vp[2].z;
}
