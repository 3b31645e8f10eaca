// <MetalPerformancePrimitives/MetalPerformancePrimitives.h> (section 7.2.1): products of matrices over the
// tensors of <metal_tensor>. The first dimension of a tensor is the column.

namespace mpp {
namespace tensor_ops {

using metal::dynamic_length_v;

struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;

  // A product of m x k and k x n; without k it is as long as the left matrix.
  constexpr matmul2d_descriptor(int rows, int columns, int inner = -1, bool is_left_transposed = false,
                                bool is_right_transposed = false, bool is_relaxed = false,
                                mode matmul = mode::multiply)
      : m(rows), n(columns), k(inner), transpose_left(is_left_transposed), transpose_right(is_right_transposed),
        relaxed_precision(is_relaxed), matmul_mode(matmul) {}
};

template <typename Scope> struct __lib_simdgroups : metal::integral_constant<int, 0> {};
template <int N> struct __lib_simdgroups<metal::execution_simdgroups<N>> : metal::integral_constant<int, N> {};

// Operands that are no matrices of one floating type are multiplied as floats.
template <typename A, typename B> struct __lib_factor { typedef float type; };
template <> struct __lib_factor<half, half> { typedef half type; };
template <> struct __lib_factor<bfloat, bfloat> { typedef bfloat type; };

// An element of an operand; with Transposed the matrix is stored with its columns as rows.
template <bool Transposed, typename T, typename E, typename D, typename... Tags>
auto __lib_operand_element(const thread metal::tensor<T, E, D, Tags...>& matrix, int column, int row) {
  return Transposed ? matrix.load(row, column) : matrix.load(column, row);
}
// From the lane that has it. All threads of the SIMD-group get here.
template <bool Transposed, typename T, typename E, typename Layout>
T __lib_operand_element(const thread metal::cooperative_tensor<T, E, Layout>& matrix, int column, int row) {
  const int x = Transposed ? row : column, y = Transposed ? column : row;
  const ushort lane = metal::__lib_lane_of(y % 8, x % 16 / 4);
  const int element = (y / 16 * Layout::across + x / 16) * 8 + y % 16 / 8 * 4 + x % 4;
  T found = T(0);
  for (int i = 0; i < Layout::capacity; i++) {
    const T theirs = metal::simd_shuffle(matrix.__values[i], lane);
    if (i == element) found = theirs;
  }
  return found;
}

// The two elements of an 8x8 matrix of an operand that a lane has. Beyond a length of it are zeros.
template <bool Transposed, typename Factor, typename Operand>
metal::vec<Factor, 2> __lib_operand_elements(const thread Operand& operand, int column, int row, int columns, int rows) {
  const int y = metal::__lib_lane_row(), x = metal::__lib_lane_part() * 2;
  metal::vec<Factor, 2> elements;
  for (int i = 0; i < 2; i++) {
    const Factor value = Factor(__lib_operand_element<Transposed>(operand, column + x + i, row + y));
    elements[i] = x + i < columns && y < rows ? value : Factor(0);
  }
  return elements;
}
template <bool Transposed, typename Factor, typename T, typename E, typename Layout>
metal::vec<Factor, 2> __lib_operand_matrix(const thread metal::cooperative_tensor<T, E, Layout>& operand, int column, int row, int columns, int rows) {
  return __lib_operand_elements<Transposed, Factor>(operand, column, row, columns, rows);
}
// At once where all of it is within the tensor and its columns are neighbours.
template <bool Transposed, typename Factor, typename T, typename E, typename D, typename... Tags>
metal::vec<Factor, 2> __lib_operand_matrix(const thread metal::tensor<T, E, D, Tags...>& operand, int column, int row, int columns, int rows) {
  typedef typename metal::tensor<T, E, D, Tags...>::value_type Value;
  const int x = Transposed ? row : column, y = Transposed ? column : row;
  const bool is_whole = columns >= 8 && rows >= 8 && operand.get_stride(0) == 1 && x + 8 <= int(operand.get_extent(0)) &&
                        y + 8 <= int(operand.get_extent(1)) && int(operand.get_stride(1)) >= 0;
  if constexpr (metal::is_floating_point_v<Value>) {
    if (is_whole) {
      const ulong stride = operand.get_stride(1);
      T* corner = operand.__tensor + (long(y) * long(stride) + x);
      metal::vec<Value, 2> elements;
      if (Transposed) elements = __am_matrix_load_transposed<metal::vec<Value, 2>>(corner, stride);
      else elements = __am_matrix_load<metal::vec<Value, 2>>(corner, stride);
      return metal::vec<Factor, 2>(elements);
    }
  }
  return __lib_operand_elements<Transposed, Factor>(operand, column, row, columns, rows);
}

// A lane's elements of a tile as those of four SIMD-group matrices, and back. In a tile a lane has four
// neighbours, in a matrix two: the lane with the others is in the same row.
template <typename T> void __lib_from_tile(thread const T* values, thread float2 (&matrices)[2][2]) {
  const int row = metal::__lib_lane_row(), part = metal::__lib_lane_part();
  for (int i = 0; i < 8; i++) {
    const int down = i / 4, across = i / 2 % 2, n = i % 2;
    const ushort from = metal::__lib_lane_of(row, across * 2 + part / 2);
    const float even = metal::simd_shuffle(float(values[down * 4 + n]), from);
    const float odd = metal::simd_shuffle(float(values[down * 4 + 2 + n]), from);
    matrices[down][across][n] = part % 2 ? odd : even;
  }
}
template <typename T> void __lib_to_tile(thread const float2 (&matrices)[2][2], thread T* values) {
  const int row = metal::__lib_lane_row(), part = metal::__lib_lane_part();
  for (int i = 0; i < 8; i++) {
    const ushort from = metal::__lib_lane_of(row, part % 2 * 2 + i % 4 / 2);
    const float left = metal::simd_shuffle(matrices[i / 4][0][i % 2], from);
    const float right = metal::simd_shuffle(matrices[i / 4][1][i % 2], from);
    values[i] = T(part / 2 ? right : left);
  }
}

template <bool Transposed, typename T, typename E, typename D, typename... Tags>
int __lib_inner_length(const thread metal::tensor<T, E, D, Tags...>& left) {
  return left.get_extent(Transposed ? 1 : 0);
}
template <bool Transposed, typename T, typename E, typename Layout>
int __lib_inner_length(const thread metal::cooperative_tensor<T, E, Layout>&) {
  return E::static_extent(Transposed ? 1 : 0);
}

// Elements of one tensor in threads as those of another; of another layout they are zeros.
template <typename From, typename E, typename T, typename F, typename Layout>
void __lib_convert(const thread metal::cooperative_tensor<From, E, Layout>& from, thread metal::cooperative_tensor<T, F, Layout>& to) {
  for (int i = 0; i < Layout::capacity; i++) to.__values[i] = T(from.__values[i]);
}
template <typename From, typename E, typename FromLayout, typename T, typename F, typename Layout>
void __lib_convert(const thread metal::cooperative_tensor<From, E, FromLayout>&, thread metal::cooperative_tensor<T, F, Layout>& to) {
  for (int i = 0; i < Layout::capacity; i++) to.__values[i] = T(0);
}

// Sums of products into a tensor in threads, which has the sums so far.
template <bool LeftTransposed, bool RightTransposed> struct __lib_product {
  // One element after the other, in the destination's own type.
  template <typename Left, typename Right, typename T, typename E, typename Layout>
  static void of_elements(const thread Left& left, const thread Right& right, int length, thread metal::cooperative_tensor<T, E, Layout>& to) {
    for (int i = 0; i < Layout::capacity; i++) {
      const int2 place = Layout::place(i);
      T sum = to.__values[i];
      for (int k = 0; k < length; k++) {
        sum += T(__lib_operand_element<LeftTransposed>(left, k, place.y)) * T(__lib_operand_element<RightTransposed>(right, place.x, k));
      }
      to.__values[i] = sum;
    }
  }

  // Tiles of 16x16 as four products of SIMD-group matrices.
  template <typename Left, typename Right, typename T, typename E, typename Layout>
  static void of_tiles(const thread Left& left, const thread Right& right, int length, thread metal::cooperative_tensor<T, E, Layout>& to) {
    typedef typename __lib_factor<typename Left::value_type, typename Right::value_type>::type Factor;
    for (int tile = 0; tile < Layout::each; tile++) {
      if (Layout::first() + tile >= Layout::count) break;
      const int top = (Layout::first() + tile) / Layout::across * 16, edge = (Layout::first() + tile) % Layout::across * 16;
      thread T* values = to.__values + tile * 8;
      float2 sums[2][2];
      __lib_from_tile(values, sums);
      for (int k = 0; k < length; k += 8) {
        metal::vec<Factor, 2> rows[2], columns[2];
        for (int i = 0; i < 2; i++) {
          rows[i] = __lib_operand_matrix<LeftTransposed, Factor>(left, k, top + i * 8, length - k, 8);
          columns[i] = __lib_operand_matrix<RightTransposed, Factor>(right, edge + i * 8, k, 8, length - k);
        }
        for (int i = 0; i < 4; i++) sums[i / 2][i % 2] = __am_matrix_multiply_accumulate(rows[i / 2], columns[i % 2], sums[i / 2][i % 2]);
      }
      __lib_to_tile(sums, values);
    }
  }
};

template <matmul2d_descriptor Descriptor, typename Scope, typename... Args> class matmul2d {
  static constant constexpr int simdgroups = __lib_simdgroups<Scope>::value;
  static constant constexpr int left_columns = Descriptor.transpose_left ? Descriptor.m : Descriptor.k;
  static constant constexpr int left_rows = Descriptor.transpose_left ? Descriptor.k : Descriptor.m;
  static constant constexpr int right_columns = Descriptor.transpose_right ? Descriptor.k : Descriptor.n;
  static constant constexpr int right_rows = Descriptor.transpose_right ? Descriptor.n : Descriptor.k;
  template <typename T, int Columns, int Rows> using cooperative =
      metal::cooperative_tensor<T, metal::extents<int, Columns, Rows>, metal::__lib_tiles<Columns, Rows, simdgroups>>;
  typedef __lib_product<Descriptor.transpose_left, Descriptor.transpose_right> product;

  template <typename Left> static int inner_length(const thread Left& left) {
    return Descriptor.k > 0 ? Descriptor.k : __lib_inner_length<Descriptor.transpose_left>(left);
  }

public:
  template <typename Left, typename Right, typename T, typename... Rest> static auto get_destination_cooperative_tensor() {
    return cooperative<T, Descriptor.n, Descriptor.m>{};
  }
  template <typename Left, typename Right, typename T, typename... Rest> static auto get_row_reduction_destination_cooperative_tensor() {
    static_assert(simdgroups == 1, "rows are reduced in one SIMD-group");
    return metal::cooperative_tensor<T, metal::extents<int, Descriptor.m>, metal::__lib_row_results<Descriptor.m>>{};
  }
  template <typename Left, typename Right, typename T, typename... Rest> static auto get_column_reduction_destination_cooperative_tensor() {
    static_assert(simdgroups == 1, "columns are reduced in one SIMD-group");
    return metal::cooperative_tensor<T, metal::extents<int, Descriptor.n>, metal::__lib_column_results<Descriptor.n>>{};
  }
  template <typename T, typename Right, typename To, typename... Rest> static auto get_left_input_cooperative_tensor() {
    static_assert(Descriptor.k > 0, "an operand in threads has a length that the descriptor says");
    return cooperative<T, left_columns, left_rows>{};
  }
  template <typename Left, typename T, typename To, typename... Rest> static auto get_right_input_cooperative_tensor() {
    static_assert(Descriptor.k > 0, "an operand in threads has a length that the descriptor says");
    return cooperative<T, right_columns, right_rows>{};
  }

  // Whether the results of another operation lie in the threads as an operand of this one does.
  template <typename T, typename Right, typename To, typename From, typename E, typename Layout>
  static bool is_compatible_as_left_input(const thread metal::cooperative_tensor<From, E, Layout>&) {
    return metal::is_same_v<Layout, metal::__lib_tiles<left_columns, left_rows, simdgroups>>;
  }
  template <typename Left, typename T, typename To, typename From, typename E, typename Layout>
  static bool is_compatible_as_right_input(const thread metal::cooperative_tensor<From, E, Layout>&) {
    return metal::is_same_v<Layout, metal::__lib_tiles<right_columns, right_rows, simdgroups>>;
  }
  // Such results, converted to the operand's type.
  template <typename T, typename Right, typename To, typename From, typename E, typename Layout>
  static auto get_left_input_cooperative_tensor(const thread metal::cooperative_tensor<From, E, Layout>& from) {
    cooperative<T, left_columns, left_rows> operand;
    __lib_convert(from, operand);
    return operand;
  }
  template <typename Left, typename T, typename To, typename From, typename E, typename Layout>
  static auto get_right_input_cooperative_tensor(const thread metal::cooperative_tensor<From, E, Layout>& from) {
    cooperative<T, right_columns, right_rows> operand;
    __lib_convert(from, operand);
    return operand;
  }

  template <typename Left, typename Right, typename T, typename E, typename Layout>
  void run(const thread Left& left, const thread Right& right, thread metal::cooperative_tensor<T, E, Layout>& to) const {
    if (Descriptor.matmul_mode == matmul2d_descriptor::mode::multiply) {
      for (int i = 0; i < Layout::capacity; i++) to.__values[i] = T(0);
    }
    const int length = inner_length(left);
    if constexpr (simdgroups == 0 || metal::is_integral_v<T>) product::of_elements(left, right, length, to);
    else product::of_tiles(left, right, length, to);
  }
  template <typename Left, typename Right, typename T, typename E, typename D, typename... Tags>
  void run(const thread Left& left, const thread Right& right, const thread metal::tensor<T, E, D, Tags...>& to) const {
    typedef typename metal::tensor<T, E, D, Tags...>::value_type Value;
    cooperative<Value, Descriptor.n, Descriptor.m> held;
    if (Descriptor.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate) held.load(to);
    run(left, right, held);
    held.store(to);
  }
};

}
}
