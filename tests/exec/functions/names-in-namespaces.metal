// Qualified names find a namespace's own declarations before those of directives; names on their own find
// nominated namespaces in the nearest namespace that encloses both.
//! covers: C++ basic.namespace, C++ basic.lookup
//! oracle: clang
//! kernel: qualified
//! arg 0: i32 0*9
//! expect 0: i32 2 1 3 4 5 6 7 8 9
//! kernel: unqualified
//! arg 0: i32 0*9
//! expect 0: i32 10 2 3 40 5 16 27 8 9

#include <metal_stdlib>
using namespace metal;

namespace own {
namespace inner { static int value() { return 1; } static int only() { return 3; } }
using namespace inner;
static int value() { return 2; }
}

// Through two directives, and through an alias.
namespace far { static int distant() { return 4; } static int near_and_far() { return 0; } }
namespace near { using namespace far; static int near_and_far() { return 5; } }
namespace user { using namespace near; }
namespace other = user;

// Inline namespaces are part of the namespace, anonymous ones are as if nominated.
namespace versions {
inline namespace v2 { static int current() { return 6; } inline namespace abi { static int deep() { return 7; } } }
namespace { static int hidden() { return 0; } static int shown() { return 8; } }
static int hidden() { return 9; }
}

kernel void qualified(device int* out) {
    out[0] = own::value();
    out[1] = own::inner::value();
    out[2] = own::only();
    out[3] = user::distant();
    out[4] = other::near_and_far();
    out[5] = versions::current();
    out[6] = versions::deep();
    out[7] = versions::shown();
    out[8] = versions::hidden();
}

namespace lib { static int f() { return 0; } static int g() { return 2; } static int h(int) { return 3; } }
namespace outer {
using namespace lib;
static int f() { return 10; }
namespace nested { static int call_g() { return g(); } static int call_f() { return f(); } }
}
// Those of `lib` are found in the global namespace, which has a function of the name.
static int h(float) { return 4; }
namespace outer { static int call_h() { return h(1.0f) * 10; } }

struct Shape {
    static int min(int) { return 5; }
    static int smallest() { using namespace metal; return min(7); }
};

namespace lists {
namespace first { static int pick(int) { return 1; } }
namespace second { static int pick(float) { return 2; } }
static int both(int base) {
    using namespace first;
    using namespace second;
    return base * pick(1) + 5 * pick(1.0f);
}
}

namespace ops {
struct Number { int n; };
static Number operator+(Number a, Number b) { return {a.n + b.n}; }
static Number operator-(Number a, Number b) { return {a.n - b.n}; }
}
namespace reexported { using ops::operator-; }

namespace around { namespace within { static int value() { return 8; } } namespace alias = within; }
using namespace around;
namespace redone = around::alias;

kernel void unqualified(device int* out) {
    out[0] = outer::nested::call_f();
    out[1] = outer::nested::call_g();
    out[2] = lib::h(1);
    out[3] = outer::call_h();
    out[4] = Shape::smallest();
    out[5] = lists::both(6);
    using namespace reexported;
    ops::Number a = {20}, b = {7};
    out[6] = (a + b).n;
    out[7] = redone::value();
    out[8] = within::value() + reexported::operator-(ops::Number{2}, ops::Number{1}).n;
}
