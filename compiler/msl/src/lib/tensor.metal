// <metal_tensor> (section 2.20): tensors that the host binds, and those that a kernel makes of memory it has.

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
  constexpr index_type extent(rank_type r) const {
    return static_extent(r) == dynamic_extent ? __lengths[r] : IndexType(static_extent(r));
  }
};

template <typename T, size_t Rank, size_t... Lengths> struct __lib_dextents : __lib_dextents<T, Rank - 1, dynamic_extent, Lengths...> {};
template <typename T, size_t... Lengths> struct __lib_dextents<T, 0, Lengths...> { typedef extents<T, Lengths...> type; };
template <typename IndexType, size_t Rank> using dextents = typename __lib_dextents<IndexType, Rank>::type;

// The extents of a slice of that rank.
template <typename T, size_t Rank, size_t... Lengths> struct __lib_slice_extents { typedef extents<T, Lengths...> type; };
template <typename T, size_t Rank> struct __lib_slice_extents<T, Rank> { typedef dextents<T, Rank> type; };

// Whose memory it is: the host's (a part of such a tensor has the tag `tensor_offset`), or what the kernel says.
struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};

template <typename T> T __lib_pointed_to(const device T*);
template <typename T> T __lib_pointed_to(const constant T*);
template <typename T> T __lib_pointed_to(const threadgroup T*);
template <typename T> T __lib_pointed_to(const thread T*);

template <typename Element, typename Extents, typename Descriptor, typename... Tags> struct tensor;

// The type of a slice.
template <typename Element, typename Extents, typename Descriptor> struct __lib_tensor_slice { typedef tensor<Element, Extents, Descriptor> type; };
template <typename Element, typename Extents> struct __lib_tensor_slice<Element, Extents, tensor_handle> {
  typedef tensor<Element, Extents, tensor_handle, tensor_offset> type;
};

// The compiler fills in the members of a parameter of a kernel.
template <typename ElementType, typename Extents, typename Descriptor = tensor_handle, typename... Tags> struct tensor {
  typedef ElementType element_type;
  typedef decltype(__lib_pointed_to(declval<ElementType*>())) value_type;
  typedef Extents extents_type;
  typedef typename Extents::index_type index_type;
  typedef typename Extents::size_type size_type;
  typedef size_t rank_type;

  ElementType* __tensor;
  Extents __extents;
  // In elements.
  array<index_type, Extents::rank()> __strides;

  tensor(ElementType* data, Extents extents) : __tensor(data), __extents(extents) {
    index_type stride = 1;
    for (rank_type r = 0; r < get_rank(); r++) {
      __strides[r] = stride;
      stride *= extents.extent(r);
    }
  }
  tensor(ElementType* data, Extents extents, array<index_type, Extents::rank()> strides) : __tensor(data), __extents(extents), __strides(strides) {}

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

  template <typename I> ElementType& operator[](thread const array<I, get_rank()>& at) const { return __tensor[__offset(at)]; }
  template <typename... I> ElementType& operator[](I... at) const {
    static_assert(sizeof...(I) == get_rank(), "an index for each dimension");
    const array<long, get_rank()> place{{long(at)...}};
    return __tensor[__offset(place)];
  }
  template <typename I> value_type load(thread const array<I, get_rank()>& at) const {
    value_type value = value_type(0);
    if (__is_within(at)) value = __tensor[__offset(at)];
    return value;
  }
  template <typename... I> value_type load(I... at) const {
    static_assert(sizeof...(I) == get_rank(), "an index for each dimension");
    const array<long, get_rank()> place{{long(at)...}};
    return load(place);
  }
  template <typename I> void store(value_type value, thread const array<I, get_rank()>& at) const {
    if (__is_within(at)) __tensor[__offset(at)] = value;
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
    return typename __lib_tensor_slice<ElementType, Rest, Descriptor>::type(__tensor + __offset(place), rest, __strides);
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

}
