// What the stand-ins for CUDA's and OpenCL's host libraries share: a device of anymetal, memory by address, kernels
// of translated text, and a record of what ran.
//
// Memory of the device is the program's own, borrowed by a buffer: copies are copies of the host. Launches end before
// the call returns. Each process appends what it launched to the file that SUITES_RECORD names, a line of JSON for
// each kernel.
#pragma once

#include <anymetal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace suites {

// A kernel that was made, with what it takes.
struct Kernel {
    anymetal_kernel *kernel = nullptr;
    std::vector<anymetal_argument_info> arguments;
    std::string name, error;
};

struct Allocation {
    size_t bytes;
    anymetal_buffer *buffer;
};

class Device {
public:
    static Device &get() {
        // Never destroyed: programs release memory when they end, in any order.
        static Device *device = new Device;
        return *device;
    }

    void *allocate(size_t bytes) {
        size_t room = (bytes ? bytes : 1) + 255 & ~size_t(255);
        void *memory = aligned_alloc(256, room);
        // Zeros, as memory of a device that nobody used is; some programs rely on it.
        if (memory) memset(memory, 0, room);
        if (memory && !lend(memory, bytes ? bytes : 1)) {
            free(memory);
            return nullptr;
        }
        return memory;
    }

    // Makes memory of the program usable in kernels.
    bool lend(void *memory, size_t bytes) {
        anymetal_buffer *buffer = nullptr;
        if (anymetal_buffer_borrow(device, memory, bytes, &buffer) != ANYMETAL_OK) {
            tell("memory", anymetal_last_error());
            return false;
        }
        // Kernels may find its address in structures.
        anymetal_queue_add_resident(queue, buffer);
        std::lock_guard<std::mutex> guard(lock);
        allocations[(uintptr_t)memory] = {bytes, buffer};
        return true;
    }

    bool take_back(void *memory) {
        std::lock_guard<std::mutex> guard(lock);
        auto found = allocations.find((uintptr_t)memory);
        if (found == allocations.end()) return false;
        anymetal_buffer_release(found->second.buffer);
        allocations.erase(found);
        return true;
    }

    // The buffer with that address, and where in it.
    bool argument(const void *pointer, anymetal_argument &out) {
        out = {};
        if (!pointer) return true;
        std::lock_guard<std::mutex> guard(lock);
        auto after = allocations.upper_bound((uintptr_t)pointer);
        if (after == allocations.begin()) return false;
        auto found = std::prev(after);
        size_t offset = (uintptr_t)pointer - found->first;
        if (offset > found->second.bytes) return false;
        if (offset == found->second.bytes) return true;  // An empty rest: nothing may be accessed.
        out = anymetal_arg_buffer(found->second.buffer);
        out.offset = offset;
        return true;
    }

    anymetal_library *compile(const std::string &text, std::string &error) {
        anymetal_library *library = nullptr;
        if (anymetal_library_compile(device, text.data(), text.size(), ANYMETAL_MATH_SAFE, &library) != ANYMETAL_OK)
            error = anymetal_last_error();
        return library;
    }

    Kernel make(anymetal_library *library, const std::string &name) {
        Kernel made;
        made.name = name;
        if (anymetal_kernel_make(library, name.c_str(), &made.kernel) != ANYMETAL_OK) {
            made.error = anymetal_last_error();
            // Kernels of namespaces are known without them.
            size_t end = name.find('<'), space = name.rfind("::", end);
            if (space == std::string::npos) return made;
            bool is_made = anymetal_kernel_make(library, name.c_str() + space + 2, &made.kernel) == ANYMETAL_OK;
            made.error = is_made ? "" : anymetal_last_error();
            if (!is_made) return made;
        }
        made.arguments.resize(anymetal_kernel_argument_count(made.kernel));
        for (size_t i = 0; i < made.arguments.size(); i++)
            anymetal_kernel_argument(made.kernel, i, &made.arguments[i]);
        return made;
    }

    bool launch(const Kernel &kernel, const std::vector<anymetal_argument> &arguments, anymetal_grid grid) {
        auto ended = anymetal_launch(queue, kernel.kernel, arguments.data(), arguments.size(), grid, nullptr);
        bool is_right = ended == ANYMETAL_OK;
        if (!is_right) tell(kernel.name, anymetal_last_error());
        note(kernel.name, is_right ? "" : anymetal_last_error());
        return is_right;
    }

    // Notes that a kernel ran, or why it did not.
    void note(const std::string &name, const std::string &error) {
        std::lock_guard<std::mutex> guard(lock);
        Record &record = records[name];
        error.empty() ? record.launches++ : record.failures++;
        if (record.error.empty()) record.error = error;
    }

    // Notes a kernel that a program has, with the reason if it cannot run.
    void found(const std::string &name, const std::string &error) {
        std::lock_guard<std::mutex> guard(lock);
        records[name].error = error;
    }

    static void tell(const std::string &what, const std::string &why) {
        fprintf(stderr, "suites: %s: %s\n", what.c_str(), why.c_str());
    }

    static std::string quoted(const std::string &text) {
        std::string out = "\"";
        for (char c : text) {
            char escape[8];
            if (c == '"' || c == '\\') out += '\\', out += c;
            else if ((unsigned char)c < 32) snprintf(escape, sizeof escape, "\\u%04x", c), out += escape;
            else out += c;
        }
        return out + "\"";
    }

private:
    struct Record {
        size_t launches = 0, failures = 0;
        std::string error;
    };

    Device() {
        if (anymetal_device_open("cpu", &device) != ANYMETAL_OK || anymetal_queue_make(device, &queue) != ANYMETAL_OK) {
            tell("device", anymetal_last_error());
            exit(70);
        }
        atexit([] { get().write(); });
    }

    void write() {
        const char *path = getenv("SUITES_RECORD");
        FILE *file = path ? fopen(path, "a") : nullptr;
        if (!file) return;
        for (auto &[name, record] : records)
            fprintf(file, "{\"kernel\": %s, \"launches\": %zu, \"failures\": %zu, \"error\": %s}\n", quoted(name).c_str(),
                    record.launches, record.failures, quoted(record.error).c_str());
        fclose(file);
    }

    anymetal_device *device = nullptr;
    anymetal_queue *queue = nullptr;
    std::mutex lock;
    std::map<uintptr_t, Allocation> allocations;
    std::map<std::string, Record> records;
};

}  // namespace suites
