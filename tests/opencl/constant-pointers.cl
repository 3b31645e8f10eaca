//! arg r=zeros:i32:20
//! expect r: 9 14 3 5 7 5 5 4 1 11 12 6 8 2 15 3 21 9 4 6
// Pointers that lose `const` without a cast, and pointers to enumerations, as C allows: in initialisers,
// assignments, arguments, results, choices, members, elements and addresses.
enum Kind { A, B = 5, C };
typedef enum { D, E = 7 } Other;
typedef const int fixed;
typedef struct {
    int n;
    int list[3];
    int* p;
} S;
static int take(enum Kind* kind) { return *kind; }
static int other(Other* kind) { return *kind; }
static int sum(int* p) { return p[0] + p[1]; }
static int sum_of_constant(const int* p) { return sum(p); }
static void put(uint* p, uint value) { p[0] = value; }
int* without(const int* p) { return p; }
static int of_member(const S* s) { return sum(s->list) + *without(&s->n); }
static void write(__global int* p, int value) { *p = value; }
__kernel void k(__global int* r) {
    int a[4] = {5, 2, 3, 4};
    const int* c = a;
    int const* d = a;
    int* m = c;
    m[1] = 9;
    r[0] = a[1];
    r[1] = sum_of_constant(a);
    r[2] = without(c)[2];
    r[3] = take(a);
    int seven = 7;
    r[4] = other(&seven);
    enum Kind kind = B;
    int* number = &kind;
    r[5] = *number;
    uint* bits = &kind;
    r[6] = *bits;
    const __global int* gc = r;
    __global int* g = gc;
    g[7] = 4;
    write(gc + 8, 1);
    put(c, 11);
    r[9] = a[0];
    void* any = d;
    ((int*)any)[0] = 12;
    r[10] = a[0];
    S s = {1, {2, 3, 4}, c};
    r[11] = of_member(&s);
    const S* cs = &s;
    int* inner = cs->list + 1;
    inner[0] = 8;
    r[12] = s.list[1];
    int* first = &cs->list[0];
    r[13] = *first;
    const int rows[2][2] = {{1, 2}, {7, 8}};
    r[14] = sum(rows[1]);
    const int three[1] = {3};
    int* one = three;
    r[15] = *one;
    int* chosen = r[0] ? c + 1 : &seven;
    r[16] = *chosen + s.p[0];
    s.p = d + 1;
    r[17] = s.p[0];
    fixed four = 4;
    fixed* pointer = &four;
    int* loose = pointer;
    r[18] = *loose;
    int* const same = a;
    r[19] = (same == c) + 2 * (c == m) + 3 * (same <= d);
}
