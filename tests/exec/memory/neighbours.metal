//! group: 64
//! arg 0: u8 0..256 0..256 0..256 0..256 0..100
//! arg 1: u32 0*512
//! kernel: bytes
//! threads: 69
//! expect 1: u32 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 0
//! kernel: bytes
//! threads: 71
//! faults: yes
//! expect 1: u32 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 16473 18921 21369 23817 26265 28713 31161 33609 36057 30057 1785 4233 6681 9129 11577 14025 590 0
//! kernel: words
//! threads: 40
//! arg 2: u16 0..1000
//! expect 1: u32 98 377 656 935 1214 1493 1772 2051 2330 2609 2888 3167 3446 3725 4004 4283 4562 4841 5120 5399 5678 5957 6236 6515 6794 7073 7352 7631 7910 8189 8468 8747 9026 9305 9584 9863 10142 10421 10700 10979 0
//! kernel: anywhere
//! threads: 32
//! arg 2: f32 0..512
//! arg 3: u32 64 0 8 16 24 32 40 48 56 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216 224 232 240 248
//! expect 1: u32 540 28 92 156 220 284 348 412 476 604 668 732 796 860 924 988 1052 1116 1180 1244 1308 1372 1436 1500 1564 1628 1692 1756 1820 1884 1948 2012 0
//! kernel: anywhere
//! threads: 32
//! arg 2: f32 0..512
//! arg 3: u32 0..32
//! expect 1: u32 28 36 44 52 60 68 76 84 92 100 108 116 124 132 140 148 156 164 172 180 188 196 204 212 220 228 236 244 252 260 268 276 0
//! kernel: anywhere
//! threads: 4
//! arg 2: f32 0..16
//! arg 3: u32 0 12 100 3
//! faults: yes
//! expect 1: u32 28 54 0 52 0
//! kernel: between
//! threads: 33
//! arg 2: u32 7*200
//! expect 1: u32 1007 1008 1009 1010 1011 1012 1013 1014 1015 1016 1017 1018 1019 1020 1021 1022 1023 1024 1025 1026 1027 1028 1029 1030 1031 1032 1033 1034 1035 1036 1037 1038 1039 0

// Loads of one thread that lie side by side may be done together.
#include <metal_stdlib>
using namespace metal;

// An odd number of bytes at an odd place.
kernel void bytes(device const uchar* in [[buffer(0)]], device uint* out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    device const uchar* own = in + i * 16 + 1;
    uint sum = 0;
    for (uint k = 0; k < 17; k++) {
        sum += own[k] * (k + 1);
    }
    out[i] = sum;
}

// Narrow indices.
kernel void words(device const ushort* in [[buffer(2)]], device uint* out [[buffer(1)]],
                  ushort i [[thread_index_in_threadgroup]]) {
    ushort at = i * 9;
    uint sum = 0;
    for (ushort k = 0; k < 5; k++) {
        sum += uint(in[ushort(at + k)]) << k;
    }
    out[i] = sum;
}

// Places that only the run shows: far apart, or one behind the other.
kernel void anywhere(device const float* in [[buffer(2)]], device const uint* place [[buffer(3)]],
                     device uint* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device const float* own = in + place[i];
    float sum = 0;
    for (uint k = 0; k < 8; k++) {
        sum += own[k];
    }
    out[i] = uint(sum);
}

// A store between two loads parts them.
kernel void between(device uint* in [[buffer(2)]], device uint* out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    uint first = in[i * 5];
    in[i * 5 + 1] = 1000 + i;
    out[i] = first + in[i * 5 + 1];
}
