// Includes itself without end.
#include "endless.metal" //~ include-limit
