//! arg r=zeros:i32:12
//! expect r: 41 75 731 5 12 1 21 8 -1 3 31 1
// Names that macros paste: of kernels, functions, types and components. Arguments are expanded first, except
// operands of `##`.
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define VECTOR(t, n) CAT(t, n)
#define REAL float
#define WIDTH 4
#define EMPTY
#define KERNEL(name) __kernel void name
#define CONVERT(t, n, x) CAT(convert_, VECTOR(t, n))(x)
#define DEFINE(op, symbol) \
    int CAT(apply_, op)(int a, int b) { \
        return a symbol b; \
    }
#define ID(which) get_##which##_id(0)
#define NEGATE(x) CAT(, -x)
#define FIVE 5
#define RAW(a) a##FIVE
#define COUNT(first, ...) count(first, ## __VA_ARGS__)
DEFINE(add, +)
DEFINE(sub, -)
typedef VECTOR(int, 16) I16;
int count(int first) { return first; }
KERNEL(k)(__global int* r) {
    int xFIVE = 6;
    VECTOR(REAL, WIDTH) f = (VECTOR(REAL, WIDTH))(1.5f, 2.5f, 3.5f, 4.5f);
    VECTOR(int, 4) i = CONVERT(int, WIDTH, f);
    r[0] = i.s0 + 10 * i.s3;
    r[1] = CAT(apply_, add)(3, 4) * 10 + apply_sub(9,
                                                   4);
    I16 w = (VECTOR(int, 16))(i, i + 1, (VECTOR(int, 8))(7));
    r[2] = w.s0 + 10 * w.s5 + 100 * w.sf;
    r[3] = CAT(w.s, 7);
    r[4] = CAT(EMPTY, xFIVE) + CAT(xFIVE, EMPTY);
    r[5] = ID(global) + ID(local) + 1;
    r[6] = RAW(x) + CAT(1, FIVE);
    r[7] = COUNT(8);
    VECTOR(int, 4) less = f < (VECTOR(float, 4))(3);
    r[8] = less.x + 2 * less.w;
    r[9] = -NEGATE(3);
    r[10] = CAT(0x, 1e)+1;
    r[11] = any(i == (VECTOR(int, WIDTH))(3));
}
