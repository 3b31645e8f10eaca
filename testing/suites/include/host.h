/* Included after CUDA's headers. Their macro of this name is one of GCC's attributes, too, which newer headers of C++
   use; and what clang 14 does not declare is declared for cooperative groups, since kernels are only checked. */
#undef __noinline__
#define __noinline__
#ifdef __CUDACC__
/* As the headers of CUDA's own compiler. */
#include <time.h>
#define SUITES_EXTREMES(result, one, other)                                                       \
    __host__ static inline result max(one a, other b) { return (result)a > (result)b ? a : b; }   \
    __host__ static inline result min(one a, other b) { return (result)a < (result)b ? a : b; }
SUITES_EXTREMES(int, int, int)
SUITES_EXTREMES(unsigned, unsigned, unsigned)
SUITES_EXTREMES(unsigned, unsigned, int)
SUITES_EXTREMES(unsigned, int, unsigned)
SUITES_EXTREMES(float, float, float)
SUITES_EXTREMES(double, double, double)
#undef SUITES_EXTREMES
#define SUITES_REDUCE(name, type) __device__ type name(unsigned mask, type value);
SUITES_REDUCE(__reduce_add_sync, unsigned)
SUITES_REDUCE(__reduce_add_sync, int)
SUITES_REDUCE(__reduce_min_sync, unsigned)
SUITES_REDUCE(__reduce_min_sync, int)
SUITES_REDUCE(__reduce_max_sync, unsigned)
SUITES_REDUCE(__reduce_max_sync, int)
SUITES_REDUCE(__reduce_and_sync, unsigned)
SUITES_REDUCE(__reduce_or_sync, unsigned)
SUITES_REDUCE(__reduce_xor_sync, unsigned)
#undef SUITES_REDUCE
#endif
