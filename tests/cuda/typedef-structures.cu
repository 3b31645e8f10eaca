//! arg r=zeros:f32:6
//! arg f=f32:1,2,3
//! arg points=f32:0,1,2,3,4,5,6,7
//! expect r: 6 2 7 5 4 3
// Structures that only a `typedef` names: their pointers are to device memory, and `float3` takes 12 bytes.
typedef struct {
    float* values;
    int n;
} Rows;
typedef struct point {
    float3 at;
    float mass;
} Point;
typedef struct {
    const Point *first, *second;
} Pair;
__device__ float sum(Rows rows) {
    float all = 0;
    for (int i = 0; i < rows.n; i++) all += rows.values[i];
    return all;
}
__global__ void k(float* r, float* f, const Point* points) {
    Rows rows;
    rows.values = f;
    rows.n = 3;
    r[0] = sum(rows);
    const float* second = &rows.values[1];
    r[1] = *second;
    r[2] = points[1].mass;
    r[3] = points[1].at.y;
    Pair pair;
    pair.first = points;
    pair.second = points + 1;
    r[4] = pair.second->at.x;
    r[5] = pair.first->mass;
}
