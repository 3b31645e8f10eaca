/*
 * y += a * x over the program's own memory, and what a mistake looks like.
 *
 *     cc saxpy.c $(pkg-config --cflags --libs anymetal) -o saxpy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anymetal.h>

static void check(anymetal_status status) {
    if (status != ANYMETAL_OK) {
        fprintf(stderr, "anymetal: %s\n", anymetal_last_error());
        exit(1);
    }
}

static const char *SOURCE =
    "kernel void saxpy(device const float* x, device float* y, constant float& a,\n"
    "                  uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }\n";

int main(void) {
    enum { COUNT = 1000 };
    static float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }

    anymetal_device *device;
    anymetal_library *library;
    anymetal_kernel *saxpy;
    anymetal_queue *queue;
    check(anymetal_device_open(NULL, &device));
    check(anymetal_library_compile(device, SOURCE, strlen(SOURCE), ANYMETAL_MATH_SAFE, &library));
    check(anymetal_kernel_make(library, "saxpy", &saxpy));
    check(anymetal_queue_make(device, &queue));

    anymetal_buffer *x_buffer, *y_buffer;
    check(anymetal_buffer_make(device, sizeof x, &x_buffer));
    check(anymetal_buffer_write(x_buffer, 0, x, sizeof x));
    check(anymetal_buffer_borrow(device, y, sizeof y, &y_buffer));

    anymetal_argument arguments[] = {
        anymetal_arg_buffer(x_buffer), anymetal_arg_buffer(y_buffer), anymetal_arg_number(2.0)};
    anymetal_grid grid = {{COUNT, 1, 1}, {0, 0, 0}};
    check(anymetal_launch(queue, saxpy, arguments, 3, grid, NULL));

    anymetal_submission *submission;
    double seconds;
    check(anymetal_launch(queue, saxpy, arguments, 3, grid, &submission));
    check(anymetal_submission_wait(submission, &seconds));
    for (int i = 0; i < COUNT; i++) {
        if (y[i] != 1.0f + 4.0f * x[i]) {
            fprintf(stderr, "y[%d] is %f\n", i, y[i]);
            return 1;
        }
    }
    printf("%s: y[999] = %.1f\n", anymetal_device_name(device), y[999]);

    /* One thread too many: the access is dropped, and the error names it. */
    grid.threads[0] = COUNT + 1;
    anymetal_status status = anymetal_launch(queue, saxpy, arguments, 3, grid, NULL);
    printf("status %d: %s\n", (int)status, anymetal_last_error());

    anymetal_submission_release(submission);
    anymetal_buffer_release(y_buffer);
    anymetal_buffer_release(x_buffer);
    anymetal_queue_release(queue);
    anymetal_kernel_release(saxpy);
    anymetal_library_release(library);
    anymetal_device_release(device);
    return status == ANYMETAL_OUT_OF_BOUNDS ? 0 : 1;
}
