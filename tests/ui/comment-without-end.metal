// A comment that never ends.
kernel void k(device float* x [[buffer(0)]]) { x[0] = 1.0f; }
/* everything after this is gone //~ unterminated-comment
