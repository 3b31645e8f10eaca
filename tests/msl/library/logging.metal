// <metal_logging>.
#include <metal_logging>
#include <metal_stdlib>
using namespace metal;

constant os_log own("subsystem", "category");

template <typename T> void trace(T x) { os_log_default.log_debug("value %f", x); }

kernel void logs(device float* p [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  os_log_default.log("thread %u has %f", i, p[i]);
  os_log_default.log_with_type(os_log_type_error, "thread %u", i);
  os_log_default.log_with_type(log_type_debug, "thread %u", i);
  own.log_info("nothing else");
  own.log_error("%d", 3);
  own.log_fault("");
  trace(p[i]);
}
