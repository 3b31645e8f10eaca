/* Pointers in structures: buffers that kernels reach by address while their queue has them resident. */
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

static const char *SOURCE =
    "struct pair { device const int* from; device int* to; };\n"
    "kernel void copy(constant pair& p, uint i [[thread_position_in_grid]]) { p.to[i] = p.from[i] + 1; }\n";

int main(void) {
    anymetal_device *device = NULL;
    anymetal_library *library = NULL;
    anymetal_kernel *copy = NULL;
    anymetal_queue *queue = NULL, *other = NULL;
    anymetal_buffer *from = NULL, *to = NULL;
    static int theirs[4] = {1, 2, 3, 4};
    int result[4] = {0, 0, 0, 0};
    uint64_t pair[2] = {0, 0};
    if (anymetal_device_open("cpu", &device) != ANYMETAL_OK) return 1;
    expect("compile", anymetal_library_compile(device, SOURCE, strlen(SOURCE), ANYMETAL_MATH_SAFE, &library), ANYMETAL_OK, "");
    if (anymetal_kernel_make(library, "copy", &copy) != ANYMETAL_OK) return 1;
    if (anymetal_queue_make(device, &queue) != ANYMETAL_OK || anymetal_queue_make(device, &other) != ANYMETAL_OK) return 1;
    if (anymetal_buffer_borrow(device, theirs, sizeof theirs, &from) != ANYMETAL_OK) return 1;
    if (anymetal_buffer_make(device, sizeof result, &to) != ANYMETAL_OK) return 1;
    expect("address", anymetal_buffer_address(from, &pair[0]), ANYMETAL_OK, "");
    expect("address", anymetal_buffer_address(to, &pair[1]), ANYMETAL_OK, "");
    /* On the CPU device, borrowed memory has the address that the program knows it by. */
    if (pair[0] != (uint64_t)(uintptr_t)theirs) failures++;
    anymetal_argument arguments[] = {anymetal_arg_bytes(pair, sizeof pair)};
    anymetal_grid grid = {{4, 1, 1}, {0, 0, 0}};

    expect("not resident", anymetal_launch(queue, copy, arguments, 1, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "copy");
    expect("add", anymetal_queue_add_resident(queue, from), ANYMETAL_OK, "");
    expect("half", anymetal_launch(queue, copy, arguments, 1, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "copy");
    expect("add", anymetal_queue_add_resident(queue, to), ANYMETAL_OK, "");
    expect("again", anymetal_queue_add_resident(queue, to), ANYMETAL_OK, "");
    expect("both", anymetal_launch(queue, copy, arguments, 1, grid, NULL), ANYMETAL_OK, "");
    expect("read", anymetal_buffer_read(to, 0, result, sizeof result), ANYMETAL_OK, "");
    if (result[0] != 2 || result[3] != 5) failures++;
    expect("another queue", anymetal_launch(other, copy, arguments, 1, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "copy");
    expect("remove", anymetal_queue_remove_resident(queue, to), ANYMETAL_OK, "");
    expect("removed", anymetal_launch(queue, copy, arguments, 1, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "copy");
    expect("remove again", anymetal_queue_remove_resident(queue, to), ANYMETAL_OK, "");
    expect("add", anymetal_queue_add_resident(queue, to), ANYMETAL_OK, "");
    anymetal_buffer_release(from);
    expect("released", anymetal_launch(queue, copy, arguments, 1, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "copy");
    expect("add released", anymetal_queue_add_resident(queue, from), ANYMETAL_CALLER, "released before");
    anymetal_buffer_release(to);
    anymetal_queue_release(queue);
    anymetal_queue_release(other);
    anymetal_kernel_release(copy);
    anymetal_library_release(library);
    anymetal_device_release(device);
    return failures == 0 ? 0 : 1;
}
