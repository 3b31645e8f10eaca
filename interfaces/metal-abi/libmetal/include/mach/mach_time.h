// Ticks of the clock.
#ifndef ANYMETAL_MACH_TIME_H
#define ANYMETAL_MACH_TIME_H

#include <mach/mach.h>

#endif
