/*
 * Calls every function of the header with valid arguments, and then with one and two hostile ones. The calls are in
 * calls.inc, which every_function.rs writes from the header.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <anymetal.h>

static const char *SOURCE =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "[[visible]] int twice(int x) { return 2 * x; }\n"
    "kernel void f(device int* x, constant int& a, threadgroup int* t) { t[0] = a; x[0] = t[0]; }\n"
    "kernel void g(device int* x, visible_function_table<int(int)> ops) { x[0] = ops[0](x[1]); }\n";

static anymetal_device *device, *released_device;
static anymetal_library *library, *released_library;
static anymetal_kernel *kernel, *kernel_with_table, *released_kernel;
static anymetal_buffer *buffer, *released_buffer;
static anymetal_function_table *function_table, *released_function_table;
static anymetal_queue *queue, *released_queue;
static anymetal_submission *submission, *released_submission;

/* What the results are written to; the second word is for places that are not aligned. */
static union {
    void *handle;
    double seconds;
    anymetal_argument_info info;
    unsigned char bytes[2 * sizeof(anymetal_argument_info)];
} place, untouched;
static unsigned char memory[64];
static const size_t HUGE[] = {(size_t)1 << 56, (size_t)1 << 61, (size_t)1 << 62, SIZE_MAX / 2, SIZE_MAX - 3, SIZE_MAX};
static const anymetal_grid GRID = {{1, 1, 1}, {0, 0, 0}};
static const char *const NAMES[] = {"twice"};
static const char *const BAD_NAMES[] = {"\xff\xfe"};
static anymetal_linked_function functions[1], bad_functions[5][1];
static anymetal_argument arguments[3];
static anymetal_argument bad_arguments[32][3];
static size_t bad_argument_count;

static int failures, calls_made;

typedef enum expectation { ANY, REFUSED } expectation;

static void fail(const char *call, const char *what) {
    if (failures++ < 40) printf("%s: %s; \"%s\"\n", call, what, anymetal_last_error());
}

/* A call with a status: it ended, told why if it failed, and then has not written its result. */
static void check(const char *call, anymetal_status status, expectation expected) {
    calls_made++;
    if ((int)status < 0 || status > ANYMETAL_BUG) fail(call, "not a status");
    if (status == ANYMETAL_BUG || strstr(anymetal_last_error(), "bug of anymetal")) fail(call, "a bug");
    if (expected == REFUSED && status != ANYMETAL_CALLER) fail(call, "is not refused");
    if (status != ANYMETAL_OK && anymetal_last_error()[0] == '\0') fail(call, "no reason");
    if (status != ANYMETAL_OK && memcmp(&place, &untouched, sizeof place) != 0) fail(call, "a result all the same");
    memset(&place, 0x5a, sizeof place);
}

static void add_bad_argument(size_t at, anymetal_argument bad) {
    memcpy(bad_arguments[bad_argument_count], arguments, sizeof arguments);
    bad_arguments[bad_argument_count++][at] = bad;
}

