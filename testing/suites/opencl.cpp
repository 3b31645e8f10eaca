// A stand-in for libOpenCL: programs run their kernels, translated to MSL, on anymetal's CPU device.
//
// A program's source goes through `anymetal translate`. Commands end before their call returns, so that queues and
// events have no order of their own. Refused: images, samplers, sub-buffers, sub-devices.
#include "device.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <regex>

using suites::Device;

struct _cl_platform_id {};
struct _cl_device_id {};
struct _cl_context {
    int references = 1;
};
struct _cl_command_queue {
    int references = 1;
};
struct _cl_event {
    cl_ulong begin, end;
    int references = 1;
};
struct _cl_mem {
    void *memory;
    size_t bytes;
    void *lent;
    int references = 1;
};
struct _cl_program {
    std::string source, text, log;
    anymetal_library *library = nullptr;
    int references = 1;
};
struct _cl_kernel {
    cl_program program;
    suites::Kernel kernel;
    std::map<unsigned, anymetal_argument> arguments;
    std::map<unsigned, std::vector<char>> bytes;
    int references = 1;
};

namespace {

_cl_platform_id platform;
_cl_device_id device;

cl_ulong now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

cl_int answer(const void *value, size_t size, size_t room, void *out, size_t *needed) {
    if (needed) *needed = size;
    if (!out) return CL_SUCCESS;
    if (room < size) return CL_INVALID_VALUE;
    memcpy(out, value, size);
    return CL_SUCCESS;
}
template <typename T>
cl_int answer(T value, size_t room, void *out, size_t *needed) {
    return answer(&value, sizeof value, room, out, needed);
}
cl_int answer(const char *text, size_t room, void *out, size_t *needed) {
    return answer(text, strlen(text) + 1, room, out, needed);
}

template <typename T>
T *made(T *object, cl_int *error, cl_int code = CL_SUCCESS) {
    if (error) *error = code;
    return object;
}
template <typename T>
cl_int retained(T *object) {
    object->references++;
    return CL_SUCCESS;
}
template <typename T>
cl_int released(T *object) {
    if (!object) return CL_INVALID_VALUE;
    if (--object->references == 0) delete object;
    return CL_SUCCESS;
}

void note(cl_event *event, cl_ulong begin) {
    if (event) *event = new _cl_event{begin, now()};
}

std::string quoted(const std::string &text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
}

std::string read(const std::string &path) {
    std::string text;
    FILE *file = fopen(path.c_str(), "r");
    for (int c; file && (c = fgetc(file)) != EOF;) text += char(c);
    if (file) fclose(file);
    return text;
}

// The macros of `-D` as lines.
std::string macros(const std::string &options) {
    std::string lines;
    std::regex macro("-D\\s*([A-Za-z_]\\w*)(=(\\S*))?");
    for (std::sregex_iterator one(options.begin(), options.end(), macro), last; one != last; ++one)
        lines += "#define " + (*one)[1].str() + " " + ((*one)[2].matched ? (*one)[3].str() : "1") + "\n";
    return lines;
}

// The folders of `-I` and the program's own, as other implementations search.
std::string folders(const std::string &options) {
    std::string words = " -I .";
    std::regex folder("-I\\s*(\\S+)");
    for (std::sregex_iterator one(options.begin(), options.end(), folder), last; one != last; ++one)
        words += " -I " + quoted((*one)[1]);
    return words;
}

// What `anymetal translate` makes of the source; it stands beside this library.
bool translate(cl_program program, const std::string &options) {
    Dl_info here;
    dladdr((void *)&translate, &here);
    std::string folder = here.dli_fname, stem = "/tmp/suites-" + std::to_string(getpid());
    folder = folder.substr(0, folder.rfind('/'));
    FILE *file = fopen((stem + ".cl").c_str(), "w");
    if (!file) return false;
    fputs((macros(options) + program->source).c_str(), file);
    fclose(file);
    std::string command = quoted(folder + "/anymetal") + " translate " + stem + ".cl --double float" +
                          folders(options) + " -o " + stem +
                          ".metal 2> " + stem + ".log";
    bool is_right = system(command.c_str()) == 0;
    program->log = read(stem + ".log");
    if (is_right) program->text = read(stem + ".metal");
    for (const char *end : {".cl", ".metal", ".log"}) unlink((stem + end).c_str());
    return is_right;
}

// `double` became `float`: a number is converted, memory cannot be.
bool has_doubles_in_memory(const std::string &source) {
    std::string plain = std::regex_replace(source, std::regex("//[^\n]*|/\\*([^*]|\\*+[^*/])*\\*+/"), " ");
    return std::regex_search(plain, std::regex("double[248]?\\s*(const\\s*)?\\*"));
}

std::vector<std::string> kernel_names(const std::string &text) {
    std::vector<std::string> all;
    std::regex kernel("\\bkernel\\s+void\\s+(\\w+)\\s*\\(");
    for (std::sregex_iterator one(text.begin(), text.end(), kernel), last; one != last; ++one)
        all.push_back((*one)[1]);
    return all;
}

}  // namespace

