// Calls kernels as a launch does: buffers in the order of their indices, then the position in the grid.
#include <stdio.h>

template <typename P> struct Argument {
    static P of(void** buffers, uint position) { return P(position); }
};
template <typename T> struct Argument<T*> {
    static T* of(void**& buffers, uint) { return static_cast<T*>(*buffers++); }
};
template <typename T> struct Argument<T&> {
    static T& of(void**& buffers, uint) { return *static_cast<T*>(*buffers++); }
};

template <typename... P> struct Call {
    Call(void (*entry)(P...), P... arguments) { entry(arguments...); }
};

template <typename... P> void launch(void (*entry)(P...), void** buffers, uint threads) {
    for (uint position = 0; position < threads; position++) {
        void** next = buffers;
        // The clauses of a list are evaluated in order.
        Call<P...>{entry, Argument<P>::of(next, position)...};
    }
}

template <uint N> void print(const unsigned char (&bytes)[N]) {
    for (uint n = 0; n < N; n++) printf("%02x", bytes[n]);
    printf("\n");
}
