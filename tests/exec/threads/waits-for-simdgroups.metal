// SIMD-groups of a threadgroup make independent progress (section 5.2.3.6 of the MSL specification), so one may
// wait for what another stores.
//! kernel: first_waits_for_last
//! groups: 3
//! group: 1024
//! arg 0: u32 0*3
//! arg 1: u32 0*3
//! expect 0: u32 42*3
//! kernel: last_waits_for_first
//! groups: 3
//! group: 1024
//! arg 0: u32 0*3
//! arg 1: u32 0*3
//! expect 0: u32 42*3
//! kernel: chain_up
//! groups: 2
//! group: 1024
//! arg 0: u32 0*2
//! arg 1: u32 0*64
//! expect 0: u32 528*2
//! kernel: chain_down
//! groups: 2
//! group: 1000
//! arg 0: u32 0*2
//! arg 1: u32 0*64
//! expect 0: u32 528*2
//! kernel: in_turn
//! groups: 1
//! group: 1024
//! arg 0: u32 0*32
//! arg 1: u32 0*2
//! expect 0: u32 31..-1..-1
//! kernel: locked
//! groups: 4
//! group: 256
//! arg 0: u32 0*4
//! arg 1: u32 0*4
//! expect 0: u32 36*4
//! kernel: bit_lock
//! groups: 4
//! group: 256
//! arg 0: u32 0*4
//! arg 1: u32 0*4
//! expect 0: u32 36*4
//! kernel: handed_over
//! groups: 2
//! group: 64
//! arg 0: u32 0*2
//! expect 0: u32 5050*2
//! kernel: counted_in
//! groups: 2
//! group: 513
//! arg 0: u32 0*2
//! expect 0: u32 17*2
//! kernel: sense_reversing
//! groups: 1
//! group: 320
//! arg 0: u32 0*1
//! arg 1: u32 0*2
//! expect 0: u32 100
//! kernel: volatile_flag
//! groups: 1
//! group: 96
//! arg 0: u32 0*2
//! arg 1: u32 0*2
//! expect 0: u32 7 9
//! kernel: fenced_flag
//! groups: 1
//! group: 64
//! arg 0: u32 0
//! arg 1: u32 0*2
//! expect 0: u32 9
//! kernel: bounded_look
//! groups: 1
//! group: 64
//! arg 0: u32 0
//! expect 0: u32 1
//! kernel: before_and_after_barriers
//! groups: 5
//! group: 160
//! arg 0: u32 0*5
//! expect 0: u32 10*5
//! kernel: in_function
//! groups: 1
//! group: 128
//! arg 0: u32 0*4
//! arg 1: u32 0
//! expect 0: u32 3..-1..-1
//! kernel: keeps_arrays
//! groups: 1
//! group: 128
//! arg 0: u32 0*128
//! arg 1: u32 0
//! expect 0: u32 1000..1128
//! kernel: edges
//! threads: 100,3
//! group: 64,1
//! arg 0: u32 0*6
//! expect 0: u32 2 2 2 2 2 2

#include <metal_stdlib>
using namespace metal;

#define GET(p) atomic_load_explicit(p, memory_order_relaxed)
#define SET(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define ADD(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)

kernel void first_waits_for_last(device uint* out, device atomic_uint* flags, uint group [[threadgroup_position_in_grid]],
                                 uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    if (sg == count - 1) SET(&flags[group], 42u);
    if (sg == 0) {
        uint seen = 0;
        while (seen == 0) seen = GET(&flags[group]);
        out[group] = seen;
    }
}

kernel void last_waits_for_first(device uint* out, device atomic_uint* flags, uint group [[threadgroup_position_in_grid]],
                                 uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    if (sg == 0) SET(&flags[group], 42u);
    if (sg == count - 1) {
        uint seen;
        do seen = GET(&flags[group]); while (seen == 0);
        out[group] = seen;
    }
}

// Each SIMD-group adds its number, from 1, to what the one before it left.
kernel void chain_up(device uint* out, device atomic_uint* sums, uint group [[threadgroup_position_in_grid]],
                     uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    device atomic_uint* own = sums + group * 32;
    uint before = 0;
    if (sg > 0) {
        while (true) {
            before = GET(&own[sg - 1]);
            if (before != 0) break;
        }
    }
    if (lane == 0) SET(&own[sg], before + sg + 1);
    if (lane == 0 && sg == count - 1) out[group] = before + sg + 1;
}

kernel void chain_down(device uint* out, device atomic_uint* sums, uint group [[threadgroup_position_in_grid]],
                       uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]]) {
    device atomic_uint* own = sums + group * 32;
    uint after = 0;
    if (sg + 1 < count) {
        do after = simd_max(GET(&own[sg + 1])); while (after == 0);
    }
    if (lane == 0) SET(&own[sg], after + sg + 1);
    if (lane == 0 && sg == 0) out[group] = after + 1;
}

// A ticket lock, entered in an order that no loop over the SIMD-groups has.
kernel void in_turn(device uint* out, device atomic_uint* serving, uint sg [[simdgroup_index_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    uint ticket = 31 - sg;
    while (GET(&serving[0]) != ticket) {}
    out[sg] = ADD(&serving[1], 1u);
    ADD(&serving[0], 1u);
}

kernel void locked(device uint* sums, device atomic_uint* locks, uint group [[threadgroup_position_in_grid]],
                   uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    uint expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&locks[group], &expected, 1u, memory_order_relaxed,
                                                  memory_order_relaxed)) expected = 0;
    sums[group] += sg + 1;
    SET(&locks[group], 0u);
}

