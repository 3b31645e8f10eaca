// The bytes of a page of memory.
#ifndef ANYMETAL_VM_PAGE_SIZE_H
#define ANYMETAL_VM_PAGE_SIZE_H

#include <mach/mach.h>
#include <unistd.h>

#define vm_page_size ((vm_size_t)sysconf(_SC_PAGESIZE))

#endif
