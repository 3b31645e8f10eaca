// Objects that the main thread autoreleased without a pool stay alive: what deallocates them at exit would run after
// the program has shut down.
#include "check.h"
#include <Metal/Metal.h>
#include <unistd.h>

static int has_shut_down;

static void shut_down(void) { has_shut_down = 1; }

static char memory[16384] __attribute__((aligned(16384)));

int main(void) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:memory
                                                     length:sizeof memory
                                                    options:0
                                                deallocator:^(void *bytes, NSUInteger length) {
                                                  (void)bytes, (void)length;
                                                  if (has_shut_down) {
                                                      _exit(1);
                                                  }
                                                }];
    CHECK(buffer != nil);
    [buffer autorelease];
    atexit(shut_down);
    puts("exit.m: all is so");
    return 0;
}
