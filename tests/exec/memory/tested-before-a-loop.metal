// Loops whose accesses are tested for their first and last iteration, and relatives that must not be.
//! oracle: exact
//! covers: MSL 4.1
//! threads: 64
//! group: 64
//! arg 0: u32 0*64

//! kernel: rows
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 79360 79480 79600 79720 79840 79960 80080 80200 80320 80440 80560 80680 80800 80920 81040 81160 81280 81400 81520 81640 81760 81880 82000 82120 82240 82360 82480 82600 82720 82840 82960 83080 214272 214648 215024 215400 215776 216152 216528 216904 217280 217656 218032 218408 218784 219160 219536 219912 220288 220664 221040 221416 221792 222168 222544 222920 223296 223672 224048 224424 224800 225176 225552 225928

//! kernel: last_is_outside
//! arg 2: u32 16
//! arg 1: u32 0..960
//! faults: yes
//! expect 0: u32 6720 6735 6750 6765 6780 6795 6810 6825 6840 6855 6870 6885 6900 6915 6930 6945 6960 6975 6990 7005 7020 7035 7050 7065 7080 7095 7110 7125 7140 7155 7170 7185 7200 7215 7230 7245 7260 7275 7290 7305 7320 7335 7350 7365 7380 7395 7410 7425 7440 7455 7470 7485 7500 7515 7530 7545 7560 7575 7590 7605 7620 7635 7650 7665

//! kernel: first_is_outside
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! faults: yes
//! expect 0: u32 6720 6735 6750 6765 6780 6795 6810 6825 6840 6855 6870 6885 6900 6915 6930 6945 6960 6975 6990 7005 7020 7035 7050 7065 7080 7095 7110 7125 7140 7155 7170 7185 7200 7215 7230 7245 7260 7275 7290 7305 7320 7335 7350 7365 7380 7395 7410 7425 7440 7455 7470 7485 7500 7515 7530 7545 7560 7575 7590 7605 7620 7635 7650 7665

//! kernel: index_wraps
//! arg 1: u32 0..1024
//! arg 2: u32 17
//! faults: yes
//! expect 0: u32 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80 82 84 86 88 90 92 94 96 98 100 102 104 106 108 110 112 114 116 118 120 122 124 126

//! kernel: offset_wraps
//! arg 1: u32 0..1024
//! arg 2: u32 17
//! faults: yes
//! expect 0: u32 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80 82 84 86 88 90 92 94 96 98 100 102 104 106 108 110 112 114 116 118 120 122 124 126

//! kernel: two_indices_wrap
//! arg 1: u32 0..1024
//! arg 2: u32 17
//! faults: yes
//! expect 0: u32 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80 82 84 86 88 90 92 94 96 98 100 102 104 106 108 110 112 114 116 118 120 122 124 126

//! kernel: backwards
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 7680 7696 7712 7728 7744 7760 7776 7792 7808 7824 7840 7856 7872 7888 7904 7920 7936 7952 7968 7984 8000 8016 8032 8048 8064 8080 8096 8112 8128 8144 8160 8176 8192 8208 8224 8240 8256 8272 8288 8304 8320 8336 8352 8368 8384 8400 8416 8432 8448 8464 8480 8496 8512 8528 8544 8560 8576 8592 8608 8624 8640 8656 8672 8688

//! kernel: inclusive
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 630 640 650 660 670 680 690 700 710 720 730 740 750 760 770 780 790 800 810 820 830 840 850 860 870 880 890 900 910 920 930 940 950 960 970 980 990 1000 1010 1020 1030 1040 1050 1060 1070 1080 1090 1100 1110 1120 1130 1140 1150 1160 1170 1180 1190 1200 1210 1220 1230 1240 1250 1260

//! kernel: negative_counter
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 2268 2286 2304 2322 2340 2358 2376 2394 2412 2430 2448 2466 2484 2502 2520 2538 2556 2574 2592 2610 2628 2646 2664 2682 2700 2718 2736 2754 2772 2790 2808 2826 2844 2862 2880 2898 2916 2934 2952 2970 2988 3006 3024 3042 3060 3078 3096 3114 3132 3150 3168 3186 3204 3222 3240 3258 3276 3294 3312 3330 3348 3366 3384 3402

