// Names of Apple's intermediate language, and other assembler.
// checked
#include <metal_stdlib>
using namespace metal;

float fast_sine(float x) __asm("air.fast_sin.f32"); //~ unsupported-feature: `air.fast_sin.f32` is an instruction of Apple's intermediate language
thread void* copy(threadgroup void* to, const device void* from) asm("air.simdgroup_async_copy_2d.p3i8.p1i8"); //~ unsupported-feature
extern float named(float x) __asm__("another_name");
float named(float x) { return x * 2; }
asm("nop"); //~ unsupported-feature: MSL has no `asm`

kernel void k(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = named(out[i]);
    asm("nop"); //~ unsupported-feature: MSL has no `asm`
}
