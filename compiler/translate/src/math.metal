//@ cbrt: each float(float)
// The estimate's exponent is rounded; one of Newton's steps makes up for it.
inline float cbrt(float x) {
    float a = fabs(x);
    if (a == 0.0f || !isfinite(a)) {
        return x;
    }
    float root = powr(a, 1.0f / 3.0f);
    float square = root * root;
    return copysign(root - fma(square, root, -a) / (3.0f * square), x);
}
//@ hypot: each float(float, float)
// Scaled by a power of two, so that squares neither overflow nor vanish.
inline float hypot(float x, float y) {
    if (isinf(x) || isinf(y)) {
        return INFINITY;
    }
    float largest = fmax(fabs(x), fabs(y));
    float scale = largest > 0x1p60f ? 0x1p-80f : largest < 0x1p-60f ? 0x1p80f : 1.0f;
    float a = x * scale, b = y * scale;
    return sqrt(fma(a, a, b * b)) / scale;
}
//@ log1p: each float(float)
inline float log1p(float x) {
    float u = 1.0f + x;
    return u == 1.0f ? x : u > FLT_MAX ? u : log(u) * (x / (u - 1.0f));
}
//@ expm1: each float(float)
inline float expm1(float x) {
    float u = exp(x);
    if (u == 1.0f) {
        return x;
    }
    float v = u - 1.0f;
    return v == -1.0f || isinf(u) ? v : v * (x / log(u));
}
//@ logb: each float(float)
inline float logb(float x) {
    return x == 0.0f ? -INFINITY : isfinite(x) ? float(ilogb(x)) : fabs(x);
}
//@ remainder: each float(float, float)
// `fmod` is exact, and so are the differences.
inline float remainder(float x, float y) {
    float b = fabs(y);
    float a = b <= 0.5f * FLT_MAX ? fmod(fabs(x), b + b) : fabs(x);
    if (!isfinite(x) || !(b > 0.0f)) {
        return NAN;
    }
    if (b < 0x1p-125f) {
        a = a + a > b ? a - b : a;
        a = a + a >= b && a >= 0.0f ? a - b : a;
    } else if (a > 0.5f * b) {
        a -= b;
        a = a >= 0.5f * b ? a - b : a;
    }
    return signbit(x) ? -a : a;
}
//@ acospi: each float(float)
inline float acospi(float x) {
    return acos(x) * M_1_PI_F;
}
//@ asinpi: each float(float)
inline float asinpi(float x) {
    return asin(x) * M_1_PI_F;
}
//@ atanpi: each float(float)
inline float atanpi(float x) {
    return atan(x) * M_1_PI_F;
}
//@ atan2pi: each float(float, float)
inline float atan2pi(float y, float x) {
    return atan2(y, x) * M_1_PI_F;
}
//@ maxmag: each float(float, float)
inline float maxmag(float x, float y) {
    return fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y);
}
//@ minmag: each float(float, float)
inline float minmag(float x, float y) {
    return fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y);
}
//@ pown: each float(float, int)
// An odd `n` of more than 24 bits is an even number as a float, so the sign comes from `n` itself.
inline float pown(float x, int n) {
    float power = pow(fabs(x), float(n));
    return (n & 1) != 0 ? copysign(power, x) : power;
}
//@ rootn: each float(float, int)
inline float rootn(float x, int n) {
    bool is_odd = (n & 1) != 0;
    if (n == 0 || (x < 0.0f && !is_odd)) {
        return NAN;
    }
    float root = pow(fabs(x), 1.0f / float(n));
    return is_odd ? copysign(root, x) : root;
}
//@ erfc_tail
// erfc(x) for x of 1 and more. The square is taken in two parts: its rounding error would be multiplied by 100.
inline float erfc_tail(float x) {
    float square = x * x, rest = fma(x, x, -square);
    float t = 1.0f / (x + 2.0f);
    float p = fma(fma(fma(fma(fma(fma(fma(fma(19.4528606f, t, -21.6618855f), t, 0.218716363f), t, 3.89565244f), t, 2.40869268f), t, 2.04065149f), t, 1.12253075f), t, 0.564465326f), t, -5.39861601e-6f);
    return x > 10.5f ? 0.0f : p * exp(-square) * (1.0f - rest);
}
//@ erf: each float(float), with erfc_tail
inline float erf(float x) {
    float a = fabs(x), t = x * x;
    if (a >= 1.0f) {
        return copysign(1.0f - erfc_tail(a), x);
    }
    return x * (fma(fma(fma(fma(fma(fma(7.87587506e-5f, t, -0.000801686429f), t, 0.00518908742f), t, -0.026854212f), t, 0.112835947f), t, -0.376126267f), t, 1.12837917f));
}
//@ erfc: each float(float), with erf, with erfc_tail
inline float erfc(float x) {
    float a = fabs(x);
    if (a >= 1.0f) {
        return x < 0.0f ? 2.0f - erfc_tail(a) : erfc_tail(a);
    }
    return 1.0f - erf(x);
}
//@ gamma_fraction
// The gamma function of 1 + t, for t between 0 and 1.
inline float gamma_fraction(float t) {
    return fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(0.0158638655f, t, -0.103048464f), t, 0.309931219f), t, -0.586516002f), t, 0.815823556f), t, -0.928919602f), t, 0.971358576f), t, -0.906260152f), t, 0.988980839f), t, -0.577213824f), t, 0.999999992f);
}
//@ tgamma: each float(float), with gamma_fraction
inline float tgamma(float x) {
    if (x != x || x == 0.0f || isinf(x)) {
        return x == 0.0f ? copysign(INFINITY, x) : x < 0.0f ? NAN : x;
    }
    if (x < 0.0f && x == floor(x)) {
        return NAN;
    }
    if (x > 35.1f) {
        return INFINITY;
    }
    if (x < -43.0f) {
        return fract(-0.5f * x) < 0.5f ? -0.0f : 0.0f;
    }
    // Down, or up, to between 1 and 2.
    float product = 1.0f, quotient = 1.0f;
    while (x >= 2.0f) {
        x -= 1.0f;
        product *= x;
    }
    while (x < 1.0f) {
        quotient *= x;
        x += 1.0f;
    }
    return product * gamma_fraction(x - 1.0f) / quotient;
}
//@ lgamma: each float(float)
// Around its zeros at 1 and 2 a polynomial times the distance; Stirling's series from 8 on.
inline float lgamma(float x) {
    if (!isfinite(x)) {
        return fabs(x);
    }
    float a = fabs(x), shift = 0.0f, sum;
    if (x < 0.0f) {
        float sine = fabs(sinpi(x)) * a;
        if (x == floor(x)) {
            return INFINITY;
        }
        shift = log(M_PI_F / sine);
    } else if (a == 0.0f) {
        return INFINITY;
    }
    if (a >= 8.0f) {
        float r = 1.0f / a, s = r * r;
        sum = fma(a - 0.5f, log(a), -a) + 0.91893853f + r * (0.083333333f + s * (-0.0027777778f + s * 7.9365079e-4f));
    } else if (a < 0.5f) {
        float t = a;
        sum = t * (fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(-0.167297327f, t, 0.179739271f), t, -0.0583021364f), t, 0.0653093057f), t, -0.11657937f), t, 0.13109551f), t, -0.143652916f), t, 0.16913452f), t, -0.207398208f), t, 0.270594282f), t, -0.40068552f), t, 0.822466912f), t, -0.577215665f)) - log(a);
    } else if (a < 1.5f) {
        float t = a - 1.0f;
        sum = t * (fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(-0.167297327f, t, 0.179739271f), t, -0.0583021364f), t, 0.0653093057f), t, -0.11657937f), t, 0.13109551f), t, -0.143652916f), t, 0.16913452f), t, -0.207398208f), t, 0.270594282f), t, -0.40068552f), t, 0.822466912f), t, -0.577215665f));
    } else {
        float product = 1.0f;
        while (a > 2.5f) {
            a -= 1.0f;
            product *= a;
        }
        float t = a - 2.0f;
        sum = t * (fma(fma(fma(fma(fma(fma(fma(fma(fma(fma(-5.20811874e-5f, t, 0.000114982482f), t, -0.000221310481f), t, 0.000505669257f), t, -0.00119295848f), t, 0.00289095398f), t, -0.00738554183f), t, 0.0205807885f), t, -0.0673523012f), t, 0.322467034f), t, 0.422784335f)) + log(product);
    }
    return x < 0.0f ? shift - sum : sum;
}
