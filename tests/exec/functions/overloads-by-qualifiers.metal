// Of overloads that differ in what their references add, the one that adds less is called.
//! covers: C++ over.ics.rank
//! kernel: sums
//! group: 32
//! threads: 32
//! arg 0: u32 0*3
//! expect 0: u32 7 3 12

#include <metal_stdlib>
using namespace metal;

template <typename T>
struct Sum {
    T operator()(threadgroup const T& a, threadgroup const T& b) const { return a + b; }
    T operator()(volatile threadgroup const T& a, volatile threadgroup const T& b) const { return a * b; }
    T operator()(thread const T& a, thread const T& b) const { return a - b; }
};

kernel void sums(device uint* out, uint t [[thread_position_in_threadgroup]]) {
    threadgroup uint shared[2];
    threadgroup volatile uint changing[2];
    if (t == 0) {
        shared[0] = 3;
        shared[1] = 4;
        changing[0] = 3;
        changing[1] = 4;
        Sum<uint> sum;
        uint a = 5;
        uint b = 2;
        out[0] = sum(shared[0], shared[1]);
        out[1] = sum(a, b);
        out[2] = sum(changing[0], changing[1]);
    }
}
