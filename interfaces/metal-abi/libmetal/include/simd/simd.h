// The vectors that Metal's declarations name.
#ifndef ANYMETAL_SIMD_H
#define ANYMETAL_SIMD_H

typedef float simd_float4 __attribute__((ext_vector_type(4)));
typedef struct {
    simd_float4 columns[4];
} simd_float4x4;

#endif
