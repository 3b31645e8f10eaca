/* Tables of visible functions, kernels that are linked with functions of another library, and mistakes with both. */
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

static const char *KERNELS =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "[[visible]] float twice(float x) { return 2 * x; }\n"
    "[[visible]] float square(float x) { return x * x; }\n"
    "kernel void apply(device float* x, visible_function_table<float(float)> ops,\n"
    "                  uint i [[thread_position_in_grid]]) { x[i] = ops[i](x[i]); }\n";

static const char *SHAPES = "[[visible]] float plus_one(float x) { return x + 1; }\n"
                            "[[visible]] float square(float x) { return x * x * 10; }\n";

static anymetal_library *compile(const anymetal_device *device, const char *source) {
    anymetal_library *library = NULL;
    expect("compile", anymetal_library_compile(device, source, strlen(source), ANYMETAL_MATH_SAFE, &library),
           ANYMETAL_OK, "");
    return library;
}

static void expect_values(const char *what, const anymetal_buffer *buffer, float first, float second) {
    float values[2] = {0, 0};
    expect(what, anymetal_buffer_read(buffer, 0, values, sizeof values), ANYMETAL_OK, "");
    if (values[0] != first || values[1] != second) {
        printf("%s: %g %g\n", what, (double)values[0], (double)values[1]);
        failures++;
    }
}

int main(void) {
    anymetal_device *device = NULL;
    anymetal_queue *queue = NULL;
    anymetal_buffer *x = NULL;
    anymetal_kernel *apply = NULL, *linked = NULL, *none = NULL;
    anymetal_function_table *ops = NULL, *more = NULL, *never = NULL;
    anymetal_argument_info info;
    const float start[2] = {3, 3};
    if (anymetal_device_open("cpu", &device) != ANYMETAL_OK) return 1;
    anymetal_library *kernels = compile(device, KERNELS), *shapes = compile(device, SHAPES);
    if (anymetal_kernel_make(kernels, "apply", &apply) != ANYMETAL_OK) return 1;
    if (anymetal_queue_make(device, &queue) != ANYMETAL_OK) return 1;
    if (anymetal_buffer_make(device, sizeof start, &x) != ANYMETAL_OK) return 1;
    expect("write", anymetal_buffer_write(x, 0, start, sizeof start), ANYMETAL_OK, "");
    expect("second", anymetal_kernel_argument(apply, 1, &info), ANYMETAL_OK, "");
    if (!info.is_function_table || info.is_threadgroup || strcmp(info.name, "ops") != 0) failures++;

    const char *names[] = {"twice", NULL};
    expect("table", anymetal_function_table_make(apply, names, 2, &ops), ANYMETAL_OK, "");
    anymetal_grid grid = {{2, 1, 1}, {0, 0, 0}};
    anymetal_argument arguments[] = {anymetal_arg_buffer(x), anymetal_arg_functions(ops)};
    expect("null entry", anymetal_launch(queue, apply, arguments, 2, grid, NULL), ANYMETAL_OUT_OF_BOUNDS,
           "null function pointer");
    expect_values("null entry", x, 6, 0);
    expect("write", anymetal_buffer_write(x, 0, start, sizeof start), ANYMETAL_OK, "");
    expect("set", anymetal_function_table_set(ops, 1, "square"), ANYMETAL_OK, "");
    expect("launch", anymetal_launch(queue, apply, arguments, 2, grid, NULL), ANYMETAL_OK, "");
    expect_values("launch", x, 6, 9);
    expect("clear", anymetal_function_table_set(ops, 0, NULL), ANYMETAL_OK, "");
    expect("cleared", anymetal_launch(queue, apply, arguments, 2, grid, NULL), ANYMETAL_OUT_OF_BOUNDS, "null");
    expect_values("cleared", x, 0, 81);

    anymetal_linked_function functions[] = {{shapes, "plus_one", "next"}, {shapes, "square", NULL}};
    expect("link", anymetal_kernel_make_linked(kernels, "apply", functions, 2, &linked), ANYMETAL_OK, "");
    const char *both[] = {"next", "square"};
    expect("table of both", anymetal_function_table_make(linked, both, 2, &more), ANYMETAL_OK, "");
    anymetal_library_release(shapes);
    expect("write", anymetal_buffer_write(x, 0, start, sizeof start), ANYMETAL_OK, "");
    arguments[1] = anymetal_arg_functions(more);
    expect("linked", anymetal_launch(queue, linked, arguments, 2, grid, NULL), ANYMETAL_OK, "");
    expect_values("linked", x, 4, 90);

    const char *nobody[] = {"nobody"};
    expect("nobody", anymetal_function_table_make(apply, nobody, 1, &never), ANYMETAL_CALLER, "`nobody`");
    expect("no names", anymetal_function_table_make(apply, NULL, 1, &never), ANYMETAL_CALLER, "names are NULL");
    expect("no place", anymetal_function_table_make(apply, NULL, 0, NULL), ANYMETAL_CALLER, "no place");
    expect("beyond", anymetal_function_table_set(ops, 2, "twice"), ANYMETAL_CALLER, "2");
    expect("NULL table", anymetal_function_table_set(NULL, 0, NULL), ANYMETAL_CALLER, "NULL");
    functions[0].library = kernels;
    functions[0].name = "nobody";
    expect("no function", anymetal_kernel_make_linked(kernels, "apply", functions, 1, &none), ANYMETAL_COMPILE_ERROR,
           "`nobody`");
    functions[0].library = NULL;
    expect("NULL library", anymetal_kernel_make_linked(kernels, "apply", functions, 1, &none), ANYMETAL_CALLER,
           "library is NULL");
    expect("NULL functions", anymetal_kernel_make_linked(kernels, "apply", NULL, 1, &none), ANYMETAL_CALLER, "NULL");
    arguments[1] = anymetal_arg_buffer(x);
    arguments[0] = anymetal_arg_functions(ops);
    expect("wrong place", anymetal_launch(queue, apply, arguments, 2, grid, NULL), ANYMETAL_CALLER,
           "table of visible functions");
    arguments[0] = anymetal_arg_functions(NULL);
    expect("no table", anymetal_launch(queue, apply, arguments, 2, grid, NULL), ANYMETAL_CALLER, "NULL");
    if (never != NULL || none != NULL) failures++;
    anymetal_function_table_release(NULL);
    anymetal_function_table_release(ops);
    anymetal_function_table_release(more);
    anymetal_kernel_release(apply);
    anymetal_kernel_release(linked);
    anymetal_buffer_release(x);
    anymetal_queue_release(queue);
    anymetal_library_release(kernels);
    anymetal_device_release(device);
    return failures == 0 ? 0 : 1;
}
