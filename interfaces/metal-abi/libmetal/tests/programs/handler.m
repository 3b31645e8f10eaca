// A completion handler that throws: the program ends with the exception's text.
#include "check.h"
#include <Foundation/Foundation.h>
#include <Metal/Metal.h>

int main(void) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      (void)done;
      [NSException raise:@"HandlerException" format:@"thrown %d", 42];
    }];
    [commands commit];
    [commands waitUntilCompleted];
    puts("handler.m: the handler's exception was lost");
    return 0;
}