static void prepare(void) {
    memset(&place, 0x5a, sizeof place);
    memset(&untouched, 0x5a, sizeof untouched);
#define MAKE(call) if ((call) != ANYMETAL_OK) fail(#call, "cannot be made")
    MAKE(anymetal_device_open("cpu", &device));
    MAKE(anymetal_device_open("cpu", &released_device));
    MAKE(anymetal_library_compile(device, SOURCE, strlen(SOURCE), ANYMETAL_MATH_SAFE, &library));
    MAKE(anymetal_library_compile(device, SOURCE, strlen(SOURCE), ANYMETAL_MATH_SAFE, &released_library));
    MAKE(anymetal_kernel_make(library, "f", &kernel));
    MAKE(anymetal_kernel_make(library, "f", &released_kernel));
    MAKE(anymetal_kernel_make(library, "g", &kernel_with_table));
    MAKE(anymetal_buffer_make(device, 16, &buffer));
    MAKE(anymetal_buffer_make(device, 16, &released_buffer));
    MAKE(anymetal_function_table_make(kernel_with_table, NAMES, 1, &function_table));
    MAKE(anymetal_function_table_make(kernel_with_table, NAMES, 1, &released_function_table));
    MAKE(anymetal_queue_make(device, &queue));
    MAKE(anymetal_queue_make(device, &released_queue));
    arguments[0] = anymetal_arg_buffer(buffer);
    arguments[1] = anymetal_arg_integer(7);
    arguments[2] = anymetal_arg_threadgroup(0, 16);
    MAKE(anymetal_launch(queue, kernel, arguments, 3, GRID, &submission));
    MAKE(anymetal_launch(queue, kernel, arguments, 3, GRID, &released_submission));
    anymetal_device_release(released_device);
    anymetal_library_release(released_library);
    anymetal_kernel_release(released_kernel);
    anymetal_buffer_release(released_buffer);
    anymetal_function_table_release(released_function_table);
    anymetal_queue_release(released_queue);
    anymetal_submission_release(released_submission);

    anymetal_linked_function linked = {library, "twice", NULL};
    functions[0] = linked;
    for (size_t i = 0; i < 5; i++) bad_functions[i][0] = linked;
    bad_functions[0][0].library = NULL;
    bad_functions[1][0].library = released_library;
    bad_functions[2][0].name = NULL;
    bad_functions[3][0].name = "\xff";
    bad_functions[4][0].alias = "\xff";

    anymetal_argument bad = arguments[0];
    bad.kind = (anymetal_argument_kind)-1, add_bad_argument(0, bad);
    bad.kind = (anymetal_argument_kind)7, add_bad_argument(0, bad);
    bad.kind = (anymetal_argument_kind)INT_MAX, add_bad_argument(0, bad);
    add_bad_argument(0, anymetal_arg_buffer(NULL));
    add_bad_argument(0, anymetal_arg_buffer(released_buffer));
    add_bad_argument(0, anymetal_arg_buffer((anymetal_buffer *)memory));
    add_bad_argument(0, anymetal_arg_buffer((anymetal_buffer *)queue));
    add_bad_argument(0, anymetal_arg_functions(NULL));
    add_bad_argument(0, anymetal_arg_functions(released_function_table));
    add_bad_argument(0, anymetal_arg_functions(function_table));
    add_bad_argument(1, anymetal_arg_bytes(NULL, 4));
    add_bad_argument(1, anymetal_arg_bytes(memory, 4097));
    add_bad_argument(2, anymetal_arg_threadgroup(UINT_MAX, 16));
    for (size_t i = 0; i < sizeof HUGE / sizeof *HUGE; i++) {
        add_bad_argument(1, anymetal_arg_bytes(memory, HUGE[i]));
        add_bad_argument(2, anymetal_arg_threadgroup(0, HUGE[i]));
        bad = arguments[0];
        bad.offset = HUGE[i];
        if (i < 3) add_bad_argument(0, bad);
    }
}

#include "calls.inc"

int main(void) {
    prepare();
    if (failures == 0) calls();
    int result = 0;
    arguments[0] = anymetal_arg_buffer(buffer);
    if (anymetal_buffer_read(buffer, 0, &result, 4) != ANYMETAL_OK) fail("at the end", "the library does not work");
    /* Twice, which is refused without harm. */
    for (int i = 0; i < 2; i++) {
        anymetal_submission_release(submission);
        anymetal_queue_release(queue);
        anymetal_function_table_release(function_table);
        anymetal_buffer_release(buffer);
        anymetal_kernel_release(kernel);
        anymetal_kernel_release(kernel_with_table);
        anymetal_library_release(library);
        anymetal_device_release(device);
        if (i == 1 && strstr(anymetal_last_error(), "released before") == NULL) fail("second release", "not noted");
    }
    printf("%d calls\n", calls_made);
    return failures == 0 ? 0 : 1;
}
