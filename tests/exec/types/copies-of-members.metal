// Implicit copies, moves and assignments of a class call the functions of its members and bases.
//! covers: C++ class.copy, C++ expr.prim.lambda
//! oracle: clang
//! kernel: copies
//! arg 0: i32 0*12
//! expect 0: i32 101 101 202 102 1101 103 201 301 101 111 2101 401
//! kernel: assignments
//! arg 0: i32 0*10
//! expect 0: i32 11 12 11 21 12 1 31 15 11 21
//! kernel: moves
//! arg 0: i32 0*6
//! expect 0: i32 1001 1001 101 1002 2002 1101

#include <metal_stdlib>
using namespace metal;

// A copy adds 100, a move 1000; copy assignment adds 10.
struct Counted {
    int n;
    Counted(int n) : n(n) {}
    Counted(const thread Counted& other) : n(other.n + 100) {}
    thread Counted& operator=(const thread Counted& other) { n = other.n + 10; return *this; }
};
struct Holder { Counted a; int plain; Counted b; };
struct Derived : Counted { int more; Derived(int n) : Counted(n), more(n) {} };
struct Table { Counted rows[2][2]; uint bits : 3; uint rest : 5; };
struct Defaulted {
    Counted inner;
    Defaulted(int n) : inner(n) {}
    Defaulted(const thread Defaulted&) = default;
    thread Defaulted& operator=(const thread Defaulted&) = default;
};
struct Owner { Holder held; };

static int by_value(Holder holder) { return holder.a.n; }
static Holder returned(Holder holder) { return holder; }
static Holder elided() { Holder made = {1, 2, 3}; return made; }

kernel void copies(device int* out) {
    Holder first = {1, 2, 102};
    Holder second = first;
    out[0] = second.a.n;
    out[1] = by_value(first);
    out[2] = second.b.n;
    Derived derived(2);
    Derived copy = derived;
    out[3] = copy.n;
    Table table = {{{1, 2}, {3, 4}}, 5, 6};
    Table other(table);
    out[4] = other.rows[0][0].n + 1000 * int(other.bits == 5 && other.rest == 6);
    out[5] = other.rows[1][0].n;
    out[6] = returned(first).a.n;
    Owner owner = {first};
    Owner nested{owner};
    out[7] = nested.held.a.n + 100;
    auto captured = [first]() { return first.a.n; };
    out[8] = captured();
    Counted array[2] = {10, 11};
    auto of_array = [array]() { return array[1].n; };
    out[9] = of_array();
    Defaulted d(1);
    Defaulted e = d;
    out[10] = e.inner.n + 1000 * int(elided().a.n == 1) + 1000;
    bool choice = out[0] > 0;
    Holder chosen = choice ? first : second;
    out[11] = chosen.a.n + 300;
}

struct Assigned {
    int n;
    thread Assigned& operator=(const thread Assigned& other) { n = other.n + 10; return *this; }
    thread Assigned& operator=(int value) { n = value; return *this; }
};
struct Pair { Assigned first; int middle; Assigned second; };
struct Grid { Assigned cells[3]; };
struct Extended : Assigned { int more; };
struct Reassigned : Assigned { using Assigned::operator=; };

kernel void assignments(device int* out) {
    Pair a = {{1}, 5, {2}}, b = {{0}, 0, {0}};
    b = a;
    out[0] = b.first.n;
    out[1] = b.second.n;
    Grid g = {{{1}, {2}, {3}}}, h;
    h = g;
    out[2] = h.cells[0].n;
    (h = g) = h;
    out[3] = h.cells[0].n;
    out[4] = g.cells[0].n + 11;
    Extended x, y;
    x.n = 1;
    x.more = 1;
    y = x;
    out[5] = y.more;
    out[6] = y.n + 20;
    Reassigned r, s;
    r = 5;
    s = r;
    out[7] = s.n;
    Pair c;
    c = {{1}, 5, {2}};
    out[8] = c.first.n;
    Pair d;
    d = c;
    out[9] = d.first.n;
}

struct Movable {
    int n;
    Movable(int n) : n(n) {}
    Movable(const thread Movable& other) : n(other.n + 100) {}
    Movable(thread Movable&& other) : n(other.n + 1000) {}
};
struct Moving { Movable a, b; };
static thread Moving&& moved(thread Moving& object) { return static_cast<thread Moving&&>(object); }
static Moving parameter(Moving object) { return object; }

kernel void moves(device int* out) {
    Moving first = {1, 2};
    Moving second = moved(first);
    out[0] = second.a.n;
    out[1] = parameter(Moving{1, 2}).a.n;
    const Moving fixed = {1, 2};
    Moving third = static_cast<const thread Moving&&>(fixed);
    out[2] = third.a.n;
    out[3] = second.b.n;
    Moving fourth = moved(second);
    out[4] = fourth.b.n;
    out[5] = parameter(first).a.n;
}
