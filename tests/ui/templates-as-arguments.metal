// Arguments of template template parameters, and using-declarations of classes that lead nowhere.
#include <metal_stdlib>
using namespace metal;

template <typename T> struct Box { T value; };
template <typename T, int N> struct Row { T items[N]; };
template <template <typename> class C> struct Applied { C<int> inner; };

struct Base { int f() { return 1; } Base(int) {} };
struct Other { Other(int) {} };
struct Derived : Base {
    using Base::g; //~ unknown-member
    using Other::Other; //~ bad-base
};

kernel void apply(device int* out) {
    Applied<Box> good;
    Applied<Row> other_parameters; //~ template-expected
    Applied<int> type; //~ template-expected
    Applied<3> value; //~ template-expected
    Applied<Missing> missing; //~ unknown-name
    Derived derived(1); //~ no-matching-function
    out[0] = good.inner.value;
}
