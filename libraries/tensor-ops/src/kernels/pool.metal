// Pooling and resizing of images. T0 and T1 are the stored types of output and input. ADAPTIVE:
// windows divide the image; else they move by strides.

struct Pool {
    uint channels;
    int height; // of the image
    int width;
    int out_height;
    int out_width;
    int kernel_height;
    int kernel_width;
    int stride_y;
    int stride_x;
    int padding_y;
    int padding_x;
    int count_padding; // averages count positions outside of the image
    int in_strides[4];
    int in_offset;
};

struct Range {
    int first;
    int end;
    int counted;
};

static Range range_of(int place, int size, int outs, int taps, int stride, int padding, int count_padding) {
    Range r;
#ifdef ADAPTIVE
    r.first = int(long(place) * size / outs);
    r.end = int((long(place + 1) * size + outs - 1) / outs);
    r.counted = r.end - r.first;
#else
    int from = place * stride - padding;
    r.first = max(from, 0);
    r.end = min(from + taps, size);
    r.counted = count_padding != 0 ? min(from + taps, size + padding) - from : r.end - r.first;
#endif
    return r;
}

#define ROWS(place) range_of(place, w.height, w.out_height, w.kernel_height, w.stride_y, w.padding_y, w.count_padding)
#define COLUMNS(place) range_of(place, w.width, w.out_width, w.kernel_width, w.stride_x, w.padding_x, w.count_padding)

static int plane_of(constant Pool& w, uint plane) {
    return w.in_offset + int(plane / w.channels) * w.in_strides[0] + int(plane % w.channels) * w.in_strides[1];
}

// x and y are the output's position, z image and channel. `places` are positions in a plane of the
// image.
kernel void max_pool(device T0* out [[buffer(0)]],
                     device uint* places [[buffer(1)]],
                     device const T1* in [[buffer(2)]],
                     constant Pool& w [[buffer(3)]],
                     uint3 at [[thread_position_in_grid]]) {
    Range rows = ROWS(int(at.y));
    Range columns = COLUMNS(int(at.x));
    int plane = plane_of(w, at.z);
    C greatest = C(0);
    int place = -1;
    for (int y = rows.first; y < rows.end; y++) {
        for (int x = columns.first; x < columns.end; x++) {
            C value = C(in[plane + y * w.in_strides[2] + x * w.in_strides[3]]);
            if (place < 0 || value > greatest || (value != value && greatest == greatest)) {
                greatest = value;
                place = y * w.width + x;
            }
        }
    }
    uint to = (at.z * uint(w.out_height) + at.y) * uint(w.out_width) + at.x;
    out[to] = T0(greatest);
    places[to] = uint(place);
}

kernel void avg_pool(device T0* out [[buffer(0)]],
                     device const T1* in [[buffer(1)]],
                     constant Pool& w [[buffer(2)]],
                     uint3 at [[thread_position_in_grid]]) {
    Range rows = ROWS(int(at.y));
    Range columns = COLUMNS(int(at.x));
    int plane = plane_of(w, at.z);
    float sum = 0;
    for (int y = rows.first; y < rows.end; y++) {
        for (int x = columns.first; x < columns.end; x++) {
            sum += float(in[plane + y * w.in_strides[2] + x * w.in_strides[3]]);
        }
    }
    uint to = (at.z * uint(w.out_height) + at.y) * uint(w.out_width) + at.x;
    out[to] = T0(sum / float(rows.counted * columns.counted));
}

// `in` is the gradient of the output with its strides; x and y are the image's position.
kernel void avg_pool_back(device T0* out [[buffer(0)]],
                          device const T1* in [[buffer(1)]],
                          constant Pool& w [[buffer(2)]],
                          uint3 at [[thread_position_in_grid]]) {
#ifdef ADAPTIVE
    int first_y = int(long(at.y) * w.out_height / w.height);
    int first_x = int(long(at.x) * w.out_width / w.width);
    int last_y = int((long(at.y + 1) * w.out_height + w.height - 1) / w.height);
    int last_x = int((long(at.x + 1) * w.out_width + w.width - 1) / w.width);
#else
    int first_y = max(0, (int(at.y) + w.padding_y - w.kernel_height) / w.stride_y);
    int first_x = max(0, (int(at.x) + w.padding_x - w.kernel_width) / w.stride_x);
    int last_y = (int(at.y) + w.padding_y) / w.stride_y + 1;
    int last_x = (int(at.x) + w.padding_x) / w.stride_x + 1;
#endif
    int plane = plane_of(w, at.z);
    float sum = 0;
    for (int oy = first_y; oy < min(last_y, w.out_height); oy++) {
        Range rows = ROWS(oy);
        for (int ox = first_x; ox < min(last_x, w.out_width); ox++) {
            Range columns = COLUMNS(ox);
            bool inside = int(at.y) >= rows.first && int(at.y) < rows.end;
            if (inside && int(at.x) >= columns.first && int(at.x) < columns.end) {
                float value = float(in[plane + oy * w.in_strides[2] + ox * w.in_strides[3]]);
                sum += value / float(rows.counted * columns.counted);
            }
        }
    }
    out[(at.z * uint(w.height) + at.y) * uint(w.width) + at.x] = T0(sum);
}

kernel void nearest(device T0* out [[buffer(0)]],
                    device const T1* in [[buffer(1)]],
                    constant Pool& w [[buffer(2)]],
                    uint3 at [[thread_position_in_grid]]) {
    int y = min(int(float(at.y) * (float(w.height) / float(w.out_height))), w.height - 1);
    int x = min(int(float(at.x) * (float(w.width) / float(w.out_width))), w.width - 1);
    uint to = (at.z * uint(w.out_height) + at.y) * uint(w.out_width) + at.x;
    out[to] = T0(in[plane_of(w, at.z) + y * w.in_strides[2] + x * w.in_strides[3]]);
}

static float source_of(uint place, int size, int outs, int corners) {
    if (corners != 0) {
        return outs > 1 ? float(place) * (float(size - 1) / float(outs - 1)) : 0.0f;
    }
    return max((float(place) + 0.5f) * (float(size) / float(outs)) - 0.5f, 0.0f);
}

// `corners`: the corners of both images are the same points; else the edges are.
kernel void bilinear(device T0* out [[buffer(0)]],
                     device const T1* in [[buffer(1)]],
                     constant Pool& w [[buffer(2)]],
                     constant int& corners [[buffer(3)]],
                     uint3 at [[thread_position_in_grid]]) {
    float fy = source_of(at.y, w.height, w.out_height, corners);
    float fx = source_of(at.x, w.width, w.out_width, corners);
    int y = min(int(fy), w.height - 1);
    int x = min(int(fx), w.width - 1);
    int below = min(y + 1, w.height - 1);
    int right = min(x + 1, w.width - 1);
    float ty = fy - float(y);
    float tx = fx - float(x);
    int plane = plane_of(w, at.z);
    float a = float(in[plane + y * w.in_strides[2] + x * w.in_strides[3]]);
    float b = float(in[plane + y * w.in_strides[2] + right * w.in_strides[3]]);
    float c = float(in[plane + below * w.in_strides[2] + x * w.in_strides[3]]);
    float d = float(in[plane + below * w.in_strides[2] + right * w.in_strides[3]]);
    float top = (1.0f - tx) * a + tx * b;
    float bottom = (1.0f - tx) * c + tx * d;
    uint to = (at.z * uint(w.out_height) + at.y) * uint(w.out_width) + at.x;
    out[to] = T0((1.0f - ty) * top + ty * bottom);
}