//! kernel: pointer_steps
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 5760 5776 5792 5808 5824 5840 5856 5872 5888 5904 5920 5936 5952 5968 5984 6000 6016 6032 6048 6064 6080 6096 6112 6128 6144 6160 6176 6192 6208 6224 6240 6256 6272 6288 6304 6320 6336 6352 6368 6384 6400 6416 6432 6448 6464 6480 6496 6512 6528 6544 6560 6576 6592 6608 6624 6640 6656 6672 6688 6704 6720 6736 6752 6768

//! kernel: leaves_early
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 7680 7696 7712 7728 7744 7760 7776 7792 7808 7824 7840 7856 7872 7888 7904 7920 7936 7952 7968 7984 8000 8016 8032 8048 8064 8080 8096 8112 8128 8144 8160 8176 8192 8208 8224 8240 8256 8272 8288 8304 8320 8336 8352 8368 8384 8400 8416 8432 8448 8464 8480 8496 8512 8528 8544 8560 8576 8592 8608 8624 8640 8656 8672 8688

//! kernel: not_in_the_first
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 6720 6735 6750 6765 6780 6795 6810 6825 6840 6855 6870 6885 6900 6915 6930 6945 6960 6975 6990 7005 7020 7035 7050 7065 7080 7095 7110 7125 7140 7155 7170 7185 7200 7215 7230 7245 7260 7275 7290 7305 7320 7335 7350 7365 7380 7395 7410 7425 7440 7455 7470 7485 7500 7515 7530 7545 7560 7575 7590 7605 7620 7635 7650 7665

//! kernel: no_iterations
//! arg 1: u32 0..1024
//! arg 2: u32 0
//! expect 0: u32 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7

//! kernel: some_steps_stay
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 3584 3600 3616 3632 3648 3664 3680 3696 3712 3728 3744 3760 3776 3792 3808 3824 3840 3856 3872 3888 3904 3920 3936 3952 3968 3984 4000 4016 4032 4048 4064 4080 4096 4112 4128 4144 4160 4176 4192 4208 4224 4240 4256 4272 4288 4304 4320 4336 4352 4368 4384 4400 4416 4432 4448 4464 4480 4496 4512 4528 4544 4560 4576 4592

//! kernel: short_counter
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 7680 7696 7712 7728 7744 7760 7776 7792 7808 7824 7840 7856 7872 7888 7904 7920 7936 7952 7968 7984 8000 8016 8032 8048 8064 8080 8096 8112 8128 8144 8160 8176 8192 8208 8224 8240 8256 8272 8288 8304 8320 8336 8352 8368 8384 8400 8416 8432 8448 8464 8480 8496 8512 8528 8544 8560 8576 8592 8608 8624 8640 8656 8672 8688

//! kernel: wide_counter
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 7680 7696 7712 7728 7744 7760 7776 7792 7808 7824 7840 7856 7872 7888 7904 7920 7936 7952 7968 7984 8000 8016 8032 8048 8064 8080 8096 8112 8128 8144 8160 8176 8192 8208 8224 8240 8256 8272 8288 8304 8320 8336 8352 8368 8384 8400 8416 8432 8448 8464 8480 8496 8512 8528 8544 8560 8576 8592 8608 8624 8640 8656 8672 8688

//! kernel: narrow_elements
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 1920 0 0 0 1936 0 0 0 1952 0 0 0 1968 0 0 0 1984 0 0 0 2000 0 0 0 2016 0 0 0 2032 0 0 0 2048 0 0 0 2064 0 0 0 2080 0 0 0 2096 0 0 0 2112 0 0 0 2128 0 0 0 2144 0 0 0 2160 0 0 0

//! kernel: stores
//! arg 2: u32 16
//! arg 3: u32 9*960
//! faults: yes
//! expect 3: u32 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105

//! kernel: nested
//! arg 1: u32 0..1024
//! arg 2: u32 16
//! expect 0: u32 114720 114960 115200 115440 115680 115920 116160 116400 116640 116880 117120 117360 117600 117840 118080 118320 114720 114960 115200 115440 115680 115920 116160 116400 116640 116880 117120 117360 117600 117840 118080 118320 114720 114960 115200 115440 115680 115920 116160 116400 116640 116880 117120 117360 117600 117840 118080 118320 114720 114960 115200 115440 115680 115920 116160 116400 116640 116880 117120 117360 117600 117840 118080 118320

