// What a message and an empty command buffer cost, and whether memory stays flat over many of them
// without an autorelease pool, as in programs whose compiler counts references.
//
//   bench [COMMAND_BUFFERS]
#include "check.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SEND(result, ...) ((result(*)(id, SEL, ##__VA_ARGS__))objc_msgSend)

id MTLCreateSystemDefaultDevice(void);
id objc_retainAutoreleasedReturnValue(id object);

enum { MESSAGES = 1000000, ROUNDS = 101, BATCH = 32 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *times) {
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

static long next(id self, SEL name, long number) {
    (void)self, (void)name;
    return number + 1;
}

static double message_cost(void) {
    Class made = objc_allocateClassPair(objc_getClass("NSObject"), "Counter", 0);
    SEL selector = sel_registerName("next:");
    class_addMethod(made, selector, (IMP)next, "q@:q");
    objc_registerClassPair(made);
    id object = SEND(id)((id)made, sel_registerName("new"));
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        long number = 0;
        for (long at = 0; at < MESSAGES / ROUNDS; at++) {
            number = SEND(long, long)(object, selector, number);
        }
        times[round] = (now() - start) / (double)(MESSAGES / ROUNDS);
        CHECK(number == MESSAGES / ROUNDS);
    }
    objc_release(object);
    return median(times);
}

static SEL command_buffer, encoder, end_encoding, commit, wait;

// An empty command buffer, committed; the caller has a reference.
static id committed(id queue) {
    id commands = objc_retainAutoreleasedReturnValue(SEND(id)(queue, command_buffer));
    id encoding = objc_retainAutoreleasedReturnValue(SEND(id)(commands, encoder));
    SEND(void)(encoding, end_encoding);
    objc_release(encoding);
    SEND(void)(commands, commit);
    return commands;
}

static double command_buffer_cost(id queue) {
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        id last = nil;
        double start = now();
        for (int at = 0; at < BATCH; at++) {
            objc_release(last);
            last = committed(queue);
        }
        times[round] = (now() - start) / BATCH;
        SEND(void)(last, wait);
        objc_release(last);
    }
    return median(times);
}

static long resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != 0 && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static long growth_over(id queue, long count) {
    long warm = count / 10, before = 0;
    for (long at = 0; at < count; at++) {
        if (at == warm) {
            before = resident_bytes();
        }
        id commands = committed(queue);
        if (at % BATCH == 0) {
            SEND(void)(commands, wait);
        }
        objc_release(commands);
    }
    return resident_bytes() - before;
}

int main(int count, char **arguments) {
    command_buffer = sel_registerName("commandBuffer");
    encoder = sel_registerName("computeCommandEncoder");
    end_encoding = sel_registerName("endEncoding");
    commit = sel_registerName("commit");
    wait = sel_registerName("waitUntilCompleted");
    long buffers = count > 1 ? atol(arguments[1]) : 20000;
    double message = message_cost();
    id device = MTLCreateSystemDefaultDevice();
    id queue = SEND(id)(device, sel_registerName("newCommandQueue"));
    double encoded = command_buffer_cost(queue);
    long grown = growth_over(queue, buffers);
    fprintf(stderr, "message: %.2f ns\nempty command buffer, encoded and committed: %.0f ns\n", message, encoded);
    fprintf(stderr, "memory over %ld command buffers: %+ld KiB\n", buffers, grown / 1024);
    CHECK(grown < 4 << 20);
    objc_release(queue);
    objc_release(device);
    puts("bench.c: all is so");
    return 0;
}
