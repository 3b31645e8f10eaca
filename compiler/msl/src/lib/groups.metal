// <anymetal_groups>. Groups of threads as values: one thread, a tile of a SIMD-group, a SIMD-group, a
// threadgroup, the grid. Not part of Metal. Only a barrier of the grid needs more than Metal has.

namespace anymetal {

uint __lib_threads() {
  return __am_threads_per_threadgroup_x() * __am_threads_per_threadgroup_y() * __am_threads_per_threadgroup_z();
}
uint __lib_full_threads() {
  return __am_dispatch_threads_per_threadgroup_x() * __am_dispatch_threads_per_threadgroup_y()
      * __am_dispatch_threads_per_threadgroup_z();
}
uint __lib_threadgroups() {
  return __am_threadgroups_per_grid_x() * __am_threadgroups_per_grid_y() * __am_threadgroups_per_grid_z();
}
uint __lib_threadgroup() {
  uint row = __am_threadgroup_position_in_grid_y() + __am_threadgroups_per_grid_y() * __am_threadgroup_position_in_grid_z();
  return __am_threadgroup_position_in_grid_x() + __am_threadgroups_per_grid_x() * row;
}

// Functions of two values; `identity` is what changes no value.
struct plus {
  template <typename T> T operator()(T a, T b) const { return T(a + b); }
  template <typename T> static T identity() { return T(0); }
};
struct multiplies {
  template <typename T> T operator()(T a, T b) const { return T(a * b); }
  template <typename T> static T identity() { return T(1); }
};
struct minimum {
  template <typename T> T operator()(T a, T b) const { return metal::min(a, b); }
  template <typename T> static T identity() {
    return metal::numeric_limits<T>::has_infinity ? metal::numeric_limits<T>::infinity()
                                                  : metal::numeric_limits<T>::max();
  }
};
struct maximum {
  template <typename T> T operator()(T a, T b) const { return metal::max(a, b); }
  template <typename T> static T identity() {
    return metal::numeric_limits<T>::has_infinity ? -metal::numeric_limits<T>::infinity()
                                                  : metal::numeric_limits<T>::lowest();
  }
};
struct bit_and {
  template <typename T> T operator()(T a, T b) const { return T(a & b); }
  template <typename T> static T identity() { return T(~T(0)); }
};
struct bit_or {
  template <typename T> T operator()(T a, T b) const { return T(a | b); }
  template <typename T> static T identity() { return T(0); }
};
struct bit_xor {
  template <typename T> T operator()(T a, T b) const { return T(a ^ b); }
  template <typename T> static T identity() { return T(0); }
};

// One thread: every operation is that of a group of one.
struct thread_group {
  uint size() const { return 1; }
  uint rank() const { return 0; }
  void sync() const {}
  template <typename T> T shuffle(T value, uint) const { return value; }
  template <typename T, typename Op> T reduce(T value, Op) const { return value; }
  template <typename T, typename Op> T inclusive_scan(T value, Op) const { return value; }
  template <typename T, typename Op> T exclusive_scan(T, Op) const { return Op::template identity<T>(); }
  bool any(bool predicate) const { return predicate; }
  bool all(bool predicate) const { return predicate; }
  ulong ballot(bool predicate) const { return predicate ? 1 : 0; }
};

// N consecutive threads of a SIMD-group, a power of two of at most 32. All threads of the tile that exist must
// execute an operation together; in a tile cut off at the threadgroup's end, those are the first ones.
template <uint N> struct tile_group {
  static_assert(N > 0 && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

  uint rank() const { return __am_thread_index_in_simdgroup() & (N - 1); }
  uint first_lane() const { return __am_thread_index_in_simdgroup() & ~(N - 1); }
  // The threads that exist.
  uint size() const {
    uint first = __am_simdgroup_index_in_threadgroup() * 32u + first_lane();
    uint left = __lib_threads() - first;
    return left < N ? left : N;
  }
  void sync() const { __am_barrier_simdgroup(3u); }

  // The value of the thread of that rank.
  template <typename T> T shuffle(T value, uint rank) const {
    return __am_simd_shuffle(value, first_lane() + (rank & (N - 1)));
  }
  template <typename T> T shuffle_xor(T value, uint mask) const {
    return __am_simd_shuffle(value, first_lane() + ((rank() ^ mask) & (N - 1)));
  }
  // The value of the thread that many ranks below; its own where there is none.
  template <typename T> T shuffle_up(T value, uint delta) const {
    return shuffle(value, delta <= rank() ? rank() - delta : rank());
  }
  // The value of the thread that many ranks above; its own where there is none.
  template <typename T> T shuffle_down(T value, uint delta) const {
    return shuffle(value, delta < size() - rank() ? rank() + delta : rank());
  }
  template <typename T> T broadcast(T value, uint rank) const { return shuffle(value, rank); }

  template <typename T, typename Op> T inclusive_scan(T value, Op op) const {
    for (uint delta = 1; delta < N; delta *= 2) {
      T other = shuffle_up(value, delta);
      if (delta <= rank()) value = op(other, value);
    }
    return value;
  }
  template <typename T, typename Op> T exclusive_scan(T value, Op op) const {
    T before = shuffle_up(inclusive_scan(value, op), 1);
    return rank() == 0 ? Op::template identity<T>() : before;
  }
  template <typename T, typename Op> T reduce(T value, Op op) const {
    return shuffle(inclusive_scan(value, op), size() - 1);
  }

  // Bit `r`: the predicate of the thread of rank `r`.
  ulong ballot(bool predicate) const {
    return ulong(__am_simd_ballot(predicate)) >> first_lane() & (~0ul >> (64u - N));
  }
  bool any(bool predicate) const { return ballot(predicate) != 0; }
  bool all(bool predicate) const { return ballot(!predicate) == 0; }
};

typedef tile_group<32> simd_group;

// A threadgroup. `scratch` is threadgroup memory: of as many elements as there are SIMD-groups, for `shuffle`
// as there are threads. All threads that exist must execute an operation together.
struct threadgroup_group {
  uint size() const { return __lib_threads(); }
  uint rank() const { return __am_thread_index_in_threadgroup(); }
  void sync() const { __am_barrier_threadgroup(3u); }

  template <typename T> T shuffle(T value, uint rank, threadgroup T* scratch) const {
    sync();
    scratch[this->rank()] = value;
    sync();
    return scratch[rank % size()];
  }
  template <typename T> T broadcast(T value, uint rank, threadgroup T* scratch) const {
    sync();
    if (this->rank() == rank) *scratch = value;
    sync();
    return *scratch;
  }

  template <typename T, typename Op> T inclusive_scan(T value, Op op, threadgroup T* scratch) const {
    T within = simd_group().inclusive_scan(value, op);
    T before = before_simdgroup(within, op, scratch);
    return __am_simdgroup_index_in_threadgroup() == 0 ? within : op(before, within);
  }
  template <typename T, typename Op> T exclusive_scan(T value, Op op, threadgroup T* scratch) const {
    T within = simd_group().inclusive_scan(value, op);
    T before = before_simdgroup(within, op, scratch);
    T own = simd_group().shuffle_up(within, 1);
    if (simd_group().rank() == 0) return before;
    return __am_simdgroup_index_in_threadgroup() == 0 ? own : op(before, own);
  }
  template <typename T, typename Op> T reduce(T value, Op op, threadgroup T* scratch) const {
    T total = simd_group().reduce(value, op);
    sync();
    if (simd_group().rank() == 0) scratch[__am_simdgroup_index_in_threadgroup()] = total;
    sync();
    total = scratch[0];
    for (uint i = 1; i < __am_simdgroups_per_threadgroup(); i++) total = op(total, scratch[i]);
    return total;
  }

  bool any(bool predicate, threadgroup uint* scratch) const {
    return reduce(uint(predicate), bit_or(), scratch) != 0;
  }
  bool all(bool predicate, threadgroup uint* scratch) const {
    return reduce(uint(predicate), bit_and(), scratch) != 0;
  }

  // The combined values of the SIMD-groups before this one; the identity before the first.
  template <typename T, typename Op> T before_simdgroup(T within, Op op, threadgroup T* scratch) const {
    sync();
    if (simd_group().rank() == simd_group().size() - 1) {
      scratch[__am_simdgroup_index_in_threadgroup()] = within;
    }
    sync();
    T before = Op::template identity<T>();
    for (uint i = 0; i < __am_simdgroup_index_in_threadgroup(); i++) {
      before = i == 0 ? scratch[0] : op(before, scratch[i]);
    }
    return before;
  }
};

// The grid of a cooperative launch. Every threadgroup must come to the same barriers; those that have ended
// are not waited for.
struct grid_group {
  // Threads, and the number of this one: threadgroup by threadgroup.
  ulong size() const { return ulong(threadgroups()) * __lib_full_threads(); }
  ulong rank() const {
    return ulong(threadgroup_rank()) * __lib_full_threads() + __am_thread_index_in_threadgroup();
  }
  uint threadgroups() const { return __lib_threadgroups(); }
  uint threadgroup_rank() const { return __lib_threadgroup(); }
  // What any thread of the grid wrote before it, to threadgroup or device memory, is visible after it.
  void sync() const { __am_barrier_grid(3u); }

  // `parts` is device memory of as many elements as there are threadgroups, `scratch` as for a threadgroup.
  // The order in which values are combined depends on the number of threadgroups alone.
  template <typename T, typename Op>
  T reduce(T value, Op op, device T* parts, threadgroup T* scratch) const {
    T total = threadgroup_group().reduce(value, op, scratch);
    // Nobody reads what the operation before left there any more.
    sync();
    if (__am_thread_index_in_threadgroup() == 0) parts[threadgroup_rank()] = total;
    sync();
    total = parts[0];
    for (uint i = 1; i < threadgroups(); i++) total = op(total, parts[i]);
    return total;
  }
  // The combined values of all threads of lower rank and this one.
  template <typename T, typename Op>
  T inclusive_scan(T value, Op op, device T* parts, threadgroup T* scratch) const {
    T within = threadgroup_group().inclusive_scan(value, op, scratch);
    sync();
    if (__am_thread_index_in_threadgroup() == threadgroup_group().size() - 1) {
      parts[threadgroup_rank()] = within;
    }
    sync();
    if (threadgroup_rank() == 0) return within;
    T before = parts[0];
    for (uint i = 1; i < threadgroup_rank(); i++) before = op(before, parts[i]);
    return op(before, within);
  }
  bool any(bool predicate, device uint* parts, threadgroup uint* scratch) const {
    return reduce(uint(predicate), bit_or(), parts, scratch) != 0;
  }
  bool all(bool predicate, device uint* parts, threadgroup uint* scratch) const {
    return reduce(uint(predicate), bit_and(), parts, scratch) != 0;
  }
};

thread_group this_thread() { return thread_group(); }
template <uint N> tile_group<N> this_tile() { return tile_group<N>(); }
simd_group this_simdgroup() { return simd_group(); }
threadgroup_group this_threadgroup() { return threadgroup_group(); }
grid_group this_grid() { return grid_group(); }
void grid_sync() { __am_barrier_grid(3u); }

}
