// Pointers to functions from lambdas, static members and names in parentheses.
// checked
#include <metal_stdlib>
using namespace metal;

struct Object
{
    static int twice(int x) { return 2 * x; }
    int method(int x) { return x; }
};
namespace n
{
struct X {};
int by_argument(int (*f)(X)) { return f(X()); }
}
int one(n::X) { return 1; }
int one(int) { return 2; }
int called(int (*f)(int)) { return f(3); }

kernel void pointers(device int* out [[buffer(0)]])
{
    int (*plain)(int) = [](int x) { return x + 1; };
    int (*generic)(int) = [](auto x) { return x; };
    auto closure = [](int x) { return x; };
    out[0] = plain(1) + generic(2) + called(closure) + ((int (*)(int))(closure))(4);
    int (*captures)(int) = [=](int x) { return x; }; //~ no-conversion
    int (*other)(float) = [](int x) { return x; }; //~ no-conversion
    static_assert(noexcept((int (*)(int))(closure)), "");
    Object object;
    out[1] = called(object.twice) + called(&object.twice) + called(&Object::twice);
    out[2] = called(object.method); //~ method-value
    out[3] = by_argument((&one)) + by_argument(&one);
    device int& const reference = out[0]; //~ qualified-reference
}
