//! arg r=zeros:i32:14
//! threadgroup-memory 0=256
//! expect r: 7 1065353216 5 6 12 1 2 40 9 1077936128 11 21 3 8
// Shared memory that is declared outside of functions, and dynamic memory under several names and types, which all
// refer to the same bytes.
extern __shared__ int words[];
extern __shared__ float floats[];
__shared__ int grid[2][3];
__shared__ int count;
#define WORD(i) words[i]
__device__ int* cell(int row) { return &grid[row][1]; }
__device__ void __add(int n) { count += n; }
__device__ int first() {
    __add(2);
    return WORD(0);
}
template <typename T> struct Memory {
    __device__ T* get() {
        extern __shared__ T any[];
        return any;
    }
};
template <> struct Memory<float> {
    __device__ float* get() {
        extern __shared__ float any_float[];
        return any_float;
    }
};
__device__ int as_int() {
    extern __shared__ int cells[];
    return cells[3];
}
__device__ void as_float(float x) {
    extern __shared__ __align__(16) float cells[];
    cells[3] = x;
}
__device__ int rows(int i) {
    extern __shared__ short pairs[][2];
    pairs[i][1] = 3;
    return pairs[i][1];
}
template <typename T> __device__ T scale(T x) {
    extern __shared__ T scaled[];
    scaled[5] = x * 2;
    return scaled[5];
}
extern "C" __global__ void k(int* r) {
    words[0] = 7;
    r[0] = first();
    floats[1] = 1.0f;
    r[1] = words[1];
    int* middle = cell(1);
    *middle = 5;
    grid[0][2] = 6;
    r[2] = grid[1][1];
    r[3] = grid[0][2];
    count = 10;
    __add(2);
    r[4] = count;
    Memory<int> ints;
    ints.get()[2] = 1;
    r[5] = words[2];
    Memory<float> numbers;
    numbers.get()[2] = 2.0f;
    r[6] = int(floats[2]);
    words[3] = 40;
    r[7] = as_int();
    WORD(4) = 9;
    r[8] = WORD(4);
    as_float(3.0f);
    r[9] = as_int();
    r[10] = words[0] + ints.get()[0] - 3;
    r[11] = scale(10) + int(scale(0.5f));
    r[12] = rows(20);
    int* p = words + 30;
    *p = 8;
    r[13] = words[30];
}
