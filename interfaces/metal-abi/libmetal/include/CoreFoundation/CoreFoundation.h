// The types of Core Foundation that Metal's declarations name.
#ifndef ANYMETAL_COREFOUNDATION_H
#define ANYMETAL_COREFOUNDATION_H

// Programs have these of Apple's header, and rely on them.
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double CFTimeInterval;
typedef signed long CFIndex;
typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;

#ifdef __cplusplus
extern "C" {
#endif

CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);

#ifdef __cplusplus
}
#endif

#endif
