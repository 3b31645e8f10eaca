// Members defined outside of their class: of the template, of a partial specialisation, and for some
// arguments alone, where the definition goes before the one in the class.
//! covers: C++ temp.class.spec
//! kernel: methods
//! arg 0: i32 0*8
//! expect 0: i32 4 100 55 56 1000 44 1 7
//! kernel: constants
//! arg 0: i32 0*5
//! expect 0: i32 5 1 4 77 4
//! kernel: defaults
//! arg 0: f32 0*3
//! expect 0: f32 7 3 1
//! kernel: spaces
//! arg 0: i32 0*2
//! expect 0: i32 1 2
#include <metal_stdlib>
using namespace metal;

template <typename T> struct S {
  static constant constexpr int x = 1;
  static constant const int y;
  int f() const;
  int g() const { return 1; }
};
template <> constant constexpr int S<float>::x = 5;
template <typename U> constant const int S<U>::y = sizeof(U);
template <> constant const int S<half>::y = 77;
template <typename U> int S<U>::f() const { return sizeof(U); }
template <typename T> struct S<T*> { int f() const; };
template <typename U> int S<U*>::f() const { return 100; }
template <> int S<short>::f() const { return 55; }
template <> int S<short>::g() const { return 56; }
template <> struct S<char> { int f() const; };
int S<char>::f() const { return 44; }
namespace other {
template <typename T> struct S { int f() const; };
template <typename T> int S<T>::f() const { return 1000; }
}
template <typename T> struct Caller { int f() const { return S<T>().g() + g(); } int g() const { return 1; } };
template <> int Caller<int>::g() const { return 6; }

kernel void methods(device int* out) {
  out[0] = S<int>().f();
  out[1] = S<int*>().f();
  out[2] = S<short>().f();
  out[3] = S<short>().g();
  out[4] = other::S<int>().f();
  out[5] = S<char>().f();
  out[6] = S<int>().g();
  out[7] = Caller<int>().f();
}

kernel void constants(device int* out) {
  out[0] = S<float>::x;
  out[1] = S<int>::x;
  out[2] = S<float>::y;
  out[3] = S<half>::y;
  out[4] = S<int>::y;
}

// Arguments left out in the specialisation are the defaults.
template <typename A, typename B, int STEP = 0, bool REAL = false>
struct Writer {
  device A* out;
  Writer(device A* to) : out(to) {}
  int load(int x) const { return x; }
  int load() const { return load(1); }
  void write() const { out[0] = 1; }
};
template <> int Writer<float, int>::load() const { return 7; }
template <> void Writer<float, int>::write() const { out[0] = load(); }
template <> void Writer<float, int, 1, true>::write() const { out[0] = 3; }

kernel void defaults(device float* out) {
  Writer<float, int>(out).write();
  Writer<float, int, 1, true>(out + 1).write();
  Writer<float, uint>(out + 2).write();
}

struct Place {
  int f() thread;
  int f() device;
};
int Place::f() thread { return 1; }
int Place::f() device { return 2; }

kernel void spaces(device int* out) {
  Place here;
  out[0] = here.f();
  out[1] = ((device Place*)out)->f();
}
