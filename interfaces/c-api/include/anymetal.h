/*
 * anymetal: Metal compute kernels on any machine, from C.
 *
 * Every function that can fail returns an anymetal_status; anymetal_last_error() then has the reason, for the
 * thread that called. Handles are opaque, may be used by several threads, and are given back with the function
 * of their type whose name ends in `_release`; NULL is ignored there. What a handle needs it keeps alive: a
 * library may be released while its kernels are in use.
 *
 * Arguments are checked before memory is read or reserved, and a call that is refused has no effect: the place
 * for its result is not written. ANYMETAL_CALLER is the status for
 *   - NULL, except where a comment says what NULL means, and except for an array or bytes of length 0;
 *   - a handle that was released, a handle of another type, and any other value that is not a live handle
 *     (handles are not addresses, so that none of these is undefined behaviour; functions without a status
 *     return what they return for NULL, and a release is ignored);
 *   - a pointer that is not aligned to its type;
 *   - a length, count, offset or index above its limit, or with which an address or a product overflows;
 *   - a value that its enumeration does not have; text that is not UTF-8.
 * The library cannot check whether `count` items are at a pointer, and whether a string ends with a zero byte.
 */
#ifndef ANYMETAL_H
#define ANYMETAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. The last four are the classes that a retry policy decides by. */
typedef enum anymetal_status {
    ANYMETAL_OK = 0,
    ANYMETAL_COMPILE_ERROR = 1, /* the source is wrong, or has no such kernel; the text has diagnostics */
    ANYMETAL_OUT_OF_BOUNDS = 2, /* a kernel accessed memory outside what it was given */
    ANYMETAL_CALLER = 3,        /* a mistake in the call; nothing ran */
    ANYMETAL_TRANSIENT = 4,     /* trying again may help */
    ANYMETAL_EXHAUSTED = 5,     /* memory or another resource is used up */
    ANYMETAL_LOST = 6,          /* the device is lost, or a part of this machine is missing */
    ANYMETAL_BUG = 7            /* a bug of this library; the text names the reproducer to report */
} anymetal_status;

typedef struct anymetal_device anymetal_device;
typedef struct anymetal_library anymetal_library;
typedef struct anymetal_kernel anymetal_kernel;
typedef struct anymetal_buffer anymetal_buffer;
typedef struct anymetal_function_table anymetal_function_table;
typedef struct anymetal_queue anymetal_queue;
typedef struct anymetal_submission anymetal_submission;

/* The version of the library, such as "0.1.0". */
const char *anymetal_version(void);

/* Why the last call of this thread failed; "" if none did. Valid until the thread's next call. */
const char *anymetal_last_error(void);

/* The device of that name, such as "cpu"; NULL: the one that the settings name, or this machine's best. */
anymetal_status anymetal_device_open(const char *name, anymetal_device **device);
/* Its name; valid while the device is. */
const char *anymetal_device_name(const anymetal_device *device);
void anymetal_device_release(anymetal_device *device);

typedef enum anymetal_math_mode {
    ANYMETAL_MATH_SAFE = 0,
    ANYMETAL_MATH_RELAXED = 1,
    ANYMETAL_MATH_FAST = 2
} anymetal_math_mode;

/* Compiles Metal source of `length` bytes, at most 64 MiB. */
anymetal_status anymetal_library_compile(const anymetal_device *device, const char *source, size_t length,
                                         anymetal_math_mode math_mode, anymetal_library **library);
void anymetal_library_release(anymetal_library *library);

/* Makes a kernel of a library ready to run. */
anymetal_status anymetal_kernel_make(const anymetal_library *library, const char *name, anymetal_kernel **kernel);
/*
 * A visible function of another library that a kernel may call, by its name and through tables. `alias`, if not
 * NULL, is its name for the kernel.
 */
typedef struct anymetal_linked_function {
    const anymetal_library *library;
    const char *name;
    const char *alias;
} anymetal_linked_function;

/*
 * As anymetal_kernel_make, with visible functions of other libraries (at most 65,536), which take the place of
 * functions of the kernel's own library that have their names.
 */
anymetal_status anymetal_kernel_make_linked(const anymetal_library *library, const char *name,
                                            const anymetal_linked_function *functions, size_t function_count,
                                            anymetal_kernel **kernel);
