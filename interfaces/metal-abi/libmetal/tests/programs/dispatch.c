// A dispatch with a completion handler in plain C: every message is sent by hand.
#include "check.h"
#include <dispatch/dispatch.h>
#include <math.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned long width, height, depth;
} Size;

id MTLCreateSystemDefaultDevice(void);
id MTLCopyAllDevices(void);

#define SEND(result, ...) ((result(*)(id, SEL, ##__VA_ARGS__))objc_msgSend)

static SEL selector(const char *name) { return sel_registerName(name); }

static id string(const char *text) {
    return SEND(id, const char *)((id)objc_getClass("NSString"), selector("stringWithUTF8String:"), text);
}

static const char *SOURCE = "#include <metal_stdlib>\n"
                            "using namespace metal;\n"
                            "kernel void scale(device float *values [[buffer(0)]],\n"
                            "                  constant float &factor [[buffer(1)]],\n"
                            "                  uint at [[thread_position_in_grid]]) {\n"
                            "    values[at] *= factor;\n"
                            "}\n";

static void messages_to_nil_give_zero(void) {
    CHECK(SEND(long)(nil, selector("length")) == 0);
    CHECK(SEND(double)(nil, selector("doubleValue")) == 0.0);
    CHECK(((float (*)(id, SEL))objc_msgSend_fpret)(nil, selector("floatValue")) == 0.0f);
    Size size = {1, 2, 3};
#if defined(__x86_64__)
    size = ((Size(*)(id, SEL))objc_msgSend_stret)(nil, selector("maxThreadsPerThreadgroup"));
    (void)size;
#endif
}

static void floats_and_structures_come_through(id device) {
    id number = SEND(id, double)((id)objc_getClass("NSNumber"), selector("numberWithDouble:"), 2.5);
    CHECK(SEND(double)(number, selector("doubleValue")) == 2.5);
    CHECK(((float (*)(id, SEL))objc_msgSend_fpret)(number, selector("floatValue")) == 2.5f);
#if defined(__x86_64__)
    Size most = ((Size(*)(id, SEL))objc_msgSend_stret)(device, selector("maxThreadsPerThreadgroup"));
#else
    Size most = SEND(Size)(device, selector("maxThreadsPerThreadgroup"));
#endif
    CHECK(most.width >= 64 && most.depth >= 1);
}

static void variadic_methods_take_integers_and_floats(void) {
    id (*format)(id, SEL, id, ...) = (id(*)(id, SEL, id, ...))objc_msgSend;
    id text = format((id)objc_getClass("NSString"), selector("stringWithFormat:"),
                     string("%d %s %.2f %@ %5.1f|%-4u|%llx %d %d %g"), 7, "seven", 0.25, string("object"), 2.0, 9u,
                     0xabcdefabcdefull, -1, 11, 1e10);
    const char *bytes = SEND(const char *)(text, selector("UTF8String"));
    CHECK(strcmp(bytes, "7 seven 0.25 object   2.0|9   |abcdefabcdef -1 11 1e+10") == 0);
}

static long answer(id self, SEL name, long more) {
    (void)self, (void)name;
    return 41 + more;
}

static void classes_can_be_made_at_run_time(void) {
    Class made = objc_allocateClassPair(objc_getClass("NSObject"), "MadeInC", 0);
    CHECK(made != Nil);
    CHECK(class_addMethod(made, selector("answer:"), (IMP)answer, "q@:q"));
    objc_registerClassPair(made);
    id object = SEND(id)((id)made, selector("new"));
    CHECK(SEND(long, long)(object, selector("answer:"), 1) == 42);
    struct objc_super above = {object, class_getSuperclass(made)};
    unsigned long (*hash_above)(struct objc_super *, SEL) = (unsigned long (*)(struct objc_super *, SEL))objc_msgSendSuper;
    CHECK(hash_above(&above, selector("hash")) == SEND(unsigned long)(object, selector("hash")));
    objc_release(object);
}

static void a_dispatch_calls_its_handler(id device) {
    id error = nil;
    id library = SEND(id, id, id, id *)(device, selector("newLibraryWithSource:options:error:"), string(SOURCE), nil, &error);
    CHECK(library != nil);
    id function = SEND(id, id)(library, selector("newFunctionWithName:"), string("scale"));
    CHECK(function != nil);
    id pipeline = SEND(id, id, id *)(device, selector("newComputePipelineStateWithFunction:error:"), function, &error);
    CHECK(pipeline != nil);
    float values[1000];
    for (int at = 0; at < 1000; at++) {
        values[at] = (float)at;
    }
    id buffer = SEND(id, const void *, unsigned long, unsigned long)(
        device, selector("newBufferWithBytes:length:options:"), values, sizeof values, 0);
    id queue = SEND(id)(device, selector("newCommandQueue"));
    id commands = SEND(id)(queue, selector("commandBuffer"));
    id encoder = SEND(id)(commands, selector("computeCommandEncoder"));
    SEND(void, id)(encoder, selector("setComputePipelineState:"), pipeline);
    SEND(void, id, unsigned long, unsigned long)(encoder, selector("setBuffer:offset:atIndex:"), buffer, 0, 0);
    float factor = 3.0f;
    SEND(void, const void *, unsigned long, unsigned long)(encoder, selector("setBytes:length:atIndex:"), &factor, sizeof factor, 1);
    SEND(void, Size, Size)(encoder, selector("dispatchThreads:threadsPerThreadgroup:"), (Size){1000, 1, 1}, (Size){64, 1, 1});
    SEND(void)(encoder, selector("endEncoding"));
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    __block int calls = 0;
    void (^handler)(id) = ^(id finished) {
      calls += SEND(unsigned long)(finished, selector("status")) == 4;
      dispatch_semaphore_signal(done);
    };
    SEND(void, void (^)(id))(commands, selector("addCompletedHandler:"), handler);
    SEND(void)(commands, selector("commit"));
    CHECK(dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER) == 0);
    CHECK(calls == 1);
    dispatch_release(done);
    float *results = SEND(float *)(buffer, selector("contents"));
    for (int at = 0; at < 1000; at++) {
        CHECK(results[at] == 3.0f * (float)at);
    }
    objc_release(queue);
    objc_release(buffer);
    objc_release(pipeline);
    objc_release(function);
    objc_release(library);
}

static void errors_say_what_is_wrong(id device) {
    id error = nil;
    id library = SEND(id, id, id, id *)(device, selector("newLibraryWithSource:options:error:"),
                                        string("kernel void broken( {"), nil, &error);
    CHECK(library == nil && error != nil);
    const char *text = SEND(const char *)(SEND(id)(error, selector("localizedDescription")), selector("UTF8String"));
    CHECK(strstr(text, "error") != 0);
}

int main(void) {
    void *pool = objc_autoreleasePoolPush();
    messages_to_nil_give_zero();
    id device = MTLCreateSystemDefaultDevice();
    CHECK(device != nil);
    id devices = MTLCopyAllDevices();
    CHECK(SEND(unsigned long)(devices, selector("count")) >= 1);
    objc_release(devices);
    floats_and_structures_come_through(device);
    variadic_methods_take_integers_and_floats();
    classes_can_be_made_at_run_time();
    a_dispatch_calls_its_handler(device);
    errors_say_what_is_wrong(device);
    objc_release(device);
    objc_autoreleasePoolPop(pool);
    puts("dispatch.c: all is so");
    return 0;
}
