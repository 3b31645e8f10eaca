// Elementwise functions of one, two and three numbers. Macro: W is the type whose arithmetic wraps.

template <typename T> static bool is_nan(T x) { return false; }
template <> bool is_nan<float>(float x) { return isnan(x); }

// Arithmetic of two.
template <typename T> T op_add(T a, T b) { return T(W(a) + W(b)); }
template <typename T> T op_sub(T a, T b) { return T(W(a) - W(b)); }
template <typename T> T op_mul(T a, T b) { return T(W(a) * W(b)); }
template <typename T> T op_div(T a, T b) { return a / b; }
template <typename T> T op_rem(T a, T b) { return a % b; }
template <> float op_rem<float>(float a, float b) { return fmod(a, b); }
template <typename T> T op_min(T a, T b) { return is_nan(a) || a < b ? a : b; }
template <typename T> T op_max(T a, T b) { return is_nan(a) || a > b ? a : b; }
template <typename T> T op_pow(T a, T b) {
    if (b < 0) {
        // The quotient of one: the base's if that is a unit, else zero.
        bool odd = (b & 1) != 0;
        return a == 1 ? T(1) : a == T(-1) ? (odd ? a : T(1)) : T(0);
    }
    W base = W(a);
    W power = W(1);
    for (W left = W(b); left != 0; left = W(left >> 1)) {
        power = (left & 1) != 0 ? W(power * base) : power;
        base = W(base * base);
    }
    return T(power);
}
template <> float op_pow<float>(float a, float b) { return pow(a, b); }
template <typename T> T op_atan2(T a, T b) { return atan2(a, b); }
template <typename T> T op_hypot(T a, T b) {
    T high = max(fabs(a), fabs(b));
    T low = min(fabs(a), fabs(b));
    T ratio = high > 0 && !isinf(high) ? low / high : T(0);
    return isnan(a) || isnan(b) ? a + b : high * sqrt(fma(ratio, ratio, T(1)));
}
template <typename T> T op_logaddexp(T a, T b) {
    T high = max(a, b);
    // The difference of infinities of one sign would be NaN.
    T apart = a == b ? T(0) : -fabs(a - b);
    return isnan(a) || isnan(b) ? a + b : high + log1p(exp(apart));
}
template <typename T> T op_copysign(T a, T b) { return copysign(a, b); }

// Comparisons, logic, bits.
template <typename T> bool op_eq(T a, T b) { return a == b; }
template <typename T> bool op_ne(T a, T b) { return a != b; }
template <typename T> bool op_lt(T a, T b) { return a < b; }
template <typename T> bool op_le(T a, T b) { return a <= b; }
template <typename T> bool op_gt(T a, T b) { return a > b; }
template <typename T> bool op_ge(T a, T b) { return a >= b; }
template <typename T> bool op_logical_and(T a, T b) { return a && b; }
template <typename T> bool op_logical_or(T a, T b) { return a || b; }
template <typename T> bool op_logical_xor(T a, T b) { return bool(a) != bool(b); }
template <typename T> T op_bit_and(T a, T b) { return T(a & b); }
template <typename T> T op_bit_or(T a, T b) { return T(a | b); }
template <typename T> T op_bit_xor(T a, T b) { return T(a ^ b); }
template <typename T> T op_shl(T a, T b) { return W(b) < W(sizeof(T) * 8) ? T(W(a) << W(b)) : T(0); }
template <typename T> T op_shr(T a, T b) {
    return T(a >> (W(b) < W(sizeof(T) * 8) ? b : T(sizeof(T) * 8 - 1)));
}

// Functions of one. `p` has their parameters.
template <typename T> T op_copy(T x, float4 p) { return x; }
template <typename T> T op_neg(T x, float4 p) { return T(-W(x)); }
template <typename T> T op_abs(T x, float4 p) { return x < T(0) ? T(-W(x)) : x; }
template <> float op_abs<float>(float x, float4 p) { return fabs(x); }
template <typename T> T op_sign(T x, float4 p) { return T((x > T(0)) - (x < T(0))); }
template <> float op_sign<float>(float x, float4 p) { return isnan(x) ? x : float((x > 0) - (x < 0)); }
template <typename T> T op_square(T x, float4 p) { return T(W(x) * W(x)); }
template <typename T> T op_bit_not(T x, float4 p) { return T(~x); }
template <typename T> bool op_not(T x, float4 p) { return !bool(x); }
template <typename T> bool op_isnan(T x, float4 p) { return isnan(x); }
template <typename T> bool op_isinf(T x, float4 p) { return isinf(x); }
template <typename T> bool op_isfinite(T x, float4 p) { return isfinite(x); }
template <typename T> T op_sqrt(T x, float4 p) { return sqrt(x); }
template <typename T> T op_rsqrt(T x, float4 p) { return T(1) / sqrt(x); }
template <typename T> T op_recip(T x, float4 p) { return T(1) / x; }
template <typename T> T op_exp(T x, float4 p) { return exp(x); }
template <typename T> T op_exp2(T x, float4 p) { return exp2(x); }
template <typename T> T op_expm1(T x, float4 p) { return expm1(x); }
template <typename T> T op_log(T x, float4 p) { return log(x); }
template <typename T> T op_log2(T x, float4 p) { return log2(x); }
template <typename T> T op_log10(T x, float4 p) { return log10(x); }
template <typename T> T op_log1p(T x, float4 p) { return log1p(x); }
template <typename T> T op_sin(T x, float4 p) { return sin(x); }
template <typename T> T op_cos(T x, float4 p) { return cos(x); }
template <typename T> T op_tan(T x, float4 p) { return tan(x); }
template <typename T> T op_asin(T x, float4 p) { return asin(x); }
template <typename T> T op_acos(T x, float4 p) { return acos(x); }
template <typename T> T op_atan(T x, float4 p) { return atan(x); }
template <typename T> T op_sinh(T x, float4 p) { return sinh(x); }
template <typename T> T op_cosh(T x, float4 p) { return cosh(x); }
template <typename T> T op_asinh(T x, float4 p) { return asinh(x); }
template <typename T> T op_acosh(T x, float4 p) { return acosh(x); }
template <typename T> T op_atanh(T x, float4 p) { return atanh(x); }
template <typename T> T op_erf(T x, float4 p) { return erf(x); }
template <typename T> T op_floor(T x, float4 p) { return floor(x); }
template <typename T> T op_ceil(T x, float4 p) { return ceil(x); }
template <typename T> T op_round(T x, float4 p) { return rint(x); }
template <typename T> T op_trunc(T x, float4 p) { return trunc(x); }
template <typename T> T op_affine(T x, float4 p) { return fma(x, p.x, p.y); }
template <typename T> T op_clamp(T x, float4 p) { return x < T(p.x) ? T(p.x) : x > T(p.y) ? T(p.y) : x; }

// Functions of three.
template <typename T> T op_fma(T a, T b, T c) { return T(W(a) * W(b) + W(c)); }
template <> float op_fma<float>(float a, float b, float c) { return fma(a, b, c); }
template <typename T> T op_clamp_between(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
template <typename T> T op_lerp(T a, T b, T t) { return fma(t, b - a, a); }
