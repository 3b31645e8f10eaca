// What compiled Objective-C needs of its runtime: classes, categories, protocols, properties,
// instance variables, `super`, `+load` and `+initialize`, literals, blocks, exceptions, locks, pools.
#include "check.h"
#import <Foundation/Foundation.h>

static int loads, category_loads, initializes, deallocs;

@protocol Named
@property(readonly) NSString *name;
- (int)must:(float)factor;
@optional
+ (void)may;
@end

typedef struct {
    double a, b, c;
} Big;

@interface Base : NSObject <Named> {
    char small;
  @public
    long large;
}
@property(retain) NSString *title;
@property(copy, nonatomic) NSString *copied;
- (Big)big;
- (float)half;
- (long double)tenth;
- (id)self_or_nil:(BOOL)flag;
@end

@interface Derived : Base {
    char bytes[3];
    double number;
}
- (double)number;
@end

@implementation Base
@synthesize title, copied;
+ (void)load {
    loads++;
}
+ (void)initialize {
    if (self == [Base class]) {
        initializes++;
    }
}
- (NSString *)name {
    return @"base";
}
- (int)must:(float)factor {
    return (int)(large * factor) + small;
}
- (Big)big {
    Big big = {1, 2, 3};
    return big;
}
- (float)half {
    return 0.5f;
}
- (long double)tenth {
    return 0.1L;
}
- (id)self_or_nil:(BOOL)flag {
    return flag ? self : nil;
}
- (void)dealloc {
    deallocs++;
    [title release];
    [copied release];
    [super dealloc];
}
@end

@implementation Derived
- (id)init {
    self = [super init];
    if (self) {
        number = 6.5;
        bytes[2] = 7;
        large = 100;
    }
    return self;
}
- (NSString *)name {
    return [[super name] stringByAppendingString:@"-derived"];
}
- (double)number {
    return number + bytes[2];
}
@end

@interface NSString (Twice)
- (NSString *)twice;
@end

@implementation NSString (Twice)
+ (void)load {
    category_loads++;
}
- (NSString *)twice {
    return [self stringByAppendingString:self];
}
@end

// Declared only, so that the compiler lets the message pass.
@interface NSString (Missing)
- (void)thisMethodIsNotThere;
@end

static void classes_have_methods_and_variables(void) {
    Derived *derived = [[Derived alloc] init];
    CHECK(loads == 1 && category_loads == 1 && initializes == 1);
    CHECK([derived number] == 13.5);
    CHECK([derived must:0.5f] == 50);
    CHECK(derived->large == 100);
    CHECK([[derived name] isEqualToString:@"base-derived"]);
    CHECK([derived conformsToProtocol:@protocol(Named)]);
    CHECK([derived isKindOfClass:[Base class]] && ![derived isMemberOfClass:[Base class]]);
    CHECK([derived respondsToSelector:@selector(must:)] && ![derived respondsToSelector:@selector(may)]);
    derived.title = @"a title that is longer than eight";
    derived.copied = [NSMutableString stringWithString:@"copied"];
    CHECK([derived.title length] == 33 && [derived.copied isEqual:@"copied"]);
    Big big = [derived big];
    CHECK(big.a == 1 && big.c == 3 && [derived half] == 0.5f && [derived tenth] == 0.1L);
    Base *nothing = [derived self_or_nil:NO];
    big = [nothing big];
    CHECK(big.a == 0 && big.c == 0 && [nothing half] == 0 && [nothing tenth] == 0 && [nothing must:1] == 0);
    [derived release];
    CHECK(deallocs == 1);
}

static void literals_are_strings(void) {
    NSString *tiny = @"abc", *ascii = @"a constant of ASCII", *wide = @"größer als ein Byte", *empty = @"";
    CHECK([tiny length] == 3 && [tiny isEqualToString:[NSString stringWithUTF8String:"abc"]]);
    CHECK([[NSString stringWithUTF8String:"abc"] isEqualToString:tiny]);
    CHECK(strcmp([ascii UTF8String], "a constant of ASCII") == 0);
    CHECK(strcmp([wide UTF8String], "größer als ein Byte") == 0 && [wide length] == 19);
    CHECK([empty length] == 0 && [empty isKindOfClass:[NSString class]]);
    CHECK([[tiny twice] isEqual:@"abcabc"] && [[ascii twice] length] == 38);
    CHECK([tiny retain] == tiny && [tiny hash] == [[NSString stringWithUTF8String:"abc"] hash]);
    [tiny release];
    NSMutableDictionary *map = [NSMutableDictionary dictionary];
    [map setObject:ascii forKey:tiny];
    CHECK([map objectForKey:[NSString stringWithUTF8String:"abc"]] == ascii);
    CHECK([[NSString stringWithFormat:@"%@ %d %@", tiny, 4, ascii] isEqual:@"abc 4 a constant of ASCII"]);
    id array = [NSArray arrayWithObjects:tiny, ascii, wide, nil];
    int count = 0;
    for (NSString *text in array) {
        count += [text length] > 0;
    }
    CHECK(count == 3);
}

static int thrown_through(int depth, int *finallys) {
    @try {
        if (depth == 0) {
            @throw [NSException exceptionWithName:@"Test" reason:@"the reason" userInfo:nil];
        }
        return thrown_through(depth - 1, finallys);
    } @finally {
        ++*finallys;
    }
}

static void exceptions_are_caught_by_class(void) {
    int finallys = 0, caught = 0;
    @try {
        thrown_through(3, &finallys);
    } @catch (NSString *wrong) {
        CHECK(0);
    } @catch (NSException *right) {
        caught = [[right reason] isEqual:@"the reason"];
    }
    CHECK(caught == 1 && finallys == 4);
    @try {
        @try {
            @throw @"abc";
        } @catch (NSString *text) {
            @throw;
        }
    } @catch (id anything) {
        caught += [anything isEqual:@"abc"];
    }
    CHECK(caught == 2);
    NSString *object = [NSString stringWithUTF8String:"locked"];
    for (int round = 0; round < 2; round++) {
        @try {
            @synchronized(object) {
                [NSException raise:@"Test" format:@"round %d of %@", round, object];
            }
        } @catch (NSException *exception) {
            caught += [[exception reason] hasPrefix:@"round "];
        }
    }
    CHECK(caught == 4);
    @try {
        [object thisMethodIsNotThere];
    } @catch (NSException *exception) {
        caught += [[exception reason] containsString:@"thisMethodIsNotThere"];
    }
    CHECK(caught == 5);
}

static void blocks_hold_what_they_capture(void) {
    __block int count = 0;
    int deallocs_before = deallocs;
    @autoreleasepool {
        Base *held = [[Base alloc] init];
        int (^block)(int) = [[^(int more) {
          count += more;
          return (int)(held->large += more);
        } copy] autorelease];
        [held release];
        CHECK(deallocs == deallocs_before);
        CHECK(block(2) == 2 && block(3) == 5 && count == 5);
    }
    CHECK(deallocs == deallocs_before + 1);
}

int main(void) {
    @autoreleasepool {
        classes_have_methods_and_variables();
        literals_are_strings();
        exceptions_are_caught_by_class();
        blocks_hold_what_they_capture();
    }
    puts("language.m: all is so");
    return 0;
}
