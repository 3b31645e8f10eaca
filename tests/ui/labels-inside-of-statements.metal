// Labels inside of statements that a switch cannot enter.
#include <metal_stdlib>
using namespace metal;

kernel void enter(device int* out, uint id [[thread_position_in_grid]]) {
    switch (id) {
        int before = 1; //~ jump-past-initialiser
        {
            int past = 2; //~ jump-past-initialiser
            case 1: out[0] = past + before;
        }
        for (int n = 0; n < 3; ++n) { //~ jump-past-initialiser
            case 2: out[n] = n;
        }
        for (int value : {1, 2}) { //~ stray-label
            case 3: out[0] = value;
        }
        if (int declared = id) { //~ stray-label
            case 4: out[0] = declared;
        }
    }
    case 5: out[1] = 0; //~ stray-label
}
