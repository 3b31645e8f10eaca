// <metal_logging>. The compiler finds logs by the member `__log` and takes calls of their methods itself; what
// stands here is what they declare.

namespace metal {

enum log_type { log_type_debug, log_type_info, log_type_default, log_type_error, log_type_fault };
enum os_log_type { os_log_type_debug, os_log_type_info, os_log_type_default, os_log_type_error, os_log_type_fault };

struct os_log {
  char __log;
  constexpr os_log() constant : __log(0) {}
  constexpr os_log(constant char*, constant char*) constant : __log(0) {}

#define __AM_LOG(SPACE) \
  template <typename Type, typename... Args> void log_with_type(Type, constant char*, Args...) const SPACE {} \
  template <typename... Args> void log(constant char*, Args...) const SPACE {} \
  template <typename... Args> void log_debug(constant char*, Args...) const SPACE {} \
  template <typename... Args> void log_info(constant char*, Args...) const SPACE {} \
  template <typename... Args> void log_error(constant char*, Args...) const SPACE {} \
  template <typename... Args> void log_fault(constant char*, Args...) const SPACE {}
  __AM_LOG(thread)
  __AM_LOG(constant)
#undef __AM_LOG
};
constant constexpr os_log os_log_default;

}
