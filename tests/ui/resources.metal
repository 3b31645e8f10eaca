// Where the host binds resources: indices of function constants, structures of resources, program scope.
// checked
#include <metal_stdlib>
using namespace metal;

constant int place [[function_constant(0)]];
constant float fraction [[function_constant(1)]];
constant int next = place + 1;

kernel void specified(device int* a [[buffer(place)]], device int* b [[buffer(next)]], device int* c) { c[0] = *a + *b; }
kernel void not_an_integer(device int* a [[buffer(fraction)]]) { a[0] = 1; } //~ attribute-argument: integers
struct Numbered { device int* a [[id(place)]]; }; //~ attribute-argument: cannot specify the number of `id`

struct Pair { texture2d<float> picture [[texture(0)]]; device float* values; };
struct Mixed { Pair pair; int count; }; //~ kernel-parameter: is not a resource
struct Derived : Pair { sampler s; };

kernel void by_value(Pair pair, device float* out [[buffer(0)]]) { out[0] = pair.values[0]; }
kernel void mixed(Mixed m) { m.pair.values[0] = m.count; }
kernel void derived(Derived d) { d.values[0] = 1; } //~ kernel-parameter: has no base class
kernel void one_index_twice(Pair pair, texture2d<float> other [[texture(0)]]) {} //~ duplicate-index
kernel void pointers(array<device float*, 30> many, array<device float*, 2> more) {} //~ attribute-argument: no index is left
kernel void of_threads(array_ref<texture2d<float>> textures) {} //~ kernel-parameter: device, constant or threadgroup

device float* constant out [[buffer(0)]];
constant texture2d<float, access::write> first [[texture(1)]];
constant texture2d<float, access::write> second [[texture(1)]];
constant texture2d<float, access::read_write> third [[texture(1)]]; //~ duplicate-index: different types
sampler constant wrong [[buffer(3)]]; //~ attribute-argument: needs an index that fits its type
constant int number [[buffer(4)]]; //~ kernel-parameter: is not a resource
kernel void uses(uint i [[thread_position_in_grid]]) {
    out[i] = 1;
    out = nullptr; //~ not-assignable
}
