// Atomic operations that Metal does not have for the type, the memory order or the address space (MSL 2.6, 6.15).
#include <metal_stdlib>
using namespace metal;

template <typename T> T added(device atomic<T>* object, T value)
{
    return atomic_fetch_add_explicit(object, value, memory_order_relaxed); //~ atomic-operation: does not take an `atomic_ulong`
}

kernel void types(device atomic_ulong* wide [[buffer(0)]], device ulong* out [[buffer(1)]], device int* words [[buffer(2)]])
{
    out[0] = atomic_fetch_add_explicit(wide, 1ul, memory_order_relaxed); //~ atomic-operation: does not take an `atomic_ulong`
    out[1] = atomic_load_explicit(wide, memory_order_relaxed); //~ atomic-operation
    atomic_store_explicit(wide, 1ul, memory_order_relaxed); //~ atomic-operation
    atomic_max_explicit(wide, 1ul, memory_order_relaxed);
    atomic_min_explicit(wide, 1ul, memory_order_relaxed);
    out[2] = added<uint>((device atomic_uint*)words, 1u);
    out[3] = added<ulong>(wide, 1ul);
    device atomic<long>* signed_wide = (device atomic<long>*)words;
    atomic_fetch_add_explicit(signed_wide, 1, memory_order_relaxed); //~ no-matching-function
    threadgroup atomic<short> narrow; //~ static-assert: bool, int, uint, ulong or float
}

constant memory_order ordered = memory_order_seq_cst;

kernel void orders(device atomic_uint* object [[buffer(0)]], device uint* out [[buffer(1)]])
{
    out[0] = atomic_load_explicit(object, memory_order_seq_cst); //~ atomic-operation: must be `memory_order_relaxed`
    atomic_store_explicit(object, 1, ordered); //~ atomic-operation
    uint expected = 1;
    atomic_compare_exchange_weak_explicit(object, &expected, 2, memory_order_relaxed, memory_order_seq_cst); //~ atomic-operation
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
}

kernel void spaces(device atomic_float* sum [[buffer(0)]], device float* out [[buffer(1)]])
{
    threadgroup atomic_float shared;
    threadgroup atomic_uint bits;
    atomic_store_explicit(&shared, 0.0f, memory_order_relaxed); //~ atomic-operation: must be in device memory
    atomic_fetch_add_explicit(sum, 1.0f, memory_order_relaxed);
    atomic_store_explicit(&bits, as_type<uint>(0.0f), memory_order_relaxed);
    out[0] = atomic_load_explicit(&shared, memory_order_relaxed); //~ atomic-operation
}
