// A class with a templated call operator as a template argument.
//! covers: C++ temp.arg
//! kernel: square_f32
//! arg 0: f32 3
//! expect 0: f32 9
//! kernel: negate_i32
//! arg 0: i32 3
//! expect 0: i32 -3

#include <metal_stdlib>
using namespace metal;

struct Square { template <typename T> T operator()(T x) { return x * x; } };
struct Negate { template <typename T> T operator()(T x) const { return -x; } };
template <typename T, typename F> [[kernel]] void apply(device T* data, uint i [[thread_position_in_grid]]) {
    F operation;
    data[i] = operation(data[i]);
}
template [[host_name("square_f32")]] [[kernel]] decltype(apply<float, Square>) apply<float, Square>;
typedef decltype(apply<int, Negate>) apply_t;
template [[host_name("negate_i32")]] kernel apply_t apply<int, Negate>;
