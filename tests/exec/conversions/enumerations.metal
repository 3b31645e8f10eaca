// The types that enumerations have and are promoted to, and what arithmetic makes of them.
//! covers: C++ conv.prom, C++ dcl.enum, C++ expr.arith, C++ expr.cond, C++ over.ics.rank, C++ stmt.switch
//! oracle: clang
//! kernel: types
//! arg 0: i64 0*64
//! expect 0: i64 406 406 406 407 808 808 809 106 206 406 407 809 106 6 6 6 6 1 6 6 6 7 7 8 10 7 8 11 6 6 7 6 11 11 14 -5 -20 31 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: arithmetic
//! arg 0: i64 0*64
//! arg 1: i32 0
//! expect 0: i64 -20 1 -1 -20 -21 -256 -2 2147483648 -4294967296 1 0 1 0 0 1 1 -1 -1 -11 -10 -6 510 0 12884901888 2 80 -20 -20 1 1 -20 -1 -1 -10 -15 -60 -20 14 10 0 201 4294967295 255 2147483904 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: definitions
//! arg 0: i64 0*40
//! expect 0: i64 4 -5 -6 2147483648 2147483649 7 98 195 4294967294 4294967295 7 21 -1 4 -80 7 6 -3 -5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: overloads
//! arg 0: i64 0*40
//! expect 0: i64 1201 201 4304 6605 8807 1010 1112 1413 11 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: choices
//! arg 0: i64 0*40
//! arg 1: i32 0
//! expect 0: i64 2 3 6 7 9 11 14 16 -1 -1 4294967295 1 20 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

enum Empty {};
enum Small { ZERO = 0, TWENTY = 20 };
enum Signed { MINUS = -1, PLUS = 1 };
enum Large { LARGE = 0x80000000u };
enum Mixed { LOW = -1, HIGH = 0x80000000u };
enum Wide { WIDE = 0x100000000 };
enum Widest { WIDEST = 0xffffffffffffffff };
enum Byte : uchar { BYTE = 255 };
enum Short : short { SHORT = -2 };
enum Int : int { INT = 1 };
enum Uint : uint { UINT = 1 };
enum Ulong : ulong { ULONG = 1 };
enum Flag : bool { OFF, ON };
enum class Scoped { one = 1, minus = -1 };
enum class ScopedByte : uchar { one = 1, many = 200 };

static int kind(bool) { return 1; }
static int kind(char) { return 2; }
static int kind(uchar) { return 3; }
static int kind(short) { return 4; }
static int kind(ushort) { return 5; }
static int kind(int) { return 6; }
static int kind(uint) { return 7; }
static int kind(long) { return 8; }
static int kind(ulong) { return 9; }
static int kind(float) { return 10; }
template <typename T> static int kind(T) { return 11; }

kernel void types(device long* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = kind(+Empty()) + 100 * sizeof(Empty);
    out[n++] = kind(+ZERO) + 100 * sizeof(Small);
    out[n++] = kind(+MINUS) + 100 * sizeof(Signed);
    out[n++] = kind(+LARGE) + 100 * sizeof(Large);
    out[n++] = kind(+LOW) + 100 * sizeof(Mixed);
    out[n++] = kind(+WIDE) + 100 * sizeof(Wide);
    out[n++] = kind(+WIDEST) + 100 * sizeof(Widest);
    out[n++] = kind(+BYTE) + 100 * sizeof(Byte);
    out[n++] = kind(+SHORT) + 100 * sizeof(Short);
    out[n++] = kind(+INT) + 100 * sizeof(Int);
    out[n++] = kind(+UINT) + 100 * sizeof(Uint);
    out[n++] = kind(+ULONG) + 100 * sizeof(Ulong);
    out[n++] = kind(+ON) + 100 * sizeof(Flag);
    out[n++] = kind(ZERO + ZERO);
    out[n++] = kind(ZERO | TWENTY);
    out[n++] = kind(~TWENTY);
    out[n++] = kind(-TWENTY);
    out[n++] = kind(!TWENTY);
    out[n++] = kind(TWENTY << 1);
    out[n++] = kind(BYTE << UINT);
    out[n++] = kind(1 << ULONG);
    out[n++] = kind(TWENTY + UINT);
    out[n++] = kind(TWENTY + 1u);
    out[n++] = kind(TWENTY + 1l);
    out[n++] = kind(TWENTY * 1.5f);
    out[n++] = kind(LARGE - 1);
    out[n++] = kind(WIDE - 1);
    out[n++] = kind(true ? ZERO : TWENTY);
    out[n++] = kind(true ? ZERO : 1);
    out[n++] = kind(true ? ZERO : MINUS);
    out[n++] = kind(true ? BYTE : LARGE);
    out[n++] = kind(true ? 'a' : BYTE);
    out[n++] = kind((ZERO, TWENTY));
    out[n++] = kind(Scoped::one);
    out[n++] = sizeof(Scoped) + 10 * sizeof(ScopedByte);
    decltype(ZERO + TWENTY) sum = -5;
    out[n++] = sum;
    auto difference = ZERO - TWENTY;
    out[n++] = difference;
    auto same = TWENTY;
    out[n++] = kind(same) + same;
}