extern "C" {

// Platforms, devices, contexts, queues.

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count) {
    if (out && room) *out = &platform;
    if (count) *count = 1;
    return CL_SUCCESS;
}
cl_int clGetPlatformInfo(cl_platform_id, cl_platform_info what, size_t room, void *out, size_t *needed) {
    switch (what) {
        case CL_PLATFORM_VERSION: return answer("OpenCL 1.2 anymetal", room, out, needed);
        case CL_PLATFORM_PROFILE: return answer("FULL_PROFILE", room, out, needed);
        case CL_PLATFORM_EXTENSIONS: return answer("", room, out, needed);
        default: return answer("anymetal", room, out, needed);
    }
}
cl_int clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint room, cl_device_id *out, cl_uint *count) {
    if (out && room) *out = &device;
    if (count) *count = 1;
    return CL_SUCCESS;
}
cl_int clGetDeviceInfo(cl_device_id, cl_device_info what, size_t room, void *out, size_t *needed) {
    size_t sizes[3] = {1024, 1024, 1024};
    switch (what) {
        case CL_DEVICE_TYPE: return answer(cl_device_type(CL_DEVICE_TYPE_GPU), room, out, needed);
        case CL_DEVICE_MAX_COMPUTE_UNITS: return answer(cl_uint(2), room, out, needed);
        case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: return answer(cl_uint(3), room, out, needed);
        case CL_DEVICE_MAX_WORK_GROUP_SIZE: return answer(size_t(1024), room, out, needed);
        case CL_DEVICE_MAX_WORK_ITEM_SIZES: return answer(sizes, sizeof sizes, room, out, needed);
        case CL_DEVICE_MAX_CLOCK_FREQUENCY: return answer(cl_uint(1000), room, out, needed);
        case CL_DEVICE_ADDRESS_BITS: return answer(cl_uint(64), room, out, needed);
        case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return answer(cl_uint(1024), room, out, needed);
        case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        case CL_DEVICE_GLOBAL_MEM_SIZE: return answer(cl_ulong(4) << 30, room, out, needed);
        case CL_DEVICE_LOCAL_MEM_SIZE: return answer(cl_ulong(32768), room, out, needed);
        case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: return answer(cl_ulong(65536), room, out, needed);
        case CL_DEVICE_IMAGE_SUPPORT: return answer(cl_bool(CL_FALSE), room, out, needed);
        case CL_DEVICE_AVAILABLE:
        case CL_DEVICE_COMPILER_AVAILABLE: return answer(cl_bool(CL_TRUE), room, out, needed);
        case CL_DEVICE_EXTENSIONS: return answer("cl_khr_byte_addressable_store cl_khr_fp64", room, out, needed);
        case CL_DEVICE_VERSION:
        case CL_DEVICE_OPENCL_C_VERSION: return answer("OpenCL C 1.2", room, out, needed);
        case CL_DEVICE_PLATFORM: return answer(&platform, room, out, needed);
        case CL_DEVICE_NAME:
        case CL_DEVICE_VENDOR:
        case CL_DRIVER_VERSION: return answer("anymetal", room, out, needed);
        default: return answer(cl_ulong(0), room, out, needed);
    }
}
cl_context clCreateContext(const cl_context_properties *, cl_uint, const cl_device_id *,
                           void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *error) {
    return made(new _cl_context, error);
}
cl_context clCreateContextFromType(const cl_context_properties *, cl_device_type,
                                   void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *,
                                   cl_int *error) {
    return made(new _cl_context, error);
}
cl_int clGetContextInfo(cl_context, cl_context_info what, size_t room, void *out, size_t *needed) {
    if (what == CL_CONTEXT_DEVICES) return answer(&device, room, out, needed);
    return answer(cl_uint(1), room, out, needed);
}
cl_int clRetainContext(cl_context context) { return retained(context); }
cl_int clReleaseContext(cl_context context) { return released(context); }
cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_command_queue_properties, cl_int *error) {
    return made(new _cl_command_queue, error);
}
cl_int clRetainCommandQueue(cl_command_queue queue) { return retained(queue); }
cl_int clReleaseCommandQueue(cl_command_queue queue) { return released(queue); }
cl_int clFlush(cl_command_queue) { return CL_SUCCESS; }
cl_int clFinish(cl_command_queue) { return CL_SUCCESS; }
cl_int clEnqueueBarrier(cl_command_queue) { return CL_SUCCESS; }
cl_int clUnloadCompiler() { return CL_SUCCESS; }

