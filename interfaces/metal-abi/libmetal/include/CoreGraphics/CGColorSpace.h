// A name only: there are no colour spaces here.
#ifndef ANYMETAL_CGCOLORSPACE_H
#define ANYMETAL_CGCOLORSPACE_H

typedef struct CGColorSpace *CGColorSpaceRef;

#endif
