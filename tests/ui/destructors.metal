// Destructors are not run: one with statements is refused.
struct counted {
    device int* count;
    ~counted() { *count += 1; } //~ unsupported-feature
};
struct plain {
    int value;
    ~plain() {}
};
struct implied {
    int value;
    ~implied() = default;
};
template <typename T> struct guarded {
    thread T& value;
    ~guarded() { value = T(); } //~ unsupported-feature
};
kernel void f(device int* out [[buffer(0)]]) {
    plain one{1};
    implied two{2};
    out[0] = one.value + two.value;
}
