// Convolutions of images. T0 to T2 are the stored types of output and inputs. `Window` says where a
// filter's elements lie; positions outside of the image count as zeros.

struct Window {
    uint channels;        // of the input
    uint height;          // of the input
    uint width;
    uint out_channels;
    uint out_height;
    uint out_width;
    uint kernel_height;
    uint kernel_width;
    int stride_y;
    int stride_x;
    int padding_y;
    int padding_x;
    int dilation_y;
    int dilation_x;
    uint groups;
    int in_strides[4];     // image, channel, row, column
    int weight_strides[4]; // output channel, input channel of its group, row, column
    int in_offset;
    int weight_offset;
    int bias_stride;
    int bias_offset;
};

#ifdef UNFOLD
// Each position of each filter element as a row of a matrix: (image, channel, element) by positions
// of the output. x is the column of the output, y stands for ROWS of its rows, z for image, channel
// and element.
kernel void unfold(device T0* out [[buffer(0)]],
                   device const T1* in [[buffer(1)]],
                   constant Window& w [[buffer(2)]],
                   uint3 at [[thread_position_in_grid]]) {
    uint elements = w.kernel_height * w.kernel_width;
    uint element = at.z % elements;
    uint plane = at.z / elements;
    int x = int(at.x) * w.stride_x - w.padding_x + int(element % w.kernel_width) * w.dilation_x;
    bool inside = x >= 0 && x < int(w.width);
    int from = w.in_offset + int(plane / w.channels) * w.in_strides[0];
    from += int(plane % w.channels) * w.in_strides[1] + x * w.in_strides[3];
    int first = int(element / w.kernel_width) * w.dilation_y - w.padding_y;
    uint end = min(w.out_height, (at.y + 1) * ROWS);
    for (uint row = at.y * ROWS; row < end; row++) {
        int y = int(row) * w.stride_y + first;
        bool valid = inside && y >= 0 && y < int(w.height);
        T1 value = valid ? in[from + y * w.in_strides[2]] : T1(0);
        out[(at.z * w.out_height + row) * w.out_width + at.x] = value;
    }
}
#elif defined(WINOGRAD)
// Filters of three by three by Winograd's minimal filtering (F(2x2, 3x3) of Lavin and Gray, 2015): 16 products
// for a tile of two by two results in place of 36. The products of all tiles and channels are 16 products of
// matrices, of element, filter, channel by element, channel, tile. `tiles`: tiles of a row and of a column, the
// first image, tiles of all images.

// The filters' 16 elements. x is the channel, y the filter.
kernel void winograd_filters(device float* out [[buffer(0)]],
                             device const T2* weight [[buffer(1)]],
                             constant Window& w [[buffer(2)]],
                             uint2 at [[thread_position_in_grid]]) {
    int from = w.weight_offset + int(at.y) * w.weight_strides[0] + int(at.x) * w.weight_strides[1];
    float rows[4][3];
    for (int x = 0; x < 3; x++) {
        float first = float(weight[from + x * w.weight_strides[3]]);
        float middle = float(weight[from + w.weight_strides[2] + x * w.weight_strides[3]]);
        float last = float(weight[from + 2 * w.weight_strides[2] + x * w.weight_strides[3]]);
        rows[0][x] = first;
        rows[1][x] = 0.5f * (first + last + middle);
        rows[2][x] = 0.5f * (first + last - middle);
        rows[3][x] = last;
    }
    uint elements = w.out_channels * w.channels;
    device float* to = out + at.y * w.channels + at.x;
    for (uint y = 0; y < 4; y++) {
        float ends = rows[y][0] + rows[y][2];
        to[(y * 4) * elements] = rows[y][0];
        to[(y * 4 + 1) * elements] = 0.5f * (ends + rows[y][1]);
        to[(y * 4 + 2) * elements] = 0.5f * (ends - rows[y][1]);
        to[(y * 4 + 3) * elements] = rows[y][2];
    }
}

