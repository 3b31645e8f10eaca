// <metal_cooperative_tensor> (section 2.20.3): tensors whose elements lie in the threads of SIMD-groups.

namespace metal {

// The threads that take part in an operation.
template <int N> struct execution_simdgroups {};
template <int N> struct execution_threads {};
typedef execution_simdgroups<1> execution_simdgroup;
typedef execution_threads<1> execution_thread;

// A lane of a SIMD-group is one of four parts of a row; the rows are those of `simdgroup_matrix`.
inline int __lib_lane_row() {
  const int lane = __am_thread_index_in_simdgroup();
  return (lane / 4 & 4) + lane / 2 % 4;
}
inline int __lib_lane_part() {
  const int lane = __am_thread_index_in_simdgroup();
  return (lane / 4 & 2) + lane % 2;
}
// The lane with that row and part.
inline ushort __lib_lane_of(int row, int part) { return ushort((row & 4) << 2 | (part & 2) << 2 | (row & 3) << 1 | (part & 1)); }

// Where the elements of a matrix lie that SIMD-groups hold together: in tiles of 16x16, which follow one
// another in rows, as many for each SIMD-group. With q = lane / 4 a lane has eight elements of a tile: four
// neighbours from column ((q & 2) + lane % 2) * 4 on, in row (q & 4) + lane / 2 % 4 and in the eighth row
// after it.
template <int Columns, int Rows, int Simdgroups> struct __lib_tiles {
  static constant constexpr int across = (Columns + 15) / 16;
  static constant constexpr int count = across * ((Rows + 15) / 16);
  static constant constexpr int each = (count + Simdgroups - 1) / Simdgroups;
  static constant constexpr int capacity = each * 8;

  static int first() { return int(__am_simdgroup_index_in_threadgroup()) % Simdgroups * each; }
  static int2 place(int i) {
    const int tile = first() + i / 8;
    return int2(tile % across * 16 + __lib_lane_part() * 4 + i % 4, tile / across * 16 + __lib_lane_row() + i % 8 / 4 * 8);
  }
  static bool is_there(int i) { return first() + i / 8 < count && all(place(i) < int2(Columns, Rows)); }
  // Of lanes that have the same element one stores it; here no two do.
  static bool is_stored(int i) { return is_there(i); }
  template <typename Source> static int beside(int i) { return i; }
};

// The same for a thread that has all of a matrix.
template <int Columns, int Rows> struct __lib_tiles<Columns, Rows, 0> {
  static constant constexpr int capacity = Columns * Rows;
  static int2 place(int i) { return int2(i % Columns, i / Columns); }
  static bool is_there(int) { return true; }
  static bool is_stored(int) { return true; }
  template <typename Source> static int beside(int i) { return i; }
};

// An element for each row of a matrix that one SIMD-group has: each lane has those of its rows, so that four
// lanes have the same one. `beside` is which of them stands for an element of a matrix.
template <int Rows> struct __lib_row_results {
  static constant constexpr int capacity = (Rows + 15) / 16 * 2;
  static int2 place(int i) { return int2(i / 2 * 16 + __lib_lane_row() + i % 2 * 8, 0); }
  static bool is_there(int i) { return place(i).x < Rows; }
  static bool is_stored(int i) { return is_there(i) && __lib_lane_part() == 0; }
  template <typename Source> static int beside(int i) { return i / 8 / Source::across * 2 + i % 8 / 4; }
};
// The same for columns, of each of which eight lanes have the same element.
template <int Columns> struct __lib_column_results {
  static constant constexpr int capacity = (Columns + 15) / 16 * 4;
  static int2 place(int i) { return int2(i / 4 * 16 + __lib_lane_part() * 4 + i % 4, 0); }
  static bool is_there(int i) { return place(i).x < Columns; }
  static bool is_stored(int i) { return is_there(i) && __lib_lane_row() == 0; }
  template <typename Source> static int beside(int i) { return i / 8 % Source::across * 4 + i % 4; }
};

// Whether each lane has, of a tensor laid out the first way, what stands for its elements of one laid out
// the second way.
template <typename Layout, typename Source> struct __lib_is_beside : false_type {};
template <typename Layout> struct __lib_is_beside<Layout, Layout> : true_type {};
template <int Columns, int Rows> struct __lib_is_beside<__lib_row_results<Rows>, __lib_tiles<Columns, Rows, 1>> : true_type {};
template <int Columns, int Rows> struct __lib_is_beside<__lib_column_results<Columns>, __lib_tiles<Columns, Rows, 1>> : true_type {};

template <typename Tensor> struct __lib_tensor_iterator {
  thread Tensor* __of;
  ushort __at;
  thread typename Tensor::value_type& operator*() const { return (*__of)[__at]; }
  thread __lib_tensor_iterator& operator++() {
    __at++;
    return *this;
  }
  __lib_tensor_iterator operator++(int) {
    __lib_tensor_iterator before = *this;
    __at++;
    return before;
  }
  bool operator==(__lib_tensor_iterator other) const { return __at == other.__at; }
  bool operator!=(__lib_tensor_iterator other) const { return __at != other.__at; }
  auto get_multidimensional_index() const { return __of->get_multidimensional_index(__at); }
  bool get_mask() const { return __of->get_mask(__at); }
  bool is_valid_element() const { return __of->is_valid_element(__at); }
};

template <typename ElementType, typename Extents, typename Layout> struct cooperative_tensor {
  typedef ElementType element_type;
  typedef remove_cv_t<ElementType> value_type;
  typedef Extents extents_type;
  typedef typename Extents::index_type index_type;
  typedef typename Extents::size_type size_type;
  typedef size_t rank_type;
  typedef ushort thread_index_type;
  typedef ushort thread_size_type;
  typedef __lib_tensor_iterator<cooperative_tensor> iterator;
  typedef Layout layout_type;

  value_type __values[Layout::capacity];

  static constexpr rank_type get_rank() { return Extents::rank(); }
  static constexpr thread_size_type get_capacity() { return Layout::capacity; }
  thread value_type& operator[](thread_index_type i) { return __values[i]; }
  const thread value_type& operator[](thread_index_type i) const { return __values[i]; }
  value_type get(thread_index_type i) const { return __values[i]; }
  void set(thread_index_type i, value_type value) { __values[i] = value; }
  // A layout is of columns and rows: the rows are all dimensions but the first, one after the other.
  array<index_type, Extents::rank()> get_multidimensional_index(thread_index_type i) const {
    const int2 place = Layout::place(i);
    array<index_type, Extents::rank()> at;
    at[0] = index_type(place.x);
    int row = place.y;
    for (rank_type r = 1; r < get_rank(); r++) {
      const int length = r + 1 < get_rank() ? int(Extents::static_extent(r)) : row + 1;
      at[r] = index_type(row % length);
      row /= length;
    }
    return at;
  }
  bool get_mask(thread_index_type i) const { return Layout::is_there(i); }
  bool is_valid_element(thread_index_type i) const { return Layout::is_there(i); }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, thread_index_type(Layout::capacity)}; }

  // The element of this one that stands for another's: the maximum of the row that it is in, for example.
  template <typename Source> iterator map_iterator(__lib_tensor_iterator<Source> it) {
    typedef typename Source::layout_type From;
    static_assert(__lib_is_beside<Layout, From>::value, "the iterators of the tensors are not compatible");
    return {this, thread_index_type(Layout::template beside<From>(it.__at))};
  }

  // The place in a tensor of any rank. A dimension that the tensor lacks, or that has length 1 there, stands
  // for all places.
  template <typename Tensor> array<index_type, Tensor::get_rank()> __place_in(const thread Tensor& t, int i) const {
    const array<index_type, Extents::rank()> own = get_multidimensional_index(i);
    array<index_type, Tensor::get_rank()> at;
    for (rank_type r = 0; r < Tensor::get_rank(); r++) at[r] = r < get_rank() && t.get_extent(r) != 1 ? own[r] : 0;
    return at;
  }
  template <typename T, typename E, typename D, typename... Tags> void load(const thread tensor<T, E, D, Tags...>& t) {
    for (int i = 0; i < Layout::capacity; i++) {
      __values[i] = Layout::is_there(i) ? value_type(t.load(__place_in(t, i))) : value_type(0);
    }
  }
  template <typename T, typename E, typename D, typename... Tags> void store(const thread tensor<T, E, D, Tags...>& t) const {
    typedef tensor<T, E, D, Tags...> Target;
    typedef typename Target::value_type Stored;
    for (int i = 0; i < Layout::capacity; i++) {
      const array<index_type, Extents::rank()> own = get_multidimensional_index(i);
      array<index_type, Target::get_rank()> at;
      for (rank_type r = 0; r < Target::get_rank(); r++) at[r] = r < get_rank() ? own[r] : 0;
      if (Layout::is_stored(i)) t.store(Stored(__values[i]), at);
    }
  }
};

}
