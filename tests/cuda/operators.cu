//! arg x=iota:i32:8
//! arg r=zeros:i32:22
//! expect r: 1 1 4 0 8 -4 10 12 17 20 -99 9 9 10 7 39 12 3 6 2 2 7
// Operators of objects in device and shared memory, as methods and as functions, by reference and by value.
struct V {
    int a;
    int b;
    __device__ int& operator[](int i) { return i == 0 ? a : b; }
    __device__ const int& operator[](int i) const { return i == 0 ? a : b; }
    __device__ V operator+(const V& o) const { return {a + o.a, b + o.b}; }
    __device__ V& operator+=(const V& o) {
        a += o.a;
        b += o.b;
        return *this;
    }
    __device__ bool operator==(const V& o) const { return a == o.a && b == o.b; }
    __device__ int operator()(int k) const { return a * k; }
    __device__ V operator-() const { return {-a, -b}; }
    __device__ V& operator++() {
        a++;
        return *this;
    }
    __device__ operator int() const { return a + b; }
    __device__ int sum() const { return a + b; }
    __device__ V& operator|=(const V& o) { return *this = *this + o; }
    friend __device__ V operator-(const V& x, const V& y) { return {x.a - y.a, x.b - y.b}; }
};
__device__ V operator*(const V& x, const V& y) { return {x.a * y.a, x.b * y.b}; }
__device__ V& operator-=(V& x, int n) {
    x.a -= n;
    return x;
}
template <typename T, int N> struct Box {
    T held[N];
    __device__ T& operator[](int i) { return held[i]; }
    __device__ void fill(T x) {
        for (int i = 0; i < N; i++) (*this)[i] = x + i;
    }
};
__device__ int read(const int* p) { return *p; }
template <typename T> __device__ int total(Box<T, 3>& box) { return box[0] + box[1] + box[2]; }
__global__ void k(V* x, int* r) {
    __shared__ V s;
    __shared__ V t[2];
    __shared__ Box<int, 3> box;
    s[0] = 1;
    s[1] = 2;
    t[0].a = 3;
    t[0].b = 4;
    r[0] = s[0];
    r[1] = x[0][1];
    r[2] = (s + t[0]).a;
    r[3] = s == t[0];
    s += t[0];
    r[4] = s(2);
    r[5] = (-s).a;
    ++s;
    r[6] = (x[1] * s).a;
    x[1][0] = 5;
    r[7] = s.sum() + x[1].a - 4;
    s[1] += x[1][0];
    r[7] = int(s) - 4;
    V l = s;
    l += x[1];
    r[8] = l.a + 7;
    r[9] = (l * t[0]).a - 10;
    t[1] = -t[0];
    t[1][1] = -100;
    r[10] = read(&t[1][1]) + 1;
    x[0] += l;
    x[0] -= 1;
    r[11] = x[0].a;
    r[12] = 9;
    t[0] -= -7;
    r[13] = t[0].a;
    V* p = &t[0];
    p->a = 7;
    r[14] = (*p)[0];
    box.fill(12);
    r[15] = total(box);
    Box<int, 3> own;
    own.fill(3);
    r[16] = total(own);
    int* inner = &own[0];
    r[17] = *inner;
    int* shared = &box[0];
    *shared = 6;
    r[18] = box[0];
    r[19] = read(&box[0]) - 4;
    x[2].a = 1;
    x[2] |= x[2];
    r[20] = x[2].a;
    r[21] = (t[0] - x[2]).a + (x[2] - l).a + 10;
}
