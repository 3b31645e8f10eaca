// The types of Mach that Metal's declarations name.
#ifndef ANYMETAL_MACH_H
#define ANYMETAL_MACH_H

#include <stdint.h>

typedef int kern_return_t;
typedef unsigned int mach_port_t;
typedef mach_port_t task_id_token_t;
typedef uintptr_t vm_size_t;
typedef uintptr_t vm_address_t;

#endif
