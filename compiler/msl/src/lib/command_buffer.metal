// <metal_command_buffer>: indirect command buffers that kernels encode. What is in their memory is documented
// beside the constants of the same names in the crate launch-abi, module commands.

namespace metal {

struct command_buffer {
  ulong __commands;
  size_t size() const;
};

struct compute_pipeline_state {
  ulong __pipeline;
};

struct compute_command {
  device uint* __words;  // The header of the memory.
  ulong __at;            // The first word of the command.

  explicit compute_command(command_buffer icb, uint index)
      : __words(__am_command_memory(icb.__commands)), __at(8 + ulong(index) * __words[1]) {}

  // Errors stay until the command is reset.
  void __fail(uint error) {
    if (__words[__at + 2] == 0) __words[__at + 2] = error;
  }

  void __dispatch(uint kind, uint3 grid, uint3 group_size) {
    device uint* to = __words + __at;
    to[0] = kind;
    to[6] = grid.x;
    to[7] = grid.y;
    to[8] = grid.z;
    to[9] = group_size.x;
    to[10] = group_size.y;
    to[11] = group_size.z;
  }

  // The address of a pointer into a buffer is not 0.
  void __set_buffer(ulong address, bool is_null, uint index) {
    if ((__words[4] & 2) != 0) {
      __fail(6);
    } else if (index >= __words[2]) {
      __fail(1);
    } else if (address == 0 && !is_null) {
      __fail(3);
    } else {
      device uint* to = __words + __at + 12 + 2 * ulong(index);
      to[0] = uint(address);
      to[1] = uint(address >> 32);
    }
  }

  void set_compute_pipeline_state(compute_pipeline_state pipeline) {
    if ((__words[4] & 1) != 0) {
      __fail(5);
      return;
    }
    __words[__at + 4] = uint(pipeline.__pipeline);
    __words[__at + 5] = uint(pipeline.__pipeline >> 32);
  }

  template <typename T> void set_kernel_buffer(device T* buffer, uint index) {
    __set_buffer(__am_resource_address(buffer), buffer == nullptr, index);
  }
  template <typename T> void set_kernel_buffer(constant T* buffer, uint index) {
    __set_buffer(__am_resource_address(buffer), buffer == nullptr, index);
  }
  // Strides are those of vertex descriptors, which kernels here have none of.
  template <typename T> void set_kernel_buffer(device T*, size_t, uint) { __fail(7); }
  template <typename T> void set_kernel_buffer(constant T*, size_t, uint) { __fail(7); }

  void set_threadgroup_memory_length(uint length, uint index) {
    if (index >= __words[3]) {
      __fail(2);
    } else {
      __words[__at + 12 + 2 * ulong(__words[2]) + index] = length;
    }
  }
  void set_stage_in_region(uint3, uint3) { __fail(7); }

  void set_barrier() { __words[__at + 1] = 1; }
  void clear_barrier() { __words[__at + 1] = 0; }

  void concurrent_dispatch_threadgroups(uint3 threadgroups_per_grid, uint3 threads_per_threadgroup) {
    __dispatch(1, threadgroups_per_grid, threads_per_threadgroup);
  }
  void concurrent_dispatch_threads(uint3 threads_per_grid, uint3 threads_per_threadgroup) {
    __dispatch(2, threads_per_grid, threads_per_threadgroup);
  }

  void reset() {
    uint count = __words[1];
    for (uint i = 0; i < count; i++) __words[__at + i] = 0;
  }

  void copy_command(compute_command source) {
    device uint* from = source.__words;
    if (from[1] != __words[1] || from[2] != __words[2] || from[3] != __words[3] || from[4] != __words[4]) {
      __fail(4);
      return;
    }
    uint count = __words[1];
    for (uint i = 0; i < count; i++) __words[__at + i] = from[source.__at + i];
  }
};

}
