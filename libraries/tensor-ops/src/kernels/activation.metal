// Activations, their derivatives, and functions that they need; kernels of several families use
// them. `p` has an activation's parameters.

constant constexpr float SQRT_HALF = 0.70710678118654752f;

// The error function: below one half its Taylor series, else Abramowitz and Stegun 7.1.26 (error
// below 1.5e-7).
static float erf(float x) {
    float y = fabs(x);
    if (y < 0.5f) {
        float s = x * x;
        float sum = fma(s, -1.3227513e-5f, 1.0683761e-4f);
        sum = fma(s, sum, -7.5757576e-4f);
        sum = fma(s, sum, 4.6296296e-3f);
        sum = fma(s, sum, -2.3809524e-2f);
        sum = fma(s, sum, 0.1f);
        sum = fma(s, sum, -0.33333333f);
        return 1.1283792f * fma(x * s, sum, x);
    }
    float t = 1.0f / fma(0.3275911f, y, 1.0f);
    float sum = fma(t, 1.061405429f, -1.453152027f);
    sum = fma(t, sum, 1.421413741f);
    sum = fma(t, sum, -0.284496736f);
    sum = fma(t, sum, 0.254829592f);
    return copysign(1.0f - t * sum * exp(-y * y), x);
}

// exp(x) - 1 without cancellation: near zero the Taylor series.
static float expm1(float x) {
    if (fabs(x) > 0.35f) {
        return exp(x) - 1.0f;
    }
    float sum = fma(x, 1.9841270e-4f, 1.3888889e-3f);
    sum = fma(x, sum, 8.3333333e-3f);
    sum = fma(x, sum, 4.1666667e-2f);
    sum = fma(x, sum, 0.16666667f);
    sum = fma(x, sum, 0.5f);
    return fma(x * x, sum, x);
}

// log(1 + x): near zero as 2 atanh(x / (2 + x)) by its series, which holds if sums are reassociated
// as well.
static float log1p(float x) {
    if (!(x >= -0.5f && x <= 1.0f)) {
        return log(1.0f + x);
    }
    float s = x / (2.0f + x);
    float z = s * s;
    float sum = fma(z, 0.066666667f, 0.076923077f);
    sum = fma(z, sum, 0.090909091f);
    sum = fma(z, sum, 0.11111111f);
    sum = fma(z, sum, 0.14285714f);
    sum = fma(z, sum, 0.2f);
    sum = fma(z, sum, 0.33333333f);
    return 2.0f * fma(s * z, sum, s);
}

static float sigmoid(float x) {
    float e = exp(-fabs(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

static float softplus(float x) {
    return max(x, 0.0f) + log1p(exp(-fabs(x)));
}

// Activations.
template <typename T> T op_relu(T x, float4 p) { return x < T(0) ? T(0) : x; }
template <typename T> T op_leaky_relu(T x, float4 p) { return x < 0 ? x * p.x : x; }
template <typename T> T op_elu(T x, float4 p) { return x < 0 ? p.x * expm1(x) : x; }
template <typename T> T op_selu(T x, float4 p) {
    return 1.0507009873554805f * (x < 0 ? 1.6732632423543773f * expm1(x) : x);
}
template <typename T> T op_gelu(T x, float4 p) { return 0.5f * x * (1.0f + erf(x * SQRT_HALF)); }
static float gelu_argument(float x) { return 0.7978845608028654f * fma(0.044715f * x, x * x, x); }
template <typename T> T op_gelu_tanh(T x, float4 p) { return 0.5f * x * (1.0f + tanh(gelu_argument(x))); }
template <typename T> T op_silu(T x, float4 p) { return x * sigmoid(x); }
template <typename T> T op_mish(T x, float4 p) { return x * tanh(softplus(x)); }
template <typename T> T op_sigmoid(T x, float4 p) { return sigmoid(x); }
template <typename T> T op_tanh(T x, float4 p) { return tanh(x); }
template <typename T> T op_softplus(T x, float4 p) { return softplus(x); }
template <typename T> T op_hard_sigmoid(T x, float4 p) { return clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); }
template <typename T> T op_hard_swish(T x, float4 p) { return x * clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); }
template <typename T> T op_hard_tanh(T x, float4 p) { return x < p.x ? p.x : x > p.y ? p.y : x; }
template <typename T> T op_celu(T x, float4 p) { return x < 0 ? p.x * expm1(x / p.x) : x; }
template <typename T> T op_softsign(T x, float4 p) {
    float y = fabs(x);
    return isinf(x) ? copysign(1.0f, x) : x / (1.0f + y);
}
template <typename T> T op_logsigmoid(T x, float4 p) { return -softplus(-x); }
template <typename T> T op_quick_gelu(T x, float4 p) { return x * sigmoid(1.702f * x); }

// Their derivatives times the gradient `g`.
template <typename T> T back_relu(T x, T g, float4 p) { return x > 0 ? g : T(0); }
template <typename T> T back_leaky_relu(T x, T g, float4 p) { return x > 0 ? g : g * p.x; }
template <typename T> T back_elu(T x, T g, float4 p) { return x > 0 ? g : g * p.x * exp(x); }
template <typename T> T back_selu(T x, T g, float4 p) {
    return 1.0507009873554805f * g * (x > 0 ? T(1) : 1.6732632423543773f * exp(x));
}
template <typename T> T back_gelu(T x, T g, float4 p) {
    float density = 0.3989422804014327f * exp(-0.5f * x * x);
    return g * fma(x, density, 0.5f * (1.0f + erf(x * SQRT_HALF)));
}
template <typename T> T back_gelu_tanh(T x, T g, float4 p) {
    float t = tanh(gelu_argument(x));
    float slope = 0.7978845608028654f * fma(0.134145f * x, x, 1.0f);
    return g * 0.5f * (1.0f + t + x * (1.0f - t * t) * slope);
}
template <typename T> T back_silu(T x, T g, float4 p) {
    float s = sigmoid(x);
    return g * s * fma(x, 1.0f - s, 1.0f);
}
template <typename T> T back_mish(T x, T g, float4 p) {
    float t = tanh(softplus(x));
    return g * fma(x * sigmoid(x), 1.0f - t * t, t);
}
template <typename T> T back_sigmoid(T x, T g, float4 p) {
    float s = sigmoid(x);
    return g * s * (1.0f - s);
}
template <typename T> T back_tanh(T x, T g, float4 p) {
    float t = tanh(x);
    return g * (1.0f - t * t);
}
template <typename T> T back_softplus(T x, T g, float4 p) { return g * sigmoid(x); }
template <typename T> T back_hard_sigmoid(T x, T g, float4 p) { return x > -3 && x < 3 ? g / 6.0f : T(0); }
template <typename T> T back_hard_swish(T x, T g, float4 p) {
    return x <= -3 ? T(0) : x >= 3 ? g : g * (x / 3.0f + 0.5f);
}
template <typename T> T back_hard_tanh(T x, T g, float4 p) { return x > p.x && x < p.y ? g : T(0); }
template <typename T> T back_celu(T x, T g, float4 p) { return x > 0 ? g : g * exp(x / p.x); }
template <typename T> T back_softsign(T x, T g, float4 p) {
    float y = 1.0f + fabs(x);
    return g / y / y;
}
template <typename T> T back_logsigmoid(T x, T g, float4 p) { return g * sigmoid(-x); }
template <typename T> T back_quick_gelu(T x, T g, float4 p) {
    float s = sigmoid(1.702f * x);
    return g * s * fma(1.702f * x, 1.0f - s, 1.0f);
}
