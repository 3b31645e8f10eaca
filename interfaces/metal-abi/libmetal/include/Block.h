// Copying and releasing blocks by hand.
#ifndef ANYMETAL_BLOCK_H
#define ANYMETAL_BLOCK_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
void *_Block_copy(const void *block);
void _Block_release(const void *block);
bool _Block_has_signature(const void *block);
const char *_Block_signature(const void *block);
#ifdef __cplusplus
}
#endif

#define Block_copy(...) ((__typeof(__VA_ARGS__))_Block_copy((const void *)(__VA_ARGS__)))
#define Block_release(...) _Block_release((const void *)(__VA_ARGS__))

#endif
