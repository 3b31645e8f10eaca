//! kernel: values
//! threads: 1
//! arg 0: i32 0*4
//! expect 0: i32 4 5 6 11
//! oracle: exact
#include <metal_stdlib>
using namespace metal;

template <typename T> struct base {
    T value;
    T doubled() { return 2 * value; }
};
struct first : base<int> {
    template <typename T> struct inner {
        T value;
        T next() { return value + 1; }
    };
    inner<int> member;
};
template <typename T> struct second : base<T> {
    int value;
    int both() { return base<T>::value + this->value; }
};

kernel void values(device int* out [[buffer(0)]]) {
    first x;
    x.member.value = 3;
    out[0] = x.member.next();
    x.base<int>::value = 5;
    out[1] = x.value;
    x.value = 3;
    out[2] = x.base<int>::doubled();
    second<int> y;
    y.value = 4;
    y.base<int>::value = 7;
    out[3] = y.both();
}
