// Preloaded into an OpenCL program: measures each launch of a kernel, with whatever implementation the program runs on.
//
// A launch is timed from an idle queue until `clFinish` returns. The first launch with a threadgroup size runs once
// untimed, since implementations compile then. The first few launches of a kernel are repeated; the buffers that the
// kernel's arguments name are restored before each repetition, so results are those of the unmodified program. At exit
// each kernel is appended to the file that SUITES_TIMES names, as a line of JSON with the seconds of each launch and
// the processor seconds of all threads of the process. Requests for a device of a type become requests for any device,
// because programs request GPUs.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

// Repetitions of a launch, and how many launches of a kernel are repeated.
constexpr int REPETITIONS = 5, REPEATED_LAUNCHES = 8;

struct Kernel {
    std::string name;
    std::map<cl_uint, cl_mem> buffers;
};

struct Times {
    std::vector<double> seconds, processor_seconds;
    std::set<std::array<size_t, 3>> sizes;  // Threadgroup sizes of earlier launches.
};

struct Record {
    std::map<cl_mem, size_t> buffers;
    std::map<cl_kernel, Kernel> kernels;
    std::map<std::string, Times> times;

    ~Record() {
        const char *path = getenv("SUITES_TIMES");
        FILE *file = path ? fopen(path, "a") : nullptr;
        if (!file) return;
        for (const auto &[name, times] : times) {
            fprintf(file, "{\"kernel\": \"%s\"", name.c_str());
            write(file, "seconds", times.seconds);
            write(file, "processor_seconds", times.processor_seconds);
            fprintf(file, "}\n");
        }
        fclose(file);
    }

    static void write(FILE *file, const char *name, const std::vector<double> &numbers) {
        fprintf(file, ", \"%s\": [", name);
        const char *separator = "";
        for (double number : numbers) fprintf(file, "%s%.9f", separator, number), separator = ", ";
        fprintf(file, "]");
    }
};

Record &record() {
    static Record record;
    return record;
}

template <typename Function>
Function *next(const char *name, Function *) {
    auto found = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
    if (!found) fprintf(stderr, "suites: no %s\n", name), abort();
    return found;
}
// The implementation's function of that name.
#define NEXT(function) next(#function, function)

double now(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

// The contents of a kernel's buffers before a launch.
class Snapshot {
public:
    Snapshot(cl_command_queue queue, const Kernel &kernel) : queue(queue) {
        for (const auto &[index, buffer] : kernel.buffers) {
            auto &bytes = contents[buffer];
            bytes.resize(record().buffers[buffer]);
            if (clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr)) abort();
        }
    }
    void restore() const {
        for (const auto &[buffer, bytes] : contents)
            if (clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr)) abort();
    }

private:
    cl_command_queue queue;
    std::map<cl_mem, std::vector<char>> contents;
};

}  // namespace

extern "C" {

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type, cl_uint room, cl_device_id *out, cl_uint *count) {
    return NEXT(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, room, out, count);
}

cl_context clCreateContextFromType(const cl_context_properties *properties, cl_device_type,
                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
                                   cl_int *error) {
    return NEXT(clCreateContextFromType)(properties, CL_DEVICE_TYPE_ALL, notify, data, error);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error) {
    cl_mem buffer = NEXT(clCreateBuffer)(context, flags, bytes, host, error);
    if (buffer) record().buffers[buffer] = bytes;
    return buffer;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
    cl_kernel kernel = NEXT(clCreateKernel)(program, name, error);
    if (kernel) record().kernels[kernel] = {name, {}};
    return kernel;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    auto found = record().kernels.find(kernel);
    if (found != record().kernels.end()) {
        auto &buffers = found->second.buffers;
        buffers.erase(index);
        if (value && size == sizeof(cl_mem) && record().buffers.count(*(const cl_mem *)value))
            buffers[index] = *(const cl_mem *)value;
    }
    return NEXT(clSetKernelArg)(kernel, index, size, value);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *events,
                              cl_event *event) {
    auto launch = [&] {
        return NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, events, event);
    };
    auto finish = NEXT(clFinish);
    auto found = record().kernels.find(kernel);
    if (found == record().kernels.end()) return launch();
    auto &times = record().times[found->second.name];
    std::array<size_t, 3> size = {};
    for (cl_uint axis = 0; local && axis < dimensions; axis++) size[axis] = local[axis];

    finish(queue);
    bool is_first = times.sizes.insert(size).second, is_repeated = times.seconds.size() < REPEATED_LAUNCHES;
    int untimed = is_first ? 1 : 0, launches = untimed + (is_repeated ? REPETITIONS : 1);
    std::vector<Snapshot> before;
    if (launches > 1) before.emplace_back(queue, found->second);
    double least = 1e300, least_processor = 1e300;
    for (int i = 0; i < launches; i++) {
        if (i > 0) before[0].restore();
        double begin = now(CLOCK_MONOTONIC), processor_begin = now(CLOCK_PROCESS_CPUTIME_ID);
        if (cl_int error = launch()) return error;
        finish(queue);
        double elapsed = now(CLOCK_MONOTONIC) - begin, processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor_begin;
        if (i >= untimed) least = std::min(least, elapsed), least_processor = std::min(least_processor, processor);
        // Only the last launch's event reaches the program.
        if (event && i + 1 < launches) NEXT(clReleaseEvent)(*event);
    }
    times.seconds.push_back(least);
    times.processor_seconds.push_back(least_processor);
    return CL_SUCCESS;
}

}  // extern "C"
