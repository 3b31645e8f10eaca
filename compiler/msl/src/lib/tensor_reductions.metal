// Reductions of <MetalPerformancePrimitives/MetalPerformancePrimitives.h> (section 7.2.1, table 7.7): the sum,
// maximum or minimum of each row or column of a matrix that one SIMD-group has.

namespace mpp {
namespace tensor_ops {

enum class reduction_operation { sum, max, min };

template <typename T> struct reduction_operation_identity {
  static constant constexpr T sum_identity = T(0);
  static constant constexpr T max_identity =
      metal::is_floating_point_v<T> ? T(-metal::numeric_limits<float>::infinity()) : metal::numeric_limits<T>::lowest();
  static constant constexpr T min_identity =
      metal::is_floating_point_v<T> ? T(metal::numeric_limits<float>::infinity()) : metal::numeric_limits<T>::max();
};

template <typename T> T __lib_reduced(reduction_operation op, T a, T b) {
  if (op == reduction_operation::sum) return a + b;
  return op == reduction_operation::max ? metal::max(a, b) : metal::min(a, b);
}
template <typename T> T __lib_reduction_start(reduction_operation op) {
  typedef reduction_operation_identity<T> Identity;
  if (op == reduction_operation::sum) return Identity::sum_identity;
  return op == reduction_operation::max ? Identity::max_identity : Identity::min_identity;
}

// The identity counts once for each row, as one more element of it.
template <typename T, typename E, typename F, int Columns, int Rows>
void reduce_rows(const thread metal::cooperative_tensor<T, E, metal::__lib_tiles<Columns, Rows, 1>>& source,
                 thread metal::cooperative_tensor<T, F, metal::__lib_row_results<Rows>>& destination,
                 reduction_operation op = reduction_operation::sum,
                 T identity = reduction_operation_identity<T>::sum_identity) {
  typedef metal::__lib_tiles<Columns, Rows, 1> Tiles;
  for (int row = 0; row < metal::__lib_row_results<Rows>::capacity; row++) {
    T result = __lib_reduction_start<T>(op);
    for (int n = 0; n < Tiles::across * 4; n++) {
      const int i = (row / 2 * Tiles::across + n / 4) * 8 + row % 2 * 4 + n % 4;
      if (Tiles::is_there(i)) result = __lib_reduced(op, result, source.__values[i]);
    }
    // The lanes with the other parts of the row.
    result = __lib_reduced(op, result, metal::simd_shuffle_xor(result, 1));
    result = __lib_reduced(op, result, metal::simd_shuffle_xor(result, 8));
    destination.__values[row] = __lib_reduced(op, identity, result);
  }
}

template <typename T, typename E, typename F, int Columns, int Rows>
void reduce_columns(const thread metal::cooperative_tensor<T, E, metal::__lib_tiles<Columns, Rows, 1>>& source,
                    thread metal::cooperative_tensor<T, F, metal::__lib_column_results<Columns>>& destination,
                    reduction_operation op = reduction_operation::sum,
                    T identity = reduction_operation_identity<T>::sum_identity) {
  typedef metal::__lib_tiles<Columns, Rows, 1> Tiles;
  for (int column = 0; column < metal::__lib_column_results<Columns>::capacity; column++) {
    T result = __lib_reduction_start<T>(op);
    for (int n = 0; n < (Rows + 15) / 16 * 2; n++) {
      const int i = (n / 2 * Tiles::across + column / 4) * 8 + n % 2 * 4 + column % 4;
      if (Tiles::is_there(i)) result = __lib_reduced(op, result, source.__values[i]);
    }
    // The lanes with the other rows of the tiles.
    result = __lib_reduced(op, result, metal::simd_shuffle_xor(result, 2));
    result = __lib_reduced(op, result, metal::simd_shuffle_xor(result, 4));
    result = __lib_reduced(op, result, metal::simd_shuffle_xor(result, 16));
    destination.__values[column] = __lib_reduced(op, identity, result);
  }
}

// Whether `destination.map_iterator` takes the iterators of `source`.
template <typename T, typename E, typename From, typename U, typename F, typename To>
bool is_iterator_compatible(const thread metal::cooperative_tensor<T, E, From>&, const thread metal::cooperative_tensor<U, F, To>&) {
  return metal::__lib_is_beside<To, From>::value;
}

}
}
