// A name only: there are no surfaces here.
#ifndef ANYMETAL_IOSURFACEREF_H
#define ANYMETAL_IOSURFACEREF_H

typedef struct __IOSurface *IOSurfaceRef;

#endif
