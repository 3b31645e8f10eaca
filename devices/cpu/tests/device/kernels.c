/* Kernels for the tests, written against the launch ABI of anymetal-hal by hand. */
#include <stdint.h>
#include <stddef.h>

typedef struct { uint8_t *base; uint64_t len; } BoundBuffer;
typedef struct { uint64_t offset, len; } Slot;
typedef struct {
    const BoundBuffer *buffers; uint64_t buffer_count; const uint64_t *before;
    const Slot *slots; uint64_t slot_count;
    const volatile uint32_t *stop; void *fault;
    uint32_t grid_threads[3], groups[3], group_size[3], reserved;
    const BoundBuffer *resident; uint64_t resident_count;
} Launch;
typedef struct { uint8_t *threadgroup_memory; uint8_t *scratch; uint32_t worker_index, reserved; } Worker;

void anymetal_fault(const Launch *, uint32_t site, int64_t offset, uint64_t len, uint64_t group, uint32_t thread,
                    uint64_t base);

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

void empty(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)launch, (void)worker, (void)first, (void)end;
}

/* y[i] += a * x[i], with partial last groups. */
void saxpy(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker;
    const float *x = (const float *)launch->buffers[0].base;
    float *y = (float *)launch->buffers[1].base;
    float a = *(const float *)launch->buffers[2].base;
    uint64_t size = launch->group_size[0];
    for (uint64_t g = first; g < end; g++) {
        uint64_t stop = smaller(launch->grid_threads[0], (g + 1) * size);
        for (uint64_t i = g * size; i < stop; i++) y[i] += a * x[i];
    }
}

/* counts[group] += the group's real number of threads; any number of dimensions. */
void count(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker;
    uint32_t *counts = (uint32_t *)launch->buffers[0].base;
    for (uint64_t g = first; g < end; g++) {
        uint64_t at[3] = { g % launch->groups[0], g / launch->groups[0] % launch->groups[1],
                           g / launch->groups[0] / launch->groups[1] };
        uint32_t threads = 1;
        for (int d = 0; d < 3; d++)
            threads *= smaller(launch->group_size[d], launch->grid_threads[d] - at[d] * launch->group_size[d]);
        counts[g] += threads;
    }
}

/* Adds 1 to one counter per group, atomically: finds lost and repeated groups under contention. */
void tally(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker;
    __atomic_fetch_add((uint64_t *)launch->buffers[0].base, end - first, __ATOMIC_RELAXED);
}

void endless(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker, (void)first, (void)end;
    while (!*launch->stop) { }
}

/* Runs until its buffer holds a zero. */
void while_set(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker, (void)first, (void)end;
    const volatile uint32_t *set = (const volatile uint32_t *)launch->buffers[0].base;
    while (*set && !*launch->stop) { }
}

/* Each thread stores its index; outside the buffer it reports a fault and stores nothing. */
void checked_store(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    (void)worker;
    BoundBuffer out = launch->buffers[0];
    uint64_t size = launch->group_size[0];
    for (uint64_t g = first; g < end; g++) {
        uint64_t stop = smaller(launch->grid_threads[0], (g + 1) * size);
        for (uint64_t i = g * size; i < stop; i++) {
            if (i * 4 + 4 > out.len) anymetal_fault(launch, 0, i * 4, out.len, g, i - g * size, (uint64_t)out.base);
            else ((uint32_t *)out.base)[i] = i;
        }
    }
}

/* Fills threadgroup memory and scratch to the last byte; out[group] = 1 if alignment and sizes are right. */
void worker_memory(const Launch *launch, const Worker *worker, uint64_t first, uint64_t end) {
    uint32_t *out = (uint32_t *)launch->buffers[0].base;
    for (uint64_t g = first; g < end; g++) {
        Slot slot = launch->slots[0];
        uint8_t *dynamic = worker->threadgroup_memory + slot.offset;
        for (uint64_t i = 0; i < 100; i++) worker->threadgroup_memory[i] = (uint8_t)g;
        for (uint64_t i = 0; i < slot.len; i++) dynamic[i] = (uint8_t)(g + 1);
        for (uint64_t i = 0; i < 4096 + 8 * 64; i++) worker->scratch[i] = (uint8_t)(g + 2);
        int aligned = !((uintptr_t)worker->threadgroup_memory % 64) && !((uintptr_t)worker->scratch % 64)
            && slot.offset == 128;
        out[g] = aligned && worker->threadgroup_memory[99] == (uint8_t)g;
    }
}
