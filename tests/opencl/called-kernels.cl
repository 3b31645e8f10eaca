//! arg r=zeros:i32:8
//! arg 1=i32:3
//! expect r: 6 21 5 4 1 3 1 7
// Kernels that functions and kernels call, which OpenCL C allows: with positions, numbers that the kernel
// changes, local memory and declarations before the definition. Each remains a kernel.
__kernel void scale(__global int* x, int by, uint n);
void twice(__global int* x) { scale(x, 2, 1); }
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void scale(__global int* x, int by, uint n) {
    size_t i = get_global_id(0);
    by += 0;
    if (i < n) x[i] = x[i] * by;
}
__kernel void sum(__global int* x, __local int* scratch, const __private int a) {
    scratch[get_local_id(0)] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[1] += scratch[0];
    scale(x + 1, 7, 1);
}
__kernel void named(__global int* scale_body) { scale_body[3] = 4; }
__kernel void k(__global int* r, int a) {
    __local int scratch[4];
    r[0] = a;
    twice(r);
    sum(r, scratch, a);
    r[2] = 5;
    named(r);
    r[4] = get_work_dim();
    a = 2;
    r[5] = a + 1;
    r[6] = get_local_size(0) > 0;
    r[7] = 7;
}
