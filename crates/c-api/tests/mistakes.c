/* Calls with mistakes: each must give the status and a text with the word that is listed with it. */
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
    arguments[0].kind = (anymetal_argument_kind)9;
    expect("no kind", anymetal_launch(queue, kernel, arguments, 2, grid, NULL), ANYMETAL_CALLER, "9");
    anymetal_buffer_release(NULL);
    anymetal_buffer_release(buffer);
    anymetal_queue_release(queue);
    anymetal_library_release(library);
    anymetal_device_release(device);
    anymetal_kernel_release(kernel);
    return failures == 0 ? 0 : 1;
}
