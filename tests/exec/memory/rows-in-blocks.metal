// Threads that each walk their own row, in loops that load a block of iterations at once: whole blocks and some
// iterations more, none, elements of 1 to 16 bytes, two rows, masked lanes, indices that wrap, rows out of bounds.
//! covers: C++ stmt.for
//! threads: 64
//! group: 32
//! kernel: ints
//! arg 0: i32 0..2368
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 666..88282..1369
//! kernel: ints
//! arg 0: i32 0..1024
//! arg 1: i32 7*64
//! arg 2: i32 16
//! expect 1: i32 120..16504..256
//! kernel: ints
//! arg 0: i32 0..320
//! arg 1: i32 7*64
//! arg 2: i32 5
//! expect 1: i32 10..1610..25
//! kernel: ints
//! arg 0: i32 0
//! arg 1: i32 7*64
//! arg 2: i32 0
//! expect 1: i32 0*64
//! kernel: ints
//! arg 0: i32 0..2365
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 666..86913..1369 79815
//! faults: yes
//! kernel: bytes
//! arg 0: u8 (0..251) *9 0..109
//! arg 1: u32 7*64
//! arg 2: i32 37
//! expect 1: u32 666 2035 3404 4773 6142 7511 6872 962 2331 3700 5069 6438 7807 5160 1258 2627 3996 5365 6734 8103 3448 1554 2923 4292 5661 7030 8399 1736 1850 3219 4588 5957 7326 7942 777 2146 3515 4884 6253 7622 6230 1073 2442 3811 5180 6549 7918 4518 1369 2738 4107 5476 6845 8214 2806 1665 3034 4403 5772 7141 8510 1094 1961 3330
//! kernel: shorts
//! arg 0: i16 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 666 2035 3404 4773 6142 7511 6872 962 2331 3700 5069 6438 7807 5160 1258 2627 3996 5365 6734 8103 3448 1554 2923 4292 5661 7030 8399 1736 1850 3219 4588 5957 7326 7942 777 2146 3515 4884 6253 7622 6230 1073 2442 3811 5180 6549 7918 4518 1369 2738 4107 5476 6845 8214 2806 1665 3034 4403 5772 7141 8510 1094 1961 3330
//! kernel: longs
//! arg 0: i64 (0..251) *9 0..109
//! arg 1: i64 7*64
//! arg 2: i32 37
//! expect 1: i64 666 2035 3404 4773 6142 7511 6872 962 2331 3700 5069 6438 7807 5160 1258 2627 3996 5365 6734 8103 3448 1554 2923 4292 5661 7030 8399 1736 1850 3219 4588 5957 7326 7942 777 2146 3515 4884 6253 7622 6230 1073 2442 3811 5180 6549 7918 4518 1369 2738 4107 5476 6845 8214 2806 1665 3034 4403 5772 7141 8510 1094 1961 3330
//! kernel: halves
//! arg 0: f16 (0..251) *9 0..109
//! arg 1: f32 7*64
//! arg 2: i32 37
//! expect 1: f32 666 2035 3404 4773 6142 7511 6872 962 2331 3700 5069 6438 7807 5160 1258 2627 3996 5365 6734 8103 3448 1554 2923 4292 5661 7030 8399 1736 1850 3219 4588 5957 7326 7942 777 2146 3515 4884 6253 7622 6230 1073 2442 3811 5180 6549 7918 4518 1369 2738 4107 5476 6845 8214 2806 1665 3034 4403 5772 7141 8510 1094 1961 3330
//! kernel: vectors
//! arg 0: f32 (0..251) *9 0..45
//! arg 1: f32 7*256
//! arg 2: i32 9
//! expect 1: f32 144 153 162 171 468 477 486 495 792 801 810 819 1116 1125 1134 1143 1440 1449 1458 1467 1764 1773 1782 1791 2088 2097 2106 1864 153 162 171 180 477 486 495 504 801 810 819 828 1125 1134 1143 1152 1449 1458 1467 1476 1773 1782 1791 1800 2097 2106 1864 1873 162 171 180 189 486 495 504 513 810 819 828 837 1134 1143 1152 1161 1458 1467 1476 1485 1782 1791 1800 1809 2106 1864 1873 1882 171 180 189 198 495 504 513 522 819 828 837 846 1143 1152 1161 1170 1467 1476 1485 1494 1791 1800 1809 1818 1864 1873 1882 1891 180 189 198 207 504 513 522 531 828 837 846 855 1152 1161 1170 1179 1476 1485 1494 1503 1800 1809 1818 1827 1873 1882 1891 1649 189 198 207 216 513 522 531 540 837 846 855 864 1161 1170 1179 1188 1485 1494 1503 1512 1809 1818 1827 1836 1882 1891 1649 1658 198 207 216 225 522 531 540 549 846 855 864 873 1170 1179 1188 1197 1494 1503 1512 1521 1818 1827 1836 1845 1891 1649 1658 1667 207 216 225 234 531 540 549 558 855 864 873 882 1179 1188 1197 1206 1503 1512 1521 1530 1827 1836 1845 1854 1649 1658 1667 1676 216 225 234 243 540 549 558 567 864 873 882 891 1188 1197 1206 1215 1512 1521 1530 1539 1836 1845 1854 1863 1658 1667 1676 1434 225 234 243 252
//! kernel: pairs
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 64158 112073 96081 1102008 1189624 1175934 792870 83102 109113 250933 1129536 1195248 1159654 534810 97310 101417 449241 1152328 1196136 1138638 320206 106782 88985 691005 1170384 1192288 1112886 149058 111518 71817 976225 1183704 1183704 976225 71817 111518 149058 1112886 1192288 1170384 691005 88985 106782 320206 1138638 1196136 1152328 449241 101417 97310 534810 1159654 1195248 1129536 250933 109113 83102 792870 1175934 1189624 1102008 96081 112073 64158
//! kernel: walks
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 16872 42883 68894 94905 120916 146927 105670 22496 48507 74518 100529 126540 152551 60090 28120 54131 80142 106153 132164 158175 30574 33744 59755 85766 111777 137788 163799 17122 39368 65379 91390 117401 143412 142315 18981 44992 71003 97014 123025 149036 86695 24605 50616 76627 102638 128649 154660 47139 30229 56240 82251 108262 134273 160284 23647 35853 61864 87875 113886 139897 165908 16219 41477 67488
//! kernel: some
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 666 7 7 4773 7 7 6872 7 7 3700 7 7 7807 7 7 2627 7 7 6734 7 7 1554 7 7 5661 7 7 1736 7 7 4588 7 7 7942 7 7 3515 7 7 7622 7 7 2442 7 7 6549 7 7 1369 7 7 5476 7 7 2806 7 7 4403 7 7 8510 7 7 3330
//! kernel: tile
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! threads: 16,4
//! group: 16,4
//! expect 1: i32 3996 5365 6734 8103 9472 10841 10202 4292 5661 7030 8399 9768 11137 8490 4588 5957 2627 3996 5365 6734 8103 9472 8833 2923 4292 5661 7030 8399 9768 7121 3219 4588 1760 3129 4498 5867 7236 8605 7966 2056 3425 4794 6163 7532 8901 6254 2352 3721 9176 10545 11914 13283 14652 16021 15382 9472 10841 12210 13579 14948 16317 13670 9768 11137
//! kernel: wraps
//! arg 0: u8 (0..256) *256
//! arg 1: u32 7*64
//! arg 2: i32 37
//! expect 1: u32 5922 3478 7178 1406 5106 8550 3034 6734 962 4662 8362 2590 6290 1542 4218 7918 2146 5846 4170 3774 7474 1702 5402 6798 3330 7030 1258 4958 8658 2886 6586 814 4514 8214 2442 6142 2418 4070 7770 1998 5698 5046 3626 7326 1554 5254 7674 3182 6882 1110 4810 8510 2738 6438 666 4366 8066 2294 5994 3294 3922 7622 1850 5550
//! kernel: before
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 496 1850 3219 4588 5957 7326 7942 777 2146 3515 4884 6253 7622 6230 1073 2442 3811 5180 6549 7918 4518 1369 2738 4107 5476 6845 8214 2806 1665 3034 4403 5772 7141 8510 1094 1961 3330 4699 6068 7437 7300 888 2257 3626 4995 6364 7733 5588 1184 2553 3922 5291 6660 8029 3876 1480 2849 4218 5587 6956 8325 2164 1776 3145
//! faults: yes
//! kernel: included
//! arg 0: i32 (0..251) *9 0..109
//! arg 1: i32 7*64
//! arg 2: i32 37
//! expect 1: i32 663 1921 3179 4437 5695 6953 6203 935 2193 3451 4709 5967 7225 4467 1207 2465 3723 4981 6239 7497 2731 1479 2737 3995 5253 6511 7769 995 1751 3009 4267 5525 6783 7288 765 2023 3281 4539 5797 7055 5552 1037 2295 3553 4811 6069 7327 3816 1309 2567 3825 5083 6341 7599 2080 1581 2839 4097 5355 6613 7871 595 1853 3111

