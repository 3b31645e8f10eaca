// The names of `sysctlbyname` that programs for Metal read: `hw.memsize` is there, others are not.
#ifndef ANYMETAL_SYSCTL_H
#define ANYMETAL_SYSCTL_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static inline int sysctlbyname(const char *name, void *old, size_t *old_bytes, const void *value, size_t bytes) {
    (void)bytes;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (strcmp(name, "hw.memsize") != 0 || value != 0) {
        errno = ENOENT;
        return -1;
    }
    if (old_bytes == 0 || (old != 0 && *old_bytes < sizeof memory)) {
        errno = ENOMEM;
        return -1;
    }
    if (old != 0) {
        memcpy(old, &memory, sizeof memory);
    }
    *old_bytes = sizeof memory;
    return 0;
}

#endif