kernel void bit_lock(device uint* sums, device atomic_uint* locks, uint group [[threadgroup_position_in_grid]],
                     uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    while (atomic_fetch_or_explicit(&locks[group], 1u, memory_order_relaxed) & 1u) {}
    sums[group] += sg + 1;
    atomic_fetch_and_explicit(&locks[group], ~1u, memory_order_relaxed);
}

// A producer and a consumer, with one place for what they hand over.
kernel void handed_over(device uint* out, uint group [[threadgroup_position_in_grid]],
                        uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint place;
    if (sg == 0 && lane == 0) SET(&place, 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane != 0) return;
    if (sg == group) {
        for (uint i = 1; i <= 100; i++) {
            while (GET(&place) != 0) {}
            SET(&place, i);
        }
    } else {
        uint sum = 0;
        for (uint i = 1; i <= 100; i++) {
            uint found;
            while ((found = atomic_exchange_explicit(&place, 0u, memory_order_relaxed)) == 0) {}
            sum += found;
        }
        out[group] = sum;
    }
}

// All wait until all have come.
kernel void counted_in(device uint* out, uint group [[threadgroup_position_in_grid]],
                       uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint come, left;
    if (sg == 0 && lane == 0) { SET(&come, 0u); SET(&left, 0u); }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) ADD(&come, 1u);
    while (GET(&come) < count) {}
    if (lane == 0) ADD(&left, 1u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0 && lane == 0) out[group] = GET(&left);
}

// A barrier of the program's own, ten times.
kernel void sense_reversing(device uint* out, device atomic_uint* state, uint sg [[simdgroup_index_in_threadgroup]],
                            uint count [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint total;
    if (sg == 0 && lane == 0) SET(&total, 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane != 0) return;
    for (uint round = 1; round <= 10; round++) {
        ADD(&total, 1u);
        if (ADD(&state[0], 1u) == count - 1) {
            SET(&state[0], 0u);
            SET(&state[1], round);
        } else {
            while (GET(&state[1]) < round) {}
        }
    }
    if (sg == 0) out[0] = GET(&total);
}

kernel void volatile_flag(device uint* out, volatile device uint* flags, uint sg [[simdgroup_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    if (sg == 0) { while (flags[0] == 0) {} out[0] = flags[0]; flags[1] = 9; }
    if (sg == 1) { while (flags[1] == 0) {} out[1] = flags[1]; }
    if (sg == 2) flags[0] = 7;
}

kernel void fenced_flag(device uint* out, device uint* shared, uint sg [[simdgroup_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    if (sg == 1) {
        shared[1] = 9;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
        shared[0] = 1;
    } else {
        while (shared[0] == 0) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
        out[0] = shared[1];
    }
}

// A loop that gives up after a while looks often enough.
kernel void bounded_look(device uint* out, uint sg [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint flag;
    if (sg == 0 && lane == 0) SET(&flag, 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane != 0) return;
    if (sg == 1) { SET(&flag, 1u); return; }
    for (int i = 0; i < 60000; i++) {
        if (GET(&flag) == 1) { out[0] = 1; break; }
    }
}

kernel void before_and_after_barriers(device uint* out, uint group [[threadgroup_position_in_grid]],
                                      uint i [[thread_index_in_threadgroup]],
                                      uint sg [[simdgroup_index_in_threadgroup]],
                                      uint count [[simdgroups_per_threadgroup]]) {
    threadgroup uint values[160];
    threadgroup atomic_uint turn;
    if (i == 0) SET(&turn, 0u);
    values[i] = sg;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint other = values[159 - i];
    if (i % 32 == 0) {
        while (GET(&turn) != other) {}
        SET(&turn, other + 1);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    values[i] = i % 32 == 0 ? other : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        uint sum = 0;
        for (uint k = 0; k < 160; k++) sum += values[k];
        out[group] = GET(&turn) == count ? sum : 0;
    }
}

static void wait_for(device atomic_uint* turn, uint value) {
    for (;;) {
        uint now = GET(turn);
        if (now == value) return;
        if (now > value) break;
    }
}

kernel void in_function(device uint* out, device atomic_uint* turn, uint sg [[simdgroup_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    if (lane != 0) return;
    wait_for(turn, 3 - sg);
    out[3 - sg] = sg;
    ADD(turn, 1u);
}

// What a SIMD-group keeps while it waits is its own, in registers and in memory.
kernel void keeps_arrays(device uint* out, device atomic_uint* turn, uint i [[thread_index_in_threadgroup]],
                         uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    uint kept[300];
    for (uint k = 0; k < 300; k++) kept[k] = i * k;
    while (GET(turn) != 3 - sg) {}
    simdgroup_barrier(mem_flags::mem_device);
    if (lane == 0) ADD(turn, 1u);
    uint sum = 1000 + i;
    for (uint k = 0; k < 300; k++) sum += kept[(k * 7) % 300] - i * ((k * 7) % 300);
    out[i] = sum;
}

kernel void edges(device uint* out, uint2 group [[threadgroup_position_in_grid]],
                  uint sg [[simdgroup_index_in_threadgroup]], uint count [[simdgroups_per_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint come;
    if (sg == 0 && lane == 0) SET(&come, 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) ADD(&come, 1u);
    while (GET(&come) < count) {}
    if (lane == 0 && sg == 0) out[group.y * 2 + group.x] = count;
}