// The images' 16 elements of each tile. x and y are the tile, z image and channel.
kernel void winograd_tiles(device float* out [[buffer(0)]],
                           device const T1* in [[buffer(1)]],
                           constant Window& w [[buffer(2)]],
                           constant int4& tiles [[buffer(3)]],
                           uint3 at [[thread_position_in_grid]]) {
    uint image = at.z / w.channels;
    uint channel = at.z % w.channels;
    int from = w.in_offset + int(image) * w.in_strides[0] + int(channel) * w.in_strides[1];
    int left = 2 * int(at.x) - w.padding_x;
    int top = 2 * int(at.y) - w.padding_y;
    float pixels[4][4];
    for (int y = 0; y < 4; y++) {
        bool is_row = top + y >= 0 && top + y < int(w.height);
        for (int x = 0; x < 4; x++) {
            bool valid = is_row && left + x >= 0 && left + x < int(w.width);
            int place = from + (top + y) * w.in_strides[2] + (left + x) * w.in_strides[3];
            pixels[y][x] = valid ? float(in[place]) : 0.0f;
        }
    }
    float rows[4][4];
    for (int x = 0; x < 4; x++) {
        rows[0][x] = pixels[0][x] - pixels[2][x];
        rows[1][x] = pixels[1][x] + pixels[2][x];
        rows[2][x] = pixels[2][x] - pixels[1][x];
        rows[3][x] = pixels[1][x] - pixels[3][x];
    }
    uint elements = w.channels * uint(tiles.w);
    uint tile = (image * uint(tiles.y) + at.y) * uint(tiles.x) + at.x;
    device float* to = out + channel * uint(tiles.w) + tile;
    for (uint y = 0; y < 4; y++) {
        to[(y * 4) * elements] = rows[y][0] - rows[y][2];
        to[(y * 4 + 1) * elements] = rows[y][1] + rows[y][2];
        to[(y * 4 + 2) * elements] = rows[y][2] - rows[y][1];
        to[(y * 4 + 3) * elements] = rows[y][1] - rows[y][3];
    }
}

// The results of each tile. x and y are the tile, z image and filter.
kernel void winograd_results(device T0* out [[buffer(0)]],
                             device const float* in [[buffer(1)]],
                             device const T3* bias [[buffer(2)]],
                             constant Window& w [[buffer(3)]],
                             constant int4& tiles [[buffer(4)]],
                             uint3 at [[thread_position_in_grid]]) {
    uint image = at.z / w.out_channels;
    uint filter = at.z % w.out_channels;
    uint elements = w.out_channels * uint(tiles.w);
    uint tile = (image * uint(tiles.y) + at.y) * uint(tiles.x) + at.x;
    device const float* from = in + filter * uint(tiles.w) + tile;
    float rows[2][4];
    for (uint x = 0; x < 4; x++) {
        float first = from[x * elements];
        float second = from[(4 + x) * elements];
        float third = from[(8 + x) * elements];
        float fourth = from[(12 + x) * elements];
        rows[0][x] = first + second + third;
        rows[1][x] = second - third - fourth;
    }
    float shift = 0;
#ifdef BIAS
    shift = float(bias[w.bias_offset + int(filter) * w.bias_stride]);
#endif
    uint plane = (uint(tiles.z) + image) * w.out_channels + filter;
    for (uint y = 0; y < 2; y++) {
        uint row = 2 * at.y + y;
        if (row >= w.out_height) {
            break;
        }
        device T0* to = out + (plane * w.out_height + row) * w.out_width + 2 * at.x;
        to[0] = T0(rows[y][0] + rows[y][1] + rows[y][2] + shift);
        if (2 * at.x + 1 < w.out_width) {
            to[1] = T0(rows[y][1] - rows[y][2] - rows[y][3] + shift);
        }
    }
}
#else

