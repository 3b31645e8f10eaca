// Makes two runs of a program comparable: the time stands still, since programs seed their numbers with it, and memory
// of another OpenCL's buffers, which it aligns, begins as zeros, as that of the stand-ins does.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" time_t time(time_t *out) {
    if (out) *out = 1000000007;
    return 1000000007;
}

extern "C" void *aligned_alloc(size_t alignment, size_t bytes);

extern "C" int posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (alignment < sizeof(void *) || alignment & alignment - 1) return EINVAL;
    void *memory = aligned_alloc(alignment, bytes + alignment - 1 & ~(alignment - 1));
    if (!memory) return ENOMEM;
    *out = memset(memory, 0, bytes);
    return 0;
}