// Memory.

cl_mem clCreateBuffer(cl_context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error) {
    if (bytes == 0) return made((cl_mem) nullptr, error, CL_INVALID_BUFFER_SIZE);
    void *memory = Device::get().allocate(bytes);
    if (!memory) return made((cl_mem) nullptr, error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    if (host && (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR))) memcpy(memory, host, bytes);
    return made(new _cl_mem{memory, bytes, flags & CL_MEM_USE_HOST_PTR ? host : nullptr}, error);
}
cl_int clRetainMemObject(cl_mem memory) { return retained(memory); }
cl_int clReleaseMemObject(cl_mem memory) {
    if (!memory) return CL_INVALID_MEM_OBJECT;
    if (memory->references == 1) {
        Device::get().take_back(memory->memory);
        free(memory->memory);
    }
    return released(memory);
}
cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem memory, cl_bool, size_t offset, size_t bytes, const void *from,
                            cl_uint, const cl_event *, cl_event *event) {
    if (!memory || offset > memory->bytes || bytes > memory->bytes - offset) return CL_INVALID_VALUE;
    auto begin = now();
    memcpy((char *)memory->memory + offset, from, bytes);
    note(event, begin);
    return CL_SUCCESS;
}
cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem memory, cl_bool, size_t offset, size_t bytes, void *to, cl_uint,
                           const cl_event *, cl_event *event) {
    if (!memory || offset > memory->bytes || bytes > memory->bytes - offset) return CL_INVALID_VALUE;
    auto begin = now();
    memcpy(to, (char *)memory->memory + offset, bytes);
    note(event, begin);
    return CL_SUCCESS;
}
cl_int clEnqueueCopyBuffer(cl_command_queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes,
                           cl_uint, const cl_event *, cl_event *event) {
    bool is_inside = from && to && from_offset <= from->bytes && bytes <= from->bytes - from_offset &&
                     to_offset <= to->bytes && bytes <= to->bytes - to_offset;
    if (!is_inside) return CL_INVALID_VALUE;
    auto begin = now();
    memmove((char *)to->memory + to_offset, (char *)from->memory + from_offset, bytes);
    note(event, begin);
    return CL_SUCCESS;
}
cl_int clEnqueueFillBuffer(cl_command_queue, cl_mem memory, const void *pattern, size_t size, size_t offset,
                           size_t bytes, cl_uint, const cl_event *, cl_event *event) {
    if (!memory || !size || offset > memory->bytes || bytes > memory->bytes - offset) return CL_INVALID_VALUE;
    auto begin = now();
    for (size_t at = 0; at + size <= bytes; at += size) memcpy((char *)memory->memory + offset + at, pattern, size);
    note(event, begin);
    return CL_SUCCESS;
}
void *clEnqueueMapBuffer(cl_command_queue, cl_mem memory, cl_bool, cl_map_flags, size_t offset, size_t, cl_uint,
                         const cl_event *, cl_event *event, cl_int *error) {
    note(event, now());
    if (memory->lent) {
        memcpy(memory->lent, memory->memory, memory->bytes);
        return made((char *)memory->lent + offset, error);
    }
    return made((char *)memory->memory + offset, error);
}
cl_int clEnqueueUnmapMemObject(cl_command_queue, cl_mem memory, void *, cl_uint, const cl_event *, cl_event *event) {
    if (memory->lent) memcpy(memory->memory, memory->lent, memory->bytes);
    note(event, now());
    return CL_SUCCESS;
}

