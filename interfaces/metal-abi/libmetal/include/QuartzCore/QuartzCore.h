// There are no layers here: the header is for programs that include it beside Metal's.
#ifndef ANYMETAL_QUARTZCORE_H
#define ANYMETAL_QUARTZCORE_H

#import <CoreGraphics/CGGeometry.h>
#import <Foundation/Foundation.h>

#endif
