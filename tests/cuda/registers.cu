//! arg r=zeros:u32:14
//! expect r: 0 1 0 1 4294967294 4294967295 0 0 256 0 1 0 5 7
// Reads of PTX's special registers by `asm`, in functions and macros, in all their spellings.
#define LANE(x) asm volatile("mov.u32 %0, %%laneid;" : "=r"(x))
struct Masks {
    unsigned int lt, le;
};
__device__ __inline__ unsigned int lanemask_lt() {
    unsigned int mask;
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(mask));
    return mask;
}
__device__ unsigned lane() {
    unsigned id;
    LANE(id);
    return id;
}
__global__ void k(unsigned int* r) {
    unsigned int x = 5;
    r[0] = lane();
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(x));
    r[1] = x;
    r[2] = lanemask_lt();
    Masks masks;
    asm("mov.u32 %0, %lanemask_le;" : "=r"(masks.le));
    r[3] = masks.le;
    asm volatile("mov.u32 %0, %lanemask_gt;\n\t" : "=r"(x));
    r[4] = x;
    asm("mov.b32 %0, %lanemask_ge;" : "=r"(r[5]));
    asm("mov.u32 %0, %warpid;" : "=r"(r[6]) :: "memory");
    asm("mov.u32 %0, %tid.x;" : "=r"(r[7]));
    asm("mov.u32 %0, %ntid.x;" : "=r"(r[8]));
    asm("mov.u32 %0, %ctaid.y;" : "=r"(r[9]));
    __asm__ __volatile__("mov.u32 %0, %nctaid.z;" : "=r"(r[10]));
    r[12] = 5;
    if (r[12] == 5) asm("mov.u32 %0, %tid.z;" : "=r"(r[11]));
    r[13] = 7;
}
