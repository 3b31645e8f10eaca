// <metal_atomic>. The memory order of everything but the fence is relaxed, the only one there is.

namespace metal {

enum memory_order { memory_order_relaxed, memory_order_acquire = 2, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum thread_scope {
  thread_scope_thread, thread_scope_threadgroup, thread_scope_device, thread_scope_system, thread_scope_simdgroup
};

// Which types have which operations; of those with 64 bits the compiler refuses most (MSL 6.15.4.6).
template <typename T> constexpr constant bool __lib_atomic_integer = __is_same(T, int) || __is_same(T, uint) || __is_same(T, ulong);
template <typename T> constexpr constant bool __lib_atomic_number = __lib_atomic_integer<T> || __is_same(T, float);
template <typename T> constexpr constant bool __lib_atomic_any = __lib_atomic_number<T> || __is_same(T, bool);

template <typename T> struct _atomic {
  static_assert(__lib_atomic_any<T>, "an atomic object is a bool, int, uint, ulong or float");
  typedef T value_type;
  T __s;
};
// Atomic operations exist for words.
template <> struct _atomic<bool> {
  typedef bool value_type;
  uint __s;
};
template <typename T> using atomic = _atomic<T>;
typedef _atomic<bool> atomic_bool;
typedef _atomic<int> atomic_int;
typedef _atomic<uint> atomic_uint;
typedef _atomic<ulong> atomic_ulong;
typedef _atomic<float> atomic_float;

// Whether a compare-and-exchange took place: by the bits.
template <typename T> bool __lib_same_bits(T a, T b) { return a == b; }
bool __lib_same_bits(float a, float b) { return __am_as_type<uint>(a) == __am_as_type<uint>(b); }

#define __AM_MODIFY(SPACE, NAME, BUILTIN, CLASS) \
  template <typename T, typename = enable_if_t<__lib_atomic_##CLASS<T>>> \
  T atomic_##NAME##_explicit(volatile SPACE _atomic<T>* object, typename _atomic<T>::value_type operand, memory_order) { \
    return T(BUILTIN(&object->__s, operand)); \
  }
#define __AM_ATOMICS(SPACE) \
  template <typename T, typename = enable_if_t<__lib_atomic_any<T>>> \
  T atomic_load_explicit(const volatile SPACE _atomic<T>* object, memory_order) { \
    return T(__am_atomic_load(&object->__s)); \
  } \
  template <typename T, typename = enable_if_t<__lib_atomic_any<T>>> \
  void atomic_store_explicit(volatile SPACE _atomic<T>* object, typename _atomic<T>::value_type desired, memory_order) { \
    __am_atomic_store(&object->__s, desired); \
  } \
  template <typename T, typename = enable_if_t<__lib_atomic_any<T>>> \
  bool atomic_compare_exchange_weak_explicit( \
      volatile SPACE _atomic<T>* object, thread typename _atomic<T>::value_type* expected, \
      typename _atomic<T>::value_type desired, memory_order, memory_order) { \
    T old = T(__am_atomic_cas(&object->__s, *expected, desired)); \
    bool exchanged = __lib_same_bits(old, *expected); \
    *expected = old; \
    return exchanged; \
  } \
  __AM_MODIFY(SPACE, exchange, __am_atomic_exchange, any) \
  __AM_MODIFY(SPACE, fetch_add, __am_atomic_fetch_add, number) \
  __AM_MODIFY(SPACE, fetch_sub, __am_atomic_fetch_sub, number) \
  __AM_MODIFY(SPACE, fetch_and, __am_atomic_fetch_and, integer) \
  __AM_MODIFY(SPACE, fetch_or, __am_atomic_fetch_or, integer) \
  __AM_MODIFY(SPACE, fetch_xor, __am_atomic_fetch_xor, integer) \
  __AM_MODIFY(SPACE, fetch_min, __am_atomic_fetch_min, integer) \
  __AM_MODIFY(SPACE, fetch_max, __am_atomic_fetch_max, integer)
__AM_ATOMICS(device)
__AM_ATOMICS(threadgroup)
#undef __AM_ATOMICS
#undef __AM_MODIFY

void atomic_max_explicit(volatile device _atomic<ulong>* object, ulong operand, memory_order) {
  __am_atomic_fetch_max(&object->__s, operand);
}
void atomic_min_explicit(volatile device _atomic<ulong>* object, ulong operand, memory_order) {
  __am_atomic_fetch_min(&object->__s, operand);
}

}