/* The most threads that a threadgroup may have. */
uint32_t anymetal_kernel_max_threads_per_threadgroup(const anymetal_kernel *kernel);
/* Whether it runs as machine code; otherwise it is interpreted, since there is no libLLVM. */
bool anymetal_kernel_is_machine_code(const anymetal_kernel *kernel);
void anymetal_kernel_release(anymetal_kernel *kernel);

/* An argument that a kernel declares. `name` is valid while the kernel is. */
typedef struct anymetal_argument_info {
    const char *name;
    uint32_t index;        /* of `[[buffer(index)]]` or `[[threadgroup(index)]]` */
    bool is_threadgroup;   /* threadgroup memory of which the launch gives the length; otherwise a buffer */
    bool is_reference;     /* `constant T&`: a number or bytes may be given */
    bool is_written;       /* the kernel stores to it */
    bool is_function_table; /* a `visible_function_table<T>` */
    size_t element_size;   /* sizeof(T) of `T&` or `T*` */
} anymetal_argument_info;

/* How many arguments a kernel takes; 0 for NULL. */
size_t anymetal_kernel_argument_count(const anymetal_kernel *kernel);
/* One of them: buffers first, then threadgroup memory, each in the order of their Metal indices. */
anymetal_status anymetal_kernel_argument(const anymetal_kernel *kernel, size_t number,
                                         anymetal_argument_info *info);

/* A buffer of that many bytes, all zero. */
anymetal_status anymetal_buffer_make(const anymetal_device *device, size_t bytes, anymetal_buffer **buffer);
/*
 * A buffer over the caller's own memory, without a copy. The memory must stay valid until the buffer is released
 * and all work with it has ended; meanwhile it is read and written only while no work uses it. Buffers over
 * memory that overlaps are not given to one launch.
 */
anymetal_status anymetal_buffer_borrow(const anymetal_device *device, void *memory, size_t bytes,
                                       anymetal_buffer **buffer);
size_t anymetal_buffer_length(const anymetal_buffer *buffer);
/*
 * Its address in kernels: the value of a pointer to its first byte in memory that kernels read. Constant while the
 * buffer lives. A kernel may follow the address if the launch has the buffer as an argument or its queue has it
 * resident; otherwise the access is out of bounds.
 */
anymetal_status anymetal_buffer_address(const anymetal_buffer *buffer, uint64_t *address);
/* Copy bytes out and in, once submitted work is done with the buffer. A range beyond the buffer is refused. */
anymetal_status anymetal_buffer_read(const anymetal_buffer *buffer, size_t offset, void *bytes, size_t count);
anymetal_status anymetal_buffer_write(const anymetal_buffer *buffer, size_t offset, const void *bytes, size_t count);
void anymetal_buffer_release(anymetal_buffer *buffer);

/*
 * A table of visible functions for a kernel and for others that have the same functions: `names` are their names,
 * in the order of the entries, at most 65,536; NULL makes an entry without a function. A call of such an entry is
 * an access out of bounds.
 */
anymetal_status anymetal_function_table_make(const anymetal_kernel *kernel, const char *const *names, size_t count,
                                             anymetal_function_table **table);
/* Sets an entry to a function of the kernel that the table was made for; `name` NULL: to none. */
anymetal_status anymetal_function_table_set(const anymetal_function_table *table, size_t index, const char *name);
void anymetal_function_table_release(anymetal_function_table *table);

anymetal_status anymetal_queue_make(const anymetal_device *device, anymetal_queue **queue);
/*
 * Make a buffer resident: kernels that are launched on the queue from now on may read and write it by its address.
 * It remains so until it is removed or released. Adding it again, or removing a buffer that is not resident, has no
 * effect. Each launch then counts as work with all resident buffers.
 */
anymetal_status anymetal_queue_add_resident(const anymetal_queue *queue, const anymetal_buffer *buffer);
anymetal_status anymetal_queue_remove_resident(const anymetal_queue *queue, const anymetal_buffer *buffer);
void anymetal_queue_release(anymetal_queue *queue);

