// Attributes that change what is declared, where they cannot be carried out; those that do not may stand anywhere.
#include <metal_stdlib>
using namespace metal;

typedef float wide __attribute__((vector_size(16))); //~ unsupported-attribute
typedef int strange __attribute__((__mode__(DI))); //~ unsupported-attribute
typedef int aligned_alias __attribute__((aligned(8))); //~ unsupported-attribute
using packed_alias = int __attribute__((packed)); //~ ignored-attributes
enum __attribute__((packed)) Small { SMALL }; //~ unsupported-attribute
enum Smaller { SMALLER } __attribute__((packed)); //~ unsupported-attribute
typedef float none __attribute__((ext_vector_type)); //~ attribute-argument
struct __attribute__((ext_vector_type(2))) Record { int a; }; //~ unsupported-attribute
struct Hidden {
    int a;
    [[no_unique_address]] Record b; //~ unsupported-attribute
};
[[frobnicate]] constant int KNOWN = 1; //~ unknown-attribute
[[vendor::packed]] constant int VENDOR = 1; //~ unknown-attribute

__attribute__((always_inline, noinline, __unused__)) [[nodiscard]] [[gnu::pure]] static int harmless([[maybe_unused]] int x)
{
    [[likely]] return KNOWN + VENDOR;
}

kernel void uses(device int* out [[buffer(0)]])
{
    wide w; strange s; aligned_alias a; packed_alias p; none n; Record r; Hidden h;
    out[0] = harmless(1) + SMALL + SMALLER;
}
