// <metal_limits>. Programs specialise `_numeric_limits_impl` for types of their own.

namespace metal {

enum float_denorm_style { denorm_indeterminate = -1, denorm_absent, denorm_present };
enum float_round_style {
  round_indeterminate = -1, round_toward_zero, round_to_nearest, round_toward_infinity, round_toward_neg_infinity
};

template <typename T> struct _numeric_limits_impl {
  static constexpr constant bool is_specialized = false;
  static constexpr constant bool is_signed = false;
  static constexpr constant bool is_integer = false;
  static constexpr constant bool is_exact = false;
  static constexpr constant bool has_infinity = false;
  static constexpr constant bool has_quiet_NaN = false;
  static constexpr constant int digits = 0;
  static constexpr constant int digits10 = 0;
  static constexpr T min() { return T(); }
  static constexpr T max() { return T(); }
  static constexpr T lowest() { return T(); }
};

template <typename T, T MIN, T MAX, bool SIGNED, int DIGITS> struct __lib_integer_limits {
  static constexpr constant bool is_specialized = true;
  static constexpr constant bool is_signed = SIGNED;
  static constexpr constant bool is_integer = true;
  static constexpr constant bool is_exact = true;
  static constexpr constant bool has_infinity = false;
  static constexpr constant bool has_quiet_NaN = false;
  static constexpr constant bool has_signaling_NaN = false;
  static constexpr constant float_denorm_style has_denorm = denorm_absent;
  static constexpr constant bool has_denorm_loss = false;
  static constexpr constant bool is_iec559 = false;
  static constexpr constant bool is_bounded = true;
  static constexpr constant bool is_modulo = !SIGNED;
  static constexpr constant bool traps = false;
  static constexpr constant bool tinyness_before = false;
  static constexpr constant float_round_style round_style = round_toward_zero;
  static constexpr constant int digits = DIGITS;
  static constexpr constant int digits10 = DIGITS * 3 / 10;
  static constexpr constant int max_digits10 = 0;
  static constexpr constant int radix = 2;
  static constexpr constant int min_exponent = 0;
  static constexpr constant int min_exponent10 = 0;
  static constexpr constant int max_exponent = 0;
  static constexpr constant int max_exponent10 = 0;
  static constexpr T min() { return MIN; }
  static constexpr T max() { return MAX; }
  static constexpr T lowest() { return MIN; }
  static constexpr T epsilon() { return T(0); }
  static constexpr T round_error() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T signaling_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
};

// `B` is the unsigned integer of the same size; the values are given by their bits.
template <typename T, typename B, int MANTISSA, int EXPONENT, int DIGITS10, int MAX_DIGITS10, int MIN_EXPONENT10, int MAX_EXPONENT10>
struct __lib_float_limits {
  static constexpr constant bool is_specialized = true;
  static constexpr constant bool is_signed = true;
  static constexpr constant bool is_integer = false;
  static constexpr constant bool is_exact = false;
  static constexpr constant bool has_infinity = true;
  static constexpr constant bool has_quiet_NaN = true;
  static constexpr constant bool has_signaling_NaN = true;
  static constexpr constant float_denorm_style has_denorm = denorm_present;
  static constexpr constant bool has_denorm_loss = false;
  static constexpr constant bool is_iec559 = true;
  static constexpr constant bool is_bounded = true;
  static constexpr constant bool is_modulo = false;
  static constexpr constant bool traps = false;
  static constexpr constant bool tinyness_before = false;
  static constexpr constant float_round_style round_style = round_to_nearest;
  static constexpr constant int digits = MANTISSA + 1;
  static constexpr constant int digits10 = DIGITS10;
  static constexpr constant int max_digits10 = MAX_DIGITS10;
  static constexpr constant int radix = 2;
  static constexpr constant int min_exponent = 3 - (1 << (EXPONENT - 1));
  static constexpr constant int min_exponent10 = MIN_EXPONENT10;
  static constexpr constant int max_exponent = 1 << (EXPONENT - 1);
  static constexpr constant int max_exponent10 = MAX_EXPONENT10;
  // A power of two, and the greatest exponent field.
  static constexpr B __lib_power(int n) { return B(((1 << (EXPONENT - 1)) - 1 + n) << MANTISSA); }
  static constexpr B __lib_top() { return B(((1 << EXPONENT) - 1) << MANTISSA); }
  static constexpr T min() { return __am_as_type<T>(B(1u << MANTISSA)); }
  static constexpr T max() { return __am_as_type<T>(B(__lib_top() - 1)); }
  static constexpr T lowest() { return -max(); }
  static constexpr T epsilon() { return __am_as_type<T>(__lib_power(-MANTISSA)); }
  static constexpr T round_error() { return __am_as_type<T>(__lib_power(-1)); }
  static constexpr T infinity() { return __am_as_type<T>(__lib_top()); }
  static constexpr T quiet_NaN() { return __am_as_type<T>(B(__lib_top() | (1u << (MANTISSA - 1)))); }
  static constexpr T signaling_NaN() { return __am_as_type<T>(B(__lib_top() | (1u << (MANTISSA - 2)))); }
  static constexpr T denorm_min() { return __am_as_type<T>(B(1)); }
};

template <> struct _numeric_limits_impl<bool> : __lib_integer_limits<bool, false, true, false, 1> {};
template <> struct _numeric_limits_impl<char> : __lib_integer_limits<char, char(-128), char(127), true, 7> {};
template <> struct _numeric_limits_impl<uchar> : __lib_integer_limits<uchar, uchar(0), uchar(255), false, 8> {};
template <> struct _numeric_limits_impl<short> : __lib_integer_limits<short, short(-32768), short(32767), true, 15> {};
template <> struct _numeric_limits_impl<ushort> : __lib_integer_limits<ushort, ushort(0), ushort(65535), false, 16> {};
template <> struct _numeric_limits_impl<int> : __lib_integer_limits<int, INT_MIN, INT_MAX, true, 31> {};
template <> struct _numeric_limits_impl<uint> : __lib_integer_limits<uint, 0u, UINT_MAX, false, 32> {};
template <> struct _numeric_limits_impl<long> : __lib_integer_limits<long, LONG_MIN, LONG_MAX, true, 63> {};
template <> struct _numeric_limits_impl<ulong> : __lib_integer_limits<ulong, 0ul, ULONG_MAX, false, 64> {};
template <> struct _numeric_limits_impl<half> : __lib_float_limits<half, ushort, 10, 5, 3, 5, -4, 4> {};
template <> struct _numeric_limits_impl<bfloat> : __lib_float_limits<bfloat, ushort, 7, 8, 2, 4, -37, 38> {};
template <> struct _numeric_limits_impl<float> : __lib_float_limits<float, uint, 23, 8, 6, 9, -37, 38> {};

template <typename T> struct numeric_limits : _numeric_limits_impl<remove_cv_t<T>> {};

// How the bits of a float type are laid out.
template <typename T, typename B, int MANTISSA, int EXPONENT> struct __lib_fp_encoding {
  typedef B encoding_type;
  static constexpr constant encoding_type sign_shift = MANTISSA + EXPONENT;
  static constexpr constant encoding_type sign_mask = encoding_type(1u << (MANTISSA + EXPONENT));
  static constexpr constant encoding_type exponent_shift = MANTISSA;
  static constexpr constant encoding_type exponent_mask = encoding_type((1u << EXPONENT) - 1);
  static constexpr constant encoding_type exponent_bias = encoding_type((1u << (EXPONENT - 1)) - 1);
  static constexpr constant encoding_type significand_mask = encoding_type((1u << MANTISSA) - 1);
  static constexpr constant encoding_type inf_mask = encoding_type(((1u << EXPONENT) - 1) << MANTISSA);
  static constexpr constant encoding_type quiet_nan_mask = encoding_type(1u << (MANTISSA - 1));
};
template <typename T> struct _fp_encoding_traits;
template <> struct _fp_encoding_traits<half> : __lib_fp_encoding<half, ushort, 10, 5> {};
template <> struct _fp_encoding_traits<bfloat> : __lib_fp_encoding<bfloat, ushort, 7, 8> {};
template <> struct _fp_encoding_traits<float> : __lib_fp_encoding<float, uint, 23, 8> {};

}
