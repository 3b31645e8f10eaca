// Tiles that threads bring to threadgroup memory element by element, as loops do: each thread's elements lie side by side
// in the buffer, and in the tile side by side or below each other. Some threads' elements, or some of one thread's, may be out of bounds.
//! group: 32
//! groups: 1
//! kernel: rows
//! arg 0: u16 0..256
//! arg 1: u16 0*256
//! expect 1: u16 8..16 0..8 24..32 16..24 40..48 32..40 56..64 48..56 72..80 64..72 88..96 80..88 104..112 96..104 120..128 112..120 136..144 128..136 152..160 144..152 168..176 160..168 184..192 176..184 200..208 192..200 216..224 208..216 232..240 224..232 248..256 240..248
//! kernel: columns
//! arg 0: u16 0..256
//! arg 1: u16 0*256
//! expect 1: u16 0..249..8 1..250..8 2..251..8 3..252..8 4..253..8 5..254..8 6..255..8 7..256..8
//! kernel: rows
//! arg 0: u16 0..201
//! arg 1: u16 0*256
//! faults: yes
//! expect 1: u16 8..16 0*1 1..8 24..32 16..24 40..48 32..40 56..64 48..56 72..80 64..72 88..96 80..88 104..112 96..104 120..128 112..120 136..144 128..136 152..160 144..152 168..176 160..168 184..192 176..184 200 0*7 192..200 0*48
//! kernel: columns
//! arg 0: u16 0..201
//! arg 1: u16 0*256
//! faults: yes
//! expect 1: u16 0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 0 0 0 0 0 0 1 9 17 25 33 41 49 57 65 73 81 89 97 105 113 121 129 137 145 153 161 169 177 185 193 0 0 0 0 0 0 0 2 10 18 26 34 42 50 58 66 74 82 90 98 106 114 122 130 138 146 154 162 170 178 186 194 0 0 0 0 0 0 0 3 11 19 27 35 43 51 59 67 75 83 91 99 107 115 123 131 139 147 155 163 171 179 187 195 0 0 0 0 0 0 0 4 12 20 28 36 44 52 60 68 76 84 92 100 108 116 124 132 140 148 156 164 172 180 188 196 0 0 0 0 0 0 0 5 13 21 29 37 45 53 61 69 77 85 93 101 109 117 125 133 141 149 157 165 173 181 189 197 0 0 0 0 0 0 0 6 14 22 30 38 46 54 62 70 78 86 94 102 110 118 126 134 142 150 158 166 174 182 190 198 0 0 0 0 0 0 0 7 15 23 31 39 47 55 63 71 79 87 95 103 111 119 127 135 143 151 159 167 175 183 191 199 0 0 0 0 0 0 0

#include <metal_stdlib>
using namespace metal;

constant constexpr ushort PER_THREAD = 8;
constant constexpr ushort THREADS = 32;

kernel void rows(device const ushort* in, device ushort* out, ushort tid [[thread_position_in_threadgroup]]) {
    threadgroup ushort tile[PER_THREAD * THREADS];
    device const ushort* from = in + tid * PER_THREAD;
    threadgroup ushort* to = tile + tid * PER_THREAD;
    for (ushort i = 0; i < PER_THREAD; i++) {
        to[i] = from[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = 0; i < PER_THREAD; i++) {
        out[tid * PER_THREAD + i] = tile[(tid ^ 1) * PER_THREAD + i];
    }
}

kernel void columns(device const ushort* in, device ushort* out, ushort tid [[thread_position_in_threadgroup]]) {
    threadgroup ushort tile[PER_THREAD * THREADS];
    device const ushort* from = in + tid * PER_THREAD;
    for (ushort i = 0; i < PER_THREAD; i++) {
        tile[i * THREADS + tid] = from[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = tid; i < PER_THREAD * THREADS; i += THREADS) {
        out[i] = tile[i];
    }
}
