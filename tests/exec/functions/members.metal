// Constructors, member functions on their own address space, operators, this.
//! covers: C++ class.mfct, C++ class.init, C++ over.oper
//! oracle: clang
//! kernel: use
//! arg 0: f32 0*4
//! expect 0: f32 4 6 3 25

#include <metal_stdlib>
using namespace metal;

struct Complex {
    float re, im;
    Complex(float r, float i = 0) thread : re(r), im(i) {}
    Complex operator+(Complex other) const thread { return Complex(re + other.re, im + other.im); }
    thread Complex& operator+=(float x) thread { this->re += x; return *this; }
    float norm() const thread { return re * re + im * im; }
};
kernel void use(device float* out) {
    Complex a(1, 2), b = Complex(3, 4);
    Complex c = a + b;
    out[0] = c.re;
    out[1] = c.im;
    a += 2;
    out[2] = a.re;
    out[3] = b.norm();
}
