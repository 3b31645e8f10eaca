// <metal_array> and <metal_uniform>.

namespace metal {

// An aggregate of one array; a member function for each space that an object may be in.
template <typename T, size_t N> struct array {
  typedef T value_type;
  typedef size_t size_type;
  T __elems[N];

  constexpr size_t size() const { return N; }
  constexpr size_t size() const device { return N; }
  constexpr size_t size() const constant { return N; }
  constexpr size_t size() const threadgroup { return N; }
  constexpr size_t max_size() const { return N; }
  constexpr bool empty() const { return N == 0; }

#define __AM_SPACE(SPACE) \
  constexpr SPACE T& operator[](size_t i) SPACE { return __elems[i]; } \
  constexpr const SPACE T& operator[](size_t i) const SPACE { return __elems[i]; } \
  constexpr SPACE T& at(size_t i) SPACE { return __elems[i]; } \
  constexpr const SPACE T& at(size_t i) const SPACE { return __elems[i]; } \
  constexpr SPACE T& front() SPACE { return __elems[0]; } \
  constexpr const SPACE T& front() const SPACE { return __elems[0]; } \
  constexpr SPACE T& back() SPACE { return __elems[N - 1]; } \
  constexpr const SPACE T& back() const SPACE { return __elems[N - 1]; } \
  constexpr SPACE T* data() SPACE { return __elems; } \
  constexpr const SPACE T* data() const SPACE { return __elems; } \
  constexpr SPACE T* begin() SPACE { return __elems; } \
  constexpr const SPACE T* begin() const SPACE { return __elems; } \
  constexpr SPACE T* end() SPACE { return __elems + N; } \
  constexpr const SPACE T* end() const SPACE { return __elems + N; }
  __AM_SPACE(thread)
  __AM_SPACE(device)
  __AM_SPACE(threadgroup)
#undef __AM_SPACE
  constexpr const constant T& operator[](size_t i) const constant { return __elems[i]; }
  constexpr const constant T& at(size_t i) const constant { return __elems[i]; }
  constexpr const constant T& front() const constant { return __elems[0]; }
  constexpr const constant T& back() const constant { return __elems[N - 1]; }
  constexpr const constant T* data() const constant { return __elems; }
  constexpr const constant T* begin() const constant { return __elems; }
  constexpr const constant T* end() const constant { return __elems + N; }

  void fill(T value) thread {
    for (size_t i = 0; i < N; i++) __elems[i] = value;
  }
};
template <typename T, size_t N> struct vec_elements<array<T, N>> : integral_constant<uint, uint(N)> {};

// Elements that an array elsewhere has (2.12.1): in the memory of the thread, of constants or of a buffer.
// The specification has a reference for an element; a copy of a texture or a sampler does the same.
template <typename T> struct array_ref {
  typedef T value_type;
  typedef size_t size_type;
  const thread T* __in_thread;
  const constant T* __in_constant;
  const device T* __in_device;
  size_t __count;

  constexpr array_ref() : __in_thread(nullptr), __in_constant(nullptr), __in_device(nullptr), __count(0) {}
  constexpr array_ref(const thread T* array, size_t length) : __in_thread(array), __in_constant(nullptr), __in_device(nullptr), __count(length) {}
  constexpr array_ref(const constant T* array, size_t length) : __in_thread(nullptr), __in_constant(array), __in_device(nullptr), __count(length) {}
  constexpr array_ref(const device T* array, size_t length) : __in_thread(nullptr), __in_constant(nullptr), __in_device(array), __count(length) {}
#define __AM_SPACE(SPACE) \
  template <size_t N> constexpr array_ref(const SPACE T (&a)[N]) : array_ref(a, N) {} \
  template <size_t N> constexpr array_ref(const SPACE array<T, N>& a) : array_ref(a.data(), N) {}
  __AM_SPACE(thread)
  __AM_SPACE(constant)
  __AM_SPACE(device)
#undef __AM_SPACE

  constexpr size_t size() const { return __count; }
  constexpr bool empty() const { return __count == 0; }
  constexpr T operator[](size_t i) const {
    if (__in_constant != nullptr) return __in_constant[i];
    if (__in_device != nullptr) return __in_device[i];
    return __in_thread[i];
  }
};
#define __AM_SPACE(SPACE) \
  template <typename T> constexpr array_ref<T> make_array_ref(const SPACE T* array, size_t length) { return array_ref<T>(array, length); } \
  template <typename T, size_t N> constexpr array_ref<T> make_array_ref(const SPACE T (&a)[N]) { return array_ref<T>(a, N); } \
  template <typename T, size_t N> constexpr array_ref<T> make_array_ref(const SPACE array<T, N>& a) { return array_ref<T>(a); }
__AM_SPACE(thread)
__AM_SPACE(constant)
__AM_SPACE(device)
#undef __AM_SPACE

// Sequences of integers, made by joining halves.
template <typename T, T... I> struct integer_sequence {
  typedef T value_type;
  static constexpr size_t size() { return sizeof...(I); }
};
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <typename A, typename B> struct __lib_joined;
template <typename T, T... I, T... J> struct __lib_joined<integer_sequence<T, I...>, integer_sequence<T, J...>> {
  typedef integer_sequence<T, I..., T(T(sizeof...(I)) + J)...> type;
};
template <typename T, size_t N> struct __lib_counted {
  typedef typename __lib_joined<typename __lib_counted<T, N / 2>::type, typename __lib_counted<T, N - N / 2>::type>::type type;
};
template <typename T> struct __lib_counted<T, 0> { typedef integer_sequence<T> type; };
template <typename T> struct __lib_counted<T, 1> { typedef integer_sequence<T, T(0)> type; };
template <typename T, T N> using make_integer_sequence = typename __lib_counted<T, size_t(N)>::type;
template <size_t N> using make_index_sequence = make_integer_sequence<size_t, N>;
template <typename... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

// The type is there for declarations that name it; a braced list is never converted to it.
template <typename T> struct initializer_list {
  typedef T value_type;
  typedef size_t size_type;
  thread T* __first;
  size_t __count;

  constexpr size_t size() const { return __count; }
  constexpr thread T* begin() const { return __first; }
  constexpr thread T* end() const { return __first + __count; }
};

// A value that the program promises to be the same in all threads. The promise is not needed here:
// whether a value is uniform is found by analysis.
template <typename T> using uniform = T;
template <typename T> constexpr T make_uniform(T x) { return x; }
template <typename T> struct is_uniform : true_type {};

}

// Templates that the compiler has of its own, as clang has.
template <template <typename T, T... I> class S, typename T, T N> struct __make_integer_seq;
template <metal::size_t N, typename... T> struct __type_pack_element;
