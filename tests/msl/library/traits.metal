// <metal_type_traits> and <metal_limits>.
#include <metal_stdlib>
using namespace metal;

struct Empty {};
struct Base { int x; };
struct Derived : Base {};
enum Plain { one };
enum class Scoped { one };

static_assert(is_same_v<int, int> && !is_same_v<int, uint> && is_same<float, float>::value, "is_same");
static_assert(is_integral_v<int> && is_integral_v<bool> && !is_integral_v<float> && is_integral<uchar>::value, "is_integral");
static_assert(is_floating_point_v<half> && is_floating_point_v<bfloat> && !is_floating_point_v<int>, "is_floating_point");
static_assert(is_arithmetic_v<int> && !is_arithmetic_v<float4> && is_scalar_v<float>, "is_arithmetic");
static_assert(is_signed_v<int> && is_signed_v<float> && is_unsigned_v<uint> && !is_signed_v<uint>, "is_signed");
static_assert(is_const_v<const int> && !is_const_v<int> && is_pointer_v<device int*> && !is_pointer_v<int>, "is_const");
static_assert(is_void_v<void> && is_enum_v<Plain> && is_enum_v<Scoped> && is_class_v<Empty> && is_empty_v<Empty>, "kinds");
static_assert(!is_empty_v<Base> && is_trivially_copyable_v<Base> && is_reference_v<thread int&> && is_array_v<int[3]>, "kinds");
static_assert(is_convertible_v<int, float> && is_convertible_v<bfloat, float> && !is_convertible_v<Base, int>, "is_convertible");
static_assert(is_base_of_v<Base, Derived> && !is_base_of_v<Derived, Base>, "is_base_of");
static_assert(is_same_v<remove_cv_t<const volatile int>, int> && is_same_v<remove_const_t<const float>, float>, "remove");
static_assert(is_same_v<remove_reference_t<thread int&>, int> && is_same_v<remove_addrspace_t<device int>, int>, "remove");
static_assert(is_same_v<remove_pointer_t<thread int*>, int> && is_same_v<decay_t<const thread int&>, int>, "remove");
static_assert(rank_v<int> == 0 && rank<int[3]>::value == 1 && rank_v<float4[3][4]> == 2, "rank");
static_assert(extent_v<int[3][4]> == 3 && extent_v<int[3][4], 1> == 4 && extent<int[3][4], 2>::value == 0, "extent");
static_assert(extent_v<int> == 0 && extent_v<int, 1> == 0, "extent");
static_assert(is_same_v<remove_all_extents_t<int[3][4]>, int> && is_same_v<remove_all_extents_t<half2>, half2>, "remove");
static_assert(is_same_v<conditional_t<true, int, float>, int> && is_same_v<enable_if_t<true, half>, half>, "conditional");
static_assert(is_same_v<make_signed_t<uint>, int> && is_same_v<make_unsigned_t<short>, ushort>, "signs");
static_assert(is_same_v<make_unsigned_t<int4>, uint4>, "signs");
static_assert(integral_constant<int, 5>::value == 5 && true_type::value && !false_type::value && bool_constant<true>::value, "constants");
static_assert(integral_constant<int, 5>() + 1 == 6 && integral_constant<uint, 7>{}() == 7, "constants convert");
static_assert(_disjunction<false_type, is_same<int, int>>::value && !_disjunction<false_type>::value, "disjunction");
static_assert(_conjunction<true_type, is_same<int, int>>::value && !_conjunction<true_type, false_type>::value, "conjunction");
static_assert(disjunction_v<false_type, true_type> && conjunction_v<> && negation_v<false_type>, "logic");
static_assert(vec_elements<float4>::value == 4 && vec_elements<int>::value == 1, "vec_elements");
static_assert(is_same_v<common_type_t<int, float>, float>, "common_type");
static_assert(is_same_v<decltype(declval<int>() + declval<float>()), float>, "declval");
static_assert(__is_valid_simdgroup_type<float>::value && __is_valid_simdgroup_type<half4>::value, "simdgroup types");
static_assert(!__is_valid_simdgroup_type<long>::value && !__is_valid_simdgroup_type<bool>::value, "simdgroup types");
static_assert(!__is_valid_simdgroup_type<Base>::value, "simdgroup types");

struct Functor {
  float operator()(int x) const { return x; }
};
static_assert(is_same_v<invoke_result_t<Functor, int>, float>, "results");

static_assert(numeric_limits<int>::max() == INT_MAX && numeric_limits<int>::lowest() == INT_MIN && numeric_limits<char>::min() == -128, "integers");
static_assert(numeric_limits<uint>::max() == UINT_MAX && numeric_limits<ulong>::min() == 0 && numeric_limits<bool>::max(), "integers");
static_assert(numeric_limits<int>::digits == 31 && numeric_limits<int>::digits10 == 9 && numeric_limits<int>::is_integer, "integers");
static_assert(!numeric_limits<uchar>::is_signed && numeric_limits<short>::is_signed && !numeric_limits<int>::has_infinity, "integers");
static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::lowest() == -FLT_MAX, "float");
static_assert(numeric_limits<float>::min() == FLT_MIN && numeric_limits<float>::epsilon() == FLT_EPSILON, "float");
static_assert(numeric_limits<float>::infinity() == INFINITY && numeric_limits<float>::quiet_NaN() != 0.0f, "float");
static_assert(numeric_limits<float>::denorm_min() > 0.0f && numeric_limits<float>::digits == 24, "float");
static_assert(numeric_limits<float>::min_exponent == -125 && numeric_limits<float>::max_exponent == 128, "float");
static_assert(numeric_limits<half>::max() == MAXHALF && numeric_limits<half>::epsilon() == HALF_EPSILON, "half");
static_assert(numeric_limits<half>::min() == HALF_MIN && numeric_limits<half>::digits == 11 && numeric_limits<half>::min_exponent == -13, "half");
static_assert(as_type<ushort>(numeric_limits<bfloat>::max()) == 0x7f7f && numeric_limits<bfloat>::digits == 8, "bfloat");
static_assert(as_type<ushort>(numeric_limits<bfloat>::lowest()) == 0xff7f && numeric_limits<const float>::is_iec559, "bfloat");
static_assert(_fp_encoding_traits<float>::sign_mask == 0x80000000u && _fp_encoding_traits<float>::inf_mask == 0x7f800000u, "encoding");
static_assert(_fp_encoding_traits<half>::inf_mask == 0x7c00, "encoding");

// Programs describe types of their own, from the global namespace too.
struct Pair { float a; int b; };
template <> struct _numeric_limits_impl<Pair> {
  static constexpr Pair max() { return Pair{FLT_MAX, 3}; }
};
static_assert(numeric_limits<Pair>::max().b == 3, "own limits");

template <typename T, enable_if_t<is_integral_v<T>, bool> = true> constexpr int kind(T) { return 1; }
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> constexpr int kind(T) { return 2; }
static_assert(kind(1) == 1 && kind(1.0h) == 2, "enable_if");

kernel void at_run_time(device float* p [[buffer(0)]]) {
  p[0] = numeric_limits<float>::max() + numeric_limits<Pair>::max().a + integral_constant<int, 4>();
  float a = p[1], b = p[2];
  metal::swap(a, b);
  p[3] = metal::move(a) + b;
}
