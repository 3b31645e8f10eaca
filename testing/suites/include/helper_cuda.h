/* What programs of other suites take from the helpers of CUDA's samples, where these are not given. */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

#define checkCudaErrors(call)                                                                            \
    do {                                                                                                 \
        cudaError_t suites_error = (cudaError_t)(call);                                                  \
        if (suites_error != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(suites_error));        \
            exit(EXIT_FAILURE);                                                                          \
        }                                                                                                \
    } while (0)
#define getLastCudaError(message) checkCudaErrors(cudaGetLastError())

static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int findCudaDevice(int, const char **) { return 0; }
