// The part of Grand Central Dispatch that programs for Metal use.
#ifndef ANYMETAL_DISPATCH_H
#define ANYMETAL_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

typedef struct dispatch_object *dispatch_object_t;
typedef struct dispatch_object *dispatch_queue_t;
typedef struct dispatch_object *dispatch_queue_attr_t;
typedef struct dispatch_object *dispatch_queue_global_t;
typedef struct dispatch_object *dispatch_group_t;
typedef struct dispatch_object *dispatch_semaphore_t;
typedef struct dispatch_object *dispatch_data_t;
typedef uint64_t dispatch_time_t;
typedef void (*dispatch_function_t)(void *);
typedef long dispatch_once_t;

#define DISPATCH_TIME_NOW ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER ((dispatch_time_t)~0ull)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
#define DISPATCH_QUEUE_CONCURRENT ((dispatch_queue_attr_t)&_dispatch_queue_attr_concurrent)
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
#define DISPATCH_DATA_DESTRUCTOR_FREE (_dispatch_data_destructor_free)
#define DISPATCH_DATA_DESTRUCTOR_MUNMAP (_dispatch_data_destructor_munmap)
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define QOS_CLASS_USER_INTERACTIVE 0x21
#define QOS_CLASS_USER_INITIATED 0x19
#define QOS_CLASS_DEFAULT 0x15
#define QOS_CLASS_UTILITY 0x11

#ifdef __cplusplus
extern "C" {
#endif

extern const char _dispatch_queue_attr_concurrent;
extern struct dispatch_object _dispatch_main_q;

#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_apply(size_t iterations, dispatch_queue_t queue, void (^block)(size_t));
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
void dispatch_once(dispatch_once_t *once, dispatch_block_t block);
#else
typedef struct dispatch_block *dispatch_block_t;
#endif
extern const dispatch_block_t _dispatch_data_destructor_free;
extern const dispatch_block_t _dispatch_data_destructor_munmap;

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes);
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);

static inline dispatch_queue_t dispatch_get_main_queue(void) {
    return &_dispatch_main_q;
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_apply_f(size_t iterations, dispatch_queue_t queue, void *context, void (*work)(void *, size_t));
dispatch_group_t dispatch_group_create(void);
void dispatch_group_enter(dispatch_group_t group);
void dispatch_group_leave(dispatch_group_t group);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
dispatch_time_t dispatch_time(dispatch_time_t from, int64_t nanoseconds);
dispatch_data_t dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t queue, dispatch_block_t destructor);
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **buffer, size_t *size);
size_t dispatch_data_get_size(dispatch_data_t data);
void dispatch_main(void) __attribute__((__noreturn__));
void dispatch_retain(dispatch_object_t object);
void dispatch_release(dispatch_object_t object);

#ifdef __cplusplus
}
#endif

#endif
