//! arg r=zeros:i32:8
//! arg n=i32:3
//! arg w=i32:10,20,30
//! expect r: 3 10 23 1 7 2 9 5
// Kernels' words and parameters in branches of conditionals, at each place of a list; and components that macros name.
#define count x
#define LAST w
#define WEIGHTED 1
#if !defined(SCALE)
#define SCALE 1
#endif
int first(int a
#if SCALE > 1
          , int unused
#endif
          ) {
    return a + (int)get_global_id(0);
}
int second(
#ifdef ABSENT
    float4 a,
#endif
    int a, int b
#if WEIGHTED
    , __global const int* w
#endif
) {
    return first(a) + b + w[1] + (int)get_local_id(0);
}
#if SCALE > 1
__kernel
#else
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
#endif
void k(__global int* r,
#ifdef WEIGHTED
                const int n,
#else
                const float n,
#endif
                __global const int* w
#ifdef ABSENT
                , __local int* tmp
#endif
) {
    uint4 size = (uint4)(1, 7, 2, 9);
    r[0] = first(n);
    r[1] = w[0];
    r[2] = second(n, 0, w);
    r[3] = size.count;
    r[4] = size.y;
    r[5] = size.z;
    r[6] = size.LAST;
    size.count = 5;
    r[7] = size.x;
}