// Programs and kernels.

cl_program clCreateProgramWithSource(cl_context, cl_uint count, const char **texts, const size_t *lengths,
                                     cl_int *error) {
    auto *program = new _cl_program;
    for (cl_uint i = 0; i < count; i++)
        program->source += lengths && lengths[i] ? std::string(texts[i], strnlen(texts[i], lengths[i])) : texts[i];
    return made(program, error);
}
cl_int clBuildProgram(cl_program program, cl_uint, const cl_device_id *, const char *options,
                      void(CL_CALLBACK *)(cl_program, void *), void *) {
    bool is_right = translate(program, options ? options : "");
    std::string error = program->log;
    if (is_right && has_doubles_in_memory(program->source)) is_right = false, error = "memory of double";
    if (is_right) {
        program->library = Device::get().compile(program->text, error);
        is_right = program->library != nullptr;
    }
    // Every kernel of the source is noted, as it would be by a compiler.
    for (const auto &name : kernel_names(is_right ? program->text : program->source)) {
        std::string why = is_right ? Device::get().make(program->library, name).error : error;
        Device::get().found(name, why);
        if (!why.empty()) Device::tell(name, why);
    }
    if (!is_right) program->log = error, Device::tell("program", error.substr(0, 400));
    return is_right ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}
cl_int clGetProgramBuildInfo(cl_program program, cl_device_id, cl_program_build_info what, size_t room, void *out,
                             size_t *needed) {
    if (what == CL_PROGRAM_BUILD_LOG) return answer(program->log.c_str(), room, out, needed);
    return answer(cl_int(program->library ? CL_BUILD_SUCCESS : CL_BUILD_ERROR), room, out, needed);
}
cl_int clGetProgramInfo(cl_program, cl_program_info, size_t room, void *out, size_t *needed) {
    return answer(size_t(0), room, out, needed);
}
cl_int clRetainProgram(cl_program program) { return retained(program); }
cl_int clReleaseProgram(cl_program program) { return released(program); }
cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
    if (!program->library) return made((cl_kernel) nullptr, error, CL_INVALID_PROGRAM_EXECUTABLE);
    auto *kernel = new _cl_kernel;
    kernel->program = program;
    kernel->kernel = Device::get().make(program->library, name);
    if (kernel->kernel.error.empty()) return made(kernel, error);
    Device::tell(name, kernel->kernel.error);
    delete kernel;
    return made((cl_kernel) nullptr, error, CL_INVALID_KERNEL_NAME);
}
cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    if (!kernel) return CL_INVALID_KERNEL;
    if (!value) {
        kernel->arguments[index] = anymetal_arg_threadgroup(0, (size + 15) & ~size_t(15));
        return CL_SUCCESS;
    }
    auto &bytes = kernel->bytes[index];
    bytes.assign((const char *)value, (const char *)value + size);
    kernel->arguments[index] = anymetal_arg_bytes(bytes.data(), size);
    return CL_SUCCESS;
}

namespace {

// The arguments in Metal's order: by position, local memory apart.
std::string bind(cl_kernel kernel, std::vector<anymetal_argument> &out) {
    std::vector<const anymetal_argument_info *> buffers;
    for (const auto &info : kernel->kernel.arguments)
        if (!info.is_threadgroup) buffers.push_back(&info);
    size_t buffer = 0, local = 0;
    for (const auto &[index, given] : kernel->arguments) {
        if (given.kind == ANYMETAL_ARGUMENT_THREADGROUP) {
            out.push_back(anymetal_arg_threadgroup(local++, given.length));
            continue;
        }
        if (buffer == buffers.size()) return "more arguments than the kernel has";
        const auto &info = *buffers[buffer++];
        anymetal_argument argument = given;
        if (!info.is_reference) {
            cl_mem memory = *(cl_mem *)given.bytes;
            if (!Device::get().argument(memory ? memory->memory : nullptr, argument)) return "a buffer was released";
        } else if (given.length == 8 && info.element_size == 4) {
            argument = anymetal_arg_number(*(const double *)given.bytes);
        } else if (given.length < info.element_size) {
            return std::string("too few bytes for ") + info.name;
        } else {
            argument.length = info.element_size;
        }
        out.push_back(argument);
    }
    return "";
}

}  // namespace

cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint, const cl_event *, cl_event *event) {
    if (!kernel) return CL_INVALID_KERNEL;
    auto begin = now();
    anymetal_grid grid = {{1, 1, 1}, {0, 0, 0}};
    for (cl_uint axis = 0; axis < dimensions; axis++) {
        if (offset && offset[axis]) return CL_INVALID_GLOBAL_OFFSET;
        grid.threads[axis] = cl_uint(global[axis]);
    }
    if (local) {
        for (int axis = 0; axis < 3; axis++) grid.group_size[axis] = axis < int(dimensions) ? local[axis] : 1;
        for (int axis = 0; axis < 3; axis++)
            if (grid.threads[axis] % grid.group_size[axis]) return CL_INVALID_WORK_GROUP_SIZE;
    }
    std::vector<anymetal_argument> arguments;
    std::string error = bind(kernel, arguments);
    if (!error.empty()) {
        Device::tell(kernel->kernel.name, error);
        Device::get().note(kernel->kernel.name, error);
        return CL_INVALID_KERNEL_ARGS;
    }
    if (!Device::get().launch(kernel->kernel, arguments, grid)) return CL_OUT_OF_RESOURCES;
    note(event, begin);
    return CL_SUCCESS;
}
cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *events, cl_event *event) {
    size_t one = 1;
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, count, events, event);
}
cl_int clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info what, size_t room, void *out,
                                size_t *needed) {
    switch (what) {
        case CL_KERNEL_WORK_GROUP_SIZE: return answer(size_t(1024), room, out, needed);
        case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: return answer(size_t(32), room, out, needed);
        default: return answer(cl_ulong(0), room, out, needed);
    }
}
cl_int clRetainKernel(cl_kernel kernel) { return retained(kernel); }
cl_int clReleaseKernel(cl_kernel kernel) { return released(kernel); }

// Events.

cl_int clWaitForEvents(cl_uint, const cl_event *) { return CL_SUCCESS; }
cl_int clGetEventInfo(cl_event, cl_event_info, size_t room, void *out, size_t *needed) {
    return answer(cl_int(CL_COMPLETE), room, out, needed);
}
cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t room, void *out, size_t *needed) {
    return answer(what == CL_PROFILING_COMMAND_END ? event->end : event->begin, room, out, needed);
}
cl_int clRetainEvent(cl_event event) { return retained(event); }
cl_int clReleaseEvent(cl_event event) { return released(event); }

// What is not there says so.

cl_mem clCreateImage2D(cl_context, cl_mem_flags, const cl_image_format *, size_t, size_t, size_t, void *,
                       cl_int *error) {
    return made((cl_mem) nullptr, error, CL_INVALID_OPERATION);
}
cl_sampler clCreateSampler(cl_context, cl_bool, cl_addressing_mode, cl_filter_mode, cl_int *error) {
    return made((cl_sampler) nullptr, error, CL_INVALID_OPERATION);
}
cl_int clEnqueueWriteImage(cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, size_t, size_t,
                           const void *, cl_uint, const cl_event *, cl_event *) {
    return CL_INVALID_OPERATION;
}
cl_int clEnqueueReadImage(cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, size_t, size_t, void *,
                          cl_uint, const cl_event *, cl_event *) {
    return CL_INVALID_OPERATION;
}
cl_int clEnqueueCopyBufferToImage(cl_command_queue, cl_mem, cl_mem, size_t, const size_t *, const size_t *, cl_uint,
                                  const cl_event *, cl_event *) {
    return CL_INVALID_OPERATION;
}
cl_int clReleaseSampler(cl_sampler) { return CL_SUCCESS; }
cl_int clGetSupportedImageFormats(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint, cl_image_format *,
                                  cl_uint *count) {
    if (count) *count = 0;
    return CL_SUCCESS;
}

}  // extern "C"
