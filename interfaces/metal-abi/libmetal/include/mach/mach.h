// The part of Mach that programs for Metal use: memory by the page.
#ifndef ANYMETAL_MACH_H
#define ANYMETAL_MACH_H

#include <stdint.h>
#include <sys/mman.h>

typedef int kern_return_t;
typedef unsigned int mach_port_t;
typedef mach_port_t task_id_token_t;
typedef mach_port_t vm_map_t;
typedef uintptr_t vm_size_t;
typedef uintptr_t vm_address_t;
typedef uint64_t mach_vm_address_t;
typedef uint64_t mach_vm_size_t;

#define KERN_SUCCESS 0
#define KERN_NO_SPACE 3
#define VM_FLAGS_ANYWHERE 1

typedef struct mach_timebase_info {
    uint32_t numer;
    uint32_t denom;
} mach_timebase_info_data_t, *mach_timebase_info_t;

#ifdef __cplusplus
extern "C" {
#endif

uint64_t mach_absolute_time(void);
kern_return_t mach_timebase_info(mach_timebase_info_t info);

#ifdef __cplusplus
}
#endif

static inline vm_map_t mach_task_self(void) {
    return 0;
}

static inline kern_return_t vm_allocate(vm_map_t task, vm_address_t *address, vm_size_t bytes, int flags) {
    (void)task, (void)flags;
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return KERN_NO_SPACE;
    }
    *address = (vm_address_t)memory;
    return KERN_SUCCESS;
}

static inline kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t bytes) {
    (void)task;
    return munmap((void *)address, bytes) == 0 ? KERN_SUCCESS : KERN_NO_SPACE;
}

#endif
