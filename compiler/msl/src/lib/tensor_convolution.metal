// Convolutions of <MetalPerformancePrimitives/MetalPerformancePrimitives.h> (section 7.2.2) as products of
// matrices: a row of the left one is what the window over one pixel covers, the right one is the weights.

namespace mpp {
namespace tensor_ops {

enum class convolution2d_activation_layout { nhwc };
enum class convolution2d_weights_layout { hwio };

struct convolution2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  // Channels, width, height, images; of what comes in they are known from the tensor.
  int4 destination_dimensions, source_dimensions;
  int2 kernel_dimensions;
  convolution2d_activation_layout activation_layout;
  convolution2d_weights_layout weights_layout;
  int2 strides, dilations;
  int groups;
  bool relaxed_precision;
  mode convolution2d_mode;

  constexpr convolution2d_descriptor(int4 destination, int4 source, int2 kernel_size,
                                     convolution2d_activation_layout activations = convolution2d_activation_layout::nhwc,
                                     convolution2d_weights_layout weights = convolution2d_weights_layout::hwio,
                                     int2 steps = int2(1, 1), int2 spacing = int2(1, 1), int group_count = 1,
                                     bool is_relaxed = false, mode convolution = mode::multiply)
      : destination_dimensions(destination), source_dimensions(source), kernel_dimensions(kernel_size),
        activation_layout(activations), weights_layout(weights), strides(steps), dilations(spacing),
        groups(group_count), relaxed_precision(is_relaxed), convolution2d_mode(convolution) {}
};

// The activations as a matrix: a row for each pixel of the destination, a column for each channel under
// each place of the window, whose middle is on the pixel's place (the later of two middles).
template <convolution2d_descriptor Descriptor, typename Tensor> struct __lib_windows {
  typedef typename Tensor::value_type value_type;
  const thread Tensor* of;
  int channels;
  int2 offsets;

  value_type at(int column, int row) const {
    const int place = column / channels;
    const int2 in_window = int2(place % Descriptor.kernel_dimensions.x, place / Descriptor.kernel_dimensions.x);
    const int width = Descriptor.destination_dimensions.y, height = Descriptor.destination_dimensions.z;
    const int2 pixel = int2(row % width, row / width % height);
    const int2 middle = ((Descriptor.kernel_dimensions - 1) * Descriptor.dilations + 1) / 2;
    const int2 from = pixel * Descriptor.strides + offsets + in_window * Descriptor.dilations - middle;
    return of->load(column % channels, from.x, from.y, row / width / height);
  }
};

// The weights as a matrix: a column for each channel of the destination, rows as the columns above.
template <convolution2d_descriptor Descriptor, typename Tensor> struct __lib_weights {
  typedef typename Tensor::value_type value_type;
  const thread Tensor* of;
  int channels;

  value_type at(int column, int row) const {
    const int place = row / channels;
    return of->load(column, row % channels, place % Descriptor.kernel_dimensions.x, place / Descriptor.kernel_dimensions.x);
  }
};

template <bool Transposed, convolution2d_descriptor Descriptor, typename Tensor>
auto __lib_operand_element(const thread __lib_windows<Descriptor, Tensor>& windows, int column, int row) {
  return windows.at(column, row);
}
template <bool Transposed, convolution2d_descriptor Descriptor, typename Tensor>
auto __lib_operand_element(const thread __lib_weights<Descriptor, Tensor>& weights, int column, int row) {
  return weights.at(column, row);
}
template <bool Transposed, typename Factor, convolution2d_descriptor Descriptor, typename Tensor>
metal::vec<Factor, 2> __lib_operand_matrix(const thread __lib_windows<Descriptor, Tensor>& windows, int column, int row, int columns, int rows) {
  return __lib_operand_elements<Transposed, Factor>(windows, column, row, columns, rows);
}
template <bool Transposed, typename Factor, convolution2d_descriptor Descriptor, typename Tensor>
metal::vec<Factor, 2> __lib_operand_matrix(const thread __lib_weights<Descriptor, Tensor>& weights, int column, int row, int columns, int rows) {
  return __lib_operand_elements<Transposed, Factor>(weights, column, row, columns, rows);
}

template <convolution2d_descriptor Descriptor, typename Scope, typename... Args> class convolution2d {
  static constant constexpr int simdgroups = __lib_simdgroups<Scope>::value;
  static_assert(simdgroups > 0, "the threads of a convolution are those of SIMD-groups");
  static_assert(Descriptor.groups == 1, "convolutions with several groups of channels are not supported");
  static constant constexpr int channels = Descriptor.destination_dimensions.x;
  static constant constexpr int width = Descriptor.destination_dimensions.y;
  static constant constexpr int height = Descriptor.destination_dimensions.z;
  static constant constexpr int images = Descriptor.destination_dimensions.w;
  template <typename T> using cooperative =
      metal::cooperative_tensor<T, metal::extents<int, channels, width, height, images>,
                                metal::__lib_tiles<channels, width * height * images, simdgroups>>;

  int2 offsets = int2(0, 0);

public:
  // Where the middle of the first window is in the activations.
  void set_offsets(int2 place) { offsets = place; }

  template <typename Activations, typename Weights, typename T, typename... Rest> static auto get_destination_cooperative_tensor() {
    return cooperative<T>{};
  }

  template <typename Activations, typename Weights, typename T, typename E, typename Layout>
  void run(const thread Activations& activations, const thread Weights& weights, thread metal::cooperative_tensor<T, E, Layout>& to) const {
    if (Descriptor.convolution2d_mode == convolution2d_descriptor::mode::multiply) {
      for (int i = 0; i < Layout::capacity; i++) to.__values[i] = T(0);
    }
    const int in = metal::min(int(activations.get_extent(0)), int(weights.get_extent(1)));
    if (in <= 0) return;
    const __lib_windows<Descriptor, Activations> left{&activations, in, offsets};
    const __lib_weights<Descriptor, Weights> right{&weights, in};
    const int length = in * Descriptor.kernel_dimensions.x * Descriptor.kernel_dimensions.y;
    if constexpr (metal::is_integral_v<T>) __lib_product<false, false>::of_elements(left, right, length, to);
    else __lib_product<false, false>::of_tiles(left, right, length, to);
  }
  template <typename Activations, typename Weights, typename T, typename E, typename D, typename... Tags>
  void run(const thread Activations& activations, const thread Weights& weights, const thread metal::tensor<T, E, D, Tags...>& to) const {
    typedef typename metal::tensor<T, E, D, Tags...>::value_type Value;
    cooperative<Value> held;
    if (Descriptor.convolution2d_mode == convolution2d_descriptor::mode::multiply_accumulate) held.load(to);
    run(activations, weights, held);
    held.store(to);
  }
};

}
}