typedef enum anymetal_argument_kind {
    ANYMETAL_ARGUMENT_NONE = 0,    /* nothing; a kernel that uses it all the same faults */
    ANYMETAL_ARGUMENT_BUFFER = 1,  /* `buffer`, from `offset` bytes on */
    ANYMETAL_ARGUMENT_INTEGER = 2, /* `integer`, converted to the type that the kernel declares */
    ANYMETAL_ARGUMENT_NUMBER = 3,  /* `number`, likewise */
    ANYMETAL_ARGUMENT_BYTES = 4,   /* `length` bytes as they are, copied; at most 4,096, as in Metal */
    ANYMETAL_ARGUMENT_THREADGROUP = 5, /* `length` bytes of threadgroup memory for index `integer` */
    ANYMETAL_ARGUMENT_FUNCTIONS = 6    /* `functions`, for a `visible_function_table<T>` */
} anymetal_argument_kind;

typedef struct anymetal_argument {
    anymetal_argument_kind kind;
    const anymetal_buffer *buffer;
    size_t offset;
    int64_t integer;
    double number;
    const void *bytes;
    size_t length;
    const anymetal_function_table *functions;
} anymetal_argument;

/* Arguments for the initialiser of an array: `{anymetal_arg_buffer(x), anymetal_arg_number(2.0)}`. */
static inline anymetal_argument anymetal_arg_buffer(const anymetal_buffer *buffer) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_BUFFER, buffer, 0, 0, 0.0, NULL, 0, NULL};
    return argument;
}
static inline anymetal_argument anymetal_arg_integer(int64_t integer) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_INTEGER, NULL, 0, integer, 0.0, NULL, 0, NULL};
    return argument;
}
static inline anymetal_argument anymetal_arg_number(double number) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_NUMBER, NULL, 0, 0, number, NULL, 0, NULL};
    return argument;
}
static inline anymetal_argument anymetal_arg_bytes(const void *bytes, size_t length) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_BYTES, NULL, 0, 0, 0.0, bytes, length, NULL};
    return argument;
}
/* The length of `[[threadgroup(index)]]`; may stand anywhere among the arguments, and takes no place of theirs. */
static inline anymetal_argument anymetal_arg_threadgroup(uint32_t index, size_t length) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_THREADGROUP, NULL, 0, index, 0.0, NULL, length, NULL};
    return argument;
}

static inline anymetal_argument anymetal_arg_functions(const anymetal_function_table *functions) {
    anymetal_argument argument = {ANYMETAL_ARGUMENT_FUNCTIONS, NULL, 0, 0, 0.0, NULL, 0, functions};
    return argument;
}

typedef struct anymetal_grid {
    uint32_t threads[3];    /* of the grid; the last threadgroups may be partial */
    uint32_t group_size[3]; /* of a threadgroup; all zero: the library chooses */
} anymetal_grid;

/*
 * Launches a kernel with its arguments in the order of their Metal indices, no more than the kernel declares. With
 * `submission` NULL the call returns when the kernel has ended, with its status; otherwise it returns at once. A
 * kernel that runs longer than the default deadline (60 s, or the setting `streams.deadline`, which
 * ANYMETAL_STREAMS_DEADLINE sets) is stopped, and the launch ends with ANYMETAL_TRANSIENT.
 */
anymetal_status anymetal_launch(const anymetal_queue *queue, const anymetal_kernel *kernel,
                                const anymetal_argument *arguments, size_t argument_count, anymetal_grid grid,
                                anymetal_submission **submission);
/*
 * As anymetal_launch, with a deadline in seconds; 0 turns the deadline off. Negative numbers, infinity and NaN are
 * refused.
 */
anymetal_status anymetal_launch_within(const anymetal_queue *queue, const anymetal_kernel *kernel,
                                       const anymetal_argument *arguments, size_t argument_count, anymetal_grid grid,
                                       double deadline_seconds, anymetal_submission **submission);

/* Waits until it has ended; `device_seconds`, if not NULL, gets the time that the device was at it. */
anymetal_status anymetal_submission_wait(const anymetal_submission *submission, double *device_seconds);
bool anymetal_submission_is_done(const anymetal_submission *submission);
void anymetal_submission_release(anymetal_submission *submission);

#ifdef __cplusplus
}
#endif

#endif
