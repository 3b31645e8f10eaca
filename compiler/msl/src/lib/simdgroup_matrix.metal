// <metal_simdgroup_matrix>. A lane holds two elements of one row: with q = lane / 4, those at row
// (q & 4) + (lane / 2) % 4 and from column (q & 2) * 2 + (lane % 2) * 2 on.

namespace metal {

template <typename T, int Cols, int Rows> struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "SIMD-group matrices have 8 columns and 8 rows");
  typedef vec<T, 2> storage_type;
  storage_type t;

  simdgroup_matrix() thread = default;
  // The diagonal matrix.
  explicit simdgroup_matrix(T value) thread {
    uint lane = __am_thread_index_in_simdgroup();
    uint row = (lane / 4 & 4) + lane / 2 % 4;
    uint column = (lane / 4 & 2) * 2 + lane % 2 * 2;
    t = storage_type(row == column ? value : T(0), row == column + 1 ? value : T(0));
  }
  thread storage_type& thread_elements() thread { return t; }
  const thread storage_type& thread_elements() const thread { return t; }
};
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;

template <typename T, int Cols, int Rows = Cols> simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Cols, Rows> m;
  m.t = vec<T, 2>(value);
  return m;
}
template <typename T, int Cols, int Rows = Cols> simdgroup_matrix<T, Cols, Rows> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, Cols, Rows>(value);
}

#define __AM_LOAD(SPACE) \
  template <typename T, int Cols, int Rows> \
  void simdgroup_load(thread simdgroup_matrix<T, Cols, Rows>& d, const SPACE T* src, ulong elements_per_row = Cols, \
                      ulong2 matrix_origin = ulong2(0), bool transpose_matrix = false) { \
    const SPACE T* corner = src + matrix_origin.y * elements_per_row + matrix_origin.x; \
    if (transpose_matrix) d.t = __am_matrix_load_transposed<vec<T, 2>>(corner, elements_per_row); \
    else d.t = __am_matrix_load<vec<T, 2>>(corner, elements_per_row); \
  }
#define __AM_STORE(SPACE) \
  template <typename T, int Cols, int Rows> \
  void simdgroup_store(simdgroup_matrix<T, Cols, Rows> a, SPACE T* dst, ulong elements_per_row = Cols, \
                       ulong2 matrix_origin = ulong2(0), bool transpose_matrix = false) { \
    SPACE T* corner = dst + matrix_origin.y * elements_per_row + matrix_origin.x; \
    if (transpose_matrix) __am_matrix_store_transposed(corner, elements_per_row, a.t); \
    else __am_matrix_store(corner, elements_per_row, a.t); \
  }
__AM_LOAD(device)
__AM_LOAD(constant)
__AM_LOAD(threadgroup)
__AM_STORE(device)
__AM_STORE(threadgroup)
#undef __AM_LOAD
#undef __AM_STORE

template <typename D, typename A, typename B, typename C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) {
  d.t = vec<D, 2>(__am_matrix_multiply_accumulate(a.t, b.t, c.t));
}
template <typename D, typename A, typename B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  d.t = __am_matrix_multiply_accumulate(a.t, b.t, vec<D, 2>(D(0)));
}
template <typename T> simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}

}

using metal::simdgroup_half8x8;
using metal::simdgroup_bfloat8x8;
using metal::simdgroup_float8x8;
