// <metal_tensor> and <metal_cooperative_tensor> (section 2.20): tensors that a kernel makes of memory it has,
// and tensors whose elements lie in the threads of SIMD-groups.

namespace metal {

constant constexpr size_t dynamic_extent = ~size_t(0);
// A length that is known at run time only, as an integer of any type.
template <typename T> constant constexpr T dynamic_length_v = T(~size_t(0));

template <typename IndexType, size_t... Lengths> struct extents {
  typedef IndexType index_type;
  typedef make_unsigned_t<IndexType> size_type;
  typedef size_t rank_type;
  IndexType __lengths[sizeof...(Lengths)];

  static constexpr rank_type rank() { return sizeof...(Lengths); }
  static constexpr rank_type rank_dynamic() { return ((Lengths == dynamic_extent ? 1 : 0) + ...); }
  static constexpr size_t static_extent(rank_type r) {
    const size_t lengths[] = {Lengths...};
    return lengths[r];
  }
  constexpr extents() : __lengths{IndexType(Lengths == dynamic_extent ? 0 : Lengths)...} {}
  // The lengths of all dimensions, or of those that are not static.
  template <typename... Given> constexpr explicit extents(Given... given) {
    static_assert(sizeof...(Given) == rank() || sizeof...(Given) == rank_dynamic(), "a length for each dimension");
    const IndexType lengths[] = {IndexType(given)...};
    rank_type next = 0;
    for (rank_type r = 0; r < rank(); r++) {
      const bool is_static = static_extent(r) != dynamic_extent;
      if (sizeof...(Given) == rank()) __lengths[r] = lengths[r];
      else __lengths[r] = is_static ? IndexType(static_extent(r)) : lengths[next++];
    }
  }
  constexpr index_type extent(rank_type r) const { return __lengths[r]; }
};

template <typename T, size_t Rank, size_t... Lengths> struct __lib_dextents : __lib_dextents<T, Rank - 1, dynamic_extent, Lengths...> {};
template <typename T, size_t... Lengths> struct __lib_dextents<T, 0, Lengths...> { typedef extents<T, Lengths...> type; };
template <typename IndexType, size_t Rank> using dextents = typename __lib_dextents<IndexType, Rank>::type;

// The extents of a slice of that rank.
template <typename T, size_t Rank, size_t... Lengths> struct __lib_slice_extents { typedef extents<T, Lengths...> type; };
template <typename T, size_t Rank> struct __lib_slice_extents<T, Rank> { typedef dextents<T, Rank> type; };

// `tensor_handle` and `tensor_offset`, tensors that the host binds, are not there.
struct tensor_inline {};

template <typename T> T __lib_pointed_to(const device T*);
template <typename T> T __lib_pointed_to(const constant T*);
template <typename T> T __lib_pointed_to(const threadgroup T*);
template <typename T> T __lib_pointed_to(const thread T*);

template <typename ElementType, typename Extents, typename Descriptor = tensor_handle, typename... Tags> struct tensor;

template <typename ElementType, typename Extents, typename... Tags> struct tensor<ElementType, Extents, tensor_inline, Tags...> {
  typedef ElementType element_type;
  typedef decltype(__lib_pointed_to(declval<ElementType*>())) value_type;
  typedef Extents extents_type;
  typedef typename Extents::index_type index_type;
  typedef typename Extents::size_type size_type;
  typedef size_t rank_type;

  ElementType* __data;
  Extents __extents;
  // In elements.
  array<index_type, Extents::rank()> __strides;

  tensor(ElementType* data, Extents extents) : __data(data), __extents(extents) {
    index_type stride = 1;
    for (rank_type r = 0; r < get_rank(); r++) {
      __strides[r] = stride;
      stride *= extents.extent(r);
    }
  }
  tensor(ElementType* data, Extents extents, array<index_type, Extents::rank()> strides) : __data(data), __extents(extents), __strides(strides) {}

  static constexpr size_t get_rank() { return Extents::rank(); }
  static constexpr size_t get_static_extent(rank_type r) { return Extents::static_extent(r); }
  index_type get_extent(rank_type r) const { return __extents.extent(r); }
  index_type get_stride(rank_type r) const { return __strides[r]; }

  // The element at a place: from the start, and whether it is one of the tensor's.
  template <typename I> long __offset(thread const array<I, get_rank()>& at) const {
    long offset = 0;
    for (rank_type r = 0; r < get_rank(); r++) offset += long(at[r]) * long(__strides[r]);
    return offset;
  }
  template <typename I> bool __is_within(thread const array<I, get_rank()>& at) const {
    bool within = true;
    for (rank_type r = 0; r < get_rank(); r++) within = within && long(at[r]) >= 0 && long(at[r]) < long(__extents.extent(r));
    return within;
  }

  template <typename I> ElementType& operator[](thread const array<I, get_rank()>& at) const { return __data[__offset(at)]; }
  template <typename I> ElementType& operator[](I at) const {
    static_assert(get_rank() == 1, "an index for each dimension");
    return __data[long(at) * long(__strides[0])];
  }
  template <typename I> value_type load(thread const array<I, get_rank()>& at) const {
    value_type value = value_type(0);
    if (__is_within(at)) value = __data[__offset(at)];
    return value;
  }
  template <typename... I> value_type load(I... at) const {
    static_assert(sizeof...(I) == get_rank(), "an index for each dimension");
    const array<long, get_rank()> place{{long(at)...}};
    return load(place);
  }
  template <typename I> void store(value_type value, thread const array<I, get_rank()>& at) const {
    if (__is_within(at)) __data[__offset(at)] = value;
  }
  template <typename... I> void store(value_type value, I... at) const {
    static_assert(sizeof...(I) == get_rank(), "an index for each dimension");
    const array<long, get_rank()> place{{long(at)...}};
    store(value, place);
  }

  // The rest from a place on, or as much of it as the lengths say.
  template <size_t... Lengths, typename... I> auto slice(I... at) const {
    static_assert(sizeof...(I) == get_rank(), "an index for each dimension");
    typedef typename __lib_slice_extents<index_type, get_rank(), Lengths...>::type Rest;
    const array<long, get_rank()> place{{long(at)...}};
    Rest rest;
    for (rank_type r = 0; r < get_rank(); r++) {
      if (Rest::static_extent(r) == dynamic_extent) rest.__lengths[r] = __extents.extent(r) - index_type(place[r]);
    }
    return tensor<ElementType, Rest, tensor_inline>(__data + __offset(place), rest, __strides);
  }
};
template <typename T, typename Extents> tensor(device T*, Extents) -> tensor<device T, Extents, tensor_inline>;
template <typename T, typename Extents> tensor(constant T*, Extents) -> tensor<constant T, Extents, tensor_inline>;
template <typename T, typename Extents> tensor(threadgroup T*, Extents) -> tensor<threadgroup T, Extents, tensor_inline>;
template <typename T, typename Extents> tensor(thread T*, Extents) -> tensor<thread T, Extents, tensor_inline>;
template <typename T, typename Extents, typename Strides> tensor(device T*, Extents, Strides) -> tensor<device T, Extents, tensor_inline>;
template <typename T, typename Extents, typename Strides> tensor(constant T*, Extents, Strides) -> tensor<constant T, Extents, tensor_inline>;
template <typename T, typename Extents, typename Strides> tensor(threadgroup T*, Extents, Strides) -> tensor<threadgroup T, Extents, tensor_inline>;
template <typename T, typename Extents, typename Strides> tensor(thread T*, Extents, Strides) -> tensor<thread T, Extents, tensor_inline>;

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
};

