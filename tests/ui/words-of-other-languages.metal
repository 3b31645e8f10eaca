// Names of OpenCL C and CUDA C++: the hint says so. Own names of that kind are names like others.
kernel void positions(device uint* x) {
    x[0] = get_global_id(0); //~ unknown-name: unknown function `get_global_id`
    x[1] = blockIdx.x; //~ unknown-name: unknown name `blockIdx`
    __syncthreads(); //~ unknown-name: unknown function `__syncthreads`
    barrier(1); //~ unknown-name: unknown function `barrier`
}
constant uint warpSize = 32;
void get_work_dim() {}
kernel void own(device uint* x) {
    get_work_dim();
    x[0] = warpSize;
}
