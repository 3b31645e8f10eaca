// Variables that their own initialisers mention (C++14 [basic.scope.pdecl], [dcl.spec.auto]).
#include <metal_stdlib>
using namespace metal;

struct Pair { int n; };

kernel void initialisers(device int* out [[buffer(0)]])
{
    auto deduced = deduced; //~ own-initialiser
    auto size = sizeof(size); //~ own-initialiser
    thread auto& reference = reference; //~ own-initialiser
    decltype(auto) exact = exact; //~ own-initialiser
    constexpr int constant_value = constant_value; //~ not-constant
    int n = sizeof(n);
    Pair pair = { 1 };
    auto copy = pair.n;
    out[0] = n + copy;
}
