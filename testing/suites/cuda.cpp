// A stand-in for CUDA's runtime library: programs that clang compiled for the host run their kernels, translated to
// MSL, on anymetal's CPU device.
//
// Where a program for a GPU would be, `nvcc` lets clang put the path of the translated kernels. They are found by the
// names under which clang registers them. Streams and events have no order of their own, since every launch ends at once.
#include "device.h"

#include <cuda_runtime_api.h>
#include <cxxabi.h>

#include <chrono>

using suites::Device;
using suites::Kernel;

namespace {

// A text of kernels: a translation unit's.
struct Module {
    std::string text;
    anymetal_library *library = nullptr;
    std::map<std::string, void *> variables;
    std::string error;
};

struct Function {
    Module *module;
    std::string name;
    std::vector<std::string> parameters;
    // Of `extern "C"`: the name does not say what the parameters are.
    bool is_plain = false;
    bool is_made = false;
    Kernel kernel;
};

struct Variable {
    void *memory;
    size_t bytes;
};

struct Configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
};

// Programs register before main, so that order of construction matters.
std::map<const void *, Function> &functions() {
    static auto *all = new std::map<const void *, Function>;
    return *all;
}
std::map<const void *, Variable> &variables() {
    static auto *all = new std::map<const void *, Variable>;
    return *all;
}

// Texture references: the module's name of each, by which kernels take its memory.
std::map<const void *, std::pair<Module *, std::string>> &textures() {
    static auto *all = new std::map<const void *, std::pair<Module *, std::string>>;
    return *all;
}

thread_local cudaError_t last = cudaSuccess;
thread_local std::vector<Configuration> configurations;

cudaError_t failed(cudaError_t error) { return last = error; }

// What is between the commas of the outermost level.
std::vector<std::string> parts(const std::string &text) {
    std::vector<std::string> all;
    int depth = 0;
    std::string part;
    for (char c : text) {
        if (c == '<' || c == '(' || c == '[') depth++;
        if (c == '>' || c == ')' || c == ']') depth--;
        if (c == ',' && depth == 0) all.push_back(part), part.clear();
        else if (c != ' ' || !part.empty()) part += c;
    }
    if (!part.empty()) all.push_back(part);
    return all;
}

// `void scale<float>(float*, int)` in its parts.
void take_apart(const char *mangled, Function &function) {
    int status = 0;
    char *readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string text = status == 0 ? readable : mangled;
    function.is_plain = status != 0;
    free(readable);
    // The last bracket that opens on the outermost level begins the parameters.
    int depth = 0;
    size_t open = text.size();
    for (size_t i = text.size(); i-- > 0 && open == text.size();) {
        if (text[i] == ')' || text[i] == '>') depth++;
        if (text[i] == '<' && depth > 0) depth--;
        if (text[i] == '(' && --depth == 0) open = i;
    }
    function.name = text.substr(0, open);
    if (function.name.rfind("void ", 0) == 0) function.name.erase(0, 5);
    if (function.name.rfind("(anonymous namespace)::", 0) == 0) function.name.erase(0, 23);
    if (open < text.size()) function.parameters = parts(text.substr(open + 1, text.size() - open - 2));
    if (function.parameters == std::vector<std::string>{"void"}) function.parameters.clear();
}

Function *ready(const void *host) {
    auto found = functions().find(host);
    if (found == functions().end()) return nullptr;
    Function &function = found->second;
    Module &module = *function.module;
    if (!module.library && module.error.empty()) module.library = Device::get().compile(module.text, module.error);
    if (!function.is_made) {
        function.is_made = true;
        if (module.library) function.kernel = Device::get().make(module.library, function.name);
        else function.kernel.error = module.error;
        function.kernel.name = function.name;
    }
    return &function;
}

// The bytes of a number or structure as the kernel has it; `double` became `float`.
anymetal_argument value(const std::string &type, const anymetal_argument_info &info, const void *bytes) {
    if (type == "double" && info.element_size == 4) return anymetal_arg_number(*(const double *)bytes);
    return anymetal_arg_bytes(bytes, info.element_size);
}

