// Uniform variables take uniform values (MSL 2.14.2).
// checked
#include <metal_stdlib>
using namespace metal;

static int sum(uniform<int> a, int b)
{
    uniform<int> twice = a + a;
    uniform<int> varies = a + b; //~ uniform-value: cannot be initialised by `b`, which is not uniform
    return twice + varies;
}

kernel void values(constant int& given [[buffer(0)]], device int* out [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    uniform<int> three = 3;
    uniform<int> loaded = given;
    int z = loaded * int(i);
    metal::uniform<int> b = z; //~ uniform-value: cannot be initialised by `z`
    uniform<int> promised = make_uniform(z);
    const int constant_number = 4;
    uniform<int> known = constant_number;
    auto deduced = three + 1;
    uniform<int> from_deduced = deduced;
    uniform<uint> position = i + 1; //~ uniform-value: cannot be initialised by `i`
    out[i] = sum(three, z) + b + promised + known + from_deduced + int(position);
}

static int take(uniform<int> a, int b, uniform<int> c = 4) { return a + b + c; }

static uniform<int> same(uniform<int> a, int b)
{
    if (a > 3)
        return b; //~ uniform-value: a function with a uniform result cannot return `b`
    if (a > 2)
        return make_uniform(b);
    return a * 2;
}

template <typename T> uniform<T> twice(uniform<T> x, T y)
{
    x = y; //~ uniform-value: a uniform variable cannot be assigned the value of `y`
    return x + x;
}

namespace other
{
    template <typename T> using uniform = T;
    int plain(uniform<int> a, int b)
    {
        a = b;
        return a;
    }
}

kernel void flows(constant int& given [[buffer(0)]], device int* out [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    uniform<int> u = given;
    int v = out[i];
    u = v; //~ uniform-value: a uniform variable cannot be assigned the value of `v`
    u += v; //~ uniform-value
    u += 2;
    u++;
    v = u;
    v += u;
    u = given;
    u = make_uniform(v);
    out[0] = take(u, v);
    out[1] = take(v, u); //~ uniform-value: a uniform parameter cannot take the value of `v`
    out[2] = take(u, v, v); //~ uniform-value
    out[3] = take(make_uniform(v), v) + same(u, v) + twice<int>(u, v) + other::plain(v, v);
}
