// A kernel in a file with functions of the graphics pipeline that have an object's payload.
//! kernel: count
//! arg 0: u32 5
//! expect 0: u32 6

#include <metal_stdlib>
using namespace metal;

struct Payload {
    uint first;
};

[[object]] void objects(object_data Payload& payload [[payload]], uint t [[thread_position_in_grid]]) {
    payload.first = t;
}

void read_payload(const object_data Payload& payload, thread uint& first) {
    first = payload.first;
}

kernel void count(device uint* out) {
    out[0] += 1;
}
