// Names only: a colour space is the string with its name.
#ifndef ANYMETAL_CGCOLORSPACE_H
#define ANYMETAL_CGCOLORSPACE_H

typedef struct CGColorSpace *CGColorSpaceRef;

#endif
