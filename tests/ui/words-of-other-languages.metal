// A source in OpenCL C or CUDA C++: the hint says so. Own names of that kind are names like others.
__kernel void opencl(__global float* x) {}
__global__ void cuda(float* x) {}
kernel void positions(device uint* x) {
    x[0] = get_global_id(0);
    x[1] = blockIdx.x * blockDim.x + threadIdx.x;
    __syncthreads();
    barrier(1);
}
constant uint warpSize = 32;
void get_work_dim() {}
kernel void own(device uint* x) {
    get_work_dim();
    x[0] = warpSize;
}
