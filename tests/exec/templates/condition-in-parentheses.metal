// A member of a template parameter in parentheses is a value, not the type of a cast, where no operand follows.
//! covers: C++ temp.res
//! oracle: clang
//! kernel: choose
//! arg 0: u32 0*6
//! expect 0: u32 1 20 3 40 7 0

#include <metal_stdlib>
using namespace metal;

struct Flat {
    static constant constexpr bool has_z = false;
    static constant constexpr uint size = 2;
};

struct Deep {
    static constant constexpr bool has_z = true;
    static constant constexpr uint size = 3;
};

namespace limits {
constant constexpr uint most = 7;
}

template <typename Traits>
void choose_for(device uint* out, uint a, uint b) {
    out[0] = (Traits::has_z) ? b : a;
    out[1] = ((Traits::has_z) && b > 0) ? a * 10 : b * 10;
}

template <typename Traits>
uint is_larger(uint than) {
    uint sizes[1] = {(Traits::size)};
    return (Traits::size) > than ? sizes[0] : 0;
}

kernel void choose(device uint* out) {
    choose_for<Flat>(out, 1, 2);
    choose_for<Deep>(out + 2, 4, 3);
    out[4] = (limits::most);
    out[5] = is_larger<Flat>(2);
}
