//! arg r=zeros:i64:14
//! arg n=u32:7
//! expect r: 3 2 255 7 4294967295 0 9 250 1 1 4294967290 3 2 306
// Functions of arguments of one type take integers of several, by the usual arithmetic conversions: positions
// are `size_t`, and literals have the types of their suffixes.
#define LEAST(a, b) min(a, b)
static int min_of(int a, int b) { return min(a, b); }
__kernel void k(__global long* r, uint n) {
    r[0] = min((ulong)3, 4u);
    r[1] = max(get_global_id(0), 2);
    uint many = 300;
    r[2] = min(many, 255);
    r[3] = clamp(9, 0, n);
    r[4] = max(-1, 5u);
    r[5] = min(0x10UL, 0);
    short s = 9;
    r[6] = max(s, 3);
    uchar b = 250;
    r[7] = min(b, (short)300);
    r[8] = min(get_local_size(0), 5u);
    r[9] = LEAST(1u, n) + LEAST(0, 2);
    int least = -6;
    r[10] = max(least, 2u);
    r[11] = mul24(3, 1) * min_of(1, 2);
    r[12] = abs_diff(5, 3);
    r[13] = add_sat(many, 6);
}
