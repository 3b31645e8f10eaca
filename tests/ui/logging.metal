// Formats and arguments of messages.
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

constant char name[] = "net";
constant os_log unnamed(name, "category"); //~ log-format: must be string literals
constant os_log own("subsystem", "category");

void by_reference(constant os_log& log) {
    log.log("x"); //~ unsupported-feature: a constant outside of functions
}

kernel void formats(device float* x [[buffer(0)]], constant char* text [[buffer(1)]]) {
    own.log("%s", text); //~ log-format: kernels cannot print strings
    own.log("%n", x[0]); //~ log-format: not supported in messages
    own.log("%d"); //~ log-format: has no argument to print
    own.log("%y", 1); //~ log-format: no conversion that `printf` has
    own.log("100%"); //~ log-format: ends before its conversion letter
    own.log(text); //~ log-format: must be a string literal
    own.log(); //~ log-format: needs a format
    own.log_with_type(9, "x"); //~ log-format: 9 is no type of message
    own.log("%v8f", x[0]); //~ log-format: 2, 3 or 4
    unnamed.log("x");
    by_reference(own);
}

kernel void arguments(device float* x [[buffer(0)]], device long* y [[buffer(1)]]) {
    own.log("%d", x[0]); //~ log-format: prints another kind of value; this argument is a `float`
    own.log("%f", 1); //~ log-format: prints another kind of value; this argument is a `int`
    own.log("%d", y[0]); //~ log-format: prints 32 bits
    own.log("%f", float2(1)); //~ log-format: prints another number of elements
    own.log("%v4hlf", float3(1)); //~ log-format: prints another number of elements
    own.log("%d", x); //~ log-format: prints another kind of value
    own.log("x", 1); //~ format-extra-args: does not print this argument
    own.log("%ld %d %v2hlf %hhu", y[0], int(x[0]), float2(1), uchar(1));
}