kernel void arithmetic(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    int n = 0;
    out[n++] = TWENTY * (x - 1);
    out[n++] = (TWENTY * (x - 1)) < 0;
    out[n++] = ZERO + (x - 1);
    out[n++] = ZERO - TWENTY;
    out[n++] = ~TWENTY;
    out[n++] = ~BYTE;
    out[n++] = ~ON;
    out[n++] = -LARGE;
    out[n++] = -WIDE;
    out[n++] = x - 1 < ZERO;
    out[n++] = x - 1 < LARGE;
    out[n++] = x - 1 < WIDE;
    out[n++] = x - 1 < WIDEST;
    out[n++] = MINUS < UINT;
    out[n++] = MINUS < BYTE;
    out[n++] = SHORT < ZERO;
    out[n++] = (x - 21) / TWENTY;
    out[n++] = (x - 21) % TWENTY;
    out[n++] = (x - 21) >> INT;
    out[n++] = ZERO - TWENTY >> 1;
    out[n++] = (ZERO - TWENTY) / 3;
    out[n++] = BYTE + BYTE;
    out[n++] = LARGE + LARGE;
    out[n++] = WIDE * 3;
    out[n++] = ON + ON;
    out[n++] = TWENTY * 0.5f * 8;
    out[n++] = Small(x + 20) - 40;
    Small small = Small(x + 20);
    out[n++] = small * (x - 1);
    out[n++] = small == TWENTY;
    out[n++] = small - 21 < 0;
    int i = x - 40;
    i += TWENTY;
    out[n++] = i;
    i /= TWENTY;
    out[n++] = i;
    i = -30;
    i /= small;
    out[n++] = i;
    i = -30;
    i %= small;
    out[n++] = i;
    i = -30;
    i >>= INT;
    out[n++] = i;
    float f = -3;
    f *= small;
    out[n++] = f;
    long l = x - 1;
    l *= small;
    out[n++] = l;
    uchar c = 250;
    c += TWENTY;
    out[n++] = c;
    int array[4] = {1, 2, 3, 4};
    thread int* p = array + 2;
    out[n++] = p[MINUS] + p[INT] + *(p - UINT) + *(p + MINUS);
    out[n++] = int(Scoped::minus) + (Scoped::minus < Scoped::one);
    out[n++] = (ScopedByte::many > ScopedByte::one) + long(ScopedByte::many);
    out[n++] = uint(Scoped::minus);
    out[n++] = static_cast<uchar>(Scoped::minus);
    out[n++] = float(MINUS) + float(LARGE) + float(BYTE);
    out[n++] = bool(TWENTY) + bool(ZERO) + bool(Scoped::minus) + (TWENTY && ON) + (ZERO || OFF) + !ZERO;
}

constant constexpr int base = 10;

enum Sums { S0 = 1 << 2, S1 = ~S0, S2 = S1 - 1 };
enum Next { N0 = 0x7fffffff, N1, N2 };
enum Chars { C0 = 'a', C1, C2 = C0 + C1 };
enum Unsigned { U0 = 1u, U1 = ~U0, U2 = U0 - 2 };
enum Others { O0 = TWENTY, O1, O2 = MINUS };
enum Based { B0 = base, B1 = sizeof(int), B2 = B0 * 2 - 100 };
enum Fixed : ushort { F0 = 65535, F1 = 1, F2 = F0 + 2 - 65530 };
enum Logic { T0 = 3 > 2, T1 = T0 ? 5 : -5, T2 = !T0 };
enum class ScopedSum : int { a = 1, b = a + 2, c = -b };

