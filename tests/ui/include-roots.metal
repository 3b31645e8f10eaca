// Files outside of the include folders are not read, and the answer does not depend on whether they exist.
#include "../../../Cargo.toml" //~ include-outside-roots
#include "../../../no-such-file" //~ include-outside-roots
#include </etc/passwd> //~ include-outside-roots
#include "/no/such/file" //~ include-outside-roots
#include_next "../preprocessor.metal" //~ include-outside-roots
#import "../preprocessor.metal" //~ include-outside-roots
#include <metal/../../../../Cargo.toml> //~ missing-include
#define COMPUTED "../../../Cargo.toml"
#include COMPUTED //~ include-outside-roots
#if __has_include("../../../Cargo.toml") || __has_include(</etc/passwd>) || __has_include_next("../preprocessor.metal")
#error the condition reveals files outside
#endif
#include "." //~ unreadable-include
#include "../include/.." //~ include-outside-roots
#include "no-such-folder/../../../../Cargo.toml" //~ missing-include
