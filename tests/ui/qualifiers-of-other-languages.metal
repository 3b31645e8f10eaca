// Kernels of OpenCL C and CUDA C++: the hint says so.
__kernel void opencl(__global float* x) {} //~ expected-name: expected a name after the type, found `void`
__global__ void cuda(float* x) {} //~ expected-name: expected a name after the type, found `void`
