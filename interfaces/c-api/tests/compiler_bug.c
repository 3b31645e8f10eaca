/* A bug of the compiler is a status with a report. The test has it in stage "middle end". */
#include <stdio.h>
#include <string.h>

#include <anymetal.h>

int main(void) {
    const char *source = "kernel void f(device int* x) { x[0] = 1; }";
    anymetal_device *device = NULL;
    anymetal_library *library = NULL;
    anymetal_kernel *kernel = NULL;
    if (anymetal_device_open(NULL, &device) != ANYMETAL_OK) return 1;
    if (anymetal_library_compile(device, source, strlen(source), ANYMETAL_MATH_SAFE, &library) != ANYMETAL_OK) return 2;
    for (int round = 0; round < 2; round++) {
        anymetal_status status = anymetal_kernel_make(library, "f", &kernel);
        printf("status %d: %s\n", (int)status, anymetal_last_error());
        if (status != ANYMETAL_BUG || kernel != NULL) return 3;
    }
    anymetal_library_release(library);
    anymetal_device_release(device);
    return 0;
}
