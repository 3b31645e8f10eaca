// <metal_type_traits>. The traits named `__is_…` are the checker's own.

namespace metal {

template <typename T, T v> struct integral_constant {
  typedef T value_type;
  typedef integral_constant<T, v> type;
  static constexpr constant T value = v;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;

template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { typedef T type; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;

template <bool B, typename T, typename F> struct conditional { typedef T type; };
template <typename T, typename F> struct conditional<false, T, F> { typedef F type; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;

template <typename... Ts> struct __lib_make_void { typedef void type; };
template <typename... Ts> using void_t = typename __lib_make_void<Ts...>::type;

template <typename T> struct __lib_identity { typedef T type; };

template <typename... Bs> struct _disjunction : false_type {};
template <typename B> struct _disjunction<B> : B {};
template <typename B, typename... Bs> struct _disjunction<B, Bs...> : conditional_t<B::value, B, _disjunction<Bs...>> {};
template <typename... Bs> struct _conjunction : true_type {};
template <typename B> struct _conjunction<B> : B {};
template <typename B, typename... Bs> struct _conjunction<B, Bs...> : conditional_t<B::value, _conjunction<Bs...>, B> {};
template <typename B> struct _negation : bool_constant<!B::value> {};
template <typename... Bs> struct disjunction : _disjunction<Bs...> {};
template <typename... Bs> struct conjunction : _conjunction<Bs...> {};
template <typename B> struct negation : _negation<B> {};
template <typename... Bs> constexpr constant bool disjunction_v = _disjunction<Bs...>::value;
template <typename... Bs> constexpr constant bool conjunction_v = _conjunction<Bs...>::value;
template <typename B> constexpr constant bool negation_v = !B::value;

#define __AM_TRAIT(NAME) \
  template <typename T> struct NAME : bool_constant<__##NAME(T)> {}; \
  template <typename T> constexpr constant bool NAME##_v = __##NAME(T);
__AM_TRAIT(is_void)
__AM_TRAIT(is_integral)
__AM_TRAIT(is_floating_point)
__AM_TRAIT(is_arithmetic)
__AM_TRAIT(is_signed)
__AM_TRAIT(is_unsigned)
__AM_TRAIT(is_scalar)
__AM_TRAIT(is_const)
__AM_TRAIT(is_volatile)
__AM_TRAIT(is_pointer)
__AM_TRAIT(is_reference)
__AM_TRAIT(is_lvalue_reference)
__AM_TRAIT(is_rvalue_reference)
__AM_TRAIT(is_array)
__AM_TRAIT(is_enum)
__AM_TRAIT(is_class)
__AM_TRAIT(is_union)
__AM_TRAIT(is_function)
__AM_TRAIT(is_empty)
__AM_TRAIT(is_trivially_copyable)
__AM_TRAIT(is_trivial)
__AM_TRAIT(is_pod)
__AM_TRAIT(is_standard_layout)
#undef __AM_TRAIT

template <typename T, typename U> struct is_same : bool_constant<__is_same(T, U)> {};
template <typename T, typename U> constexpr constant bool is_same_v = __is_same(T, U);
template <typename T, typename U> struct is_convertible : bool_constant<__is_convertible(T, U)> {};
template <typename T, typename U> constexpr constant bool is_convertible_v = __is_convertible(T, U);
template <typename T, typename U> struct is_base_of : bool_constant<__is_base_of(T, U)> {};
template <typename T, typename U> constexpr constant bool is_base_of_v = __is_base_of(T, U);
template <typename T, typename Arg> struct is_constructible : bool_constant<__is_constructible(T, Arg)> {};
template <typename T, typename Arg> constexpr constant bool is_constructible_v = __is_constructible(T, Arg);
template <typename T> struct is_default_constructible : bool_constant<__is_constructible(T)> {};
template <typename T, typename U> struct is_assignable : bool_constant<__is_convertible(U, T)> {};
template <typename T> struct is_fundamental : bool_constant<__is_arithmetic(T) || __is_void(T)> {};
template <typename T> struct is_object : bool_constant<!__is_function(T) && !__is_reference(T) && !__is_void(T)> {};
template <typename T> struct is_compound : bool_constant<!is_fundamental<T>::value> {};

template <typename T> struct remove_const { typedef T type; };
template <typename T> struct remove_const<const T> { typedef T type; };
template <typename T> using remove_const_t = typename remove_const<T>::type;
template <typename T> struct remove_volatile { typedef T type; };
template <typename T> struct remove_volatile<volatile T> { typedef T type; };
template <typename T> using remove_volatile_t = typename remove_volatile<T>::type;
template <typename T> struct remove_cv { typedef remove_volatile_t<remove_const_t<T>> type; };
template <typename T> using remove_cv_t = typename remove_cv<T>::type;
template <typename T> struct remove_addrspace { typedef T type; };
template <typename T> struct remove_addrspace<device T> { typedef T type; };
template <typename T> struct remove_addrspace<constant T> { typedef T type; };
template <typename T> struct remove_addrspace<threadgroup T> { typedef T type; };
template <typename T> using remove_addrspace_t = typename remove_addrspace<T>::type;
template <typename T> struct remove_reference { typedef T type; };
template <typename T> struct remove_reference<T&> { typedef T type; };
template <typename T> struct remove_reference<T&&> { typedef T type; };
template <typename T> using remove_reference_t = typename remove_reference<T>::type;
template <typename T> struct remove_pointer { typedef T type; };
template <typename T> struct remove_pointer<T*> { typedef T type; };
template <typename T> struct remove_pointer<T* const> { typedef T type; };
template <typename T> using remove_pointer_t = typename remove_pointer<T>::type;
template <typename T> struct remove_extent { typedef T type; };
template <typename T, size_t N> struct remove_extent<T[N]> { typedef T type; };
template <typename T> using remove_extent_t = typename remove_extent<T>::type;
template <typename T> struct remove_all_extents { typedef T type; };
template <typename T, size_t N> struct remove_all_extents<T[N]> { typedef typename remove_all_extents<T>::type type; };
template <typename T> using remove_all_extents_t = typename remove_all_extents<T>::type;
template <typename T> struct rank : integral_constant<size_t, 0> {};
template <typename T, size_t N> struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <typename T> constexpr constant size_t rank_v = rank<T>::value;
// The length of dimension I, the outermost being 0; of what has no such dimension, 0.
template <typename T, uint I = 0> struct extent : integral_constant<size_t, 0> {};
template <typename T, size_t N> struct extent<T[N], 0> : integral_constant<size_t, N> {};
template <typename T, size_t N, uint I> struct extent<T[N], I> : extent<T, I - 1> {};
template <typename T, uint I = 0> constexpr constant size_t extent_v = extent<T, I>::value;
template <typename T> struct add_const { typedef const T type; };
template <typename T> using add_const_t = const T;
template <typename T> struct add_volatile { typedef volatile T type; };
template <typename T> using add_volatile_t = volatile T;
template <typename T> struct add_pointer { typedef remove_reference_t<T>* type; };
template <typename T> using add_pointer_t = typename add_pointer<T>::type;
template <typename T> struct add_lvalue_reference { typedef T& type; };
template <> struct add_lvalue_reference<void> { typedef void type; };
template <typename T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <typename T> struct add_rvalue_reference { typedef T&& type; };
template <> struct add_rvalue_reference<void> { typedef void type; };
template <typename T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <typename T> struct __lib_decay { typedef remove_addrspace_t<remove_cv_t<T>> type; };
template <typename T, size_t N> struct __lib_decay<T[N]> { typedef T* type; };
template <typename T> struct decay { typedef typename __lib_decay<remove_reference_t<T>>::type type; };
template <typename T> using decay_t = typename decay<T>::type;

template <typename T> add_rvalue_reference_t<T> declval();

template <typename... Ts> struct common_type;
template <typename T> struct common_type<T> { typedef decay_t<T> type; };
template <typename T, typename U> struct common_type<T, U> {
  typedef decay_t<decltype(true ? declval<T>() : declval<U>())> type;
};
template <typename T, typename U, typename V> struct common_type<T, U, V> {
  typedef typename common_type<typename common_type<T, U>::type, V>::type type;
};
template <typename... Ts> using common_type_t = typename common_type<Ts...>::type;

template <typename F, typename... Args> struct invoke_result {
  typedef decltype(declval<F>()(declval<Args>()...)) type;
};
template <typename F, typename... Args> using invoke_result_t = typename invoke_result<F, Args...>::type;
template <typename T> struct make_signed;
template <typename T> struct make_unsigned;
#define __AM_SIGN(S, U) \
  template <> struct make_signed<S> { typedef S type; }; \
  template <> struct make_signed<U> { typedef S type; }; \
  template <> struct make_unsigned<S> { typedef U type; }; \
  template <> struct make_unsigned<U> { typedef U type; };
__AM_SIGN(char, uchar)
__AM_SIGN(short, ushort)
__AM_SIGN(int, uint)
__AM_SIGN(long, ulong)
#undef __AM_SIGN
template <typename T, int N> struct make_signed<vec<T, N>> { typedef vec<typename make_signed<T>::type, N> type; };
template <typename T, int N> struct make_unsigned<vec<T, N>> { typedef vec<typename make_unsigned<T>::type, N> type; };
template <typename T> using make_signed_t = typename make_signed<T>::type;
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type;

// The element of a vector, or the type itself; and how many elements it has.
template <typename T> struct __lib_element { typedef T type; };
template <typename T, int N> struct __lib_element<vec<T, N>> { typedef T type; };
template <typename T, int N> struct __lib_element<packed_vec<T, N>> { typedef T type; };
template <typename T> struct vec_elements : integral_constant<uint, 1> {};
template <typename T, int N> struct vec_elements<vec<T, N>> : integral_constant<uint, uint(N)> {};
template <typename T, int N> struct vec_elements<packed_vec<T, N>> : integral_constant<uint, uint(N)> {};

// Objects here have nothing that could be moved out of them.
template <typename T> constexpr T move(thread T& x) { return x; }
template <typename T> void swap(thread T& a, thread T& b) {
  T t = a;
  a = b;
  b = t;
}

}
