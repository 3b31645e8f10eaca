// A dispatch with a completion handler, as Metal's own examples are written.
#include "check.h"
#import <Metal/Metal.h>
#include <pthread.h>

static NSString *const SOURCE = @"#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "constant int bias [[function_constant(0)]];\n"
                                 "kernel void add(device const int *left [[buffer(0)]],\n"
                                 "                device const int *right [[buffer(1)]],\n"
                                 "                device int *sums [[buffer(2)]],\n"
                                 "                uint at [[thread_position_in_grid]]) {\n"
                                 "    sums[at] = left[at] + right[at] + bias;\n"
                                 "}\n";

static id<MTLComputePipelineState> pipeline(id<MTLDevice> device) {
    NSError *error = nil;
    MTLCompileOptions *options = [MTLCompileOptions new];
    options.preprocessorMacros = [NSDictionary dictionaryWithObject:@"1" forKey:@"UNUSED"];
    id<MTLLibrary> library = [device newLibraryWithSource:SOURCE options:options error:&error];
    CHECK(library != nil);
    MTLFunctionConstantValues *values = [MTLFunctionConstantValues new];
    int bias = 5;
    [values setConstantValue:&bias type:MTLDataTypeInt atIndex:0];
    id<MTLFunction> function = [library newFunctionWithName:@"add" constantValues:values error:&error];
    CHECK(function != nil && [function.name isEqualToString:@"add"]);
    id<MTLComputePipelineState> made = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(made != nil && made.threadExecutionWidth == 32);
    [function release];
    [values release];
    [library release];
    [options release];
    return made;
}

static void a_dispatch_calls_its_handler(id<MTLDevice> device) {
    id<MTLComputePipelineState> add = pipeline(device);
    const NSUInteger count = 4096;
    id<MTLBuffer> buffers[3];
    for (int which = 0; which < 3; which++) {
        buffers[which] = [device newBufferWithLength:count * sizeof(int) options:MTLResourceStorageModeShared];
        int *values = buffers[which].contents;
        for (NSUInteger at = 0; at < count; at++) {
            values[at] = which == 2 ? -1 : (int)at * (which + 1);
        }
    }
    id<MTLCommandQueue> queue = [device newCommandQueue];
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    __block MTLCommandBufferStatus status = MTLCommandBufferStatusNotEnqueued;
    @autoreleasepool {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        commands.label = @"sums";
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:add];
        for (NSUInteger which = 0; which < 3; which++) {
            [encoder setBuffer:buffers[which] offset:0 atIndex:which];
        }
        [encoder dispatchThreadgroups:MTLSizeMake(count / 256, 1, 1) threadsPerThreadgroup:MTLSizeMake(256, 1, 1)];
        [encoder endEncoding];
        [commands addCompletedHandler:^(id<MTLCommandBuffer> finished) {
          status = finished.status;
          dispatch_semaphore_signal(done);
        }];
        [commands commit];
    }
    CHECK(dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER) == 0);
    CHECK(status == MTLCommandBufferStatusCompleted);
    int *sums = buffers[2].contents;
    for (NSUInteger at = 0; at < count; at++) {
        CHECK(sums[at] == (int)at * 3 + 5);
    }
    dispatch_release(done);
    for (int which = 0; which < 3; which++) {
        [buffers[which] release];
    }
    [queue release];
    [add release];
}

static void broken_rules_are_exceptions(id<MTLDevice> device) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    int caught = 0;
    @try {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        [commands commit];
        [commands commit];
    } @catch (NSException *exception) {
        caught = [exception.reason containsString:@"commit"];
    }
    CHECK(caught == 1);
    [queue release];
}

static void heaps_take_options_as_a_whole(id<MTLDevice> device) {
    MTLHeapDescriptor *descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.resourceOptions = MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
    CHECK(descriptor.storageMode == MTLStorageModeShared);
    CHECK(descriptor.hazardTrackingMode == MTLHazardTrackingModeUntracked);
    CHECK(descriptor.resourceOptions == (MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked));
    descriptor.size = 1 << 16;
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    CHECK(heap != nil && heap.storageMode == MTLStorageModeShared);
    [heap release];
    [descriptor release];
}

static void functions_are_made_by_descriptor(id<MTLDevice> device) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:SOURCE options:nil error:&error];
    MTLFunctionConstantValues *values = [MTLFunctionConstantValues new];
    int bias = 1;
    [values setConstantValue:&bias type:MTLDataTypeInt atIndex:0];
    MTLFunctionDescriptor *descriptor = [MTLFunctionDescriptor functionDescriptor];
    descriptor.name = @"add";
    descriptor.specializedName = @"add_one";
    descriptor.constantValues = values;
    id<MTLFunction> function = [library newFunctionWithDescriptor:descriptor error:&error];
    CHECK(function != nil);
    id<MTLComputePipelineState> made = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(made != nil);
    [made release];
    [function release];
    [values release];
    [library release];
}

// The sum of the buffer with itself, and 5, in place.
static id<MTLCommandBuffer> doubling(id<MTLCommandQueue> queue, id<MTLComputePipelineState> add, id<MTLBuffer> buffer) {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:add];
    for (NSUInteger which = 0; which < 3; which++) {
        [encoder setBuffer:buffer offset:0 atIndex:which];
    }
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    return commands;
}

static void commit_and_wait(void *commands) {
    [(id<MTLCommandBuffer>)commands commit];
    [(id<MTLCommandBuffer>)commands waitUntilCompleted];
}

static void *leaves_a_command_buffer(void *key_and_commands) {
    void **all = key_and_commands;
    // The thread uses the library before it ends.
    commit_and_wait(all[1]);
    CHECK(pthread_setspecific(*(pthread_key_t *)all[0], all[2]) == 0);
    return 0;
}

static void a_thread_commits_while_it_ends(id<MTLDevice> device) {
    id<MTLComputePipelineState> add = pipeline(device);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> buffer = [device newBufferWithLength:sizeof(int) options:MTLResourceStorageModeShared];
    *(int *)buffer.contents = 1;
    pthread_key_t key;
    CHECK(pthread_key_create(&key, commit_and_wait) == 0);
    id<MTLCommandBuffer> last = doubling(queue, add, buffer);
    void *all[3] = {&key, doubling(queue, add, buffer), last};
    pthread_t thread;
    CHECK(pthread_create(&thread, 0, leaves_a_command_buffer, all) == 0);
    CHECK(pthread_join(thread, 0) == 0);
    CHECK(last.status == MTLCommandBufferStatusCompleted);
    CHECK(*(int *)buffer.contents == 19);
    CHECK(pthread_key_delete(key) == 0);
    [buffer release];
    [queue release];
    [add release];
}

int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        CHECK(device != nil && device.name.length > 0);
        CHECK(device.maxThreadsPerThreadgroup.width >= 256);
        CHECK([device supportsFamily:MTLGPUFamilyApple7]);
        a_dispatch_calls_its_handler(device);
        broken_rules_are_exceptions(device);
        heaps_take_options_as_a_whole(device);
        functions_are_made_by_descriptor(device);
        a_thread_commits_while_it_ends(device);
        [device release];
    }
    puts("dispatch.m: all is so");
    return 0;
}