#include <metal_stdlib>
using namespace metal;

kernel void ints(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k];
  sums[i] = sum;
}

kernel void bytes(device const uchar* a [[buffer(0)]], device uint* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  uint sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k];
  sums[i] = sum;
}

kernel void shorts(device const short* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[int(i) * n + k];
  sums[i] = sum;
}

kernel void longs(device const long* a [[buffer(0)]], device long* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  long sum = 0;
  for (long k = 0; k < n; k++) sum += a[i * long(n) + k];
  sums[i] = sum;
}

kernel void halves(device const half* a [[buffer(0)]], device float* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (int k = 0; k < n; k++) sum += float(a[i * n + k]);
  sums[i] = sum;
}

kernel void vectors(device const float4* a [[buffer(0)]], device float4* sums [[buffer(1)]],
                    constant int& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  float4 sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k];
  sums[i] = sum;
}

kernel void pairs(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k] * a[(63 - i) * n + k];
  sums[i] = sum;
}

kernel void walks(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  device const int* row = a + i * n;
  int sum = 0;
  for (int k = 0; k < n; k++) sum += (k + 1) * *row++;
  sums[i] = sum;
}

kernel void some(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
  if (i % 3 != 0) return;
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k];
  sums[i] = sum;
}

kernel void tile(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                 uint2 p [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[p.x * n + k] + a[(63 - p.y) * n + k];
  sums[p.y * 16 + p.x] = sum;
}

kernel void wraps(device const uchar* a [[buffer(0)]], device uint* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  uint sum = 0;
  for (int k = 0; k < n; k++) sum += a[ushort(65000 + i * 100 + k)];
  sums[i] = sum;
}

kernel void before(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k - 5];
  sums[i] = sum;
}

kernel void included(device const int* a [[buffer(0)]], device int* sums [[buffer(1)]], constant int& n [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 3; k <= n - 1; k++) sum += a[i * n + k];
  sums[i] = sum;
}