std::string bind(Function &function, void **given, size_t shared, std::vector<anymetal_argument> &arguments) {
    for (const auto &info : function.kernel.arguments) {
        anymetal_argument argument = {};
        if (info.is_threadgroup) {
            arguments.push_back(anymetal_arg_threadgroup(info.index, shared + 15 & ~size_t(15)));
            continue;
        }
        auto &variables = function.module->variables;
        if (function.is_plain ? !variables.count(info.name) : info.index < function.parameters.size()) {
            std::string type = function.is_plain ? "" : function.parameters[info.index];
            bool is_doubles = type.find("double") != std::string::npos && type.find('*') != std::string::npos;
            if (is_doubles) return "a pointer to double";
            if (info.is_reference) argument = value(type, info, given[info.index]);
            else if (!Device::get().argument(*(void **)given[info.index], argument))
                return std::string("the pointer ") + info.name + " is none of the device's memory";
        } else {
            auto found = variables.find(info.name);
            if (found == variables.end()) return std::string("no variable ") + info.name;
            if (!Device::get().argument(found->second, argument))
                return std::string("nothing is bound to ") + info.name;
        }
        arguments.push_back(argument);
    }
    return "";
}

cudaError_t launch(const void *host, dim3 grid, dim3 block, void **given, size_t shared) {
    Function *function = ready(host);
    if (!function) return failed(cudaErrorInvalidDeviceFunction);
    std::vector<anymetal_argument> arguments;
    std::string error = function->kernel.error;
    if (error.empty()) error = bind(*function, given, shared, arguments);
    if (!error.empty()) {
        Device::tell(function->name, error);
        Device::get().note(function->name, error);
        return failed(cudaErrorLaunchFailure);
    }
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || block.x * block.y * block.z > 1024)
        return failed(cudaErrorInvalidConfiguration);
    anymetal_grid threads = {{grid.x * block.x, grid.y * block.y, grid.z * block.z}, {block.x, block.y, block.z}};
    return Device::get().launch(function->kernel, arguments, threads) ? cudaSuccess : failed(cudaErrorLaunchFailure);
}

void copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// What clang's code calls.
extern "C" {

void **__cudaRegisterFatBinary(void *binary) {
    struct Wrapper {
        int magic, version;
        const char *data;
        void *unused;
    };
    auto *module = new Module;
    const char *path = ((Wrapper *)binary)->data;
    FILE *file = fopen(path, "r");
    if (!file) module->error = std::string("cannot read ") + path;
    for (int c; file && (c = fgetc(file)) != EOF;) module->text += char(c);
    if (file) fclose(file);
    return (void **)module;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(void **module, const char *host, char *, const char *name, int, void *, void *, void *,
                            void *, int *) {
    Function function;
    function.module = (Module *)module;
    take_apart(name, function);
    functions()[host] = function;
}
void __cudaRegisterVar(void **module, char *host, char *, const char *name, int, size_t bytes, int, int) {
    void *memory = Device::get().allocate(bytes);
    // What the variable is initialised with is in its shadow.
    memcpy(memory, host, bytes);
    ((Module *)module)->variables[name] = memory;
    variables()[host] = {memory, bytes};
}
void __cudaRegisterManagedVar(void **module, void **host, char *initial, const char *name, size_t bytes, unsigned) {
    void *memory = Device::get().allocate(bytes);
    memcpy(memory, initial, bytes);
    *host = memory;
    ((Module *)module)->variables[name] = memory;
    variables()[host] = {memory, bytes};
}
void __cudaRegisterTexture(void **module, const void *host, const void **, const char *name, int, int, int) {
    ((Module *)module)->variables[name] = nullptr;
    textures()[host] = {(Module *)module, name};
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (configurations.empty()) return cudaErrorMissingConfiguration;
    Configuration one = configurations.back();
    configurations.pop_back();
    *grid = one.grid, *block = one.block, *shared = one.shared, *(void **)stream = one.stream;
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **given, size_t shared, cudaStream_t) {
    return launch(host, grid, block, given, shared);
}
cudaError_t cudaLaunchCooperativeKernel(const void *host, dim3, dim3, void **, size_t, cudaStream_t) {
    Device::tell("cudaLaunchCooperativeKernel", "not there");
    return failed(cudaErrorNotSupported);
}

// Textures over linear memory are buffers; those over arrays are not there.

cudaError_t cudaBindTexture(size_t *offset, const textureReference *reference, const void *memory,
                            const cudaChannelFormatDesc *, size_t) {
    auto found = textures().find(reference);
    if (found == textures().end()) return failed(cudaErrorInvalidTexture);
    if (offset) *offset = 0;
    found->second.first->variables[found->second.second] = (void *)memory;
    return cudaSuccess;
}
cudaError_t cudaUnbindTexture(const textureReference *reference) {
    auto found = textures().find(reference);
    if (found == textures().end()) return failed(cudaErrorInvalidTexture);
    found->second.first->variables[found->second.second] = nullptr;
    return cudaSuccess;
}
cudaError_t cudaBindTexture2D(size_t *, const textureReference *, const void *, const cudaChannelFormatDesc *, size_t,
                              size_t, size_t) {
    Device::tell("cudaBindTexture2D", "not there");
    return failed(cudaErrorNotSupported);
}
cudaError_t cudaBindTextureToArray(const textureReference *, cudaArray_const_t, const cudaChannelFormatDesc *) {
    Device::tell("cudaBindTextureToArray", "not there");
    return failed(cudaErrorNotSupported);
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out, const cudaResourceDesc *resource, const cudaTextureDesc *,
                                    const cudaResourceViewDesc *) {
    if (resource->resType != cudaResourceTypeLinear) {
        Device::tell("cudaCreateTextureObject", "not there for arrays");
        return failed(cudaErrorNotSupported);
    }
    *out = (cudaTextureObject_t)resource->res.linear.devPtr;
    return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return cudaSuccess; }
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

// Memory.

cudaError_t cudaMalloc(void **out, size_t bytes) {
    *out = Device::get().allocate(bytes);
    return *out ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaMallocHost(void **out, size_t bytes) { return cudaMalloc(out, bytes); }
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned) { return cudaMalloc(out, bytes); }
cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned) { return cudaMalloc(out, bytes); }
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t) { return cudaMalloc(out, bytes); }
cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t rows) {
    *pitch = width + 511 & ~size_t(511);
    return cudaMalloc(out, *pitch * rows);
}
cudaError_t cudaFree(void *memory) {
    if (!memory) return cudaSuccess;
    if (!Device::get().take_back(memory)) return failed(cudaErrorInvalidValue);
    free(memory);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned) {
    return Device::get().lend(memory, bytes) ? cudaSuccess : failed(cudaErrorInvalidValue);
}
cudaError_t cudaHostUnregister(void *memory) {
    return Device::get().take_back(memory) ? cudaSuccess : failed(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void **out, void *memory, unsigned) {
    *out = memory;
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    if (bytes) memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                         cudaMemcpyKind) {
    copy_rows(to, to_pitch, from, from_pitch, width, rows);
    return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, rows, kind);
}
cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    if (bytes) memset(memory, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t) {
    return cudaMemset(memory, value, bytes);
}
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t rows) {
    for (size_t row = 0; row < rows; row++) memset((char *)memory + row * pitch, value, width);
    return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void **out, const void *symbol) {
    auto found = variables().find(symbol);
    if (found == variables().end()) return failed(cudaErrorInvalidSymbol);
    *out = found->second.memory;
    return cudaSuccess;
}
cudaError_t cudaGetSymbolSize(size_t *out, const void *symbol) {
    auto found = variables().find(symbol);
    if (found == variables().end()) return failed(cudaErrorInvalidSymbol);
    *out = found->second.bytes;
    return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind) {
    auto found = variables().find(symbol);
    if (found == variables().end()) return failed(cudaErrorInvalidSymbol);
    if (offset > found->second.bytes || bytes > found->second.bytes - offset) return failed(cudaErrorInvalidValue);
    memcpy((char *)found->second.memory + offset, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
    auto found = variables().find(symbol);
    if (found == variables().end()) return failed(cudaErrorInvalidSymbol);
    if (offset > found->second.bytes || bytes > found->second.bytes - offset) return failed(cudaErrorInvalidValue);
    memcpy(to, (char *)found->second.memory + offset, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t) {
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
    *unused = *total = size_t(8) << 30;
    return cudaSuccess;
}
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }

// Errors.

cudaError_t cudaGetLastError() {
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "failed (suites)"; }
const char *cudaGetErrorName(cudaError_t error) { return error == cudaSuccess ? "cudaSuccess" : "cudaError"; }

// Devices.

cudaError_t cudaDeviceSynchronize() { return last; }
cudaError_t cudaThreadSynchronize() { return last; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaThreadExit() { return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int) {
    *out = {};
    strcpy(out->name, "anymetal cpu");
    out->totalGlobalMem = size_t(8) << 30;
    out->sharedMemPerBlock = out->sharedMemPerMultiprocessor = 32768;
    out->regsPerBlock = out->regsPerMultiprocessor = 65536;
    out->warpSize = 32;
    out->maxThreadsPerBlock = out->maxThreadsPerMultiProcessor = 1024;
    for (int axis = 0; axis < 3; axis++) {
        out->maxThreadsDim[axis] = axis == 2 ? 64 : 1024;
        out->maxGridSize[axis] = axis == 0 ? 2147483647 : 65535;
    }
    out->clockRate = out->memoryClockRate = 1000000;
    out->totalConstMem = 65536;
    out->major = 8;
    out->multiProcessorCount = 2;
    out->memoryBusWidth = 64;
    out->canMapHostMemory = out->unifiedAddressing = out->managedMemory = out->concurrentManagedAccess = 1;
    // Every GPU since 2010 copies and computes at the same time; programs refuse to run on others.
    out->deviceOverlap = out->asyncEngineCount = out->concurrentKernels = 1;
    out->memPitch = 2147483647;
    out->textureAlignment = 512;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp all;
    cudaGetDeviceProperties(&all, device);
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *out = all.maxThreadsPerBlock; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *out = all.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *out = int(all.sharedMemPerBlock); break;
        case cudaDevAttrWarpSize: *out = 32; break;
        case cudaDevAttrMultiProcessorCount: *out = all.multiProcessorCount; break;
        case cudaDevAttrComputeCapabilityMajor: *out = all.major; break;
        case cudaDevAttrComputeCapabilityMinor: *out = all.minor; break;
        case cudaDevAttrMaxBlockDimX: *out = all.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *out = all.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *out = all.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *out = all.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *out = all.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *out = all.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *out = int(all.sharedMemPerMultiprocessor); break;
        case cudaDevAttrMaxRegistersPerBlock: *out = all.regsPerBlock; break;
        case cudaDevAttrTotalConstantMemory: *out = int(all.totalConstMem); break;
        case cudaDevAttrClockRate: *out = all.clockRate; break;
        case cudaDevAttrMemoryClockRate: *out = all.memoryClockRate; break;
        case cudaDevAttrGlobalMemoryBusWidth: *out = all.memoryBusWidth; break;
        case cudaDevAttrAsyncEngineCount: *out = all.asyncEngineCount; break;
        case cudaDevAttrGpuOverlap: *out = all.deviceOverlap; break;
        case cudaDevAttrConcurrentKernels: *out = all.concurrentKernels; break;
        case cudaDevAttrManagedMemory: *out = all.managedMemory; break;
        case cudaDevAttrConcurrentManagedAccess: *out = all.concurrentManagedAccess; break;
        case cudaDevAttrUnifiedAddressing: *out = all.unifiedAddressing; break;
        case cudaDevAttrCanMapHostMemory: *out = all.canMapHostMemory; break;
        default: *out = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) {
    *version = 11050;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return failed(cudaErrorPeerAccessUnsupported); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return failed(cudaErrorPeerAccessNotEnabled); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    // One priority only, as of devices that do not support them.
    *least = *greatest = 0;
    return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *) {
    *out = {};
    out->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int size, size_t) {
    *blocks = size ? 1024 / size : 1;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int size,
                                                                   size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, size, shared);
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

// Streams and events.

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = (cudaStream_t) new char;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) {
    *priority = 0;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete (char *)stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return last; }
cudaError_t cudaStreamQuery(cudaStream_t) { return last; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned) {
    call(stream, last, data);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = (cudaEvent_t) new double(0);
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete (double *)event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    *(double *)event = now();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return last; }
cudaError_t cudaEventElapsedTime(float *out, cudaEvent_t from, cudaEvent_t to) {
    *out = float(*(double *)to - *(double *)from);
    return cudaSuccess;
}

}  // extern "C"
