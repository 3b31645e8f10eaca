// <metal_compute>. Every barrier orders threadgroup and device memory, whatever the flags: real
// programs rely on `mem_none` doing so.

// What a host reads, or an indirect dispatch: the names are the host's.
struct MTLDispatchThreadgroupsIndirectArguments {
  uint threadgroupsPerGrid[3];
};
struct MTLDispatchThreadsIndirectArguments {
  uint threadsPerGrid[3];
  uint threadsPerThreadgroup[3];
};
struct MTLStageInRegionIndirectArguments {
  uint stageInOrigin[3];
  uint stageInSize[3];
};
struct MTLDrawPrimitivesIndirectArguments {
  uint vertexCount;
  uint instanceCount;
  uint vertexStart;
  uint baseInstance;
};
struct MTLDrawIndexedPrimitivesIndirectArguments {
  uint indexCount;
  uint instanceCount;
  uint indexStart;
  int baseVertex;
  uint baseInstance;
};

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_device_and_threadgroup = 3,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }
constexpr mem_flags operator~(mem_flags a) { return mem_flags(~uint(a) & 31u); }
thread mem_flags& operator|=(thread mem_flags& a, mem_flags b) { return a = a | b; }
thread mem_flags& operator&=(thread mem_flags& a, mem_flags b) { return a = a & b; }

void threadgroup_barrier(mem_flags flags) { __am_barrier_threadgroup(uint(flags)); }
void threadgroup_barrier(mem_flags flags, thread_scope) { __am_barrier_threadgroup(uint(flags)); }
void simdgroup_barrier(mem_flags flags) { __am_barrier_simdgroup(uint(flags)); }
void simdgroup_barrier(mem_flags flags, thread_scope) { __am_barrier_simdgroup(uint(flags)); }
void atomic_thread_fence(mem_flags flags, memory_order order, thread_scope scope = thread_scope_device) {
  __am_fence(uint(flags), uint(order), uint(scope));
}

}
