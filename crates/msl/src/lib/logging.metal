// <metal_logging>. Messages go nowhere, as with Metal when logging is not enabled.

namespace metal {

enum os_log_type { os_log_type_default, os_log_type_info, os_log_type_debug, os_log_type_error = 16, os_log_type_fault };

struct os_log {
  constexpr os_log() constant {}
  constexpr os_log(constant char*, constant char*) constant {}

#define __AM_LOG(SPACE) \
  template <typename... Args> void log_with_type(os_log_type, constant char*, Args...) const SPACE {} \
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
