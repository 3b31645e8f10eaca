// The types of Core Foundation that Metal's declarations name.
#ifndef ANYMETAL_COREFOUNDATION_H
#define ANYMETAL_COREFOUNDATION_H

#include <stdint.h>

typedef double CFTimeInterval;
typedef signed long CFIndex;
typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;

#endif
