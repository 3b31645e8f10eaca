//! arg r=zeros:i32:6
//! expect r: 7 12 3 9 4 5
// Shared variables in methods whose types depend on the class: on parameters of its template, on types that it
// declares, and on those of a class around it.
template <int W> struct Buffer {
    int v[W];
};
template <int W, typename T> struct Transform {
    typedef Buffer<W * 2> Twice;
    struct Cell {
        T value;
    };
    Buffer<W> own;
    __device__ void put(int i, T value) { own.v[i] = value; }
    __device__ static int run(int i) {
        __shared__ Transform<W, T> transform;
        __shared__ Twice twice;
        __shared__ Cell cell;
        __shared__ T numbers[W];
        transform.put(i, 7);
        twice.v[2 * W - 1] = 5;
        cell.value = 0;
        numbers[W - 1] = 0;
        __syncthreads();
        return transform.own.v[i] + cell.value + numbers[W - 1] + (W == 4 ? 0 : twice.v[2 * W - 1]);
    }
    template <typename U> struct Inner {
        __device__ static U pick(U x) {
            __shared__ U kept[W];
            kept[0] = x;
            __syncthreads();
            return kept[0];
        }
    };
    __device__ int plain(int x) {
        __shared__ int number;
        number = x;
        __syncthreads();
        return number;
    }
};
__global__ void k(int* r) {
    r[0] = Transform<4, int>::run(1);
    r[1] = Transform<8, int>::run(0);
    r[2] = Transform<4, int>::Inner<int>::pick(3);
    Transform<2, float> small;
    r[3] = small.plain(9);
    r[4] = 4;
    r[5] = 5;
}
