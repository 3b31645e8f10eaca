// `__func__` is the name of the function around it, as an array of characters that is constant.
//! oracle: clang
//! kernel: names
//! arg 0: i32 0*4
//! expect 0: i32 110 104 6 6

static uint length(constant const char* text)
{
    uint count = 0;
    while (text[count] != 0) count++;
    return count;
}

template <typename T> static int helper(T value) { return __func__[0] + value; }

kernel void names(device int* out)
{
    out[0] = __func__[0];
    out[1] = helper(0);
    out[2] = length(__func__) + 1;
    out[3] = length(__FUNCTION__) + 1;
}
