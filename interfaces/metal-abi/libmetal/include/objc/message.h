// Sending messages by hand. Cast these to the method's own type before the call.
#ifndef ANYMETAL_OBJC_MESSAGE_H
#define ANYMETAL_OBJC_MESSAGE_H

#include <objc/objc.h>

struct objc_super {
    id receiver;
    Class super_class;
};

#ifdef __cplusplus
extern "C" {
#endif
// A message to nil gives zero: in the integer registers and in the first vector registers.
id objc_msgSend(id receiver, SEL selector, ...);
id objc_msgSendSuper(struct objc_super *receiver, SEL selector, ...);
#if defined(__x86_64__)
// For results in memory. A message to nil leaves that memory alone.
void objc_msgSend_stret(id receiver, SEL selector, ...);
void objc_msgSendSuper_stret(struct objc_super *receiver, SEL selector, ...);
// The same as objc_msgSend: floating-point results come in vector registers.
long double objc_msgSend_fpret(id receiver, SEL selector, ...);
#endif
IMP objc_msg_lookup(id receiver, SEL selector);
IMP objc_msg_lookup_super(struct objc_super *receiver, SEL selector);
#ifdef __cplusplus
}
#endif

#endif
