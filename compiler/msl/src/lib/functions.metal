// <metal_visible_function_table>. A table is the memory of its entries, each the number of a function and,
// above it, the number of entries. The compiler finds tables by the member `__functions` and takes the index
// operator itself: what stands here is the rest.

namespace metal {

template <typename T> struct visible_function_table {
  const device ulong* __functions;

  uint size() const { return __functions ? uint(__functions[0] >> 32) : 0u; }
  uint size() const device { return __functions ? uint(__functions[0] >> 32) : 0u; }
  uint size() const constant { return __functions ? uint(__functions[0] >> 32) : 0u; }
  bool empty() const { return size() == 0; }
  bool empty() const device { return size() == 0; }
  bool empty() const constant { return size() == 0; }
};

template <typename T> bool is_null_visible_function_table(visible_function_table<T> table) {
  return table.__functions == nullptr;
}

}
