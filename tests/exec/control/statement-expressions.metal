// GNU's statement expressions: values, effects, nesting, loops inside, in templates and methods.
//! kernel: statements
//! threads: 4
//! group: 4
//! arg 0: i32 3 -1 7 0
//! arg 1: i32 0*4
//! expect 1: i32 32 9 67 13
#include <metal_stdlib>

#define LARGER(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })

struct Counter {
    int count;
    int next(int n) { return ({ count += n; int doubled = count * 2; doubled; }); }
};

template <typename T> T sum_below(T n) {
    return ({
        T sum = 0;
        for (T i = 0; i < n; i++) {
            if (i == 5) break;
            if (i == 1) continue;
            sum += i;
        }
        sum;
    });
}

kernel void statements(device int* in [[buffer(0)]], device int* out [[buffer(1)]],
                       uint t [[thread_position_in_grid]]) {
    threadgroup int shared[4];
    __auto_type x = in[t];
    const device int &of = in[t];
    Counter counter = {1};
    // 2 * (1 + x), and the larger of x and 2.
    int r = counter.next(x) + LARGER(x, 2);
    // Nested, as an argument and a condition; of no value.
    r += LARGER(LARGER(x, 1), ({ int two = 2; two; }));
    if (({ shared[t] = x; x > 2; })) r += ({ [&] { return x; }(); });
    ({ shared[t] += counter.count; });
    ({ r += 1; (void)0; });
    simdgroup_barrier(metal::mem_flags::mem_threadgroup);
    out[t] = r + shared[t] + sum_below(x) + ({ struct Five { int value() { return 5; } } five; five.value() - of + x; });
}
