// The functions of the Objective-C runtime.
#ifndef ANYMETAL_OBJC_RUNTIME_H
#define ANYMETAL_OBJC_RUNTIME_H

#include <objc/objc.h>

typedef struct objc_method *Method;
typedef struct objc_ivar *Ivar;
typedef struct objc_property *objc_property_t;
struct objc_method_description {
    SEL name;
    const char *types;
};
typedef struct {
    const char *name;
    const char *value;
} objc_property_attribute_t;

enum {
    OBJC_ASSOCIATION_ASSIGN = 0,
    OBJC_ASSOCIATION_RETAIN_NONATOMIC = 1,
    OBJC_ASSOCIATION_COPY_NONATOMIC = 3,
    OBJC_ASSOCIATION_RETAIN = 0x301,
    OBJC_ASSOCIATION_COPY = 0x303
};
typedef uintptr_t objc_AssociationPolicy;

#ifdef __cplusplus
extern "C" {
#endif

Class objc_getClass(const char *name);
Class objc_lookUpClass(const char *name);
Class objc_getMetaClass(const char *name);
Class objc_getRequiredClass(const char *name);
Class *objc_copyClassList(unsigned *count);
int objc_getClassList(Class *buffer, int count);
Protocol *objc_getProtocol(const char *name);
Protocol **objc_copyProtocolList(unsigned *count);

Class objc_allocateClassPair(Class superclass, const char *name, size_t extra_bytes);
void objc_registerClassPair(Class cls);
void objc_disposeClassPair(Class cls);

const char *class_getName(Class cls);
Class class_getSuperclass(Class cls);
BOOL class_isMetaClass(Class cls);
size_t class_getInstanceSize(Class cls);
int class_getVersion(Class cls);
void class_setVersion(Class cls, int version);
Method class_getInstanceMethod(Class cls, SEL selector);
Method class_getClassMethod(Class cls, SEL selector);
IMP class_getMethodImplementation(Class cls, SEL selector);
BOOL class_respondsToSelector(Class cls, SEL selector);
BOOL class_conformsToProtocol(Class cls, Protocol *protocol);
BOOL class_addMethod(Class cls, SEL selector, IMP code, const char *types);
IMP class_replaceMethod(Class cls, SEL selector, IMP code, const char *types);
BOOL class_addIvar(Class cls, const char *name, size_t size, uint8_t alignment_log2, const char *types);
BOOL class_addProtocol(Class cls, Protocol *protocol);
BOOL class_addProperty(Class cls, const char *name, const objc_property_attribute_t *attributes, unsigned count);
Ivar class_getInstanceVariable(Class cls, const char *name);
objc_property_t class_getProperty(Class cls, const char *name);
Method *class_copyMethodList(Class cls, unsigned *count);
Ivar *class_copyIvarList(Class cls, unsigned *count);
Protocol **class_copyProtocolList(Class cls, unsigned *count);
objc_property_t *class_copyPropertyList(Class cls, unsigned *count);
id class_createInstance(Class cls, size_t extra_bytes);

Class object_getClass(id object);
Class object_setClass(id object, Class cls);
id object_getIvar(id object, Ivar ivar);
void object_setIvar(id object, Ivar ivar, id value);
id object_dispose(id object);

SEL method_getName(Method method);
IMP method_getImplementation(Method method);
IMP method_setImplementation(Method method, IMP code);
void method_exchangeImplementations(Method first, Method second);
const char *method_getTypeEncoding(Method method);
unsigned method_getNumberOfArguments(Method method);

const char *ivar_getName(Ivar ivar);
const char *ivar_getTypeEncoding(Ivar ivar);
ptrdiff_t ivar_getOffset(Ivar ivar);
const char *property_getName(objc_property_t property);
const char *property_getAttributes(objc_property_t property);
const char *protocol_getName(Protocol *protocol);
BOOL protocol_conformsToProtocol(Protocol *protocol, Protocol *other);
BOOL protocol_isEqual(Protocol *first, Protocol *second);

id objc_getAssociatedObject(id object, const void *key);
void objc_setAssociatedObject(id object, const void *key, id value, objc_AssociationPolicy policy);
void objc_removeAssociatedObjects(id object);

id objc_retain(id object);
void objc_release(id object);
id objc_autorelease(id object);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
int objc_sync_enter(id object);
int objc_sync_exit(id object);

#ifdef __cplusplus
}
#endif

#endif
