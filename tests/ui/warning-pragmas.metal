// warnings: -Wno-shift-count-overflow
#include <metal_stdlib>
using namespace metal;

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type"
int silent() {}
#pragma clang diagnostic pop
int reported() {} //~ return-type

#pragma GCC diagnostic push
#pragma GCC diagnostic warning "-Wunused"
kernel void with_pragmas(device int* out [[buffer(0)]])
{
    int unused; //~ unused-variable
    out[0] = silent() + reported() + (out[0] << 40);
}
#pragma GCC diagnostic pop

kernel void without(device int* out [[buffer(0)]])
{
    int unused;
    out[0] = 1;
}

#pragma clang diagnostic ignored "-Wno-such-group" //~ unknown-warning-option: unknown warning group '-Wno-such-group'
#pragma clang diagnostic ignored "-Wc++17-extensions"
#pragma clang diagnostic pop //~ diagnostic-pragma: no matching push
#pragma clang diagnostic forget "-Wunused" //~ diagnostic-pragma: expected 'error', 'warning', 'ignored'
#pragma clang diagnostic ignored unused //~ diagnostic-pragma: expected option name
#pragma clang diagnostic push more //~ diagnostic-pragma: unexpected token
#pragma message("a message") //~ pragma-message: a message
#pragma once //~ pragma-once-outside-header
