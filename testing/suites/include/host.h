/* Included after CUDA's headers. Their macro of this name is one of GCC's attributes, too, which newer headers of C++
   use; and what clang 14 does not declare is declared for cooperative groups, since kernels are only checked. */
#undef __noinline__
#define __noinline__
#ifdef __CUDACC__
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