// x and y are the output's position, z image and channel.
kernel void conv(device T0* out [[buffer(0)]],
                 device const T1* in [[buffer(1)]],
                 device const T2* weight [[buffer(2)]],
                 device const T3* bias [[buffer(3)]],
                 constant Window& w [[buffer(4)]],
                 uint3 at [[thread_position_in_grid]]) {
    uint image = at.z / w.out_channels;
    uint channel = at.z % w.out_channels;
    uint depth = w.channels / w.groups;
    uint group = channel / (w.out_channels / w.groups);
    float sum = 0;
    for (uint c = 0; c < depth; c++) {
        int plane = w.in_offset + int(image) * w.in_strides[0] + int(group * depth + c) * w.in_strides[1];
        int filter = w.weight_offset + int(channel) * w.weight_strides[0] + int(c) * w.weight_strides[1];
        for (uint ky = 0; ky < w.kernel_height; ky++) {
            int y = int(at.y) * w.stride_y - w.padding_y + int(ky) * w.dilation_y;
            if (y < 0 || y >= int(w.height)) {
                continue;
            }
            for (uint kx = 0; kx < w.kernel_width; kx++) {
                int x = int(at.x) * w.stride_x - w.padding_x + int(kx) * w.dilation_x;
                if (x >= 0 && x < int(w.width)) {
                    float value = float(in[plane + y * w.in_strides[2] + x * w.in_strides[3]]);
                    int place = filter + int(ky) * w.weight_strides[2] + int(kx) * w.weight_strides[3];
                    sum = fma(value, float(weight[place]), sum);
                }
            }
        }
    }
#ifdef BIAS
    sum += float(bias[w.bias_offset + int(channel) * w.bias_stride]);
#endif
    out[(at.z * w.out_height + at.y) * w.out_width + at.x] = T0(sum);
}

// The gradient of a convolution's input, which is the transposed convolution: `in` is the gradient
// of the output with its strides, x and y are the input's position, z image and channel of the
// input.
kernel void conv_transposed(device T0* out [[buffer(0)]],
                            device const T1* in [[buffer(1)]],
                            device const T2* weight [[buffer(2)]],
                            device const T3* bias [[buffer(3)]],
                            constant Window& w [[buffer(4)]],
                            uint3 at [[thread_position_in_grid]]) {
    uint image = at.z / w.channels;
    uint channel = at.z % w.channels;
    uint depth = w.channels / w.groups;
    uint filters = w.out_channels / w.groups;
    uint group = channel / depth;
    float sum = 0;
    for (uint f = group * filters; f < (group + 1) * filters; f++) {
        int plane = w.in_offset + int(image) * w.in_strides[0] + int(f) * w.in_strides[1];
        int filter = w.weight_offset + int(f) * w.weight_strides[0] + int(channel % depth) * w.weight_strides[1];
        for (uint ky = 0; ky < w.kernel_height; ky++) {
            int y = int(at.y) + w.padding_y - int(ky) * w.dilation_y;
            if (y < 0 || y % w.stride_y != 0 || y / w.stride_y >= int(w.out_height)) {
                continue;
            }
            for (uint kx = 0; kx < w.kernel_width; kx++) {
                int x = int(at.x) + w.padding_x - int(kx) * w.dilation_x;
                if (x >= 0 && x % w.stride_x == 0 && x / w.stride_x < int(w.out_width)) {
                    int from = plane + y / w.stride_y * w.in_strides[2] + x / w.stride_x * w.in_strides[3];
                    int place = filter + int(ky) * w.weight_strides[2] + int(kx) * w.weight_strides[3];
                    sum = fma(float(in[from]), float(weight[place]), sum);
                }
            }
        }
    }
#ifdef BIAS
    sum += float(bias[w.bias_offset + int(channel) * w.bias_stride]);
#endif
    out[(at.z * w.height + at.y) * w.width + at.x] = T0(sum);
}
#endif
