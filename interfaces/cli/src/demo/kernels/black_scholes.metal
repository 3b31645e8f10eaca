// Prices of European options after Black and Scholes; the normal distribution by Abramowitz and Stegun 26.2.17.
#include <metal_stdlib>
using namespace metal;

static float cumulative_normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float series = 1.330274429f;
    series = fma(series, k, -1.821255978f);
    series = fma(series, k, 1.781477937f);
    series = fma(series, k, -0.356563782f);
    series = fma(series, k, 0.319381530f);
    float tail = 0.3989422804f * exp(-0.5f * d * d) * series * k;
    return d > 0 ? 1.0f - tail : tail;
}

kernel void black_scholes(device const float* prices [[buffer(0)]],
                          device const float* strikes [[buffer(1)]],
                          device const float* years [[buffer(2)]],
                          device float* calls [[buffer(3)]],
                          device float* puts [[buffer(4)]],
                          constant float& rate [[buffer(5)]],
                          constant float& volatility [[buffer(6)]],
                          constant uint& n [[buffer(7)]],
                          uint i [[thread_position_in_grid]]) {
    if (i >= n) {
        return;
    }
    float price = prices[i];
    float strike = strikes[i];
    float time = years[i];
    float spread = volatility * sqrt(time);
    float d1 = (log(price / strike) + (rate + 0.5f * volatility * volatility) * time) / spread;
    float d2 = d1 - spread;
    float n1 = cumulative_normal(d1);
    float n2 = cumulative_normal(d2);
    float discounted = strike * exp(-rate * time);
    calls[i] = price * n1 - discounted * n2;
    puts[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}
