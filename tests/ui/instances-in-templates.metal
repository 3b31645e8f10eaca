// Instances that depend on no parameter are checked as always, also where a template's code needs them.
// checked
#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;

template <typename T> struct Length
{
    static constexpr int of() { return sizeof(T); }
    static auto missing() { return T::member; } //~ not-a-class
};

template <int N> static void in_template(device float* data, device int* out)
{
    auto all = tensor(data, dextents<int, 2>(4, 4));
    out[N] = all.slice(1, 1).get_extent(0);
    constexpr int length = Length<int>::of();
    static_assert(length == 4, "");
    static_assert(length == 5, ""); //~ static-assert
    out[N] = Length<int>::missing();
}
