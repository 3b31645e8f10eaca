// Prices of European options after Black and Scholes; the normal distribution by Abramowitz and Stegun 26.2.17.
__device__ inline float cumulative_normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float series = 1.330274429f;
    series = fmaf(series, k, -1.821255978f);
    series = fmaf(series, k, 1.781477937f);
    series = fmaf(series, k, -0.356563782f);
    series = fmaf(series, k, 0.319381530f);
    float tail = 0.3989422804f * expf(-0.5f * d * d) * series * k;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* __restrict__ prices, const float* __restrict__ strikes,
                                         const float* __restrict__ years, float* __restrict__ calls,
                                         float* __restrict__ puts, float rate, float volatility, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float price = prices[i];
    float strike = strikes[i];
    float time = years[i];
    float spread = volatility * sqrtf(time);
    float d1 = (logf(price / strike) + (rate + 0.5f * volatility * volatility) * time) / spread;
    float d2 = d1 - spread;
    float n1 = cumulative_normal(d1);
    float n2 = cumulative_normal(d2);
    float discounted = strike * expf(-rate * time);
    calls[i] = price * n1 - discounted * n2;
    puts[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}