// The same for a thread that has all of a matrix.
template <int Columns, int Rows> struct __lib_tiles<Columns, Rows, 0> {
  static constant constexpr int capacity = Columns * Rows;
  static int2 place(int i) { return int2(i % Columns, i / Columns); }
  static bool is_there(int) { return true; }
};

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
  array<index_type, 2> get_multidimensional_index(thread_index_type i) const {
    const int2 place = Layout::place(i);
    return array<index_type, 2>{{index_type(place.x), index_type(place.y)}};
  }
  bool get_mask(thread_index_type i) const { return Layout::is_there(i); }
  bool is_valid_element(thread_index_type i) const { return Layout::is_there(i); }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, thread_index_type(Layout::capacity)}; }

  // A dimension of length 1 of a tensor stands for all places.
  template <typename T, typename E, typename... Tags> void load(const thread tensor<T, E, tensor_inline, Tags...>& t) {
    for (int i = 0; i < Layout::capacity; i++) {
      int2 place = Layout::place(i);
      if (t.get_extent(0) == 1) place.x = 0;
      if (t.get_extent(1) == 1) place.y = 0;
      __values[i] = Layout::is_there(i) ? value_type(t.load(place.x, place.y)) : value_type(0);
    }
  }
  template <typename T, typename E, typename... Tags> void store(const thread tensor<T, E, tensor_inline, Tags...>& t) const {
    typedef typename tensor<T, E, tensor_inline, Tags...>::value_type Stored;
    for (int i = 0; i < Layout::capacity; i++) {
      const int2 place = Layout::place(i);
      if (Layout::is_there(i)) t.store(Stored(__values[i]), place.x, place.y);
    }
  }
};

}
