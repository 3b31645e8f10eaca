/* Calls with mistakes: each must give the status and a text with the word that is listed with it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <anymetal.h>

static int failures;

static void expect(const char *what, anymetal_status got, anymetal_status wanted, const char *word) {
    if (got != wanted || strstr(anymetal_last_error(), word) == NULL) {
        printf("%s: status %d, \"%s\"\n", what, (int)got, anymetal_last_error());
        failures++;
    }
}

#define COMPILE(source) anymetal_library_compile(device, source, strlen(source), ANYMETAL_MATH_SAFE, &library)

int main(void) {
    anymetal_device *device = NULL;
    anymetal_library *library = NULL;
    anymetal_kernel *kernel = NULL;
    anymetal_queue *queue = NULL;
    anymetal_buffer *buffer = NULL;
    expect("no device", anymetal_device_open("nowhere", &device), ANYMETAL_CALLER, "nowhere");
    expect("no place", anymetal_device_open(NULL, NULL), ANYMETAL_CALLER, "NULL");
    if (anymetal_device_open("cpu", &device) != ANYMETAL_OK) return 1;
    expect("wrong source", COMPILE("kernel void f(device int* x) { x[0] = y; }"), ANYMETAL_OK, "");
    expect("late", anymetal_kernel_make(library, "f", &kernel), ANYMETAL_COMPILE_ERROR, "source.metal:1");
    anymetal_library_release(library);
    library = NULL;
    expect("compile", COMPILE("kernel void f(device int* x, constant int& a) { x[0] = a; }"), ANYMETAL_OK, "");
    expect("no kernel", anymetal_kernel_make(library, "g", &kernel), ANYMETAL_COMPILE_ERROR, "`f`");
    expect("NULL library", anymetal_kernel_make(NULL, "f", &kernel), ANYMETAL_CALLER, "library is NULL");
    if (anymetal_kernel_make(library, "f", &kernel) != ANYMETAL_OK) return 1;
    if (anymetal_queue_make(device, &queue) != ANYMETAL_OK) return 1;
    if (anymetal_buffer_make(device, 8, &buffer) != ANYMETAL_OK) return 1;
    int number = 0;
    expect("outside", anymetal_buffer_read(buffer, 6, &number, 4), ANYMETAL_CALLER, "6..10");
    anymetal_grid grid = {{1, 1, 1}, {0, 0, 0}};
    anymetal_argument arguments[] = {anymetal_arg_buffer(buffer), anymetal_arg_number(0.5)};
    expect("too few", anymetal_launch(queue, kernel, arguments, 1, grid, NULL), ANYMETAL_CALLER, "2 arguments");
    expect("no int", anymetal_launch(queue, kernel, arguments, 2, grid, NULL), ANYMETAL_CALLER, "0.5");
    arguments[0].offset = 2;
    arguments[1] = anymetal_arg_integer(7);
    expect("misaligned", anymetal_launch(queue, kernel, arguments, 2, grid, NULL), ANYMETAL_CALLER, "2");
    arguments[0].offset = 4;
    expect("fine", anymetal_launch(queue, kernel, arguments, 2, grid, NULL), ANYMETAL_OK, "");
    expect("read", anymetal_buffer_read(buffer, 4, &number, 4), ANYMETAL_OK, "");
    if (number != 7) failures++;
    const double refused[] = {-1.0, 1e300, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        anymetal_submission *none = NULL;
        expect("deadline", anymetal_launch_within(queue, kernel, arguments, 2, grid, refused[i], &none), ANYMETAL_CALLER,
               "deadline");
        if (none != NULL) failures++;
    }
    arguments[1] = anymetal_arg_integer(8);
    expect("no deadline", anymetal_launch_within(queue, kernel, arguments, 2, grid, 0.0, NULL), ANYMETAL_OK, "");
    expect("read", anymetal_buffer_read(buffer, 4, &number, 4), ANYMETAL_OK, "");
    if (number != 8) failures++;
    arguments[0].kind = (anymetal_argument_kind)9;
    expect("no kind", anymetal_launch(queue, kernel, arguments, 2, grid, NULL), ANYMETAL_CALLER, "9");
    anymetal_argument_info info;
    expect("second", anymetal_kernel_argument(kernel, 1, &info), ANYMETAL_OK, "");
    if (strcmp(info.name, "a") != 0 || info.index != 1 || info.element_size != 4) failures++;
    if (!info.is_reference || info.is_written || info.is_threadgroup) failures++;
    expect("no third", anymetal_kernel_argument(kernel, 2, &info), ANYMETAL_CALLER, "has 2");
    expect("no info", anymetal_kernel_argument(kernel, 0, NULL), ANYMETAL_CALLER, "NULL");
    if (anymetal_kernel_argument_count(NULL) != 0 || anymetal_kernel_argument_count(kernel) != 2) failures++;
    anymetal_kernel_release(kernel);
    anymetal_library_release(library);
    kernel = NULL;
    library = NULL;
    expect("local", COMPILE("kernel void f(device int* x, threadgroup int* t, ushort i [[thread_index_in_threadgroup]]) {"
                            "t[i] = i; threadgroup_barrier(metal::mem_flags::mem_threadgroup); x[i] = t[1 - i]; }"),
           ANYMETAL_OK, "");
    if (anymetal_kernel_make(library, "f", &kernel) != ANYMETAL_OK) return 1;
    expect("memory", anymetal_kernel_argument(kernel, 1, &info), ANYMETAL_OK, "");
    if (!info.is_threadgroup || info.index != 0 || strcmp(info.name, "t") != 0) failures++;
    anymetal_grid pair = {{2, 1, 1}, {2, 1, 1}};
    anymetal_argument local[] = {anymetal_arg_threadgroup(0, 8), anymetal_arg_buffer(buffer)};
    expect("threadgroup", anymetal_launch(queue, kernel, local, 2, pair, NULL), ANYMETAL_OK, "");
    int both[2] = {0, 0};
    expect("read", anymetal_buffer_read(buffer, 0, both, 8), ANYMETAL_OK, "");
    if (both[0] != 1 || both[1] != 0) failures++;
    local[0].integer = -1;
    expect("index", anymetal_launch(queue, kernel, local, 2, pair, NULL), ANYMETAL_CALLER, "-1");
    local[0] = anymetal_arg_threadgroup(0, 4);
    expect("short", anymetal_launch(queue, kernel, local, 2, pair, NULL), ANYMETAL_OUT_OF_BOUNDS, "");
    anymetal_kernel_release(kernel);
    anymetal_library_release(library);
    kernel = NULL;
    library = NULL;
    expect("endless", COMPILE("kernel void f(device int* x) { while (true) x[0]++; }"), ANYMETAL_OK, "");
    if (anymetal_kernel_make(library, "f", &kernel) != ANYMETAL_OK) return 1;
    anymetal_argument endless[] = {anymetal_arg_buffer(buffer)};
    expect("stopped", anymetal_launch_within(queue, kernel, endless, 1, grid, 0.2, NULL), ANYMETAL_TRANSIENT, "0.2 s");
    anymetal_buffer_release(NULL);
    anymetal_buffer_release(buffer);
    anymetal_queue_release(queue);
    anymetal_library_release(library);
    anymetal_device_release(device);
    anymetal_kernel_release(kernel);
    return failures == 0 ? 0 : 1;
}
