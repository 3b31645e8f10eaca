// `__builtin_assume`, which evaluates nothing, and `__builtin_bit_cast` between types of one size.
//! kernel: cast
//! threads: 4
//! group: 4
//! arg 0: f32 1 -2 0.5 3
//! arg 1: u32 0*4
//! arg 2: u32 0*8
//! expect 1: u32 0x3f800000 0xc0000000 0x3f000000 0x40400000
//! expect 2: u32 0x3f800000 0xc0000000 0x3f000000 0x40400000 7 0x3c00 0x40490fdb 3

#include <metal_stdlib>
using namespace metal;

struct Words { uint w[4]; };
struct Pair { ushort a, b; };

int called(thread int& n) { n += 1; return n; }

constexpr uint bits_of(float x) { return __builtin_bit_cast(uint, x); }
static_assert(bits_of(1.0f) == 0x3f800000, "evaluated at compile time");
static_assert(__builtin_bit_cast(Pair, 0x00020001u).b == 2, "records too");

template <typename To, typename From> To bit_cast(From from) { return __builtin_bit_cast(To, from); }

kernel void cast(device const float* in [[buffer(0)]], device uint* out [[buffer(1)]],
                 device uint* more [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    __builtin_assume(i < 4);
    int calls = 3;
    __builtin_assume(called(calls) > 0);
    out[i] = __builtin_bit_cast(uint, in[i]);
    if (i == 0) {
        float4 v(in[0], in[1], in[2], in[3]);
        Words words = __builtin_bit_cast(Words, v);
        uint4 back = bit_cast<uint4>(words);
        for (int n = 0; n < 4; ++n) { more[n] = n < 2 ? words.w[n] : back[n]; }
        more[4] = bit_cast<uint>(Pair{7, 0});
        more[5] = bit_cast<ushort>(1.0h);
        more[6] = bit_cast<uint>(as_type<float>(0x40490fdbu));
        more[7] = uint(calls);
    }
}