kernel void definitions(device long* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = S0;
    out[n++] = S1;
    out[n++] = S2;
    out[n++] = N1;
    out[n++] = N2 + kind(+N0) * 0;
    out[n++] = kind(+N0);
    out[n++] = C1;
    out[n++] = C2;
    out[n++] = U1;
    out[n++] = U2;
    out[n++] = kind(+U1);
    out[n++] = O1;
    out[n++] = O2;
    out[n++] = B1;
    out[n++] = B2;
    out[n++] = F2;
    out[n++] = T0 + T1 + T2;
    out[n++] = int(ScopedSum::c);
    enum Local { here = -3, there };
    out[n++] = here + there;
}

static int of_int(int) { return 1; }
static int of_int(uint) { return 2; }
static int of_long(long) { return 3; }
static int of_long(int) { return 4; }
static int of_byte(uchar) { return 5; }
static int of_byte(int) { return 6; }
static int of_enum(Small) { return 7; }
static int of_enum(int) { return 8; }
static int of_float(float) { return 9; }
static int of_float(int) { return 10; }
static int of_bool(bool) { return 11; }
static int of_bool(int) { return 12; }
template <typename T> static int generic(T) { return 13; }
static int generic(int) { return 14; }
static int only_long(long value) { return value < 0; }

kernel void overloads(device long* out [[buffer(0)]]) {
    int n = 0;
    out[n++] = of_int(TWENTY) + 100 * of_int(LARGE) + 1000 * of_int(BYTE);
    out[n++] = of_int(MINUS) + 100 * of_int(UINT);
    out[n++] = of_long(TWENTY) + 100 * of_long(WIDE) + 1000 * of_long(MINUS);
    out[n++] = of_byte(BYTE) + 100 * of_byte(TWENTY) + 1000 * of_byte(SHORT);
    out[n++] = of_enum(TWENTY) + 100 * of_enum(MINUS) + 1000 * of_enum(ZERO + 1);
    out[n++] = of_float(TWENTY) + 100 * of_float(SHORT);
    out[n++] = of_bool(TWENTY) + 100 * of_bool(ON);
    out[n++] = generic(TWENTY) + 100 * generic(+TWENTY);
    out[n++] = only_long(ZERO - TWENTY) + 10 * only_long(MINUS) + 100 * only_long(TWENTY);
}

kernel void choices(device long* out [[buffer(0)]], constant int& x [[buffer(1)]]) {
    int n = 0;
    Small small = Small(x + 20);
    switch (small) {
    case ZERO: out[n++] = 1; break;
    case TWENTY: out[n++] = 2; break;
    }
    switch (x - 1) {
    case MINUS: out[n++] = 3; break;
    default: out[n++] = 4;
    }
    switch (Scoped(x - 1)) {
    case Scoped::one: out[n++] = 5; break;
    case Scoped::minus: out[n++] = 6; break;
    }
    Byte byte = Byte(x + 255);
    switch (byte) {
    case 255: out[n++] = 7; break;
    default: out[n++] = 8;
    }
    switch (Large(x + 0x80000000u)) {
    case LARGE: out[n++] = 9; break;
    default: out[n++] = 10;
    }
    switch (Wide(x + 0x100000000)) {
    case WIDE: out[n++] = 11; break;
    case Wide(1): out[n++] = 12; break;
    }
    switch (Flag(x != 0)) {
    case ON: out[n++] = 13; break;
    case OFF: out[n++] = 14; break;
    }
    switch (Signed(x + 1)) {
    case -1: out[n++] = 15; break;
    case PLUS: out[n++] = 16; break;
    }
    out[n++] = x ? TWENTY : ZERO - 1;
    out[n++] = x ? TWENTY : MINUS;
    out[n++] = x ? UINT : -1;
    out[n++] = (x ? UINT : SHORT) == 0xfffffffe;
    out[n++] = x == 0 ? small : TWENTY;
}
