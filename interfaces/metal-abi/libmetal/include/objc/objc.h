// The basic types of Objective-C, as anymetal's runtime has them.
#ifndef ANYMETAL_OBJC_OBJC_H
#define ANYMETAL_OBJC_OBJC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OBJC_EXPORT extern "C"
#else
#define OBJC_EXPORT extern
#endif

#ifndef OBJC_BOOL_DEFINED
#define OBJC_BOOL_DEFINED
typedef unsigned char BOOL;
#endif
#define YES ((BOOL)1)
#define NO ((BOOL)0)

typedef struct objc_class *Class;
typedef struct objc_object {
    Class isa;
} *id;
typedef const struct objc_selector *SEL;
typedef void (*IMP)(void);

#ifndef nil
#define nil ((id)0)
#endif
#ifndef Nil
#define Nil ((Class)0)
#endif

#ifdef __OBJC__
@class Protocol;
#else
typedef struct objc_protocol Protocol;
#endif

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if !__has_feature(objc_arc)
#ifndef __strong
#define __strong
#endif
#ifndef __unsafe_unretained
#define __unsafe_unretained
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
SEL sel_registerName(const char *name);
SEL sel_getUid(const char *name);
const char *sel_getName(SEL selector);
BOOL sel_isEqual(SEL first, SEL second);
const char *object_getClassName(id object);
#ifdef __cplusplus
}
#endif

#endif
