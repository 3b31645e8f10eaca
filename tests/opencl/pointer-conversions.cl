//! arg r=zeros:i32:17
//! expect r: 1 7 3 2 4 5 3 10 3 5 6 2 2 7 5 12 1
// Pointers that become pointers to another type without a cast, as C allows: in initialisers, assignments,
// arguments, results, comparisons and choices, by sign, by type, and to and from `void*`.
typedef struct {
    __global volatile uint* g;
    int* p;
} Both;
typedef struct {
    int n;
    struct {
        uint* u;
    } inner;
    char* bytes[2];
} Nested;
uint* unsigned_of(int* p) { return p; }
int* result_of(void* p) { return p; }
static int sum(uint* p, int n) {
    int all = 0;
    for (int i = 0; i < n; i++) all += p[i];
    return all;
}
static int halves(short* p) { return p[0] + p[2]; }
static void store(__global uint* to, uint value) { *to = value; }
static int total(__local uint* p) { return p[0] + p[1]; }
__kernel void k(__global int* r) {
    __local int shared[2];
    int a[4] = {1, 2, 3, -1};
    uint* u = a;
    r[0] = u[3] == 0xffffffffu;
    Both b = {r, u};
    b.g[1] = 7;
    r[2] = b.p[2];
    Both named = {.g = r, .p = u};
    named.g[3] = named.p[1];
    uint* list[2][2] = {{a, u}, {a + 1, u + 1}};
    r[4] = *list[1][0] + *list[1][1];
    Nested nested = {1, {a + 2}, {a, a + 1}};
    r[5] = *nested.inner.u + nested.bytes[1][0];
    void* any = a;
    int* back = any;
    r[6] = back[2];
    r[7] = sum(a, 3) + result_of(u)[1] + *unsigned_of(a + 1);
    r[8] = halves(a);
    store(r + 9, 5);
    store(&r[10], 6);
    uint* later;
    later = &a[1];
    r[11] = *later;
    b.p = later;
    r[12] = *b.p;
    shared[0] = 3;
    shared[1] = 4;
    r[13] = total(shared);
    r[14] = (a + 1 == later) + 2 * (u != a) + 4 * (later > a) + 8 * (a >= later) + 16 * (&r[3] == b.g);
    int* second = r[0] ? a + 1 : u;
    uint* first = r[0] > 5 ? a + 1 : u;
    r[15] = *second + *first * 10;
    r[16] = (later = a) == u && any == u && later != (void*)0;
}