//! kernel: counter_wraps
//! arg 1: u32 0..1024
//! arg 2: u32 0xffffffff
//! faults: yes
//! expect 0: u32 120 136 152 168 184 200 216 232 248 264 280 296 312 328 344 360 376 392 408 424 440 456 472 488 504 520 536 552 568 584 600 616 632 648 664 680 696 712 728 744 760 776 792 808 824 840 856 872 888 904 920 936 952 968 984 1000 1016 1032 1048 1064 1080 1096 1112 1128

//! kernel: wraps_cancel
//! arg 1: u32 0..1024
//! arg 2: u32 9
//! arg 3: u64 0x40000000 0x20000000 0xf800000000000001
//! faults: yes
//! expect 0: u32 14 19 24 29 34 39 44 49 54 59 64 69 74 79 84 89 94 99 104 109 114 119 124 129 134 139 144 149 154 159 164 169 174 179 184 189 194 199 204 209 214 219 224 229 234 239 244 249 254 259 264 269 274 279 284 289 294 299 304 309 314 319 324 329

#include <metal_stdlib>
using namespace metal;

kernel void rows(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[t / 32 * n + k] * a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void last_is_outside(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void first_is_outside(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (int k = 0; k < int(n); ++k) {
        sum += a[k * 64 + int(t) - 64];
    }
    out[t] = sum;
}

// In the first and the last iteration the index is `t`.
kernel void index_wraps(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[k * 0x10000000u + t];
    }
    out[t] = sum;
}

kernel void offset_wraps(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[ulong(k) * (1ul << 58) + t];
    }
    out[t] = sum;
}

kernel void two_indices_wrap(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        device const uint* row = a + k * 0x10000000u;
        sum += row[k * 0x10000000u + t];
    }
    out[t] = sum;
}

kernel void backwards(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[(n - 1 - k) * 64 + t];
    }
    out[t] = sum;
}

kernel void inclusive(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (int k = -3; k <= int(n); k += 2) {
        sum += a[(k + 3) * 7 + t];
    }
    out[t] = sum;
}

kernel void negative_counter(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (int k = -2; k < int(n); ++k) {
        sum += a[uint(k) * 4 + 100 + t];
    }
    out[t] = sum;
}

kernel void pointer_steps(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    device const uint* p = a + t;
    for (uint k = 0; k < n; ++k) {
        sum += *p;
        p += 48;
    }
    out[t] = sum;
}

kernel void leaves_early(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < 1000; ++k) {
        if (k == n)
            break;
        sum += a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void not_in_the_first(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        if (k > 0)
            sum += a[(k - 1) * 64 + t];
    }
    out[t] = sum;
}

kernel void no_iterations(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 7;
    for (uint k = 0; k < n; ++k) {
        sum += a[k * 64 + t + 100000];
    }
    out[t] = sum;
}

kernel void some_steps_stay(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0, row = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[row * 64 + t];
        if (k % 2 == 1)
            row += 1;
    }
    out[t] = sum;
}

kernel void short_counter(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (ushort k = 0; k < ushort(n); ++k) {
        sum += a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void wide_counter(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (long k = 0; k < long(n); ++k) {
        sum += a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void narrow_elements(device uint* out, device const uchar* a [[buffer(1)]], constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[k * 64 + t];
    }
    out[t] = sum;
}

kernel void stores(constant uint& n [[buffer(2)]], device uint* to [[buffer(3)]], uint t [[thread_position_in_grid]])
{
    for (uint k = 0; k < n; ++k) {
        to[k * 64 + t] = k * 3 + t;
    }
}

kernel void nested(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint i = 0; i + 1 < n; ++i) {
        for (uint j = 0; j < n; ++j) {
            sum += a[i * 64 + j * 4 + t % 16];
        }
    }
    out[t] = sum;
}

// After 16 iterations the counter is 0, far before the buffer.
kernel void counter_wraps(device uint* out, device const uint* a, constant uint& n, uint t [[thread_position_in_grid]])
{
    uint sum = 0, left = 20;
    for (uint k = 0xfffffff0u; k <= n; ++k) {
        sum += a[ulong(k) - 0xfffffff0ul + t];
        if (--left == 0)
            break;
    }
    out[t] = sum;
}

// The index of 32 bits wraps after 4 and after 8 iterations, and both together move the offset by 2^64 bytes.
kernel void wraps_cancel(device uint* out, device const uint* a, constant uint& n, constant ulong* by [[buffer(3)]],
                         uint t [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint k = 0; k < n; ++k) {
        sum += a[ulong(k * uint(by[0])) * by[1] + ulong(k) * by[2] + t];
    }
    out[t] = sum;
}
